//! What the engine asks its caller to do, and what a walk engine is told about one pass.

use crate::ids::{ClassId, SearchId, ThreadId};
use crate::inline::InlineVec;
use crate::tick::{Bytes, Micros, Tick};

/// Candidate classes a search pursues at once.
pub const MAX_CANDIDATES: usize = 5;
/// Watched threads of one class, and of the whole admission set.
pub const MAX_THREADS: usize = 8;

/// The engine's answer to "what now?".
///
/// An action that needs an answer (all but `Wait` and `Stopped`) is repeated by every
/// [`Engine::poll`](crate::Engine::poll) until its answering input arrives.
#[allow(
    clippy::large_enum_variant,
    reason = "a plan is copied without allocating, once a pass"
)]
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Action {
    /// Nothing to do before `until` unless an input arrives first. Read the GC counters, the
    /// container and the queue of samples at that instant, hand them in, then poll again.
    Wait {
        /// The next instant at which the answer can change by itself.
        until: Tick,
    },
    /// Ask every weak handle whether its referent died; answer with `Input::Swept`.
    Sweep,
    /// Run one pass and answer with `Input::Pass`.
    RunPass(PassPlan),
    /// Release every search-owned tag, handle and visited set; answer with `Input::Released`.
    ReleaseTags(SearchId),
    /// Re-read the cached chains hop by hop; answer with `Input::Reverified`.
    Reverify,
    /// The engine has been stopped and everything search-owned was released.
    Stopped,
}

/// A candidate class and the threads whose frames and fields are looked at early.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Target {
    /// The class; any live instance of it counts.
    pub class: ClassId,
    /// Its qualifying threads, strongest first.
    pub threads: InlineVec<ThreadId, MAX_THREADS>,
    /// Whether its chain is already resolved: such a class is still tallied, not pursued.
    pub resolved: bool,
}

/// Instants within a pass, as elapsed time from its start, at which a part of it ends.
///
/// Reference callbacks read the clock every 4,096 invocations; expansion also in its outer loop.
/// Root callbacks check none (search-control, section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Deadlines {
    /// Static scanning (the earliest).
    pub statics: Micros,
    /// Candidate-thread traversal, from its own start.
    pub candidate_threads: Micros,
    /// Ordinary expansion, from its own start.
    pub expansion: Micros,
    /// Rotation through older frontier entries, from its own start.
    pub rotation: Micros,
    /// Thread CPU time of the whole pass.
    pub cpu: Micros,
}

/// One pass, completely described; a walk engine decides nothing that is not in here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct PassPlan {
    /// The search this pass belongs to; a new number means: start from empty structures.
    pub search: SearchId,
    /// Counted from 1 within the search.
    pub pass: u32,
    /// Look at statics, threads and the frontier and expand them. Statics of application loaders
    /// first, then candidate threads, then other threads and statics, containers before the rest.
    pub expand: bool,
    /// Enumerate the roots that only a safepoint can show (one heap-walk call).
    pub roots: bool,
    /// New objects that may be admitted to the frontier. It bounds admissions, not callbacks or time;
    /// roots already admitted and the conversion of a marked leak object bypass it.
    pub edge_budget: u64,
    /// The same for a root pass of the safepoint engine (`firstpassbudget`).
    pub root_budget: u64,
    /// Where the parts of the pass end.
    pub deadlines: Deadlines,
    /// The classes to find, strongest first.
    pub targets: InlineVec<Target, MAX_CANDIDATES>,
    /// The OOM latch is set.
    pub urgent: bool,
    /// Bytes the search may hold natively (concurrent engine); at the cap leaf-ward subtrees are
    /// evicted and coverage is partial.
    pub memcap: Bytes,
    /// Frontier entries (safepoint engine); exceeding it sets `frontier_cap_hit`.
    pub framecap: u64,
    /// Longest chain in hops, runs collapsed.
    pub hops: u32,
}
