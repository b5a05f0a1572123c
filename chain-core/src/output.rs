//! Records on their way out: bounded queues, periods, and what each record is made of.

use std::collections::VecDeque;

use crate::decider::{Decider, Exhaustion};
use crate::ids::ClassId;
use crate::inline::InlineVec;
use crate::input::GcReading;
use crate::leak_signal::{LeakSignal, Standing};
use crate::plan::{Action, MAX_CANDIDATES};
use crate::record::{
    CandidateState, CostBudget, Decision, Drops, LeakCandidate, OomStatus, Outcome, Record,
    SearchEnded, SearchPass, SearchStarted, Stamped,
};
use crate::search::{Absorbed, Search};
use crate::tick::{Epoch, Millis, Tick};
use crate::tuning;
use crate::walk::{PassReport, ReleaseReport};

/// Queues with room reserved at set-up, so that nothing is allocated later.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    records: VecDeque<Stamped>,
    abandonments: VecDeque<Stamped>,
    /// Everything that was dropped or counted.
    pub drops: Drops,
    next_cost: Tick,
    next_oom: Tick,
    next_progress: Tick,
    last_decision: Decision,
    last_oom: Option<(bool, bool, bool, bool, bool)>,
    qualified: InlineVec<ClassId, MAX_CANDIDATES>,
}

impl Default for Output {
    fn default() -> Self {
        Output {
            records: VecDeque::with_capacity(tuning::RECORD_QUEUE),
            abandonments: VecDeque::with_capacity(tuning::ABANDONMENT_QUEUE),
            drops: Drops::default(),
            next_cost: Tick(0),
            next_oom: Tick(0),
            next_progress: Tick(0),
            last_decision: Decision::Idle,
            last_oom: None,
            qualified: InlineVec::default(),
        }
    }
}

impl Output {
    /// Queues a record; at a full queue it is dropped and counted, and none is overwritten.
    pub fn push(&mut self, at: Tick, record: Record) {
        let abandonment = matches!(record, Record::SearchAbandoned(_));
        let (queue, room, dropped) = if abandonment {
            (
                &mut self.abandonments,
                tuning::ABANDONMENT_QUEUE,
                &mut self.drops.abandonments,
            )
        } else {
            (
                &mut self.records,
                tuning::RECORD_QUEUE,
                &mut self.drops.records,
            )
        };
        if queue.len() >= room {
            *dropped += 1;
        } else {
            queue.push_back(Stamped { at, record });
        }
    }

