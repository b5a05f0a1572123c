//! The leak shapes and the leaks in real libraries, live: all shapes of them on JDK 17 and 25 with G1, and each on one more JVM that rotates with its number.
//! On one of the first two a heap dump of the same process must have every hop of the chain, and the leak must have one
//! identity on all of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{
    Cell, Collector, Jdk, Leak, Shape, agent_library, cli_binary, library_fixtures, library_leaks,
    shapes, skip,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;

/// JVMs at once. Each takes about a tenth of a core: two CPU seconds in twenty.
const JOBS: usize = 10;
const SECONDS: u32 = 40;

/// The JVMs besides JDK 17 and 25 with G1.
const OTHERS: [(u32, Collector); 12] = [
    (17, Collector::Parallel),
    (25, Collector::Serial),
    (21, Collector::G1),
    (17, Collector::Z),
    (25, Collector::Parallel),
    (11, Collector::G1),
    (21, Collector::Serial),
    (17, Collector::Shenandoah),
    (11, Collector::Parallel),
    (25, Collector::Shenandoah),
    (21, Collector::Z),
    (17, Collector::Serial),
];

/// A shape on a JDK with a collector, and whether a heap dump must confirm its chain.
type Job = (Shape, u32, Collector, bool);

/// By shape and the containers that grow with it: where it was told and as what.
type Leaks = Mutex<BTreeMap<(String, usize), Vec<(String, Leak)>>>;

fn jobs(name: &str) -> VecDeque<Job> {
    let mut jobs = VecDeque::new();
    let long = std::env::var_os("JFR_CHAINS_LONG").is_some_and(|value| value == "1");
    for (number, shape) in shapes()
        .unwrap()
        .into_iter()
        .filter(|shape| shape.open.is_none())
        .enumerate()
    {
        // A dump takes seconds of CPU: one of the two JDKs a shape, both with JFR_CHAINS_LONG=1.
        let odd = number % 2 == 1;
        jobs.push_back((shape.clone(), 17, Collector::G1, long || odd));
        jobs.push_back((shape.clone(), 25, Collector::G1, long || !odd));
        let (feature, collector) = OTHERS[number % OTHERS.len()];
        jobs.push_back((shape, feature, collector, false));
    }
    let libraries =
        library_fixtures().map_err(|error| skip(name, &format!("libraries: {error:#}")));
    let known = library_leaks().unwrap();
    let known = known.into_iter().filter(|leak| leak.open.is_none());
    for (number, leak) in known.enumerate() {
        if libraries.is_ok() {
            jobs.push_back((leak.clone(), 17, Collector::G1, true));
            let (feature, collector) = OTHERS[number % OTHERS.len()];
            jobs.push_back((leak, feature, collector, false));
        }
    }
    for feature in [11, 17, 21, 25] {
        if Jdk::feature(feature).is_none() {
            skip(name, &format!("JDK {feature}"));
        }
    }
    jobs.retain(|(shape, feature, ..)| *feature >= shape.jdk && Jdk::feature(*feature).is_some());
    // The longest first: controls run their whole time, dumps take some more, the rest ends when it is told.
    let mut jobs = Vec::from(jobs);
    jobs.sort_by_key(|(shape, _, _, dump)| (!shape.control, !shape.library, !dump));
    jobs.into()
}

/// Runs every job, `at_once` of them together, each for `seconds`; what was wrong, with why.
fn run(jobs: VecDeque<Job>, at_once: usize, seconds: u32, leaks: &Leaks) -> Vec<(Job, String)> {
    let jobs = Mutex::new(jobs);
    let wrong: Mutex<Vec<(Job, String)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let Some(job) = jobs.lock().unwrap().pop_front() else {
                        break;
                    };
                    let (shape, feature, collector, dump) = &job;
                    let cell = Cell {
                        jdk: Jdk::feature(*feature).unwrap(),
                        collector: *collector,
                        agent: agent_library().unwrap(),
                        command: cli_binary().unwrap(),
                        seconds,
                        dump: *dump,
                    };
                    let why = match shape.run(&cell) {
                        Err(error) => Some(format!("{error:#}")),
                        Ok(outcome) => {
                            if let Some(leak) = outcome.leak.filter(|_| outcome.truth.is_ok()) {
                                let on = format!("{feature} {}", collector.name());
                                leaks
                                    .lock()
                                    .unwrap()
                                    .entry((shape.id.clone(), shape.containers))
                                    .or_default()
                                    .push((on, leak));
                            }
                            outcome.truth.err()
                        }
                    };
                    if let Some(why) = why {
                        let told = format!(
                            "{} {} on {feature} {} in {seconds} s: {why}",
                            shape.id,
                            shape.what,
                            collector.name()
                        );
                        wrong.lock().unwrap().push((job, told));
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

/// The signal needs folds, and folds need time that a loaded machine does not give: what was not told with ten JVMs
/// at once is asked again with two, for twice as long. A second wrong answer is wrong.
#[test]
fn every_shape_is_reported_as_what_it_is() {
    let leaks = Leaks::default();
    let first = run(
        jobs("every_shape_is_reported_as_what_it_is"),
        JOBS,
        SECONDS,
        &leaks,
    );
    for (_, told) in &first {
        println!("asked again: {told}");
    }
    let again = first.into_iter().map(|(job, _)| job).collect();
    let wrong: Vec<String> = run(again, 2, 2 * SECONDS, &leaks)
        .into_iter()
        .map(|(_, told)| told)
        .collect();
    assert!(
        wrong.is_empty(),
        "{} runs are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    for ((shape, containers), told) in leaks.into_inner().unwrap() {
        let identities: BTreeSet<&str> = told
            .iter()
            .map(|(_, leak)| leak.identity.as_str())
            .collect();
        assert!(
            identities.len() <= containers,
            "{shape} is told as several leaks: {told:#?}"
        );
    }
}
