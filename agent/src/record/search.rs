//! Searches: their start, passes and end.

use chain_core::config::WalkEngine;
use chain_core::record::{
    Lost, Outcome, SearchEnded, SearchPass as Pass, SearchStarted as Started,
};
use chain_core::walk::PassReport;
use chain_core::{Bytes as CoreBytes, Micros, SearchId};
use jfr_format::schema::events::{SearchAbandoned, SearchCompleted, SearchPass, SearchStarted};
use jfr_format::schema::{AnyEvent, Name};

use super::text::root_outcome_name;
use super::{Mapper, bytes, int, long, micros, millis, thousandths};

/// What a pass reported beyond the core's record of it.
#[derive(Debug, Clone, Copy)]
pub struct PassFacts {
    search: SearchId,
    pass: u32,
    nodes: u64,
    died: u64,
    evicted: u64,
    frontier: u64,
    native: CoreBytes,
    roots_took: Micros,
    statics: bool,
    threads: bool,
    ending: &'static str,
    pub(super) roots_attempted: bool,
    pub(super) root_outcome: &'static str,
}

impl PassFacts {
    pub(super) fn native_bytes(&self) -> u64 {
        self.native.0
    }
}

impl From<&PassReport> for PassFacts {
    fn from(report: &PassReport) -> Self {
        Self {
            search: report.search,
            pass: report.pass,
            nodes: report.nodes,
            died: report.frontier_died,
            evicted: report.evicted,
            frontier: report.frontier,
            native: report.native,
            roots_took: report.roots_took,
            statics: report.statics_complete,
            threads: report.threads_complete,
            ending: match report {
                PassReport { aborted: true, .. } => "aborted",
                PassReport { drained: true, .. } => "drained",
                PassReport {
                    truncated: true, ..
                } => "truncated",
                _ => "budget",
            },
            roots_attempted: report.roots.attempted(),
            root_outcome: root_outcome_name(report.roots),
        }
    }
}

fn engine_name(engine: WalkEngine) -> Name {
    Name::of(match engine {
        WalkEngine::Concurrent => "concurrent",
        WalkEngine::Safepoint => "safepoint",
    })
}

/// What was not looked at; `None` when nothing was left out.
fn gap_names(e: &SearchEnded) -> Option<Name> {
    let names: Vec<&str> = e.gaps.iter().map(|gap| gap.name()).collect();
    (!names.is_empty()).then(|| names.join(", ").into())
}

impl Mapper<'_> {
    pub(super) fn search_started(&mut self, s: &Started) -> SearchStarted {
        self.searches += 1;
        self.last_root_outcome = None;
        SearchStarted {
            search: s.search.0.into(),
            engine: engine_name(self.engine),
            candidates: self.class_names(s.candidates.as_slice()),
            urgent: s.urgent,
        }
    }

    pub(super) fn search_pass(&self, p: &Pass) -> SearchPass {
        let facts = self
            .last_pass
            .filter(|facts| (facts.search, facts.pass) == (p.search, p.pass));
        SearchPass {
            search: p.search.0.into(),
            pass: int(p.pass.into()),
            engine: engine_name(self.engine),
            heap_walk_call_time: micros(p.heap_walk),
            manual_walk_time: micros(p.manual_walk),
            thread_cpu_time: micros(p.cpu),
            edge_budget: long(p.edge_budget),
            edges: long(p.edges),
            new_objects: long(p.new_nodes),
            visited_objects: facts.map(|facts| long(facts.nodes)),
            frontier_entries: long(p.frontier),
            frontier_dead: facts.map(|facts| long(facts.died)),
            evicted: facts.map(|facts| long(facts.evicted)),
            memory: bytes(p.native),
            root_outcome: Name::of(root_outcome_name(p.roots)),
            root_time: facts
                .filter(|facts| facts.roots_attempted)
                .map(|facts| micros(facts.roots_took)),
            statics_complete: facts.is_some_and(|facts| facts.statics),
            threads_complete: facts.is_some_and(|facts| facts.threads),
            ending: Name::of(facts.map_or("unknown", |facts| facts.ending)),
            unresolved: int(p.unresolved.into()),
            candidate_progress: p.progress,
            stalled: p.stalled,
            stalled_passes: int(p.stalled_passes.into()),
            coverage: p.coverage.map(thousandths),
        }
    }

    /// Names of the candidates without a chain that `which` picks; `None` when there is none.
    fn lost_names(&self, e: &SearchEnded, which: impl Fn(&Lost) -> bool) -> Option<String> {
        let lost = e.lost.iter().filter(|lost| which(lost));
        let ids: Vec<_> = lost.map(|lost| lost.class).collect();
        (!ids.is_empty()).then(|| self.class_names(&ids))
    }

    pub(super) fn search_ended(&self, e: &SearchEnded) -> AnyEvent {
        let outcome = match e.outcome {
            Outcome::Completed => "completed",
            Outcome::Stopped => "stopped",
            Outcome::Abandoned(_) => return self.search_abandoned(e).into(),
        };
        SearchCompleted {
            search: e.search.0.into(),
            outcome: Name::of(outcome),
            passes: int(e.passes.into()),
            elapsed: millis(e.lasted),
            heap_walk_call_time: micros(e.heap_walk),
            manual_walk_time: micros(e.manual_walk),
            thread_cpu_time: micros(e.cpu),
            visited_objects: long(e.nodes),
            edges: long(e.edges),
            resolved: int(e.resolved.into()),
            unresolved: int(e.unresolved.into()),
            coverage: e.coverage.map(thousandths),
            partial: e.partial,
            without_chain: self.lost_names(e, |_| true),
            unreached: self.lost_names(e, Lost::unreached),
            gaps: gap_names(e),
        }
        .into()
    }

    pub(super) fn search_abandoned(&self, e: &SearchEnded) -> SearchAbandoned {
        let facts = self.last_pass.filter(|facts| facts.search == e.search);
        let reason = match e.outcome {
            Outcome::Abandoned(reason) => reason.name(),
            Outcome::Completed => "completed",
            Outcome::Stopped => "stopped",
        };
        let concurrent = matches!(self.engine, WalkEngine::Concurrent);
        SearchAbandoned {
            search: e.search.0.into(),
            reason: Name::of(reason),
            detail: None,
            passes: int(e.passes.into()),
            elapsed: millis(e.lasted),
            heap_walk_call_time: micros(e.heap_walk),
            manual_walk_time: micros(e.manual_walk),
            thread_cpu_time: micros(e.cpu),
            visited_objects: long(e.nodes),
            edges: long(e.edges),
            resolved: int(e.resolved.into()),
            unresolved: int(e.unresolved.into()),
            coverage: e.coverage.map(thousandths),
            partial: e.partial,
            without_chain: self.lost_names(e, |_| true),
            unreached: self.lost_names(e, Lost::unreached),
            gaps: gap_names(e),
            urgent: self.latched,
            ttl: (self.tuned.ttl.0 > 0).then(|| millis(self.tuned.ttl)),
            frontier_entries: facts.map(|facts| long(facts.frontier)),
            frontier_cap: (!concurrent).then(|| long(self.tuned.framecap)),
            memory: facts.map(|facts| bytes(facts.native)),
            memory_cap: concurrent.then(|| bytes(self.tuned.memcap)),
            root_outcome: self.last_root_outcome.map(Name::of),
            stalled_passes: None,
        }
    }
}
