//! Searches: their passes, their ends, and the figures of each.

use std::collections::{BTreeMap, BTreeSet};

use jfr_format::schema::{Name, events as own};

use super::super::source::{bytes, count, java_name, nanos};
use super::{OwnFacts, before, share};
use crate::model::{
    EpochNanos, Nanos, NoChain, NoChainState, PassPoint, Producer, Search, SearchEnd,
};
use crate::report::units;

/// What the events of one search say.
#[derive(Debug, Default, Clone)]
pub struct SearchFacts {
    pub(super) start: Option<EpochNanos>,
    end: Option<EpochNanos>,
    passes: u64,
    heap_walk_call: Nanos,
    manual_walk: Nanos,
    worst_pass: Nanos,
    visited: Option<u64>,
    outcome: Option<SearchEnd>,
    coverage: Option<f64>,
    details: BTreeMap<String, String>,
    /// Classes it looked for.
    wanted: BTreeSet<String>,
    /// Those without a path at its end.
    without: BTreeSet<String>,
    /// Those of which it met nothing.
    unreached: BTreeSet<String>,
    /// What it did not look at.
    gaps: Vec<String>,
}

impl OwnFacts {
    pub(super) fn started(&mut self, started: own::SearchStarted, at: EpochNanos) {
        let search = self.searches.entry(started.search).or_default();
        search.start = Some(at);
        search.wanted = parts(Some(&started.candidates));
        let candidates = Some(started.candidates).filter(|c| !c.is_empty());
        search.note("looking for", candidates);
    }

    /// What the last search for `class` says of its having no chain.
    pub(super) fn no_chain(&self, class: &str) -> NoChain {
        let sought = |s: &SearchFacts| s.wanted.contains(class) || s.without.contains(class);
        let last = self.searches.iter().rev().find(|(_, s)| sought(s));
        let Some((number, search)) = last else {
            return NoChain::not_searched();
        };
        let mut gaps = search.gaps.clone();
        let state = if search.outcome.is_none() {
            gaps = vec!["still-running".to_owned()];
            NoChainState::Incomplete
        } else if !search.without.contains(class) && gaps.is_empty() {
            // A recording that does not tell: nothing follows.
            gaps.push("not-told".to_owned());
            NoChainState::Incomplete
        } else if !gaps.is_empty() {
            NoChainState::Incomplete
        } else if search.unreached.contains(class) {
            NoChainState::NoStrongPath
        } else {
            NoChainState::PathLost
        };
        NoChain {
            state,
            gaps,
            search: Some(count(*number)),
        }
    }

    pub(super) fn pass(&mut self, pass: &own::SearchPass, at: EpochNanos) {
        let search = self.searches.entry(pass.search).or_default();
        let call = nanos(pass.heap_walk_call_time);
        let wall = call.plus(nanos(pass.manual_walk_time));
        // Pass events are written when the pass has ended.
        search.starts(before(at, wall));
        search.end = Some(at);
        search.passes += 1;
        search.heap_walk_call = search.heap_walk_call.plus(call);
        search.manual_walk = search.manual_walk.plus(nanos(pass.manual_walk_time));
        search.worst_pass = search.worst_pass.max(call);
        search.visited = pass.visited_objects.map(count).or(search.visited);
        search.coverage = share(pass.coverage).or(search.coverage);
        self.passes.push(PassPoint {
            time: before(at, wall),
            wall,
            heap_walk_call: call,
        });
    }

    pub(super) fn completed(&mut self, done: &own::SearchCompleted, at: EpochNanos) {
        let search = self.searches.entry(done.search).or_default();
        let outcome = match &*done.outcome {
            "stopped" => SearchEnd::Stopped,
            _ => SearchEnd::Completed,
        };
        search.ended(outcome, at, nanos(done.elapsed));
        search.totals(
            count(done.passes),
            nanos(done.heap_walk_call_time),
            nanos(done.manual_walk_time),
            count(done.visited_objects),
        );
        search.coverage = share(done.coverage).or(search.coverage);
        search.lost(&done.without_chain, &done.unreached, done.gaps.as_ref());
        search.note("resolved", Some(resolved(done.resolved, done.unresolved)));
        if done.unresolved == 0 {
            search.note(LEFT_OUT, done.partial.then(|| NOT_NEEDED.to_owned()));
        } else {
            search.note(LEFT_OUT, done.partial.then(|| NOT_ALL.to_owned()));
        }
    }

