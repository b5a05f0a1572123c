//! The replayable half of the engine: facts with their instants in, actions and records out.
//!
//! It holds no sample and no chain text, so a recording can carry all it was told.

use crate::chain::Strength;
use crate::config::{Collector, Config, Track};
use crate::cost_budget::CostBudget;
use crate::gate::{Conditions, GateRefusals, Refused};
use crate::ids::{ClassId, SearchId, ShortId, ThreadId};
use crate::inline::InlineVec;
use crate::input::{ContainerReading, Fact, GcReading};
use crate::ladder;
use crate::leak_signal::{LeakSignal, Selection};
use crate::liveness::FoldSummary;
use crate::oom::{self, Boost, Latch, Usage};
use crate::output::Output;
use crate::pacing::Pacing;
use crate::plan::{Action, Deadlines, MAX_CANDIDATES, MAX_THREADS, PassPlan};
use crate::record::{Decision, Outcome, Reason, Record, Stamped};
use crate::schedule::{Next, Schedule};
use crate::search::Search;
use crate::tick::{Bytes, Epoch, Micros, Millis, Tick};
use crate::tuning::{self, Tuned};
use crate::walk::{PassReport, ReleaseReport};

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

/// A class that needs no new search for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
struct Settled {
    class: ClassId,
    since: Tick,
    cooldown: Millis,
    /// Its chain, when it has one; a chain that no longer holds unsettles the class.
    chain: Option<ShortId>,
    /// Searches in a row that brought no chain.
    losses: u32,
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

/// Heap usage, its projection, and what follows from it.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Exhaustion {
    pub usage: Usage,
    pub container: Usage,
    pub container_now: Option<ContainerReading>,
    pub container_max: Option<Bytes>,
    pub new_floor: Option<Bytes>,
    pub floor_rising: bool,
    pub heap_seconds: Option<f64>,
    pub container_seconds: Option<f64>,
    pub seconds: Option<f64>,
    pub burn_in: bool,
    pub ramp: bool,
    pub latch: Latch,
    pub boost: Boost,
}

