//! A short soak; `cargo xtask soak` is the long one, and `cargo xtask test --long` takes half an hour a JDK.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Collector, Jdk, Soak};
use std::time::Duration;

/// Two rounds; each waits for a chain.
const SHORT: Duration = Duration::from_secs(60);
const LONG: Duration = Duration::from_secs(30 * 60);

#[test]
fn the_agent_comes_and_goes_in_a_busy_jvm_without_crash_growth_or_lost_chain() {
    let test = "the_agent_comes_and_goes_in_a_busy_jvm_without_crash_growth_or_lost_chain";
    let long = std::env::var_os("JFR_CHAINS_LONG").is_some_and(|value| value == "1");
    let features: &[u32] = if long { &[25, 17] } else { &[25] };
    for jdk in Jdk::among(test, features) {
        let soak = Soak {
            jdk,
            collector: Collector::G1,
            length: if long { LONG } else { SHORT },
        };
        let report = soak.run(|line| eprintln!("{line}")).unwrap();
        assert!(report.chains > 0 && report.recordings > 10, "{report:?}");
        assert!(report.starts >= 12, "{report:?}");
    }
}
