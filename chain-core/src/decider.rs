//! The replayable half of the engine: facts with their instants in, actions and records out.
//!
//! It holds no sample and no chain text, so a recording can carry all it was told.

mod choose;
mod exhaustion;
mod passes;
mod settled;
mod sweeping;

use crate::chain::Strength;
use crate::config::{Collector, Config, Track};
use crate::cost_budget::CostBudget;
use crate::gate::{Conditions, GateRefusals, Refused};
use crate::ids::{ClassId, SearchId, ShortId, ThreadId};
use crate::inline::InlineVec;
use crate::input::{Fact, GcReading};
use crate::ladder;
use crate::leak_signal::{LeakSignal, Selection};
use crate::liveness::FoldSummary;
use crate::output::Output;
use crate::pacing::Pacing;
use crate::plan::{Action, Deadlines, MAX_CANDIDATES, MAX_THREADS, PassPlan};
use crate::record::{Decision, Outcome, Reason, Record, Stamped};
use crate::schedule::{Next, Schedule};
use crate::search::{Search, Stall};
use crate::tick::{Bytes, Epoch, Micros, Millis, Tick};
use crate::tuning::{self, Tuned};
use crate::walk::{PassReport, ReleaseReport};

pub(crate) use exhaustion::Exhaustion;
use settled::Settled;
use sweeping::Sweeping;

/// Where the search machinery stands.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
#[allow(
    clippy::large_enum_variant,
    reason = "a search starts without allocating"
)]
pub(crate) enum Phase {
    /// No search.
    Idle,
    /// Passes are made.
    Running(Search),
    /// A search has ended; its tags are being released.
    Releasing {
        search: Search,
        tries: u32,
        next_try: Tick,
    },
    /// Stopped for good.
    Stopped,
}

/// A class whose chains are to be committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Commit {
    /// The candidate.
    pub class: ClassId,
    /// Its search.
    pub search: SearchId,
    /// Not resolved.
    pub provisional: bool,
}

/// Every decision of the core.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Decider {
    pub(crate) config: Config,
    pub(crate) tuned: Tuned,
    pub(crate) signal: LeakSignal,
    sampling: bool,
    recording: bool,
    activated: Option<(Tick, Epoch)>,
    pub(crate) gc: Option<GcReading>,
    pub(crate) exhaustion: Exhaustion,
    pub(crate) safepoint: CostBudget,
    pub(crate) schedule: Schedule,
    pub(crate) pacing: Pacing,
    pub(crate) refusals: GateRefusals,
    pub(crate) phase: Phase,
    settled: Settled,
    stuck: u32,
    carried_stall: u32,
    #[cfg_attr(feature = "journal", serde(default))]
    carried_frontier: u64,
    searches: u32,
    sweeping: Sweeping,
    next_check: Tick,
    check_now: bool,
    reverify_at: Option<Tick>,
    committed: bool,
    stopping: bool,
    in_flight: Option<Action>,
    waiting: Option<(Tick, Tick)>,
    dirty: bool,
    asked: Tick,
    pub(crate) last_pass: (Micros, Micros),
    pass_ended: bool,
    commits: Vec<Commit>,
    watched: InlineVec<ThreadId, MAX_THREADS>,
    pub(crate) decision: Decision,
    #[cfg_attr(feature = "journal", serde(skip))]
    pub(crate) output: Output,
}

impl Decider {
    /// Nothing is armed, nothing is known.
    pub fn new(config: Config) -> Decider {
        let tuned = Tuned::of(&config);
        let i = config.improvements;
        Decider {
            signal: LeakSignal::new(i),
            sampling: false,
            recording: false,
            activated: None,
            gc: None,
            exhaustion: Exhaustion::default(),
            safepoint: CostBudget::new(tuned.refill),
            schedule: Schedule::new(&tuned, i.stop_cap),
            pacing: Pacing::new(tuned.budget, tuned.pause_target, i.integral_clamp),
            refusals: GateRefusals::default(),
            phase: Phase::Idle,
            settled: Settled::default(),
            stuck: 0,
            carried_stall: 0,
            carried_frontier: 0,
            searches: 0,
            sweeping: Sweeping::default(),
            next_check: Tick(0),
            check_now: true,
            reverify_at: None,
            committed: false,
            stopping: false,
            in_flight: None,
            waiting: None,
            dirty: true,
            asked: Tick(0),
            last_pass: (Micros(0), Micros(0)),
            pass_ended: false,
            commits: Vec::with_capacity(4 * MAX_CANDIDATES),
            watched: InlineVec::default(),
            decision: Decision::Idle,
            output: Output::default(),
            tuned,
            config,
        }
    }

