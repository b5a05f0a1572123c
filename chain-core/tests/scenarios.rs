//! The main scenarios as timelines; a moved snapshot is a changed behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use chain_core::config::Collector;
use chain_core::record::{Outcome, Reason, Record};
use chain_core::sim::{Life, Sim, shapes::SHAPES};

fn calm(sim: &Sim) {
    assert_eq!(sim.violations, Vec::<String>::new());
}

#[test]
fn a_leak_is_found() {
    let mut sim = Sim::builder(1).fillers(1_000_000).leak(SHAPES[0]).build();
    sim.run_until_seconds(90);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
}

#[test]
fn a_healthy_day_has_no_search() {
    let mut sim = Sim::builder(2).build();
    sim.run_until_seconds(86_400);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
    assert_eq!(sim.searches(), 0);
}

#[test]
fn warm_up_may_be_searched_and_is_over_when_it_is_over() {
    let mut sim = Sim::builder(3)
        .churn(
            "java.lang.invoke.MethodType",
            Life::Warmup(120_000),
            1e6,
            256,
        )
        .churn("com.acme.Config", Life::Warmup(60_000), 2e6, 1024)
        .build();
    sim.run_until_seconds(7_200);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
}

#[test]
fn a_see_saw_is_looked_at_and_leaves_the_list() {
    let mut sim = Sim::builder(4)
        .churn("com.acme.Batch", Life::SeeSaw(120_000, 0.0), 2e6, 4096)
        .build();
    sim.run_until_seconds(1_800);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
}

#[test]
fn a_bounded_cache_starts_no_search_once_it_is_full() {
    let mut sim = Sim::builder(5)
        .heap(2048)
        .grows(SHAPES[29], Life::Fifo(200_000.0), 2e6)
        .build();
    sim.run_until_seconds(14_400);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
}

#[test]
fn exhaustion_is_approached_through_thirty_and_five_minutes() {
    let mut sim = Sim::builder(6)
        .heap(1024)
        .grows(SHAPES[0], Life::Leak, 0.35e6)
        .build();
    sim.run_until_seconds(2_580);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
}

#[test]
fn a_container_is_exhausted_before_the_heap() {
    let mut sim = Sim::builder(7)
        .heap(4096)
        .container(700)
        .grows(SHAPES[0], Life::Leak, 0.5e6)
        .build();
    sim.run_until_seconds(900);
    calm(&sim);
    let container = sim.records.iter().any(|r| {
        matches!(r.record, Record::OomProjection(o) if o.container_seconds.is_some() && o.seconds == o.container_seconds)
    });
    assert!(container);
    insta::assert_snapshot!(sim.timeline());
}

#[test]
fn a_stuck_candidate_is_given_up_with_its_reason() {
    let mut sim = Sim::builder(8).leak(SHAPES[0]).build();
    sim.walk.faults.blind = true;
    sim.run_until_seconds(600);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
}

#[test]
fn a_fixed_leak_disappears() {
    let mut sim = Sim::builder(9)
        .grows(SHAPES[0], Life::FixedAt(300_000), 2e6)
        .build();
    sim.run_until_seconds(1_200);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
    let leaf = sim.leaf(0);
    assert!(!sim.is_candidate(leaf));
}

#[test]
fn many_growing_classes_are_five_candidates_at_a_time() {
    let mut builder = Sim::builder(10).heap(4096);
    for (n, shape) in SHAPES[..9].iter().enumerate() {
        let mut shape = *shape;
        shape.suffix = match n {
            0 => &[(chain_core::chain::EdgeKind::Array, "", "com.acme.L0")],
            1 => &[(chain_core::chain::EdgeKind::Array, "", "com.acme.L1")],
            2 => &[(chain_core::chain::EdgeKind::Array, "", "com.acme.L2")],
            3 => &[(chain_core::chain::EdgeKind::Array, "", "com.acme.L3")],
            4 => &[(chain_core::chain::EdgeKind::Array, "", "com.acme.L4")],
            5 => &[(chain_core::chain::EdgeKind::Array, "", "com.acme.L5")],
            6 => &[(chain_core::chain::EdgeKind::Array, "", "com.acme.L6")],
            7 => &[(chain_core::chain::EdgeKind::Array, "", "com.acme.L7")],
            _ => &[(chain_core::chain::EdgeKind::Array, "", "com.acme.L8")],
        };
        builder = builder.grows(shape, Life::Leak, 1e6);
    }
    let mut sim = builder.build();
    sim.run_until_seconds(120);
    calm(&sim);
    let classes: std::collections::BTreeSet<_> =
        sim.chains().iter().map(|c| c.found.candidate).collect();
    assert!(classes.len() >= 5, "{}", sim.timeline());
    insta::assert_snapshot!(sim.timeline());
}

