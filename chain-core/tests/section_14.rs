//! Section 14 of search-control: what the simulation must show, and section 13 against the plain rules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use chain_core::config::Collector;
use chain_core::record::{Outcome, Reason, Record, Stamped};
use chain_core::sim::shapes::SHAPES;
use chain_core::sim::{Life, Sim};

/// Checked every simulated minute once qualified: how often the class was not.
fn interruptions(sim: &mut Sim, hours: u64) -> (u64, u64) {
    let leaf = sim.leaf(0);
    assert!(
        sim.run_until(|s| s.is_candidate(leaf), hours * 3600),
        "{}",
        sim.timeline()
    );
    let (mut checks, mut missing) = (0, 0);
    while sim.seconds() < hours * 3600 {
        let next = sim.seconds() + 60;
        sim.run_until_seconds(next);
        checks += 1;
        missing += u64::from(!sim.is_candidate(leaf));
    }
    (checks, missing)
}

#[test]
fn a_steady_leak_stays_qualified_for_a_day_at_gc_periods_from_a_tenth_of_a_second_to_five_minutes()
{
    for period in [100, 1_000, 10_000, 60_000, 300_000] {
        let mut sim = Sim::builder(period)
            .quiet()
            .heap(262_144)
            .fillers(1_000)
            .gc(Collector::G1, period)
            .options(|c| c.chains = Some(false))
            .grows(SHAPES[0], Life::Leak, 0.4e6)
            .build();
        let (checks, missing) = interruptions(&mut sim, 24);
        assert_eq!(
            missing,
            0,
            "period {period} ms: {missing} of {checks}\n{}",
            sim.timeline()
        );
        assert_eq!(sim.violations, Vec::<String>::new());
    }
}

#[test]
fn without_the_stride_a_steady_leak_outgrows_its_own_bar() {
    let run = |stride| {
        let mut sim = Sim::builder(1)
            .quiet()
            .heap(262_144)
            .fillers(1_000)
            .grows(SHAPES[0], Life::Leak, 20e6)
            .improvements(|i| i.stride = stride)
            .build();
        interruptions(&mut sim, 2).1
    };
    assert_eq!(run(true), 0);
    assert!(run(false) > 100);
}

#[test]
fn steady_churn_starts_no_search_in_a_day() {
    for seed in 1..=3 {
        let mut sim = Sim::builder(seed)
            .churn(
                "com.acme.Session",
                Life::Between(500.0, 1_500.0),
                10e6,
                4096,
            )
            .churn("byte[]", Life::Short(150.0), 40e6, 2048)
            .churn("com.acme.Cached", Life::Random(1_000.0), 5e6, 4096)
            .build();
        sim.run_until_seconds(86_400);
        assert_eq!(sim.searches(), 0, "seed {seed}\n{}", sim.timeline());
        assert_eq!(sim.violations, Vec::<String>::new());
    }
}

#[test]
fn none_starts_once_the_population_has_been_flat_and_without_the_guard_noise_does_start_some() {
    let run = |guard| {
        let mut sim = Sim::builder(4)
            .heap(2048)
            .churn("com.acme.Cached", Life::Random(20_000.0), 10e6, 4096)
            .improvements(|i| i.plateau_guard = guard)
            .build();
        sim.run_until_seconds(1_800);
        let before = sim.searches();
        sim.run_until_seconds(86_400);
        sim.searches() - before
    };
    let (with, without) = (run(true), run(false));
    assert_eq!(with, 0);
    assert!(without > 0, "{without}");
}

#[test]
fn without_normalised_epochs_churn_looks_like_a_leak() {
    let run = |normalised| {
        let mut sim = Sim::builder(5)
            .gc(Collector::GenZgc, 500)
            .old_every(400)
            .improvements(|i| i.normalised_epochs = normalised)
            .build();
        sim.run_until_seconds(3_600);
        sim.searches()
    };
    assert_eq!(run(true), 0);
    assert!(run(false) > 0);
}

#[test]
fn without_zero_pushes_a_finished_leak_stays_a_candidate() {
    // A leak that is released: its objects die and none is allocated any more.
    let fixed = |zero_push| {
        let mut sim = Sim::builder(6)
            .quiet()
            .gc(Collector::Zgc, 1_000)
            .grows(SHAPES[0], Life::Leak, 2e6)
            .improvements(|i| i.zero_push = zero_push)
            .build();
        let leaf = sim.leaf(0);
        sim.run_until_seconds(60);
        assert!(sim.is_candidate(leaf));
        sim.release_all(0);
        sim.run_until_seconds(600);
        sim.is_candidate(leaf)
    };
    assert!(!fixed(true));
    assert!(fixed(false));
}

