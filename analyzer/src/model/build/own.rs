//! Our agent's events: what each adds to the facts.

use std::collections::{BTreeMap, HashMap};

use jfr_format::schema::events as own;
use jfr_format::schema::{Event as _, FieldSink, FieldSpec, Value};

use jfr_format::entity::{ClassInfo, ThreadInfo};
use jfr_format::schema::{Name, Share};

use super::Facts;
use super::series::Series;
use super::source::{self, Fields, bytes, count, java_name, nanos};
use crate::model::{
    AgePoint, AgentStatus, Candidate, Chain, CostPoint, Edge, EdgeKind, EpochNanos, FloorPoint,
    Hop, Nanos, PassPoint, Producer, Progress, RootKind, Search, SearchEnd, Strength,
};
use crate::reader::Event;
use crate::report::units;

/// What our own events say, kept small while reading.
#[derive(Debug, Default)]
pub struct OwnFacts {
    /// The newest sighting of each chain number.
    chains: BTreeMap<i64, (own::ReferenceChain, Sightings)>,
    /// Hops by chain number and position.
    hops: HashMap<i64, BTreeMap<i32, own::Hop>>,
    /// Classes by name.
    candidates: BTreeMap<String, CandidateFacts>,
    /// Searches by number.
    searches: BTreeMap<i64, SearchFacts>,
    /// Cumulative refusals by gate.
    refusals: BTreeMap<String, u64>,
    budget: Option<own::CostBudget>,
    budget_series: Series<CostPoint>,
    passes: Series<PassPoint>,
    /// Post-GC usage.
    pub floor: Series<FloorPoint>,
    /// Whether the last floor event saw a rise.
    pub floor_rising: Option<bool>,
    /// Memory use of the container over time.
    pub container: Series<(EpochNanos, u64)>,
    projection: Option<own::OomProjection>,
    ever_urgent: Option<bool>,
    status: Option<own::AgentStatus>,
    degradations: Vec<String>,
    /// Whether any event of ours was seen.
    pub any: bool,
}

/// How often and when a chain was recorded.
#[derive(Debug, Clone, Copy)]
struct Sightings {
    count: u64,
    first: EpochNanos,
    last: EpochNanos,
}

#[derive(Debug, Clone)]
struct CandidateFacts {
    last: own::LeakCandidate,
    ever_qualified: bool,
    ages: Series<AgePoint>,
}

#[derive(Debug, Default, Clone)]
struct SearchFacts {
    start: Option<EpochNanos>,
    end: Option<EpochNanos>,
    passes: u64,
    heap_walk_call: Nanos,
    manual_walk: Nanos,
    worst_pass: Nanos,
    visited: Option<u64>,
    outcome: Option<SearchEnd>,
    coverage: Option<f64>,
    details: BTreeMap<String, String>,
}

impl OwnFacts {
    /// Takes one event whose type is ours.
    pub fn event(&mut self, event: &Event<'_>, at: EpochNanos) {
        let fields = Fields(event);
        self.any = true;
        match event.name() {
            "jfrchains.ReferenceChain" => {
                let chain = own::ReferenceChain::decode(&fields);
                let seen = Sightings {
                    count: 1,
                    first: at,
                    last: at,
                };
                self.sighting(chain, seen);
            }
            "jfrchains.Hop" => {
                let hop = own::Hop::decode(&fields);
                self.hops
                    .entry(hop.chain)
                    .or_default()
                    .insert(hop.index, hop);
            }
            "jfrchains.LeakCandidate" => self.candidate(own::LeakCandidate::decode(&fields), at),
            "jfrchains.SearchStarted" => {
                let started = own::SearchStarted::decode(&fields);
                let search = self.searches.entry(started.search).or_default();
                search.start = Some(at);
                search.note(
                    "looking for",
                    Some(started.candidates).filter(|c| !c.is_empty()),
                );
            }
            "jfrchains.SearchPass" => self.pass(&own::SearchPass::decode(&fields), at),
            "jfrchains.SearchCompleted" => {
                self.completed(&own::SearchCompleted::decode(&fields), at);
            }
            "jfrchains.SearchAbandoned" => {
                self.abandoned(&own::SearchAbandoned::decode(&fields), at);
            }
            "jfrchains.GateRefusals" => {
                own::GateRefusals::decode(&fields).visit(&mut Refusals(&mut self.refusals));
            }
            "jfrchains.CostBudget" => self.budget(own::CostBudget::decode(&fields), at),
            "jfrchains.HeapFloor" => self.floor(&own::HeapFloor::decode(&fields), at),
            "jfrchains.OomProjection" => {
                let projection = own::OomProjection::decode(&fields);
                self.urgent(projection.urgent);
                self.projection = Some(projection);
            }
            "jfrchains.UrgencyLatch" => self.urgent(own::UrgencyLatch::decode(&fields).latched),
            "jfrchains.AgentStatus" => self.status(own::AgentStatus::decode(&fields)),
            _ => {}
        }
    }

