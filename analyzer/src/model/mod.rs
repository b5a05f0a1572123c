//! What recordings say about leaks, whoever recorded them: one model for every report and check.
//!
//! Builders read events into it and merge recordings; the renderers of a report only
//! print it.

pub mod build;
pub mod chain;
pub mod identity;
pub mod leaks;
pub mod merge;
pub mod no_chain;
pub mod noise;
pub(crate) mod root_kind;
pub mod time;
pub mod trend;
pub mod verdict;

use std::collections::BTreeMap;

use serde::Serialize;

pub use chain::{Chain, Edge, EdgeKind, Frame, Hop, Producer, Root, RootKind, Strength};
pub use no_chain::{NoChain, NoChainState};
pub use noise::Noise;
pub use time::{EpochNanos, Nanos};

/// One input file as it was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputInfo {
    /// Path as given, or `-`.
    pub path: String,
    /// Chunks that could be read, at least in part.
    pub chunks: u64,
    /// Events that were read, of all declared types.
    pub events: u64,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
    /// First event's time.
    pub start: Option<EpochNanos>,
    /// Last event's time.
    pub end: Option<EpochNanos>,
    /// Position of its JVM in `jvms`, when it names one.
    pub jvm: Option<usize>,
}

/// One part of an input that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Chunk number from 0, when it was inside a chunk.
    pub chunk: Option<u64>,
    /// Byte offset in the (unpacked) input.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

/// The JVM that a recording comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Jvm {
    /// `OpenJDK 64-Bit Server VM`.
    pub name: Option<String>,
    /// The version string.
    pub version: Option<String>,
    /// Process id.
    pub pid: Option<i64>,
    /// When the JVM started.
    pub started: Option<EpochNanos>,
    /// Main class and arguments.
    pub java_arguments: Option<String>,
    /// Collector names, young first.
    pub collector: Option<String>,
    /// Maximum heap size.
    pub max_heap_bytes: Option<u64>,
}

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Something grows and does not stop.
    Leak,
    /// It grew and stopped.
    Plateau,
    /// Watched long enough: nothing grows.
    NoLeak,
    /// The process grows, the Java heap does not.
    NotHeap,
    /// The recording cannot answer.
    Unknown,
}

impl Verdict {
    /// The verdict's word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Plateau => "plateau",
            Self::NoLeak => "no-leak",
            Self::NotHeap => "not-heap",
            Self::Unknown => "unknown",
        }
    }
}

/// A class whose population is watched, and how far it is from a signal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The class.
    pub class: String,
    /// Whether it qualified at its last report.
    pub qualifying: bool,
    /// Whether it qualified at any time.
    pub ever_qualified: bool,
    /// The producer's word for where it stands.
    pub state: Option<String>,
    /// Whether a collection that clears old garbage confirmed it; `None` when not told.
    pub confirmed: Option<bool>,
    /// Signal values so far, and how many are needed.
    pub values: Option<Progress>,
    /// Qualifying folds in a row, and how many are needed.
    pub folds: Option<Progress>,
    /// Distinct GC ages among its survivors at the last report, fitted.
    pub ages: Option<f64>,
    /// Fitted growth of the ages over the window.
    pub fitted_growth: Option<f64>,
    /// Tracked instances that survive.
    pub instances: Option<u64>,
    /// Bytes that the retained samples stand for.
    pub retained_sampled_bytes: Option<u64>,
    /// Growth of those bytes.
    pub growth_bytes_per_hour: Option<f64>,
    /// Earliest possible signal, from the last report.
    pub earliest_signal_ns: Option<Nanos>,
    /// Thread that allocates most.
    pub thread: Option<String>,
    /// Where that thread allocates.
    pub stack: Vec<Frame>,
    /// Why its ages say nothing yet: premature promotion or warm-up since the last old collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discounted: Option<String>,
    /// Ids of chains that hold it.
    pub chains: Vec<String>,
    /// What the searches say when it has none; `None` with a chain, and when it never qualified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_chain: Option<NoChain>,
    /// Why it is ranked last, if it is.
    pub noise: Option<Noise>,
    /// Distinct ages over time.
    pub series: Vec<AgePoint>,
}

