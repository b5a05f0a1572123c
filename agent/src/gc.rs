//! What the core's epoch rules leave to the agent: the collector without its beans, the pace between two readings.

use chain_core::config::Collector;

/// The collector by the names of the process's native threads, for a JVM without java.management.
#[must_use]
pub fn collector_by_threads<'n>(names: impl IntoIterator<Item = &'n str>) -> Collector {
    let mut found = Collector::Serial;
    for name in names {
        match name {
            name if name.starts_with("G1 ") => return Collector::G1,
            name if name.starts_with("ZDriverM") => return Collector::GenZgc,
            name if name.starts_with("ZDriver") => return Collector::Zgc,
            name if name.starts_with("Shenandoah") => return Collector::Shenandoah,
            // G1 has these too, beside its own.
            name if name.starts_with("GC Thread") => found = Collector::Parallel,
            _ => {}
        }
    }
    found
}

/// GC-finish callbacks that make a cycle, to advance the epoch between readings; 0 when pauses tell nothing.
///
/// Measured: one callback a cycle on G1, Serial and Parallel (G1's
/// concurrent pauses add some), 3 on ZGC, 2 to 4 on Shenandoah; generational ZGC mixes minors and majors.
#[must_use]
pub fn callbacks_per_cycle(collector: Collector) -> u64 {
    match collector {
        Collector::Zgc | Collector::Shenandoah => 3,
        Collector::GenZgc => 0,
        _ => 1,
    }
}

/// The collector's name in events.
#[must_use]
pub fn name(collector: Collector) -> &'static str {
    match collector {
        Collector::G1 => "G1",
        Collector::Serial => "Serial",
        Collector::Parallel => "Parallel",
        Collector::Zgc => "ZGC",
        Collector::GenZgc => "generational ZGC",
        Collector::Shenandoah => "Shenandoah",
        Collector::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_collector_is_known_by_its_threads() {
        for (threads, expected) in [
            (vec!["java", "GC Thread#0", "G1 Main Marker"], Collector::G1),
            (
                vec!["ZDirector", "ZDriverMajor", "ZDriverMinor"],
                Collector::GenZgc,
            ),
            (vec!["ZDirector", "ZDriver"], Collector::Zgc),
            (vec!["Shenandoah Cont"], Collector::Shenandoah),
            (vec!["GC Thread#0", "VM Thread"], Collector::Parallel),
            (vec!["VM Thread"], Collector::Serial),
        ] {
            assert_eq!(collector_by_threads(threads), expected);
        }
    }
}
