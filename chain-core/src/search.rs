//! One search: its candidates, what its passes have shown, and what it cost.

use crate::backoff::Backoff;
use crate::chain::{Chain, Strength};
use crate::ids::{ClassId, SearchId, ThreadId};
use crate::inline::InlineVec;
use crate::leak_signal::Selection;
use crate::plan::{MAX_CANDIDATES, MAX_THREADS, Target};
use crate::record::{Gap, Lost};
use crate::tick::{Micros, Millis, Tick};
use crate::tuning;
use crate::walk::{PassReport, RootOutcome};

/// A candidate of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Pursued {
    /// The class.
    pub class: ClassId,
    /// Its qualifying threads.
    pub threads: InlineVec<ThreadId, MAX_THREADS>,
    /// A verified chain from a durable root exists.
    pub durable: bool,
    /// A verified chain of any strength exists.
    pub any: bool,
    /// The instances tallied by one signature are enough for a chain of its kind; see [`Search::resolve`].
    #[cfg_attr(feature = "journal", serde(default))]
    pub enough: bool,
    /// Its chain is certain; see [`Search::resolve`].
    pub resolved: bool,
    /// It joined after the first pass: what was visited before was not tallied for it, so that a
    /// search without its chain has not lost it.
    pub late: bool,
    /// Instances that the search has met, with or without a chain that held.
    #[cfg_attr(feature = "journal", serde(default))]
    pub reached: u64,
}

/// A running or ending search.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Search {
    /// Its number.
    pub id: SearchId,
    /// When it started.
    pub started: Tick,
    /// Its candidates.
    pub targets: InlineVec<Pursued, MAX_CANDIDATES>,
    /// Passes made.
    pub passes: u32,
    /// When the last one ended.
    pub last_end: Option<Tick>,
    /// Accumulated heap-walk-call time: what the safepoint budget is charged with.
    pub heap_walk: Micros,
    /// Accumulated manual-walk time.
    pub manual_walk: Micros,
    /// Accumulated thread CPU time.
    pub cpu: Micros,
    /// References read.
    pub edges: u64,
    /// Objects seen.
    pub nodes: u64,
    /// Every static was looked at.
    pub statics_complete: bool,
    /// Every thread was looked at.
    pub threads_complete: bool,
    /// Root enumeration was attempted at least once.
    pub roots_attempted: bool,
    /// Root enumeration reached its end.
    pub roots_enumerated: bool,
    /// Root enumeration reached its end, statics and threads too.
    pub roots_complete: bool,
    /// Root enumeration was skipped because of a configured limit.
    pub roots_skipped: bool,
    /// JVMTI errors of root enumeration in a row.
    pub root_errors: u32,
    /// The frontier's cap was hit.
    pub frontier_cap_hit: bool,
    /// Nothing is left to expand.
    pub drained: bool,
    /// Something was cut off for good.
    pub truncated: bool,
    /// Something was evicted, truncated or skipped.
    pub partial: bool,
    /// Objects were refused or dropped at the cap on memory.
    #[cfg_attr(feature = "journal", serde(default))]
    pub evicted: bool,
    /// Stalled passes that count for ladder 5.
    pub stalled: u32,
    /// Stalled passes in a row.
    pub stalled_raw: u32,
    /// Passes in a row without candidate progress.
    pub without_progress: u32,
    /// When the TTL began to run.
    pub ttl_from: Option<Tick>,
    /// Frontier length after the last pass.
    pub frontier: u64,
    /// Coverage after the last pass.
    pub coverage: Option<u16>,
    /// Candidate backoff.
    pub backoff: Backoff,
}

/// Where a search stood against ladder 5: passes without growth, and the frontier they did not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// Stalled passes.
    pub passes: u32,
    /// Frontier length after the last pass.
    pub frontier: u64,
}

/// What a pass changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Absorbed {
    /// A candidate got its first chain or a stronger one, or was resolved.
    pub progress: bool,
    /// The pass stalled.
    pub stalled: bool,
    /// Candidates that this pass resolved.
    pub resolved: InlineVec<ClassId, MAX_CANDIDATES>,
}

impl Search {
    /// A search for `selection`, not one pass made. `stall` is what the search before it left, where
    /// progress is not counted per search (the reference's way).
    pub fn new(id: SearchId, now: Tick, selection: &Selection, stall: Stall) -> Search {
        let mut search = Search {
            id,
            started: now,
            targets: InlineVec::default(),
            passes: 0,
            last_end: None,
            heap_walk: Micros(0),
            manual_walk: Micros(0),
            cpu: Micros(0),
            edges: 0,
            nodes: 0,
            statics_complete: false,
            threads_complete: false,
            roots_attempted: false,
            roots_enumerated: false,
            roots_complete: false,
            roots_skipped: false,
            root_errors: 0,
            frontier_cap_hit: false,
            drained: false,
            truncated: false,
            partial: false,
            evicted: false,
            stalled: stall.passes,
            stalled_raw: 0,
            without_progress: 0,
            ttl_from: None,
            frontier: stall.frontier,
            coverage: None,
            backoff: Backoff::default(),
        };
        search.follow(selection, |_| false);
        search
    }