/// Distinct GC ages of a class at one fold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AgePoint {
    /// When.
    pub time: EpochNanos,
    /// Distinct ages, fitted.
    pub ages: f64,
}

/// So many of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Reached.
    pub have: u64,
    /// Needed.
    pub need: u64,
}

impl Candidate {
    /// "7 of 10 values, 2 of 5 folds", as far as it is known.
    pub fn progress_words(&self) -> Option<String> {
        let part = |p: Option<Progress>, what: &str| {
            p.map(|p| format!("{} of {} {what}", p.have.min(p.need), p.need))
        };
        let parts: Vec<_> = [part(self.values, "values"), part(self.folds, "folds")]
            .into_iter()
            .flatten()
            .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "kebab-case")]
pub enum SearchEnd {
    /// Everything it looked for was resolved.
    Completed,
    /// It stopped early; the producer's word for why.
    Abandoned(String),
    /// It was stopped with its recording.
    Stopped,
    /// The recording ends while it ran.
    Running,
}

/// One search for chains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    /// The producer's number of the search.
    pub id: Option<u64>,
    /// Who searched.
    pub producer: Producer,
    /// Position of its recording in `inputs`.
    pub input: usize,
    /// First pass.
    pub start: Option<EpochNanos>,
    /// End of the last pass.
    pub end: Option<EpochNanos>,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: SearchEnd,
    /// Passes made.
    pub passes: u64,
    /// Objects visited.
    pub visited: Option<u64>,
    /// Heap-walk-call time in total.
    pub heap_walk_call_ns: Nanos,
    /// Manual-walk time in total.
    pub manual_walk_ns: Nanos,
    /// Heap-walk-call time of the worst pass.
    pub worst_pass_ns: Nanos,
    /// Part of the heap looked at, 0..=1.
    pub coverage: Option<f64>,
    /// Figures that explain an abandonment, as told.
    pub details: BTreeMap<String, String>,
}

/// What watching and searching cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Elapsed time around heap-walk calls.
    pub heap_walk_call_ns: Nanos,
    /// Pass time outside heap-walk calls: a wall-time proxy of CPU.
    pub manual_walk_ns: Nanos,
    /// Passes made.
    pub passes: u64,
    /// Heap-walk-call time of the worst pass.
    pub worst_pass_ns: Nanos,
    /// Refusals of the start gate and of passes, by name.
    pub refusals: BTreeMap<String, u64>,
    /// Last safepoint-cost balance, when told: debt that delays the next search.
    pub safepoint_balance_ns: Option<Nanos>,
    /// Last CPU-cost balance, when told.
    pub cpu_balance_ns: Option<Nanos>,
    /// Last effective edge budget: admissions that a pass may make.
    pub edge_budget: Option<u64>,
    /// Last effective cadence: the least time between passes.
    pub cadence_ns: Option<Nanos>,
    /// Last backoff for want of candidate progress; 1 is none.
    pub backoff_multiplier: Option<u64>,
    /// Candidates without a resolved chain at the last decision.
    pub unresolved_candidates: Option<u64>,
    /// Balances and budgets over time.
    pub series: Vec<CostPoint>,
}

/// Budgets at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostPoint {
    /// When.
    pub time: EpochNanos,
    /// Safepoint-cost balance.
    pub safepoint_balance_ns: Option<Nanos>,
    /// CPU-cost balance.
    pub cpu_balance_ns: Option<Nanos>,
    /// Effective edge budget.
    pub edge_budget: Option<u64>,
}

/// One pass of a search, for the plots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PassPoint {
    /// When it started.
    pub time: EpochNanos,
    /// How long it took.
    pub wall: Nanos,
    /// Part of that in heap-walk calls.
    pub heap_walk_call: Nanos,
}

