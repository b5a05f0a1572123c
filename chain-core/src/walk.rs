//! The one trait behind which the walk engines stand, and what they report.

use crate::chain::FoundChain;
use crate::ids::{ClassId, SearchId, ShortId};
use crate::plan::PassPlan;
use crate::tick::{Bytes, Micros};

/// A walk engine: the concurrent walk, the safepoint walk, or the simulator's.
///
/// The core tells them apart only by their reported costs.
pub trait HeapWalk {
    /// Runs one pass to one of its ends (drained, budget, deadline, abort) and says what happened.
    fn run_pass(&mut self, plan: &PassPlan) -> PassReport;

    /// Releases every tag, handle and native structure of `search`; safe to repeat.
    fn release(&mut self, search: SearchId) -> ReleaseReport;

    /// Re-reads a chain along its recorded edges: whether every hop still holds and the leaf lives.
    fn reverify(&mut self, chain: &FoundChain) -> bool;
}

/// How root enumeration ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum RootOutcome {
    /// The plan did not ask for it.
    #[default]
    NotRun,
    /// Complete: the walk was aborted at the first SYSTEM_CLASS root.
    CompleteAtSystemClass,
    /// Complete: the end was reached.
    CompleteAtEnd,
    /// A budget, a cap or the abort flag cut it.
    Truncated,
    /// JVMTI returned an error.
    Error,
    /// Skipped, since the estimated stop is above the configured limit. Said in the report.
    Skipped,
}

impl RootOutcome {
    /// Whether an attempt was made (and its duration counts for the interval).
    pub fn attempted(self) -> bool {
        !matches!(self, RootOutcome::NotRun | RootOutcome::Skipped)
    }

    /// Whether the enumeration itself was complete; the static and thread scan is separate.
    pub fn complete(self) -> bool {
        matches!(
            self,
            RootOutcome::CompleteAtSystemClass | RootOutcome::CompleteAtEnd
        )
    }
}

/// What one pass did and cost.
///
/// `heap_walk` is elapsed time around JVMTI heap-walk calls (the safepoint cost), `wall - heap_walk`
/// the manual-walk time; neither is a measurement of application pauses or CPU.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct PassReport {
    /// From the plan.
    pub search: SearchId,
    /// From the plan.
    pub pass: u32,
    /// References read.
    pub edges: u64,
    /// Objects seen for the first time in this search.
    pub new_nodes: u64,
    /// Objects seen in this search so far.
    pub nodes: u64,
    /// Frontier entries left.
    pub frontier: u64,
    /// Time around heap-walk calls; 0 for a pass without one.
    pub heap_walk: Micros,
    /// Elapsed time of the pass, without class resolution, candidate polling and tag release.
    pub wall: Micros,
    /// Thread CPU time of the pass.
    pub cpu: Micros,
    /// Every static field of every initialised class was looked at.
    pub statics_complete: bool,
    /// Every thread object was looked at.
    pub threads_complete: bool,
    /// How root enumeration ended.
    pub roots: RootOutcome,
    /// Elapsed time of the root enumeration alone.
    pub roots_took: Micros,
    /// The frontier's cap was hit and entries were lost (safepoint engine).
    pub frontier_cap_hit: bool,
    /// Something was cut off and will not be looked at again in this search.
    pub truncated: bool,
    /// Entries or subtrees dropped at `memcap`.
    pub evicted: u64,
    /// Weak frontier entries that died between passes.
    pub frontier_died: u64,
    /// Nothing is left to expand.
    pub drained: bool,
    /// The abort flag ended the pass.
    pub aborted: bool,
    /// Chains found or confirmed in this pass; a chain is repeated while its tally grows.
    pub chains: Vec<FoundChain>,
    /// Instances of each candidate class reached in this search so far.
    pub reached: Vec<Reached>,
    /// Share of the heap looked at, in thousandths; `None` when it cannot be estimated.
    pub coverage: Option<u16>,
    /// Native bytes held by the search.
    pub native: Bytes,
}

/// Instances of a candidate class that a search has reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Reached {
    /// The candidate.
    pub class: ClassId,
    /// Instances, each counted once.
    pub instances: u64,
}

/// The outcome of releasing what a search owned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ReleaseReport {
    /// Which search.
    pub search: SearchId,
    /// Nothing search-owned is left.
    pub complete: bool,
    /// Tags or handles that could not be released this time.
    pub failed: u64,
    /// Elapsed time.
    pub took: Micros,
}

/// Whether one cached chain still holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct ChainAlive {
    /// The chain's signature.
    pub signature: ShortId,
    /// Every hop was re-read and the leaf is alive.
    pub alive: bool,
}
