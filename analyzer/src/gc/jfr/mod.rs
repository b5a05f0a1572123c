//! Recordings of JDK 11 and later: the events of one collection, joined by its number.
//!
//! No event carries the desired survivor size: it is derived from the flags where the young generation
//! cannot change its size, and left out elsewhere.

use std::collections::BTreeMap;

use crate::gc::diag::Problem;
use crate::gc::intake::Intake;
use crate::gc::record::{
    AgeTable, Change, Collection, Collector, Kind, Nanos, OldPlab, Promoted, RegionChange, Stamp,
    Why,
};
use crate::gc::rules::{desired, threshold};
use crate::reader::{Chunk, Event, Recording, Struct};

/// Every event type that [`Gather::event`] looks at.
const NAMES: [&str; 22] = [
    "jdk.JVMInformation",
    "jdk.UnsignedIntFlag",
    "jdk.IntFlag",
    "jdk.LongFlag",
    "jdk.UnsignedLongFlag",
    "jdk.SizeFlag",
    "jdk.BooleanFlag",
    "jdk.GCSurvivorConfiguration",
    "jdk.YoungGenerationConfiguration",
    "jdk.G1EvacuationOldStatistics",
    "jdk.GarbageCollection",
    "jdk.YoungGarbageCollection",
    "jdk.ZYoungGarbageCollection",
    "jdk.G1GarbageCollection",
    "jdk.TenuringDistribution",
    "jdk.GCHeapSummary",
    "jdk.PSHeapSummary",
    "jdk.G1HeapSummary",
    "jdk.EvacuationFailed",
    "jdk.PromotionFailed",
    "jdk.GCCPUTime",
    "jfrchains.LeakCandidate",
];

/// Which JVM a chunk is of: process id and start.
type JvmKey = (i64, i64);

/// Reads the collections of a recording into `out`, its chunks in parallel; `progress` hears the
/// chunks done and their number.
pub fn read(recording: &Recording, out: &mut Intake, progress: &mut dyn FnMut(u64, u64)) {
    let total = recording.chunk_count() as u64;
    let mut runs: Vec<(Option<JvmKey>, Gather)> = Vec::new();
    let chunks = recording.map_chunks(read_chunk);
    for (at, (jvm, gather, skipped)) in (1..).zip(chunks) {
        // A chunk that does not say whose it is belongs with the one before it.
        match runs
            .iter_mut()
            .rev()
            .find(|(run, _)| jvm.is_none() || *run == jvm || run.is_none())
        {
            Some((run, into)) => {
                *run = run.or(jvm);
                into.join(gather);
            }
            None => runs.push((jvm, gather)),
        }
        for lost in skipped {
            out.problem(Problem::Recording, 0, lost);
        }
        progress(at, total);
    }
    for lost in recording.skipped() {
        out.problem(Problem::Recording, 0, lost.to_string());
    }
    for (nth, (_, gather)) in runs.into_iter().enumerate() {
        if nth > 0 {
            out.next_run();
        }
        gather.finish(out);
    }
}

/// What one chunk says, and what could not be read of it.
fn read_chunk(chunk: &Chunk<'_>) -> (Option<JvmKey>, Gather, Vec<String>) {
    let mut gather = Gather::default();
    let mut jvm = None;
    for event in chunk.events_of(|declared| NAMES.contains(&declared.name())) {
        if event.name() == "jdk.JVMInformation" {
            jvm = jvm.or_else(|| Some((event.i64("pid")?, event.time("jvmStartTime")?.0)));
        }
        gather.event(&event);
    }
    let skipped = chunk.skipped().map(ToString::to_string).collect();
    (jvm, gather, skipped)
}

/// Events of one collection.
#[derive(Debug, Default, Clone)]
struct Parts {
    name: Option<String>,
    cause: Option<String>,
    start: Option<i64>,
    pauses: Option<Nanos>,
    threshold: Option<u8>,
    ages: Option<AgeTable>,
    g1_type: Option<String>,
    heap: [Option<(u64, u64)>; 2],
    parallel: [Option<Spaces>; 2],
    g1: [Option<G1Sizes>; 2],
    plab: Option<OldPlab>,
    evacuation_failed: bool,
    promotion_failed: bool,
    cpu: Option<[Nanos; 3]>,
}

/// Parallel's spaces: used and size.
#[derive(Debug, Clone, Copy)]
struct Spaces {
    old: (u64, u64),
    eden: (u64, u64),
    from: (u64, u64),
}

