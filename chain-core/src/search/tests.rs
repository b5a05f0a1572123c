use super::*;
use crate::chain::{Chain, FoundChain, Hop};
use crate::leak_signal::Candidate;
use crate::walk::Reached;

fn selection(classes: &[u32]) -> Selection {
    classes
        .iter()
        .map(|c| Candidate {
            class: ClassId(*c),
            ..Candidate::default()
        })
        .collect()
}

fn search(classes: &[u32]) -> Search {
    Search::new(SearchId(1), Tick(0), &selection(classes), Stall::default())
}

fn chain(class: u32, strength: Strength, reached: u64, verified: bool) -> FoundChain {
    FoundChain {
        candidate: ClassId(class),
        chain: Chain {
            strength,
            ..Chain::default()
        },
        verified,
        instances: reached,
        reached,
        ..FoundChain::default()
    }
}

fn pass(chains: Vec<FoundChain>) -> PassReport {
    PassReport {
        chains,
        new_nodes: 10,
        nodes: 10,
        ..PassReport::default()
    }
}

#[test]
fn resolved_needs_a_verified_durable_chain_and_64_tallied_instances() {
    let mut s = search(&[1]);
    assert!(
        s.absorb(
            Tick(1),
            &pass(vec![chain(1, Strength::Durable, 64, false)]),
            true
        )
        .resolved
        .is_empty()
    );
    let a = s.absorb(
        Tick(2),
        &pass(vec![chain(1, Strength::Durable, 63, true)]),
        true,
    );
    assert!(a.progress && a.resolved.is_empty());
    let a = s.absorb(
        Tick(3),
        &pass(vec![chain(1, Strength::Durable, 64, true)]),
        true,
    );
    assert_eq!(
        (a.resolved.as_slice(), s.unresolved()),
        (&[ClassId(1)][..], 0)
    );
}

#[test]
fn sixty_four_strings_on_one_path_resolve_nothing_a_thousand_do() {
    for (leaf, enough) in [
        ("java.lang.String", 1_024),
        ("byte[]", 1_024),
        ("java.lang.Object[][]", 1_024),
        ("java.lang.StringBuilder", 64),
        ("byte", 64),
        ("com.acme.Order[]", 64),
    ] {
        let ends_at = |instances| {
            let mut found = chain(1, Strength::Durable, instances, true);
            found.chain.hops.push(Hop {
                class: leaf.into(),
                ..Hop::default()
            });
            pass(vec![found])
        };
        let mut s = search(&[1]);
        let early = s.absorb(Tick(1), &ends_at(enough - 1), true);
        assert!(early.resolved.is_empty(), "{leaf}");
        let late = s.absorb(Tick(2), &ends_at(enough), true);
        assert_eq!(late.resolved.as_slice(), [ClassId(1)], "{leaf}");
    }
}

#[test]
fn a_transient_or_soft_chain_stays_provisional_until_all_roots_are_drained() {
    for strength in [Strength::Transient, Strength::Soft] {
        let mut s = search(&[1]);
        s.absorb(Tick(1), &pass(vec![chain(1, strength, 1000, true)]), true);
        assert_eq!(s.unresolved(), 1);
        let mut drained = pass(vec![]);
        drained.drained = true;
        s.absorb(Tick(2), &drained, true);
        assert_eq!(s.unresolved(), 1, "roots are not complete yet");
        drained.statics_complete = true;
        drained.threads_complete = true;
        drained.roots = RootOutcome::CompleteAtSystemClass;
        assert_eq!(s.absorb(Tick(3), &drained, true).resolved.len(), 1);
    }
}

#[test]
fn a_few_instances_are_enough_once_all_roots_are_drained() {
    let mut s = search(&[1]);
    let mut p = pass(vec![chain(1, Strength::Durable, 3, true)]);
    p.drained = true;
    p.statics_complete = true;
    p.threads_complete = true;
    p.roots = RootOutcome::CompleteAtEnd;
    assert_eq!(s.absorb(Tick(1), &p, true).resolved.len(), 1);
}

