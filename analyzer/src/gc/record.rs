//! One record per collection: what any input can say about it, and nothing worked out yet.

pub use super::terms::{Collector, KIB, Kind, MIB, Nanos, ThresholdScope};

/// Bytes per age, ages 1 to 15 (index 0 is age 1). An age nobody printed holds zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct AgeTable([u64; 15]);

impl AgeTable {
    /// The oldest age an object header can hold.
    pub const MAX_AGE: u8 = 15;

    /// Bytes at `age`; zero outside 1..=15.
    pub fn at(&self, age: u8) -> u64 {
        age.checked_sub(1)
            .and_then(|i| self.0.get(usize::from(i)))
            .copied()
            .unwrap_or(0)
    }

    /// Sets the bytes at `age`; false when the age is outside 1..=15.
    pub fn set(&mut self, age: u8, bytes: u64) -> bool {
        match age
            .checked_sub(1)
            .and_then(|i| self.0.get_mut(usize::from(i)))
        {
            Some(slot) => {
                *slot = bytes;
                true
            }
            None => false,
        }
    }

    /// Bytes at all ages.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, b| sum.saturating_add(*b))
    }

    /// Bytes at `age` and above: what leaves the young generation at threshold `age`.
    pub fn from_age(&self, age: u8) -> u64 {
        (age.max(1)..=Self::MAX_AGE).fold(0u64, |sum, a| sum.saturating_add(self.at(a)))
    }

    /// Ages that hold bytes, youngest first.
    pub fn populated(&self) -> impl Iterator<Item = (u8, u64)> + '_ {
        (1..=Self::MAX_AGE)
            .map(|age| (age, self.at(age)))
            .filter(|(_, b)| *b > 0)
    }
}

/// Used bytes before and after, and the capacity the input prints with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Change {
    /// Used before, in bytes.
    pub before: u64,
    /// Used after, in bytes.
    pub after: u64,
    /// Capacity before, where printed.
    pub cap_before: Option<u64>,
    /// Capacity after, where printed.
    pub cap: Option<u64>,
}

/// Regions before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegionChange {
    /// Regions before.
    pub before: u64,
    /// Regions after.
    pub after: u64,
    /// Target (eden) or limit (survivors), where printed.
    pub limit: Option<u64>,
}

impl RegionChange {
    /// Regions gained; negative when some were freed.
    pub fn growth(&self) -> i64 {
        self.after as i64 - self.before as i64
    }
}

/// G1's regions by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Regions {
    /// Eden; the limit is the target for the next collection.
    pub eden: Option<RegionChange>,
    /// Survivors; the limit is how many there may be.
    pub survivor: Option<RegionChange>,
    /// Old.
    pub old: Option<RegionChange>,
    /// Humongous.
    pub humongous: Option<RegionChange>,
}

/// What G1 allocated in old regions for promoted objects (`gc+plab=debug`, `G1EvacuationOldStatistics`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OldPlab {
    /// Bytes used in allocation buffers.
    pub used: Option<u64>,
    /// Bytes allocated outside buffers.
    pub direct: Option<u64>,
    /// Bytes that stayed in place because evacuation failed.
    pub failed: u64,
}

impl OldPlab {
    /// Bytes promoted, when both parts are known.
    pub fn promoted(&self) -> Option<u64> {
        Some(self.used?.saturating_add(self.direct?))
    }
}

/// When a collection started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Nanoseconds since 1970, UTC.
    pub wall: Option<i64>,
    /// Minutes east of UTC, where the input says it.
    pub offset_min: Option<i16>,
    /// Time since the JVM started.
    pub uptime: Option<Nanos>,
}

/// Reference processing as `PrintReferenceGC` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefTime {
    /// Reference kind as printed: `FinalReference`.
    pub kind: &'static str,
    /// Time it took.
    pub time: Nanos,
}

/// Bytes that moved to the old generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promoted {
    /// To the resolution of the input. Up to two KiB either way count as zero.
    Exact(i64),
    /// The input rounds so coarsely that only the order of magnitude holds.
    Approximate(i64),
    /// No more than this: whole regions.
    AtMost(u64),
    /// The input does not carry it.
    NotComputable(Why),
}

impl Promoted {
    /// The number, whatever its quality; negative rounding counts as zero.
    pub fn bytes(self) -> Option<u64> {
        match self {
            Self::Exact(b) | Self::Approximate(b) => Some(u64::try_from(b).unwrap_or(0)),
            Self::AtMost(b) => Some(b),
            Self::NotComputable(_) => None,
        }
    }

    /// Whether the number is exact.
    pub fn is_exact(self) -> bool {
        matches!(self, Self::Exact(_))
    }
}

