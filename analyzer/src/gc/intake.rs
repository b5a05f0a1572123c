//! Takes records from a dialect in order, tells one JVM from the next, and works out what needs the
//! previous collection: threshold used, promoted bytes, cause.

use std::collections::BTreeMap;

use super::diag::{Diagnostics, Problem};
pub use super::facts::{Facts, Flags, Totals};
use super::record::{AgeTable, Cause, Collection, Collector, Kind, ThresholdScope};
use super::rules::{cause, desired, promoted};

/// Records kept per JVM; beyond it routine ones are thinned. About 24 MiB.
const KEEP: usize = 24_000;
/// Time may step back this much between entries: they are stamped at their start, but end nested.
const STEP_BACK_NS: u64 = 1_000_000_000;

/// One JVM run.
#[derive(Debug, Clone, Default)]
pub struct Jvm {
    /// What is known of it.
    pub facts: Facts,
    /// Its collections in the order of their ends.
    pub collections: Vec<Collection>,
    /// Counts over all of them.
    pub totals: Totals,
    last: Last,
}

/// The state the next record is read against.
#[derive(Debug, Clone, Default)]
struct Last {
    seen: bool,
    max_id: Option<u64>,
    uptime: Option<u64>,
    wall: Option<i64>,
    threshold_printed: Option<u8>,
    threshold_used: Option<u8>,
    ages: Option<AgeTable>,
    header: bool,
}

/// The intake of one input.
#[derive(Debug, Default)]
pub struct Intake {
    /// JVM runs in order of appearance.
    pub jvms: Vec<Jvm>,
    /// What went wrong.
    pub diagnostics: Diagnostics,
    by_pid: BTreeMap<u64, usize>,
    current: usize,
    input: usize,
    recording: bool,
    stem: String,
    boundary: Option<Boundary>,
}

/// A new input begins: whether its first collection goes on with the last JVM is to be shown.
#[derive(Debug, Clone, Copy)]
struct Boundary {
    /// Both inputs are logs, or both are recordings.
    same_form: bool,
    /// Their names differ in the rotation number only.
    same_stem: bool,
}

impl Intake {
    /// Facts about the JVM whose lines are being read.
    pub fn facts(&mut self) -> &mut Facts {
        &mut self.jvm().facts
    }

    /// The next input begins. Rolled files of one JVM go on where the last one ended; others start anew.
    pub fn begin_input(&mut self, input: usize, name: &str, recording: bool) {
        let stem = name
            .trim_end_matches(".current")
            .trim_end_matches(".gz")
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
            .to_owned();
        if !self.jvms.is_empty() {
            self.boundary = Some(Boundary {
                same_form: recording == self.recording,
                same_stem: stem == self.stem,
            });
        }
        self.input = input;
        self.recording = recording;
        self.stem = stem;
        self.by_pid.clear();
        self.diagnostics.of_input(input);
        if self.boundary.is_some_and(|b| !b.same_form) {
            self.boundary = None;
            self.next_jvm_quietly();
        }
    }

    /// The collections of one JVM in a recording follow; `started` is when that JVM started.
    pub fn recording_run(&mut self, started: Option<i64>) {
        if self.boundary.take().is_none() {
            return;
        }
        let last = &self.jvm().last;
        let before = last
            .wall
            .zip(last.uptime)
            .and_then(|(wall, up)| Some(wall - i64::try_from(up).ok()?));
        let same = before
            .zip(started)
            .is_some_and(|(a, b)| a.abs_diff(b) < 2 * STEP_BACK_NS);
        if last.seen && !same {
            self.next_jvm_quietly();
        }
    }

    /// Reports a problem.
    pub fn problem(&mut self, problem: Problem, line: u64, text: String) {
        self.diagnostics.add(problem, line, text);
    }

    fn jvm(&mut self) -> &mut Jvm {
        if self.jvms.is_empty() {
            self.jvms.push(Jvm::default());
            self.current = 0;
        }
        let at = self.current.min(self.jvms.len() - 1);
        #[allow(clippy::indexing_slicing, reason = "`at` is below the length")]
        &mut self.jvms[at]
    }

    /// A JVM announces its collector: the start of a run.
    pub fn jvm_starts(&mut self, collector: Collector, line: u64) {
        if self.jvm().last.seen {
            self.next_jvm(line, "a JVM announces its collector");
        }
        let jvm = self.jvm();
        jvm.facts.collector = collector;
        // Nothing was collected yet, so the first collection is known to be the first.
        jvm.last.ages = Some(AgeTable::default());
    }

    /// The collections of another JVM follow (recordings joined into one file).
    pub fn next_run(&mut self) {
        self.next_jvm(0, "another process in the recording");
    }

