//! Why a collection promoted: threshold, survivor overflow, or normal ageing.

use super::promoted;
use crate::gc::record::{Cause, Collection, Collector, Promoted};

/// Survivor space counts as full from this share of its capacity on, in percent.
const FULL_PERCENT: u64 = 95;
/// Copies of a cohort take this much more room than the cohort, in percent: allocation-buffer waste.
/// Observed: 4 % in the governing case, 20 % in a ParNew run with two threads.
const WASTE_PERCENT: u64 = 25;
/// Buffers waste this much however small the cohort, in bytes.
const WASTE_FLOOR: u64 = 64 * 1024;

/// Whether survivors filled what may hold them.
pub fn survivors_full(r: &Collection) -> Option<bool> {
    let after = r.survivors_after()?;
    let capacity = r.survivor_capacity()?;
    Some(capacity > 0 && u128::from(after) * 100 >= u128::from(capacity) * u128::from(FULL_PERCENT))
}

/// Bytes that the threshold alone moves to the old generation: the previous ages at or above it.
pub fn due(r: &Collection) -> Option<u64> {
    let threshold = r.threshold_used?;
    Some(r.ages_before?.from_age(threshold))
}

/// Whether `bytes` promoted can be the cohort `due` with the waste of copying it.
fn explains(r: &Collection, due: u64, bytes: u64) -> bool {
    let whole_regions = match r.promoted {
        Promoted::AtMost(_) => r.region_bytes.unwrap_or(0).saturating_mul(2),
        Promoted::Approximate(_) => 2 * 1024 * 1024,
        _ => 0,
    };
    let most = due
        .saturating_add(due / 100 * WASTE_PERCENT)
        .saturating_add(WASTE_FLOOR)
        .saturating_add(whole_regions);
    due > 0 && bytes <= most
}

/// Classifies `r`; its threshold, previous ages and promoted bytes must be in place.
pub fn of(r: &Collection) -> Cause {
    match promoted::negligible(r) {
        None => return Cause::Unknown,
        Some(true) => return Cause::None,
        Some(false) => {}
    }
    if r.evacuation_failed {
        return Cause::Unknown;
    }
    let bytes = r.promoted.bytes().unwrap_or(0);
    let full = survivors_full(r);
    if r.collector == Collector::Parallel {
        // No age table: what a full survivor space does not explain came of age.
        return match full {
            Some(true) => Cause::Overflow,
            Some(false) => Cause::NormalAgeing,
            None => Cause::Unknown,
        };
    }
    if r.max_threshold == Some(0) {
        return Cause::NormalAgeing;
    }
    let Some(threshold) = r.threshold_used else {
        // Nothing had an age yet, so no threshold can have sent it.
        let unaged = r.survivor.is_some_and(|s| s.before == 0);
        return if unaged && full == Some(true) {
            Cause::Overflow
        } else {
            Cause::Unknown
        };
    };
    let lowered = r.max_threshold.is_none_or(|max| threshold < max);
    match due(r) {
        Some(due) if explains(r, due, bytes) => {
            if lowered {
                Cause::Threshold
            } else {
                Cause::NormalAgeing
            }
        }
        Some(_) if full == Some(true) => Cause::Overflow,
        Some(due) if lowered && due > 0 && due >= bytes / 2 => Cause::Threshold,
        _ => Cause::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::{AgeTable, Change, Kind};

    fn record(threshold: u8, before: u64, promoted: i64, survivors: u64) -> Collection {
        let mut r = Collection::new(Collector::Serial, Kind::Young);
        let mut t = AgeTable::default();
        t.set(1, before);
        r.ages_before = Some(t);
        r.threshold_used = Some(threshold);
        r.max_threshold = Some(15);
        r.promoted = Promoted::Exact(promoted);
        r.survivor_cap = Some(10 << 20);
        r.survivor = Some(Change {
            before,
            after: survivors,
            ..Change::default()
        });
        r
    }

    #[test]
    fn a_lowered_threshold_explains_the_cohort_it_cut_off() {
        assert_eq!(of(&record(1, 8 << 20, 8 << 20, 0)), Cause::Threshold);
    }

    #[test]
    fn a_high_threshold_with_a_full_survivor_space_is_an_overflow() {
        assert_eq!(of(&record(15, 0, 5 << 20, 10 << 20)), Cause::Overflow);
        assert_eq!(of(&record(15, 0, 5 << 20, 5 << 20)), Cause::Unknown);
    }

    #[test]
    fn rounding_is_no_promotion() {
        assert_eq!(of(&record(1, 8 << 20, -1024, 0)), Cause::None);
    }
}
