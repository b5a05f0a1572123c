//! The rules of recordings on the values of the expected recordings.

use super::*;
use crate::gc::record::Cause;
use crate::gc::rules::promoted;

/// A Serial collection as a recording gives it: heap after, one age, threshold.
fn serial(id: u64, heap_after: u64, ages: u64, threshold: u8) -> Collection {
    let mut r = Collection::new(Collector::Serial, Kind::Young);
    r.gc_id = Some(id);
    r.heap = Some(Change {
        after: heap_after,
        ..Change::default()
    });
    r.heap_fine = true;
    let mut table = AgeTable::default();
    table.set(1, ages);
    r.ages = Some(table);
    r.threshold_used = Some(threshold);
    r.survivor_cap = Some(38_076_416);
    r
}

/// Promoted bytes of a run, by the rule of the Serial recordings.
fn follow(run: &[(u64, u64, u8)]) -> Vec<Promoted> {
    let mut old = OldSize::default();
    (0..)
        .zip(run)
        .map(|(id, (heap, ages, threshold))| {
            let mut r = serial(id, *heap, *ages, *threshold);
            old.follow(&mut r);
            promoted::of(&r)
        })
        .collect()
}

#[test]
fn serials_old_space_is_heap_less_ages_and_promotion_its_growth() {
    // Values of promo-serial-17-sr9.jfr: totals 27,963,904, 4,213,904, 4,213,824, 4,232,768; the second
    // collection promotes 23,754,752.
    let run = [
        (27_963_904, 27_963_904, 15),
        (23_754_752 + 4_213_904, 4_213_904, 1),
        (23_754_752 + 4_213_824, 4_213_824, 15),
        (23_754_752 + 4_232_768, 4_232_768, 15),
    ];
    assert_eq!(
        follow(&run),
        [0, 23_754_752, 0, 0].map(Promoted::Exact).to_vec()
    );
}

#[test]
fn archived_objects_in_old_space_are_no_promotion() {
    // Values of warm-serial-25-sr8.jfr: old 1,194,680, then 39,582,408.
    let run = [
        (1_194_680 + 20_000_000, 20_000_000, 15),
        (39_582_408 + 4_000_000, 4_000_000, 1),
        (39_582_408 + 4_100_000, 4_100_000, 15),
    ];
    assert_eq!(
        follow(&run),
        [0, 38_387_728, 0].map(Promoted::Exact).to_vec()
    );
}

#[test]
fn a_full_survivor_space_leaves_the_first_promotion_unknown() {
    let run = [(40_000_000, 38_076_416, 15)];
    assert_eq!(follow(&run), [Promoted::NotComputable(Why::NoPrevious)]);
}

/// A G1 collection of 25 regions of 16 MiB, as in promo-g1r16-17-sr9.jfr.
fn g1_parts(ages: u64, threshold: u8, plab: Option<OldPlab>, old: (u64, u64)) -> Parts {
    let mut table = AgeTable::default();
    table.set(1, ages);
    let sizes = |eden: u64, survivor: u64| {
        Some(G1Sizes {
            eden,
            eden_total: (25 << 24) - survivor,
            survivor,
        })
    };
    Parts {
        name: Some("G1New".to_owned()),
        threshold: Some(threshold),
        ages: Some(table),
        plab,
        g1: [sizes(23 << 24, 2 << 24), sizes(0, 1 << 24)],
        heap: [
            Some(((25 << 24) + old.0, 1 << 30)),
            Some(((1 << 24) + old.1, 1 << 30)),
        ],
        ..Parts::default()
    }
}

fn g1_gather() -> Gather {
    let mut gather = Gather {
        max_threshold: Some(15),
        region: Some(1 << 24),
        ..Gather::default()
    };
    gather.flags.set("SurvivorRatio", 9);
    gather
}

#[test]
fn g1s_allocation_statistics_are_exact_and_the_heap_only_bounds() {
    let exact = OldPlab {
        used: Some(3_432_488),
        direct: Some(20_000_000),
        failed: 0,
    };
    let gather = g1_gather();
    let with = g1_parts(4_213_560, 1, Some(exact), (0, 25_166_336));
    let r = gather.record(1, &with).unwrap();
    assert_eq!(r.desired, Some(25_165_824));
    assert_eq!(promoted::of(&r), Promoted::Exact(23_432_488));
    let without = g1_parts(4_213_560, 1, None, (0, 25_166_336));
    let r = gather.record(1, &without).unwrap();
    assert_eq!(promoted::of(&r), Promoted::AtMost(25_166_336));
}

#[test]
fn the_heap_delta_is_never_used_when_evacuation_failed() {
    let mut parts = g1_parts(4_213_560, 15, None, (0, 80_478_224));
    parts.evacuation_failed = true;
    let r = g1_gather().record(0, &parts).unwrap();
    assert_eq!(
        promoted::of(&r),
        Promoted::NotComputable(Why::PromotionFailed)
    );
    parts.plab = Some(OldPlab {
        used: Some(15_725_864),
        direct: Some(0),
        failed: 23_371_696,
    });
    let r = g1_gather().record(0, &parts).unwrap();
    assert_eq!(promoted::of(&r), Promoted::Exact(15_725_864));
}

#[test]
fn ages_of_a_full_collection_are_leftovers() {
    let mut parts = g1_parts(2_676_088, 15, None, (0, 0));
    parts.name = Some("G1Full".to_owned());
    let r = g1_gather().record(5, &parts).unwrap();
    assert_eq!((r.kind, r.ages), (Kind::Full, None));
}

#[test]
fn parallel_promotes_what_old_space_gains() {
    let spaces = |old: u64, from: u64| {
        Some(Spaces {
            old: (old, 614_400 << 10),
            eden: (0, 335_872 << 10),
            from: (from, 37_748_736),
        })
    };
    let parts = Parts {
        name: Some("ParallelScavenge".to_owned()),
        threshold: Some(7),
        parallel: [spaces(0, 0), spaces(12_599_344, 36_377_688)],
        ..Parts::default()
    };
    let mut r = Gather::default().record(0, &parts).unwrap();
    r.promoted = promoted::of(&r);
    assert_eq!(r.promoted, Promoted::Exact(12_599_344));
    assert_eq!(crate::gc::rules::cause::of(&r), Cause::Overflow);
}

#[test]
fn parnew_recordings_say_that_promotion_is_not_computable() {
    let parts = Parts {
        name: Some("ParNew".to_owned()),
        threshold: Some(1),
        ..Parts::default()
    };
    let r = Gather::default().record(1, &parts).unwrap();
    assert_eq!(promoted::of(&r), Promoted::NotComputable(Why::BufferWaste));
}

#[test]
fn zgc_collections_carry_their_threshold() {
    for name in ["ZGC Minor", "ZGC Major"] {
        let parts = Parts {
            name: Some(name.to_owned()),
            threshold: Some(2),
            ..Parts::default()
        };
        let r = Gather::default().record(1, &parts).unwrap();
        assert_eq!((r.threshold_used, r.collector), (Some(2), Collector::Zgc));
    }
}
