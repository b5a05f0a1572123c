//! Edge budget, cadence and borrowed headroom.

use crate::pid::Pid;
use crate::tick::{Micros, Millis};
use crate::tuning;

/// The pause controller's state over all searches.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Pacing {
    pid: Pid,
    base: u64,
    borrowed: u64,
    effective: u64,
    cadence: Millis,
    target: Millis,
    comfortable: u32,
    ramp_cadence: Option<Millis>,
}

impl Pacing {
    /// Starts at the base budget and a cadence of 1 s.
    pub fn new(base: u64, target: Millis, integral_clamp: bool) -> Pacing {
        Pacing {
            pid: Pid::new(integral_clamp),
            base,
            borrowed: 0,
            effective: base,
            cadence: Millis(tuning::CADENCE_START),
            target,
            comfortable: 0,
            ramp_cadence: None,
        }
    }

    /// A pass without root enumeration ended; `heap_walk` is its heap-walk-call time.
    pub fn ordinary_pass(&mut self, heap_walk: Micros) {
        let ms = heap_walk.as_millis_f64();
        if ms <= self.target.as_f64() * tuning::COMFORT {
            self.comfortable = self.comfortable.saturating_add(1);
            if self.comfortable >= tuning::BORROW_AFTER {
                let most = self.base.saturating_mul(tuning::BORROW_CEILING - 1);
                let step = (self.base / tuning::BORROW_STEP_DIVISOR).max(1);
                self.borrowed = self.borrowed.saturating_add(step).min(most);
            }
        } else {
            self.revoke();
        }
        self.steer(self.target.as_f64() - ms);
    }

    /// A root pass ended: it never feeds the controller, and can revoke borrowed headroom.
    pub fn root_pass(&mut self, heap_walk: Micros) {
        if heap_walk.as_millis_f64() > self.target.as_f64() * tuning::COMFORT {
            self.revoke();
            self.effective = self.effective.clamp(self.floor(), self.ceiling());
        }
    }

    /// Takes the ramp's or the configured base budget and target; the controller keeps its state.
    pub fn set_goal(&mut self, base: u64, target: Millis) {
        if base != self.base {
            self.base = base.max(1);
            self.borrowed = self
                .borrowed
                .min(self.base.saturating_mul(tuning::BORROW_CEILING - 1));
            self.effective = self.effective.clamp(self.floor(), self.ceiling());
        }
        self.target = target;
    }

    /// While the ramp is active it owns the cadence; leaving it restores 1 s.
    pub fn set_ramp_cadence(&mut self, cadence: Option<Millis>) {
        if cadence.is_none() && self.ramp_cadence.is_some() {
            self.cadence = Millis(tuning::CADENCE_START);
            self.effective = self.base.clamp(self.floor(), self.ceiling());
        }
        self.ramp_cadence = cadence;
    }

    /// Edges that the next pass may admit.
    pub fn edge_budget(&self) -> u64 {
        self.effective
    }

    /// Base plus borrowed.
    pub fn ceiling(&self) -> u64 {
        self.base.saturating_add(self.borrowed)
    }

    /// The borrowed part.
    pub fn borrowed(&self) -> u64 {
        self.borrowed
    }

    /// The cadence in effect while a search runs.
    pub fn cadence(&self) -> Millis {
        self.ramp_cadence.unwrap_or(self.cadence)
    }

    /// The target in effect.
    pub fn target(&self) -> Millis {
        self.target
    }

    fn floor(&self) -> u64 {
        tuning::EDGES_MIN.min(self.ceiling())
    }

    fn revoke(&mut self) {
        self.comfortable = 0;
        self.borrowed = 0;
    }

