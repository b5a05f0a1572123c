//! Normalised epochs: what counts as one GC cycle on each collector.

use crate::config::Collector;
use crate::tick::Epoch;

/// One `GarbageCollectorMXBean`: name and collection count.
#[derive(Clone, Copy, Debug)]
pub struct Bean<'a> {
    /// `getName()`.
    pub name: &'a str,
    /// `getCollectionCount()`; negative when the JVM does not know it.
    pub count: i64,
}

/// Which collector these beans belong to.
pub fn detect<'a>(names: impl Iterator<Item = &'a str>) -> Collector {
    let mut found = Collector::Unknown;
    for name in names {
        let this = match name {
            n if n.starts_with("G1 ") => Collector::G1,
            "Copy" | "MarkSweepCompact" => Collector::Serial,
            n if n.starts_with("PS ") => Collector::Parallel,
            n if n.starts_with("ZGC Major") || n.starts_with("ZGC Minor") => Collector::GenZgc,
            n if n.starts_with("ZGC") => Collector::Zgc,
            n if n.starts_with("Shenandoah") => Collector::Shenandoah,
            _ => continue,
        };
        found = this;
    }
    found
}

/// Normalised epoch and old-collection count from the beans' counts.
///
/// G1, Serial, Parallel: young plus full. ZGC and Shenandoah: the cycles bean, never the pauses.
/// Generational ZGC: major cycles only, since minors do not clear weak references.
/// `None` when no bean has a usable count.
pub fn epoch_from_beans<'a>(
    collector: Collector,
    beans: impl Iterator<Item = Bean<'a>>,
) -> Option<(Epoch, u64)> {
    let (mut epoch, mut old, mut any) = (0u64, 0u64, false);
    for bean in beans {
        let Ok(count) = u64::try_from(bean.count) else {
            continue;
        };
        let (counts, is_old) = role(collector, bean.name);
        if counts {
            epoch = epoch.saturating_add(count);
        }
        if is_old {
            old = old.saturating_add(count);
        }
        any |= counts;
    }
    any.then_some((Epoch(epoch), old))
}

/// Whether a bean counts cycles, and whether these clear the old generation.
fn role(collector: Collector, name: &str) -> (bool, bool) {
    match collector {
        Collector::G1 => match name {
            // The concurrent bean (JDK 20 on) counts remark and cleanup pauses: it confirms that old
            // regions were marked, and is no cycle of its own.
            "G1 Concurrent GC" => (false, true),
            n => (true, n.contains("Old")),
        },
        Collector::Serial => (true, name == "MarkSweepCompact"),
        Collector::Parallel => (true, name == "PS MarkSweep"),
        Collector::Zgc | Collector::Shenandoah => {
            (name.ends_with("Cycles"), name.ends_with("Cycles"))
        }
        Collector::GenZgc => (name == "ZGC Major Cycles", name == "ZGC Major Cycles"),
        Collector::Unknown => (true, true),
    }
}

/// GC-finish callbacks per cycle where the beans cannot be read; named in AgentStatus.
///
/// ZGC and Shenandoah fire 2 to 4.5 of them a cycle; for generational ZGC callbacks do not tell
/// minors from majors, so the divisor is coarse on purpose.
pub fn callback_divisor(collector: Collector) -> u64 {
    match collector {
        Collector::G1 | Collector::Serial | Collector::Parallel | Collector::Unknown => 1,
        Collector::Zgc | Collector::Shenandoah => 3,
        Collector::GenZgc => 16,
    }
}

/// Normalised epoch from callbacks alone.
pub fn epoch_from_callbacks(collector: Collector, finished: u64) -> Epoch {
    Epoch(finished / callback_divisor(collector))
}

/// Epochs that never go back, from readings that may: a bean that cannot be read for a while makes
/// the sum smaller, a count that was reset starts anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SteadyEpochs {
    /// The newest reading.
    raw: u64,
    /// What is added to readings.
    offset: u64,
    /// The newest epoch.
    steady: u64,
}

impl SteadyEpochs {
    /// The epoch of a reading. One below the epoch holds it; when the readings then grow, so does
    /// the epoch, from where it was.
    pub fn take(&mut self, reading: Epoch) -> Epoch {
        let grown = reading.0.saturating_sub(self.raw);
        let moved = reading.0.saturating_add(self.offset);
        if moved < self.steady && grown > 0 {
            self.steady = self.steady.saturating_add(grown);
            self.offset = self.steady.saturating_sub(reading.0);
        } else {
            self.steady = self.steady.max(moved);
        }
        self.raw = reading.0;
        Epoch(self.steady)
    }

    /// The epoch of a sample, numbered by the same readings; one that was numbered before a reset
    /// belongs to the newest epoch at the latest.
    pub fn of_sample(&self, reading: Epoch) -> Epoch {
        let moved = reading.0.saturating_add(self.offset);
        let plausible = self.offset == 0 || moved <= self.steady.saturating_add(1);
        Epoch(if plausible {
            moved
        } else {
            reading.0.min(self.steady)
        })
    }
}

