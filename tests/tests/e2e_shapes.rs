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

fn jobs(name: &str) -> VecDeque<(Shape, u32, Collector)> {
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

#[test]
fn every_shape_is_reported_as_what_it_is() {
    let jobs = Mutex::new(jobs("every_shape_is_reported_as_what_it_is"));
    let wrong: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                loop {
                    let Some((shape, feature, collector)) = jobs.lock().unwrap().pop_front() else {
                        break;
                    };
                    let cell = Cell {
                        jdk: Jdk::feature(feature).unwrap(),
                        collector,
                        agent: agent_library().unwrap(),
                        command: cli_binary().unwrap(),
                        seconds: SECONDS,
                    };
                    let told = format!(
                        "{} {} on {feature} {}",
                        shape.id,
                        shape.what,
                        collector.name()
                    );
                    match shape.run(&cell) {
                        Err(error) => wrong.lock().unwrap().push(format!("{told}: {error:#}")),
                        Ok(outcome) => {
                            if let Err(why) = outcome.truth {
                                wrong.lock().unwrap().push(format!("{told}: {why}"));
                            }
                        }
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{} runs are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
