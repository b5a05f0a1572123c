//! Section 14's bounds for any input sequence. `CHAIN_CORE_CASES` sets the number of sequences
//! (64 by default, 10,000 with `JFR_CHAINS_LONG`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use chain_core::chain::{Chain, FoundChain, Strength};
use chain_core::config::{Collector, Config, Machine, WalkEngine};
use chain_core::input::{ContainerReading, GcReading, Sample};
use chain_core::plan::PassPlan;
use chain_core::record::{Record, Stamped};
use chain_core::walk::{ChainAlive, RootOutcome};
use chain_core::{
    Action, Bytes, ClassId, Engine, Epoch, Input, Micros, PassReport, ReleaseReport, SampleId,
    SearchId, ShortId, ThreadId, Tick,
};
use proptest::prelude::*;

fn cases() -> u32 {
    let usual = if std::env::var_os("JFR_CHAINS_LONG").is_some() {
        10_000
    } else {
        64
    };
    std::env::var("CHAIN_CORE_CASES")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(usual)
}

/// One step of a random world, from two numbers.
type Op = (u8, u32);

struct World {
    engine: Engine,
    now: u64,
    epoch: u64,
    used: u64,
    next: u32,
    alive: Vec<SampleId>,
    records: Vec<Stamped>,
    /// Heap-walk calls: start and duration in us, on a clock that only goes forward.
    calls: Vec<(u64, u64)>,
    forward: u64,
    held: BTreeSet<SearchId>,
    verified: BTreeSet<ShortId>,
    stopped: bool,
}

impl World {
    fn new(walk: WalkEngine, collector: Collector) -> World {
        let machine = Machine {
            max_heap: Some(Bytes::mib(2048)),
            cpus: 2,
            collector,
            ..Machine::default()
        };
        let mut engine = Engine::new(Config {
            walk,
            machine,
            ..Config::default()
        });
        engine.handle(Tick(1_000_000), Input::SamplingStarted);
        engine.handle(Tick(1_000_000), Input::RecordingStarted);
        World {
            engine,
            now: 1_000_000,
            epoch: 0,
            used: 100 << 20,
            next: 0,
            alive: Vec::new(),
            records: Vec::new(),
            calls: Vec::new(),
            forward: 0,
            held: BTreeSet::new(),
            verified: BTreeSet::new(),
            stopped: false,
        }
    }

    fn tick(&self) -> Tick {
        Tick(self.now)
    }

    fn advance(&mut self, ms: u64) {
        self.now += ms;
        self.forward += ms;
    }

    fn collect(&mut self) {
        self.records.extend(self.engine.drain());
        self.engine.drain_journal_quietly();
        let released: BTreeSet<SampleId> = self.engine.take_released().collect();
        self.alive.retain(|id| !released.contains(id));
    }

    fn gc(&mut self) {
        let reading = GcReading {
            epoch: Epoch(self.epoch),
            old_collections: self.epoch / 10,
            used_after_gc: Some(Bytes(self.used)),
            approximate: false,
            max_heap: Some(Bytes::mib(2048)),
        };
        self.engine.handle(self.tick(), Input::Gc(reading));
    }

    fn op(&mut self, (kind, n): Op) -> Result<(), TestCaseError> {
        let n64 = u64::from(n);
        match kind % 13 {
            0..=4 => {
                // A second of a leaking application, the commonest thing.
                for _ in 0..n % 8 {
                    self.next += 1;
                    let sample = Sample {
                        id: SampleId(self.next),
                        class: ClassId(n % 3),
                        thread: ThreadId(n64 % 5),
                        object: Bytes(1024),
                        weight: Bytes(5_000_000),
                        epoch: Epoch(self.epoch),
                        ..Sample::default()
                    };
                    self.alive.push(sample.id);
                    self.engine.handle(self.tick(), Input::Sample(sample));
                }
                self.epoch += 1;
                self.used = (self.used + n64 % (12 << 20)).min(2048 << 20);
                self.advance(1000);
                self.gc();
            }
            5 => self.advance(n64 % 5_000),
            6 => self.used = (n64 % 2048) << 20,
            7 => {
                let used = Bytes((n64 % 900) << 20);
                let max = n.is_multiple_of(2).then_some(Bytes::mib(1000));
                self.engine.handle(
                    self.tick(),
                    Input::Container(ContainerReading { used, max }),
                );
            }
            8 => self.engine.handle(self.tick(), Input::RecordingStopped),
            9 => self.engine.handle(self.tick(), Input::RecordingStarted),
            10 => self.now = self.now.saturating_sub(n64 % 600_000).max(1),
            11 => {
                self.epoch = self.epoch.saturating_sub(n64 % 90);
                self.gc();
            }
            _ => self.advance(n64 % 600_000),
        }
        self.collect();
        self.turn(n)
    }