    /// Takes the newest selection: new candidates join while there is room, known ones get their
    /// threads; none leaves while it is pursued. A new candidate resets the backoff.
    pub fn follow(&mut self, selection: &Selection, settled: impl Fn(ClassId) -> bool) {
        for candidate in selection.iter() {
            let mut known = false;
            let mut targets: InlineVec<Pursued, MAX_CANDIDATES> = InlineVec::default();
            for t in self.targets.iter() {
                let mut t = *t;
                if t.class == candidate.class {
                    known = true;
                    t.threads = candidate.threads;
                }
                targets.push(t);
            }
            if !known && !settled(candidate.class) {
                let new = Pursued {
                    class: candidate.class,
                    threads: candidate.threads,
                    late: self.passes > 0,
                    ..Pursued::default()
                };
                if targets.push(new) {
                    self.backoff.reset();
                    self.without_progress = 0;
                }
            }
            self.targets = targets;
        }
    }

    /// Drops an unresolved candidate of which nothing is left: there is nothing to find.
    pub fn forget(&mut self, class: ClassId) {
        self.targets = self
            .targets
            .iter()
            .filter(|t| t.class != class || t.resolved)
            .copied()
            .collect();
    }

    /// What a next search that does not count for itself would begin with.
    pub fn stall(&self) -> Stall {
        Stall {
            passes: self.stalled,
            frontier: self.frontier,
        }
    }

    /// Candidates without a resolved chain.
    pub fn unresolved(&self) -> u32 {
        u32::try_from(self.targets.iter().filter(|t| !t.resolved).count()).unwrap_or(u32::MAX)
    }

    /// Candidates without any chain that were looked for from the first pass on.
    pub fn lost(&self) -> u32 {
        let lost = |t: &&Pursued| !t.resolved && !t.any && !t.late;
        u32::try_from(self.targets.iter().filter(lost).count()).unwrap_or(u32::MAX)
    }

    /// The candidates that have no chain, each with what the search can say of it.
    pub fn without_chain(&self) -> InlineVec<Lost, MAX_CANDIDATES> {
        let lost = self.targets.iter().filter(|t| !t.resolved && !t.any);
        lost.map(|t| Lost {
            class: t.class,
            reached: t.reached,
            late: t.late,
        })
        .collect()
    }

    /// What was not looked at; empty for a search that saw the whole heap from all roots.
    pub fn gaps(&self) -> InlineVec<Gap, { Gap::ALL.len() }> {
        let is = |gap: &Gap| match gap {
            Gap::MemoryCap => self.evicted,
            Gap::FrontierCap => self.frontier_cap_hit,
            Gap::Truncated => self.truncated && !self.evicted,
            Gap::RootsSkipped => self.roots_skipped && !self.roots_complete,
            Gap::RootsIncomplete => !self.roots_complete && !self.roots_skipped,
            Gap::NotDrained => !self.drained,
        };
        Gap::ALL.into_iter().filter(is).collect()
    }

    /// Whether root enumeration is over, one way or the other.
    pub fn roots_settled(&self) -> bool {
        self.roots_complete || self.roots_skipped
    }

    /// The targets as a pass plan names them.
    pub fn plan_targets(&self) -> InlineVec<Target, MAX_CANDIDATES> {
        self.targets
            .iter()
            .map(|t| Target {
                class: t.class,
                threads: t.threads,
                resolved: t.resolved,
            })
            .collect()
    }

    /// Takes a pass that ended at `now`. `concurrent` chooses what a stalled pass is: one that
    /// visited no new object, or one after which the frontier had not grown.
    pub fn absorb(&mut self, now: Tick, report: &PassReport, concurrent: bool) -> Absorbed {
        self.passes = self.passes.saturating_add(1);
        self.last_end = Some(now);
        self.heap_walk = self.heap_walk.saturating_add(report.heap_walk);
        self.manual_walk = self
            .manual_walk
            .saturating_add(report.wall.saturating_sub(report.heap_walk));
        self.cpu = self.cpu.saturating_add(report.cpu);
        self.edges = self.edges.saturating_add(report.edges);
        self.nodes = self.nodes.max(report.nodes);
        self.statics_complete |= report.statics_complete;
        self.threads_complete |= report.threads_complete;
        self.frontier_cap_hit |= report.frontier_cap_hit;
        self.drained = report.drained;
        self.truncated |= report.truncated || report.evicted > 0;
        self.evicted |= report.evicted > 0;
        self.coverage = report.coverage.or(self.coverage);
        self.take_roots(report.roots);
        self.partial |= self.truncated || self.roots_skipped || report.frontier_cap_hit;
        if self.ttl_from.is_none() && (self.roots_settled() || !concurrent) {
            self.ttl_from = Some(if concurrent { now } else { self.started });
        }
        let before = self.progress_marks();
        self.take_chains(report);
        self.take_reached(report);
        let resolved = self.resolve();
        let progress = self.progress_marks() != before;
        let stalled = if concurrent {
            report.new_nodes == 0
        } else {
            report.frontier <= self.frontier
        };
        self.frontier = report.frontier;
        self.count_stall(stalled, report.roots);
        self.without_progress = if progress {
            0
        } else {
            self.without_progress.saturating_add(1)
        };
        Absorbed {
            progress,
            stalled,
            resolved,
        }
    }

