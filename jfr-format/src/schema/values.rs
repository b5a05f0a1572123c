//! Numbers with their unit in the type, and text that recurs.

use std::borrow::Cow;

/// A length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub i64);

impl Nanos {
    /// From milliseconds; saturates.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// From seconds, rounded to ns; saturates, and a NaN counts as 0.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "float to int casts saturate"
    )]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as i64)
    }
}

/// An amount of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub i64);

impl From<u64> for Bytes {
    /// Saturates at the largest amount that a recording can hold.
    fn from(bytes: u64) -> Self {
        Self(i64::try_from(bytes).unwrap_or(i64::MAX))
    }
}

/// A point in time, ms since 1970-01-01T00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpochMillis(pub i64);

/// A share, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(pub f32);

/// Text that recurs in a recording, such as the name of a class or of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub Cow<'static, str>);

impl Name {
    /// A name that the program itself gives.
    #[must_use]
    pub const fn of(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl std::ops::Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self(Cow::Owned(text.to_owned()))
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self)
    }
}
