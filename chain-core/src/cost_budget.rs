//! Cost debts: what was spent delays what comes next. Pacing, never a measured or guaranteed quota.

use crate::tick::{Micros, Millis, Tick};
use crate::tuning;

/// A leaky bucket of milliseconds: spending adds, elapsed time drains, work may start at zero.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct CostBudget {
    balance: f64,
    rate: f64,
    last: Option<Tick>,
}

impl CostBudget {
    /// An empty bucket that drains `rate` ms per elapsed ms; rate 0 never drains.
    pub fn new(rate: f64) -> CostBudget {
        CostBudget {
            balance: 0.0,
            rate: sane(rate),
            last: None,
        }
    }

    /// Drains for the time since the last call. The first call sets the baseline; a clock that went
    /// backwards sets it anew without draining.
    pub fn advance(&mut self, now: Tick) {
        if let Some(last) = self.last {
            let elapsed = now.since(last).as_f64();
            self.balance = (self.balance - elapsed * self.rate).max(0.0);
        }
        self.last = Some(now);
    }

    /// Changes the rate; time up to `now` drains at the old one first.
    pub fn set_rate(&mut self, now: Tick, rate: f64) {
        self.advance(now);
        self.rate = sane(rate);
    }

    /// Adds `cost`; time up to `now` drains first.
    pub fn charge(&mut self, now: Tick, cost: Micros) {
        self.advance(now);
        self.balance += cost.as_millis_f64();
    }

    /// Whether work may start at `now`.
    pub fn ready(&mut self, now: Tick) -> bool {
        self.advance(now);
        self.balance <= 0.0
    }

    /// When the debt will have drained at the present rate; `None` = never (rate 0).
    pub fn ready_at(&self, now: Tick) -> Option<Tick> {
        if self.balance <= 0.0 {
            return Some(now);
        }
        let from = self.last.unwrap_or(now);
        (self.rate > 0.0)
            .then(|| from.after(Millis::from_f64((self.balance / self.rate).ceil().max(1.0))))
    }

    /// Debt in ms, never negative.
    pub fn balance(&self) -> f64 {
        self.balance
    }

    /// Drain in ms per ms.
    pub fn rate(&self) -> f64 {
        self.rate
    }
}

