//! Every collector of every JDK found: the agent starts, samples, stops, and leaves the JVM's end alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Collector, Jdk, OrderRun, skip};

#[test]
fn every_collector_starts_samples_stops_and_exits_cleanly() {
    let name = "every_collector_starts_samples_stops_and_exits_cleanly";
    for feature in [11, 17, 21, 25] {
        let Some(jdk) = Jdk::feature(feature) else {
            skip(name, &format!("JDK {feature}"));
            continue;
        };
        for collector in Collector::ALL
            .into_iter()
            .filter(|&collector| jdk.supports(collector))
        {
            let mut run = OrderRun::leaking(jdk.clone(), 5);
            run.collector = collector;
            let result = run.run().unwrap();
            let told = format!(
                "JDK {} {}: {}",
                jdk.version(),
                collector.name(),
                result.ended
            );
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
    }
}
