//! Heap floor, projection to exhaustion, ramp, admission boost and urgent latch.

use crate::ring::{self, Fit, Ring};
use crate::tick::{Bytes, Millis, Tick};
use crate::tuning;

/// Post-GC usage over time.
pub type Usage = Ring<(Tick, Bytes), { tuning::FLOOR_RING }>;

/// Whether the aggregate heap floor rises: it only changes the hysteresis, it never ranks.
///
/// `None` below 10 samples: unknown.
pub fn floor_rises(usage: &Usage) -> Option<bool> {
    if usage.len() < tuning::FLOOR_FILL {
        return None;
    }
    let values = usage.iter().map(|(_, b)| b.as_f64());
    let fit = ring::fit_indexed(values.clone())?;
    #[allow(clippy::cast_precision_loss, reason = "1 MiB")]
    let rises = fit.rises_by(tuning::FLOOR_RISE_SHARE, tuning::FLOOR_RISE_MIN as f64);
    let half = usage.len() / 2;
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let least_late = values.skip(half).fold(f64::INFINITY, f64::min);
    #[allow(clippy::cast_precision_loss, reason = "512 KiB")]
    let bar = (tuning::FLOOR_MIN_SHARE * least).max(tuning::FLOOR_MIN_RISE as f64);
    Some(rises && least_late - least >= bar)
}

/// Seconds until `usage` reaches `max`; `None` = no usable projection, which proves nothing.
///
/// Needs 10 samples, and a rising regression over the full window and over its recent half.
pub fn seconds_to(usage: &Usage, max: Bytes) -> Option<f64> {
    if usage.len() < tuning::FLOOR_FILL {
        return None;
    }
    let used = usage.last()?.1;
    let full = rise(usage, 0)?;
    let half = (usage.len() / 2).max(tuning::RECENT_HALF_MIN);
    rise(usage, usage.len().saturating_sub(half))?;
    let remaining = max.as_f64() - used.as_f64();
    Some((remaining / full.slope).max(0.0))
}

/// The fit in bytes per second from sample `skip` on, when it rises.
fn rise(usage: &Usage, skip: usize) -> Option<Fit> {
    let origin = usage.first()?.0;
    let seconds = |t: Tick| t.since(origin).as_f64() / 1000.0;
    let fit = ring::fit(
        usage
            .iter()
            .skip(skip)
            .map(|(t, b)| (seconds(t), b.as_f64())),
    )?;
    (fit.slope > 0.0).then_some(fit)
}

/// The shorter of two projections, skipping unusable ones.
pub fn shorter(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}

/// What the ramp asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// Pause target.
    pub target: Millis,
    /// Base edge budget.
    pub base: u64,
    /// Cadence of a running search.
    pub cadence: Millis,
}

/// The ramp at a raw projection of `seconds`; `None` when it is not active (no projection, or
/// 1,800 s and more). It follows the raw projection, not the latch.
pub fn ramp(seconds: Option<f64>, target: Millis, base: u64) -> Option<Ramp> {
    let seconds = seconds.filter(|s| *s < tuning::RAMP_SECONDS)?;
    let x = (1.0 - seconds / tuning::RAMP_SECONDS).clamp(0.0, 1.0);
    let t = target.as_f64().max(1.0);
    let moved = t * (tuning::RAMP_TARGET / t).powf(x);
    let cadence = Millis(tuning::CADENCE_START).as_f64() * tuning::RAMP_CADENCE_BASE.powf(x);
    Some(Ramp {
        // A target above 100 ms is never lowered.
        target: Millis::from_f64(moved.max(t)),
        base: base
            .saturating_mul(tuning::RAMP_EDGES_FACTOR)
            .min(tuning::RAMP_EDGES_MAX)
            .max(base),
        cadence: Millis::from_f64(cadence.max(Millis(tuning::CADENCE_MIN).as_f64())),
    })
}

/// The urgent latch: set below 300 s, cleared by 5 calm checks in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Latch {
    set: bool,
    calm: u32,
}

impl Latch {
    /// One check, once per loop, even while gates block.
    pub fn check(&mut self, seconds: Option<f64>) {
        match seconds {
            Some(s) if s < tuning::URGENT_SECONDS => *self = Latch { set: true, calm: 0 },
            Some(s) if s < tuning::CALM_SECONDS => self.calm = 0,
            _ if self.set => {
                self.calm += 1;
                if self.calm >= tuning::CALM_CHECKS {
                    *self = Latch::default();
                }
            }
            _ => {}
        }
    }

    /// Whether it is set.
    pub fn is_set(self) -> bool {
        self.set
    }
}

/// The global admission boost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Boost {
    on: bool,
    high_water: Option<Bytes>,
}