    pub(super) fn abandoned(&mut self, ended: &own::SearchAbandoned, at: EpochNanos) {
        let search = self.searches.entry(ended.search).or_default();
        search.ended(
            SearchEnd::Abandoned(ended.reason.to_string()),
            at,
            nanos(ended.elapsed),
        );
        search.totals(
            count(ended.passes),
            nanos(ended.heap_walk_call_time),
            nanos(ended.manual_walk_time),
            count(ended.visited_objects),
        );
        search.coverage = share(ended.coverage).or(search.coverage);
        search.lost(&ended.without_chain, &ended.unreached, ended.gaps.as_ref());
        search.note("resolved", Some(resolved(ended.resolved, ended.unresolved)));
        search.note(LEFT_OUT, ended.partial.then(|| NOT_ALL.to_owned()));
        search.note("because", ended.detail.clone());
        search.note("frontier", ended.frontier_entries.map(|n| n.to_string()));
        search.note("frontier cap", ended.frontier_cap.map(|n| n.to_string()));
        search.note("memory", ended.memory.map(|n| units::bytes(bytes(n))));
        search.note(
            "memory cap",
            ended.memory_cap.map(|n| units::bytes(bytes(n))),
        );
        search.note("time limit", ended.ttl.map(|n| units::span(nanos(n))));
        search.note(
            "roots",
            ended.root_outcome.as_ref().map(ToString::to_string),
        );
        search.note(
            "stalled passes",
            ended.stalled_passes.map(|n| n.to_string()),
        );
    }
}

impl SearchFacts {
    fn ended(&mut self, outcome: SearchEnd, at: EpochNanos, elapsed: Nanos) {
        // In the JVM's own recordings an event has the time at which it was committed, maybe later.
        self.starts(before(at, elapsed));
        self.end = Some(at);
        self.outcome = Some(outcome);
    }

    fn lost(&mut self, without: &Option<String>, unreached: &Option<String>, gaps: Option<&Name>) {
        self.without = parts(without.as_deref());
        self.unreached = parts(unreached.as_deref());
        let gaps = gaps.map_or("", |gaps| gaps).split(", ");
        self.gaps = gaps.filter(|g| !g.is_empty()).map(str::to_owned).collect();
        self.note("no instance reached of", unreached.clone());
    }

    fn starts(&mut self, at: EpochNanos) {
        self.start = Some(self.start.map_or(at, |known| known.min(at)));
    }

    pub(super) fn note(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.details.insert(name.to_owned(), value);
        }
    }

    /// Totals of the end's event win where pass events were not recorded.
    fn totals(&mut self, passes: u64, call: Nanos, walk: Nanos, visited: u64) {
        self.passes = self.passes.max(passes);
        self.heap_walk_call = self.heap_walk_call.max(call);
        self.manual_walk = self.manual_walk.max(walk);
        self.visited = Some(visited);
    }

    pub(super) fn append(&mut self, later: Self) {
        self.start = self.start.or(later.start);
        self.end = later.end.or(self.end);
        self.visited = later.visited.or(self.visited);
        self.coverage = later.coverage.or(self.coverage);
        self.worst_pass = self.worst_pass.max(later.worst_pass);
        if later.outcome.is_some() && later.passes >= self.passes {
            // The end's totals cover the passes before it.
            self.passes = later.passes;
            self.heap_walk_call = self.heap_walk_call.max(later.heap_walk_call);
            self.manual_walk = self.manual_walk.max(later.manual_walk);
        } else {
            self.passes += later.passes;
            self.heap_walk_call = self.heap_walk_call.plus(later.heap_walk_call);
            self.manual_walk = self.manual_walk.plus(later.manual_walk);
        }
        if later.outcome.is_some() {
            self.without = later.without;
            self.unreached = later.unreached;
            self.gaps = later.gaps;
        }
        self.wanted.extend(later.wanted);
        self.outcome = later.outcome.or(self.outcome.take());
        self.details.extend(later.details);
    }

    pub(super) fn into_search(self, number: i64) -> Search {
        Search {
            id: Some(count(number)),
            producer: Producer::JfrChains,
            input: 0,
            start: self.start,
            end: self.end,
            outcome: self.outcome.unwrap_or(SearchEnd::Running),
            passes: self.passes,
            visited: self.visited,
            heap_walk_call_ns: self.heap_walk_call,
            manual_walk_ns: self.manual_walk,
            worst_pass_ns: self.worst_pass,
            coverage: self.coverage,
            details: self.details,
        }
    }
}

/// Name of the detail that says what was not walked.
const LEFT_OUT: &str = "left out";
/// A search that had resolved all it looked for.
const NOT_NEEDED: &str = "the rest of the heap (not needed)";
/// A search that ended before the whole heap was walked, with candidates unresolved.
const NOT_ALL: &str = "a part of the heap";

/// The parts of a comma-separated list, class names as Java has them.
fn parts(list: Option<&str>) -> BTreeSet<String> {
    let parts = list.unwrap_or_default().split(", ");
    let named = parts.filter(|part| !part.is_empty());
    named.map(|part| java_name(part).into_owned()).collect()
}

fn resolved(resolved: i32, unresolved: i32) -> String {
    format!("{resolved} of {}", resolved.saturating_add(unresolved))
}