#[test]
fn roots_are_complete_only_when_statics_and_threads_are_too() {
    let mut s = search(&[1]);
    let mut p = pass(vec![]);
    p.roots = RootOutcome::CompleteAtSystemClass;
    p.statics_complete = true;
    s.absorb(Tick(1), &p, true);
    assert!(!s.roots_complete);
    p.threads_complete = true;
    s.absorb(Tick(2), &p, true);
    assert!(s.roots_complete);
}

#[test]
fn root_errors_count_in_a_row() {
    let mut s = search(&[1]);
    let mut p = pass(vec![]);
    for (roots, errors) in [
        (RootOutcome::Error, 1),
        (RootOutcome::NotRun, 1),
        (RootOutcome::Error, 2),
        (RootOutcome::Truncated, 0),
    ] {
        p.roots = roots;
        s.absorb(Tick(1), &p, true);
        assert_eq!(s.root_errors, errors);
    }
}

#[test]
fn a_stalled_concurrent_pass_visited_no_new_object() {
    let mut s = search(&[1]);
    let mut p = pass(vec![]);
    p.frontier = 5;
    assert!(!s.absorb(Tick(1), &p, true).stalled);
    p.frontier = 1;
    assert!(!s.absorb(Tick(2), &p, true).stalled);
    p.new_nodes = 0;
    assert!(s.absorb(Tick(3), &p, true).stalled);
}

#[test]
fn a_stalled_safepoint_pass_left_the_frontier_no_longer() {
    let mut s = search(&[1]);
    let mut p = pass(vec![]);
    p.frontier = 5;
    assert!(!s.absorb(Tick(1), &p, false).stalled);
    assert!(s.absorb(Tick(2), &p, false).stalled);
    p.frontier = 6;
    assert!(!s.absorb(Tick(3), &p, false).stalled);
}

#[test]
fn expansion_only_passes_hold_the_counter_while_roots_are_incomplete() {
    let mut s = search(&[1]);
    let mut p = pass(vec![]);
    p.new_nodes = 0;
    for _ in 0..40 {
        s.absorb(Tick(1), &p, true);
    }
    assert_eq!((s.stalled, s.stalled_raw), (0, 40));
    p.roots = RootOutcome::Truncated;
    s.absorb(Tick(1), &p, true);
    assert_eq!(s.stalled, 1, "an enumeration attempt may advance it");
    p.roots = RootOutcome::CompleteAtEnd;
    p.statics_complete = true;
    p.threads_complete = true;
    s.absorb(Tick(1), &p, true);
    p.roots = RootOutcome::NotRun;
    s.absorb(Tick(1), &p, true);
    assert_eq!(s.stalled, 3);
}

#[test]
fn ttl_counts_from_the_first_pass_after_roots_are_complete() {
    let mut s = search(&[1]);
    s.absorb(Tick(500), &pass(vec![]), true);
    assert_eq!(s.ttl_elapsed(Tick(900)), None);
    let mut p = pass(vec![]);
    p.roots = RootOutcome::Skipped;
    s.absorb(Tick(700), &p, true);
    assert_eq!(s.ttl_elapsed(Tick(900)), Some(Millis(200)));
    let mut plain = search(&[1]);
    plain.absorb(Tick(500), &pass(vec![]), false);
    assert_eq!(plain.ttl_elapsed(Tick(900)), Some(Millis(900)));
}

#[test]
fn a_new_candidate_joins_and_resets_the_backoff() {
    let mut s = search(&[1]);
    s.backoff.pass(10.0, false, false);
    s.follow(&selection(&[1]), |_| false);
    assert_eq!(s.backoff.multiplier(), 2);
    s.follow(&selection(&[1, 2]), |_| false);
    assert_eq!((s.backoff.multiplier(), s.targets.len()), (1, 2));
    s.follow(&selection(&[3, 4, 5, 6, 7]), |c| c == ClassId(3));
    assert_eq!(
        s.targets.iter().map(|t| t.class.0).collect::<Vec<_>>(),
        [1, 2, 4, 5, 6]
    );
}

