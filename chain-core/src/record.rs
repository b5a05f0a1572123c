//! What the engine says: one record per event that a recording holds (search-control, section 11).

use std::sync::Arc;

use crate::admission::AdmissionSet;
use crate::chain::{FoundChain, Strength};
use crate::gate::GateRefusals;
use crate::ids::{ClassId, SearchId, ShortId, ThreadId};
use crate::inline::InlineVec;
use crate::input::Refusal;
use crate::plan::{MAX_CANDIDATES, MAX_THREADS};
use crate::tick::{Bytes, Epoch, Micros, Millis, Tick};
use crate::walk::RootOutcome;

/// A record with the instant it was made at.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize))]
pub struct Stamped {
    /// When.
    pub at: Tick,
    /// What.
    pub record: Record,
}

/// Everything the core reports. The agent maps each to one event and adds names.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize),
    serde(rename_all = "snake_case")
)]
pub enum Record {
    /// How far a class is from being a candidate, or that it is one: periodic, and at transitions.
    LeakCandidate(LeakCandidate),
    /// One pass, its cost and what it found.
    SearchPass(SearchPass),
    /// A search began.
    SearchStarted(SearchStarted),
    /// A search ended, and why.
    SearchEnded(SearchEnded),
    /// A search ended without its goal; drained, never overwritten.
    SearchAbandoned(SearchEnded),
    /// Inputs and decision of budgets, controller, backoff and gates: periodic, and after each pass.
    CostBudget(CostBudget),
    /// Heap floor, projection, ramp and latch: periodic while known, and at transitions.
    OomProjection(OomStatus),
    /// The admission set changed: publish it to the sampling callback.
    Admission(AdmissionSet),
    /// A chain is committed, re-emitted at a recording's start and every 60 s while one runs.
    ChainCommitted(ChainCommitted),
    /// Sampling cannot be had; the agent stays idle.
    SamplingUnavailable(Refusal),
    /// Tags of an ended search could not be released; they are retried before anything else.
    TagReleaseFailed {
        /// Which search.
        search: SearchId,
        /// Tags left.
        failed: u64,
        /// Failures since the process started.
        total: u64,
    },
}

/// Why a class is not a candidate yet, or that it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum CandidateState {
    /// Too few values.
    #[default]
    Filling,
    /// Enough values, no rise.
    Flat,
    /// Rising, not often enough in a row.
    Rising,
    /// Rising, and no allocating thread qualifies.
    NoThread,
    /// Rising ages, but the population has been flat for 30 folds.
    Plateau,
    /// Qualifies, outranked by five others.
    Outranked,
    /// A candidate.
    Qualified,
    /// Was a candidate and is none any more.
    Gone,
}

/// Progress of one class towards the leak signal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize))]
pub struct LeakCandidate {
    /// The class.
    pub class: ClassId,
    /// Where it stands.
    pub state: CandidateState,
    /// Values in its ring, and how many it needs.
    pub values: u32,
    /// See `values`.
    pub values_needed: u32,
    /// Qualifying folds in a row, and how many it needs.
    pub folds: u32,
    /// 5, or 3 while the heap floor rises.
    pub folds_needed: u32,
    /// Least time until the signal, from the pace of the last folds; `None` when unknown or reached.
    pub earliest: Option<Millis>,
    /// Fitted value (distinct ages) at the start of the window.
    pub fitted_start: Option<f64>,
    /// Fitted value at its end.
    pub fitted_end: Option<f64>,
    /// Surviving tracked instances in the last fold.
    pub survivors: u32,
    /// Allocated bytes they stand for.
    pub retained: Bytes,
    /// Fitted growth of `retained` per hour over the window; `None` below two values.
    pub growth_per_hour: Option<f64>,
    /// No old, mixed or full collection has confirmed the survivors yet (G1, Serial, Parallel).
    pub unconfirmed: bool,
    /// Qualifying threads.
    pub threads: InlineVec<ThreadId, MAX_THREADS>,
    /// Epoch of the last fold.
    pub epoch: Epoch,
}

/// A search began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize))]
pub struct SearchStarted {
    /// Its number.
    pub search: SearchId,
    /// Candidate classes at the start.
    pub candidates: InlineVec<ClassId, { crate::plan::MAX_CANDIDATES }>,
    /// The OOM latch was set.
    pub urgent: bool,
}

