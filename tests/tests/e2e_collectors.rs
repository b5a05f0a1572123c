//! Every collector of every JDK found: the agent starts, samples, stops, and leaves the JVM's end alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Collector, Jdk, OrderRun, skip};
use std::collections::VecDeque;
use std::sync::Mutex;

/// JVMs at once.
const JOBS: usize = 3;

#[test]
fn every_collector_starts_samples_stops_and_exits_cleanly() {
    let name = "every_collector_starts_samples_stops_and_exits_cleanly";
    let mut cells = VecDeque::new();
    for feature in [11, 17, 21, 25] {
        match Jdk::feature(feature) {
            Some(jdk) => cells.extend(Collector::ALL.map(|collector| (jdk.clone(), collector))),
            None => skip(name, &format!("JDK {feature}")),
        }
    }
    let cells = Mutex::new(cells);
    let next = || cells.lock().unwrap().pop_front();
    std::thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(|| {
                while let Some((jdk, collector)) = next() {
                    if jdk.supports(collector) {
                        runs_cleanly(jdk, collector);
                    }
                }
            });
        }
    });
}

fn runs_cleanly(jdk: Jdk, collector: Collector) {
    let told = format!("JDK {} {}", jdk.version(), collector.name());
    let mut run = OrderRun::leaking(jdk, 5);
    run.collector = collector;
    let result = run.run().unwrap();
    let told = format!("{told}: {}", result.ended);
    assert_eq!(result.ended.code(), Some(0), "{told}");
    assert!(!result.ended.stderr.contains("WARNING"), "{told}");
    let skipped = result.report["inputs"][0]["skipped"]
        .as_array()
        .map_or(0, Vec::len);
    assert_eq!(skipped, 0, "{told}\n{:#}", result.report);
    assert_ne!(
        result.report["verdict"], "leak",
        "nothing can be known after 5 s: {told}"
    );
}