    /// Does what the engine says until it waits; checks every bound on the way.
    fn turn(&mut self, n: u32) -> Result<(), TestCaseError> {
        for round in 0..60u32 {
            let action = self.engine.poll(self.tick());
            prop_assert_eq!(
                self.engine.poll(self.tick()),
                action,
                "poll is idempotent at one instant"
            );
            self.bounds()?;
            let draw = n.wrapping_mul(2_654_435_761).wrapping_add(round * 40_503) >> 7;
            match action {
                Action::Wait { until } => {
                    prop_assert!(until > self.tick(), "a wait lies in the future");
                    prop_assert!(
                        until.0 <= self.now + 1_000,
                        "counters are read once a second"
                    );
                    return Ok(());
                }
                Action::Stopped => {
                    self.stopped = true;
                    return Ok(());
                }
                Action::Sweep => {
                    let keep = draw as usize % 20 + 1;
                    let dead = self
                        .alive
                        .iter()
                        .copied()
                        .step_by(keep)
                        .filter(|_| draw.is_multiple_of(4))
                        .collect();
                    self.engine.handle(self.tick(), Input::Swept { dead });
                }
                Action::RunPass(plan) => self.pass(&plan, draw)?,
                Action::ReleaseTags(search) => {
                    let complete = !draw.is_multiple_of(3);
                    if complete {
                        self.held.remove(&search);
                    }
                    let report = ReleaseReport {
                        search,
                        complete,
                        failed: u64::from(!complete),
                        took: Micros(9),
                    };
                    self.engine.handle(self.tick(), Input::Released(report));
                }
                Action::Reverify => {
                    let alive: Vec<ChainAlive> = self
                        .engine
                        .cached_chains()
                        .map(|c| ChainAlive {
                            signature: c.signature,
                            alive: !draw.is_multiple_of(5),
                        })
                        .collect();
                    // A chain that no longer holds is no result any more.
                    for gone in alive.iter().filter(|c| !c.alive) {
                        self.verified.remove(&gone.signature);
                    }
                    self.engine.handle(self.tick(), Input::Reverified(alive));
                }
            }
            self.collect();
        }
        Ok(())
    }

    fn pass(&mut self, plan: &PassPlan, draw: u32) -> Result<(), TestCaseError> {
        let concurrent = self.engine.tuned().concurrent;
        let calls = plan.roots || !concurrent;
        if calls {
            let from = self.forward.saturating_sub(60_000);
            let spent: u64 = self.calls.iter().filter(|c| c.0 > from).map(|c| c.1).sum();
            prop_assert!(
                spent < 500_000,
                "a heap-walk call starts in a full window: {spent} us"
            );
        }
        for other in &self.held {
            prop_assert_eq!(
                *other,
                plan.search,
                "a search starts while another holds tags"
            );
        }
        self.held.insert(plan.search);
        prop_assert!(!plan.targets.is_empty() && plan.targets.len() <= 5);
        let heap_walk = if calls {
            Micros(u64::from(draw % 90) * 1000)
        } else {
            Micros(0)
        };
        let took = heap_walk.0 / 1000 + u64::from(draw % 50);
        let roots = match (plan.roots, draw % 7) {
            (false, _) => RootOutcome::NotRun,
            (true, 0) => RootOutcome::Error,
            (true, 1) => RootOutcome::Truncated,
            (true, 2) => RootOutcome::Skipped,
            (true, _) => RootOutcome::CompleteAtSystemClass,
        };
        let mut report = PassReport {
            search: plan.search,
            pass: plan.pass,
            edges: u64::from(draw % 1000),
            new_nodes: u64::from(draw % 3),
            nodes: u64::from(draw % 5000),
            frontier: u64::from(draw % 11),
            heap_walk,
            wall: Micros(took * 1000),
            cpu: Micros(took * 700),
            statics_complete: draw.is_multiple_of(2),
            threads_complete: draw.is_multiple_of(3),
            roots,
            roots_took: heap_walk,
            frontier_cap_hit: draw.is_multiple_of(97),
            truncated: draw.is_multiple_of(53),
            drained: draw.is_multiple_of(9),
            ..PassReport::default()
        };
        if draw.is_multiple_of(6) {
            let target = plan.targets.as_slice()[0];
            let strength = if draw.is_multiple_of(4) {
                Strength::Transient
            } else {
                Strength::Durable
            };
            let signature = ShortId(target.class.0 * 2 + u32::from(strength == Strength::Durable));
            self.verified.insert(signature);
            report.chains.push(FoundChain {
                candidate: target.class,
                chain: Chain {
                    strength,
                    ..Chain::default()
                },
                signature,
                verified: true,
                instances: u64::from(draw % 200),
                reached: u64::from(draw % 200),
                ..FoundChain::default()
            });
        }
        if calls {
            self.calls.push((self.forward + took, heap_walk.0));
        }
        self.advance(took);
        self.engine.handle(self.tick(), Input::Pass(report));
        Ok(())
    }