/// When the heap runs full at the present rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Oom {
    /// Last usable projection.
    pub seconds_to_oom: Option<f64>,
    /// Whether the urgent latch was ever set.
    pub urgent: Option<bool>,
    /// Why there is no projection, when there is none.
    pub why_not: Option<String>,
}

/// The agent's own state at the end of the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AgentStatus {
    /// Agent version.
    pub version: Option<String>,
    /// `active`, `idle`, and why.
    pub state: Option<String>,
    /// Options as the agent understood them.
    pub configuration: Option<String>,
    /// The walk engine.
    pub engine: Option<String>,
    /// Where epochs come from.
    pub epoch_source: Option<String>,
    /// Epochs seen.
    pub epochs: Option<u64>,
    /// Sampled allocations seen.
    pub samples: Option<u64>,
    /// What works less well here, in the agent's words.
    pub degradations: Vec<String>,
    /// Things that were counted because they could not be kept.
    pub drops: BTreeMap<String, u64>,
}

impl AgentStatus {
    /// Whether it did nothing: its options were refused, another agent has the sampling, or it was stopped before it
    /// began.
    pub fn is_idle(&self) -> bool {
        self.state.as_deref() == Some("idle") && self.samples.unwrap_or(0) == 0
    }

    /// Why it did nothing, as a sentence.
    pub fn why_idle(&self) -> String {
        match self.degradations.as_slice() {
            [] => "it had sampled no allocation at its last word.".to_owned(),
            all => format!("{}.", all.join("; ").trim_end_matches('.')),
        }
    }
}

/// Used heap after a collection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FloorPoint {
    /// When.
    pub time: EpochNanos,
    /// Bytes used.
    pub used_bytes: u64,
    /// Bytes allowed, when known.
    pub max_bytes: Option<u64>,
    /// Which JVM's heap: its position in `jvms`.
    pub jvm: usize,
}

impl Report {
    /// Whether anything that can show a leak was in the inputs: events of an agent that worked, or chains.
    pub fn is_analysed(&self) -> bool {
        let found =
            !self.chains.is_empty() || !self.searches.is_empty() || !self.candidates.is_empty();
        match &self.agent {
            Some(agent) => found || !agent.is_idle(),
            None => !self.chains.is_empty() || !self.searches.is_empty(),
        }
    }
}

/// Everything the inputs say, merged.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The files.
    pub inputs: Vec<InputInfo>,
    /// Their JVMs, in order of first appearance.
    pub jvms: Vec<Jvm>,
    /// The answer.
    pub verdict: Verdict,
    /// Why, in one or more sentences.
    pub reason: String,
    /// Watched classes, the strongest first.
    pub candidates: Vec<Candidate>,
    /// Chains, the strongest first.
    pub chains: Vec<Chain>,
    /// Searches in order of time.
    pub searches: Vec<Search>,
    /// What it cost.
    pub cost: Cost,
    /// Projection.
    pub oom: Oom,
    /// The agent, when there was one.
    pub agent: Option<AgentStatus>,
    /// Post-GC heap usage over time.
    pub heap_floor: Vec<FloorPoint>,
    /// Passes over time.
    pub passes: Vec<PassPoint>,
    /// What the recording lacks and how to get it.
    pub hints: Vec<String>,
    /// What garbage collection has to do with it, when there is something to say.
    pub gc: Option<crate::gc::section::Section>,
}

impl Report {
    /// Adds what the collections of the same recordings say: a section, and the discount of candidates
    /// that no old collection has confirmed yet.
    pub fn add_collections(&mut self, analysis: &crate::gc::analysis::Analysis) {
        self.gc = crate::gc::section::of(analysis, !self.candidates.is_empty());
        let discount = self.gc.as_ref().and_then(|gc| gc.discount.clone());
        for candidate in &mut self.candidates {
            if candidate.confirmed != Some(true) {
                candidate.discounted.clone_from(&discount);
            }
        }
    }
}