    /// A candidate is resolved when a verified chain from a durable root exists and 64 instances
    /// have been tallied by one signature, 1,024 of plain values, or all roots are drained; a transient-only or
    /// soft-only chain stays provisional until they are.
    pub fn resolve(&mut self) -> InlineVec<ClassId, MAX_CANDIDATES> {
        let drained = self.drained && self.roots_settled() && !self.truncated;
        let mut fresh = InlineVec::default();
        self.targets = self
            .targets
            .iter()
            .map(|t| {
                let mut t = *t;
                if !t.resolved && ((t.durable && t.enough) || (t.any && drained)) {
                    t.resolved = true;
                    fresh.push(t.class);
                }
                t
            })
            .collect();
        fresh
    }

    /// Elapsed time the TTL looks at.
    pub fn ttl_elapsed(&self, now: Tick) -> Option<Millis> {
        self.ttl_from.map(|from| now.since(from))
    }

    fn take_roots(&mut self, roots: RootOutcome) {
        self.roots_attempted |= roots.attempted();
        match roots {
            RootOutcome::Error => self.root_errors = self.root_errors.saturating_add(1),
            RootOutcome::NotRun => {}
            RootOutcome::Skipped => self.roots_skipped = true,
            _ => self.root_errors = 0,
        }
        self.roots_enumerated |= roots.complete();
        // Complete = the enumeration's end was reached *and* the static and thread scan finished.
        self.roots_complete =
            self.roots_enumerated && self.statics_complete && self.threads_complete;
    }

    fn take_chains(&mut self, report: &PassReport) {
        self.targets = self
            .targets
            .iter()
            .map(|t| {
                let mut t = *t;
                for c in report
                    .chains
                    .iter()
                    .filter(|c| c.candidate == t.class && c.verified)
                {
                    t.any = true;
                    t.durable |= c.chain.strength == Strength::Durable;
                    // Not all that were reached: strings and arrays are below every static, one here and one there.
                    t.enough |= c.instances >= u64::from(instances_needed(&c.chain));
                }
                t
            })
            .collect();
    }

    fn take_reached(&mut self, report: &PassReport) {
        let met = |class: ClassId| {
            let same = report.reached.iter().filter(|r| r.class == class);
            same.map(|r| r.instances).max().unwrap_or(0)
        };
        self.targets = self
            .targets
            .iter()
            .map(|t| Pursued {
                reached: t.reached.max(met(t.class)),
                ..*t
            })
            .collect();
    }

    /// Chains, their strength and resolutions, as a number that only grows.
    fn progress_marks(&self) -> u32 {
        self.targets
            .iter()
            .map(|t| u32::from(t.any) + u32::from(t.durable) + u32::from(t.resolved))
            .sum()
    }

    fn count_stall(&mut self, stalled: bool, roots: RootOutcome) {
        if !stalled {
            self.stalled = 0;
            self.stalled_raw = 0;
            return;
        }
        self.stalled_raw = self.stalled_raw.saturating_add(1);
        // While enumeration is incomplete expansion-only passes hold the counter.
        if self.roots_settled() || roots.attempted() {
            self.stalled = self.stalled.saturating_add(1);
        }
    }
}

/// Instances tallied on this path after which it is likely to be the leak's.
fn instances_needed(chain: &Chain) -> u32 {
    let of_values = chain.hops.last().is_some_and(|leaf| is_value(&leaf.class));
    if of_values {
        tuning::RESOLVED_VALUES
    } else {
        tuning::RESOLVED_INSTANCES
    }
}

/// A class that belongs to no part of a program: strings, boxed numbers, arrays of numbers.
fn is_value(class: &str) -> bool {
    const PRIMITIVES: [&str; 8] = [
        "boolean", "byte", "char", "short", "int", "long", "float", "double",
    ];
    const BOXED: [&str; 10] = [
        "Object",
        "String",
        "Boolean",
        "Byte",
        "Character",
        "Short",
        "Integer",
        "Long",
        "Float",
        "Double",
    ];
    let element = class.trim_end_matches("[]");
    let of_lang = || {
        element
            .strip_prefix("java.lang.")
            .is_some_and(|name| BOXED.contains(&name))
    };
    (element.len() < class.len() && PRIMITIVES.contains(&element)) || of_lang()
}

#[cfg(test)]
mod tests;