#[test]
fn recordings_start_and_stop_at_any_instant_and_lose_no_result() {
    for phase in 0..40 {
        let mut sim = Sim::builder(11).leak(SHAPES[0]).build();
        sim.run_until_seconds(10);
        for n in 0..30 {
            sim.record(n % 2 == 1);
            for _ in 0..(1 + (phase * 7 + n * 3) % 11) {
                sim.step();
            }
        }
        sim.record(true);
        sim.run_until_seconds(240);
        calm(&sim);
        assert!(
            !sim.chains().is_empty(),
            "phase {phase}: {}",
            sim.timeline()
        );
        sim.stop();
        assert!(sim.walk.held.is_empty(), "phase {phase}: tags left");
        calm(&sim);
        if phase == 3 {
            insta::assert_snapshot!(sim.timeline());
        }
    }
}

#[test]
fn tag_release_failures_are_retried_before_anything_else() {
    let mut sim = Sim::builder(12).leak(SHAPES[0]).build();
    sim.walk.faults.release_failures = 5;
    sim.run_until_seconds(60);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
    assert!(sim.walk.held.is_empty());
}

#[test]
fn clock_jumps_block_nothing() {
    for jump in [-3_600_000, -5_000, 5_000, 3_600_000] {
        let mut sim = Sim::builder(13).leak(SHAPES[0]).build();
        sim.jump(7_200_000);
        sim.run_until_seconds(8);
        sim.jump(jump);
        sim.run_until_seconds(90);
        assert!(!sim.chains().is_empty(), "{jump}: {}", sim.timeline());
        insta::assert_snapshot!(format!("clock_jump_of_{jump}_ms"), sim.timeline());
    }
}

#[test]
fn gc_counts_that_go_back_block_nothing() {
    let mut sim = Sim::builder(18).leak(SHAPES[0]).build();
    sim.run_until_seconds(8);
    sim.reset_gc_counts();
    sim.run_until_seconds(90);
    calm(&sim);
    insta::assert_snapshot!(sim.timeline());
    assert!(!sim.chains().is_empty());
}

#[test]
fn root_errors_abandon_after_three_and_truncations_are_tried_again() {
    let mut sim = Sim::builder(14).leak(SHAPES[21]).build();
    sim.walk.faults.root_errors = 3;
    sim.run_until_seconds(60);
    assert_eq!(
        sim.outcomes(),
        [Outcome::Abandoned(Reason::RootEnumerationError)]
    );
    let mut sim = Sim::builder(14).leak(SHAPES[21]).build();
    sim.walk.faults.root_truncations = 2;
    sim.run_until_seconds(60);
    assert_eq!(sim.outcomes(), [Outcome::Completed], "{}", sim.timeline());
}

#[test]
fn the_same_seed_gives_the_same_day_and_another_does_not() {
    let run = |seed| {
        let mut sim = Sim::builder(seed)
            .leak(SHAPES[0])
            .churn("com.acme.S", Life::Between(100.0, 9_000.0), 5e6, 512)
            .build();
        sim.run_until_seconds(300);
        sim.records
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn a_day_of_decisions_replays_without_a_difference() {
    let mut sim = Sim::builder(15).leak(SHAPES[0]).build();
    sim.keep_journal();
    sim.run_until_seconds(400);
    let lines = sim.journal();
    let replay = chain_core::journal::replay(lines.iter().map(String::as_str), &[]).unwrap();
    assert!(replay.decisions > 300, "{}", replay.decisions);
    assert_eq!(replay.differences, []);
    // From the middle: everything before the newest state is lost, as with a recording's maxage.
    sim.record(false);
    sim.record(true);
    sim.run_until_seconds(600);
    let from = sim
        .journal()
        .iter()
        .rposition(|l| l.contains("\"state\""))
        .unwrap();
    let late = sim.journal()[from..].iter().map(String::as_str);
    let replay = chain_core::journal::replay(late, &[]).unwrap();
    assert!(replay.decisions > 100);
    assert_eq!(replay.differences, []);
    // A recording that starts beside another one has lines of before its state.
    let early = sim.journal()[from - 5..].iter().map(String::as_str);
    let replay = chain_core::journal::replay(early, &[]).unwrap();
    assert_eq!(replay.early, 5);
    assert_eq!(replay.differences, []);
    // Without any state there is nothing to start from.
    let none = sim.journal()[from - 5..from].iter().map(String::as_str);
    assert!(chain_core::journal::replay(none, &[]).is_err());
}

#[test]
fn generational_zgc_takes_twelve_to_fourteen_majors_and_counts_no_minor() {
    let mut sim = Sim::builder(16)
        .gc(Collector::GenZgc, 1000)
        .leak(SHAPES[0])
        .build();
    // Twelve while the heap floor rises: 10 values, 3 qualifying folds in a row.
    sim.run_until_seconds(12 * 8 - 2);
    assert_eq!(sim.searches(), 0);
    sim.run_until_seconds(14 * 8 + 30);
    assert!(!sim.chains().is_empty(), "{}", sim.timeline());
    calm(&sim);
}
