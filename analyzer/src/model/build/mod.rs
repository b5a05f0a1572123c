//! From events to facts: one chunk at a time, in parallel, nothing kept but what a report needs.

mod datadog;
#[cfg(test)]
mod handmade;
mod old_object;
mod own;
mod path_text;
mod process;
mod root_words;
mod series;
mod source;
#[cfg(test)]
mod tests;

use self::old_object::OldObjects;
use self::own::OwnFacts;
use self::process::ProcessFacts;
use super::{
    AgentStatus, Candidate, Chain, Cost, EpochNanos, FloorPoint, InputInfo, Jvm, Oom, PassPoint,
    Search, Skipped,
};
use crate::reader::{self, Chunk, Recording};

pub use self::old_object::Survivors;
pub use self::source::Fields;
use super::verdict::Watched;

/// Names of the event types that this module reads.
const PREFIXES: &[&str] = &["jfrchains.", "datadog.ReferenceChain"];
const NAMES: &[&str] = &[
    "jdk.OldObjectSample",
    "jdk.JVMInformation",
    "jdk.GCConfiguration",
    "jdk.GCHeapConfiguration",
    "jdk.GCHeapSummary",
    "jdk.ResidentSetSize",
    "jdk.DirectBufferStatistics",
    "jdk.MetaspaceSummary",
    "jdk.ActiveSetting",
];

