use super::*;
use crate::config::{Config, WalkEngine};
use crate::ids::{ClassId, SearchId};
use crate::leak_signal::Candidate;
use crate::search::Stall;
use crate::walk::RootOutcome;

fn schedule(walk: WalkEngine) -> Schedule {
    Schedule::new(
        &Tuned::of(&Config {
            walk,
            ..Config::default()
        }),
        true,
    )
}

fn search() -> Search {
    let one = [Candidate {
        class: ClassId(1),
        ..Candidate::default()
    }];
    Search::new(
        SearchId(1),
        Tick(0),
        &one.into_iter().collect(),
        Stall::default(),
    )
}

fn report(wall_ms: u64, heap_walk_ms: u64) -> PassReport {
    PassReport {
        wall: Micros::from_millis(wall_ms),
        heap_walk: Micros::from_millis(heap_walk_ms),
        new_nodes: 1,
        nodes: 1,
        ..PassReport::default()
    }
}

fn next(s: &mut Schedule, at: u64, search: &Search) -> Next {
    s.next(
        Tick(at),
        search,
        Millis(10),
        false,
        &mut GateRefusals::default(),
    )
}

#[test]
fn root_interval_is_twenty_durations_between_two_and_thirty_seconds() {
    let mut c = RootClock::default();
    assert!(c.over(Tick(0)));
    for (took_ms, wait) in [(1, 2_000), (100, 2_000), (500, 10_000), (5_000, 30_000)] {
        c.ended(Tick(1_000), Micros::from_millis(took_ms));
        assert!(!c.over(Tick(1_000 + wait - 1)));
        assert!(c.over(Tick(1_000 + wait)));
        assert_eq!(c.over_at(Tick(1_000)), Tick(1_000 + wait));
    }
    c.ended(Tick(1_000_000), Micros::from_millis(5_000));
    assert!(!c.over(Tick(0)));
    assert!(
        c.over(Tick(30_000)),
        "a clock that went backwards does not block for ever"
    );
}

#[test]
fn minimum_spacing_is_the_cadence_but_at_least_100_ms_since_the_pass_ended() {
    let mut s = schedule(WalkEngine::Concurrent);
    let mut x = search();
    x.absorb(Tick(1_000), &report(0, 0), true);
    assert_eq!(
        next(&mut s, 1_050, &x),
        Next::Wait {
            until: Tick(1_100),
            why: Decision::Spacing
        }
    );
    assert_eq!(next(&mut s, 1_100, &x), Next::Run { roots: false });
    let mut r = GateRefusals::default();
    let slow = s.next(Tick(1_100), &x, Millis(700), false, &mut r);
    assert_eq!(
        slow,
        Next::Wait {
            until: Tick(1_700),
            why: Decision::Spacing
        }
    );
    assert_eq!(r.spacing, 1);
}

#[test]
fn the_ramp_has_no_floor_and_no_backoff_but_the_cpu_gate() {
    let mut s = schedule(WalkEngine::Safepoint);
    let mut x = search();
    let p = report(50, 40);
    x.absorb(Tick(1_000), &p, false);
    x.backoff.pass(1_000.0, false, false);
    s.cpu.set_rate(Tick(1_000), 1.0);
    s.charge(Tick(1_000), &p);
    let mut r = GateRefusals::default();
    let at = |s: &mut Schedule, t, r: &mut GateRefusals| s.next(Tick(t), &x, Millis(10), true, r);
    assert_eq!(
        at(&mut s, 1_005, &mut r),
        Next::Wait {
            until: Tick(1_010),
            why: Decision::Spacing
        }
    );
    assert_eq!(at(&mut s, 1_010, &mut r), Next::Run { roots: true });
    s.charge(Tick(1_010), &report(50, 0));
    assert_eq!(
        at(&mut s, 1_010, &mut r),
        Next::Wait {
            until: Tick(1_060),
            why: Decision::CpuDebt
        }
    );
}

#[test]
fn cpu_debt_comes_before_backoff_and_after_spacing() {
    let mut s = schedule(WalkEngine::Safepoint);
    let mut x = search();
    let p = report(500, 0);
    x.absorb(Tick(1_000), &p, false);
    x.backoff.pass(1_000.0, false, false);
    s.cpu.set_rate(Tick(1_000), 1.0);
    s.charge(Tick(1_000), &p);
    let whys: Vec<Decision> = [1_050, 1_100, 1_500, 3_100]
        .into_iter()
        .map(|t| match next(&mut s, t, &x) {
            Next::Wait { why, .. } => why,
            Next::Run { .. } => Decision::Run,
        })
        .collect();
    assert_eq!(
        whys,
        [
            Decision::Spacing,
            Decision::CpuDebt,
            Decision::Backoff,
            Decision::Run
        ]
    );
}