    /// Takes one fact that became known at `now`.
    pub fn fact(&mut self, now: Tick, fact: &Fact) {
        self.dirty = true;
        match fact {
            Fact::SamplingStarted => {
                self.sampling = true;
                self.activate(now);
            }
            Fact::SamplingUnavailable(why) => {
                self.sampling = false;
                self.output.push(now, Record::SamplingUnavailable(*why));
            }
            Fact::Gc(reading) => self.gc(now, *reading),
            Fact::Container(reading) => self.exhaustion.container_now = Some(*reading),
            Fact::Swept => {
                self.answered(|a| matches!(a, Action::Sweep));
                self.sweeping.swept(now, self.epoch());
            }
            Fact::SweepWanted => self.sweeping.wanted = true,
            Fact::Fold(fold) => self.fold(now, fold),
            Fact::Drops(drops) => self.output.take_counters(*drops),
            Fact::RecordingStarted => {
                self.recording = true;
                self.activate(now);
                self.output.refresh();
                self.reverify_at = self.committed.then_some(now);
            }
            Fact::RecordingStopped => {
                self.recording = false;
                self.reverify_at = None;
                self.finish(now, Outcome::Stopped);
            }
            Fact::Pass(report) => self.pass(now, report),
            Fact::Released(report) => self.released(now, *report),
            Fact::Reverified(chains) => {
                self.answered(|a| matches!(a, Action::Reverify));
                self.reverify_at = self
                    .recording
                    .then(|| now.after(Millis(tuning::REVERIFY_PERIOD)));
                for dead in chains.iter().filter(|c| !c.alive) {
                    self.settled.unsettle(dead.signature);
                }
            }
            Fact::Stop => {
                self.stopping = true;
                self.finish(now, Outcome::Stopped);
            }
        }
    }

    /// What to do at `now`; see [`crate::Engine::poll`]. `true` when the answer was made anew, not
    /// repeated.
    pub fn poll(&mut self, now: Tick) -> (Action, bool) {
        if let Some(action) = self.in_flight {
            return (action, false);
        }
        if let Some((asked, until)) = self.waiting
            && !self.dirty
            && now >= asked
            && now < until
        {
            return (Action::Wait { until }, false);
        }
        self.dirty = false;
        self.asked = now;
        let action = self.choose(now);
        self.waiting = None;
        match action {
            Action::Wait { until } => self.waiting = Some((now, until)),
            Action::Stopped => {}
            _ => self.in_flight = Some(action),
        }
        self.report_cost(now, action);
        (action, true)
    }

    /// Whether a sweep's survivors are due to be pushed as signal values at `now`.
    pub fn push_due(&self, now: Tick) -> bool {
        let armed = self.activated.filter(|_| self.armed());
        armed.is_some_and(|armed| {
            let i = self.config.improvements;
            self.sweeping.push_due(now, self.epoch(), armed, i)
        })
    }

    /// Epochs since the signal was first armed.
    pub fn since_arming(&self) -> u64 {
        self.activated.map_or(0, |(_, e)| self.epoch().since(e))
    }

    /// The classes the signal follows.
    pub fn followed(&self) -> Vec<ClassId> {
        self.signal.followed().collect()
    }

