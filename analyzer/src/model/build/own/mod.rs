//! Our agent's events: what each adds to the facts.

mod candidate;
mod chain;
mod journal;
mod search;
mod status;

use std::collections::{BTreeMap, HashMap};

use jfr_format::entity::{ClassInfo, ThreadInfo};
use jfr_format::schema::events as own;
use jfr_format::schema::{Event as _, Name, Share};

use self::candidate::{CandidateFacts, own_candidate, qualifies};
use self::chain::own_chain;
use self::search::SearchFacts;
use self::status::{Refusals, agent, no_projection};
use super::Facts;
use super::series::Series;
use super::source::{Fields, bytes, count, java_name, nanos};
use crate::model::verdict::Watched;
use crate::model::{AgePoint, CostPoint, EpochNanos, FloorPoint, Nanos, PassPoint};
use crate::reader::Event;

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
    /// Heap use after every collection, for pictures.
    pub heap: Series<FloorPoint>,
    /// Whether the last floor event saw a rise.
    pub floor_rising: Option<bool>,
    /// Memory use of the container over time.
    pub container: Series<(EpochNanos, u64)>,
    projection: Option<own::OomProjection>,
    ever_urgent: Option<bool>,
    status: Option<(own::AgentStatus, EpochNanos)>,
    /// Epoch and time of the agent's last start.
    started: Option<(u64, EpochNanos)>,
    degradations: Vec<String>,
    /// When the agent started.
    agent_start: Option<EpochNanos>,
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
                self.started(own::SearchStarted::decode(&fields), at);
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
            "jfrchains.CoreInput" => {
                let input = own::CoreInput::decode(&fields);
                journal::floor(&input, at).for_each(|point| self.heap.push(point));
            }
            "jfrchains.OomProjection" => {
                let projection = own::OomProjection::decode(&fields);
                self.urgent(projection.urgent);
                self.projection = Some(projection);
            }
            "jfrchains.UrgencyLatch" => self.urgent(own::UrgencyLatch::decode(&fields).latched),
            "jfrchains.AgentStatus" => self.status(own::AgentStatus::decode(&fields), at),
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
        let facts = self.candidates.entry(name).or_default();
        facts.ever_qualified |= qualifies(&candidate);
        if let Some(ages) = candidate.fitted_end {
            facts.ages.push(AgePoint { time: at, ages });
        }
        facts.last = candidate;
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
                jvm: 0,
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

    fn status(&mut self, status: own::AgentStatus, at: EpochNanos) {
        if status.uptime.0 > 0 {
            self.agent_start
                .get_or_insert(before(at, nanos(status.uptime)));
        }
        if matches!(&*status.severity, "warning" | "error")
            && !status.message.is_empty()
            && !self.degradations.contains(&status.message)
        {
            self.degradations.push(status.message.clone());
        }
        if &*status.code == "started" {
            self.started = Some((count(status.epoch), at));
        }
        self.status = Some((status, at));
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
        self.heap.append(later.heap);
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
        self.agent_start = self.agent_start.or(later.agent_start);
        self.started = later.started.or(self.started);
        self.any |= later.any;
    }

    /// Moves everything into the facts of the recording.
    pub fn finish(mut self, facts: &mut Facts) {
        for (number, (chain, sightings)) in std::mem::take(&mut self.chains) {
            let hops = self.hops.remove(&number).unwrap_or_default();
            facts.chains.push(own_chain(chain, hops, sightings));
        }
        for (class, candidate) in std::mem::take(&mut self.candidates) {
            let mut candidate = own_candidate(class, candidate);
            if candidate.ever_qualified {
                candidate.no_chain = Some(self.no_chain(&candidate.class));
            }
            facts.candidates.push(candidate);
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
            cost.edge_budget = Some(count(budget.edge_budget));
            cost.cadence_ns = Some(nanos(budget.cadence));
            cost.backoff_multiplier = Some(count(budget.backoff_multiplier));
            cost.unresolved_candidates = Some(count(budget.unresolved));
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
        facts.agent_start = self.agent_start;
        facts.agent = self.any.then(|| {
            agent(
                self.status.as_ref().map(|(status, _)| status),
                self.degradations,
            )
        });
        if let Some((status, at)) = self.status {
            // Without its start in the recording: all that the JVM has lived.
            let (epoch, since) = match self.started {
                Some((epoch, since)) => (epoch, Some(since)),
                None => (0, self.agent_start),
            };
            facts.watched = Some(Watched {
                epochs: count(status.epoch).saturating_sub(epoch),
                span: since.map(|since| at.since(since)),
            });
            let jvm = &mut facts.jvm;
            jvm.version = jvm.version.take().or(name(status.jvm.as_ref()));
            jvm.collector = jvm.collector.take().or(name(status.collector.as_ref()));
        }
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

fn before(at: EpochNanos, span: Nanos) -> EpochNanos {
    let span = i64::try_from(span.0).unwrap_or(i64::MAX);
    EpochNanos::new(at.get().saturating_sub(span))
}
