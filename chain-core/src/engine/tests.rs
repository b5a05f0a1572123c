use super::*;
use crate::chain::Strength;
use crate::ids::SearchId;
use crate::ids::{ClassId, ThreadId};
use crate::plan::PassPlan;
use crate::record::ChainCommitted;
use crate::record::{Decision, Outcome, Reason};
use crate::tick::{Epoch, Micros};
use crate::walk::{Reached, ReleaseReport, RootOutcome};

/// An engine with a hand-made world: one GC a second, three leaked samples of class 1 each.
struct World {
    engine: Engine,
    now: u64,
    samples: u32,
    epoch: u64,
    records: Vec<Stamped>,
    leaking: bool,
}

impl World {
    fn new(mut config: Config) -> World {
        config.machine.max_heap = Some(Bytes::mib(16 * 1024));
        let mut engine = Engine::new(config);
        engine.handle(Tick(0), Input::SamplingStarted);
        engine.handle(Tick(0), Input::RecordingStarted);
        World {
            engine,
            now: 0,
            epoch: 0,
            samples: 0,
            records: Vec::new(),
            leaking: true,
        }
    }

    /// One second: samples, a GC, sweeps answered; the first action that is neither is returned.
    fn second(&mut self) -> Action {
        self.now += 1000;
        let now = Tick(self.now);
        self.epoch += 1;
        let epoch = Epoch(self.epoch);
        if self.leaking {
            for _ in 0..3 {
                self.samples += 1;
                let sample = Sample {
                    id: SampleId(self.samples),
                    class: ClassId(1),
                    thread: ThreadId(7),
                    weight: Bytes(5_000_000),
                    epoch: Epoch(epoch.0 - 1),
                    ..Sample::default()
                };
                self.engine.handle(now, Input::Sample(sample));
            }
        }
        let gc = GcReading {
            epoch,
            max_heap: Some(Bytes::mib(16 * 1024)),
            ..GcReading::default()
        };
        self.engine.handle(now, Input::Gc(gc));
        loop {
            let action = self.engine.poll(now);
            self.records.extend(self.engine.drain());
            match action {
                Action::Sweep => self.engine.handle(now, Input::Swept { dead: Vec::new() }),
                Action::Reverify => {
                    let alive = self
                        .engine
                        .cached_chains()
                        .map(|c| ChainAlive {
                            signature: c.signature,
                            alive: true,
                        })
                        .collect();
                    self.engine.handle(now, Input::Reverified(alive));
                }
                other => return other,
            }
        }
    }

    fn until_pass(&mut self) -> PassPlan {
        for _ in 0..100 {
            if let Action::RunPass(plan) = self.second() {
                return plan;
            }
        }
        panic!("no pass in 100 seconds");
    }

    fn pass(&mut self, plan: &PassPlan, chains: Vec<FoundChain>, end: bool) {
        let report = PassReport {
            search: plan.search,
            pass: plan.pass,
            new_nodes: 1000,
            nodes: 1000,
            edges: 2000,
            wall: Micros::from_millis(20),
            cpu: Micros::from_millis(20),
            statics_complete: true,
            threads_complete: true,
            drained: end,
            roots: if plan.roots {
                RootOutcome::CompleteAtSystemClass
            } else {
                RootOutcome::NotRun
            },
            reached: vec![Reached {
                class: ClassId(1),
                instances: 100,
            }],
            chains,
            ..PassReport::default()
        };
        self.engine.handle(Tick(self.now + 20), Input::Pass(report));
        self.records.extend(self.engine.drain());
    }

    fn release(&mut self, search: SearchId, complete: bool) {
        let report = ReleaseReport {
            search,
            complete,
            failed: u64::from(!complete),
            ..ReleaseReport::default()
        };
        self.engine.handle(Tick(self.now), Input::Released(report));
        self.records.extend(self.engine.drain());
    }

    fn outcomes(&self) -> Vec<Outcome> {
        let ended = |r: &Stamped| match &r.record {
            Record::SearchEnded(e) => Some(e.outcome),
            _ => None,
        };
        self.records.iter().filter_map(ended).collect()
    }

    fn committed(&self) -> Vec<&ChainCommitted> {
        let committed = |r: &'_ Stamped| matches!(r.record, Record::ChainCommitted(_));
        self.records
            .iter()
            .filter(|r| committed(r))
            .map(|r| match &r.record {
                Record::ChainCommitted(c) => c,
                _ => unreachable!(),
            })
            .collect()
    }
}

fn chain(strength: Strength, instances: u64) -> FoundChain {
    FoundChain {
        candidate: ClassId(1),
        chain: Chain {
            strength,
            ..Chain::default()
        },
        signature: ShortId(77),
        verified: true,
        instances,
        reached: instances,
        ..FoundChain::default()
    }
}