    /// Classes whose chains are to be committed now.
    pub fn take_commits(&mut self) -> std::vec::Drain<'_, Commit> {
        self.commits.drain(..)
    }

    /// Takes the records made since the last call, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Stamped> + '_ {
        self.output.drain()
    }

    /// Threads whose samples bypass the live ratio.
    pub fn watched(&self) -> &InlineVec<ThreadId, MAX_THREADS> {
        &self.watched
    }

    /// Whether every sample bypasses it.
    pub fn boosted(&self) -> bool {
        self.exhaustion.boost.is_on()
    }

    /// Whether samples are wanted at all.
    pub fn wants_samples(&self) -> bool {
        self.sampling && self.recording && !self.stopping
    }

    /// The newest normalised epoch.
    pub fn epoch(&self) -> Epoch {
        self.gc.map_or(Epoch(0), |g| g.epoch)
    }

    /// The running or ending search.
    pub fn search(&self) -> Option<&Search> {
        match &self.phase {
            Phase::Running(s) | Phase::Releasing { search: s, .. } => Some(s),
            Phase::Idle | Phase::Stopped => None,
        }
    }

    /// Whether the leak signal is armed: sampling runs, a recording takes events, and the tracking
    /// mode arms it.
    pub fn armed(&self) -> bool {
        let mode = self.config.track == Track::Generations || self.tuned.chains;
        self.sampling && self.recording && mode && !self.stopping
    }

    /// Other options from now on; what was learned and owed stays.
    pub fn reconfigure(&mut self, config: Config) {
        let tuned = Tuned::of(&config);
        self.schedule = Schedule::new(&tuned, config.improvements.stop_cap);
        self.safepoint = CostBudget::new(tuned.refill);
        self.pacing = Pacing::new(
            tuned.budget,
            tuned.pause_target,
            config.improvements.integral_clamp,
        );
        self.tuned = tuned;
        self.config = config;
        self.dirty = true;
    }

    fn activate(&mut self, now: Tick) {
        if self.armed() && self.activated.is_none() {
            // The clocks of burn-in and stride start once in the process.
            self.activated = Some((now, self.epoch()));
        }
    }

    fn gc(&mut self, now: Tick, reading: GcReading) {
        let before = self.gc.replace(reading);
        self.signal.set_old_collections(reading.old_collections);
        let fresh = before.is_none_or(|b| b.epoch != reading.epoch);
        if !fresh || reading.epoch == Epoch(0) {
            return;
        }
        self.exhaustion.sample(now, reading);
        let rising = self.exhaustion.floor_rising;
        self.signal.set_floor_rising(rising);
    }

    fn fold(&mut self, now: Tick, fold: &FoldSummary) {
        self.sweeping.pushed(now, fold.epoch);
        self.signal.fold(now, fold);
        self.output.drops.classes = self.signal.refused();
        self.check_now = true;
        let selection = *self.signal.select();
        // Publishing: an empty selection clears the set; the gate's probe never publishes.
        self.watched = selection
            .iter()
            .flat_map(|c| c.threads.iter().copied())
            .collect();
        if let Phase::Running(search) = &mut self.phase {
            search.follow(&selection, |c| self.settled.holds(now, c));
            let gone: InlineVec<ClassId, MAX_CANDIDATES> = search
                .targets
                .iter()
                .filter(|t| !t.resolved && !t.any)
                .filter(|t| {
                    self.signal
                        .standing_of(t.class)
                        .is_none_or(|s| s.survivors == 0)
                })
                .map(|t| t.class)
                .collect();
            gone.iter().for_each(|c| search.forget(*c));
        }
        if self.search().is_some_and(|s| s.targets.is_empty()) {
            // Nothing is left to look for.
            self.climb(now);
        }
        let confirms = self.needs_confirmation();
        let gap = self.sweeping.gap_ms;
        self.output
            .candidates(now, fold.epoch, &self.signal, confirms, gap);
    }

    fn needs_confirmation(&self) -> bool {
        crate::collector::needs_confirmation(self.config.machine.collector)
    }

    fn answered(&mut self, is_it: impl Fn(Action) -> bool) {
        if self.in_flight.is_some_and(is_it) {
            self.in_flight = None;
        }
    }

    fn report_cost(&mut self, now: Tick, action: Action) {
        let pass_ended = std::mem::take(&mut self.pass_ended);
        if self.output.cost_due(now, pass_ended, self.decision) {
            let cost = crate::output::cost(self, now, action);
            self.output.push(now, Record::CostBudget(cost));
        }
    }

    /// The instant of the last answer.
    pub fn asked_at(&self) -> Tick {
        self.asked
    }

    /// The collector in use, as configured.
    pub fn collector(&self) -> Collector {
        self.config.machine.collector
    }
}