#[test]
fn costs_add_up_and_manual_walk_is_wall_minus_heap_walk() {
    let mut s = search(&[1]);
    let mut p = pass(vec![]);
    p.wall = Micros(1000);
    p.heap_walk = Micros(300);
    p.cpu = Micros(500);
    p.edges = 7;
    s.absorb(Tick(1), &p, true);
    p.heap_walk = Micros(2000);
    s.absorb(Tick(2), &p, true);
    assert_eq!(
        (s.heap_walk, s.manual_walk, s.cpu, s.edges),
        (Micros(2300), Micros(700), Micros(1000), 14)
    );
}

#[test]
fn a_candidate_of_which_nothing_is_left_is_dropped_a_resolved_one_stays() {
    let mut s = search(&[1, 2]);
    s.absorb(
        Tick(1),
        &pass(vec![chain(1, Strength::Durable, 64, true)]),
        true,
    );
    s.forget(ClassId(1));
    s.forget(ClassId(2));
    assert_eq!((s.targets.len(), s.unresolved()), (1, 0));
}

#[test]
fn a_candidate_that_joins_later_is_not_lost_nor_one_with_any_chain() {
    let mut s = search(&[1]);
    assert_eq!(s.lost(), 1);
    s.follow(&selection(&[2]), |_| false);
    assert_eq!(
        s.lost(),
        2,
        "before the first pass it was there from the start"
    );
    s.absorb(Tick(1), &pass(vec![]), true);
    s.follow(&selection(&[3]), |_| false);
    let late: Vec<bool> = s.targets.iter().map(|t| t.late).collect();
    assert_eq!(late, [false, false, true]);
    assert_eq!((s.lost(), s.unresolved()), (2, 3));
    s.absorb(
        Tick(2),
        &pass(vec![chain(1, Strength::Transient, 1, true)]),
        true,
    );
    assert_eq!((s.lost(), s.unresolved()), (1, 3));
}

#[test]
fn truncation_and_eviction_last_and_coverage_is_partial_then() {
    let cut = |change: fn(&mut PassReport)| {
        let mut s = search(&[1]);
        let mut p = pass(vec![]);
        change(&mut p);
        s.absorb(Tick(1), &p, true);
        s.absorb(Tick(2), &pass(vec![]), true);
        (s.truncated, s.partial, s.frontier_cap_hit)
    };
    assert_eq!(cut(|_| {}), (false, false, false));
    assert_eq!(cut(|p| p.truncated = true), (true, true, false));
    assert_eq!(cut(|p| p.evicted = 1), (true, true, false));
    assert_eq!(
        cut(|p| p.roots = RootOutcome::Skipped),
        (false, true, false)
    );
    assert_eq!(cut(|p| p.frontier_cap_hit = true), (false, true, true));
}

#[test]
fn what_was_looked_at_once_stays_looked_at() {
    let mut s = search(&[1]);
    let mut p = pass(vec![]);
    p.statics_complete = true;
    p.roots = RootOutcome::Truncated;
    p.coverage = Some(400);
    s.absorb(Tick(1), &p, true);
    let mut p = pass(vec![]);
    p.threads_complete = true;
    p.nodes = 3;
    s.absorb(Tick(2), &p, true);
    assert!(s.statics_complete && s.threads_complete && s.roots_attempted);
    assert!(!s.roots_complete && !s.roots_enumerated);
    assert_eq!((s.coverage, s.nodes, s.passes), (Some(400), 10, 2));
}

#[test]
fn the_ttl_begins_once_and_at_the_start_for_the_safepoint_engine() {
    let mut s = search(&[1]);
    let mut p = pass(vec![]);
    p.roots = RootOutcome::Skipped;
    s.absorb(Tick(700), &p, true);
    s.absorb(Tick(800), &pass(vec![]), true);
    assert_eq!(s.ttl_from, Some(Tick(700)));
    let mut plain = Search::new(SearchId(1), Tick(300), &selection(&[1]), Stall::default());
    plain.absorb(Tick(700), &p, false);
    assert_eq!(plain.ttl_from, Some(Tick(300)));
}

#[test]
fn progress_is_a_first_chain_a_durable_one_and_a_resolution() {
    let mut s = search(&[1]);
    let mut progress = |strength, reached| {
        let found = vec![chain(1, strength, reached, true)];
        s.absorb(Tick(1), &pass(found), true).progress
    };
    assert!(progress(Strength::Transient, 1));
    assert!(!progress(Strength::Transient, 9));
    assert!(progress(Strength::Durable, 1));
    assert!(!progress(Strength::Durable, 9));
    assert!(progress(Strength::Durable, 64));
    assert!(!progress(Strength::Durable, 99));
    assert_eq!(s.without_progress, 1);
}

