//! A start of its own for each chunk, without moving its events in time.

use jfr_format::header::Header;
use rustc_hash::{FxHashMap, FxHashSet};

/// The starts that chunks written so far have.
#[derive(Debug, Default)]
pub(super) struct Starts {
    taken: FxHashSet<i64>,
    /// For a start that several chunks state: where the next of them looks first.
    next: FxHashMap<i64, i64>,
}

impl Starts {
    /// Moves a header's start on to the next nanosecond that no other chunk starts at, and its first
    /// tick with it: what the clock says of any tick stays the same, up to one tick.
    pub(super) fn make_unique(&mut self, header: &mut Header) {
        let stated = header.start_nanos;
        let mut start = self.next.get(&stated).copied().unwrap_or(stated);
        while !self.taken.insert(start) && start < i64::MAX {
            start += 1;
        }
        self.next.insert(stated, start.saturating_add(1));
        let moved = i128::from(start) - i128::from(stated);
        let ticks = moved * i128::from(header.ticks_per_second) / 1_000_000_000;
        let ticks = i64::try_from(ticks).unwrap_or(0);
        header.start_nanos = start;
        header.start_ticks = header.start_ticks.saturating_add(ticks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jfr_format::header::State;

    fn header(start_nanos: i64, ticks_per_second: i64) -> Header {
        Header {
            major: 2,
            minor: 1,
            size: 68,
            checkpoint: 0,
            metadata: 0,
            start_nanos,
            duration_nanos: 0,
            start_ticks: 500,
            ticks_per_second,
            state: State::Finished,
            flags: 1,
        }
    }

    #[test]
    fn chunks_in_any_order_keep_their_start_and_equal_ones_keep_their_times() {
        let mut starts = Starts::default();
        let mut unique = |stated, frequency| {
            let mut header = header(stated, frequency);
            starts.make_unique(&mut header);
            assert!(
                (header.nanos_at(7_000) - self::header(stated, frequency).nanos_at(7_000)).abs()
                    <= 1_000_000_000 / frequency
            );
            header.start_nanos
        };
        let stated = [9, 5, 9, 10, 5, 9, 1];
        let written = stated.map(|start| unique(start * 1_000, 2_000_000_000));
        assert_eq!(written, [9_000, 5_000, 9_001, 10_000, 5_001, 9_002, 1_000]);
        assert_eq!(unique(9_003, 1_000), 9_003);
        assert_eq!(unique(9_000, 1_000_000_000), 9_004);
        assert_eq!(unique(i64::MAX, 1), i64::MAX);
        assert_eq!(unique(i64::MAX, 1), i64::MAX);
    }

    #[test]
    fn many_chunks_with_one_start_cost_no_more_each() {
        let mut starts = Starts::default();
        for nth in 0..200_000 {
            let mut header = header(77, 1_000_000_000);
            starts.make_unique(&mut header);
            assert_eq!(header.start_nanos, 77 + nth);
        }
    }
}
