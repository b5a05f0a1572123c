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
    /// Decisions marked [O] that can be switched off, to show what they cure. All on by default.
    pub improvements: Improvements,
}

/// The [O] decisions that depart from a known failure, each with a switch for the simulator.
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
