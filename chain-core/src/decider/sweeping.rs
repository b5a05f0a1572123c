//! When the liveness table is swept, and when its survivors become signal values.

use crate::config::Improvements;
use crate::tick::{Epoch, Millis, Tick};
use crate::tuning;

/// When the table was swept and when signal values were pushed last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Sweeping {
    last: Option<(Tick, Epoch)>,
    /// Samples wait at a full table.
    pub wanted: bool,
    pushed: Option<(Tick, Epoch)>,
    /// Smoothed time between pushes, ms: what an estimate of the next ones is made from.
    pub gap_ms: Option<f64>,
}

impl Sweeping {
    /// A sweep ended.
    pub fn swept(&mut self, now: Tick, epoch: Epoch) {
        self.last = Some((now, epoch));
        self.wanted = false;
    }

    /// Values were pushed.
    pub fn pushed(&mut self, now: Tick, epoch: Epoch) {
        if let Some((last, _)) = self.pushed {
            let gap = now.since(last).as_f64();
            self.gap_ms = Some(self.gap_ms.map_or(gap, |g| 0.8 * g + 0.2 * gap));
        }
        self.pushed = Some((now, epoch));
    }

    /// Whether survivors are due to be pushed at `now` in `epoch`; `armed` is when the signal was
    /// armed first.
    pub fn push_due(&self, now: Tick, epoch: Epoch, armed: (Tick, Epoch), i: Improvements) -> bool {
        let (last, from) = match self.pushed {
            Some((tick, epoch)) => (Some(tick), epoch),
            None => (None, armed.1),
        };
        let fresh = epoch.since(from);
        if fresh == 0 {
            return false;
        }
        let stride = if i.stride {
            let since = epoch.since(armed.1);
            since.div_ceil(tuning::STRIDE_DIVISOR).max(1)
        } else {
            1
        };
        // Five minutes apart at most, and a two-hundredth of the time since arming once that is more:
        // 30 values must span enough of a leak's life for its rise to reach 15 %.
        let gap = tuning::PUSH_MAX_GAP.max(now.since(armed.0).0 / tuning::PUSH_GAP_DIVISOR);
        let overdue = last.is_none_or(|t| now.since(t) >= Millis(gap));
        fresh >= stride || overdue
    }

    /// When the next sweep is due: 1 s after the last one once there is a new epoch.
    pub fn due(&self, epoch: Epoch, armed: Option<(Tick, Epoch)>, i: Improvements) -> Option<Tick> {
        if self.wanted {
            return Some(Tick(0));
        }
        let period = if i.own_clock {
            tuning::SWEEP_DELAY
        } else {
            tuning::SWEEP_PERIOD_REFERENCE
        };
        match self.last {
            Some((_, swept)) if swept == epoch => None,
            Some((at, _)) => Some(at.after(Millis(period))),
            None if i.own_clock => Some(Tick(0)),
            None => armed.map(|(t, _)| t.after(Millis(period))),
        }
    }

    /// After a clock that went backwards nothing waits longer than at first.
    pub fn rebase(&mut self, now: Tick) {
        for (at, _) in [&mut self.last, &mut self.pushed].into_iter().flatten() {
            *at = (*at).min(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARMED: (Tick, Epoch) = (Tick(1_000), Epoch(10));

    fn due(s: &Sweeping, at: u64, epoch: u64) -> bool {
        s.push_due(Tick(at), Epoch(epoch), ARMED, Improvements::default())
    }

    #[test]
    fn values_are_pushed_after_a_hundredth_of_the_epochs_since_arming() {
        let mut s = Sweeping::default();
        assert!(!due(&s, 2_000, 10), "no epoch since arming");
        assert!(due(&s, 2_000, 11));
        s.pushed(Tick(2_000), Epoch(110));
        assert!(!due(&s, 3_000, 110));
        assert!(!due(&s, 3_000, 111), "ceil(101 / 100) = 2");
        assert!(due(&s, 3_000, 112));
        s.pushed(Tick(2_000), Epoch(1_010));
        assert!(!due(&s, 3_000, 1_020) && due(&s, 3_000, 1_021));
    }

    #[test]
    fn values_are_five_minutes_apart_at_most_while_that_is_a_two_hundredth_of_the_time() {
        let mut s = Sweeping::default();
        s.pushed(Tick(2_000), Epoch(10_000));
        assert!(!due(&s, 301_999, 10_001) && due(&s, 302_000, 10_001));
        assert!(!due(&s, 302_000, 10_000), "never without a new epoch");
        let late = 1_000 + 200 * 400_000;
        s.pushed(Tick(late), Epoch(10_000));
        assert!(!due(&s, late + 400_000, 10_001));
        assert!(due(&s, late + 403_000, 10_001));
    }

    #[test]
    fn a_sweep_follows_a_new_epoch_by_a_second_at_most_and_none_comes_without_one() {
        let on = Improvements::default();
        let mut s = Sweeping::default();
        assert_eq!(s.due(Epoch(0), Some(ARMED), on), Some(Tick(0)));
        s.swept(Tick(5_000), Epoch(11));
        assert_eq!(s.due(Epoch(11), Some(ARMED), on), None);
        assert_eq!(s.due(Epoch(12), Some(ARMED), on), Some(Tick(6_000)));
        s.wanted = true;
        assert_eq!(s.due(Epoch(11), Some(ARMED), on), Some(Tick(0)));
        let off = Improvements {
            own_clock: false,
            ..on
        };
        let mut s = Sweeping::default();
        assert_eq!(s.due(Epoch(9), Some(ARMED), off), Some(Tick(31_000)));
        s.swept(Tick(5_000), Epoch(11));
        assert_eq!(s.due(Epoch(12), Some(ARMED), off), Some(Tick(35_000)));
    }

    #[test]
    fn the_smoothed_gap_is_eight_tenths_old_and_two_tenths_new() {
        let mut s = Sweeping::default();
        s.pushed(Tick(0), Epoch(1));
        assert_eq!(s.gap_ms, None);
        s.pushed(Tick(1_000), Epoch(2));
        s.pushed(Tick(3_000), Epoch(3));
        assert!((s.gap_ms.unwrap() - 1_200.0).abs() < 1e-9);
    }

    #[test]
    fn a_clock_that_goes_back_delays_no_sweep_and_no_value() {
        let mut s = Sweeping::default();
        s.swept(Tick(9_000_000), Epoch(11));
        s.pushed(Tick(9_000_000), Epoch(11));
        s.rebase(Tick(50_000));
        assert_eq!(
            s.due(Epoch(12), Some(ARMED), Improvements::default()),
            Some(Tick(51_000))
        );
        s.pushed(Tick(51_000), Epoch(12));
        assert!((s.gap_ms.unwrap() - 1_000.0).abs() < 1e-9);
    }
}