    fn steer(&mut self, error_ms: f64) {
        #[allow(clippy::cast_possible_truncation, reason = "float casts saturate")]
        let signal = self.pid.update(error_ms).round() as i64;
        let (floor, ceiling) = (self.floor(), self.ceiling());
        let wanted = i128::from(self.effective) + i128::from(signal);
        let clamped = wanted.clamp(i128::from(floor), i128::from(ceiling));
        self.effective = u64::try_from(clamped).unwrap_or(floor);
        let overflow = wanted - clamped;
        if self.ramp_cadence.is_none() {
            let cadence = (i128::from(self.cadence.0) - overflow).clamp(
                i128::from(tuning::CADENCE_MIN),
                i128::from(tuning::CADENCE_MAX),
            );
            self.cadence = Millis(u64::try_from(cadence).unwrap_or(tuning::CADENCE_START));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pacing(base: u64) -> Pacing {
        Pacing::new(base, Millis(50), true)
    }

    #[test]
    fn effective_edge_budget_stays_between_floor_and_ceiling() {
        let mut p = pacing(10_000);
        for _ in 0..100 {
            p.ordinary_pass(Micros::from_millis(2_000));
            assert!((2_000..=p.ceiling()).contains(&p.edge_budget()));
        }
        assert_eq!(p.edge_budget(), 2_000);
        for _ in 0..200 {
            p.ordinary_pass(Micros(0));
            assert!((2_000..=p.ceiling()).contains(&p.edge_budget()));
        }
        assert_eq!(p.edge_budget(), 40_000);
    }

    #[test]
    fn the_floor_is_the_ceiling_when_the_ceiling_is_lower() {
        let mut p = pacing(500);
        p.ordinary_pass(Micros::from_millis(5_000));
        assert_eq!(p.edge_budget(), 500);
    }

    #[test]
    fn overflow_moves_cadence_by_one_ms_an_edge_within_bounds() {
        let mut p = pacing(10_000);
        // 10 x 10 + 10 (integral): 110 edges above the ceiling.
        p.ordinary_pass(Micros::from_millis(40));
        assert_eq!((p.edge_budget(), p.cadence()), (10_000, Millis(890)));
        for _ in 0..50 {
            p.ordinary_pass(Micros(0));
        }
        assert_eq!(p.cadence(), Millis(10));
        for _ in 0..50 {
            p.ordinary_pass(Micros::from_millis(4_000));
        }
        assert_eq!(p.cadence(), Millis(4_000));
    }

    #[test]
    fn the_fifth_comfortable_pass_borrows_a_quarter_of_the_base_up_to_four_bases() {
        let mut p = pacing(1_000);
        for _ in 0..4 {
            p.ordinary_pass(Micros::from_millis(25));
        }
        assert_eq!(p.borrowed(), 0);
        p.ordinary_pass(Micros::from_millis(25));
        assert_eq!(p.borrowed(), 250);
        p.ordinary_pass(Micros::from_millis(25));
        assert_eq!(p.borrowed(), 500);
        for _ in 0..50 {
            p.ordinary_pass(Micros(0));
        }
        assert_eq!(p.ceiling(), 4_000);
    }

    #[test]
    fn a_pass_outside_the_comfort_band_removes_the_whole_grant() {
        let mut p = pacing(10_000);
        for _ in 0..10 {
            p.ordinary_pass(Micros(0));
        }
        assert!(p.borrowed() > 0);
        p.ordinary_pass(Micros(25_001));
        assert_eq!(
            (p.borrowed(), p.ceiling(), p.edge_budget()),
            (0, 10_000, 10_000)
        );
        for _ in 0..4 {
            p.ordinary_pass(Micros(0));
        }
        assert_eq!(p.borrowed(), 0);
    }

    #[test]
    fn root_passes_never_feed_the_controller_and_can_revoke() {
        let mut p = pacing(10_000);
        let before = p;
        p.root_pass(Micros::from_millis(10));
        assert_eq!(p, before);
        for _ in 0..10 {
            p.ordinary_pass(Micros(0));
        }
        let pid = p.pid;
        p.root_pass(Micros::from_millis(400));
        assert_eq!((p.borrowed(), p.pid), (0, pid));
        assert!(p.edge_budget() <= p.ceiling());
    }

    #[test]
    fn the_ramp_owns_the_cadence_and_leaving_restores_one_second() {
        let mut p = pacing(10_000);
        p.set_goal(40_000, Millis(70));
        p.set_ramp_cadence(Some(Millis(123)));
        for _ in 0..20 {
            p.ordinary_pass(Micros(0));
        }
        assert_eq!((p.cadence(), p.target()), (Millis(123), Millis(70)));
        p.set_goal(10_000, Millis(50));
        p.set_ramp_cadence(None);
        assert_eq!((p.cadence(), p.edge_budget()), (Millis(1_000), 10_000));
        assert!(p.ceiling() <= 40_000);
    }

    #[test]
    fn a_changed_target_keeps_the_controllers_state() {
        let mut p = pacing(10_000);
        p.ordinary_pass(Micros::from_millis(40));
        let pid = p.pid;
        p.set_goal(10_000, Millis(99));
        assert_eq!(p.pid, pid);
    }

    #[test]
    fn a_root_pass_within_half_the_target_keeps_the_grant() {
        let mut p = pacing(10_000);
        for _ in 0..10 {
            p.ordinary_pass(Micros(0));
        }
        let granted = p.borrowed();
        p.root_pass(Micros::from_millis(25));
        assert_eq!(p.borrowed(), granted);
        p.root_pass(Micros(25_001));
        assert_eq!((p.borrowed(), p.edge_budget()), (0, 10_000));
    }

    #[test]
    fn without_a_ramp_nothing_restores_cadence_or_budget() {
        let mut p = pacing(10_000);
        for _ in 0..5 {
            p.ordinary_pass(Micros::from_millis(4_000));
        }
        let before = p;
        p.set_goal(10_000, Millis(50));
        p.set_ramp_cadence(None);
        assert_eq!(p, before);
        assert_eq!((p.cadence(), p.edge_budget()), (Millis(4_000), 2_000));
    }

    #[test]
    fn the_ramps_base_is_the_ceiling_from_then_on() {
        let mut p = pacing(10_000);
        p.set_goal(40_000, Millis(70));
        assert_eq!(p.ceiling(), 40_000);
        for _ in 0..150 {
            p.ordinary_pass(Micros(0));
        }
        assert_eq!((p.ceiling(), p.edge_budget()), (160_000, 160_000));
        p.set_goal(10_000, Millis(50));
        assert_eq!((p.ceiling(), p.edge_budget()), (40_000, 40_000));
    }
}