    /// Takes every record, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Stamped> + '_ {
        let mut out: Vec<Stamped> = self
            .records
            .drain(..)
            .chain(self.abandonments.drain(..))
            .collect();
        out.sort_by_key(|s| s.at);
        out.into_iter()
    }

    /// Takes totals that are counted elsewhere.
    pub fn take_counters(&mut self, d: Drops) {
        self.drops.samples = d.samples;
        self.drops.reservoir = d.reservoir;
        self.drops.chains = d.chains;
        self.drops.journal = d.journal;
        self.drops.urgent_boost_admits = d.urgent_boost_admits;
        self.drops.urgent_boost_backed_off = d.urgent_boost_backed_off;
    }

    /// A recording begins: every periodic record is due at once.
    pub fn refresh(&mut self) {
        self.next_cost = Tick(0);
        self.next_oom = Tick(0);
        self.next_progress = Tick(0);
        self.qualified.clear();
    }

    /// A search began.
    pub fn started(&mut self, now: Tick, search: &Search, urgent: bool) {
        let candidates = search.targets.iter().map(|t| t.class).collect();
        self.push(
            now,
            Record::SearchStarted(SearchStarted {
                search: search.id,
                candidates,
                urgent,
            }),
        );
    }

    /// A pass ended.
    pub fn pass(&mut self, now: Tick, r: &PassReport, s: &Search, a: &Absorbed, edge_budget: u64) {
        self.push(
            now,
            Record::SearchPass(SearchPass {
                search: s.id,
                pass: r.pass,
                edges: r.edges,
                new_nodes: r.new_nodes,
                frontier: r.frontier,
                edge_budget,
                heap_walk: r.heap_walk,
                manual_walk: r.wall.saturating_sub(r.heap_walk),
                cpu: r.cpu,
                roots: r.roots,
                unresolved: s.unresolved(),
                progress: a.progress,
                stalled: a.stalled,
                stalled_passes: s.stalled_raw,
                coverage: r.coverage,
                native: r.native,
            }),
        );
    }

    /// A search ended; an abandonment has a record of its own.
    pub fn ended(&mut self, now: Tick, s: &Search, outcome: Outcome) {
        let unresolved = s.unresolved();
        let ended = SearchEnded {
            search: s.id,
            outcome,
            passes: s.passes,
            lasted: now.since(s.started),
            heap_walk: s.heap_walk,
            manual_walk: s.manual_walk,
            cpu: s.cpu,
            nodes: s.nodes,
            edges: s.edges,
            resolved: u32::try_from(s.targets.len())
                .unwrap_or(u32::MAX)
                .saturating_sub(unresolved),
            unresolved,
            coverage: s.coverage,
            partial: s.partial || !s.drained,
            lost: s.without_chain(),
            gaps: s.gaps(),
        };
        if matches!(outcome, Outcome::Abandoned(_)) {
            self.push(now, Record::SearchAbandoned(ended));
        }
        self.push(now, Record::SearchEnded(ended));
    }

    /// Tags could not be released.
    pub fn release_failed(&mut self, now: Tick, r: ReleaseReport) {
        self.drops.tag_release_failures += 1;
        let total = self.drops.tag_release_failures;
        self.push(
            now,
            Record::TagReleaseFailed {
                search: r.search,
                failed: r.failed,
                total,
            },
        );
    }

    /// Progress of the classes nearest to the signal, periodically; transitions at once.
    pub fn candidates(
        &mut self,
        now: Tick,
        epoch: Epoch,
        signal: &LeakSignal,
        needs_confirmation: bool,
        gap_ms: Option<f64>,
    ) {
        let selected: InlineVec<ClassId, MAX_CANDIDATES> =
            signal.select().iter().map(|c| c.class).collect();
        let known = self.qualified;
        let record = |s: &Standing, state: CandidateState| {
            Record::LeakCandidate(candidate(s, state, epoch, needs_confirmation, gap_ms))
        };
        let due = now >= self.next_progress
            || self.next_progress > now.after(Millis(tuning::PROGRESS_PERIOD));
        let mut written: InlineVec<ClassId, MAX_CANDIDATES> = InlineVec::default();
        for class in selected.iter().filter(|c| !known.as_slice().contains(c)) {
            if let Some(s) = signal.standing_of(*class) {
                self.push(now, record(&s, CandidateState::Qualified));
                written.push(*class);
            }
        }
        for class in known.iter().filter(|c| !selected.as_slice().contains(c)) {
            if let Some(s) = signal.standing_of(*class) {
                let left = matches!(s.state, CandidateState::Qualified);
                let state = if left {
                    CandidateState::Outranked
                } else {
                    CandidateState::Gone
                };
                self.push(now, record(&s, state));
            }
        }
        self.qualified = selected;
        if !due {
            return;
        }
        self.next_progress = now.after(Millis(tuning::PROGRESS_PERIOD));
        let mut all: Vec<Standing> = signal.standings().filter(|s| s.survivors > 0).collect();
        all.sort_by_key(|s| {
            (
                std::cmp::Reverse(s.state),
                std::cmp::Reverse(s.folds),
                std::cmp::Reverse(s.retained),
                s.class,
            )
        });
        for s in all.iter().take(tuning::PROGRESS_CLASSES) {
            if !written.as_slice().contains(&s.class) {
                self.push(now, record(s, s.state));
            }
        }
    }

    /// Projection and latch: at transitions, and periodically while enough is known.
    pub(crate) fn oom(
        &mut self,
        now: Tick,
        x: &Exhaustion,
        gc: Option<GcReading>,
        no_candidate: bool,
    ) {
        let no_candidate = no_candidate && x.floor_rising;
        let marks = (
            x.floor_rising,
            x.ramp,
            x.latch.is_set(),
            x.boost.is_on(),
            no_candidate,
        );
        let due = now >= self.next_oom || self.next_oom > now.after(Millis(tuning::OOM_PERIOD));
        let known = x.usage.len() >= tuning::FLOOR_FILL;
        if self.last_oom == Some(marks) && !(due && known) {
            return;
        }
        if self.last_oom.is_none() && !known {
            return;
        }
        self.last_oom = Some(marks);
        self.next_oom = now.after(Millis(tuning::OOM_PERIOD));
        self.push(
            now,
            Record::OomProjection(OomStatus {
                samples: u32::try_from(x.usage.len()).unwrap_or(u32::MAX),
                floor_rising: x.floor_rising,
                used: x.usage.last().map(|u| u.1),
                max_heap: gc.and_then(|g| g.max_heap),
                heap_seconds: x.heap_seconds,
                container_seconds: x.container_seconds,
                seconds: x.seconds,
                burn_in: x.burn_in,
                ramp: x.ramp,
                latched: x.latch.is_set(),
                boost: x.boost.is_on(),
                approximate: gc.is_some_and(|g| g.approximate),
                no_candidate,
            }),
        );
    }

    /// Whether a CostBudget record is due: after a pass, periodically, and when the reason to wait
    /// becomes another.
    pub fn cost_due(&mut self, now: Tick, pass_ended: bool, decision: Decision) -> bool {
        let changed = decision != self.last_decision && !is_action(decision);
        let due = now >= self.next_cost || self.next_cost > now.after(Millis(tuning::COST_PERIOD));
        if pass_ended || due || changed {
            self.last_decision = if is_action(decision) {
                self.last_decision
            } else {
                decision
            };
            self.next_cost = now.after(Millis(tuning::COST_PERIOD));
            return true;
        }
        false
    }
}

