//! The facade: inputs with their instants in, actions and records out.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::admission::AdmissionSet;
use crate::chain::{Chain, FoundChain};
use crate::collector::SteadyEpochs;
use crate::config::{Collector, Config};
use crate::decider::{Commit, Decider};
use crate::ids::{SampleId, SearchId, ShortId};
use crate::inline::InlineVec;
use crate::input::{AdmissionCounts, Fact, GcReading, Input, Sample};
use crate::liveness::Tracker;
use crate::plan::Action;
use crate::record::{ChainCommitted, Drops, Record, Stamped};
use crate::signature;
use crate::tick::{Bytes, Tick};
use crate::tuning::{self, Tuned};
use crate::walk::{ChainAlive, PassReport};

#[cfg(feature = "journal")]
use crate::journal::Journal;

/// Owns every decision. Only the worker thread holds it; it reads no clock and calls nothing.
///
/// Protocol, once per wake-up: `handle` the GC and container readings, the queued samples and what
/// happened; then `poll` and do what it says until it says `Wait`; then `drain` the records.
/// Answers change only through an input, or at the instant that `Wait` names. Without a recording
/// (`Input::RecordingStarted`, also for the agent's own file) nothing is armed.
#[derive(Debug)]
pub struct Engine {
    decider: Decider,
    tracker: Tracker,
    admission: AdmissionSet,
    chains: BTreeMap<ShortId, Cached>,
    chains_dropped: u64,
    counts: AdmissionCounts,
    last_gc: Option<GcReading>,
    epochs: SteadyEpochs,
    drops: Drops,
    #[cfg(feature = "journal")]
    journal: Journal,
}

/// A chain of the cache.
#[derive(Clone, Debug)]
struct Cached {
    found: Arc<FoundChain>,
    search: SearchId,
    first_seen: Tick,
    committed: bool,
    provisional: bool,
    coverage: Option<u16>,
}

impl Engine {
    /// A new engine; unset options are tuned to `config.machine`.
    pub fn new(config: Config) -> Engine {
        let decider = Decider::new(config);
        let tuned = decider.tuned;
        let bytes =
            (decider.collector() == Collector::GenZgc).then_some(Bytes(tuning::RESERVOIR_BYTES));
        #[cfg(feature = "journal")]
        let journal = Journal::new(&decider);
        Engine {
            tracker: Tracker::new(tuned.table_start(), tuned.table_max, bytes),
            admission: AdmissionSet {
                ratio: AdmissionSet::scale_ratio(tuned.live_ratio),
                ..AdmissionSet::default()
            },
            chains: BTreeMap::new(),
            chains_dropped: 0,
            counts: AdmissionCounts::default(),
            last_gc: None,
            epochs: SteadyEpochs::default(),
            drops: Drops::default(),
            decider,
            #[cfg(feature = "journal")]
            journal,
        }
    }

    /// Takes one input that happened at `now`.
    pub fn handle(&mut self, now: Tick, input: Input) {
        match input {
            Input::SamplingStarted => self.fact(now, Fact::SamplingStarted),
            Input::SamplingUnavailable(why) => self.fact(now, Fact::SamplingUnavailable(why)),
            Input::Gc(reading) => {
                // A reading that says nothing new is none.
                if self.last_gc != Some(reading) {
                    self.last_gc = Some(reading);
                    let epoch = self.epochs.take(reading.epoch);
                    self.tracker.set_epoch(epoch);
                    let reading = GcReading { epoch, ..reading };
                    self.fact(now, Fact::Gc(reading));
                }
            }
            Input::Container(reading) => self.fact(now, Fact::Container(reading)),
            Input::Sample(sample) => {
                let epoch = self.epochs.of_sample(sample.epoch);
                self.tracker.add(Sample { epoch, ..sample });
                if self.tracker.wants_sweep() {
                    self.fact(now, Fact::SweepWanted);
                }
            }
            Input::Swept { dead } => self.swept(now, &dead),
            Input::RecordingStarted => self.fact(now, Fact::RecordingStarted),
            Input::RecordingStopped => self.fact(now, Fact::RecordingStopped),
            Input::Pass(report) => self.pass(now, report),
            Input::Released(report) => self.fact(now, Fact::Released(report)),
            Input::Reverified(chains) => self.reverified(now, chains),
            Input::AdmissionCounts(counts) => self.counts = counts,
            Input::Stop => self.fact(now, Fact::Stop),
        }
        self.commit(now);
        self.publish(now);
    }