    fn bounds(&mut self) -> Result<(), TestCaseError> {
        self.records.extend(self.engine.drain());
        for r in &self.records {
            if let Record::CostBudget(c) = &r.record {
                prop_assert!(
                    c.safepoint_balance >= 0.0 && c.cpu_balance >= 0.0,
                    "debts are never negative"
                );
                prop_assert!(
                    (10..=4_000).contains(&c.cadence.0),
                    "cadence {:?}",
                    c.cadence
                );
                prop_assert!(
                    c.edge_budget <= c.edge_ceiling && c.edge_budget >= c.edge_ceiling.min(2_000)
                );
                prop_assert!(c.edge_ceiling <= 16 * 1_000_000);
                prop_assert!((1..=16).contains(&c.backoff));
                prop_assert!(c.cpu_rate <= 1.0 && c.cpu_rate >= 0.0);
                prop_assert!(c.seconds_to_oom.is_none_or(|s| s >= 0.0));
            }
        }
        Ok(())
    }

    fn committed(&self) -> BTreeSet<ShortId> {
        let signature = |r: &Stamped| match &r.record {
            Record::ChainCommitted(c) => Some(c.found.signature),
            _ => None,
        };
        self.records.iter().filter_map(signature).collect()
    }
}

fn run(walk: WalkEngine, collector: Collector, ops: &[Op]) -> Result<World, TestCaseError> {
    let mut world = World::new(walk, collector);
    let mut committed = BTreeSet::new();
    for op in ops {
        world.op(*op)?;
        committed.extend(world.committed());
        // Bounds are checked on fresh records only; a day's worth would be checked a thousand times.
        world.records.clear();
    }
    // However it ends: everything is released, every verified chain was written.
    world.engine.handle(world.tick(), Input::Stop);
    for n in 0..40 {
        world.turn(n * 3 + 1)?;
        world.advance(1_000);
        committed.extend(world.committed());
        world.records.clear();
    }
    prop_assert!(world.stopped, "a stop request ends");
    let lost: Vec<_> = world.verified.difference(&committed).collect();
    prop_assert!(lost.is_empty(), "verified chains never written: {lost:?}");
    Ok(world)
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec(any::<Op>(), 1..250)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_bound_holds_for_the_concurrent_engine(ops in ops()) {
        run(WalkEngine::Concurrent, Collector::G1, &ops)?;
    }

    #[test]
    fn every_bound_holds_for_the_safepoint_engine(ops in ops()) {
        run(WalkEngine::Safepoint, Collector::Zgc, &ops)?;
    }

    #[test]
    fn every_bound_holds_with_a_reservoir(ops in ops()) {
        run(WalkEngine::Concurrent, Collector::GenZgc, &ops)?;
    }

    #[test]
    fn same_inputs_give_the_same_records(ops in prop::collection::vec(any::<Op>(), 1..80)) {
        let trace = |ops: &[Op]| -> Result<Vec<Stamped>, TestCaseError> {
            let mut world = World::new(WalkEngine::Concurrent, Collector::G1);
            for op in ops {
                world.op(*op)?;
            }
            Ok(world.records)
        };
        prop_assert_eq!(trace(&ops)?, trace(&ops)?);
    }

    #[test]
    fn a_journal_of_anything_replays_without_a_difference(ops in prop::collection::vec(any::<Op>(), 1..60)) {
        let mut world = World::new(WalkEngine::Concurrent, Collector::G1);
        let mut lines = world.engine.drain_journal();
        for op in &ops {
            let before = world.engine.drain_journal();
            lines.extend(before);
            world.journaled(*op, &mut lines)?;
        }
        let replay = chain_core::journal::replay(lines.iter().map(String::as_str), &[]).unwrap();
        prop_assert_eq!(replay.differences, vec![]);
    }
}

impl World {
    /// Like `op`, with the time-consuming part of the world left out and the journal kept.
    fn journaled(&mut self, (kind, n): Op, lines: &mut Vec<String>) -> Result<(), TestCaseError> {
        let n64 = u64::from(n);
        match kind % 4 {
            0..=1 => {
                self.epoch += 1;
                self.used = (self.used + n64 % (12 << 20)).min(2048 << 20);
                self.now += 1000;
                self.gc();
            }
            2 => {
                self.now = (self.now + n64 % 90_000)
                    .saturating_sub(n64 % 70_000)
                    .max(1)
            }
            _ if n.is_multiple_of(5) => self.engine.handle(self.tick(), Input::RecordingStarted),
            _ => self.now += n64 % 3_000,
        }
        for _ in 0..20 {
            match self.engine.poll(self.tick()) {
                Action::Sweep => self
                    .engine
                    .handle(self.tick(), Input::Swept { dead: Vec::new() }),
                Action::Reverify => self
                    .engine
                    .handle(self.tick(), Input::Reverified(Vec::new())),
                _ => break,
            }
        }
        lines.extend(self.engine.drain_journal());
        Ok(())
    }
}