fn is_action(d: Decision) -> bool {
    matches!(
        d,
        Decision::Sweep
            | Decision::Run
            | Decision::RunRoots
            | Decision::Release
            | Decision::Reverify
    ) || matches!(
        d,
        Decision::Spacing | Decision::Backoff | Decision::CpuDebt | Decision::CpuCap
    )
}

/// Inputs and decision of cost control.
pub(crate) fn cost(d: &mut Decider, now: Tick, action: Action) -> CostBudget {
    d.safepoint.advance(now);
    d.schedule.cpu.advance(now);
    let stop_window = d.schedule.stop.spent(now);
    let search = d.search();
    CostBudget {
        search: search.map(|s| s.id),
        heap_walk: d.last_pass.0,
        manual_walk: d.last_pass.1,
        edge_budget: d.pacing.edge_budget(),
        edge_ceiling: d.pacing.ceiling(),
        borrowed: d.pacing.borrowed(),
        pause_target: d.pacing.target(),
        cadence: if search.is_some() {
            d.pacing.cadence()
        } else {
            Millis(tuning::CADENCE_START)
        },
        safepoint_balance: d.safepoint.balance(),
        safepoint_rate: d.safepoint.rate(),
        cpu_balance: d.schedule.cpu.balance(),
        cpu_rate: d.schedule.cpu.rate(),
        stop_window,
        stop_cap: d.schedule.stop.cap(),
        unresolved: search.map_or(0, Search::unresolved),
        backoff: search.map_or(1, |s| s.backoff.multiplier()),
        backoff_ema: search.map_or(0.0, |s| s.backoff.ema_ms()),
        decision: d.decision,
        wait_until: match action {
            Action::Wait { until } => Some(until),
            _ => None,
        },
        refusals: d.refusals,
        seconds_to_oom: d.exhaustion.seconds,
        latched: d.exhaustion.latch.is_set(),
        drops: d.output.drops,
    }
}

fn candidate(
    s: &Standing,
    state: CandidateState,
    epoch: Epoch,
    needs_confirmation: bool,
    gap_ms: Option<f64>,
) -> LeakCandidate {
    let values_needed = u32::try_from(tuning::CLASS_FILL).unwrap_or(u32::MAX);
    // The fold that fills the ring can be the first qualifying one.
    let folds_left = match state {
        CandidateState::Filling => Some(values_needed - s.values + s.folds_needed - 1),
        CandidateState::Flat | CandidateState::Rising => {
            Some(s.folds_needed.saturating_sub(s.folds))
        }
        _ => None,
    };
    LeakCandidate {
        class: s.class,
        state,
        values: s.values,
        values_needed,
        folds: s.folds,
        folds_needed: s.folds_needed,
        earliest: folds_left
            .zip(gap_ms)
            .map(|(n, gap)| Millis::from_f64(f64::from(n) * gap)),
        fitted_start: s.fit.map(|f| f.0),
        fitted_end: s.fit.map(|f| f.1),
        survivors: s.survivors,
        retained: s.retained,
        growth_per_hour: s.growth_per_hour,
        unconfirmed: needs_confirmation && !s.confirmed,
        threads: s.threads,
        epoch,
    }
}
