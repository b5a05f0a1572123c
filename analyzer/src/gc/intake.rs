//! Takes records from a dialect in order, tells one JVM from the next, and works out what needs the
//! previous collection: threshold used, promoted bytes, cause.

use std::collections::BTreeMap;

use super::diag::{Diagnostics, Problem};
use super::num;
use super::record::{AgeTable, Cause, Collection, Collector, Kind, ThresholdScope};
use super::rules::{cause, promoted};

/// Records kept per JVM; beyond it routine ones are thinned. About 24 MiB.
const KEEP: usize = 24_000;
/// Time may step back this much between entries: they are stamped at their start, but end nested.
const STEP_BACK_NS: u64 = 1_000_000_000;

/// Flags of the young generation, where the input carries them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flags {
    /// `SurvivorRatio`.
    pub survivor_ratio: Option<u64>,
    /// `TargetSurvivorRatio`, in percent.
    pub target_survivor_ratio: Option<u64>,
    /// `MaxTenuringThreshold`.
    pub max_tenuring: Option<u64>,
    /// `NewSize`, in bytes.
    pub new_size: Option<u64>,
    /// `MaxNewSize`, in bytes.
    pub max_new_size: Option<u64>,
    /// `AlwaysPreTouch`.
    pub pretouch: Option<bool>,
    /// `UseAdaptiveSizePolicy`.
    pub adaptive: Option<bool>,
    /// `AlwaysTenure`.
    pub always_tenure: Option<bool>,
    /// `NeverTenure`.
    pub never_tenure: Option<bool>,
}

impl Flags {
    /// Reads `-XX:Name=value`, `-XX:+Name` or `-XX:-Name`; others are passed over.
    pub fn read(&mut self, flag: &[u8]) {
        let Some(flag) = num::after(flag, b"-XX:") else {
            return;
        };
        if let Some((sign @ (b'+' | b'-'), name)) = flag.split_first() {
            self.set_bool(&String::from_utf8_lossy(name), *sign == b'+');
        } else if let Some(eq) = memchr::memchr(b'=', flag)
            && let (name, Some(value)) = (flag.get(..eq).unwrap_or_default(), flag.get(eq + 1..))
            && let Some((value, _, _)) = num::size(value)
        {
            self.set(&String::from_utf8_lossy(name), value);
        }
    }

    /// Sets a numeric flag by name.
    pub fn set(&mut self, name: &str, value: u64) {
        match name {
            "SurvivorRatio" => self.survivor_ratio = Some(value),
            "TargetSurvivorRatio" => self.target_survivor_ratio = Some(value),
            "MaxTenuringThreshold" => self.max_tenuring = Some(value),
            "NewSize" => self.new_size = Some(value),
            "MaxNewSize" => self.max_new_size = Some(value),
            _ => {}
        }
    }

    /// Sets a switch by name.
    pub fn set_bool(&mut self, name: &str, on: bool) {
        match name {
            "AlwaysPreTouch" => self.pretouch = Some(on),
            "UseAdaptiveSizePolicy" => self.adaptive = Some(on),
            "AlwaysTenure" => self.always_tenure = Some(on),
            "NeverTenure" => self.never_tenure = Some(on),
            _ => {}
        }
    }
}

/// What is known about one JVM run besides its collections.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Its collector.
    pub collector: Collector,
    /// Version as printed.
    pub version: Option<String>,
    /// G1 region size, in bytes.
    pub region_bytes: Option<u64>,
    /// Whether the heap is touched at start.
    pub pretouch: Option<bool>,
    /// Flags.
    pub flags: Flags,
    /// Age rows or tables were seen.
    pub saw_ages: bool,
    /// Desired survivor sizes were seen.
    pub saw_desired: bool,
    /// G1's old allocation statistics were seen.
    pub saw_plab: bool,
    /// From a recording, not a log.
    pub recording: bool,
    /// The recording holds leak candidates of the agent.
    pub leak_candidates: u64,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            collector: Collector::Unknown,
            version: None,
            region_bytes: None,
            pretouch: None,
            flags: Flags::default(),
            saw_ages: false,
            saw_desired: false,
            saw_plab: false,
            recording: false,
            leak_candidates: 0,
        }
    }
}

/// Counts over all collections of a JVM, thinned or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Young collections.
    pub young: u64,
    /// Collections of the whole heap.
    pub full: u64,
    /// Concurrent cycles.
    pub cycles: u64,
    /// Young collections whose threshold is known.
    pub with_threshold: u64,
    /// Of those, with threshold 1 or 2 below its maximum.
    pub low_threshold: u64,
    /// Bytes those promoted.
    pub low_promoted: u64,
    /// Bytes of young space all young collections started from, where known.
    pub young_before: u64,
    /// Bytes promoted where computable.
    pub promoted: u64,
    /// Records dropped by thinning.
    pub thinned: u64,
}

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
}

impl Intake {
    /// Facts about the JVM whose lines are being read.
    pub fn facts(&mut self) -> &mut Facts {
        &mut self.jvm().facts
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

    /// A JDK 7/8 log header; rolled files repeat it.
    pub fn header(&mut self, version: String) {
        let jvm = self.jvm();
        jvm.facts.version = Some(version);
        jvm.last.header = true;
    }

    fn next_jvm(&mut self, line: u64, why: &str) {
        let facts = self.jvm().facts.clone();
        self.jvms.push(Jvm {
            facts: Facts {
                flags: facts.flags,
                version: facts.version,
                ..Facts::default()
            },
            ..Jvm::default()
        });
        self.current = self.jvms.len() - 1;
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
        self.tell_apart(&r);
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
        let restarted = match (uptime_back, id_back) {
            (Some(back), _) => back,
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

impl Jvm {
    /// Works out what depends on the previous collection; returns what shows that some are missing.
    fn fill(&mut self, r: &mut Collection) -> Option<Gap> {
        let first_of_run = !self.last.seen && r.gc_id == Some(0);
        let missing = self.missing(r);
        if missing.is_some() || !self.last.seen && !first_of_run {
            self.last.threshold_printed = None;
            self.last.threshold_used = None;
            self.last.ages = first_of_run.then(AgeTable::default);
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
        r.promoted = promoted::of(r);
        r.cause = cause::of(r);
        missing
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
        t.young_before = t.young_before.saturating_add(
            r.young
                .map_or_else(|| r.young_capacity().unwrap_or(0), |y| y.before),
        );
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
        _ => r.max_threshold,
    }
}
