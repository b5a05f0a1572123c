//! The middle of a few noisy ratios, and how sure it is.

use serde_json::{Value, json};

/// Median of ratios, and the interval that has the true median in it 19 times of 20.
#[derive(Debug, PartialEq)]
pub struct Share {
    median: f64,
    /// `None` for fewer than six ratios, which no such interval can be told from.
    interval: Option<(f64, f64)>,
}

impl Share {
    /// `None` without ratios.
    ///
    /// How many of `n` ratios are below the true median is a matter of `n` fair coins, whatever the noise looks like:
    /// the interval goes from the k-th smallest to the k-th largest, with the largest k that leaves out at most 5 %.
    pub fn of(mut ratios: Vec<f64>) -> Option<Self> {
        ratios.sort_by(f64::total_cmp);
        let outside = outside(ratios.len());
        let interval = outside.and_then(|outside| {
            let last = ratios.len().checked_sub(1 + outside)?;
            Some((*ratios.get(outside)?, *ratios.get(last)?))
        });
        Some(Self {
            median: median(ratios)?,
            interval,
        })
    }

    /// For the record.
    pub fn json(&self) -> Value {
        json!({
            "median": round(self.median),
            "from": self.interval.map(|(from, _)| round(from)),
            "to": self.interval.map(|(_, to)| round(to)),
        })
    }
}

/// The middle one, or the mean of the two in the middle. `None` without numbers.
pub fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    let upper = *numbers.get(half)?;
    let lower = *numbers.get(half.saturating_sub(1 - numbers.len() % 2))?;
    Some(f64::midpoint(lower, upper))
}

/// How many of `n` sorted numbers the interval leaves out at each end. `None` when all are too few.
fn outside(n: usize) -> Option<usize> {
    let coins = i32::try_from(n).ok()?;
    let mut exactly = 0.5_f64.powi(coins);
    let mut at_most = 0.0;
    let mut outside = None;
    for k in 0..n {
        at_most += exactly;
        if 2.0 * at_most > 0.05 {
            break;
        }
        outside = Some(k);
        exactly *= count(n - k) / count(k + 1);
    }
    outside
}

fn count(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::INFINITY, f64::from)
}

fn round(share: f64) -> f64 {
    (share * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        // From the tables of the binomial distribution with one half.
        assert_eq!(
            [5, 6, 8, 9, 12, 20].map(outside),
            [None, Some(0), Some(0), Some(1), Some(2), Some(5)]
        );
        let share = Share::of((1..=12).rev().map(f64::from).collect());
        let expected = Share {
            median: 6.5,
            interval: Some((3.0, 10.0)),
        };
        assert_eq!(share, Some(expected));
    }

    #[test]
    fn few_ratios_have_a_median_and_no_interval() {
        assert_eq!(Share::of(Vec::new()), None);
        let of =
            |ratios: &[f64]| Share::of(ratios.to_vec()).map(|share| (share.median, share.interval));
        assert_eq!(of(&[2.0]), Some((2.0, None)));
        assert_eq!(of(&[3.0, 1.0]), Some((2.0, None)));
    }
}