    /// What to do at `now`. Idempotent at one instant; after set-up it allocates nothing.
    pub fn poll(&mut self, now: Tick) -> Action {
        let (action, fresh) = self.decider.poll(now);
        if fresh {
            #[cfg(feature = "journal")]
            self.journal.polled(now, &self.decider, action);
            self.publish(now);
        }
        action
    }

    /// Takes the records made since the last call, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Stamped> + '_ {
        self.decider.output.drain()
    }

    /// Takes the journal lines made since the last call ([`crate::journal`]); join as many as fit
    /// into one event. When entries were lost the next line is a whole state.
    #[cfg(feature = "journal")]
    pub fn drain_journal(&mut self) -> Vec<String> {
        self.journal.drain(&self.decider)
    }

    /// Forgets the journal entries made since the last call: nobody keeps them.
    #[cfg(feature = "journal")]
    pub fn drain_journal_quietly(&mut self) {
        self.journal.forget();
    }

    /// Takes the handle slots the engine no longer tracks (dead, dropped or evicted): delete their
    /// weak references and reuse the slots. Call it after samples and sweeps.
    pub fn take_released(&mut self) -> std::vec::Drain<'_, SampleId> {
        self.tracker.take_released()
    }

    /// The admission set in force; `Record::Admission` says when it changed.
    pub fn admission(&self) -> &AdmissionSet {
        &self.admission
    }

    /// The chains that `Action::Reverify` asks about.
    pub fn cached_chains(&self) -> impl Iterator<Item = &Arc<FoundChain>> {
        self.chains.values().map(|c| &c.found)
    }

    /// The options as given.
    pub fn config(&self) -> &Config {
        &self.decider.config
    }

    /// The options in force.
    pub fn tuned(&self) -> &Tuned {
        &self.decider.tuned
    }

    /// The deciding half, for a status line or a test.
    pub fn decider(&self) -> &Decider {
        &self.decider
    }

    /// Entries of the liveness table.
    pub fn tracked(&self) -> usize {
        self.tracker.len()
    }

    fn fact(&mut self, now: Tick, fact: Fact) {
        self.decider.fact(now, &fact);
        #[cfg(feature = "journal")]
        {
            let snapshot = matches!(fact, Fact::RecordingStarted);
            self.journal.fact(now, fact);
            if snapshot {
                self.journal.want_state();
            }
        }
    }

    fn swept(&mut self, now: Tick, dead: &[SampleId]) {
        self.tracker.swept(dead);
        self.fact(now, Fact::Swept);
        if self.decider.push_due(now) {
            let fold = self
                .tracker
                .fold(self.decider.since_arming(), &self.decider.followed());
            self.fact(now, Fact::Fold(fold));
        }
        let (samples, reservoir) = self.tracker.drops();
        let drops = Drops {
            samples,
            reservoir,
            chains: self.chains_dropped,
            #[cfg(feature = "journal")]
            journal: self.journal.dropped(),
            urgent_boost_admits: self.counts.boost_admits,
            urgent_boost_backed_off: self.counts.boost_backed_off,
            ..Drops::default()
        };
        if drops != self.drops {
            self.drops = drops;
            self.fact(now, Fact::Drops(drops));
        }
    }

    fn pass(&mut self, now: Tick, mut report: PassReport) {
        for found in std::mem::take(&mut report.chains) {
            report.chains.push(reduced(&found));
            self.cache(now, report.search, report.coverage, found);
        }
        self.fact(now, Fact::Pass(report));
    }

    /// Keeps a chain, newest tally first; a full cache drops the newcomer and counts it.
    fn cache(&mut self, now: Tick, search: SearchId, coverage: Option<u16>, found: FoundChain) {
        let key = found.signature;
        if let Some(old) = self.chains.get_mut(&key) {
            let verified = found.verified || old.found.verified;
            // A path that was re-read stays the one that is shown.
            if found.verified || !old.found.verified {
                old.found = Arc::new(FoundChain { verified, ..found });
            }
            old.search = search;
            old.coverage = coverage;
            return;
        }
        if self.chains.len() >= tuning::CHAIN_CACHE {
            self.chains_dropped += 1;
            return;
        }
        let cached = Cached {
            found: Arc::new(found),
            search,
            first_seen: now,
            committed: false,
            provisional: true,
            coverage,
        };
        self.chains.insert(key, cached);
    }

    /// Writes the chains of classes that were decided about; nothing is held back for a dump.
    fn commit(&mut self, now: Tick) {
        let commits: Vec<Commit> = self.decider.take_commits().collect();
        for commit in commits {
            let keys: Vec<ShortId> = self
                .chains
                .iter()
                .filter(|(_, c)| c.found.candidate == commit.class && c.found.verified)
                .map(|(k, _)| *k)
                .collect();
            for key in keys {
                let Some(c) = self.chains.get_mut(&key) else {
                    continue;
                };
                // What was written stays written: only news are emitted again.
                let news = !c.committed || (c.provisional && !commit.provisional);
                c.provisional = commit.provisional && (c.provisional || !c.committed);
                c.committed = true;
                if news {
                    self.emit(now, key, false);
                }
            }
        }
    }

    fn emit(&mut self, now: Tick, key: ShortId, repeated: bool) {
        let Some(c) = self.chains.get(&key).cloned() else {
            return;
        };
        let mut merged = InlineVec::default();
        let mut shown = &c.found;
        for other in self.chains.values().filter(|o| o.committed) {
            if signature::same_leak(&other.found.chain, &c.found.chain) {
                let known = merged.iter().any(|k| *k == other.found.candidate);
                if !known {
                    merged.push(other.found.candidate);
                }
                // The deepest member shows the application's class.
                if other.found.chain.hops.len() > shown.chain.hops.len() {
                    shown = &other.found;
                }
            }
        }
        let display_leaf = signature::display_leaf(&c.found.chain)
            .or_else(|| signature::display_leaf(&shown.chain));
        // One leak, one finding: the container nearest to the root names it.
        let identity = self
            .chains
            .values()
            .filter(|o| o.committed && signature::same_leak(&o.found.chain, &c.found.chain))
            .min_by_key(|o| signature::identity_text(&o.found.chain).len())
            .map_or(c.found.identity, |o| o.found.identity);
        let standing = self.decider.signal.standing_of(c.found.candidate);
        let record = ChainCommitted {
            search: c.search,
            merged,
            display_leaf,
            identity,
            strength: c.found.chain.strength,
            coverage: c.coverage,
            provisional: c.provisional,
            repeated,
            first_seen: c.first_seen,
            retained: standing.map_or(Bytes(0), |s| s.retained),
            growth_per_hour: standing.and_then(|s| s.growth_per_hour),
            found: c.found,
        };
        self.decider
            .output
            .push(now, Record::ChainCommitted(record));
    }

    fn reverified(&mut self, now: Tick, chains: Vec<ChainAlive>) {
        for c in &chains {
            if c.alive {
                if self.chains.get(&c.signature).is_some_and(|k| k.committed) {
                    self.emit(now, c.signature, true);
                }
            } else {
                self.chains.remove(&c.signature);
            }
        }
        self.fact(now, Fact::Reverified(chains));
    }

    fn publish(&mut self, now: Tick) {
        let set = AdmissionSet {
            enabled: self.decider.wants_samples(),
            watched: *self.decider.watched(),
            boost: self.decider.boosted(),
            table_full: self.tracker.at_limit(),
            ..self.admission
        };
        if set != self.admission {
            self.admission = AdmissionSet {
                version: self.admission.version + 1,
                ..set
            };
            self.decider
                .output
                .push(now, Record::Admission(self.admission));
        }
    }
}

/// What decides of a chain: no hop, no name.
fn reduced(found: &FoundChain) -> FoundChain {
    let root = crate::chain::Root {
        kind: found.chain.root.kind,
        ..crate::chain::Root::default()
    };
    FoundChain {
        candidate: found.candidate,
        chain: Chain {
            root,
            hops: Vec::new(),
            strength: found.chain.strength,
        },
        signature: found.signature,
        identity: found.identity,
        verified: found.verified,
        instances: found.instances,
        reached: found.reached,
        leaf: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Strength;
    use crate::ids::{ClassId, ThreadId};
    use crate::plan::PassPlan;
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
        assert_eq!(w.engine.chains_dropped, 72);
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
}