#[test]
fn candidates_bring_their_threads_and_known_ones_get_the_newest() {
    let with = |class, thread| {
        [Candidate {
            class: ClassId(class),
            threads: [ThreadId(thread)].into_iter().collect(),
            ..Candidate::default()
        }]
        .into_iter()
        .collect::<Selection>()
    };
    let mut s = Search::new(SearchId(1), Tick(0), &with(1, 5), Stall::default());
    s.follow(&with(2, 6), |_| false);
    s.follow(&with(1, 7), |_| false);
    let targets = s.plan_targets();
    let threads: Vec<u64> = targets.iter().map(|t| t.threads.as_slice()[0].0).collect();
    assert_eq!(threads, [7, 6]);
}

#[test]
fn a_chain_that_is_resolved_by_the_pass_that_finds_it_is_progress() {
    let mut s = search(&[1]);
    let mut p = pass(vec![chain(1, Strength::Transient, 3, true)]);
    (p.drained, p.statics_complete, p.threads_complete) = (true, true, true);
    p.roots = RootOutcome::CompleteAtEnd;
    let absorbed = s.absorb(Tick(1), &p, true);
    assert!(absorbed.progress && absorbed.resolved.len() == 1);
}

#[test]
fn a_complete_search_tells_which_candidates_it_met_nothing_of() {
    let mut s = search(&[1, 2, 3]);
    let mut first = pass(vec![chain(1, Strength::Durable, 64, true)]);
    first.reached = vec![Reached {
        class: ClassId(2),
        instances: 5,
    }];
    s.absorb(Tick(1), &first, true);
    s.follow(&selection(&[1, 2, 3, 4]), |_| false);
    assert_eq!(
        s.gaps().as_slice(),
        [Gap::RootsIncomplete, Gap::NotDrained],
        "{s:?}"
    );
    let last = PassReport {
        statics_complete: true,
        threads_complete: true,
        roots: RootOutcome::CompleteAtSystemClass,
        drained: true,
        ..pass(vec![])
    };
    s.absorb(Tick(2), &last, true);
    assert!(s.gaps().is_empty(), "{s:?}");
    let told: Vec<(u32, u64, bool)> = s
        .without_chain()
        .iter()
        .map(|lost| (lost.class.0, lost.reached, lost.unreached()))
        .collect();
    // 2 was met, 4 joined after the first pass: nothing is proven of either.
    assert_eq!(told, [(2, 5, false), (3, 0, true), (4, 0, false)]);
}

#[test]
fn every_cut_of_a_search_is_a_gap_of_its_own() {
    let whole = || PassReport {
        statics_complete: true,
        threads_complete: true,
        roots: RootOutcome::CompleteAtEnd,
        drained: true,
        ..pass(vec![])
    };
    let gaps = |last: PassReport| {
        let mut s = search(&[1]);
        s.absorb(Tick(1), &last, true);
        s.gaps().as_slice().to_vec()
    };
    assert_eq!(gaps(whole()), []);
    let cases = [
        (
            PassReport {
                evicted: 1,
                ..whole()
            },
            Gap::MemoryCap,
        ),
        (
            PassReport {
                frontier_cap_hit: true,
                ..whole()
            },
            Gap::FrontierCap,
        ),
        (
            PassReport {
                truncated: true,
                ..whole()
            },
            Gap::Truncated,
        ),
        (
            PassReport {
                roots: RootOutcome::Skipped,
                ..whole()
            },
            Gap::RootsSkipped,
        ),
        (
            PassReport {
                roots: RootOutcome::Truncated,
                ..whole()
            },
            Gap::RootsIncomplete,
        ),
        (
            PassReport {
                threads_complete: false,
                ..whole()
            },
            Gap::RootsIncomplete,
        ),
        (
            PassReport {
                drained: false,
                ..whole()
            },
            Gap::NotDrained,
        ),
    ];
    for (report, gap) in cases {
        assert_eq!(gaps(report), [gap]);
    }
}
