//! Promoted bytes of one collection, by the best formula its record allows.

use crate::gc::record::{Collection, Collector, Kind, Promoted, Why};

/// Differences up to this many bytes are rounding of three or four KiB numbers.
/// Source: the specification, "The case that must come out right".
pub const ROUNDING: i64 = 2 * 1024;

/// Megabyte numbers round four times; less than this says nothing.
pub const COARSE_ROUNDING: i64 = 1024 * 1024;

/// Bytes that moved from young to old in `r`.
pub fn of(r: &Collection) -> Promoted {
    if !matches!(r.promoted, Promoted::NotComputable(_)) {
        return r.promoted;
    }
    if let Promoted::NotComputable(why @ (Why::BufferWaste | Why::NoPrevious)) = r.promoted {
        return Promoted::NotComputable(why);
    }
    if matches!(r.collector, Collector::Zgc | Collector::Shenandoah) {
        return Promoted::NotComputable(Why::NotGenerational);
    }
    if matches!(r.kind, Kind::Full | Kind::ConcurrentOld) {
        return Promoted::NotComputable(Why::OldCollected);
    }
    if r.promotion_failed {
        return Promoted::NotComputable(Why::PromotionFailed);
    }
    if r.collector == Collector::G1 {
        return g1(r);
    }
    if let Some(old) = r.old {
        return Promoted::Exact(signed(old.after) - signed(old.before));
    }
    if let (Some(heap), Some(young)) = (r.heap, r.young) {
        let moved = (signed(heap.after) - signed(heap.before))
            - (signed(young.after) - signed(young.before));
        return if r.heap_fine {
            Promoted::Exact(moved)
        } else {
            Promoted::Approximate(moved)
        };
    }
    Promoted::NotComputable(Why::NoOldSize)
}

/// G1: allocation statistics are exact in young-only collections; regions bound from above; JDK 8's
/// rounded sizes only give the order of magnitude. A mixed collection frees old regions meanwhile.
fn g1(r: &Collection) -> Promoted {
    if let Some(bytes) = r.plab.and_then(|p| p.promoted())
        && r.kind != Kind::Mixed
    {
        return Promoted::Exact(signed(bytes));
    }
    if r.kind == Kind::Mixed {
        return Promoted::NotComputable(Why::OldCollected);
    }
    if let Some(growth) = r.old_region_growth() {
        return Promoted::AtMost(u64::try_from(growth).unwrap_or(0));
    }
    if let (Some(heap), Some(young)) = (r.heap, r.young) {
        if r.evacuation_failed {
            return Promoted::NotComputable(Why::PromotionFailed);
        }
        return Promoted::Approximate(
            (signed(heap.after) - signed(heap.before))
                - (signed(young.after) - signed(young.before)),
        );
    }
    Promoted::NotComputable(Why::NoOldSize)
}

/// Less than this part of the young generation is no promotion to speak of: a few objects always find a
/// survivor buffer full. Observed: 8 KiB per collection beside overflows of megabytes.
const NEGLIGIBLE_PARTS: u64 = 2000;

/// Whether the promoted bytes of `r` are too few to speak of: rounding, or less than a two-thousandth of
/// the young generation.
pub fn negligible(r: &Collection) -> Option<bool> {
    let floor = match r.promoted {
        Promoted::Exact(_) => ROUNDING,
        Promoted::Approximate(_) => COARSE_ROUNDING,
        Promoted::AtMost(_) => 0,
        Promoted::NotComputable(_) => return None,
    };
    let share = r.young_capacity().unwrap_or(0) / NEGLIGIBLE_PARTS;
    let floor = u64::try_from(floor).unwrap_or(0).max(share);
    Some(r.promoted.bytes().unwrap_or(0) <= floor)
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::Change;

    fn change(before: u64, after: u64) -> Option<Change> {
        Some(Change {
            before: before << 10,
            after: after << 10,
            ..Change::default()
        })
    }

    fn parnew(young: (u64, u64), heap: (u64, u64)) -> Collection {
        let mut r = Collection::new(Collector::ParNew, Kind::Young);
        r.young = change(young.0, young.1);
        r.heap = change(heap.0, heap.1);
        r.heap_fine = true;
        r
    }

    #[test]
    fn the_governing_case_promotes_nothing_then_372487_k_then_rounding() {
        let k = |y, h| match of(&parnew(y, h)) {
            Promoted::Exact(b) => b / 1024,
            other => panic!("{other:?}"),
        };
        assert_eq!(k((3_544_342, 374_555), (3_544_342, 374_555)), 0);
        assert_eq!(k((3_730_075, 304_371), (3_730_075, 676_858)), 372_487);
        assert_eq!(k((3_659_891, 90_428), (4_032_378, 462_914)), -1);
        let mut third = parnew((3_659_891, 90_428), (4_032_378, 462_914));
        third.promoted = of(&third);
        assert_eq!(negligible(&third), Some(true));
    }

    #[test]
    fn a_failed_promotion_has_no_number() {
        let mut r = parnew((19_050, 19_049), (113_450, 83_134));
        r.promotion_failed = true;
        assert_eq!(of(&r), Promoted::NotComputable(Why::PromotionFailed));
    }
}
