//! What the agent is started with: the options that are decisions, and the machine they run on.

use crate::tick::{Bytes, Millis};

/// What arms the leak signal (option `track`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Track {
    /// GC ages of sampled objects; arms the signal by itself.
    #[default]
    Generations,
    /// Live objects; arms the signal only together with reference chains.
    LiveHeap,
}

/// Which walk engine runs passes (option `walk`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum WalkEngine {
    /// Plain JNI reads while the application runs; one safepoint at most, for roots.
    #[default]
    Concurrent,
    /// FollowReferences batches, every pass a safepoint.
    Safepoint,
}

/// Collectors with epoch rules of their own (search-control, section 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Collector {
    /// Garbage-First.
    #[default]
    G1,
    /// Serial.
    Serial,
    /// Parallel.
    Parallel,
    /// Single-generation ZGC (JDK 17, or 21 to 23 without ZGenerational).
    Zgc,
    /// Generational ZGC.
    GenZgc,
    /// Shenandoah, both modes.
    Shenandoah,
    /// Anything else: every callback is taken as a cycle.
    Unknown,
}

/// Facts that unset options are tuned to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Machine {
    /// `Runtime.maxMemory()`; `None` when it could not be read (then 512 MiB is assumed).
    pub max_heap: Option<Bytes>,
    /// Processors the JVM may use, at least 1.
    pub cpus: u32,
    /// The collector in use.
    pub collector: Collector,
    /// JDK feature version, e.g. 17.
    pub jdk: u16,
    /// Whether the GC beans can be read; without them callbacks are divided per collector.
    pub gc_beans: bool,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            max_heap: None,
            cpus: 1,
            collector: Collector::G1,
            jdk: 17,
            gc_beans: true,
        }
    }
}

/// Every agent option that is a decision (cli.md), `None` where the user set nothing.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Config {
    /// `track`.
    pub track: Track,
    /// `chains`: searches on or off; `None` = on.
    pub chains: Option<bool>,
    /// `interval`: allocation sampling interval; default 524,287 bytes.
    pub interval: Option<Bytes>,
    /// `live-ratio`: share of samples tracked; default 0.1, clamped to 0.01..=1.
    pub live_ratio: Option<f64>,
    /// `walk`.
    pub walk: WalkEngine,
    /// `memcap`: bytes for a search's visited set and frontier, concurrent engine.
    pub memcap: Option<Bytes>,
    /// `framecap`: frontier entries, safepoint engine.
    pub framecap: Option<u64>,
    /// `hops`: longest chain, runs collapsed; default 200.
    pub hops: Option<u32>,
    /// `budget`: edges per pass.
    pub budget: Option<u64>,
    /// `firstpassbudget`: edges of a root pass, safepoint engine; default 10 x budget.
    pub first_pass_budget: Option<u64>,
    /// `ttl` of a search; `Some(0)` = off.
    pub ttl: Option<Millis>,
    /// `pausetarget`: the controller's target; default 50 ms.
    pub pause_target: Option<Millis>,
    /// `painbudget`: refill of both cost budgets, percent.
    pub pain_budget: Option<f64>,
    /// `stopcap`: heap-walk-call time in 60 s; default 500 ms.
    pub stop_cap: Option<Millis>,
    /// `cpucap`: share of one core for search threads, percent; default 50.
    pub cpu_cap: Option<f64>,
    /// The machine that unset options are tuned to.
    pub machine: Machine,
    /// Decisions marked O that can be switched off, to show what they cure. All on by default.
    pub improvements: Improvements,
}

/// The O decisions that depart from a known failure, each with a switch for the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Improvements {
    /// Push 0 for a class without survivors (section 2); off: silence.
    pub zero_push: bool,
    /// Clamp the pause controller's integral (section 7).
    pub integral_clamp: bool,
    /// Rolling stop-time cap (section 6).
    pub stop_cap: bool,
    /// Sweep on the worker's own clock, 1 s after an epoch (section 2); off: every 30 s.
    pub own_clock: bool,
    /// Push signal values at a stride that grows with the epochs (section 2); off: every fold.
    pub stride: bool,
    /// The no-progress counter starts anew with every search (section 10).
    pub progress_per_search: bool,
    /// NoProgress and CandidateLost as reasons of their own (section 10).
    pub distinct_reasons: bool,
    /// Rank candidates by retained sampled bytes (section 3); off: by fitted growth alone.
    pub rank_by_bytes: bool,
    /// A class whose population has been flat for 30 folds starts no search (section 14).
    pub plateau_guard: bool,
    /// Normalised epochs (section 1); off: every GC-finish callback is a cycle.
    pub normalised_epochs: bool,
    /// Section 13's rules for the concurrent engine; off: the plain rules of sections 5 to 10.
    pub concurrent_rules: bool,
}

impl Default for Improvements {
    fn default() -> Self {
        Improvements {
            zero_push: true,
            integral_clamp: true,
            stop_cap: true,
            own_clock: true,
            stride: true,
            progress_per_search: true,
            distinct_reasons: true,
            rank_by_bytes: true,
            plateau_guard: true,
            normalised_epochs: true,
            concurrent_rules: true,
        }
    }
}

