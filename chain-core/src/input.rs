//! What the engine is told. Every reading and answer comes in through here, with its instant.

use crate::ids::{ClassId, SampleId, ThreadId, TraceId};
use crate::liveness::FoldSummary;
use crate::record::Drops;
use crate::tick::{Bytes, Epoch};
use crate::walk::{ChainAlive, PassReport, ReleaseReport};

/// One input; see [`Engine::handle`](crate::Engine::handle).
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The allocation sampling engine runs; without it nothing is armed.
    SamplingStarted,
    /// Another agent has it, or the JVM refuses. Said once in an AgentStatus event and on stderr.
    SamplingUnavailable(Refusal),
    /// GC counters, read at every wake-up.
    Gc(GcReading),
    /// Container memory, read at every wake-up; failed readings are not handed in.
    Container(ContainerReading),
    /// One sample that [`admission`](crate::admission) let through.
    Sample(Sample),
    /// Answer to `Action::Sweep`: handles whose referents died.
    Swept {
        /// The dead; each is given back through `take_released`.
        dead: Vec<SampleId>,
    },
    /// A recording began to take our events: cached chains are re-verified and emitted again.
    RecordingStarted,
    /// The last recording that takes our events ended: the search ends without an abandonment.
    RecordingStopped,
    /// Answer to `Action::RunPass`.
    Pass(PassReport),
    /// Answer to `Action::ReleaseTags`.
    Released(ReleaseReport),
    /// Answer to `Action::Reverify`, one entry a cached chain that was looked at.
    Reverified(Vec<ChainAlive>),
    /// What the sampling callback counted, when it changed.
    AdmissionCounts(AdmissionCounts),
    /// The JVM ends or the agent was told to go.
    Stop,
}

/// Totals of the sampling callback since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct AdmissionCounts {
    /// Samples admitted by the urgent boost alone ([`crate::admission::Verdict::Boost`]).
    pub boost_admits: u64,
    /// Samples that the boost would have admitted, had the table room
    /// ([`crate::admission::Verdict::BackedOff`]).
    pub boost_backed_off: u64,
}

/// Why allocation sampling is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Refusal {
    /// The capability is exclusive and another environment holds it.
    HeldByAnotherAgent,
    /// The JVM does not offer it.
    NotOffered,
    /// JVMTI returned an error when it was enabled.
    Error,
}

/// GC counters and heap usage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct GcReading {
    /// Normalised cycles since the JVM started ([`crate::collector`]).
    pub epoch: Epoch,
    /// Old, mixed or full collections among them: what confirms a candidate on G1, Serial, Parallel.
    pub old_collections: u64,
    /// Heap bytes in use after the last collection; `None` when unreadable.
    pub used_after_gc: Option<Bytes>,
    /// `used_after_gc` is `Runtime` total - free, not the collector's own figure.
    pub approximate: bool,
    /// `Runtime.maxMemory()`.
    pub max_heap: Option<Bytes>,
}

/// Container memory from cgroup v2, then v1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ContainerReading {
    /// memory.current.
    pub used: Bytes,
    /// memory.max; `None` = "max", no boundary.
    pub max: Option<Bytes>,
}

/// A sampled allocation that was admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The agent's handle slot.
    pub id: SampleId,
    /// Class of the object.
    pub class: ClassId,
    /// Allocating thread.
    pub thread: ThreadId,
    /// Size of the object itself.
    pub object: Bytes,
    /// Allocated bytes it stands for, the carry of rejected samples included.
    pub weight: Bytes,
    /// Normalised epoch when it was sampled.
    pub epoch: Epoch,
    /// Its allocation stack.
    pub trace: TraceId,
}

/// What the decider sees: the replayable half of [`Input`], with folds in place of samples.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Fact {
    /// Sampling runs.
    SamplingStarted,
    /// Sampling is not to be had.
    SamplingUnavailable(Refusal),
    /// GC counters.
    Gc(GcReading),
    /// Container memory.
    Container(ContainerReading),
    /// A processed epoch range of the liveness table.
    Fold(FoldSummary),
    /// A sweep ended.
    Swept,
    /// Samples wait at a full table.
    SweepWanted,
    /// Totals that events carry and no decision reads.
    Drops(Drops),
    /// A recording takes our events.
    RecordingStarted,
    /// None does any more.
    RecordingStopped,
    /// A pass ended; chains are reduced to what decides.
    Pass(PassReport),
    /// Tags were released, or not.
    Released(ReleaseReport),
    /// Cached chains were re-read.
    Reverified(Vec<ChainAlive>),
    /// The end.
    Stop,
}