/// G1's sizes.
#[derive(Debug, Clone, Copy)]
struct G1Sizes {
    eden: u64,
    eden_total: u64,
    survivor: u64,
}

/// Events of one JVM.
#[derive(Debug, Default)]
struct Gather {
    gcs: BTreeMap<i64, Parts>,
    max_threshold: Option<u8>,
    young: Option<(u64, u64)>,
    flags: crate::gc::intake::Flags,
    region: Option<u64>,
    version: Option<String>,
    started: Option<i64>,
    candidates: u64,
}

impl Gather {
    fn join(&mut self, later: Gather) {
        for (id, parts) in later.gcs {
            self.gcs.entry(id).or_default().join(parts);
        }
        self.max_threshold = later.max_threshold.or(self.max_threshold);
        self.young = later.young.or(self.young);
        self.region = later.region.or(self.region);
        self.version = later.version.or(self.version.take());
        self.started = self.started.or(later.started);
        self.candidates += later.candidates;
        self.flags.join(&later.flags);
    }

    fn event(&mut self, e: &Event<'_>) {
        let Some(name) = e.name().strip_prefix("jdk.") else {
            self.candidates += u64::from(e.name() == "jfrchains.LeakCandidate");
            return;
        };
        match name {
            "UnsignedIntFlag" | "IntFlag" | "LongFlag" | "UnsignedLongFlag" | "SizeFlag" => {
                if let (Some(name), Some(value)) = (e.text("name"), unsigned(e, "value")) {
                    let name = name.to_str();
                    self.flags.set(&name, value);
                    if name == "G1HeapRegionSize" && value > 0 {
                        self.region = Some(value);
                    }
                }
            }
            "BooleanFlag" => {
                if let (Some(name), Some(on)) = (e.text("name"), e.bool("value")) {
                    self.flags.set_bool(&name.to_str(), on);
                }
            }
            "GCSurvivorConfiguration" => {
                self.max_threshold = e
                    .i64("maxTenuringThreshold")
                    .and_then(|t| u8::try_from(t).ok());
            }
            "YoungGenerationConfiguration" => {
                self.young = unsigned(e, "minSize").zip(unsigned(e, "maxSize"));
            }
            "JVMInformation" => {
                self.version = e.text("jvmVersion").map(|t| t.to_str().into_owned());
                self.started = e.time("jvmStartTime").map(|t| t.0);
            }
            _ => self.collection_event(name, e),
        }
    }

    fn collection_event(&mut self, name: &str, e: &Event<'_>) {
        let id = match name {
            "G1EvacuationOldStatistics" => e.i64("statistics.gcId"),
            "GarbageCollection"
            | "YoungGarbageCollection"
            | "ZYoungGarbageCollection"
            | "G1GarbageCollection"
            | "TenuringDistribution"
            | "GCHeapSummary"
            | "PSHeapSummary"
            | "G1HeapSummary"
            | "EvacuationFailed"
            | "PromotionFailed"
            | "GCCPUTime" => e.i64("gcId"),
            _ => return,
        };
        // `gcId` is unsigned 32 bits with -1 for none.
        let Some(id) = id.filter(|id| (0..i64::from(u32::MAX)).contains(id)) else {
            return;
        };
        self.gcs.entry(id).or_default().event(name, e);
    }

    /// Hands the collections on in the order they started.
    fn finish(self, out: &mut Intake) {
        out.recording_run(self.started);
        let facts = out.facts();
        facts.recording = true;
        facts.version = self.version.clone();
        facts.region_bytes = self.region;
        facts.pretouch = self.flags.pretouch;
        facts.flags = self.flags.clone();
        facts.leak_candidates = self.candidates;
        facts.saw_ages = self.gcs.values().any(|p| p.ages.is_some());
        facts.saw_plab = self.gcs.values().any(|p| p.plab.is_some());
        let mut order: Vec<(i64, &Parts)> = self
            .gcs
            .iter()
            .filter(|(_, p)| p.name.is_some())
            .map(|(id, p)| (*id, p))
            .collect();
        order.sort_by_key(|(id, p)| (p.start, *id));
        let mut old = OldSize::default();
        for (id, parts) in order {
            if let Some(mut r) = self.record(id, parts) {
                old.follow(&mut r);
                out.facts().saw_desired |= r.desired.is_some();
                out.collection(r, None);
            }
        }
    }