fn sane(rate: f64) -> f64 {
    if rate.is_finite() {
        rate.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// The CPU refill in effect: a hundredfold, at most 1, while candidates are unresolved.
pub fn cpu_rate(base: f64, unresolved: bool) -> f64 {
    if unresolved {
        (base * tuning::UNRESOLVED_REFILL_FACTOR).min(1.0)
    } else {
        base
    }
}

const BUCKETS: usize = 61;

/// Heap-walk-call time in the sliding window, in one-second buckets, so that it never allocates.
/// A bucket leaves only when all of it is older than the window, so the sum errs upwards.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct StopWindow {
    buckets: Vec<(u64, u64)>,
    cap: Millis,
}

impl StopWindow {
    /// An empty window with cap `cap`.
    pub fn new(cap: Millis) -> StopWindow {
        StopWindow {
            buckets: Vec::with_capacity(BUCKETS),
            cap,
        }
    }

    /// Adds the heap-walk-call time of a pass that ended at `now`.
    pub fn add(&mut self, now: Tick, spent: Micros) {
        if spent.0 == 0 {
            return;
        }
        self.expire(now);
        let second = now.0 / 1000;
        match self.buckets.last_mut() {
            Some(last) if last.0 == second => last.1 = last.1.saturating_add(spent.0),
            _ => self.buckets.push((second, spent.0)),
        }
    }

    /// Time spent within the window.
    pub fn spent(&mut self, now: Tick) -> Micros {
        self.expire(now);
        Micros(self.buckets.iter().fold(0u64, |a, b| a.saturating_add(b.1)))
    }

    /// Whether the window is at or above its cap: no pass with a heap-walk call may start.
    pub fn full(&mut self, now: Tick) -> bool {
        self.spent(now) >= Micros::from_millis(self.cap.0)
    }

    /// When enough will have left the window; `now` when it is not full.
    pub fn free_at(&mut self, now: Tick) -> Tick {
        let mut spent = self.spent(now).0;
        let cap = Micros::from_millis(self.cap.0).0;
        for (second, us) in &self.buckets {
            if spent < cap {
                break;
            }
            spent -= us;
            if spent < cap {
                return Tick((second + 1) * 1000).after(Millis(tuning::STOP_WINDOW));
            }
        }
        now
    }

    /// The cap.
    pub fn cap(&self) -> Millis {
        self.cap
    }

    fn expire(&mut self, now: Tick) {
        let second = now.0 / 1000;
        for bucket in &mut self.buckets {
            // The clock went backwards: what was spent "later" was spent now at the latest.
            bucket.0 = bucket.0.min(second);
        }
        let oldest = now.before(Millis(tuning::STOP_WINDOW)).0;
        self.buckets.retain(|b| (b.0 + 1) * 1000 > oldest);
        // One bucket a second: 61 at most, so that none is ever allocated.
        self.buckets.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(later.1);
            }
            same
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_call_sets_the_baseline() {
        let mut b = CostBudget::new(1.0);
        b.charge(Tick(1_000_000), Micros::from_millis(50));
        assert!((b.balance() - 50.0).abs() < 1e-9);
        assert!(!b.ready(Tick(1_000_049)));
        assert!(b.ready(Tick(1_000_050)));
    }

    #[test]
    fn balance_never_goes_below_zero_and_time_is_not_saved_up() {
        let mut b = CostBudget::new(0.5);
        b.advance(Tick(0));
        b.advance(Tick(1_000_000));
        b.charge(Tick(1_000_000), Micros::from_millis(10));
        assert!(!b.ready(Tick(1_000_019)));
        assert!(b.ready(Tick(1_000_020)));
    }

    #[test]
    fn a_clock_that_goes_backwards_rebaselines_without_draining() {
        let mut b = CostBudget::new(1.0);
        b.charge(Tick(1000), Micros::from_millis(100));
        b.advance(Tick(10));
        assert!((b.balance() - 100.0).abs() < 1e-9);
        assert!(!b.ready(Tick(109)));
        assert!(b.ready(Tick(110)));
    }

    #[test]
    fn a_rate_change_drains_at_the_old_rate_first() {
        let mut b = CostBudget::new(0.5);
        b.charge(Tick(0), Micros::from_millis(100));
        b.set_rate(Tick(100), 1.0);
        assert!((b.balance() - 50.0).abs() < 1e-9);
        b.advance(Tick(130));
        assert!((b.balance() - 20.0).abs() < 1e-9);
        assert!((b.rate() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn rate_zero_never_drains() {
        let mut b = CostBudget::new(0.0);
        b.charge(Tick(0), Micros(1));
        assert!(!b.ready(Tick(u64::MAX)));
        assert_eq!(b.ready_at(Tick(5)), None);
    }

    #[test]
    fn ready_at_is_the_first_instant_that_is_ready() {
        let mut b = CostBudget::new(0.01);
        b.charge(Tick(1000), Micros(2_345));
        let at = b.ready_at(Tick(1000)).unwrap();
        assert_eq!(at, Tick(1235));
        let mut early = b;
        assert!(!early.ready(at.before(Millis(1))));
        assert!(b.ready(at));
        assert_eq!(b.ready_at(at), Some(at));
    }

    #[test]
    fn unresolved_candidates_raise_the_cpu_refill_a_hundredfold_to_one_at_most() {
        assert!((cpu_rate(0.001, true) - 0.1).abs() < 1e-12);
        assert!((cpu_rate(0.05, true) - 1.0).abs() < 1e-12);
        assert!((cpu_rate(0.05, false) - 0.05).abs() < 1e-12);
    }

    #[test]
    fn stop_window_refuses_at_the_cap_until_enough_has_left_it() {
        let mut w = StopWindow::new(Millis(500));
        w.add(Tick(1_500), Micros::from_millis(499));
        assert!(!w.full(Tick(1_500)));
        w.add(Tick(2_600), Micros::from_millis(1));
        assert!(w.full(Tick(2_600)));
        assert_eq!(w.free_at(Tick(2_600)), Tick(62_000));
        assert!(w.full(Tick(61_999)));
        assert!(!w.full(Tick(62_000)));
        assert_eq!(w.spent(Tick(62_000)), Micros::from_millis(1));
        assert_eq!(w.spent(Tick(63_000)), Micros(0));
        assert_eq!(w.free_at(Tick(63_000)), Tick(63_000));
        assert_eq!(w.cap(), Millis(500));
    }

    #[test]
    fn stop_window_counts_every_pass_of_a_second_and_never_grows() {
        let mut w = StopWindow::new(Millis(500));
        for ms in 0..200_000 {
            w.add(Tick(ms), Micros(10));
        }
        assert!(w.buckets.len() <= BUCKETS && w.buckets.capacity() == BUCKETS);
        let spent = w.spent(Tick(199_999)).0;
        assert!((600_000..=610_000).contains(&spent), "{spent}");
    }

    #[test]
    fn stop_window_keeps_its_debt_when_the_clock_goes_backwards() {
        let mut w = StopWindow::new(Millis(5));
        w.add(Tick(100_000), Micros::from_millis(5));
        assert!(w.full(Tick(10)));
        assert!(w.full(Tick(60_000)));
        assert!(!w.full(Tick(61_000)));
    }

    #[test]
    fn the_window_has_one_bucket_a_second_whatever_the_clock_does() {
        let mut w = StopWindow::new(Millis(500));
        for n in 0..300 {
            w.add(Tick(1_000_000 + n * 500), Micros(10));
        }
        assert_eq!(w.buckets.len(), BUCKETS);
        assert_eq!(w.spent(Tick(1_149_500)), Micros(61 * 20));
        // Back by a quarter of an hour: all of it was spent now at the latest.
        assert_eq!(w.spent(Tick(100_000)), Micros(61 * 20));
        assert_eq!(w.buckets.len(), 1);
        for n in 1..=60 {
            w.add(Tick(100_000 + n * 1_000), Micros(1));
        }
        assert_eq!(w.spent(Tick(160_999)), Micros(61 * 20 + 60));
        assert_eq!(w.buckets.capacity(), BUCKETS);
        assert_eq!(w.spent(Tick(161_000)), Micros(60));
    }

    #[test]
    fn the_window_is_free_when_enough_of_it_has_left() {
        let mut w = StopWindow::new(Millis(500));
        for second in [10, 20, 30] {
            w.add(Tick(second * 1_000), Micros::from_millis(300));
        }
        // 900 ms: without the first 600 are left, without the second 300.
        assert_eq!(w.free_at(Tick(31_000)), Tick(81_000));
        let mut w = StopWindow::new(Millis(500));
        w.add(Tick(10_000), Micros::from_millis(400));
        w.add(Tick(20_000), Micros::from_millis(100));
        assert_eq!(w.free_at(Tick(31_000)), Tick(71_000), "at the cap is full");
        w.add(Tick(21_000), Micros::from_millis(400));
        assert_eq!(w.free_at(Tick(31_000)), Tick(81_000));
    }
}
