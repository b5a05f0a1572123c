//! What to do now: tag release before anything else, then the state check, sweeps, the running search.

use super::*;

impl Decider {
    /// The loop: tag release before anything else, then the state check at its cadence, a due
    /// sweep, re-verification, the running search.
    pub(super) fn choose(&mut self, now: Tick) -> Action {
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
        if self.sweep_due().is_some_and(|at| now >= at) {
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

    pub(super) fn stop(&mut self, now: Tick) -> Action {
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
    pub(super) fn check(&mut self, now: Tick) {
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

    pub(super) fn project(&mut self, now: Tick) {
        let active = self.activated.map(|(t, _)| now.since(t));
        let known = self.gc.and_then(|g| g.max_heap);
        let max = known.or(self.config.machine.max_heap);
        let armed = self.armed();
        let ramp = self.exhaustion.check(active, armed, max, &self.tuned);
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
    pub(super) fn gate(&mut self, now: Tick) {
        let selection = *self.signal.select();
        let open: Selection = selection
            .iter()
            .filter(|c| !self.settled.holds(now, c.class))
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

    pub(super) fn start(&mut self, now: Tick, selection: &Selection) {
        self.searches = self.searches.saturating_add(1);
        let carried = if self.config.improvements.progress_per_search {
            Stall::default()
        } else {
            Stall {
                passes: self.carried_stall,
                frontier: self.carried_frontier,
            }
        };
        let search = Search::new(SearchId(self.searches), now, selection, carried);
        self.output
            .started(now, &search, self.exhaustion.latch.is_set());
        self.phase = Phase::Running(search);
    }

    pub(super) fn plan(&self, roots: bool) -> PassPlan {
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

    pub(super) fn sweep_due(&self) -> Option<Tick> {
        let i = self.config.improvements;
        let due = || self.sweeping.due(self.epoch(), self.activated, i);
        self.armed().then(due).flatten()
    }

    /// The latest instant to look again: counters are read once a second at least.
    pub(super) fn next_wake(&self, now: Tick) -> Tick {
        let mut until = self
            .next_check
            .min(now.after(Millis(tuning::CADENCE_START)));
        for at in [self.sweep_due(), self.reverify_at].into_iter().flatten() {
            until = until.min(at);
        }
        if let Phase::Releasing { next_try, .. } = &self.phase {
            until = until.min(*next_try);
        }
        until.max(now.after(Millis(1)))
    }

    /// After a clock that went backwards nothing waits longer than it would have at first.
    pub(super) fn rebase(&mut self, now: Tick) {
        self.next_check = self.next_check.min(now.after(Millis(tuning::CADENCE_MAX)));
        self.sweeping.rebase(now);
        self.settled.rebase(now);
        if let Some(at) = &mut self.reverify_at {
            *at = (*at).min(now.after(Millis(tuning::REVERIFY_PERIOD)));
        }
        if let Some((at, _)) = &mut self.activated {
            *at = (*at).min(now);
        }
        if let Phase::Releasing { next_try, .. } = &mut self.phase {
            *next_try = (*next_try).min(now.after(Millis(tuning::RELEASE_RETRY)));
        }
    }
}