/// One pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize))]
pub struct SearchPass {
    /// Which search.
    pub search: SearchId,
    /// Which pass of it.
    pub pass: u32,
    /// References read.
    pub edges: u64,
    /// Objects seen first in this pass.
    pub new_nodes: u64,
    /// Frontier entries left.
    pub frontier: u64,
    /// The edge budget it ran with.
    pub edge_budget: u64,
    /// Heap-walk-call time (the safepoint cost).
    pub heap_walk: Micros,
    /// Manual-walk time: wall minus heap-walk-call time, a wall-time proxy of CPU.
    pub manual_walk: Micros,
    /// Thread CPU time.
    pub cpu: Micros,
    /// How root enumeration ended.
    pub roots: RootOutcome,
    /// Candidates still without a resolved chain.
    pub unresolved: u32,
    /// A candidate was added, got a chain, or was resolved by this pass.
    pub progress: bool,
    /// No new object was visited (concurrent), or the frontier did not grow (safepoint).
    pub stalled: bool,
    /// Stalled passes in a row.
    pub stalled_passes: u32,
    /// Share of the heap looked at, thousandths.
    pub coverage: Option<u16>,
    /// Native bytes held by the search.
    pub native: Bytes,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Outcome {
    /// Every candidate resolved, or everything drained.
    Completed,
    /// Ended without its goal.
    Abandoned(Reason),
    /// A recording or the process stopped; no abandonment.
    Stopped,
}

/// Why a search was abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Reason {
    /// The frontier's cap was hit.
    FrontierCap,
    /// Three JVMTI errors in a row while enumerating roots.
    RootEnumerationError,
    /// Everything was looked at, and a watched class has no chain.
    CandidateLost,
    /// Its time to live is over.
    Ttl,
    /// 30 passes without growth.
    NoProgress,
    /// Stalled, and no candidate came closer for too many passes.
    CanaryStuck,
}

impl Reason {
    /// The name used in events and reports.
    pub fn name(self) -> &'static str {
        match self {
            Reason::FrontierCap => "FrontierCap",
            Reason::RootEnumerationError => "RootEnumerationError",
            Reason::CandidateLost => "CandidateLost",
            Reason::Ttl => "Ttl",
            Reason::NoProgress => "NoProgress",
            Reason::CanaryStuck => "CanaryStuck",
        }
    }
}

/// A part of the heap that a search did not look at, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Gap {
    /// Objects were refused or dropped at the cap on memory.
    MemoryCap,
    /// The frontier's cap was hit.
    FrontierCap,
    /// Something was cut off for another reason.
    Truncated,
    /// Root enumeration was skipped: its expected stop was above the configured limit.
    RootsSkipped,
    /// Root enumeration, statics or threads did not come to their end.
    RootsIncomplete,
    /// The search ended before all it had seen was followed.
    #[default]
    NotDrained,
}

impl Gap {
    /// All of them, the one that explains most first.
    pub const ALL: [Gap; 6] = [
        Gap::MemoryCap,
        Gap::FrontierCap,
        Gap::Truncated,
        Gap::RootsSkipped,
        Gap::RootsIncomplete,
        Gap::NotDrained,
    ];

    /// The name used in events and reports.
    pub fn name(self) -> &'static str {
        match self {
            Gap::MemoryCap => "memory-cap",
            Gap::FrontierCap => "frontier-cap",
            Gap::Truncated => "truncated",
            Gap::RootsSkipped => "roots-skipped",
            Gap::RootsIncomplete => "roots-incomplete",
            Gap::NotDrained => "not-drained",
        }
    }
}

/// A candidate that a search ended without a chain for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize))]
pub struct Lost {
    /// The class.
    pub class: ClassId,
    /// Instances that were met all the same: no path to one held when it was read again.
    pub reached: u64,
    /// It joined after the first pass, so that what was visited before was not counted for it.
    pub late: bool,
}

impl Lost {
    /// Whether a search that looked for it from the start met no instance.
    pub fn unreached(&self) -> bool {
        self.reached == 0 && !self.late
    }
}

/// A search's end and totals.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize))]
pub struct SearchEnded {
    /// Which search.
    pub search: SearchId,
    /// How it ended.
    pub outcome: Outcome,
    /// Passes made.
    pub passes: u32,
    /// From start to the terminal state.
    pub lasted: Millis,
    /// Accumulated heap-walk-call time.
    pub heap_walk: Micros,
    /// Accumulated manual-walk time.
    pub manual_walk: Micros,
    /// Accumulated thread CPU time.
    pub cpu: Micros,
    /// Objects seen.
    pub nodes: u64,
    /// References read.
    pub edges: u64,
    /// Candidates with a resolved chain.
    pub resolved: u32,
    /// Candidates without one.
    pub unresolved: u32,
    /// Coverage at the end, thousandths.
    pub coverage: Option<u16>,
    /// Something was evicted, truncated or skipped: the heap was not looked at completely.
    pub partial: bool,
    /// Candidates without any chain.
    pub lost: InlineVec<Lost, MAX_CANDIDATES>,
    /// What was not looked at; without one, no path leads to a candidate of which nothing was reached.
    pub gaps: InlineVec<Gap, { Gap::ALL.len() }>,
}