/// Why promoted bytes cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Why {
    /// Promotion failed part-way: objects of both generations stayed in place.
    PromotionFailed,
    /// The old generation was collected in the same entry.
    OldCollected,
    /// ParNew's survivor buffers hide what the age table does not sum (recordings only).
    BufferWaste,
    /// No line or event says how full the old generation was.
    NoOldSize,
    /// There is no earlier collection to compare with.
    NoPrevious,
    /// The collector has no notion of it.
    NotGenerational,
}

impl Why {
    /// One sentence for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::PromotionFailed => "promotion failed part-way, so both generations moved",
            Self::OldCollected => "the old generation was collected in the same entry",
            Self::BufferWaste => {
                "ParNew's survivor buffers hold waste that no event shows; the GC log has it"
            }
            Self::NoOldSize => "nothing in the input says how full the old generation was",
            Self::NoPrevious => "there is no earlier collection to compare with",
            Self::NotGenerational => "the collector reports no promotion",
        }
    }
}

/// Why a collection promoted what it promoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// Nothing to speak of was promoted.
    None,
    /// The threshold was below its maximum and the cohorts at or above it left.
    Threshold,
    /// The threshold was high, but the survivor space was full.
    Overflow,
    /// Only the cohort at the maximum age left.
    NormalAgeing,
    /// The input does not tell.
    Unknown,
}

impl Cause {
    /// Stable text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Threshold => "threshold",
            Self::Overflow => "survivor-overflow",
            Self::NormalAgeing => "normal-ageing",
            Self::Unknown => "unknown",
        }
    }
}

/// One collection.
///
/// Dialects fill what they read; [`crate::gc::rules`] fills `threshold_used`, `promoted`, `cause`.
#[derive(Debug, Clone, PartialEq)]
pub struct Collection {
    /// Number the JVM gave it.
    pub gc_id: Option<u64>,
    /// Which input it was read from, from 0.
    pub input: usize,
    /// Line it starts on, from 1; zero in recordings.
    pub line: u64,
    /// Collections are missing before it: it cannot be compared with the one before.
    pub after_gap: bool,
    /// When it started.
    pub at: Stamp,
    /// Who collected.
    pub collector: Collector,
    /// What kind it was.
    pub kind: Kind,
    /// The JVM's words for it: `Pause Young (Normal) (G1 Evacuation Pause)`.
    pub title: Option<Box<str>>,
    /// The JVM's words for why it ran: `G1 Evacuation Pause`.
    pub gc_cause: Option<Box<str>>,
    /// Threshold this collection worked with.
    pub threshold_used: Option<u8>,
    /// Threshold printed with it.
    pub threshold_printed: Option<u8>,
    /// Threshold the next collection works with.
    pub threshold_next: Option<u8>,
    /// `MaxTenuringThreshold` as printed.
    pub max_threshold: Option<u8>,
    /// Survivors by age after it.
    pub ages: Option<AgeTable>,
    /// Survivors by age before it: printed by JDK 8 G1, otherwise the previous collection's.
    pub ages_before: Option<AgeTable>,
    /// Threshold the collection before it used.
    pub threshold_before: Option<u8>,
    /// Desired survivor size, in bytes.
    pub desired: Option<u64>,
    /// Young generation; capacity is eden and one survivor space.
    pub young: Option<Change>,
    /// Eden and all survivor spaces, or G1's young target, where the input carries it.
    pub young_total: Option<u64>,
    /// Capacity of one survivor space, in bytes.
    pub survivor_cap: Option<u64>,
    /// Survivor space before and after, where the input separates it from eden.
    pub survivor: Option<Change>,
    /// Old generation.
    pub old: Option<Change>,
    /// The whole heap.
    pub heap: Option<Change>,
    /// Whether heap numbers are in KiB or finer; megabytes are too coarse to subtract.
    pub heap_fine: bool,
    /// G1 regions.
    pub regions: Regions,
    /// Size of a G1 region, in bytes.
    pub region_bytes: Option<u64>,
    /// G1's old-generation allocation.
    pub plab: Option<OldPlab>,
    /// Stop-the-world time.
    pub pause: Option<Nanos>,
    /// CPU time in user mode.
    pub user: Option<Nanos>,
    /// CPU time in the kernel.
    pub sys: Option<Nanos>,
    /// Wall time by the same clock.
    pub real: Option<Nanos>,
    /// Whole safepoint, where a safepoint line follows.
    pub safepoint_total: Option<Nanos>,
    /// Time to reach the safepoint.
    pub ttsp: Option<Nanos>,
    /// Start to the first reference-processing stamp (JDK 7/8).
    pub copy_phase: Option<Nanos>,
    /// Reference processing by kind.
    pub refs: Vec<RefTime>,
    /// Promotion failed.
    pub promotion_failed: bool,
    /// G1 evacuation failed.
    pub evacuation_failed: bool,
    /// The young collection was attempted and refused.
    pub refused: bool,
    /// Bytes promoted.
    pub promoted: Promoted,
    /// Why they were.
    pub cause: Cause,
}

