//! Every shape of the catalogue is found from default options, and by how much time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use chain_core::chain::{RootKind, Strength};
use chain_core::config::Collector;
use chain_core::sim::shapes::{Expect, SHAPES};
use chain_core::sim::{Life, Sim};

fn find(shape: usize, fillers: u64, goal: u64) -> Sim {
    let mut sim = Sim::builder(shape as u64)
        .heap(4096)
        .fillers(fillers)
        .leak(SHAPES[shape])
        .build();
    let signal = sim.run_until(|s| s.searches() > 0, 120);
    assert!(
        signal,
        "shape {}: no signal\n{}",
        SHAPES[shape].number,
        sim.timeline()
    );
    let at = sim.seconds();
    sim.run_until(|s| !s.chains().is_empty(), at + goal);
    assert_eq!(sim.violations, Vec::<String>::new());
    sim
}

#[test]
fn every_reachable_leak_is_found_within_five_seconds_at_a_million_objects() {
    for (n, shape) in SHAPES.iter().enumerate() {
        let Expect::Chain(root) = shape.expect else {
            continue;
        };
        let sim = find(n, 1_000_000, 5);
        let chains = sim.chains();
        assert!(
            !chains.is_empty(),
            "shape {}\n{}",
            shape.number,
            sim.timeline()
        );
        assert_eq!(
            chains[0].found.chain.root.kind, root,
            "shape {}",
            shape.number
        );
        let leaf = chains[0].found.chain.hops.last().unwrap();
        assert_eq!(&*leaf.class, "com.acme.V", "shape {}", shape.number);
    }
}

#[test]
fn ten_million_objects_take_less_than_thirty_seconds_from_the_signal() {
    for n in [0, 3, 21, 26] {
        let sim = find(n, 10_000_000, 30);
        assert!(
            !sim.chains().is_empty(),
            "shape {}\n{}",
            SHAPES[n].number,
            sim.timeline()
        );
        let most = sim.passes.iter().map(|p| p.1.native.0).max().unwrap();
        assert!(most <= 200 << 20, "{most} bytes");
    }
}

#[test]
fn static_and_thread_leaks_need_no_safepoint() {
    for n in [0, 3, 10, 12, 25, 26] {
        let sim = find(n, 100_000, 5);
        let walks: u64 = sim.passes.iter().map(|p| p.1.heap_walk.0).sum();
        assert_eq!(walks, 0, "shape {}", SHAPES[n].number);
    }
}

#[test]
fn a_hidden_root_costs_four_ms_and_a_quarter_per_thread_at_most() {
    let sim = find(21, 1_000_000, 10);
    assert_eq!(sim.chains()[0].strength, Strength::Transient);
    let walks: u64 = sim.passes.iter().map(|p| p.1.heap_walk.0).sum();
    assert!(
        walks > 0 && walks <= 4_000 + 250 * sim.walk.threads,
        "{walks} us"
    );
}

#[test]
fn soft_and_housekeeping_chains_are_labelled() {
    assert_eq!(find(17, 10_000, 10).chains()[0].strength, Strength::Soft);
    let finalizer = find(16, 10_000, 10);
    assert_eq!(
        finalizer.chains()[0].found.chain.root.kind,
        RootKind::Finalizer
    );
    assert_eq!(finalizer.chains()[0].strength, Strength::Housekeeping);
    assert_eq!(
        find(7, 10_000, 10).chains()[0].strength,
        Strength::Housekeeping
    );
}

#[test]
fn no_chain_is_invented_where_there_is_no_strong_path() {
    let mut sim = Sim::builder(1).leak(SHAPES[14]).build();
    sim.run_until_seconds(300);
    assert!(
        sim.searches() > 0 && sim.chains().is_empty(),
        "{}",
        sim.timeline()
    );
}

#[test]
fn controls_stay_without_a_search_once_flat() {
    for (n, capacity) in [(24, 3_000.0), (29, 100_000.0)] {
        let mut sim = Sim::builder(n as u64)
            .heap(2048)
            .grows(SHAPES[n], Life::Fifo(capacity), 2e6)
            .build();
        sim.run_until_seconds(1_200);
        let before = sim.searches();
        sim.run_until_seconds(86_400);
        assert_eq!(
            sim.searches(),
            before,
            "shape {}\n{}",
            SHAPES[n].number,
            sim.timeline()
        );
    }
}

#[test]
fn every_collector_finds_the_leak_and_none_searches_in_churn() {
    for collector in [
        Collector::G1,
        Collector::Serial,
        Collector::Parallel,
        Collector::Zgc,
        Collector::GenZgc,
        Collector::Shenandoah,
    ] {
        let mut leak = Sim::builder(3)
            .heap(2048)
            .gc(collector, 500)
            .leak(SHAPES[0])
            .build();
        leak.run_until_seconds(180);
        assert!(
            !leak.chains().is_empty(),
            "{collector:?}\n{}",
            leak.timeline()
        );
        let mut churn = Sim::builder(3).gc(collector, 500).build();
        churn.run_until_seconds(7_200);
        assert_eq!(churn.searches(), 0, "{collector:?}\n{}", churn.timeline());
    }
}

#[test]
fn one_leak_is_one_finding_however_many_classes_it_drags_along() {
    let mut sim = Sim::builder(3).leak(SHAPES[0]).build();
    sim.run_until_seconds(60);
    let identities: std::collections::BTreeSet<_> =
        sim.chains().iter().map(|c| c.identity).collect();
    assert_eq!(identities.len(), 1);
}