    /// The newest event of a chain wins; what was seen before only adds to the count.
    fn sighting(&mut self, chain: own::ReferenceChain, mut seen: Sightings) {
        if let Some((_, before)) = self.chains.get(&chain.chain) {
            seen.count += before.count;
            seen.first = before.first.min(seen.first);
            seen.last = before.last.max(seen.last);
        }
        self.chains.insert(chain.chain, (chain, seen));
    }

    fn candidate(&mut self, candidate: own::LeakCandidate, at: EpochNanos) {
        let Some(name) = class(&candidate.class_name, candidate.class.as_deref()) else {
            return;
        };
        let facts = self
            .candidates
            .entry(name)
            .or_insert_with(|| CandidateFacts {
                last: own::LeakCandidate::default(),
                ever_qualified: false,
                ages: Series::default(),
            });
        facts.ever_qualified |= qualifies(&candidate);
        if let Some(ages) = candidate.fitted_end {
            facts.ages.push(AgePoint { time: at, ages });
        }
        facts.last = candidate;
    }

    fn pass(&mut self, pass: &own::SearchPass, at: EpochNanos) {
        let search = self.searches.entry(pass.search).or_default();
        let call = nanos(pass.heap_walk_call_time);
        let wall = call.plus(nanos(pass.manual_walk_time));
        // Pass events are written when the pass has ended.
        search.start.get_or_insert(before(at, wall));
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

    fn completed(&mut self, done: &own::SearchCompleted, at: EpochNanos) {
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
        search.note("resolved", Some(resolved(done.resolved, done.unresolved)));
        if done.unresolved == 0 {
            let rest = "the rest of the heap did not have to be walked";
            search.note("stopped:", done.partial.then(|| rest.to_owned()));
        } else {
            search.note("partial:", done.partial.then(|| NOT_ALL.to_owned()));
        }
    }

    fn abandoned(&mut self, ended: &own::SearchAbandoned, at: EpochNanos) {
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
        search.note("resolved", Some(resolved(ended.resolved, ended.unresolved)));
        search.note("partial:", ended.partial.then(|| NOT_ALL.to_owned()));
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

    fn budget(&mut self, budget: own::CostBudget, at: EpochNanos) {
        self.urgent(budget.urgent);
        self.budget_series.push(CostPoint {
            time: at,
            safepoint_balance_ns: Some(nanos(budget.safepoint_balance)),
            cpu_balance_ns: Some(nanos(budget.cpu_balance)),
            edge_budget: Some(count(budget.edge_budget)),
        });
        self.budget = Some(budget);
    }

    fn floor(&mut self, floor: &own::HeapFloor, at: EpochNanos) {
        if let Some(used) = floor.used {
            self.floor.push(FloorPoint {
                time: at,
                used_bytes: bytes(used),
                max_bytes: floor.max.map(bytes),
            });
        }
        self.floor_rising = Some(floor.rising);
        if let Some(used) = floor.container_used {
            self.container.push((at, bytes(used)));
        }
    }

    fn urgent(&mut self, latched: bool) {
        self.ever_urgent = Some(self.ever_urgent.unwrap_or(false) || latched);
    }

    fn status(&mut self, status: own::AgentStatus) {
        if matches!(&*status.severity, "warning" | "error")
            && !status.message.is_empty()
            && !self.degradations.contains(&status.message)
        {
            self.degradations.push(status.message.clone());
        }
        self.status = Some(status);
    }

    /// Adds what later chunks of the same recording say.
    pub fn append(&mut self, later: Self) {
        for (chain, seen) in later.chains.into_values() {
            self.sighting(chain, seen);
        }
        for (number, hops) in later.hops {
            self.hops.entry(number).or_default().extend(hops);
        }
        for (name, facts) in later.candidates {
            match self.candidates.get_mut(&name) {
                Some(known) => {
                    known.ever_qualified |= facts.ever_qualified;
                    known.ages.append(facts.ages);
                    known.last = facts.last;
                }
                None => {
                    self.candidates.insert(name, facts);
                }
            }
        }
        for (number, facts) in later.searches {
            self.searches.entry(number).or_default().append(facts);
        }
        for (gate, refusals) in later.refusals {
            let known = self.refusals.entry(gate).or_default();
            *known = (*known).max(refusals);
        }
        self.budget = later.budget.or(self.budget.take());
        self.budget_series.append(later.budget_series);
        self.passes.append(later.passes);
        self.floor.append(later.floor);
        self.floor_rising = later.floor_rising.or(self.floor_rising);
        self.container.append(later.container);
        self.projection = later.projection.or(self.projection.take());
        if let Some(latched) = later.ever_urgent {
            self.urgent(latched);
        }
        self.status = later.status.or(self.status.take());
        for message in later.degradations {
            if !self.degradations.contains(&message) {
                self.degradations.push(message);
            }
        }
        self.any |= later.any;
    }

    /// Moves everything into the facts of the recording.
    pub fn finish(mut self, facts: &mut Facts) {
        for (number, (chain, sightings)) in std::mem::take(&mut self.chains) {
            let hops = self.hops.remove(&number).unwrap_or_default();
            facts.chains.push(own_chain(chain, hops, sightings));
        }
        for (class, candidate) in self.candidates {
            facts.candidates.push(own_candidate(class, candidate));
        }
        for (number, search) in self.searches {
            facts.searches.push(search.into_search(number));
        }
        let cost = &mut facts.cost;
        for search in &facts.searches {
            cost.heap_walk_call_ns = cost.heap_walk_call_ns.plus(search.heap_walk_call_ns);
            cost.manual_walk_ns = cost.manual_walk_ns.plus(search.manual_walk_ns);
            cost.passes += search.passes;
            cost.worst_pass_ns = cost.worst_pass_ns.max(search.worst_pass_ns);
        }
        cost.refusals = self.refusals;
        if let Some(budget) = self.budget {
            cost.safepoint_balance_ns = Some(nanos(budget.safepoint_balance));
            cost.cpu_balance_ns = Some(nanos(budget.cpu_balance));
        }
        cost.series = self.budget_series.into_vec();
        facts.passes = self.passes.into_vec();
        facts.oom.urgent = self.ever_urgent;
        if let Some(projection) = self.projection {
            match projection.projection {
                Some(left) => facts.oom.seconds_to_oom = Some(nanos(left).seconds()),
                None => facts.oom.why_not = Some(no_projection(&projection)),
            }
        }
        facts.agent = self
            .any
            .then(|| agent(self.status.as_ref(), self.degradations));
        if let Some(status) = self.status {
            let jvm = &mut facts.jvm;
            jvm.version = jvm.version.take().or(name(status.jvm.as_ref()));
            jvm.collector = jvm.collector.take().or(name(status.collector.as_ref()));
        }
    }
}

impl SearchFacts {
    fn ended(&mut self, outcome: SearchEnd, at: EpochNanos, elapsed: Nanos) {
        self.start.get_or_insert(before(at, elapsed));
        self.end = Some(at);
        self.outcome = Some(outcome);
    }

    fn note(&mut self, name: &str, value: Option<String>) {
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

    fn append(&mut self, later: Self) {
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
        self.outcome = later.outcome.or(self.outcome.take());
        self.details.extend(later.details);
    }

    fn into_search(self, number: i64) -> Search {
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

fn qualifies(candidate: &own::LeakCandidate) -> bool {
    matches!(&*candidate.state, "qualified" | "outranked")
}

fn own_candidate(class: String, facts: CandidateFacts) -> Candidate {
    let last = facts.last;
    let noise = crate::model::noise::of_class(&class);
    Candidate {
        discounted: None,
        class,
        qualifying: qualifies(&last),
        ever_qualified: facts.ever_qualified,
        state: Some(last.state.to_string()).filter(|state| !state.is_empty()),
        confirmed: Some(last.confirmed),
        values: Some(Progress {
            have: count(last.values),
            need: count(last.values_needed),
        }),
        folds: Some(Progress {
            have: count(last.folds),
            need: count(last.folds_needed),
        }),
        ages: last.fitted_end,
        fitted_growth: last
            .fitted_end
            .zip(last.fitted_start)
            .map(|(end, start)| end - start),
        instances: Some(count(last.survivors)),
        retained_sampled_bytes: Some(bytes(last.retained_sampled_bytes)),
        growth_bytes_per_hour: last.growth_per_hour.map(per_hour),
        earliest_signal_ns: last.earliest_signal.map(nanos),
        thread: thread_name(&last.thread_names, last.thread.as_deref()),
        stack: source::own_frames(last.allocation_stack_trace.as_deref()),
        chains: Vec::new(),
        noise,
        series: facts.ages.into_vec(),
    }
}

#[allow(clippy::cast_precision_loss, reason = "an estimate of a rate")]
fn per_hour(amount: jfr_format::schema::Bytes) -> f64 {
    amount.0 as f64
}

/// The name that was told as text, else the name of the thread constant.
fn thread_name(text: &Name, thread: Option<&ThreadInfo>) -> Option<String> {
    name(Some(text)).or_else(|| {
        let thread = thread?;
        thread.java_name.clone().or_else(|| thread.os_name.clone())
    })
}

fn name(text: Option<&Name>) -> Option<String> {
    text.map(ToString::to_string)
        .filter(|text| !text.is_empty())
}

/// The class that was told as text, else the name of the class constant.
fn class(text: &Name, class: Option<&ClassInfo>) -> Option<String> {
    let told = name(Some(text)).or_else(|| Some(class?.name.clone()))?;
    Some(java_name(&told).into_owned())
}

fn share(part: Option<Share>) -> Option<f64> {
    part.map(|part| f64::from(part.0))
}

/// A search that ended before the whole heap was walked, with candidates unresolved.
const NOT_ALL: &str = "not all of the heap was walked";

fn resolved(resolved: i32, unresolved: i32) -> String {
    format!("{resolved} of {}", resolved.saturating_add(unresolved))
}

fn before(at: EpochNanos, span: Nanos) -> EpochNanos {
    let span = i64::try_from(span.0).unwrap_or(i64::MAX);
    EpochNanos::new(at.get().saturating_sub(span))
}

/// Takes the refusals of every gate, whichever gates there are.
struct Refusals<'r>(&'r mut BTreeMap<String, u64>);

impl FieldSink for Refusals<'_> {
    fn field(&mut self, spec: &'static FieldSpec, value: Value<'_>) {
        if let Value::Long(refusals) = value {
            let known = self.0.entry(kebab(spec.name)).or_default();
            *known = (*known).max(count(refusals));
        }
    }
}

/// `noCandidate` as `no-candidate`.
fn kebab(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 4);
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn own_chain(
    event: own::ReferenceChain,
    hops: BTreeMap<i32, own::Hop>,
    sightings: Sightings,
) -> Chain {
    let kind = RootKind::parse(&event.root_kind).unwrap_or(RootKind::Unknown);
    let mut root = super::root_words::parse(kind, &event.root_description);
    let mut out: Vec<Hop> = hops.into_values().map(own_hop).collect();
    if out.is_empty() {
        out = super::path_text::parse(&event.path);
    }
    if root.field.is_none()
        && kind == RootKind::StaticField
        && let Some(first) = out.first()
    {
        root.field = first.edge.name.clone();
    }
    let container = event
        .container_hop
        .and_then(|hop| usize::try_from(hop).ok());
    let mut chain = Chain::of_path(Producer::JfrChains, root, out, container);
    if is_short_id(&event.signature) {
        chain.id = event.signature.to_ascii_lowercase();
    }
    if let Some(leaf) = name(Some(&event.leaf_class)) {
        chain.leaf = java_name(&leaf).into_owned();
    }
    chain.strength = match Strength::parse(&event.strength) {
        Strength::Unknown => chain.strength,
        told => told,
    };
    chain.identity = name(Some(&event.identity));
    chain.instances = Some(count(event.instances)).filter(|instances| *instances > 0);
    chain.share = share(event.share);
    chain.coverage = share(event.coverage);
    chain.retained_sampled_bytes = Some(bytes(event.retained_sampled_bytes));
    chain.growth_bytes_per_hour = event.growth_per_hour.map(per_hour);
    chain.allocating_thread = thread_name(&event.thread_name, event.allocating_thread.as_deref());
    chain.stack = source::own_frames(event.allocation_stack_trace.as_deref());
    chain.first_seen = millis(event.first_seen).or(Some(sightings.first));
    chain.last_seen = Some(sightings.last);
    chain.age_epochs = event.age.map(count);
    chain.confirmed = Some(event.confirmed);
    chain.provisional = event.provisional;
    chain.candidate_class = class(&event.candidate_name, event.candidate_class.as_deref());
    chain.also_held = event
        .merged
        .split(',')
        .map(|class| java_name(class.trim()).into_owned())
        .filter(|class| !class.is_empty() && *class != chain.leaf)
        .collect();
    chain.sightings = sightings.count;
    chain
}

fn own_hop(hop: own::Hop) -> Hop {
    Hop {
        class: class(&hop.class_name, hop.class.as_deref()).unwrap_or_default(),
        edge: Edge {
            kind: EdgeKind::parse(&hop.edge_kind),
            name: name(hop.edge_name.as_ref()),
            index: hop.array_index.map(count),
        },
        run: count(hop.run).max(1),
    }
}

fn is_short_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn millis(at: jfr_format::schema::EpochMillis) -> Option<EpochNanos> {
    (at.0 > 0).then(|| EpochNanos::new(at.0.saturating_mul(1_000_000)))
}

fn no_projection(projection: &own::OomProjection) -> String {
    if projection.burn_in {
        "burn-in: there are none in the signal's first 300 s".to_owned()
    } else if projection.samples < 10 {
        format!("{} of 10 usage samples", projection.samples)
    } else {
        "usage does not rise over both the whole and the recent window".to_owned()
    }
}

fn agent(status: Option<&own::AgentStatus>, degradations: Vec<String>) -> AgentStatus {
    let mut out = AgentStatus {
        degradations,
        ..AgentStatus::default()
    };
    let Some(status) = status else {
        return out;
    };
    out.version = name(Some(&status.version));
    out.state = name(status.state.as_ref());
    out.configuration = name(status.options.as_ref());
    out.engine = name(status.engine.as_ref());
    out.epoch_source = name(status.epoch_source.as_ref());
    out.epochs = Some(count(status.epoch));
    out.samples = Some(count(status.samples));
    out.drops = [
        ("queue", status.queue_dropped),
        ("table", status.table_dropped),
        ("reservoir", status.reservoir_dropped),
        ("classes", status.classes_dropped),
        ("chains", status.chains_dropped),
        ("abandonments", status.abandonments_dropped),
        ("records", status.records_dropped),
        ("journal", status.journal_dropped),
        ("events", status.events_dropped),
    ]
    .into_iter()
    .map(|(name, dropped)| (name.to_owned(), count(dropped)))
    .collect();
    out
}
