//! When the next pass of a running search may start, and whether it enumerates roots.

use crate::cost_budget::{self, CostBudget, StopWindow};
use crate::gate::GateRefusals;
use crate::record::Decision;
use crate::search::Search;
use crate::tick::{Micros, Millis, Tick};
use crate::tuning::{self, Tuned};
use crate::walk::PassReport;

/// When root enumeration may be tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct RootClock {
    not_before: Option<Tick>,
}

impl RootClock {
    /// An attempt that took `took` ended at `now`; truncated and errored ones alike.
    pub fn ended(&mut self, now: Tick, took: Micros) {
        let wait = took
            .ceil_millis()
            .0
            .saturating_mul(tuning::ROOT_WAIT_FACTOR);
        self.not_before = Some(now.after(Millis(
            wait.clamp(tuning::ROOT_WAIT_MIN, tuning::ROOT_WAIT_MAX),
        )));
    }

    /// Whether another attempt is permitted; always, before the first.
    pub fn over(&mut self, now: Tick) -> bool {
        if let Some(at) = self.not_before {
            // After a clock that went backwards the wait is the longest one, not for ever.
            self.not_before = Some(at.min(now.after(Millis(tuning::ROOT_WAIT_MAX))));
        }
        self.not_before.is_none_or(|at| now >= at)
    }

    /// The instant from which it is.
    pub fn over_at(&self, now: Tick) -> Tick {
        self.not_before.unwrap_or(now).max(now)
    }
}

/// What a running search does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run a pass now.
    Run {
        /// With root enumeration.
        roots: bool,
    },
    /// Not before `until`, because of `why`.
    Wait {
        /// The first instant at which another answer is possible.
        until: Tick,
        /// The gate that refuses.
        why: Decision,
    },
}

/// The budgets that pace passes.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Schedule {
    /// CPU-cost debt.
    pub cpu: CostBudget,
    /// `cpucap` debt of the search threads.
    pub cpu_cap: CostBudget,
    /// Heap-walk-call time of the last minute.
    pub stop: StopWindow,
    /// The root-enumeration interval.
    pub roots: RootClock,
    base_rate: f64,
    cap: f64,
    concurrent: bool,
    stop_capped: bool,
}

impl Schedule {
    /// Empty budgets.
    pub fn new(tuned: &Tuned, stop_capped: bool) -> Schedule {
        Schedule {
            cpu: CostBudget::new(tuned.refill),
            cpu_cap: CostBudget::new(tuned.cpu_cap),
            stop: StopWindow::new(tuned.stop_cap),
            roots: RootClock::default(),
            base_rate: tuned.refill,
            cap: tuned.cpu_cap,
            concurrent: tuned.concurrent,
            stop_capped,
        }
    }

    /// Charges a pass that ended at `now`; the search's own heap-walk total is charged elsewhere.
    pub fn charge(&mut self, now: Tick, report: &PassReport) {
        self.cpu
            .charge(now, report.wall.saturating_sub(report.heap_walk));
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "microseconds of one pass"
        )]
        let allowed = (report.wall.0 as f64 * self.cap) as u64;
        // What the pass was entitled to while it ran is no debt.
        self.cpu_cap
            .charge(now, report.cpu.saturating_sub(Micros(allowed)));
        self.stop.add(now, report.heap_walk);
        if report.roots.attempted() {
            self.roots.ended(now, report.roots_took);
        }
    }

    /// The order of section 5: refill rate, spacing since the last pass ended, CPU debt, backoff
    /// while candidates are unresolved, run. In the ramp the cadence has no floor and there is no
    /// backoff; the CPU gate still applies.
    pub fn next(
        &mut self,
        now: Tick,
        search: &Search,
        cadence: Millis,
        ramp: bool,
        refusals: &mut GateRefusals,
    ) -> Next {
        let unresolved = search.unresolved() > 0;
        self.cpu
            .set_rate(now, cost_budget::cpu_rate(self.base_rate, unresolved));
        if let Some(ended) = search.last_end {
            let floor = if ramp { 0 } else { tuning::SPACING_FLOOR };
            let due = ended.min(now).after(Millis(cadence.0.max(floor)));
            if now < due {
                refusals.spacing += 1;
                return Next::Wait {
                    until: due,
                    why: Decision::Spacing,
                };
            }
        }
        if !self.cpu.ready(now) {
            refusals.cpu_debt += 1;
            return wait(self.cpu.ready_at(now), now, Decision::CpuDebt);
        }
        if self.concurrent && !self.cpu_cap.ready(now) {
            refusals.cpu_cap += 1;
            return wait(self.cpu_cap.ready_at(now), now, Decision::CpuCap);
        }
        if let Some(ended) = search.last_end
            && unresolved
            && !ramp
        {
            let spacing = search.backoff.spacing();
            let due = ended.min(now).after(Millis(
                spacing
                    .0
                    .saturating_add(cadence.0.max(tuning::SPACING_FLOOR)),
            ));
            if now < due {
                refusals.backoff += 1;
                return Next::Wait {
                    until: due,
                    why: Decision::Backoff,
                };
            }
        }
        self.kind(now, search, refusals)
    }

    /// With roots or without; a pass with a heap-walk call needs room in the stop-time window.
    fn kind(&mut self, now: Tick, search: &Search, refusals: &mut GateRefusals) -> Next {
        let window_full = self.stop_capped && self.stop.full(now);
        if !self.concurrent {
            if window_full {
                refusals.stop_window += 1;
                return Next::Wait {
                    until: self.stop.free_at(now),
                    why: Decision::StopWindow,
                };
            }
            let roots = !search.roots_settled() && !search.roots_enumerated;
            return Next::Run {
                roots: roots && (!search.roots_attempted || self.roots.over(now)),
            };
        }
        // Concurrent: statics and threads first; roots only for what they did not explain, and
        // before the search may complete or give up.
        let explored = search.drained && search.statics_complete && search.threads_complete;
        let exhausted = search.stalled_raw >= tuning::STALLED_PASSES;
        let wanted = search.unresolved() > 0
            && !search.roots_skipped
            && !search.roots_enumerated
            && (explored || exhausted);
        if !wanted {
            return Next::Run { roots: false };
        }
        if !self.roots.over(now) {
            if search.drained {
                refusals.root_interval += 1;
                return Next::Wait {
                    until: self.roots.over_at(now),
                    why: Decision::RootInterval,
                };
            }
            return Next::Run { roots: false };
        }
        if window_full {
            if search.drained {
                refusals.stop_window += 1;
                return Next::Wait {
                    until: self.stop.free_at(now),
                    why: Decision::StopWindow,
                };
            }
            return Next::Run { roots: false };
        }
        Next::Run { roots: true }
    }
}

fn wait(at: Option<Tick>, now: Tick, why: Decision) -> Next {
    // A rate of 0 never drains: look again in a while, the rate may change.
    let until = at.unwrap_or_else(|| now.after(Millis(tuning::CADENCE_MAX)));
    Next::Wait {
        until: until.max(now.after(Millis(1))),
        why,
    }
}

#[cfg(test)]
mod tests;