impl Collection {
    /// An empty record.
    pub fn new(collector: Collector, kind: Kind) -> Self {
        Self {
            gc_id: None,
            input: 0,
            line: 0,
            after_gap: false,
            at: Stamp::default(),
            collector,
            kind,
            title: None,
            gc_cause: None,
            threshold_used: None,
            threshold_printed: None,
            threshold_next: None,
            max_threshold: None,
            ages: None,
            ages_before: None,
            threshold_before: None,
            desired: None,
            young: None,
            young_total: None,
            survivor_cap: None,
            survivor: None,
            old: None,
            heap: None,
            heap_fine: false,
            regions: Regions::default(),
            region_bytes: None,
            plab: None,
            pause: None,
            user: None,
            sys: None,
            real: None,
            safepoint_total: None,
            ttsp: None,
            copy_phase: None,
            refs: Vec::new(),
            promotion_failed: false,
            evacuation_failed: false,
            refused: false,
            promoted: Promoted::NotComputable(Why::NoOldSize),
            cause: Cause::Unknown,
        }
    }

    /// CPU time, user and kernel.
    pub fn cpu(&self) -> Option<Nanos> {
        Some(Nanos(self.user?.0.saturating_add(self.sys?.0)))
    }

    /// Cores kept busy during the pause; `None` without CPU time or for a pause of zero.
    pub fn cores(&self) -> Option<f64> {
        let wall = self.real.filter(|r| r.0 > 0).or(self.pause)?;
        (wall.0 > 0).then(|| self.cpu().map(|c| c.0 as f64 / wall.0 as f64))?
    }

    /// Survivor bytes that no live object accounts for: buffer waste. Slightly negative from rounding.
    pub fn survivor_waste(&self) -> Option<i64> {
        if !self.kind.is_young() || self.promotion_failed || self.refused {
            return None;
        }
        let after = self.young?.after;
        Some(after as i64 - self.ages?.total() as i64)
    }

    /// Growth of the old regions in bytes: an upper bound of what was promoted.
    pub fn old_region_growth(&self) -> Option<i64> {
        let bytes = i64::try_from(self.region_bytes?).ok()?;
        self.regions.old?.growth().checked_mul(bytes)
    }

    /// Old generation after this collection, from the old line or from heap less young.
    pub fn old_after(&self) -> Option<u64> {
        if let Some(old) = self.old {
            return Some(old.after);
        }
        if let (Some(old), Some(bytes)) = (self.regions.old, self.region_bytes) {
            return Some(old.after.saturating_mul(bytes));
        }
        self.heap_fine
            .then(|| Some(self.heap?.after.saturating_sub(self.young?.after)))?
    }

    /// Old generation before this collection, the same way.
    pub fn old_before(&self) -> Option<u64> {
        if let Some(old) = self.old {
            return Some(old.before);
        }
        if let (Some(old), Some(bytes)) = (self.regions.old, self.region_bytes) {
            return Some(old.before.saturating_mul(bytes));
        }
        self.heap_fine
            .then(|| Some(self.heap?.before.saturating_sub(self.young?.before)))?
    }

    /// Capacity of one survivor space or of all survivor regions, in bytes.
    pub fn survivor_capacity(&self) -> Option<u64> {
        self.survivor_cap.or_else(|| {
            let limit = self.regions.survivor?.limit?;
            Some(limit.saturating_mul(self.region_bytes?))
        })
    }

    /// Survivor bytes after, by the best source: survivor space, survivor regions, young space, age table.
    pub fn survivors_after(&self) -> Option<u64> {
        if let Some(s) = self.survivor {
            return Some(s.after);
        }
        if let (Some(s), Some(bytes)) = (self.regions.survivor, self.region_bytes) {
            return Some(s.after.saturating_mul(bytes));
        }
        self.young
            .map(|y| y.after)
            .or_else(|| self.ages.map(|t| t.total()))
    }

    /// Size of the young generation as the collector plans it: for G1 the target, otherwise its capacity.
    pub fn young_capacity(&self) -> Option<u64> {
        if let Some(cap) = self.young.and_then(|y| y.cap).or(self.young_total) {
            return Some(cap);
        }
        let bytes = self.region_bytes?;
        let eden = self.regions.eden?.before;
        let survivors = self.regions.survivor.map_or(0, |s| s.before);
        Some(eden.saturating_add(survivors).saturating_mul(bytes))
    }
}