/// Whether a young collection leaves promoted garbage in place, so that survivors stay unconfirmed
/// until an old, mixed or full one.
pub fn needs_confirmation(collector: Collector) -> bool {
    matches!(
        collector,
        Collector::G1 | Collector::Serial | Collector::Parallel
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(c: Collector, beans: &[(&str, i64)]) -> Option<(u64, u64)> {
        epoch_from_beans(
            c,
            beans.iter().map(|(name, count)| Bean {
                name,
                count: *count,
            }),
        )
        .map(|(e, o)| (e.0, o))
    }

    #[test]
    fn g1_serial_and_parallel_count_young_and_full() {
        assert_eq!(
            epoch(
                Collector::G1,
                &[("G1 Young Generation", 7), ("G1 Old Generation", 2)]
            ),
            Some((9, 2))
        );
        assert_eq!(
            epoch(
                Collector::G1,
                &[
                    ("G1 Young Generation", 7),
                    ("G1 Concurrent GC", 4),
                    ("G1 Old Generation", 0)
                ]
            ),
            Some((7, 4))
        );
        assert_eq!(
            epoch(Collector::Serial, &[("Copy", 3), ("MarkSweepCompact", 1)]),
            Some((4, 1))
        );
        assert_eq!(
            epoch(
                Collector::Parallel,
                &[("PS Scavenge", 3), ("PS MarkSweep", 1)]
            ),
            Some((4, 1))
        );
    }

    #[test]
    fn zgc_and_shenandoah_count_cycles_never_pauses() {
        assert_eq!(
            epoch(Collector::Zgc, &[("ZGC Cycles", 5), ("ZGC Pauses", 15)]),
            Some((5, 5))
        );
        assert_eq!(
            epoch(
                Collector::Shenandoah,
                &[("Shenandoah Pauses", 20), ("Shenandoah Cycles", 6)]
            ),
            Some((6, 6))
        );
    }

    #[test]
    fn generational_zgc_counts_majors_only() {
        let beans = [
            ("ZGC Minor Cycles", 90),
            ("ZGC Minor Pauses", 270),
            ("ZGC Major Cycles", 4),
            ("ZGC Major Pauses", 12),
        ];
        assert_eq!(epoch(Collector::GenZgc, &beans), Some((4, 4)));
    }

    #[test]
    fn unknown_counts_are_skipped_not_taken_as_huge() {
        assert_eq!(
            epoch(
                Collector::G1,
                &[("G1 Young Generation", -1), ("G1 Old Generation", 2)]
            ),
            Some((2, 2))
        );
        assert_eq!(epoch(Collector::G1, &[("G1 Young Generation", -1)]), None);
    }

    #[test]
    fn callbacks_are_divided_where_beans_cannot_be_read() {
        assert_eq!(epoch_from_callbacks(Collector::G1, 9), Epoch(9));
        assert_eq!(epoch_from_callbacks(Collector::Zgc, 9), Epoch(3));
        assert_eq!(epoch_from_callbacks(Collector::Shenandoah, 8), Epoch(2));
        assert_eq!(epoch_from_callbacks(Collector::GenZgc, 33), Epoch(2));
    }

    #[test]
    fn collectors_are_told_by_their_beans() {
        for (names, c) in [
            (
                &["G1 Young Generation", "G1 Old Generation"][..],
                Collector::G1,
            ),
            (&["Copy", "MarkSweepCompact"], Collector::Serial),
            (&["PS MarkSweep", "PS Scavenge"], Collector::Parallel),
            (&["ZGC Cycles", "ZGC Pauses"], Collector::Zgc),
            (&["ZGC Minor Cycles", "ZGC Major Cycles"], Collector::GenZgc),
            (
                &["Shenandoah Pauses", "Shenandoah Cycles"],
                Collector::Shenandoah,
            ),
            (&["Mystery"], Collector::Unknown),
        ] {
            assert_eq!(detect(names.iter().copied()), c);
        }
    }

    #[test]
    fn young_collections_leave_candidates_unconfirmed_on_g1_serial_parallel() {
        use Collector::*;
        assert!([G1, Serial, Parallel].into_iter().all(needs_confirmation));
        assert!(
            ![Zgc, GenZgc, Shenandoah]
                .into_iter()
                .any(needs_confirmation)
        );
    }

    fn steady(s: &mut SteadyEpochs, readings: &[u64]) -> Vec<u64> {
        readings.iter().map(|r| s.take(Epoch(*r)).0).collect()
    }

    #[test]
    fn epochs_that_only_grow_are_taken_as_they_are() {
        let mut s = SteadyEpochs::default();
        assert_eq!(steady(&mut s, &[0, 7, 7, 9, 100]), [0, 7, 7, 9, 100]);
        assert_eq!(s.of_sample(Epoch(101)), Epoch(101));
        assert_eq!(s.of_sample(Epoch(103)), Epoch(103));
    }

    #[test]
    fn a_count_that_cannot_be_read_for_a_while_holds_the_epoch() {
        let mut s = SteadyEpochs::default();
        assert_eq!(
            steady(&mut s, &[100, 3, 3, 101, 102]),
            [100, 100, 100, 101, 102]
        );
        assert_eq!(s.of_sample(Epoch(102)), Epoch(102));
    }

    #[test]
    fn a_count_that_was_reset_goes_on_from_where_it_was() {
        let mut s = SteadyEpochs::default();
        assert_eq!(
            steady(&mut s, &[100, 0, 1, 2, 2, 5]),
            [100, 100, 101, 102, 102, 105]
        );
        assert_eq!(s.of_sample(Epoch(5)), Epoch(105));
        assert_eq!(s.of_sample(Epoch(6)), Epoch(106));
        assert_eq!(
            s.of_sample(Epoch(99)),
            Epoch(99),
            "numbered before the reset"
        );
        assert_eq!(s.of_sample(Epoch(400)), Epoch(105));
        assert_eq!(steady(&mut s, &[0, 1]), [105, 106], "and once more");
    }

    #[test]
    fn a_count_that_comes_back_to_where_it_was_has_not_moved() {
        let mut s = SteadyEpochs::default();
        assert_eq!(steady(&mut s, &[100, 3, 100, 101]), [100, 100, 100, 101]);
    }
}