/// Inputs and decision of cost control at one instant.
///
/// None of these figures alone establishes application pause, CPU overhead or complete coverage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize))]
pub struct CostBudget {
    /// The running search, if any.
    pub search: Option<SearchId>,
    /// Heap-walk-call time of the last pass.
    pub heap_walk: Micros,
    /// Manual-walk time of the last pass.
    pub manual_walk: Micros,
    /// Edge budget in effect.
    pub edge_budget: u64,
    /// Its ceiling (base + borrowed).
    pub edge_ceiling: u64,
    /// Borrowed part.
    pub borrowed: u64,
    /// The controller's target.
    pub pause_target: Millis,
    /// Effective cadence.
    pub cadence: Millis,
    /// Safepoint-cost balance, ms.
    pub safepoint_balance: f64,
    /// Its refill, ms per ms.
    pub safepoint_rate: f64,
    /// CPU-cost balance, ms.
    pub cpu_balance: f64,
    /// Its refill in effect.
    pub cpu_rate: f64,
    /// Heap-walk-call time in the sliding window.
    pub stop_window: Micros,
    /// The window's cap.
    pub stop_cap: Millis,
    /// Candidates without a resolved chain.
    pub unresolved: u32,
    /// Backoff multiplier.
    pub backoff: u32,
    /// EMA of candidate pass duration, ms.
    pub backoff_ema: f64,
    /// What the engine decided.
    pub decision: Decision,
    /// Until when the decision holds if nothing else happens; `None` when it acts now.
    pub wait_until: Option<Tick>,
    /// Start-gate and schedule refusals by name, since the process started.
    pub refusals: GateRefusals,
    /// Seconds to OOM, raw projection; `None` = no usable projection, which proves nothing.
    pub seconds_to_oom: Option<f64>,
    /// The urgent latch.
    pub latched: bool,
    /// What was dropped, by place.
    pub drops: Drops,
}

/// What a poll decided, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Decision {
    /// Nothing is armed.
    #[default]
    Idle,
    /// Sweep now.
    Sweep,
    /// Run a pass now.
    Run,
    /// Run a pass with root enumeration now.
    RunRoots,
    /// Release tags now.
    Release,
    /// Re-verify cached chains now.
    Reverify,
    /// A new search is refused; see the counters.
    GateRefused,
    /// Minimum spacing since the previous pass ended.
    Spacing,
    /// CPU-cost debt.
    CpuDebt,
    /// `cpucap` is used up.
    CpuCap,
    /// Candidate backoff.
    Backoff,
    /// The stop-time window is full.
    StopWindow,
    /// Only root enumeration is left and its interval is not over.
    RootInterval,
    /// Waiting for the next fold or cadence.
    Cadence,
    /// Stopped.
    Stopped,
}

/// Drop counters since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Drops {
    /// Samples dropped at a full liveness table.
    pub samples: u64,
    /// Samples given up to a reservoir (generational ZGC).
    pub reservoir: u64,
    /// Classes refused or evicted at a full signal table.
    pub classes: u64,
    /// Chains dropped at a full cache.
    pub chains: u64,
    /// Abandonments dropped at a full queue.
    pub abandonments: u64,
    /// Records dropped at a full queue.
    pub records: u64,
    /// Journal entries dropped at a full queue.
    pub journal: u64,
    /// Urgent evaluations refused for want of a candidate.
    pub urgent_no_candidate: u64,
    /// Urgent boosts that a full table turned back to the ordinary rules.
    pub urgent_boost_backed_off: u64,
    /// Samples admitted by the urgent boost alone.
    pub urgent_boost_admits: u64,
    /// Tag-release failures.
    pub tag_release_failures: u64,
}

/// Heap floor, projection, ramp and latch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize))]
pub struct OomStatus {
    /// Post-GC usage samples in the ring.
    pub samples: u32,
    /// The aggregate heap floor rises.
    pub floor_rising: bool,
    /// Last post-GC usage.
    pub used: Option<Bytes>,
    /// Max heap.
    pub max_heap: Option<Bytes>,
    /// Seconds to OOM by heap.
    pub heap_seconds: Option<f64>,
    /// Seconds to OOM by container memory.
    pub container_seconds: Option<f64>,
    /// The shorter valid one; `None` = no usable projection, which proves nothing.
    pub seconds: Option<f64>,
    /// Projection is withheld: the signal has been active for less than 300 s.
    pub burn_in: bool,
    /// The ramp is active.
    pub ramp: bool,
    /// The urgent latch.
    pub latched: bool,
    /// The global admission boost.
    pub boost: bool,
    /// Usage readings are approximate.
    pub approximate: bool,
    /// A rising floor without a qualifying class: no chain can be had, and the report says so.
    pub no_candidate: bool,
}

/// A committed chain and what is known of its leak.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize))]
pub struct ChainCommitted {
    /// The chain.
    pub found: Arc<FoundChain>,
    /// Which search committed it.
    pub search: SearchId,
    /// Candidate classes that share its identity, itself included.
    pub merged: InlineVec<ClassId, { crate::plan::MAX_CANDIDATES }>,
    /// First application class below the growing container: the leaf worth showing.
    pub display_leaf: Option<Arc<str>>,
    /// Its identity: one leak, one finding.
    pub identity: ShortId,
    /// Strength.
    pub strength: Strength,
    /// Coverage when it was committed, thousandths.
    pub coverage: Option<u16>,
    /// Not resolved: transient or soft only, or the search ended before it was certain.
    pub provisional: bool,
    /// Emitted before; this is the periodic or recording-start repetition.
    pub repeated: bool,
    /// When it was first committed.
    pub first_seen: Tick,
    /// Retained sampled bytes of the candidate at the last fold.
    pub retained: Bytes,
    /// Fitted growth of these per hour.
    pub growth_per_hour: Option<f64>,
}
