//! One search: its candidates, what its passes have shown, and what it cost.

use crate::backoff::Backoff;
use crate::chain::Strength;
use crate::ids::{ClassId, SearchId, ThreadId};
use crate::inline::InlineVec;
use crate::leak_signal::Selection;
use crate::plan::{MAX_CANDIDATES, MAX_THREADS, Target};
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
    /// Instances tallied by signature.
    pub tallied: u64,
    /// Its chain is certain; see [`Search::resolve`].
    pub resolved: bool,
    /// It joined after the first pass: what was visited before was not tallied for it, so that a
    /// search without its chain has not lost it.
    pub late: bool,
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
        self.coverage = report.coverage.or(self.coverage);
        self.take_roots(report.roots);
        self.partial |= self.truncated || self.roots_skipped || report.frontier_cap_hit;
        if self.ttl_from.is_none() && (self.roots_settled() || !concurrent) {
            self.ttl_from = Some(if concurrent { now } else { self.started });
        }
        let before = self.progress_marks();
        self.take_chains(report);
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
    /// have been tallied by one signature or all roots are drained; a transient-only or soft-only chain
    /// stays provisional until they are.
    pub fn resolve(&mut self) -> InlineVec<ClassId, MAX_CANDIDATES> {
        let drained = self.drained && self.roots_settled() && !self.truncated;
        let mut fresh = InlineVec::default();
        self.targets = self
            .targets
            .iter()
            .map(|t| {
                let mut t = *t;
                let tallied = t.tallied >= u64::from(tuning::RESOLVED_INSTANCES);
                if !t.resolved && ((t.durable && tallied) || (t.any && drained)) {
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
                    t.tallied = t.tallied.max(c.instances);
                }
                t
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Chain, FoundChain};
    use crate::leak_signal::Candidate;

    fn selection(classes: &[u32]) -> Selection {
        classes
            .iter()
            .map(|c| Candidate {
                class: ClassId(*c),
                ..Candidate::default()
            })
            .collect()
    }

    fn search(classes: &[u32]) -> Search {
        Search::new(SearchId(1), Tick(0), &selection(classes), Stall::default())
    }

    fn chain(class: u32, strength: Strength, reached: u64, verified: bool) -> FoundChain {
        FoundChain {
            candidate: ClassId(class),
            chain: Chain {
                strength,
                ..Chain::default()
            },
            verified,
            instances: reached,
            reached,
            ..FoundChain::default()
        }
    }

    fn pass(chains: Vec<FoundChain>) -> PassReport {
        PassReport {
            chains,
            new_nodes: 10,
            nodes: 10,
            ..PassReport::default()
        }
    }

    #[test]
    fn resolved_needs_a_verified_durable_chain_and_64_tallied_instances() {
        let mut s = search(&[1]);
        assert!(
            s.absorb(
                Tick(1),
                &pass(vec![chain(1, Strength::Durable, 64, false)]),
                true
            )
            .resolved
            .is_empty()
        );
        let a = s.absorb(
            Tick(2),
            &pass(vec![chain(1, Strength::Durable, 63, true)]),
            true,
        );
        assert!(a.progress && a.resolved.is_empty());
        let a = s.absorb(
            Tick(3),
            &pass(vec![chain(1, Strength::Durable, 64, true)]),
            true,
        );
        assert_eq!(
            (a.resolved.as_slice(), s.unresolved()),
            (&[ClassId(1)][..], 0)
        );
    }

    #[test]
    fn a_transient_or_soft_chain_stays_provisional_until_all_roots_are_drained() {
        for strength in [Strength::Transient, Strength::Soft] {
            let mut s = search(&[1]);
            s.absorb(Tick(1), &pass(vec![chain(1, strength, 1000, true)]), true);
            assert_eq!(s.unresolved(), 1);
            let mut drained = pass(vec![]);
            drained.drained = true;
            s.absorb(Tick(2), &drained, true);
            assert_eq!(s.unresolved(), 1, "roots are not complete yet");
            drained.statics_complete = true;
            drained.threads_complete = true;
            drained.roots = RootOutcome::CompleteAtSystemClass;
            assert_eq!(s.absorb(Tick(3), &drained, true).resolved.len(), 1);
        }
    }

    #[test]
    fn a_few_instances_are_enough_once_all_roots_are_drained() {
        let mut s = search(&[1]);
        let mut p = pass(vec![chain(1, Strength::Durable, 3, true)]);
        p.drained = true;
        p.statics_complete = true;
        p.threads_complete = true;
        p.roots = RootOutcome::CompleteAtEnd;
        assert_eq!(s.absorb(Tick(1), &p, true).resolved.len(), 1);
    }

    #[test]
    fn roots_are_complete_only_when_statics_and_threads_are_too() {
        let mut s = search(&[1]);
        let mut p = pass(vec![]);
        p.roots = RootOutcome::CompleteAtSystemClass;
        p.statics_complete = true;
        s.absorb(Tick(1), &p, true);
        assert!(!s.roots_complete);
        p.threads_complete = true;
        s.absorb(Tick(2), &p, true);
        assert!(s.roots_complete);
    }

    #[test]
    fn root_errors_count_in_a_row() {
        let mut s = search(&[1]);
        let mut p = pass(vec![]);
        for (roots, errors) in [
            (RootOutcome::Error, 1),
            (RootOutcome::NotRun, 1),
            (RootOutcome::Error, 2),
            (RootOutcome::Truncated, 0),
        ] {
            p.roots = roots;
            s.absorb(Tick(1), &p, true);
            assert_eq!(s.root_errors, errors);
        }
    }

    #[test]
    fn a_stalled_concurrent_pass_visited_no_new_object() {
        let mut s = search(&[1]);
        let mut p = pass(vec![]);
        p.frontier = 5;
        assert!(!s.absorb(Tick(1), &p, true).stalled);
        p.frontier = 1;
        assert!(!s.absorb(Tick(2), &p, true).stalled);
        p.new_nodes = 0;
        assert!(s.absorb(Tick(3), &p, true).stalled);
    }

    #[test]
    fn a_stalled_safepoint_pass_left_the_frontier_no_longer() {
        let mut s = search(&[1]);
        let mut p = pass(vec![]);
        p.frontier = 5;
        assert!(!s.absorb(Tick(1), &p, false).stalled);
        assert!(s.absorb(Tick(2), &p, false).stalled);
        p.frontier = 6;
        assert!(!s.absorb(Tick(3), &p, false).stalled);
    }

    #[test]
    fn expansion_only_passes_hold_the_counter_while_roots_are_incomplete() {
        let mut s = search(&[1]);
        let mut p = pass(vec![]);
        p.new_nodes = 0;
        for _ in 0..40 {
            s.absorb(Tick(1), &p, true);
        }
        assert_eq!((s.stalled, s.stalled_raw), (0, 40));
        p.roots = RootOutcome::Truncated;
        s.absorb(Tick(1), &p, true);
        assert_eq!(s.stalled, 1, "an enumeration attempt may advance it");
        p.roots = RootOutcome::CompleteAtEnd;
        p.statics_complete = true;
        p.threads_complete = true;
        s.absorb(Tick(1), &p, true);
        p.roots = RootOutcome::NotRun;
        s.absorb(Tick(1), &p, true);
        assert_eq!(s.stalled, 3);
    }

    #[test]
    fn ttl_counts_from_the_first_pass_after_roots_are_complete() {
        let mut s = search(&[1]);
        s.absorb(Tick(500), &pass(vec![]), true);
        assert_eq!(s.ttl_elapsed(Tick(900)), None);
        let mut p = pass(vec![]);
        p.roots = RootOutcome::Skipped;
        s.absorb(Tick(700), &p, true);
        assert_eq!(s.ttl_elapsed(Tick(900)), Some(Millis(200)));
        let mut plain = search(&[1]);
        plain.absorb(Tick(500), &pass(vec![]), false);
        assert_eq!(plain.ttl_elapsed(Tick(900)), Some(Millis(900)));
    }

    #[test]
    fn a_new_candidate_joins_and_resets_the_backoff() {
        let mut s = search(&[1]);
        s.backoff.pass(10.0, false, false);
        s.follow(&selection(&[1]), |_| false);
        assert_eq!(s.backoff.multiplier(), 2);
        s.follow(&selection(&[1, 2]), |_| false);
        assert_eq!((s.backoff.multiplier(), s.targets.len()), (1, 2));
        s.follow(&selection(&[3, 4, 5, 6, 7]), |c| c == ClassId(3));
        assert_eq!(
            s.targets.iter().map(|t| t.class.0).collect::<Vec<_>>(),
            [1, 2, 4, 5, 6]
        );
    }

    #[test]
    fn costs_add_up_and_manual_walk_is_wall_minus_heap_walk() {
        let mut s = search(&[1]);
        let mut p = pass(vec![]);
        p.wall = Micros(1000);
        p.heap_walk = Micros(300);
        p.cpu = Micros(500);
        p.edges = 7;
        s.absorb(Tick(1), &p, true);
        p.heap_walk = Micros(2000);
        s.absorb(Tick(2), &p, true);
        assert_eq!(
            (s.heap_walk, s.manual_walk, s.cpu, s.edges),
            (Micros(2300), Micros(700), Micros(1000), 14)
        );
    }

    #[test]
    fn a_candidate_of_which_nothing_is_left_is_dropped_a_resolved_one_stays() {
        let mut s = search(&[1, 2]);
        s.absorb(
            Tick(1),
            &pass(vec![chain(1, Strength::Durable, 64, true)]),
            true,
        );
        s.forget(ClassId(1));
        s.forget(ClassId(2));
        assert_eq!((s.targets.len(), s.unresolved()), (1, 0));
    }

    #[test]
    fn a_candidate_that_joins_later_is_not_lost_nor_one_with_any_chain() {
        let mut s = search(&[1]);
        assert_eq!(s.lost(), 1);
        s.follow(&selection(&[2]), |_| false);
        assert_eq!(
            s.lost(),
            2,
            "before the first pass it was there from the start"
        );
        s.absorb(Tick(1), &pass(vec![]), true);
        s.follow(&selection(&[3]), |_| false);
        let late: Vec<bool> = s.targets.iter().map(|t| t.late).collect();
        assert_eq!(late, [false, false, true]);
        assert_eq!((s.lost(), s.unresolved()), (2, 3));
        s.absorb(
            Tick(2),
            &pass(vec![chain(1, Strength::Transient, 1, true)]),
            true,
        );
        assert_eq!((s.lost(), s.unresolved()), (1, 3));
    }

    #[test]
    fn truncation_and_eviction_last_and_coverage_is_partial_then() {
        let cut = |change: fn(&mut PassReport)| {
            let mut s = search(&[1]);
            let mut p = pass(vec![]);
            change(&mut p);
            s.absorb(Tick(1), &p, true);
            s.absorb(Tick(2), &pass(vec![]), true);
            (s.truncated, s.partial, s.frontier_cap_hit)
        };
        assert_eq!(cut(|_| {}), (false, false, false));
        assert_eq!(cut(|p| p.truncated = true), (true, true, false));
        assert_eq!(cut(|p| p.evicted = 1), (true, true, false));
        assert_eq!(
            cut(|p| p.roots = RootOutcome::Skipped),
            (false, true, false)
        );
        assert_eq!(cut(|p| p.frontier_cap_hit = true), (false, true, true));
    }

    #[test]
    fn what_was_looked_at_once_stays_looked_at() {
        let mut s = search(&[1]);
        let mut p = pass(vec![]);
        p.statics_complete = true;
        p.roots = RootOutcome::Truncated;
        p.coverage = Some(400);
        s.absorb(Tick(1), &p, true);
        let mut p = pass(vec![]);
        p.threads_complete = true;
        p.nodes = 3;
        s.absorb(Tick(2), &p, true);
        assert!(s.statics_complete && s.threads_complete && s.roots_attempted);
        assert!(!s.roots_complete && !s.roots_enumerated);
        assert_eq!((s.coverage, s.nodes, s.passes), (Some(400), 10, 2));
    }

    #[test]
    fn the_ttl_begins_once_and_at_the_start_for_the_safepoint_engine() {
        let mut s = search(&[1]);
        let mut p = pass(vec![]);
        p.roots = RootOutcome::Skipped;
        s.absorb(Tick(700), &p, true);
        s.absorb(Tick(800), &pass(vec![]), true);
        assert_eq!(s.ttl_from, Some(Tick(700)));
        let mut plain = Search::new(SearchId(1), Tick(300), &selection(&[1]), Stall::default());
        plain.absorb(Tick(700), &p, false);
        assert_eq!(plain.ttl_from, Some(Tick(300)));
    }
}