#[test]
fn backoff_only_while_candidates_are_unresolved() {
    let mut s = schedule(WalkEngine::Safepoint);
    let mut x = search();
    x.absorb(Tick(1_000), &report(0, 0), false);
    x.backoff.pass(1_000.0, false, false);
    assert!(matches!(
        next(&mut s, 1_200, &x),
        Next::Wait {
            why: Decision::Backoff,
            ..
        }
    ));
    x.forget(ClassId(1));
    assert!(matches!(next(&mut s, 1_200, &x), Next::Run { .. }));
}

#[test]
fn cpu_refill_is_a_hundredfold_while_candidates_are_unresolved() {
    let mut s = schedule(WalkEngine::Safepoint);
    let mut x = search();
    next(&mut s, 0, &x);
    assert!((s.cpu.rate() - 1.0).abs() < 1e-9);
    x.forget(ClassId(1));
    next(&mut s, 1, &x);
    assert!((s.cpu.rate() - 0.01).abs() < 1e-9);
}

#[test]
fn cpucap_bounds_the_share_of_a_core() {
    let mut s = schedule(WalkEngine::Concurrent);
    let mut x = search();
    let (mut now, mut cpu) = (0, 0);
    while now < 60_000 {
        match next(&mut s, now, &x) {
            Next::Wait { until, .. } => now = until.0,
            Next::Run { .. } => {
                now += 200;
                cpu += 200;
                let p = PassReport {
                    cpu: Micros::from_millis(200),
                    ..report(200, 0)
                };
                s.charge(Tick(now), &p);
                x.absorb(Tick(now), &p, true);
            }
        }
    }
    assert!((27_000..=30_200).contains(&cpu), "{cpu}");
}

#[test]
fn no_pass_with_a_heap_walk_call_starts_while_the_stop_window_is_full() {
    let mut s = schedule(WalkEngine::Safepoint);
    let x = search();
    s.stop.add(Tick(1_000), Micros::from_millis(500));
    let refused = Next::Wait {
        until: Tick(62_000),
        why: Decision::StopWindow,
    };
    assert_eq!(next(&mut s, 2_000, &x), refused);
    let mut r = GateRefusals::default();
    assert_eq!(
        s.next(Tick(3_000), &x, Millis(10), true, &mut r),
        refused,
        "in the ramp too"
    );
    assert_eq!(r.stop_window, 1);
    let mut uncapped = Schedule::new(
        &Tuned::of(&Config {
            walk: WalkEngine::Safepoint,
            ..Config::default()
        }),
        false,
    );
    uncapped.stop.add(Tick(1_000), Micros::from_millis(500));
    assert!(matches!(next(&mut uncapped, 2_000, &x), Next::Run { .. }));
}

#[test]
fn the_window_never_blocks_a_concurrent_pass_without_roots() {
    let mut s = schedule(WalkEngine::Concurrent);
    s.stop.add(Tick(1_000), Micros::from_millis(900));
    assert_eq!(next(&mut s, 2_000, &search()), Next::Run { roots: false });
}

#[test]
fn the_first_root_enumeration_of_the_safepoint_engine_is_mandatory_and_first() {
    let mut s = schedule(WalkEngine::Safepoint);
    let mut x = search();
    assert_eq!(next(&mut s, 0, &x), Next::Run { roots: true });
    let mut p = report(1, 1);
    p.roots = RootOutcome::Truncated;
    p.roots_took = Micros::from_millis(200);
    s.charge(Tick(1_000), &p);
    x.absorb(Tick(1_000), &p, false);
    assert_eq!(next(&mut s, 2_000, &x), Next::Run { roots: false });
    assert_eq!(next(&mut s, 5_000, &x), Next::Run { roots: true });
    p.roots = RootOutcome::CompleteAtEnd;
    x.absorb(Tick(5_000), &p, false);
    assert_eq!(next(&mut s, 50_000, &x), Next::Run { roots: false });
}

#[test]
fn concurrent_roots_come_after_statics_and_threads_and_only_for_unresolved_candidates() {
    let mut s = schedule(WalkEngine::Concurrent);
    let mut x = search();
    assert_eq!(next(&mut s, 0, &x), Next::Run { roots: false });
    let mut p = report(1, 0);
    p.statics_complete = true;
    p.drained = true;
    x.absorb(Tick(100), &p, true);
    assert_eq!(next(&mut s, 1_000, &x), Next::Run { roots: false });
    p.threads_complete = true;
    x.absorb(Tick(1_000), &p, true);
    assert_eq!(next(&mut s, 2_000, &x), Next::Run { roots: true });
    s.roots.ended(Tick(1_900), Micros(1));
    let interval = Next::Wait {
        until: Tick(3_900),
        why: Decision::RootInterval,
    };
    assert_eq!(next(&mut s, 2_000, &x), interval);
    s.stop.add(Tick(2_000), Micros::from_millis(500));
    assert!(matches!(
        next(&mut s, 4_000, &x),
        Next::Wait {
            why: Decision::StopWindow,
            ..
        }
    ));
    x.forget(ClassId(1));
    assert_eq!(next(&mut s, 4_000, &x), Next::Run { roots: false });
}