/// When the table was swept and when signal values were pushed last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
struct Sweeping {
    last: Option<(Tick, Epoch)>,
    wanted: bool,
    pushed: Option<(Tick, Epoch)>,
    gap_ms: Option<f64>,
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
    settled: Vec<Settled>,
    stuck: u32,
    carried_stall: u32,
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
            settled: Vec::with_capacity(tuning::SIGNAL_CLASSES),
            stuck: 0,
            carried_stall: 0,
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
                self.sweeping.last = Some((now, self.epoch()));
                self.sweeping.wanted = false;
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
                    self.settled.retain(|s| s.chain != Some(dead.signature));
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
        let Some((armed_since, armed_at)) = self.activated.filter(|_| self.armed()) else {
            return false;
        };
        let (last, from) = match self.sweeping.pushed {
            Some((tick, epoch)) => (Some(tick), epoch),
            None => (None, armed_at),
        };
        let fresh = self.epoch().since(from);
        if fresh == 0 {
            return false;
        }
        let stride = if self.config.improvements.stride {
            self.since_arming().div_ceil(tuning::STRIDE_DIVISOR).max(1)
        } else {
            1
        };
        // Five minutes apart at most, and a two-hundredth of the time since arming once that is more:
        // 30 values must span enough of a leak's life for its rise to reach 15 %.
        let gap = tuning::PUSH_MAX_GAP.max(now.since(armed_since).0 / tuning::PUSH_GAP_DIVISOR);
        let overdue = last.is_none_or(|t| now.since(t) >= Millis(gap));
        fresh >= stride || overdue
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
        let x = &mut self.exhaustion;
        if let Some(used) = reading.used_after_gc {
            x.usage.push((now, used));
            x.new_floor = Some(used);
        }
        if let Some(container) = x.container_now.take() {
            x.container_max = container.max;
            if container.max.is_some() {
                x.container.push((now, container.used));
            }
        }
        x.floor_rising = oom::floor_rises(&x.usage) == Some(true);
        let rising = x.floor_rising;
        self.signal.set_floor_rising(rising);
    }

    fn fold(&mut self, now: Tick, fold: &FoldSummary) {
        if let Some((last, _)) = self.sweeping.pushed {
            let gap = now.since(last).as_f64();
            self.sweeping.gap_ms = Some(self.sweeping.gap_ms.map_or(gap, |g| 0.8 * g + 0.2 * gap));
        }
        self.sweeping.pushed = Some((now, fold.epoch));
        self.signal.fold(now, fold);
        self.output.drops.classes = self.signal.refused();
        self.check_now = true;
        let selection = *self.signal.select();
        // Publishing: an empty selection clears the set; the gate's probe never publishes.
        self.watched = selection
            .iter()
            .flat_map(|c| c.threads.iter().copied())
            .collect();
        let settled = std::mem::take(&mut self.settled);
        if let Phase::Running(search) = &mut self.phase {
            search.follow(&selection, |c| {
                settled.iter().any(|s| s.class == c && s.holds(now))
            });
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
        self.settled = settled;
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

    fn pass(&mut self, now: Tick, report: &PassReport) {
        let expected = matches!(self.in_flight, Some(Action::RunPass(p)) if p.search == report.search && p.pass == report.pass);
        self.answered(|a| matches!(a, Action::RunPass(p) if p.search == report.search));
        self.last_pass = (
            report.heap_walk,
            report.wall.saturating_sub(report.heap_walk),
        );
        self.schedule.charge(now, report);
        let Phase::Running(search) = &mut self.phase else {
            self.late(report);
            return;
        };
        if search.id != report.search || !expected {
            self.late(report);
            return;
        }
        let concurrent = self.tuned.concurrent;
        let budget = self.pacing.edge_budget();
        let with_roots = report.roots.attempted();
        if with_roots {
            self.pacing.root_pass(report.heap_walk);
        } else {
            self.pacing.ordinary_pass(report.heap_walk);
        }
        let pursued = search.unresolved() > 0;
        let absorbed = search.absorb(now, report, concurrent);
        if pursued {
            let duration = if concurrent {
                report.heap_walk
            } else {
                report.wall
            };
            search
                .backoff
                .pass(duration.as_millis_f64(), with_roots, absorbed.progress);
        }
        let id = search.id;
        self.pass_ended = true;
        self.output.pass(now, report, search, &absorbed, budget);
        for class in absorbed.resolved.iter() {
            self.commit(Commit {
                class: *class,
                search: id,
                provisional: false,
            });
            let chain = strongest(report, *class);
            self.settle(now, *class, Some(chain), Millis(tuning::RESOLVED_COOLDOWN));
        }
        self.commit_more(report);
        self.climb(now);
    }

    /// Further chains of classes that are resolved already.
    fn commit_more(&mut self, report: &PassReport) {
        let Phase::Running(search) = &self.phase else {
            return;
        };
        let id = search.id;
        let resolved: InlineVec<ClassId, MAX_CANDIDATES> = search
            .targets
            .iter()
            .filter(|t| t.resolved)
            .map(|t| t.class)
            .collect();
        for class in resolved.iter() {
            let commit = Commit {
                class: *class,
                search: id,
                provisional: false,
            };
            let found = report
                .chains
                .iter()
                .any(|c| c.verified && c.candidate == *class);
            if found && !self.commits.contains(&commit) {
                self.commit(commit);
            }
        }
    }

    /// A pass of a search that has ended meanwhile: what it found is not lost.
    fn late(&mut self, report: &PassReport) {
        for chain in report.chains.iter().filter(|c| c.verified) {
            let commit = Commit {
                class: chain.candidate,
                search: report.search,
                provisional: true,
            };
            if !self.commits.contains(&commit) {
                self.commit(commit);
            }
        }
        if let Phase::Releasing { search, .. } = &mut self.phase
            && search.id == report.search
        {
            search.heap_walk = search.heap_walk.saturating_add(report.heap_walk);
        }
    }

    /// The ladder after a pass.
    fn climb(&mut self, now: Tick) {
        let Phase::Running(s) = &self.phase else {
            return;
        };
        let progress = ladder::Progress {
            frontier_cap_hit: s.frontier_cap_hit,
            root_errors: s.root_errors,
            drained: s.drained,
            truncated: s.truncated,
            roots_complete: s.roots_settled(),
            unresolved: s.unresolved(),
            lost: s.lost(),
            ttl: self.ttl(),
            elapsed: s.ttl_elapsed(now),
            urgent: self.exhaustion.latch.is_set(),
            stalled: s.stalled,
            stalled_raw: s.stalled_raw,
            without_progress: s.without_progress,
            stuck_searches: self.stuck,
            distinct_reasons: self.config.improvements.distinct_reasons,
        };
        if let Some(outcome) = ladder::outcome(&progress) {
            self.finish(now, outcome);
        }
    }

    /// The time to live in force: with the concurrent engine at least four estimated walks.
    fn ttl(&self) -> Millis {
        if self.tuned.ttl.0 == 0 || !self.tuned.concurrent {
            return self.tuned.ttl;
        }
        let used = self.exhaustion.usage.last().map_or(Bytes(0), |u| u.1);
        let edges = used.0 / tuning::BYTES_PER_EDGE;
        let walk_ms = edges.saturating_mul(1000) / tuning::EDGES_PER_SECOND;
        Millis(
            self.tuned
                .ttl
                .0
                .max(walk_ms.saturating_mul(tuning::TTL_WALKS)),
        )
    }

    /// Ends the running search, if any: results are written first, then the outcome.
    fn finish(&mut self, now: Tick, outcome: Outcome) {
        let search = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Running(search) => search,
            other => {
                self.phase = other;
                return;
            }
        };
        for t in search.targets.iter().filter(|t| !t.resolved) {
            if t.any {
                self.commit(Commit {
                    class: t.class,
                    search: search.id,
                    provisional: true,
                });
            }
            if outcome != Outcome::Stopped && (t.any || !t.late) {
                self.lose(now, t.class);
            }
        }
        match outcome {
            Outcome::Abandoned(Reason::CanaryStuck) => self.stuck = self.stuck.saturating_add(1),
            Outcome::Stopped => {}
            _ => self.stuck = 0,
        }
        self.carried_stall = search.stalled;
        self.output.ended(now, &search, outcome);
        if !matches!(self.in_flight, Some(Action::Sweep | Action::Reverify)) {
            self.in_flight = None;
        }
        self.phase = Phase::Releasing {
            search,
            tries: 0,
            next_try: now,
        };
    }

    fn released(&mut self, now: Tick, report: ReleaseReport) {
        self.answered(|a| matches!(a, Action::ReleaseTags(id) if id == report.search));
        let Phase::Releasing {
            search,
            tries,
            next_try,
        } = &mut self.phase
        else {
            return;
        };
        if search.id != report.search {
            return;
        }
        *tries += 1;
        let give_up = self.stopping && *tries >= tuning::RELEASE_TRIES_AT_STOP;
        if !report.complete {
            *next_try = now.after(Millis(tuning::RELEASE_RETRY));
            self.output.release_failed(now, report);
            if !give_up {
                return;
            }
        }
        // Once, after the tags are released and before a successor is considered.
        self.safepoint.charge(now, search.heap_walk);
        self.phase = Phase::Idle;
        self.check_now = true;
    }

    fn commit(&mut self, commit: Commit) {
        self.committed = true;
        if self.recording && self.reverify_at.is_none() {
            // The period runs from the commit itself: that one was just written.
            self.reverify_at = Some(self.asked.after(Millis(tuning::REVERIFY_PERIOD)));
        }
        self.commits.push(commit);
    }

    fn settle(&mut self, now: Tick, class: ClassId, chain: Option<ShortId>, cooldown: Millis) {
        self.settled.retain(|s| s.class != class);
        if self.settled.len() >= tuning::SIGNAL_CLASSES {
            self.settled.remove(0);
        }
        self.settled.push(Settled {
            class,
            since: now,
            cooldown,
            chain,
            losses: 0,
        });
    }

    /// A search brought no certain chain for `class`: the next one waits, twice as long each time.
    fn lose(&mut self, now: Tick, class: ClassId) {
        let losses = self
            .settled
            .iter()
            .find(|s| s.class == class)
            .map_or(0, |s| s.losses);
        let shift = losses.min(tuning::LOST_COOLDOWN_SHIFT_MAX);
        self.settle(now, class, None, Millis(tuning::LOST_COOLDOWN << shift));
        if let Some(last) = self.settled.last_mut() {
            last.losses = losses.saturating_add(1);
        }
    }

    fn answered(&mut self, is_it: impl Fn(Action) -> bool) {
        if self.in_flight.is_some_and(is_it) {
            self.in_flight = None;
        }
    }

    /// The loop: tag release before anything else, then the state check at its cadence, a due
    /// sweep, re-verification, the running search.
    fn choose(&mut self, now: Tick) -> Action {
        self.rebase(now);
        if let Phase::Releasing {
            search, next_try, ..
        } = &self.phase
            && now >= *next_try
        {
            self.decision = Decision::Release;
            return Action::ReleaseTags(search.id);
        }
        if self.stopping {
            return self.stop(now);
        }
        if now >= self.next_check || self.check_now {
            self.check(now);
        }
        if self.sweep_at().is_some_and(|at| now >= at) {
            self.decision = Decision::Sweep;
            return Action::Sweep;
        }
        if self.reverify_at.is_some_and(|at| now >= at) {
            self.decision = Decision::Reverify;
            return Action::Reverify;
        }
        let until = self.next_wake(now);
        let cadence = self.pacing.cadence();
        let ramp = self.exhaustion.ramp;
        match &self.phase {
            Phase::Running(search) => {
                match self
                    .schedule
                    .next(now, search, cadence, ramp, &mut self.refusals)
                {
                    Next::Run { roots } => {
                        self.decision = if roots {
                            Decision::RunRoots
                        } else {
                            Decision::Run
                        };
                        Action::RunPass(self.plan(roots))
                    }
                    Next::Wait { until: at, why } => {
                        self.decision = why;
                        Action::Wait {
                            until: at.min(until).max(now.after(Millis(1))),
                        }
                    }
                }
            }
            _ => Action::Wait { until },
        }
    }

    fn stop(&mut self, now: Tick) -> Action {
        if let Phase::Releasing { next_try, .. } = &self.phase {
            self.decision = Decision::Release;
            return Action::Wait {
                until: (*next_try).max(now.after(Millis(1))),
            };
        }
        self.phase = Phase::Stopped;
        self.decision = Decision::Stopped;
        Action::Stopped
    }

    /// One round of the loop at its effective cadence: projection, ramp, latch, boost, start gate.
    fn check(&mut self, now: Tick) {
        self.check_now = false;
        self.project(now);
        if matches!(self.phase, Phase::Idle) {
            self.gate(now);
        }
        let running = matches!(self.phase, Phase::Running(_));
        let cadence = if running {
            self.pacing.cadence()
        } else {
            Millis(tuning::CADENCE_START)
        };
        self.next_check = now.after(cadence);
        let no_candidate = self.signal.select().is_empty();
        self.output
            .oom(now, &self.exhaustion, self.gc, no_candidate);
    }

    fn project(&mut self, now: Tick) {
        let armed = self.armed();
        let x = &mut self.exhaustion;
        let active = self.activated.map(|(t, _)| now.since(t));
        x.burn_in = active.is_none_or(|d| d < Millis(tuning::BURN_IN));
        let max = self
            .gc
            .and_then(|g| g.max_heap)
            .or(self.config.machine.max_heap);
        let usable = armed && !x.burn_in && x.usage.len() >= tuning::FLOOR_FILL;
        (x.heap_seconds, x.container_seconds) = (None, None);
        if let Some(max) = max.filter(|_| usable) {
            x.heap_seconds = oom::seconds_to(&x.usage, max);
            x.container_seconds = x
                .container_max
                .and_then(|m| oom::seconds_to(&x.container, m));
        }
        x.seconds = oom::shorter(x.heap_seconds, x.container_seconds);
        x.latch.check(x.seconds);
        let last_floor = x.usage.last().map(|u| u.1);
        x.boost.check(x.seconds, x.new_floor.take(), last_floor);
        let ramp = oom::ramp(x.seconds, self.tuned.pause_target, self.tuned.budget);
        x.ramp = ramp.is_some();
        match ramp {
            Some(r) => {
                self.pacing.set_goal(r.base, r.target);
                self.pacing.set_ramp_cadence(Some(r.cadence));
            }
            None => {
                self.pacing
                    .set_goal(self.tuned.budget, self.tuned.pause_target);
                self.pacing.set_ramp_cadence(None);
            }
        }
    }

    /// The start gate of a new search.
    fn gate(&mut self, now: Tick) {
        let selection = *self.signal.select();
        let open: Selection = selection
            .iter()
            .filter(|c| !self.is_settled(now, c.class))
            .copied()
            .collect();
        let conditions = Conditions {
            debt_drained: self.safepoint.ready(now),
            interval_over: self.schedule.roots.over(now),
            armed: self.armed() && self.tuned.chains,
            candidate: !selection.is_empty(),
            unsettled: !open.is_empty(),
        };
        match conditions.check() {
            Ok(()) => self.start(now, &open),
            Err(refused) => {
                self.refusals.count(refused);
                let no_class = matches!(refused, Refused::NoCandidate | Refused::Settled);
                if no_class && self.exhaustion.latch.is_set() {
                    self.output.drops.urgent_no_candidate += 1;
                }
                self.decision = if refused == Refused::NotArmed {
                    Decision::Idle
                } else {
                    Decision::GateRefused
                };
            }
        }
    }

    fn is_settled(&self, now: Tick, class: ClassId) -> bool {
        self.settled
            .iter()
            .any(|s| s.class == class && s.holds(now))
    }

    fn start(&mut self, now: Tick, selection: &Selection) {
        self.searches = self.searches.saturating_add(1);
        let carried = if self.config.improvements.progress_per_search {
            0
        } else {
            self.carried_stall
        };
        let search = Search::new(SearchId(self.searches), now, selection, carried);
        self.output
            .started(now, &search, self.exhaustion.latch.is_set());
        self.phase = Phase::Running(search);
    }

    fn plan(&self, roots: bool) -> PassPlan {
        let Some(search) = self.search() else {
            return PassPlan::default();
        };
        let target = Micros::from_millis(self.pacing.target().0);
        let deadlines = if self.tuned.concurrent {
            let wall = Micros::from_millis(tuning::CONCURRENT_PASS_WALL);
            Deadlines {
                statics: wall,
                candidate_threads: wall,
                expansion: wall,
                rotation: wall,
                cpu: Micros::from_millis(tuning::CONCURRENT_PASS_CPU),
            }
        } else {
            Deadlines {
                statics: Micros(target.0 / 2),
                candidate_threads: target,
                expansion: target,
                rotation: target,
                cpu: Micros(u64::MAX),
            }
        };
        PassPlan {
            search: search.id,
            pass: search.passes.saturating_add(1),
            expand: true,
            roots,
            edge_budget: self.pacing.edge_budget(),
            root_budget: self.tuned.first_pass_budget,
            deadlines,
            targets: search.plan_targets(),
            urgent: self.exhaustion.latch.is_set(),
            memcap: self.tuned.memcap,
            framecap: self.tuned.framecap,
            hops: self.tuned.hops,
        }
    }

    /// When the next sweep is due: 1 s after the last one once there is a new epoch.
    fn sweep_at(&self) -> Option<Tick> {
        if !self.armed() {
            return None;
        }
        if self.sweeping.wanted {
            return Some(Tick(0));
        }
        let period = if self.config.improvements.own_clock {
            tuning::SWEEP_DELAY
        } else {
            tuning::SWEEP_PERIOD_REFERENCE
        };
        match self.sweeping.last {
            Some((_, epoch)) if epoch == self.epoch() => None,
            Some((at, _)) => Some(at.after(Millis(period))),
            None if self.config.improvements.own_clock => Some(Tick(0)),
            None => self.activated.map(|(t, _)| t.after(Millis(period))),
        }
    }

    /// The latest instant to look again: counters are read once a second at least.
    fn next_wake(&self, now: Tick) -> Tick {
        let mut until = self
            .next_check
            .min(now.after(Millis(tuning::CADENCE_START)));
        for at in [self.sweep_at(), self.reverify_at].into_iter().flatten() {
            until = until.min(at);
        }
        if let Phase::Releasing { next_try, .. } = &self.phase {
            until = until.min(*next_try);
        }
        until.max(now.after(Millis(1)))
    }

    /// After a clock that went backwards nothing waits longer than it would have at first.
    fn rebase(&mut self, now: Tick) {
        self.next_check = self.next_check.min(now.after(Millis(tuning::CADENCE_MAX)));
        if let Some((at, _)) = &mut self.sweeping.last {
            *at = (*at).min(now);
        }
        if let Some((at, _)) = &mut self.sweeping.pushed {
            *at = (*at).min(now);
        }
        if let Some(at) = &mut self.reverify_at {
            *at = (*at).min(now.after(Millis(tuning::REVERIFY_PERIOD)));
        }
        if let Some((at, _)) = &mut self.activated {
            *at = (*at).min(now);
        }
        if let Phase::Releasing { next_try, .. } = &mut self.phase {
            *next_try = (*next_try).min(now.after(Millis(tuning::RELEASE_RETRY)));
        }
        for s in &mut self.settled {
            s.since = s.since.min(now);
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

impl Settled {
    fn holds(&self, now: Tick) -> bool {
        now.since(self.since) < self.cooldown
    }
}

/// The chain that makes a class resolved: durable before others, then by instances.
fn strongest(report: &PassReport, class: ClassId) -> ShortId {
    report
        .chains
        .iter()
        .filter(|c| c.candidate == class && c.verified)
        .min_by_key(|c| {
            (
                c.chain.strength != Strength::Durable,
                std::cmp::Reverse(c.instances),
            )
        })
        .map_or(ShortId(0), |c| c.signature)
}
