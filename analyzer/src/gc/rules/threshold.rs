//! The tenuring threshold as HotSpot computes it from an age table.

use crate::gc::record::{AgeTable, Collection, ThresholdScope};

/// Ages the JVM's table has room for, counting the unused age 0.
/// Source: HotSpot's `AgeTable::table_size`; the break-less loop ends here.
const TABLE_SIZE: u8 = 16;

/// The threshold for survivors `ages` against `desired` bytes: the first age whose *cumulative* size
/// exceeds desired (strictly), at most `max`; without one, the table's size, again at most `max`.
///
/// `max` is `MaxTenuringThreshold`, 1..=15; JDK 7 accepts more, and then prints 16.
pub fn compute(ages: &AgeTable, desired: u64, max: u8) -> u8 {
    let mut total = 0u64;
    let reached = (1..TABLE_SIZE).find(|age| {
        total = total.saturating_add(ages.at(*age));
        total > desired
    });
    reached.unwrap_or(TABLE_SIZE).min(max)
}

/// A recomputed threshold, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recomputed {
    /// The value to compare with the printed one.
    Value(u8),
    /// Nothing to compare.
    Skipped(Skip),
}

/// Why a threshold is not recomputed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Skip {
    /// Maximum 0 (AlwaysTenure) or 16 and more (NeverTenure): the table is not consulted.
    Fixed,
    /// The collector keeps no age table; its threshold moves by one.
    NoTable,
    /// The table it was computed from is not in the input.
    TableUnknown,
    /// The input prints no threshold or no desired size.
    NotPrinted,
    /// Not a young collection.
    NotYoung,
}

impl Skip {
    /// For tables and tests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::NoTable => "no-table",
            Self::TableUnknown => "table-unknown",
            Self::NotPrinted => "not-printed",
            Self::NotYoung => "not-young",
        }
    }
}

/// Recomputes the threshold that `r` prints.
///
/// Serial and ParNew compute it at the end from their own table, G1 at the start from the previous one.
pub fn recompute(r: &Collection) -> Recomputed {
    let skip = |s| Recomputed::Skipped(s);
    if !r.kind.is_young() {
        return skip(Skip::NotYoung);
    }
    if !r.collector.has_age_table() {
        return skip(Skip::NoTable);
    }
    let (Some(desired), Some(_), Some(max)) = (r.desired, r.threshold_printed, r.max_threshold)
    else {
        return skip(Skip::NotPrinted);
    };
    // JDK 7 takes any maximum and computes; 16 is NeverTenure from JDK 8 on.
    if max == 0 || max == TABLE_SIZE {
        return skip(Skip::Fixed);
    }
    let table = match r.collector.printed_threshold_is_for() {
        ThresholdScope::ThisGc => r.ages_before,
        ThresholdScope::NextGc => r.ages,
    };
    match table {
        Some(table) => Recomputed::Value(compute(&table, desired, max)),
        None => skip(Skip::TableUnknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u8, u64)]) -> AgeTable {
        let mut t = AgeTable::default();
        for (age, bytes) in rows {
            assert!(t.set(*age, *bytes));
        }
        t
    }

    #[test]
    fn the_threshold_is_the_first_age_whose_cumulative_size_exceeds_desired() {
        let governing = table(&[(1, 315_529_928), (2, 40_956_656), (3, 8_408_040)]);
        assert_eq!(compute(&governing, 214_728_704, 15), 1);
        // SurvivorRatio 4 still cuts the third age off; 3 does not.
        assert_eq!(compute(&governing, 357_892_096, 15), 3);
        assert_eq!(compute(&governing, 429_490_176, 15), 15);
    }

    #[test]
    fn equal_to_desired_does_not_exceed_it() {
        assert_eq!(compute(&table(&[(1, 100)]), 100, 15), 15);
        assert_eq!(compute(&table(&[(1, 101)]), 100, 15), 1);
    }

    #[test]
    fn without_a_break_the_maximum_holds_and_a_maximum_beyond_the_table_gives_its_size() {
        assert_eq!(compute(&table(&[]), 100, 6), 6);
        assert_eq!(compute(&table(&[(2, 10)]), 100, 32), 16);
        assert_eq!(compute(&table(&[(15, 200)]), 100, 6), 6);
    }
}