    fn record(&self, id: i64, p: &Parts) -> Option<Collection> {
        let (collector, kind) = kind_of(p)?;
        let mut r = Collection::new(collector, kind);
        r.gc_id = u64::try_from(id).ok();
        r.title = p.name.as_deref().map(Into::into);
        r.gc_cause = p.cause.as_deref().map(Into::into);
        r.at = Stamp {
            wall: p.start,
            offset_min: None,
            uptime: p
                .start
                .zip(self.started)
                .and_then(|(now, then)| u64::try_from(now - then).ok())
                .map(Nanos),
        };
        r.pause = p.pauses;
        if let Some([user, sys, real]) = p.cpu {
            (r.user, r.sys, r.real) = (Some(user), Some(sys), Some(real));
        }
        r.heap = change(p.heap);
        r.heap_fine = true;
        r.evacuation_failed = p.evacuation_failed;
        r.promotion_failed = p.promotion_failed;
        r.max_threshold = self.max_threshold;
        if kind.is_young() || collector == Collector::Zgc {
            r.threshold_used = p.threshold;
            r.ages = p.ages;
        }
        match collector {
            Collector::Serial | Collector::ParNew => self.fixed_young(&mut r),
            Collector::Parallel => parallel(p, &mut r),
            Collector::G1 => self.g1(p, &mut r),
            _ => {}
        }
        Some(r)
    }

    /// Serial and ParNew: sizes follow from the flags when the young generation cannot be resized.
    fn fixed_young(&self, r: &mut Collection) {
        if r.collector == Collector::ParNew && r.kind.is_young() {
            r.promoted = Promoted::NotComputable(Why::BufferWaste);
        }
        let (Some((min, max)), Some(ratio)) = (self.young, self.flags.survivor_ratio) else {
            return;
        };
        if min != max || !r.kind.is_young() {
            return;
        }
        let target = self
            .flags
            .target_survivor_ratio
            .unwrap_or(desired::DEFAULT_TARGET_SURVIVOR_RATIO);
        let survivor = desired::survivor(max, ratio);
        r.survivor_cap = Some(survivor);
        r.desired = Some(desired::desired(survivor, target));
        r.young_total = Some(max);
        if let (Some(ages), Some(desired), Some(max @ 1..=15)) =
            (r.ages, r.desired, self.max_threshold)
        {
            r.threshold_printed = Some(threshold::compute(&ages, desired, max));
        }
    }

    fn g1(&self, p: &Parts, r: &mut Collection) {
        r.region_bytes = self.region;
        r.plab = p.plab;
        let ([Some(before), Some(after)], Some(heap)) = (p.g1, r.heap) else {
            return;
        };
        r.young = Some(Change {
            before: before.eden.saturating_add(before.survivor),
            after: after.eden.saturating_add(after.survivor),
            cap_before: None,
            cap: None,
        });
        let old = Change {
            before: heap
                .before
                .saturating_sub(before.eden.saturating_add(before.survivor)),
            after: heap
                .after
                .saturating_sub(after.eden.saturating_add(after.survivor)),
            ..Change::default()
        };
        r.old = Some(old);
        if kind_is_young_only(r.kind) && r.plab.is_none() {
            r.promoted = if r.evacuation_failed {
                // Whole retained regions would count as promoted.
                Promoted::NotComputable(Why::PromotionFailed)
            } else {
                Promoted::AtMost(old.after.saturating_sub(old.before))
            };
        }
        let Some(region) = self.region.filter(|b| *b > 0) else {
            return;
        };
        let regions = |bytes: u64| bytes.div_ceil(region);
        let ratio = self
            .flags
            .survivor_ratio
            .unwrap_or(desired::DEFAULT_SURVIVOR_RATIO);
        let target = self
            .flags
            .target_survivor_ratio
            .unwrap_or(desired::DEFAULT_TARGET_SURVIVOR_RATIO);
        let young = regions(before.eden_total.saturating_add(before.survivor));
        let limit = desired::g1_survivor_regions(young, ratio);
        r.regions.eden = Some(RegionChange {
            before: regions(before.eden),
            after: regions(after.eden),
            limit: None,
        });
        r.regions.survivor = Some(RegionChange {
            before: regions(before.survivor),
            after: regions(after.survivor),
            limit: Some(limit),
        });
        r.young_total = Some(young.saturating_mul(region));
        if r.kind.is_young() {
            r.desired = Some(desired::g1_desired(young, ratio, region, target));
        }
    }
}