    /// A JDK 7/8 log header; rolled files repeat it.
    pub fn header(&mut self, version: String) {
        let jvm = self.jvm();
        jvm.facts.version = Some(version);
        jvm.last.header = true;
    }

    fn next_jvm_quietly(&mut self) {
        self.jvms.push(Jvm::default());
        self.current = self.jvms.len() - 1;
    }

    fn next_jvm(&mut self, line: u64, why: &str) {
        // A header printed before the first collection of the new run is already in the facts.
        let header = self.jvm().last.header;
        let facts = self.jvm().facts.clone();
        self.next_jvm_quietly();
        if header {
            let jvm = self.jvm();
            jvm.facts.flags = facts.flags;
            jvm.facts.version = facts.version;
        }
        self.diagnostics.add(
            Problem::SeveralJvms,
            line,
            format!("{why}: JVM {} of this input starts", self.jvms.len()),
        );
    }

    /// Takes the next collection.
    pub fn collection(&mut self, mut r: Collection, pid: Option<u64>) {
        if let Some(pid) = pid {
            self.switch(pid, r.line);
        }
        r.input = self.input;
        if self.goes_on(&r) == Continuation::Duplicate {
            return;
        }
        let jvm = self.jvm();
        if jvm.facts.collector == Collector::Unknown {
            jvm.facts.collector = r.collector;
        } else if r.collector == Collector::Unknown {
            r.collector = jvm.facts.collector;
        }
        r.region_bytes = r.region_bytes.or(jvm.facts.region_bytes);
        let gap = jvm.fill(&mut r);
        let (line, id) = (r.line, r.gc_id);
        jvm.take(r);
        if let Some(gap) = gap {
            let which = id.map_or_else(
                || "this collection".to_owned(),
                |id| format!("collection {id}"),
            );
            let text = match gap {
                Gap::Numbers(n) => format!("{n} collections are missing before {which}"),
                Gap::Survivors => format!(
                    "{which} starts with other survivors than the last one left: collections are missing"
                ),
            };
            self.diagnostics.add(Problem::Gap, line, text);
        }
    }

    fn switch(&mut self, pid: u64, line: u64) {
        if let Some(at) = self.by_pid.get(&pid) {
            self.current = *at;
            return;
        }
        if !self.by_pid.is_empty() {
            self.next_jvm(line, "another process number");
        }
        self.jvm();
        self.by_pid.insert(pid, self.current);
    }

    /// Decides at the start of an input, then inside it, whether `r` goes on with the current JVM.
    fn goes_on(&mut self, r: &Collection) -> Continuation {
        let overlaps = self.recording && self.jvm().same_start(r) == Some(true);
        let repeated = overlaps
            && r.gc_id
                .zip(self.jvm().last.max_id)
                .is_some_and(|(now, max)| now <= max)
            && self
                .jvm()
                .collections
                .iter()
                .any(|c| c.gc_id == r.gc_id && c.input != r.input);
        if repeated {
            // Two recordings of one JVM may overlap.
            self.boundary = None;
            return Continuation::Duplicate;
        }
        let Some(boundary) = self.boundary.take() else {
            self.tell_apart(r);
            return Continuation::New;
        };
        let jvm = self.jvm();
        let last = &jvm.last;
        if !last.seen {
            return Continuation::New;
        }
        let same_collector =
            jvm.facts.collector == r.collector || r.collector == Collector::Unknown;
        let next_number = r
            .gc_id
            .zip(last.max_id)
            .map(|(now, max)| now > max && now - max <= 2);
        let later =
            r.at.uptime
                .zip(last.uptime)
                .is_none_or(|(now, then)| now.0 >= then);
        let shown = match (jvm.same_start(r), next_number) {
            (Some(same), _) => same,
            (None, Some(next)) => next && boundary.same_stem,
            (None, None) => boundary.same_stem && r.at.uptime.is_some(),
        };
        if !(same_collector && later && shown) {
            self.next_jvm_quietly();
        }
        Continuation::New
    }