#[test]
fn without_the_own_clock_the_first_candidate_takes_minutes() {
    let run = |own_clock| {
        let mut sim = Sim::builder(7)
            .leak(SHAPES[0])
            .improvements(|i| i.own_clock = own_clock)
            .build();
        let leaf = sim.leaf(0);
        sim.run_until(|s| s.is_candidate(leaf), 3_600);
        sim.seconds()
    };
    assert!(run(true) < 20);
    assert!(run(false) >= 300);
}

#[test]
fn without_the_stop_time_cap_a_running_search_stops_the_application_for_seconds() {
    let run = |cap| {
        let mut sim = Sim::builder(8)
            .safepoint()
            .jdk(17)
            .heap(4096)
            .fillers(5_000_000)
            .leak(SHAPES[0])
            .improvements(|i| i.stop_cap = cap)
            .build();
        sim.walk.faults.blind = true;
        sim.run_until_seconds(300);
        worst_minute(&sim)
    };
    let (with, without) = (run(true), run(false));
    assert!(with <= 500 + 600, "{with} ms in a minute");
    assert!(without > 2 * with, "{without} ms against {with} ms");
}

/// Most heap-walk-call ms in any 60 s.
fn worst_minute(sim: &Sim) -> u64 {
    let calls: Vec<(u64, u64)> = sim
        .passes
        .iter()
        .map(|p| (p.0.0, p.1.heap_walk.0))
        .collect();
    let within = |from: u64| {
        calls
            .iter()
            .filter(|c| c.0 >= from && c.0 < from + 60_000)
            .map(|c| c.1)
            .sum::<u64>()
    };
    calls.iter().map(|c| within(c.0)).max().unwrap_or(0) / 1000
}

#[test]
fn without_a_no_progress_counter_per_search_later_searches_end_at_their_first_pass() {
    // Nothing strong leads to the first leak: its search goes on until the frontier no longer grows.
    // The second leak is an ordinary one, and begins after that.
    let mut ordinary = SHAPES[0];
    ordinary.suffix = &[(chain_core::chain::EdgeKind::Array, "", "com.acme.Order")];
    let run = |progress_per_search| {
        let mut sim = Sim::builder(14)
            .safepoint()
            .jdk(21)
            .heap(65_536)
            .fillers(2_000_000)
            .options(|c| {
                c.budget = Some(2_000);
                c.framecap = Some(10_000_000);
                c.ttl = Some(chain_core::Millis(0));
                c.live_ratio = Some(1.0);
            })
            .grows(SHAPES[14], Life::Leak, 1e6)
            .grows(ordinary, Life::Burst(600_000, u64::MAX), 1e6)
            .improvements(|i| i.progress_per_search = progress_per_search)
            .build();
        sim.run_until_seconds(1_800);
        let in_vain = Outcome::Abandoned(Reason::NoProgress);
        let ended = |r: &Stamped| match &r.record {
            Record::SearchEnded(e) if e.outcome == in_vain => Some(e.passes),
            _ => None,
        };
        sim.records.iter().filter_map(ended).collect::<Vec<_>>()
    };
    let (with, without) = (run(true), run(false));
    assert!(
        with.len() >= 3 && with.iter().all(|passes| *passes > 30),
        "each gives up after thirty passes of its own: {with:?}"
    );
    assert_eq!(without.first(), with.first());
    let at_once = without.iter().filter(|passes| **passes == 1).count();
    assert!(at_once >= 2, "given up at the first pass: {without:?}");
}

#[test]
fn without_ranking_by_bytes_warm_up_internals_come_first() {
    let run = |rank_by_bytes| {
        let mut sim = Sim::builder(9)
            .heap(4096)
            .options(|c| c.live_ratio = Some(1.0))
            .churn(
                "java.lang.invoke.LambdaForm",
                Life::Warmup(600_000),
                1.2e6,
                64,
            )
            .grows(SHAPES[0], Life::Burst(20_000, u64::MAX), 8e6)
            .improvements(|i| i.rank_by_bytes = rank_by_bytes)
            .build();
        sim.run_until_seconds(40);
        assert_eq!(sim.candidates(), 2);
        sim.first_candidate() == Some(sim.leaf(0))
    };
    assert!(run(true));
    assert!(!run(false), "growth alone: what began first is ahead");
}