fn kind_is_young_only(kind: Kind) -> bool {
    kind.is_young() && kind != Kind::Mixed
}

impl Parts {
    fn join(&mut self, later: Parts) {
        self.name = later.name.or(self.name.take());
        self.cause = later.cause.or(self.cause.take());
        self.start = self.start.or(later.start);
        self.pauses = later.pauses.or(self.pauses);
        self.threshold = later.threshold.or(self.threshold);
        self.ages = later.ages.or(self.ages);
        self.g1_type = later.g1_type.or(self.g1_type.take());
        for at in [0, 1] {
            if let (Some(mine), Some(theirs)) = (self.heap.get_mut(at), later.heap.get(at)) {
                *mine = mine.or(*theirs);
            }
            if let (Some(mine), Some(theirs)) = (self.parallel.get_mut(at), later.parallel.get(at))
            {
                *mine = mine.or(*theirs);
            }
            if let (Some(mine), Some(theirs)) = (self.g1.get_mut(at), later.g1.get(at)) {
                *mine = mine.or(*theirs);
            }
        }
        self.plab = later.plab.or(self.plab);
        self.evacuation_failed |= later.evacuation_failed;
        self.promotion_failed |= later.promotion_failed;
        self.cpu = later.cpu.or(self.cpu);
    }

    fn event(&mut self, name: &str, e: &Event<'_>) {
        match name {
            "GarbageCollection" => {
                self.name = e.text("name").map(|t| t.to_str().into_owned());
                self.cause = e.text("cause").map(|t| t.to_str().into_owned());
                self.start = e.start().map(|t| t.0);
                self.pauses = span(e, "sumOfPauses");
            }
            "YoungGarbageCollection" | "ZYoungGarbageCollection" => {
                self.threshold = e
                    .i64("tenuringThreshold")
                    .and_then(|t| u8::try_from(t).ok());
            }
            "G1GarbageCollection" => {
                self.g1_type = e.text("type").map(|t| t.to_str().into_owned());
            }
            "TenuringDistribution" => {
                if let (Some(age), Some(size)) = (
                    e.i64("age").and_then(|a| u8::try_from(a).ok()),
                    unsigned(e, "size"),
                ) {
                    self.ages.get_or_insert_default().set(age, size);
                }
            }
            "GCHeapSummary" => {
                if let Some(slot) = when(e).and_then(|at| self.heap.get_mut(at)) {
                    *slot = unsigned(e, "heapUsed").zip(unsigned(e, "heapSpace.committedSize"));
                }
            }
            "PSHeapSummary" => {
                if let Some(slot) = when(e).and_then(|at| self.parallel.get_mut(at)) {
                    *slot = (|| {
                        Some(Spaces {
                            old: space(e, "oldObjectSpace")?,
                            eden: space(e, "edenSpace")?,
                            from: space(e, "fromSpace")?,
                        })
                    })();
                }
            }
            "G1HeapSummary" => {
                if let Some(slot) = when(e).and_then(|at| self.g1.get_mut(at)) {
                    *slot = (|| {
                        Some(G1Sizes {
                            eden: unsigned(e, "edenUsedSize")?,
                            eden_total: unsigned(e, "edenTotalSize")?,
                            survivor: unsigned(e, "survivorUsedSize")?,
                        })
                    })();
                }
            }
            "G1EvacuationOldStatistics" => {
                self.plab = Some(OldPlab {
                    used: unsigned(e, "statistics.used"),
                    direct: unsigned(e, "statistics.directAllocated"),
                    failed: unsigned(e, "statistics.failureUsed").unwrap_or(0),
                });
            }
            "EvacuationFailed" => self.evacuation_failed = true,
            "PromotionFailed" => self.promotion_failed = true,
            "GCCPUTime" => {
                self.cpu = (|| {
                    Some([
                        span(e, "userTime")?,
                        span(e, "systemTime")?,
                        span(e, "realTime")?,
                    ])
                })();
            }
            _ => {}
        }
    }
}

/// Tracks Serial's old generation: heap after less the survivors.
#[derive(Debug, Default)]
struct OldSize {
    before: Option<u64>,
    seen: bool,
}

