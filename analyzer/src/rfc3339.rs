//! Moments as people and machines write them.

use std::fmt;

use jiff::Timestamp;

/// Shows nanoseconds since 1970 as RFC 3339 in UTC with nine digits, the form of every output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rfc3339(pub i64);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every i64 of nanoseconds lies within jiff's range of years.
        match Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(time) => write!(f, "{time:.9}"),
            Err(_) => write!(f, "{} ns", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nine_digits_are_shown() {
        assert_eq!(
            Rfc3339(1_700_000_000_000_000_001).to_string(),
            "2023-11-14T22:13:20.000000001Z"
        );
        assert_eq!(Rfc3339(0).to_string(), "1970-01-01T00:00:00.000000000Z");
    }

    #[test]
    fn the_ends_of_the_range_show() {
        assert!(Rfc3339(i64::MIN).to_string().starts_with("1677-"));
        assert!(Rfc3339(i64::MAX).to_string().starts_with("2262-"));
    }
}
