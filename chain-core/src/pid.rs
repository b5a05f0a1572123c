//! The PID controller behind the edge budget.

use crate::tuning;

/// Error = target - pass duration, in ms; the signal is in edges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Pid {
    integral: f64,
    derivative: f64,
    last_error: Option<f64>,
    clamp: bool,
}

impl Pid {
    /// A controller at rest. `clamp` bounds the integral; the reference does not, and winds up.
    pub fn new(clamp: bool) -> Pid {
        Pid {
            clamp,
            ..Pid::default()
        }
    }

    /// Takes the error of one pass and gives the correction in edges.
    pub fn update(&mut self, error_ms: f64) -> f64 {
        let error = if error_ms.is_finite() { error_ms } else { 0.0 };
        self.integral += error;
        if self.clamp {
            self.integral = self
                .integral
                .clamp(-tuning::PID_INTEGRAL_MAX, tuning::PID_INTEGRAL_MAX);
        }
        let raw = error - self.last_error.unwrap_or(error);
        self.derivative = tuning::PID_ALPHA * raw + (1.0 - tuning::PID_ALPHA) * self.derivative;
        self.last_error = Some(error);
        tuning::PID_KP * error + tuning::PID_KI * self.integral + tuning::PID_KD * self.derivative
    }

    /// The accumulated error, ms.
    pub fn integral(&self) -> f64 {
        self.integral
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_ten_one_two_with_a_low_pass_derivative() {
        let mut p = Pid::new(true);
        assert!((p.update(5.0) - 55.0).abs() < 1e-9);
        let second = p.update(9.0);
        assert!(
            (second - (90.0 + 14.0 + 2.0 * 0.673 * 4.0)).abs() < 1e-9,
            "{second}"
        );
        let third = p.update(9.0);
        assert!(
            (third - (90.0 + 23.0 + 2.0 * 0.327 * 0.673 * 4.0)).abs() < 1e-9,
            "{third}"
        );
    }

    #[test]
    fn the_integral_is_clamped_so_that_one_bad_pass_still_counts() {
        let run = |clamp| {
            let mut p = Pid::new(clamp);
            for _ in 0..36_000 {
                p.update(50.0);
            }
            p.update(-200.0)
        };
        assert!(run(true) < 0.0);
        assert!(run(false) > 1_000_000.0);
        let mut p = Pid::new(true);
        for _ in 0..1000 {
            p.update(-50.0);
        }
        assert!((p.integral() + tuning::PID_INTEGRAL_MAX).abs() < 1e-9);
    }

    #[test]
    fn a_nonsense_error_changes_nothing_for_good() {
        let mut p = Pid::new(true);
        p.update(f64::NAN);
        p.update(f64::INFINITY);
        assert!(p.update(1.0).is_finite());
    }
}
