//! Whether a series of sizes keeps rising: the heap floor's rule, for any memory.

/// Points that a judgement needs.
const MIN_POINTS: usize = 10;

/// What a series of sizes does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// It rises, also in its recent half.
    Rising,
    /// It rose, and its recent half does not.
    Settled,
    /// It does not rise.
    Flat,
    /// Too few points.
    Unknown,
}

/// The trend of `(seconds, bytes)` points in order of time.
pub fn of(points: &[(f64, f64)]) -> Trend {
    if points.len() < MIN_POINTS {
        return Trend::Unknown;
    }
    let recent = points.get(points.len() / 2..).unwrap_or(points);
    match (
        rises(points),
        recent.len() < MIN_POINTS / 2 || rises(recent),
    ) {
        (true, true) => Trend::Rising,
        (true, false) => Trend::Settled,
        (false, _) => Trend::Flat,
    }
}

/// The heap floor's rule: the fitted rise is at least 2 % and 1 MiB, and the least of the second
/// half is above the least of all by 1 % and 512 KiB. Source: search-control, section 3.
fn rises(points: &[(f64, f64)]) -> bool {
    const MIB: f64 = 1024.0 * 1024.0;
    let Some((start, end)) = fit(points) else {
        return false;
    };
    let least = |points: &[(f64, f64)]| points.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let all = least(points);
    let late = least(points.get(points.len() / 2..).unwrap_or(points));
    end - start >= (0.02 * start).max(MIB) && late - all >= (0.01 * all).max(MIB / 2.0)
}

/// Least squares: the fitted values at the first and the last point.
pub fn fit(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (first, last) = (points.first()?.0, points.last()?.0);
    #[allow(clippy::cast_precision_loss, reason = "at most a few thousand points")]
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let over: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let under: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    if under <= 0.0 {
        return None;
    }
    let slope = over / under;
    let at = |x: f64| mean_y + slope * (x - mean_x);
    Some((at(first), at(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(count: u32, size: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        (0..count)
            .map(|i| (f64::from(i), size(f64::from(i)) * 1024.0 * 1024.0))
            .collect()
    }

    #[test]
    fn a_steady_rise_is_a_rise() {
        assert_eq!(of(&series(40, |x| 50.0 + x)), Trend::Rising);
    }

    #[test]
    fn a_cache_that_filled_has_settled() {
        assert_eq!(of(&series(60, |x| 20.0 + x.min(20.0))), Trend::Settled);
    }

    #[test]
    fn a_sawtooth_on_a_level_is_flat() {
        assert_eq!(of(&series(40, |x| 50.0 + (x % 5.0))), Trend::Flat);
    }

    #[test]
    fn few_points_are_unknown_not_flat() {
        assert_eq!(of(&series(9, |x| 50.0 + 10.0 * x)), Trend::Unknown);
    }

    #[test]
    fn points_at_one_instant_fit_nothing() {
        assert_eq!(fit(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }
}
