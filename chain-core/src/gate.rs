//! The start gate: three conditions in order, each refusal counted by name.

/// Refusals by name since the process started; "why is there no search now?" is answered here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct GateRefusals {
    /// Start gate 1: safepoint-cost debt.
    pub safepoint_debt: u64,
    /// Start gate 2: the root-enumeration interval.
    pub root_interval: u64,
    /// Start gate 3: the signal is not armed.
    pub not_armed: u64,
    /// Start gate 3: no class qualifies.
    pub no_candidate: u64,
    /// Start gate 3: every qualifying class has its chain already, or was searched in vain lately.
    pub settled: u64,
    /// Running search: minimum spacing.
    pub spacing: u64,
    /// Running search: CPU-cost debt.
    pub cpu_debt: u64,
    /// Running search: `cpucap`.
    pub cpu_cap: u64,
    /// Running search: candidate backoff.
    pub backoff: u64,
    /// A pass with a heap-walk call: the stop-time window is full.
    pub stop_window: u64,
}

/// What the start gate looks at, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// Safepoint-cost debt has drained.
    pub debt_drained: bool,
    /// The root-enumeration interval permits another attempt, or none has run.
    pub interval_over: bool,
    /// The signal is armed (and searches are on).
    pub armed: bool,
    /// Candidate selection returns a class.
    pub candidate: bool,
    /// One of them is still worth a search.
    pub unsettled: bool,
}

/// Why a new search may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Safepoint-cost debt.
    SafepointDebt,
    /// The root-enumeration interval.
    RootInterval,
    /// The signal is not armed.
    NotArmed,
    /// No class qualifies: a rising floor or the latch never replaces one.
    NoCandidate,
    /// Every qualifying class is settled.
    Settled,
}

impl Conditions {
    /// The first condition that does not hold.
    pub fn check(self) -> Result<(), Refused> {
        if !self.debt_drained {
            Err(Refused::SafepointDebt)
        } else if !self.interval_over {
            Err(Refused::RootInterval)
        } else if !self.armed {
            Err(Refused::NotArmed)
        } else if !self.candidate {
            Err(Refused::NoCandidate)
        } else if !self.unsettled {
            Err(Refused::Settled)
        } else {
            Ok(())
        }
    }
}

impl GateRefusals {
    /// Counts one refusal by name.
    pub fn count(&mut self, refused: Refused) {
        let counter = match refused {
            Refused::SafepointDebt => &mut self.safepoint_debt,
            Refused::RootInterval => &mut self.root_interval,
            Refused::NotArmed => &mut self.not_armed,
            Refused::NoCandidate => &mut self.no_candidate,
            Refused::Settled => &mut self.settled,
        };
        *counter += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: Conditions = Conditions {
        debt_drained: true,
        interval_over: true,
        armed: true,
        candidate: true,
        unsettled: true,
    };

    #[test]
    fn the_gate_asks_debt_then_interval_then_signal_then_candidate() {
        assert_eq!(OPEN.check(), Ok(()));
        let none = Conditions {
            unsettled: false,
            ..OPEN
        };
        assert_eq!(none.check(), Err(Refused::Settled));
        let none = Conditions {
            candidate: false,
            ..none
        };
        assert_eq!(none.check(), Err(Refused::NoCandidate));
        let none = Conditions {
            armed: false,
            ..none
        };
        assert_eq!(none.check(), Err(Refused::NotArmed));
        let none = Conditions {
            interval_over: false,
            ..none
        };
        assert_eq!(none.check(), Err(Refused::RootInterval));
        let none = Conditions {
            debt_drained: false,
            ..none
        };
        assert_eq!(none.check(), Err(Refused::SafepointDebt));
    }

    #[test]
    fn each_refusal_is_counted_by_name() {
        let mut r = GateRefusals::default();
        for (i, refused) in [
            Refused::SafepointDebt,
            Refused::RootInterval,
            Refused::NotArmed,
            Refused::NoCandidate,
            Refused::Settled,
        ]
        .into_iter()
        .enumerate()
        {
            for _ in 0..=i {
                r.count(refused);
            }
        }
        assert_eq!((r.safepoint_debt, r.root_interval, r.not_armed), (1, 2, 3));
        assert_eq!((r.no_candidate, r.settled), (4, 5));
    }
}
