//! What is known about one JVM run besides its collections: flags, capabilities of the input, counts.

use super::num;
use super::record::Collector;

/// Flags of the young generation, where the input carries them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flags {
    /// `SurvivorRatio`.
    pub survivor_ratio: Option<u64>,
    /// `TargetSurvivorRatio`, in percent.
    pub target_survivor_ratio: Option<u64>,
    /// `MaxTenuringThreshold`.
    pub max_tenuring: Option<u64>,
    /// `NewSize`, in bytes.
    pub new_size: Option<u64>,
    /// `MaxNewSize`, in bytes.
    pub max_new_size: Option<u64>,
    /// `AlwaysPreTouch`.
    pub pretouch: Option<bool>,
    /// `UseAdaptiveSizePolicy`.
    pub adaptive: Option<bool>,
    /// `AlwaysTenure`.
    pub always_tenure: Option<bool>,
    /// `NeverTenure`.
    pub never_tenure: Option<bool>,
}

impl Flags {
    /// Reads `-XX:Name=value`, `-XX:+Name` or `-XX:-Name`; others are passed over.
    pub fn read(&mut self, flag: &[u8]) {
        let Some(flag) = num::after(flag, b"-XX:") else {
            return;
        };
        if let Some((sign @ (b'+' | b'-'), name)) = flag.split_first() {
            self.set_bool(&String::from_utf8_lossy(name), *sign == b'+');
        } else if let Some(eq) = memchr::memchr(b'=', flag)
            && let (name, Some(value)) = (flag.get(..eq).unwrap_or_default(), flag.get(eq + 1..))
            && let Some((value, _, _)) = num::size(value)
        {
            self.set(&String::from_utf8_lossy(name), value);
        }
    }

    /// Takes what a later chunk says, where it says anything.
    pub fn join(&mut self, later: &Self) {
        self.survivor_ratio = later.survivor_ratio.or(self.survivor_ratio);
        self.target_survivor_ratio = later.target_survivor_ratio.or(self.target_survivor_ratio);
        self.max_tenuring = later.max_tenuring.or(self.max_tenuring);
        self.new_size = later.new_size.or(self.new_size);
        self.max_new_size = later.max_new_size.or(self.max_new_size);
        self.pretouch = later.pretouch.or(self.pretouch);
        self.adaptive = later.adaptive.or(self.adaptive);
        self.always_tenure = later.always_tenure.or(self.always_tenure);
        self.never_tenure = later.never_tenure.or(self.never_tenure);
    }

    /// Sets a numeric flag by name.
    pub fn set(&mut self, name: &str, value: u64) {
        match name {
            "SurvivorRatio" => self.survivor_ratio = Some(value),
            "TargetSurvivorRatio" => self.target_survivor_ratio = Some(value),
            "MaxTenuringThreshold" => self.max_tenuring = Some(value),
            "NewSize" => self.new_size = Some(value),
            "MaxNewSize" => self.max_new_size = Some(value),
            _ => {}
        }
    }

    /// Sets a switch by name.
    pub fn set_bool(&mut self, name: &str, on: bool) {
        match name {
            "AlwaysPreTouch" => self.pretouch = Some(on),
            "UseAdaptiveSizePolicy" => self.adaptive = Some(on),
            "AlwaysTenure" => self.always_tenure = Some(on),
            "NeverTenure" => self.never_tenure = Some(on),
            _ => {}
        }
    }
}

/// What is known about one JVM run besides its collections.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Its collector.
    pub collector: Collector,
    /// Version as printed.
    pub version: Option<String>,
    /// G1 region size, in bytes.
    pub region_bytes: Option<u64>,
    /// Whether the heap is touched at start.
    pub pretouch: Option<bool>,
    /// Flags.
    pub flags: Flags,
    /// Age rows or tables were seen.
    pub saw_ages: bool,
    /// Desired survivor sizes were seen.
    pub saw_desired: bool,
    /// G1's old allocation statistics were seen.
    pub saw_plab: bool,
    /// From a recording, not a log.
    pub recording: bool,
    /// The recording holds leak candidates of the agent.
    pub leak_candidates: u64,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            collector: Collector::Unknown,
            version: None,
            region_bytes: None,
            pretouch: None,
            flags: Flags::default(),
            saw_ages: false,
            saw_desired: false,
            saw_plab: false,
            recording: false,
            leak_candidates: 0,
        }
    }
}

/// Counts over all collections of a JVM, thinned or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Young collections.
    pub young: u64,
    /// Collections of the whole heap.
    pub full: u64,
    /// Concurrent cycles.
    pub cycles: u64,
    /// Young collections whose threshold is known.
    pub with_threshold: u64,
    /// Of those, with threshold 1 or 2 below its maximum.
    pub low_threshold: u64,
    /// Bytes those promoted.
    pub low_promoted: u64,
    /// Bytes of young space all young collections started from, where known.
    pub young_before: u64,
    /// Bytes promoted where computable.
    pub promoted: u64,
    /// Records dropped by thinning.
    pub thinned: u64,
}