#[test]
fn a_steady_leak_is_searched_after_fourteen_folds_and_its_chain_committed() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    assert!((14_000..=16_000).contains(&w.now), "{}", w.now);
    assert_eq!(plan.targets.as_slice()[0].class, ClassId(1));
    assert_eq!(plan.targets.as_slice()[0].threads.as_slice(), [ThreadId(7)]);
    assert!(!plan.roots, "statics and threads first");
    w.pass(&plan, vec![chain(Strength::Durable, 100)], false);
    assert_eq!(w.outcomes(), [Outcome::Completed]);
    assert_eq!(
        (w.committed().len(), w.committed()[0].provisional),
        (1, false)
    );
}

#[test]
fn poll_is_idempotent_at_one_instant_and_repeats_what_awaits_an_answer() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    for later in [0, 5, 5_000] {
        assert_eq!(w.engine.poll(Tick(w.now + later)), Action::RunPass(plan));
    }
    w.pass(&plan, vec![], false);
    let a = w.engine.poll(Tick(w.now + 20));
    assert!(matches!(a, Action::Wait { .. }));
    assert_eq!(w.engine.poll(Tick(w.now + 20)), a);
}

#[test]
fn a_wait_holds_until_its_instant_unless_an_input_arrives() {
    let mut e = Engine::new(Config::default());
    let Action::Wait { until } = e.poll(Tick(100)) else {
        panic!()
    };
    assert_eq!(until, Tick(1_100));
    assert_eq!(e.poll(Tick(1_099)), Action::Wait { until });
    assert_eq!(e.poll(Tick(1_100)), Action::Wait { until: Tick(2_100) });
}

#[test]
fn nothing_is_armed_without_a_recording_or_without_sampling() {
    let mut e = Engine::new(Config::default());
    e.handle(Tick(0), Input::SamplingStarted);
    assert!(!e.decider().armed() && !e.admission().enabled);
    e.handle(Tick(0), Input::RecordingStarted);
    assert!(e.decider().armed() && e.admission().enabled);
    let mut e = Engine::new(Config::default());
    e.handle(Tick(0), Input::RecordingStarted);
    assert!(!e.decider().armed());
}

#[test]
fn live_heap_tracking_arms_only_together_with_chains() {
    for (chains, armed) in [(true, true), (false, false)] {
        let config = Config {
            track: crate::config::Track::LiveHeap,
            chains: Some(chains),
            ..Config::default()
        };
        let w = World::new(config);
        assert_eq!(w.engine.decider().armed(), armed);
    }
    let w = World::new(Config {
        chains: Some(false),
        ..Config::default()
    });
    assert!(w.engine.decider().armed(), "generations arm by themselves");
}

#[test]
fn chains_off_means_a_signal_and_no_search() {
    let mut w = World::new(Config {
        chains: Some(false),
        ..Config::default()
    });
    for _ in 0..60 {
        assert!(matches!(w.second(), Action::Wait { .. }));
    }
    assert!(w.engine.decider().refusals.not_armed > 0);
    assert!(!w.engine.decider().signal.select().is_empty());
}

#[test]
fn a_resolved_class_is_not_searched_again_while_its_chain_holds() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    w.pass(&plan, vec![chain(Strength::Durable, 100)], false);
    assert_eq!(w.second(), Action::ReleaseTags(SearchId(1)));
    w.release(SearchId(1), true);
    for _ in 0..600 {
        assert!(matches!(w.second(), Action::Wait { .. }));
    }
    assert!(w.engine.decider().refusals.settled > 500);
    let repeated = w.committed().iter().filter(|c| c.repeated).count();
    assert!(
        (9..=10).contains(&repeated),
        "re-emitted every 60 s: {repeated}"
    );
    let dead = vec![ChainAlive {
        signature: ShortId(77),
        alive: false,
    }];
    w.engine.handle(Tick(w.now), Input::Reverified(dead));
    assert_eq!(w.until_pass().search, SearchId(2));
}

#[test]
fn tags_are_released_before_debt_is_charged_and_before_a_successor() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    w.pass(&plan, vec![chain(Strength::Durable, 100)], false);
    assert_eq!(w.second(), Action::ReleaseTags(SearchId(1)));
    w.release(SearchId(1), false);
    assert_eq!(
        w.second(),
        Action::ReleaseTags(SearchId(1)),
        "retried before anything else"
    );
    w.release(SearchId(1), true);
    assert!(
        w.records
            .iter()
            .any(|r| matches!(r.record, Record::TagReleaseFailed { total: 1, .. }))
    );
    assert!(matches!(w.second(), Action::Wait { .. }));
}