impl OldSize {
    fn follow(&mut self, r: &mut Collection) {
        if r.collector != Collector::Serial {
            return;
        }
        if !r.kind.is_young() {
            self.before = None;
            self.seen = true;
            return;
        }
        let after = r
            .heap
            .zip(r.ages)
            .and_then(|(heap, ages)| heap.after.checked_sub(ages.total()));
        // In the first collection nothing has an age: with room to spare nothing leaves.
        let first = !self.seen && r.gc_id == Some(0) && r.threshold_used.is_some_and(|t| t > 0);
        let room = crate::gc::rules::cause::survivors_full(r) == Some(false);
        let before = self.before.or(if first && room { after } else { None });
        match (before, after) {
            (Some(before), Some(after)) => {
                r.old = Some(Change {
                    before,
                    after,
                    ..Change::default()
                });
            }
            _ => r.promoted = Promoted::NotComputable(Why::NoPrevious),
        }
        self.before = after;
        self.seen = true;
    }
}

fn parallel(p: &Parts, r: &mut Collection) {
    let [Some(before), Some(after)] = p.parallel else {
        return;
    };
    r.old = Some(Change {
        before: before.old.0,
        after: after.old.0,
        cap_before: Some(before.old.1),
        cap: Some(after.old.1),
    });
    r.young = Some(Change {
        before: before.eden.0.saturating_add(before.from.0),
        after: after.eden.0.saturating_add(after.from.0),
        cap_before: Some(before.eden.1.saturating_add(before.from.1)),
        cap: Some(after.eden.1.saturating_add(after.from.1)),
    });
    r.survivor = Some(Change {
        before: before.from.0,
        after: after.from.0,
        cap_before: Some(before.from.1),
        cap: Some(after.from.1),
    });
    r.survivor_cap = Some(after.from.1);
}

fn kind_of(p: &Parts) -> Option<(Collector, Kind)> {
    let young_g1 = || match p.g1_type.as_deref() {
        Some("Mixed") => Kind::Mixed,
        Some("Initial Mark" | "Concurrent Start") => Kind::ConcurrentStart,
        Some("Prepare Mixed" | "Last Pause In Young") => Kind::PrepareMixed,
        _ => Kind::Young,
    };
    Some(match p.name.as_deref()? {
        "DefNew" => (Collector::Serial, Kind::Young),
        "SerialOld" | "MarkSweepCompact" => (Collector::Serial, Kind::Full),
        "ParNew" => (Collector::ParNew, Kind::Young),
        "ConcurrentMarkSweep" => (Collector::ParNew, Kind::ConcurrentOld),
        "ParallelScavenge" => (Collector::Parallel, Kind::Young),
        "ParallelOld" | "PSMarkSweep" => (Collector::Parallel, Kind::Full),
        "G1New" => (Collector::G1, young_g1()),
        "G1Old" => (Collector::G1, Kind::ConcurrentOld),
        "G1Full" => (Collector::G1, Kind::Full),
        "ZGC Minor" => (Collector::Zgc, Kind::ConcurrentYoung),
        "ZGC Major" | "Z" | "ZGC" => (Collector::Zgc, Kind::ConcurrentOld),
        "Shenandoah" if p.ages.is_some() => (Collector::Shenandoah, Kind::ConcurrentYoung),
        "Shenandoah" => (Collector::Shenandoah, Kind::ConcurrentOld),
        _ => (Collector::Unknown, Kind::Full),
    })
}

fn change([before, after]: [Option<(u64, u64)>; 2]) -> Option<Change> {
    let ((before, cap_before), (after, cap)) = before.zip(after)?;
    Some(Change {
        before,
        after,
        cap_before: Some(cap_before),
        cap: Some(cap),
    })
}

/// 0 for "Before GC", 1 for "After GC".
fn when(e: &Event<'_>) -> Option<usize> {
    let when = e.text("when")?.to_str().into_owned();
    match when.as_str() {
        "Before GC" => Some(0),
        "After GC" => Some(1),
        _ => None,
    }
}

fn space(e: &Event<'_>, name: &str) -> Option<(u64, u64)> {
    let s: Struct<'_> = e.get_struct(name)?;
    let read = |field| s.i64(field).and_then(|v| u64::try_from(v).ok());
    read("used").zip(read("size"))
}

fn unsigned(e: &Event<'_>, field: &str) -> Option<u64> {
    e.i64(field).and_then(|v| u64::try_from(v).ok())
}

fn span(e: &Event<'_>, field: &str) -> Option<Nanos> {
    e.span(field)
        .and_then(|s| u64::try_from(s.0).ok())
        .map(Nanos)
}

#[cfg(test)]
mod tests;
