//! Time, sizes and epochs as types: the core is handed instants, it never reads a clock.

use std::fmt;

/// An instant in milliseconds since an origin the caller chose (the agent: its own start).
///
/// It may go backwards (a suspended machine, a bad clock); nothing here panics on that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Tick(pub u64);

/// A duration in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Millis(pub u64);

/// A duration in microseconds; what passes report, since a root pass may take 0.2 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Micros(pub u64);

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Bytes(pub u64);

/// A normalised GC cycle count (search-control, section 1): not a callback count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub struct Epoch(pub u64);

impl Tick {
    /// Elapsed time since `earlier`; zero when the clock went backwards.
    pub fn since(self, earlier: Tick) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }

    /// The instant `d` later, saturating.
    pub fn after(self, d: Millis) -> Tick {
        Tick(self.0.saturating_add(d.0))
    }

    /// The instant `d` earlier, or the origin.
    pub fn before(self, d: Millis) -> Tick {
        Tick(self.0.saturating_sub(d.0))
    }
}

impl Millis {
    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Millis {
        Millis(s.saturating_mul(1000))
    }

    /// As a float, for the controllers.
    #[allow(
        clippy::cast_precision_loss,
        reason = "durations stay far below 2^53 ms"
    )]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// The nearest whole number of milliseconds of a finite, non-negative float; 0 below.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float casts saturate, NaN gives 0"
    )]
    pub fn from_f64(ms: f64) -> Millis {
        Millis(ms.round() as u64)
    }
}

impl Micros {
    /// From milliseconds.
    pub const fn from_millis(ms: u64) -> Micros {
        Micros(ms.saturating_mul(1000))
    }

    /// As milliseconds with fraction, for the controllers and budgets.
    #[allow(
        clippy::cast_precision_loss,
        reason = "durations stay far below 2^53 us"
    )]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// Whole milliseconds, rounded up: a wait that must not end early.
    pub const fn ceil_millis(self) -> Millis {
        Millis(self.0.div_ceil(1000))
    }

    /// The difference, or zero.
    pub const fn saturating_sub(self, other: Micros) -> Micros {
        Micros(self.0.saturating_sub(other.0))
    }

    /// The sum, saturating.
    pub const fn saturating_add(self, other: Micros) -> Micros {
        Micros(self.0.saturating_add(other.0))
    }
}

impl Bytes {
    /// `n` KiB.
    pub const fn kib(n: u64) -> Bytes {
        Bytes(n.saturating_mul(1024))
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Bytes {
        Bytes(n.saturating_mul(1024 * 1024))
    }

    /// As a float, for regressions.
    #[allow(
        clippy::cast_precision_loss,
        reason = "sizes stay far below 2^53 bytes"
    )]
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
}

impl Epoch {
    /// Cycles between `earlier` and this; zero when counts were reset.
    pub fn since(self, earlier: Epoch) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0 % 1000;
        let s = self.0 / 1000;
        write!(
            f,
            "{:02}:{:02}:{:02}.{ms:03}",
            s / 3600,
            s / 60 % 60,
            s % 60
        )
    }
}