    /// Starts another JVM when `r` cannot belong to the current one, or reports a jumped clock.
    fn tell_apart(&mut self, r: &Collection) {
        let last = &self.jvm().last;
        if !last.seen {
            return;
        }
        let header = last.header;
        let slack = STEP_BACK_NS.saturating_add(r.pause.map_or(0, |p| p.0));
        let uptime_back =
            r.at.uptime
                .zip(last.uptime)
                .map(|(now, then)| now.0.saturating_add(slack) < then);
        let wall_back = r.at.wall.zip(last.wall).is_some_and(|(now, then)| {
            now.saturating_add(i64::try_from(slack).unwrap_or(i64::MAX)) < then
        });
        let id_back = r
            .gc_id
            .zip(last.max_id)
            .map(|(now, max)| now + 64 < max || now == 0 && max > 1);
        let earlier =
            r.at.uptime
                .zip(last.uptime)
                .is_some_and(|(now, then)| now.0 < then);
        let restarted = match (uptime_back, id_back) {
            (Some(back), ids) => back || earlier && ids == Some(true),
            (None, Some(back)) => back,
            (None, None) => wall_back && header,
        };
        if restarted {
            self.next_jvm(r.line, "uptime or collection numbers start again");
        } else if wall_back {
            self.diagnostics.add(
                Problem::ClockJumped,
                r.line,
                "the wall clock went back; order and lengths come from the JVM".to_owned(),
            );
        }
        let last = &mut self.jvm().last;
        if header && !restarted && uptime_back.is_none() {
            // A header in the middle is a rolled file or a new run; without uptime nothing tells which.
            last.threshold_printed = None;
            last.ages = None;
        }
        last.header = false;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Continuation {
    New,
    Duplicate,
}

impl Jvm {
    /// Whether `r` comes from a JVM started at the same moment; `None` without both clocks.
    fn same_start(&self, r: &Collection) -> Option<bool> {
        let last = &self.last;
        let started =
            |wall: Option<i64>, uptime: Option<u64>| Some(wall? - i64::try_from(uptime?).ok()?);
        let before = started(last.wall, last.uptime)?;
        let now = started(r.at.wall, r.at.uptime.map(|u| u.0))?;
        Some(before.abs_diff(now) < 2 * STEP_BACK_NS)
    }

    /// Works out what depends on the previous collection; returns what shows that some are missing.
    fn fill(&mut self, r: &mut Collection) -> Option<Gap> {
        let first_of_run = !self.last.seen && r.gc_id == Some(0);
        let missing = self.missing(r);
        r.after_gap = missing.is_some();
        if missing.is_some() || !self.last.seen && !first_of_run {
            self.last.threshold_printed = None;
            self.last.threshold_used = None;
            self.last.ages = None;
        }
        if first_of_run {
            self.last.ages = Some(AgeTable::default());
        }
        if !r.kind.is_young() {
            // Ages of collections of the whole heap are leftovers (JDK 25's G1 repeats the last table).
            r.promoted = promoted::of(r);
            r.cause = Cause::Unknown;
            return missing;
        }
        if r.ages_before.is_none() {
            r.ages_before = self.last.ages;
        } else if let Some(before) = r.ages_before
            && let Some(previous) = self.collections.last_mut().filter(|p| p.kind.is_young())
        {
            // JDK 8 G1 prints the table of the collection before.
            previous.ages = previous.ages.or(Some(before));
        }
        r.threshold_before = self.last.threshold_used;
        if r.threshold_used.is_none() {
            r.threshold_used = match r.collector.printed_threshold_is_for() {
                ThresholdScope::ThisGc => r.threshold_printed,
                ThresholdScope::NextGc if first_of_run => initial_threshold(r),
                ThresholdScope::NextGc => self.last.threshold_printed,
            };
        }
        r.max_threshold = r.max_threshold.or_else(|| {
            self.facts
                .flags
                .max_tenuring
                .and_then(|m| u8::try_from(m).ok())
        });
        self.infer_survivor_space(r);
        r.promoted = promoted::of(r);
        r.cause = cause::of(r);
        if r.collector.printed_threshold_is_for() == ThresholdScope::NextGc {
            r.threshold_next = r.threshold_printed;
        }
        if missing.is_none()
            && let Some(previous) = self
                .collections
                .iter_mut()
                .rev()
                .find(|p| p.kind.is_young())
            && previous.threshold_next.is_none()
        {
            previous.threshold_next = r.threshold_used;
        }
        missing
    }

    /// JDK 7/8 and ParNew print no survivor capacity: the desired size stands for it, when some
    /// `SurvivorRatio` cuts exactly that out of the young generation.
    fn infer_survivor_space(&self, r: &mut Collection) {
        if r.survivor_cap.is_some() || !matches!(r.collector, Collector::Serial | Collector::ParNew)
        {
            return;
        }
        let target = self
            .facts
            .flags
            .target_survivor_ratio
            .unwrap_or(desired::DEFAULT_TARGET_SURVIVOR_RATIO);
        let survivor = r.desired.and_then(|d| desired::survivor_of(d, target));
        if let (Some(survivor), Some(cap)) = (survivor, r.young.and_then(|y| y.cap))
            && desired::ratio_of(cap.saturating_add(survivor), survivor).is_some()
        {
            r.survivor_cap = Some(survivor);
            r.young_total = Some(cap.saturating_add(survivor));
        }
    }

    /// Whether collections are missing between the last record and `r`, by numbers or by survivors.
    fn missing(&self, r: &Collection) -> Option<Gap> {
        if let Some((now, max)) = r.gc_id.zip(self.last.max_id) {
            // Concurrent cycles take a number and may print nothing.
            let hidden = u64::from(!matches!(
                r.collector,
                Collector::Serial | Collector::Parallel
            ));
            let missing = now.saturating_sub(max).saturating_sub(1);
            if missing > hidden {
                return Some(Gap::Numbers(missing));
            }
        }
        let last = self
            .collections
            .iter()
            .rev()
            .take_while(|r| r.kind != Kind::Full)
            .find(|r| r.kind.is_young())?;
        if !r.kind.is_young() {
            return None;
        }
        let regions = r
            .regions
            .survivor
            .zip(last.regions.survivor)
            .is_some_and(|(now, then)| now.before != then.after);
        let space = r
            .survivor
            .zip(last.survivor)
            .is_some_and(|(now, then)| now.before != then.after);
        let young = r
            .young
            .zip(last.young)
            .is_some_and(|(now, then)| now.before < then.after);
        (regions || space || young).then_some(Gap::Survivors)
    }

    fn take(&mut self, r: Collection) {
        let last = &mut self.last;
        last.seen = true;
        last.max_id = r.gc_id.max(last.max_id);
        last.uptime = r.at.uptime.map(|u| u.0).or(last.uptime);
        last.wall = r.at.wall.or(last.wall);
        if r.kind.is_young() {
            last.threshold_printed = r.threshold_printed;
            last.threshold_used = r.threshold_used;
            last.ages = r.ages;
        } else if r.kind == Kind::Full {
            // Everything left young space, unless it says that some stayed.
            let stayed = r.young.map(|y| y.after).or_else(|| {
                r.regions
                    .survivor
                    .map(|s| s.after.saturating_mul(r.region_bytes.unwrap_or(1)))
            });
            last.ages = (stayed == Some(0) || stayed.is_none() && r.collector == Collector::Serial)
                .then(AgeTable::default);
        }
        self.count(&r);
        self.collections.push(r);
        if self.collections.len() >= KEEP {
            self.thin();
        }
    }

    fn count(&mut self, r: &Collection) {
        let t = &mut self.totals;
        match r.kind {
            Kind::Full => t.full += 1,
            Kind::ConcurrentOld => t.cycles += 1,
            _ => t.young += 1,
        }
        if !r.kind.is_young() {
            return;
        }
        let bytes = r.promoted.bytes().unwrap_or(0);
        t.promoted = t.promoted.saturating_add(bytes);
        // Without a size of young space, what the collection freed is the least it started from.
        let started_from = r
            .young
            .map(|y| y.before)
            .or_else(|| r.young_capacity())
            .or_else(|| r.heap.map(|h| h.before.saturating_sub(h.after)));
        t.young_before = t.young_before.saturating_add(started_from.unwrap_or(0));
        if let Some(threshold) = r.threshold_used {
            t.with_threshold += 1;
            if (1..=2).contains(&threshold) && r.max_threshold.is_none_or(|m| m > 2) {
                t.low_threshold += 1;
                t.low_promoted = t.low_promoted.saturating_add(bytes);
            }
        }
    }

    /// Drops every second routine record, then, if that is not enough, every second one.
    fn thin(&mut self) {
        let before = self.collections.len();
        let mut pauses: Vec<u64> = self
            .collections
            .iter()
            .filter_map(|r| r.pause.map(|p| p.0))
            .collect();
        pauses.sort_unstable();
        let long = pauses.get(pauses.len() / 2).map_or(u64::MAX, |m| m * 3);
        let mut nth = 0u64;
        let mut halve = |routine: bool| {
            if routine {
                nth += 1;
            }
            !routine || nth.is_multiple_of(2)
        };
        self.collections.retain(|r| {
            let notable = matches!(r.cause, Cause::Threshold | Cause::Overflow)
                || !r.kind.is_young()
                || r.pause.is_some_and(|p| p.0 > long)
                || r.promotion_failed
                || r.evacuation_failed;
            halve(!notable)
        });
        if self.collections.len() > KEEP / 4 * 3 {
            self.collections.retain(|_| halve(true));
        }
        self.totals.thinned += (before - self.collections.len()) as u64;
    }
}

/// What shows that collections are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// The JVM's numbers skip this many.
    Numbers(u64),
    /// Survivors before are not the survivors the last collection left.
    Survivors,
}

/// The threshold the very first young collection works with.
fn initial_threshold(r: &Collection) -> Option<u8> {
    match r.collector {
        // InitialTenuringThreshold is 7.
        Collector::Parallel => Some(r.max_threshold?.min(7)),
        Collector::Serial | Collector::ParNew => r.max_threshold,
        _ => None,
    }
}