/// What one recording says, before it is merged and judged.
#[derive(Debug, Default)]
pub struct Facts {
    /// The JVM, as far as it is known.
    pub jvm: Jvm,
    /// The agent, when it was there.
    pub agent: Option<AgentStatus>,
    /// When it started: the same in every recording of one JVM.
    pub agent_start: Option<EpochNanos>,
    /// How long it had watched at its last word.
    pub watched: Option<Watched>,
    /// Chains of all producers.
    pub chains: Vec<Chain>,
    /// Watched classes.
    pub candidates: Vec<Candidate>,
    /// Searches.
    pub searches: Vec<Search>,
    /// Their cost.
    pub cost: Cost,
    /// Projection.
    pub oom: Oom,
    /// Post-GC usage: the agent's series, else the JVM's.
    pub floor: Vec<FloorPoint>,
    /// Usage after every collection that was told, for pictures.
    pub heap: Vec<FloorPoint>,
    /// The agent's word on the floor's trend.
    pub floor_rising: Option<bool>,
    /// Passes.
    pub passes: Vec<PassPoint>,
    /// Memory outside the heap: what it is, and its series.
    pub outside: Vec<(&'static str, Vec<(EpochNanos, u64)>)>,
    /// `jdk.OldObjectSample` events, each sample once.
    pub old_objects: u64,
    /// Those with a path to a GC root.
    pub old_objects_with_path: u64,
    /// Old objects without a path, by class.
    pub survivors: Vec<(String, Survivors)>,
    /// The recording's `cutoff` of `jdk.OldObjectSample`.
    pub old_object_cutoff: Option<String>,
}

/// The parts of [`Facts`] while chunks are read.
#[derive(Debug, Default)]
struct Parts {
    own: OwnFacts,
    process: ProcessFacts,
    old_objects: OldObjects,
    datadog: OldObjects,
    datadog_searches: Vec<Search>,
    first: Option<EpochNanos>,
    last: Option<EpochNanos>,
    events: u64,
    skipped: Vec<Skipped>,
}

/// Reads one recording. `progress` is told the bytes of each chunk when it has been read.
pub fn read(recording: &Recording, progress: &(dyn Fn(u64) + Sync)) -> (InputInfo, Facts) {
    let parts = recording.map_chunks(|chunk| {
        let parts = read_chunk(chunk);
        progress(chunk.len() as u64);
        parts
    });
    let chunks = parts.len() as u64;
    let mut all = Parts::default();
    for part in parts {
        all.append(part);
    }
    let mut skipped: Vec<Skipped> = recording.skipped().iter().map(skip).collect();
    skipped.append(&mut all.skipped);
    let info = InputInfo {
        path: recording.path().display().to_string(),
        chunks,
        events: all.events,
        skipped,
        start: all.first,
        end: all.last,
        jvm: None,
    };
    (info, all.finish())
}

fn skip(skipped: &reader::Skipped) -> Skipped {
    Skipped {
        chunk: skipped.chunk.map(|chunk| chunk as u64),
        offset: skipped.offset,
        what: skipped.what.clone(),
    }
}

fn read_chunk(chunk: &Chunk<'_>) -> Parts {
    let mut parts = Parts {
        events: chunk.event_count(),
        ..Parts::default()
    };
    let header = chunk.header();
    parts.note_time(EpochNanos::new(header.start_nanos));
    if header.duration_nanos > 0 {
        parts.note_time(EpochNanos::new(
            header.start_nanos.saturating_add(header.duration_nanos),
        ));
    }
    let ours_alone = is_ours_alone(chunk);
    for event in chunk.events_of(|declared| is_wanted(declared.name())) {
        let Some(at) = event.start().map(source::time) else {
            continue;
        };
        let name = event.name();
        if name.starts_with("jfrchains.") {
            parts.note_time(at);
            parts.own.event(&event, at);
        } else if name == "jdk.OldObjectSample" {
            // Our own file tells each chain a second time in the JVM's terms, for JMC.
            if !ours_alone {
                parts.old_objects.event(&event, at);
            }
        } else if name == "datadog.ReferenceChain" {
            if let Some(chain) = datadog::chain(&event, at) {
                parts.datadog.add(chain);
            }
        } else if name == "datadog.ReferenceChainAbandoned" {
            parts.datadog_searches.push(datadog::abandoned(&event, at));
        } else {
            parts.process.event(&event, at);
        }
    }
    parts.skipped = chunk.skipped().map(skip).collect();
    parts
}

fn is_wanted(name: &str) -> bool {
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether the agent wrote the chunk itself: it has our chains, and no type that only a JVM has.
fn is_ours_alone(chunk: &Chunk<'_>) -> bool {
    let ours =
        |(declared, _): (&reader::Type<'_>, _)| declared.name() == "jfrchains.ReferenceChain";
    chunk.types().by_name("jdk.ActiveRecording").is_none() && chunk.counts().any(ours)
}

impl Parts {
    fn note_time(&mut self, at: EpochNanos) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }

    fn append(&mut self, later: Self) {
        for at in [later.first, later.last].into_iter().flatten() {
            self.note_time(at);
        }
        self.events += later.events;
        self.skipped.extend(later.skipped);
        self.own.append(later.own);
        self.process.append(later.process);
        self.old_objects.append(later.old_objects);
        for chain in later.datadog.chains.into_values() {
            self.datadog.add(chain);
        }
        self.datadog_searches.extend(later.datadog_searches);
    }

    fn finish(mut self) -> Facts {
        let mut facts = Facts {
            jvm: self.process.jvm,
            old_object_cutoff: self.process.old_object_cutoff,
            old_objects: self.old_objects.samples,
            old_objects_with_path: self.old_objects.with_path,
            ..Facts::default()
        };
        let own_floor = std::mem::take(&mut self.own.floor).into_vec();
        facts.floor = if own_floor.is_empty() {
            let mut floor = self.process.floor.into_vec();
            for point in &mut floor {
                point.max_bytes = facts.jvm.max_heap_bytes;
            }
            floor
        } else {
            own_floor
        };
        let heap = std::mem::take(&mut self.own.heap).into_vec();
        facts.heap = if heap.len() > facts.floor.len() {
            heap
        } else {
            facts.floor.clone()
        };
        facts.floor_rising = self.own.floor_rising;
        let container = std::mem::take(&mut self.own.container);
        facts.outside = [
            ("resident memory", self.process.resident),
            ("direct buffers", self.process.direct),
            ("metaspace", self.process.metaspace),
            ("container memory", container),
        ]
        .into_iter()
        .filter(|(_, series)| !series.is_empty())
        .map(|(what, series)| (what, series.into_vec()))
        .collect();
        facts.chains.extend(self.old_objects.chains.into_values());
        facts.chains.extend(self.datadog.chains.into_values());
        facts.searches = Vec::new();
        self.own.finish(&mut facts);
        facts.searches.extend(self.datadog_searches);
        facts.survivors = self.old_objects.without_path.into_iter().collect();
        facts
    }
}