impl Config {
    /// Sets one option by its name in cli.md, units and suffixes as there; for replays.
    ///
    /// # Errors
    /// Names the option and what it takes, when it is unknown or the value is out of range.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let bad = |takes: &str| format!("{key}={value}: {key} takes {takes}");
        let number = |low: u64, high: u64, takes: &str| {
            value
                .parse::<u64>()
                .ok()
                .filter(|n| (low..=high).contains(n))
                .ok_or_else(|| bad(takes))
        };
        let share = |low: f64, high: f64, takes: &str| {
            value
                .parse::<f64>()
                .ok()
                .filter(|n| (low..=high).contains(n))
                .ok_or_else(|| bad(takes))
        };
        let size = |takes: &str| parse_scaled(value, SIZES).ok_or_else(|| bad(takes));
        let time = |takes: &str| {
            parse_scaled(value, TIMES)
                .map(Millis)
                .ok_or_else(|| bad(takes))
        };
        match key {
            "track" => {
                self.track = match value {
                    "generations" => Track::Generations,
                    "liveheap" => Track::LiveHeap,
                    _ => return Err(bad("generations or liveheap")),
                }
            }
            "walk" => {
                self.walk = match value {
                    "concurrent" => WalkEngine::Concurrent,
                    "safepoint" => WalkEngine::Safepoint,
                    _ => return Err(bad("concurrent or safepoint")),
                }
            }
            "chains" => {
                self.chains = match value {
                    "on" => Some(true),
                    "off" => Some(false),
                    _ => return Err(bad("on or off")),
                }
            }
            "interval" => self.interval = Some(Bytes(size("1k..1g")?)),
            "live-ratio" => self.live_ratio = Some(share(0.01, 1.0, "0.01..1")?),
            "memcap" => self.memcap = Some(Bytes(size("8m..")?)),
            "framecap" => self.framecap = Some(number(1, 65_536_000, "1..65,536,000 entries")?),
            "hops" => {
                let hops = number(1, 200_000, "1..200,000")?;
                self.hops = Some(u32::try_from(hops).unwrap_or(u32::MAX));
            }
            "budget" => self.budget = Some(number(1, 10_000_000, "1..10,000,000 edges")?),
            "firstpassbudget" => {
                self.first_pass_budget = Some(number(0, 10_000_000, "0..10,000,000 edges")?);
            }
            "ttl" => self.ttl = Some(time("a time, 0 = off")?),
            "pausetarget" => self.pause_target = Some(time("a time")?),
            "painbudget" => self.pain_budget = Some(share(0.0, 100.0, "0..100 %")?),
            "stopcap" => self.stop_cap = Some(time("1ms..60s")?),
            "cpucap" => self.cpu_cap = Some(share(1.0, 100.0, "1..100 %")?),
            _ => {
                return Err(format!(
                    "{key}: no such option, or none that decides anything"
                ));
            }
        }
        Ok(())
    }
}

const SIZES: &[(&str, u64)] = &[("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("", 1)];
const TIMES: &[(&str, u64)] = &[
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("", 1),
];

fn parse_scaled(value: &str, units: &[(&str, u64)]) -> Option<u64> {
    units.iter().find_map(|(suffix, scale)| {
        let digits = value.strip_suffix(suffix)?;
        digits.parse::<u64>().ok()?.checked_mul(*scale)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_set_by_name_with_units() {
        let mut c = Config::default();
        for (k, v) in [
            ("track", "liveheap"),
            ("walk", "safepoint"),
            ("chains", "off"),
            ("interval", "64k"),
            ("live-ratio", "0.5"),
            ("memcap", "1g"),
            ("framecap", "7"),
            ("hops", "9"),
            ("budget", "11"),
            ("firstpassbudget", "13"),
            ("ttl", "2m"),
            ("pausetarget", "5ms"),
            ("painbudget", "2.5"),
            ("stopcap", "1s"),
            ("cpucap", "25"),
        ] {
            c.set(k, v).unwrap();
        }
        let expected = Config {
            track: Track::LiveHeap,
            walk: WalkEngine::Safepoint,
            chains: Some(false),
            interval: Some(Bytes::kib(64)),
            live_ratio: Some(0.5),
            memcap: Some(Bytes::mib(1024)),
            framecap: Some(7),
            hops: Some(9),
            budget: Some(11),
            first_pass_budget: Some(13),
            ttl: Some(Millis(120_000)),
            pause_target: Some(Millis(5)),
            pain_budget: Some(2.5),
            stop_cap: Some(Millis(1_000)),
            cpu_cap: Some(25.0),
            ..Config::default()
        };
        assert_eq!(c, expected);
    }

    #[test]
    fn a_bad_option_names_itself_and_its_range() {
        let mut c = Config::default();
        assert_eq!(
            c.set("budget", "0").unwrap_err(),
            "budget=0: budget takes 1..10,000,000 edges"
        );
        assert!(c.set("color", "red").unwrap_err().contains("color"));
        assert!(c.set("ttl", "5parsecs").is_err());
        assert!(c.set("live-ratio", "1.5").is_err());
        assert_eq!(c, Config::default());
    }
}