#[test]
fn the_safepoint_budget_is_charged_once_at_the_end_and_gates_the_next_search() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    w.pass(&plan, vec![], true);
    let Action::RunPass(plan) = w.second() else {
        panic!()
    };
    assert!(
        plan.roots,
        "roots come when statics and threads explain nothing"
    );
    let report = PassReport {
        search: plan.search,
        pass: plan.pass,
        roots: RootOutcome::CompleteAtSystemClass,
        roots_took: Micros::from_millis(40),
        heap_walk: Micros::from_millis(40),
        wall: Micros::from_millis(45),
        drained: true,
        ..PassReport::default()
    };
    w.engine.handle(Tick(w.now + 45), Input::Pass(report));
    assert!(
        w.engine.decider().safepoint.balance() <= 0.0,
        "not before the tags are released"
    );
    w.records.extend(w.engine.drain());
    assert_eq!(w.outcomes(), [Outcome::Abandoned(Reason::CandidateLost)]);
    w.second();
    w.release(plan.search, true);
    assert!((w.engine.decider().safepoint.balance() - 40.0).abs() < 1e-6);
}

#[test]
fn a_lost_candidate_is_searched_again_after_a_cooldown_that_doubles() {
    let mut w = World::new(Config::default());
    let mut starts = Vec::new();
    for _ in 0..3 {
        let plan = w.until_pass_within(400);
        starts.push(w.now / 1000);
        w.pass(&plan, vec![], true);
        let Action::RunPass(plan) = w.second() else {
            panic!()
        };
        w.pass(&plan, vec![], true);
        assert!(matches!(w.second(), Action::ReleaseTags(_)));
        w.release(plan.search, true);
    }
    let gaps: Vec<u64> = starts.windows(2).map(|p| p[1] - p[0]).collect();
    assert!(
        (60..=64).contains(&gaps[0]) && (120..=124).contains(&gaps[1]),
        "{gaps:?}"
    );
}

impl World {
    fn until_pass_within(&mut self, seconds: u32) -> PassPlan {
        for _ in 0..seconds {
            if let Action::RunPass(plan) = self.second() {
                return plan;
            }
        }
        panic!("no pass");
    }
}

#[test]
fn recording_stop_ends_the_search_without_an_abandonment_and_writes_results_first() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    w.pass(&plan, vec![chain(Strength::Transient, 5)], false);
    w.engine.handle(Tick(w.now + 30), Input::RecordingStopped);
    w.records.extend(w.engine.drain());
    assert_eq!(w.outcomes(), [Outcome::Stopped]);
    assert!(
        !w.records
            .iter()
            .any(|r| matches!(r.record, Record::SearchAbandoned(_)))
    );
    assert!(w.committed()[0].provisional);
    assert_eq!(
        w.engine.poll(Tick(w.now + 30)),
        Action::ReleaseTags(SearchId(1))
    );
}

#[test]
fn a_pass_that_ends_after_its_search_loses_no_result() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    w.engine.handle(Tick(w.now), Input::RecordingStopped);
    w.pass(&plan, vec![chain(Strength::Durable, 100)], false);
    assert_eq!(w.committed().len(), 1);
    assert_eq!(
        w.engine.poll(Tick(w.now + 20)),
        Action::ReleaseTags(SearchId(1))
    );
}

#[test]
fn cached_chains_are_verified_and_emitted_when_a_recording_starts() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    w.pass(&plan, vec![chain(Strength::Durable, 100)], false);
    w.second();
    w.release(plan.search, true);
    w.engine.handle(Tick(w.now), Input::RecordingStopped);
    w.engine.handle(Tick(w.now), Input::RecordingStarted);
    assert!(matches!(w.second(), Action::Wait { .. }));
    assert!(w.committed().last().unwrap().repeated);
}

#[test]
fn stop_releases_tags_and_then_nothing_more_happens() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    w.engine.handle(Tick(w.now), Input::Stop);
    assert_eq!(w.engine.poll(Tick(w.now)), Action::ReleaseTags(plan.search));
    for _ in 0..3 {
        w.now += 1000;
        assert_eq!(w.engine.poll(Tick(w.now)), Action::ReleaseTags(plan.search));
        w.release(plan.search, false);
    }
    w.now += 1000;
    assert_eq!(w.engine.poll(Tick(w.now)), Action::Stopped);
    assert!(!w.engine.admission().enabled);
}

