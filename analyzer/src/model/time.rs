//! Points in time and spans as the reports and the JSON carry them.

use std::fmt;

use serde::{Serialize, Serializer};

/// A point in time: nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpochNanos(i64);

impl EpochNanos {
    /// `nanos` since the Unix epoch.
    pub const fn new(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The span from `earlier` to this point; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Nanos {
        Nanos(u64::try_from(i128::from(self.0) - i128::from(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for EpochNanos {
    /// RFC 3339 in UTC with nine fractional digits, always the same length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(at) => write!(f, "{at:.9}"),
            Err(_) => write!(f, "{} ns", self.0),
        }
    }
}

impl Serialize for EpochNanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The span in hours.
    pub fn hours(self) -> f64 {
        self.seconds() / 3600.0
    }

    /// The span in seconds.
    #[allow(
        clippy::cast_precision_loss,
        reason = "a span for people; 2^53 ns is 104 days"
    )]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The sum, at most the largest span that fits.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_with_nanoseconds_also_when_whole() {
        assert_eq!(
            EpochNanos::new(0).to_string(),
            "1970-01-01T00:00:00.000000000Z"
        );
        assert_eq!(
            EpochNanos::new(1_700_000_000_000_000_001).to_string(),
            "2023-11-14T22:13:20.000000001Z"
        );
    }

    #[test]
    fn a_span_that_would_be_negative_is_zero() {
        assert_eq!(EpochNanos::new(5).since(EpochNanos::new(7)), Nanos(0));
        assert_eq!(
            EpochNanos::new(i64::MAX).since(EpochNanos::new(i64::MIN)),
            Nanos(u64::MAX)
        );
    }
}
