//! A fixed ring of the newest `N` values, and the straight line through them.

use std::collections::VecDeque;

/// The newest `N` values, oldest first.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Ring<T, const N: usize> {
    values: VecDeque<T>,
}

impl<T: Copy, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Ring {
            values: VecDeque::with_capacity(N),
        }
    }
}

impl<T: Copy, const N: usize> Ring<T, N> {
    /// Adds the newest value; the oldest goes when the ring is full.
    pub fn push(&mut self, value: T) {
        if self.values.len() >= N {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    /// Values held.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no value is held.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + Clone + '_ {
        self.values.iter().copied()
    }

    /// The newest value.
    pub fn last(&self) -> Option<T> {
        self.values.back().copied()
    }

    /// The oldest value.
    pub fn first(&self) -> Option<T> {
        self.values.front().copied()
    }

    /// Forgets every value.
    pub fn clear(&mut self) {
        self.values.clear();
    }
}

/// A least-squares line over points, evaluated at the first and the last x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Fitted value at the first x.
    pub start: f64,
    /// Fitted value at the last x.
    pub end: f64,
    /// Change of y per unit of x.
    pub slope: f64,
}

impl Fit {
    /// Fitted end minus fitted start.
    pub fn rise(self) -> f64 {
        self.end - self.start
    }

    /// Whether the rise is at least `share` of the fitted start and at least `min`.
    pub fn rises_by(self, share: f64, min: f64) -> bool {
        self.rise() >= (share * self.start).max(min)
    }
}

/// Fits a line through `points`; `None` for fewer than two points or one x only.
pub fn fit(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Fit> {
    let (mut n, mut sx, mut sy) = (0.0, 0.0, 0.0);
    for (x, y) in points.clone() {
        n += 1.0;
        sx += x;
        sy += y;
    }
    if n < 2.0 {
        return None;
    }
    let (mx, my) = (sx / n, sy / n);
    let (mut sxx, mut sxy) = (0.0, 0.0);
    let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
    for (x, y) in points {
        let (dx, dy) = (x - mx, y - my);
        sxx += dx * dx;
        sxy += dx * dy;
        first = first.min(x);
        last = last.max(x);
    }
    if sxx <= 0.0 || !sxx.is_finite() {
        return None;
    }
    let slope = sxy / sxx;
    Some(Fit {
        start: my + slope * (first - mx),
        end: my + slope * (last - mx),
        slope,
    })
}

/// Fits a line over x = 0, 1, 2, ...
pub fn fit_indexed(values: impl Iterator<Item = f64> + Clone) -> Option<Fit> {
    fit(values.scan(-1.0, |x, y| {
        *x += 1.0;
        Some((*x, y))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_forgets_the_oldest() {
        let mut r: Ring<u32, 3> = Ring::default();
        (1..=5).for_each(|v| r.push(v));
        assert_eq!(r.iter().collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!((r.first(), r.last(), r.len()), (Some(3), Some(5), 3));
    }

    #[test]
    fn a_line_is_fitted_exactly() {
        let f = fit_indexed([3.0, 5.0, 7.0, 9.0].into_iter()).unwrap();
        assert!((f.start - 3.0).abs() < 1e-12 && (f.end - 9.0).abs() < 1e-12);
        assert!((f.slope - 2.0).abs() < 1e-12 && (f.rise() - 6.0).abs() < 1e-12);
    }

    #[test]
    fn the_fit_is_least_squares_not_the_ends() {
        let f = fit_indexed([0.0, 3.0, 0.0, 3.0].into_iter()).unwrap();
        assert!((f.slope - 0.6).abs() < 1e-12);
        assert!((f.start - 0.6).abs() < 1e-12);
    }

    #[test]
    fn unknown_below_two_points_or_at_one_x() {
        assert_eq!(fit_indexed([1.0].into_iter()), None);
        assert_eq!(fit([(2.0, 1.0), (2.0, 5.0)].into_iter()), None);
    }

    #[test]
    fn a_rise_must_reach_both_share_and_minimum() {
        let f = |start: f64, end: f64| Fit {
            start,
            end,
            slope: 0.0,
        };
        assert!(f(100.0, 115.0).rises_by(0.15, 1.0));
        assert!(!f(100.0, 114.9).rises_by(0.15, 1.0));
        assert!(f(0.0, 1.0).rises_by(0.15, 1.0));
        assert!(!f(0.0, 0.99).rises_by(0.15, 1.0));
        assert!(!f(-5.0, -5.0).rises_by(0.15, 1.0));
    }

    #[test]
    fn a_cleared_ring_holds_nothing_and_fills_again() {
        let mut r: Ring<u32, 3> = Ring::default();
        (1..=5).for_each(|v| r.push(v));
        assert!(!r.is_empty());
        r.clear();
        assert!(r.is_empty() && r.last().is_none() && r.first().is_none());
        r.push(7);
        assert_eq!(r.iter().collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn the_ends_are_those_of_x_whatever_the_order_of_the_points() {
        let f = fit([(30.0, 7.0), (10.0, 3.0), (20.0, 5.0)].into_iter()).unwrap();
        assert!((f.start - 3.0).abs() < 1e-12 && (f.end - 7.0).abs() < 1e-12);
        assert!((f.slope - 0.2).abs() < 1e-12);
        assert_eq!(fit([(f64::MAX, 1.0), (-f64::MAX, 2.0)].into_iter()), None);
    }
}