#[test]
fn the_watched_threads_are_published_and_cleared() {
    let mut w = World::new(Config::default());
    w.until_pass();
    assert_eq!(w.engine.admission().watched.as_slice(), [ThreadId(7)]);
    assert!(
        w.records
            .iter()
            .any(|r| matches!(r.record, Record::Admission(a) if !a.watched.is_empty()))
    );
    let all: Vec<SampleId> = (0..=w.samples).map(SampleId).collect();
    w.leaking = false;
    w.engine.handle(Tick(w.now), Input::Swept { dead: all });
    for _ in 0..60 {
        if let Action::RunPass(plan) = w.second() {
            w.pass(&plan, vec![], false);
        }
    }
    assert!(w.engine.admission().watched.is_empty());
}

#[test]
fn signal_values_are_pushed_at_a_stride_of_a_hundredth_of_the_epochs() {
    let mut w = World::new(Config {
        chains: Some(false),
        ..Config::default()
    });
    for _ in 0..100 {
        w.second();
    }
    assert_eq!(w.engine.decider().signal.folds(), 100);
    for _ in 0..100 {
        w.second();
    }
    assert_eq!(w.engine.decider().signal.folds(), 150);
    let mut every = World::new(Config {
        chains: Some(false),
        improvements: crate::config::Improvements {
            stride: false,
            ..Default::default()
        },
        ..Config::default()
    });
    for _ in 0..200 {
        every.second();
    }
    assert_eq!(every.engine.decider().signal.folds(), 200);
}

#[test]
fn sampling_that_cannot_be_had_is_said_and_the_agent_stays_idle() {
    let mut e = Engine::new(Config::default());
    e.handle(Tick(0), Input::RecordingStarted);
    e.handle(
        Tick(0),
        Input::SamplingUnavailable(crate::input::Refusal::HeldByAnotherAgent),
    );
    assert!(
        e.drain()
            .any(|r| matches!(r.record, Record::SamplingUnavailable(_)))
    );
    assert!(matches!(e.poll(Tick(0)), Action::Wait { .. }));
    assert_eq!(e.decider().decision, Decision::Idle);
}

#[test]
fn a_clock_that_goes_backwards_blocks_nothing_for_long() {
    let mut w = World::new(Config::default());
    w.now = 10_000_000;
    for _ in 0..5 {
        w.second();
    }
    w.now = 0;
    let plan = w.until_pass();
    assert!(w.now < 60_000);
    w.pass(&plan, vec![chain(Strength::Durable, 100)], false);
    assert_eq!(w.outcomes(), [Outcome::Completed]);
}

#[test]
fn the_chain_cache_drops_newcomers_and_counts_them() {
    let mut w = World::new(Config::default());
    let plan = w.until_pass();
    let many = (0..200).map(|i| FoundChain {
        signature: ShortId(i),
        ..chain(Strength::Transient, 1)
    });
    w.pass(&plan, many.collect(), false);
    assert_eq!(w.engine.cached_chains().count(), 128);
    assert_eq!(w.engine.chains.dropped(), 72);
    assert!(w.engine.cached_chains().all(|c| c.signature.0 < 128));
}

#[cfg(feature = "journal")]
#[test]
fn a_journal_replays_without_a_difference() {
    let mut w = World::new(Config::default());
    let mut lines = Vec::new();
    for n in 0..120 {
        if let Action::RunPass(plan) = w.second() {
            w.pass(
                &plan,
                if n > 16 {
                    vec![chain(Strength::Durable, 100)]
                } else {
                    vec![]
                },
                false,
            );
        } else if let Action::ReleaseTags(id) = w.engine.poll(Tick(w.now)) {
            w.release(id, true);
        }
        lines.extend(w.engine.drain_journal());
    }
    let replay = crate::journal::replay(lines.iter().map(String::as_str), &[]).unwrap();
    assert!(replay.decisions > 100);
    assert_eq!(replay.differences, []);
    let slow = [("budget".to_owned(), "5000".to_owned())];
    let other = crate::journal::replay(lines.iter().map(String::as_str), &slow).unwrap();
    assert!(!other.differences.is_empty());
}

#[test]
fn gc_counts_that_go_back_neither_stop_the_signal_nor_hide_survivors() {
    let mut w = World::new(Config {
        chains: Some(false),
        ..Config::default()
    });
    for _ in 0..30 {
        w.second();
    }
    let values = |w: &World| {
        let s = w.engine.decider().signal.standing_of(ClassId(1));
        (w.engine.decider().signal.folds(), s.unwrap().survivors)
    };
    assert_eq!(values(&w), (30, 90));
    w.epoch = 2;
    for _ in 0..30 {
        w.second();
    }
    let (folds, survivors) = values(&w);
    assert!(folds >= 58, "{folds} values in a minute");
    assert!(survivors >= 174, "{survivors}");
    assert!(!w.engine.decider().signal.select().is_empty());
    assert_eq!(w.engine.decider().epoch(), Epoch(59));
}