#[test]
fn without_reasons_of_their_own_a_lost_candidate_reads_as_completed() {
    let run = |distinct_reasons| {
        let mut sim = Sim::builder(15)
            .leak(SHAPES[14])
            .improvements(|i| i.distinct_reasons = distinct_reasons)
            .build();
        sim.run_until(|s| !s.outcomes().is_empty(), 300);
        assert!(sim.chains().is_empty());
        sim.outcomes()
    };
    assert_eq!(run(true), [Outcome::Abandoned(Reason::CandidateLost)]);
    assert_eq!(run(false), [Outcome::Completed]);
}

#[test]
fn without_the_integral_clamp_a_walk_that_became_dear_is_not_paced_for_minutes() {
    // A long search of cheap passes; then every heap-walk call costs 150 ms, whatever its budget.
    let run = |integral_clamp| {
        let mut sim = Sim::builder(16)
            .safepoint()
            .jdk(21)
            .heap(65_536)
            .fillers(8_000_000)
            .options(|c| {
                c.budget = Some(2_500);
                c.framecap = Some(50_000_000);
                c.stop_cap = Some(chain_core::Millis(60_000));
            })
            .grows(SHAPES[14], Life::Leak, 1e6)
            .improvements(|i| i.integral_clamp = integral_clamp)
            .build();
        sim.run_until(|s| s.passes.len() >= 200, 7_200);
        let (cheap, from) = (sim.passes.len(), sim.seconds());
        sim.walk.costs.call_us = 150_000;
        sim.run_until_seconds(from + 60);
        sim.passes.len() - cheap
    };
    let (with, without) = (run(true), run(false));
    assert!(
        with * 3 < without * 2,
        "{with} dear passes a minute against {without}"
    );
}

#[test]
fn section_13_finds_in_seconds_what_the_plain_rules_take_minutes_for() {
    let run = |concurrent_rules| {
        let mut sim = Sim::builder(10)
            .heap(4096)
            .fillers(3_000_000)
            .leak(SHAPES[21])
            .improvements(|i| i.concurrent_rules = concurrent_rules)
            .build();
        sim.run_until(|s| s.searches() > 0, 120);
        let from = sim.seconds();
        sim.run_until(|s| !s.chains().is_empty(), from + 3_600);
        sim.seconds() - from
    };
    let (ours, plain) = (run(true), run(false));
    assert!(ours <= 10, "{ours} s");
    assert!(plain >= 3 * ours, "{plain} s against {ours} s");
}

#[test]
fn the_plain_rules_stop_the_application_for_a_leak_that_a_static_holds() {
    let run = |concurrent_rules| {
        let mut sim = Sim::builder(11)
            .leak(SHAPES[0])
            .improvements(|i| i.concurrent_rules = concurrent_rules)
            .build();
        sim.run_until_seconds(60);
        sim.passes.iter().map(|p| p.1.heap_walk.0).sum::<u64>()
    };
    assert_eq!(run(true), 0);
    assert!(run(false) > 0, "root enumeration first");
}

#[test]
fn a_concurrent_search_stays_within_its_share_of_a_core() {
    let mut sim = Sim::builder(12)
        .heap(4096)
        .fillers(10_000_000)
        .leak(SHAPES[21])
        .build();
    sim.run_until(|s| !s.chains().is_empty(), 120);
    let first = sim.passes.first().unwrap().0.0;
    let last = sim.passes.last().unwrap();
    let cpu: u64 = sim.passes.iter().map(|p| p.1.cpu.0).sum();
    let wall = last.0.0 + last.1.wall.0 / 1000 - first;
    let share = cpu / 10 / wall.max(1);
    assert!(share <= 53, "{share} % of a core over {wall} ms");
    let edges: u64 = sim.passes.iter().map(|p| p.1.edges).sum();
    assert!(
        edges * 1000 / wall >= 800_000,
        "{} edges a second",
        edges * 1000 / wall
    );
}

#[test]
fn no_search_at_all_still_says_why() {
    let mut sim = Sim::builder(13).build();
    sim.run_until_seconds(60);
    let refusals = sim.records.iter().rev().find_map(|r| match &r.record {
        Record::CostBudget(c) => Some(c.refusals),
        _ => None,
    });
    assert!(refusals.unwrap().no_candidate > 30);
    assert!(
        sim.records
            .iter()
            .any(|r| matches!(r.record, Record::LeakCandidate(_)))
    );
}