#[test]
fn a_stalled_concurrent_search_enumerates_roots_before_it_gives_up() {
    let mut s = schedule(WalkEngine::Concurrent);
    let mut x = search();
    let mut p = report(0, 0);
    p.new_nodes = 0;
    for _ in 0..30 {
        x.absorb(Tick(0), &p, true);
    }
    assert_eq!(next(&mut s, 10_000, &x), Next::Run { roots: true });
    s.roots.ended(Tick(9_900), Micros(1));
    assert_eq!(next(&mut s, 10_000, &x), Next::Run { roots: false });
}

#[test]
fn refill_zero_waits_and_never_spins() {
    let config = Config {
        pain_budget: Some(0.0),
        walk: WalkEngine::Safepoint,
        ..Config::default()
    };
    let mut s = Schedule::new(&Tuned::of(&config), true);
    s.charge(Tick(0), &report(10, 0));
    assert_eq!(
        next(&mut s, 5, &search()),
        Next::Wait {
            until: Tick(4_005),
            why: Decision::CpuDebt
        }
    );
}

#[test]
fn every_refusal_is_counted_once_by_its_name() {
    let refused = |walk, prepare: fn(&mut Schedule, &mut Search)| {
        let (mut s, mut x) = (schedule(walk), search());
        prepare(&mut s, &mut x);
        let mut r = GateRefusals::default();
        let next = s.next(Tick(1_500), &x, Millis(10), false, &mut r);
        assert!(matches!(next, Next::Wait { until, .. } if until > Tick(1_500)));
        r
    };
    let one = |set: fn(&mut GateRefusals)| {
        let mut r = GateRefusals::default();
        set(&mut r);
        r
    };
    use WalkEngine::{Concurrent, Safepoint};
    let spacing = refused(Concurrent, |_, x| {
        x.absorb(Tick(1_450), &report(0, 0), true);
    });
    assert_eq!(spacing, one(|r| r.spacing = 1));
    let debt = refused(Safepoint, |s, _| s.charge(Tick(1_400), &report(300, 0)));
    assert_eq!(debt, one(|r| r.cpu_debt = 1));
    let cap = refused(Concurrent, |s, _| {
        let cpu = Micros::from_millis(400);
        // What it was entitled to while it ran, half of its 400 ms, is no debt: 200 ms are.
        s.charge(
            Tick(1_400),
            &PassReport {
                cpu,
                ..report(400, 400)
            },
        );
    });
    assert_eq!(cap, one(|r| r.cpu_cap = 1));
    let backoff = refused(Safepoint, |_, x| {
        x.absorb(Tick(1_000), &report(0, 0), false);
        x.backoff.pass(5_000.0, false, false);
    });
    assert_eq!(backoff, one(|r| r.backoff = 1));
    let full = refused(Safepoint, |s, _| {
        s.stop.add(Tick(1_000), Micros::from_millis(500));
    });
    assert_eq!(full, one(|r| r.stop_window = 1));
    let explored = |x: &mut Search| {
        let mut p = report(0, 0);
        (p.statics_complete, p.threads_complete, p.drained) = (true, true, true);
        x.absorb(Tick(1_000), &p, true);
    };
    let (mut s, mut x) = (schedule(Concurrent), search());
    explored(&mut x);
    s.roots.ended(Tick(1_000), Micros(1));
    let mut r = GateRefusals::default();
    s.next(Tick(1_500), &x, Millis(10), false, &mut r);
    assert_eq!(r, one(|r| r.root_interval = 1));
    let (mut s, mut x) = (schedule(Concurrent), search());
    explored(&mut x);
    s.stop.add(Tick(1_000), Micros::from_millis(500));
    let mut r = GateRefusals::default();
    s.next(Tick(1_500), &x, Millis(10), false, &mut r);
    assert_eq!(r, one(|r| r.stop_window = 1));
}

#[test]
fn cpucap_charges_what_exceeds_the_share_of_the_passs_own_time() {
    let mut s = schedule(WalkEngine::Concurrent);
    let pass = |cpu, wall| PassReport {
        cpu: Micros::from_millis(cpu),
        ..report(wall, 0)
    };
    s.charge(Tick(1_000), &pass(100, 200));
    assert!(s.cpu_cap.balance() <= 0.0, "half of 200 ms is its share");
    s.charge(Tick(1_000), &pass(150, 200));
    assert!((s.cpu_cap.balance() - 50.0).abs() < 1e-9);
}
