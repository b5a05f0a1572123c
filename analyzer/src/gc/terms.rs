//! Units and names: time, collectors, kinds of collections.

use std::fmt;

use crate::report::units::span;

/// Bytes in one KiB.
pub const KIB: u64 = 1024;
/// Bytes in one MiB.
pub const MIB: u64 = 1024 * KIB;

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// From milliseconds with a fraction; negative and non-finite input gives zero.
    pub fn from_millis(ms: f64) -> Self {
        Self::from_float(ms * 1e6)
    }

    /// From seconds with a fraction; negative and non-finite input gives zero.
    pub fn from_secs(secs: f64) -> Self {
        Self::from_float(secs * 1e9)
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded and clamped: floats saturate on conversion"
    )]
    fn from_float(ns: f64) -> Self {
        Self(ns.round().max(0.0) as u64)
    }

    /// In milliseconds.
    pub fn millis(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// In seconds.
    pub fn secs(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0 ms"),
            ns => f.write_str(&span(crate::model::Nanos(ns))),
        }
    }
}

/// The collector that did a collection, by the name people choose it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Collector {
    /// `UseSerialGC`: DefNew and Tenured.
    Serial,
    /// `UseConcMarkSweepGC`: ParNew and CMS.
    ParNew,
    /// `UseParallelGC`: PSYoungGen and ParOldGen.
    Parallel,
    /// `UseG1GC`.
    G1,
    /// `UseZGC`, with or without generations.
    Zgc,
    /// `UseShenandoahGC`, with or without generations.
    Shenandoah,
    /// Not said by the input.
    Unknown,
}

impl Collector {
    /// The name used in every output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "Serial",
            Self::ParNew => "ParNew",
            Self::Parallel => "Parallel",
            Self::G1 => "G1",
            Self::Zgc => "ZGC",
            Self::Shenandoah => "Shenandoah",
            Self::Unknown => "unknown",
        }
    }

    /// Whether survivors are kept in one contiguous space of a fixed size.
    pub fn has_survivor_spaces(self) -> bool {
        matches!(self, Self::Serial | Self::ParNew | Self::Parallel)
    }

    /// Whether the collector keeps a table of bytes per age and a desired survivor size.
    pub fn has_age_table(self) -> bool {
        matches!(self, Self::Serial | Self::ParNew | Self::G1)
    }

    /// Which collection a printed threshold applies to.
    /// Source: the specification, "Threshold rules".
    pub fn printed_threshold_is_for(self) -> ThresholdScope {
        match self {
            Self::G1 => ThresholdScope::ThisGc,
            _ => ThresholdScope::NextGc,
        }
    }
}

/// Which collection a printed threshold applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThresholdScope {
    /// The one that prints it.
    ThisGc,
    /// The one after.
    NextGc,
}

impl ThresholdScope {
    /// Stable text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThisGc => "this_gc",
            Self::NextGc => "next_gc",
        }
    }
}

/// What kind of collection a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A stop-the-world young collection.
    Young,
    /// G1: young collection that starts a concurrent cycle.
    ConcurrentStart,
    /// G1: last young collection before mixed ones.
    PrepareMixed,
    /// G1: young and some old regions.
    Mixed,
    /// The whole heap.
    Full,
    /// A concurrent cycle over the young generation (ZGC minor, Shenandoah young).
    ConcurrentYoung,
    /// A concurrent cycle over the old generation or the whole heap.
    ConcurrentOld,
}

impl Kind {
    /// Stable text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Young => "young",
            Self::ConcurrentStart => "concurrent-start",
            Self::PrepareMixed => "prepare-mixed",
            Self::Mixed => "mixed",
            Self::Full => "full",
            Self::ConcurrentYoung => "concurrent-young",
            Self::ConcurrentOld => "concurrent-old",
        }
    }

    /// Whether the record's age table speaks of this collection.
    pub fn is_young(self) -> bool {
        !matches!(self, Self::Full | Self::ConcurrentOld)
    }

    /// Whether old space can shrink here.
    pub fn collects_old(self) -> bool {
        matches!(self, Self::Full | Self::ConcurrentOld | Self::Mixed)
    }
}