impl Boost {
    /// Follows the raw projection. `new_floor` is a heap-floor sample taken since the last call.
    ///
    /// Between 5 and 30 minutes it engages only when a new sample exceeds the episode's high-water
    /// mark, and holds that decision until the next sample; below 5 minutes it needs no evidence.
    pub fn check(
        &mut self,
        seconds: Option<f64>,
        new_floor: Option<Bytes>,
        last_floor: Option<Bytes>,
    ) {
        let Some(seconds) = seconds.filter(|s| *s < tuning::RAMP_SECONDS) else {
            *self = Boost::default();
            return;
        };
        let mark = match self.high_water {
            Some(mark) => mark,
            None => {
                // The episode begins: its first sample is the mark, and no evidence of more.
                let mark = last_floor.or(new_floor).unwrap_or_default();
                *self = Boost {
                    on: seconds < tuning::URGENT_SECONDS,
                    high_water: Some(mark),
                };
                return;
            }
        };
        let evidence = new_floor.map(|f| f > mark);
        self.high_water = Some(new_floor.map_or(mark, |f| f.max(mark)));
        if seconds < tuning::URGENT_SECONDS {
            self.on = true;
        } else if let Some(exceeds) = evidence {
            self.on = exceeds;
        }
    }

    /// Whether every sample bypasses the live ratio.
    pub fn is_on(self) -> bool {
        self.on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(values: impl IntoIterator<Item = f64>) -> Usage {
        let mut u = Usage::default();
        for (i, mib) in values.into_iter().enumerate() {
            u.push((
                Tick(i as u64 * 10_000),
                Bytes(Millis::from_f64(mib * 1_048_576.0).0),
            ));
        }
        u
    }

    #[test]
    fn floor_is_unknown_below_ten_samples() {
        assert_eq!(
            floor_rises(&usage((0..9).map(|i| 100.0 + f64::from(i)))),
            None
        );
        assert_eq!(
            floor_rises(&usage((0..10).map(|i| 100.0 + f64::from(i)))),
            Some(true)
        );
    }

    #[test]
    fn floor_rises_only_when_line_and_minima_rise() {
        assert_eq!(
            floor_rises(&usage((0..20).map(|i| 100.0 + 0.05 * f64::from(i)))),
            Some(false)
        );
        // A line that rises while the floor falls back to where it was.
        let saw = (0..20).map(|i| {
            if i == 18 {
                100.0
            } else {
                100.0 + 5.0 * f64::from(i)
            }
        });
        assert_eq!(floor_rises(&usage(saw)), Some(false));
        assert_eq!(
            floor_rises(&usage((0..20).map(|i| 100.0 - f64::from(i)))),
            Some(false)
        );
        // 2 % of 1000 MiB is the bar, not 1 MiB.
        assert_eq!(
            floor_rises(&usage((0..20).map(|i| 1000.0 + 0.9 * f64::from(i)))),
            Some(false)
        );
        assert_eq!(
            floor_rises(&usage((0..20).map(|i| 1000.0 + 1.3 * f64::from(i)))),
            Some(true)
        );
    }

    #[test]
    fn projection_is_remaining_over_slope() {
        let u = usage((0..10).map(|i| 100.0 + f64::from(i)));
        let s = seconds_to(&u, Bytes::mib(209)).unwrap();
        assert!((s - 1000.0).abs() < 0.01, "{s}");
        assert_eq!(seconds_to(&u, Bytes::mib(109)), Some(0.0));
        assert_eq!(seconds_to(&u, Bytes::mib(50)), Some(0.0));
    }

    #[test]
    fn projection_needs_ten_samples_and_both_regressions_rising() {
        assert_eq!(
            seconds_to(&usage((0..9).map(f64::from)), Bytes::mib(100)),
            None
        );
        let falls_lately = (0..20).map(|i| {
            if i < 10 {
                f64::from(i) * 10.0
            } else {
                150.0 - f64::from(i)
            }
        });
        assert_eq!(seconds_to(&usage(falls_lately), Bytes::mib(500)), None);
        let rises_lately = (0..20).map(|i| {
            if i < 14 {
                200.0 - f64::from(i) * 10.0
            } else {
                60.0 + f64::from(i)
            }
        });
        assert_eq!(seconds_to(&usage(rises_lately), Bytes::mib(500)), None);
    }

    #[test]
    fn the_shorter_valid_projection_wins() {
        assert_eq!(shorter(Some(5.0), Some(3.0)), Some(3.0));
        assert_eq!(shorter(Some(5.0), None), Some(5.0));
        assert_eq!(shorter(None, Some(3.0)), Some(3.0));
        assert_eq!(shorter(None, None), None);
    }

    #[test]
    fn ramp_starts_below_thirty_minutes() {
        assert_eq!(ramp(Some(1800.0), Millis(50), 1000), None);
        assert_eq!(ramp(None, Millis(50), 1000), None);
        let r = ramp(Some(1799.9), Millis(50), 1000).unwrap();
        assert_eq!(
            (r.target, r.base, r.cadence),
            (Millis(50), 4000, Millis(1000))
        );
    }

    #[test]
    fn ramp_moves_target_exponentially_to_100_ms_and_cadence_to_10_ms() {
        let mid = ramp(Some(900.0), Millis(50), 1000).unwrap();
        assert_eq!((mid.target, mid.cadence), (Millis(71), Millis(100)));
        let end = ramp(Some(0.0), Millis(50), 1000).unwrap();
        assert_eq!((end.target, end.cadence), (Millis(100), Millis(10)));
    }

    #[test]
    fn ramp_never_lowers_a_target_above_100_ms() {
        assert_eq!(
            ramp(Some(0.0), Millis(400), 1000).unwrap().target,
            Millis(400)
        );
        assert_eq!(
            ramp(Some(900.0), Millis(0), 1000).unwrap().target,
            Millis(10)
        );
    }

    #[test]
    fn ramp_budget_is_four_bases_at_most_a_million() {
        assert_eq!(
            ramp(Some(10.0), Millis(50), 300_000).unwrap().base,
            1_000_000
        );
        assert_eq!(
            ramp(Some(10.0), Millis(50), 5_000_000).unwrap().base,
            5_000_000
        );
    }

    #[test]
    fn latch_sets_below_five_minutes_and_clears_after_five_calm_checks() {
        let mut l = Latch::default();
        l.check(Some(300.0));
        assert!(!l.is_set());
        l.check(Some(299.9));
        assert!(l.is_set());
        for _ in 0..4 {
            l.check(None);
        }
        assert!(l.is_set());
        l.check(Some(600.0));
        assert!(!l.is_set());
    }

    #[test]
    fn values_between_five_and_ten_minutes_reset_the_calm_count() {
        let mut l = Latch::default();
        l.check(Some(10.0));
        for _ in 0..4 {
            l.check(Some(700.0));
        }
        l.check(Some(599.9));
        for _ in 0..4 {
            l.check(Some(700.0));
            assert!(l.is_set());
        }
        l.check(None);
        assert!(!l.is_set());
    }

    #[test]
    fn boost_between_five_and_thirty_minutes_needs_a_new_high_water_mark() {
        let mut b = Boost::default();
        b.check(Some(1000.0), None, Some(Bytes(100)));
        assert!(!b.is_on());
        b.check(Some(1000.0), Some(Bytes(100)), None);
        assert!(!b.is_on());
        b.check(Some(1000.0), Some(Bytes(101)), None);
        assert!(b.is_on());
        b.check(Some(1000.0), None, None);
        assert!(b.is_on(), "the decision holds until the next sample");
        b.check(Some(1000.0), Some(Bytes(101)), None);
        assert!(!b.is_on());
        b.check(Some(1000.0), Some(Bytes(90)), None);
        b.check(Some(1000.0), Some(Bytes(95)), None);
        assert!(!b.is_on(), "the mark does not fall");
    }

    #[test]
    fn boost_below_five_minutes_needs_no_evidence() {
        let mut b = Boost::default();
        b.check(Some(299.0), None, None);
        assert!(b.is_on());
        let mut b = Boost::default();
        b.check(Some(400.0), None, Some(Bytes(9)));
        b.check(Some(200.0), None, None);
        assert!(b.is_on());
        b.check(Some(1800.0), None, None);
        assert!(!b.is_on());
    }

    #[test]
    fn a_new_episode_has_a_new_mark() {
        let mut b = Boost::default();
        b.check(Some(1000.0), None, Some(Bytes(500)));
        b.check(None, None, None);
        b.check(Some(1000.0), None, Some(Bytes(100)));
        b.check(Some(1000.0), Some(Bytes(101)), None);
        assert!(b.is_on());
    }

    #[test]
    fn a_level_line_gives_no_projection() {
        assert_eq!(seconds_to(&usage([100.0; 20]), Bytes::mib(500)), None);
        let level_lately = (0..20).map(|i| 100.0 + f64::from(i.min(9)));
        assert_eq!(seconds_to(&usage(level_lately), Bytes::mib(500)), None);
    }

    #[test]
    fn at_five_minutes_sharp_the_boost_still_needs_evidence() {
        let mut b = Boost::default();
        b.check(Some(300.0), None, Some(Bytes(100)));
        assert!(!b.is_on());
        b.check(Some(300.0), Some(Bytes(100)), None);
        assert!(!b.is_on());
        b.check(Some(299.9), None, None);
        assert!(b.is_on());
    }

    #[test]
    fn minima_must_rise_by_one_percent_of_the_least() {
        // The line rises by 2.4 %, the later minimum by 5 MiB or 15 MiB of 1,000.
        let dips_to = |low: f64| {
            usage((0..20).map(move |i| {
                let line = 1000.0 + 1.6 * f64::from(i);
                if i == 15 { low } else { line }
            }))
        };
        assert_eq!(floor_rises(&dips_to(1005.0)), Some(false));
        assert_eq!(floor_rises(&dips_to(1012.0)), Some(true));
    }

    #[test]
    fn the_recent_half_is_half_of_the_samples_not_five() {
        let dips = (0..20).map(|i| match i {
            0..10 => 10.0 * f64::from(i),
            10..15 => 200.0 - 20.0 * f64::from(i - 10),
            _ => 110.0 + f64::from(i),
        });
        assert_eq!(seconds_to(&usage(dips), Bytes::mib(500)), None);
    }
}
