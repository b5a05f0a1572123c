//! The leak shapes, live: all of them on JDK 17 and 25 with G1, and each on one more JVM that rotates with its number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Cell, Collector, Jdk, Shape, agent_library, cli_binary, shapes, skip};
use std::collections::VecDeque;
use std::sync::Mutex;

/// JVMs at once; they idle most of the time.
const JOBS: usize = 6;
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

/// A shape on a JDK with a collector.
type Job = (Shape, u32, Collector);

fn jobs(name: &str) -> VecDeque<Job> {
    let mut jobs = VecDeque::new();
    for (number, shape) in shapes()
        .unwrap()
        .into_iter()
        .filter(|shape| shape.open.is_none())
        .enumerate()
    {
        jobs.push_back((shape.clone(), 17, Collector::G1));
        jobs.push_back((shape.clone(), 25, Collector::G1));
        let (feature, collector) = OTHERS[number % OTHERS.len()];
        jobs.push_back((shape, feature, collector));
    }
    for feature in [11, 17, 21, 25] {
        if Jdk::feature(feature).is_none() {
            skip(name, &format!("JDK {feature}"));
        }
    }
    jobs.retain(|(shape, feature, _)| *feature >= shape.jdk && Jdk::feature(*feature).is_some());
    jobs
}

/// Runs every job, `at_once` of them together, each for `seconds`; what was wrong, with why.
fn run(jobs: VecDeque<Job>, at_once: usize, seconds: u32) -> Vec<(Job, String)> {
    let jobs = Mutex::new(jobs);
    let wrong: Mutex<Vec<(Job, String)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let Some(job) = jobs.lock().unwrap().pop_front() else {
                        break;
                    };
                    let (shape, feature, collector) = &job;
                    let cell = Cell {
                        jdk: Jdk::feature(*feature).unwrap(),
                        collector: *collector,
                        agent: agent_library().unwrap(),
                        command: cli_binary().unwrap(),
                        seconds,
                    };
                    let why = match shape.run(&cell) {
                        Err(error) => Some(format!("{error:#}")),
                        Ok(outcome) => outcome.truth.err(),
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

/// The signal needs folds, and folds need time that a loaded machine does not give: what was not told with six JVMs
/// at once is asked again with two, for twice as long. A second wrong answer is wrong.
#[test]
fn every_shape_is_reported_as_what_it_is() {
    let first = run(jobs("every_shape_is_reported_as_what_it_is"), JOBS, SECONDS);
    for (_, told) in &first {
        println!("asked again: {told}");
    }
    let again = first.into_iter().map(|(job, _)| job).collect();
    let wrong: Vec<String> = run(again, 2, 2 * SECONDS)
        .into_iter()
        .map(|(_, told)| told)
        .collect();
    assert!(
        wrong.is_empty(),
        "{} runs are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
