//! Candidate backoff: passes that bring no candidate closer are spaced out.

use crate::tick::Millis;
use crate::tuning;

/// Multiplier and the smoothed duration of candidate passes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Backoff {
    multiplier: u32,
    ema: Option<f64>,
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            multiplier: 1,
            ema: None,
        }
    }
}

impl Backoff {
    /// A pass with unresolved candidates ended. `duration_ms` feeds the EMA unless the pass
    /// enumerated roots.
    pub fn pass(&mut self, duration_ms: f64, with_roots: bool, progress: bool) {
        if !with_roots {
            let old = tuning::BACKOFF_EMA_OLD;
            self.ema = Some(
                self.ema
                    .map_or(duration_ms, |e| old * e + (1.0 - old) * duration_ms),
            );
        }
        if progress {
            self.reset();
        } else {
            self.multiplier = (self.multiplier * 2).min(tuning::BACKOFF_CAP);
        }
    }

    /// A new or resolved candidate: the multiplier is 1 again.
    pub fn reset(&mut self) {
        self.multiplier = 1;
    }

    /// Spacing added to that since the previous pass ended; zero at multiplier 1.
    pub fn spacing(&self) -> Millis {
        if self.multiplier <= 1 {
            return Millis(0);
        }
        Millis::from_f64(f64::from(self.multiplier) * self.ema_ms())
    }

    /// The multiplier, 1..=16.
    pub fn multiplier(&self) -> u32 {
        self.multiplier
    }

    /// The EMA in ms; 0 before the first pass.
    pub fn ema_ms(&self) -> f64 {
        self.ema.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_without_progress_doubles_up_to_sixteen() {
        let mut b = Backoff::default();
        assert_eq!(b.spacing(), Millis(0));
        let mut seen = Vec::new();
        for _ in 0..6 {
            b.pass(10.0, false, false);
            seen.push((b.multiplier(), b.spacing().0));
        }
        assert_eq!(
            seen,
            [(2, 20), (4, 40), (8, 80), (16, 160), (16, 160), (16, 160)]
        );
    }

    #[test]
    fn progress_or_a_new_candidate_resets_to_one() {
        let mut b = Backoff::default();
        b.pass(10.0, false, false);
        b.pass(10.0, false, true);
        assert_eq!((b.multiplier(), b.spacing()), (1, Millis(0)));
        b.pass(10.0, false, false);
        b.reset();
        assert_eq!(b.multiplier(), 1);
    }

    #[test]
    fn the_ema_is_four_fifths_old_and_one_fifth_new() {
        let mut b = Backoff::default();
        b.pass(100.0, false, false);
        b.pass(50.0, false, false);
        assert!((b.ema_ms() - 90.0).abs() < 1e-9);
    }

    #[test]
    fn passes_with_root_enumeration_do_not_feed_the_ema() {
        let mut b = Backoff::default();
        b.pass(5_000.0, true, false);
        assert_eq!((b.multiplier(), b.spacing()), (2, Millis(0)));
        b.pass(10.0, false, false);
        assert!((b.ema_ms() - 10.0).abs() < 1e-9);
    }
}
