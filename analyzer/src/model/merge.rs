//! Recordings of one or many JVMs as one report.

use std::collections::BTreeMap;

use super::build::Facts;
use super::chain::{earlier, sum};
use super::verdict::{self, Evidence, Watched};
use super::{
    AgentStatus, Candidate, Chain, Cost, EpochNanos, FloorPoint, InputInfo, Jvm, Nanos, Progress,
    Report, leaks, noise,
};
use crate::model::leaks::last;

/// Agents that started within this are one: its recordings compute the moment from an uptime.
const ONE_START: u64 = 50_000_000;

/// Merges what the recordings say, and judges it. The order of inputs is that of the command line.
pub fn merge(recordings: Vec<(InputInfo, Facts)>) -> Report {
    let mut all = Merged::default();
    for (position, (info, facts)) in recordings.into_iter().enumerate() {
        all.add(position, info, facts);
    }
    all.finish()
}

#[derive(Default)]
struct Merged {
    inputs: Vec<InputInfo>,
    jvms: Vec<Jvm>,
    /// By id and JVM.
    chains: BTreeMap<(String, usize), Chain>,
    /// By class and JVM.
    candidates: BTreeMap<(String, usize), Candidate>,
    rest: Facts,
    /// Cost of each JVM's recordings.
    costs: BTreeMap<usize, Cost>,
    /// The newest status of each JVM's agent.
    agents: BTreeMap<usize, AgentStatus>,
    /// When the agent of each JVM started, for recordings that give no pid.
    agent_starts: BTreeMap<usize, EpochNanos>,
    watched: Option<Watched>,
    old_objects_without_path: u64,
    cutoffs: Vec<String>,
}

impl Merged {
    fn add(&mut self, position: usize, mut info: InputInfo, facts: Facts) {
        let jvm = self.jvm(facts.jvm, facts.agent_start, position);
        info.jvm = (jvm < self.jvms.len()).then_some(jvm);
        for mut chain in facts.chains {
            chain.seen_in = vec![position];
            match self.chains.get_mut(&(chain.id.clone(), jvm)) {
                Some(known) => known.merge(chain, true),
                None => {
                    self.chains.insert((chain.id.clone(), jvm), chain);
                }
            }
        }
        for candidate in facts.candidates {
            self.candidate(candidate, jvm);
        }
        for (class, survivors) in facts.survivors {
            let candidate = Candidate {
                noise: noise::of_class(&class),
                state: Some("old-objects".to_owned()),
                instances: Some(survivors.count),
                retained_sampled_bytes: Some(survivors.bytes).filter(|bytes| *bytes > 0),
                thread: survivors.thread,
                stack: survivors.stack,
                ..Candidate::of_class(class)
            };
            self.candidate(candidate, jvm);
        }
        let rest = &mut self.rest;
        rest.searches
            .extend(facts.searches.into_iter().map(|mut search| {
                search.input = position;
                search
            }));
        let of_jvm = |mut point: FloorPoint| {
            point.jvm = info.jvm.unwrap_or(jvm);
            point
        };
        rest.floor.extend(facts.floor.into_iter().map(of_jvm));
        rest.heap.extend(facts.heap.into_iter().map(of_jvm));
        rest.floor_rising = facts.floor_rising.or(rest.floor_rising);
        rest.passes.extend(facts.passes);
        rest.outside.extend(facts.outside);
        rest.oom.seconds_to_oom = least(rest.oom.seconds_to_oom, facts.oom.seconds_to_oom);
        rest.oom.urgent = match (rest.oom.urgent, facts.oom.urgent) {
            (Some(a), Some(b)) => Some(a || b),
            (known, None) | (None, known) => known,
        };
        rest.oom.why_not = facts.oom.why_not.or(rest.oom.why_not.take());
        if let Some(agent) = facts.agent {
            let longest = self.watched.into_iter().chain(facts.watched);
            self.watched = longest.max_by_key(|watched| watched.folds());
            match self.agents.get_mut(&jvm) {
                Some(known) => known.join(agent),
                None => {
                    self.agents.insert(jvm, agent);
                }
            }
        }
        self.costs.entry(jvm).or_default().join(facts.cost);
        self.old_objects_without_path += facts.old_objects - facts.old_objects_with_path;
        rest.old_objects += facts.old_objects;
        self.cutoffs.extend(facts.old_object_cutoff);
        self.inputs.push(info);
    }

    /// The position of this JVM among those seen: by pid and start, else by the moment at which its
    /// agent started. Without either every recording is its own JVM.
    fn jvm(&mut self, jvm: Jvm, agent_start: Option<EpochNanos>, position: usize) -> usize {
        if jvm == Jvm::default() {
            return usize::MAX - position;
        }
        let starts = &self.agent_starts;
        let same = |(at, known): (usize, &Jvm)| {
            if known.pid.is_some() && jvm.pid.is_some() {
                known.pid == jvm.pid && known.started == jvm.started
            } else {
                let both = starts.get(&at).zip(agent_start);
                both.is_some_and(|(a, b)| a.get().abs_diff(b.get()) < ONE_START)
                    && known.version == jvm.version
            }
        };
        let found = self.jvms.iter().enumerate().position(same);
        let at = found.unwrap_or_else(|| {
            self.jvms.push(Jvm::default());
            self.jvms.len() - 1
        });
        if let Some(known) = self.jvms.get_mut(at) {
            known.learn(jvm);
        }
        if let Some(start) = agent_start {
            self.agent_starts.entry(at).or_insert(start);
        }
        at
    }

    fn candidate(&mut self, candidate: Candidate, jvm: usize) {
        match self.candidates.get_mut(&(candidate.class.clone(), jvm)) {
            Some(known) => known.merge(candidate),
            None => {
                self.candidates
                    .insert((candidate.class.clone(), jvm), candidate);
            }
        }
    }

    fn finish(self) -> Report {
        let mut chains: Vec<Chain> = Vec::new();
        for ((id, jvm), mut chain) in self.chains {
            let class = chain.candidate_class.clone().map(|class| (class, jvm));
            if let Some(class) = class.and_then(|class| self.candidates.get(&class)) {
                chain.refresh(class);
            }
            match chains.last_mut().filter(|known| known.id == id) {
                Some(known) => known.merge(chain, false),
                None => chains.push(chain),
            }
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        for ((class, _), candidate) in self.candidates {
            match candidates.last_mut().filter(|known| known.class == class) {
                Some(known) => known.join_jvm(candidate),
                None => candidates.push(candidate),
            }
        }
        rank_chains(&mut chains);
        let mut chains: Vec<Chain> = leaks::group(chains)
            .into_iter()
            .filter_map(leaks::Leak::into_chain)
            .collect();
        rank_chains(&mut chains);
        tell_once(&mut chains);
        link(&mut candidates, &chains);
        rank_candidates(&mut candidates);
        let mut rest = self.rest;
        rest.agent = self.agents.into_values().reduce(AgentStatus::beside);
        rest.searches
            .sort_by_key(|search| (search.input, search.start, search.id));
        rest.floor.sort_by_key(|point| point.time);
        rest.heap.sort_by_key(|point| (point.jvm, point.time));
        rest.passes.sort_by_key(|point| point.time);
        let mut cost = Cost::default();
        for one in self.costs.into_values() {
            cost.add(one);
        }
        let agent = rest.agent.as_ref().filter(|agent| {
            agent.is_idle()
                && chains.is_empty()
                && candidates.is_empty()
                && rest.searches.is_empty()
        });
        let idle = agent.map(AgentStatus::why_idle);
        let evidence = Evidence {
            agent: rest.agent.is_some(),
            watched: self.watched,
            idle,
            candidates: &candidates,
            chains: &chains,
            floor: &rest.floor,
            floor_rising: rest.floor_rising,
            outside: &rest.outside,
            old_objects_without_path: self.old_objects_without_path,
        };
        let (verdict, reason) = verdict::judge(&evidence);
        let hints = hints(&evidence, &self.inputs, &self.cutoffs, rest.old_objects);
        Report {
            inputs: self.inputs,
            jvms: self.jvms,
            verdict,
            reason,
            candidates,
            chains,
            searches: rest.searches,
            cost,
            oom: rest.oom,
            agent: rest.agent,
            heap_floor: rest.heap,
            passes: rest.passes,
            hints,
            gc: None,
        }
    }
}

impl Jvm {
    /// Takes what another recording of the same JVM knows beyond this.
    fn learn(&mut self, other: Self) {
        self.name = self.name.take().or(other.name);
        self.version = self.version.take().or(other.version);
        self.pid = self.pid.or(other.pid);
        self.started = self.started.or(other.started);
        self.java_arguments = self.java_arguments.take().or(other.java_arguments);
        self.collector = self.collector.take().or(other.collector);
        self.max_heap_bytes = self.max_heap_bytes.or(other.max_heap_bytes);
    }
}

impl Chain {
    /// Takes in the same chain from another recording: of the same JVM the newest figures count,
    /// of different JVMs they add up.
    fn merge(&mut self, other: Self, same_jvm: bool) {
        let newer = other.last_seen >= self.last_seen;
        if same_jvm {
            if newer {
                self.instances = other.instances.or(self.instances);
                self.retained_sampled_bytes =
                    other.retained_sampled_bytes.or(self.retained_sampled_bytes);
                self.growth_bytes_per_hour =
                    other.growth_bytes_per_hour.or(self.growth_bytes_per_hour);
            }
        } else {
            self.instances = sum(self.instances, other.instances);
            self.retained_sampled_bytes =
                sum(self.retained_sampled_bytes, other.retained_sampled_bytes);
            self.growth_bytes_per_hour =
                add(self.growth_bytes_per_hour, other.growth_bytes_per_hour);
        }
        if newer {
            self.share = other.share.or(self.share);
            self.age_epochs = other.age_epochs.or(self.age_epochs);
            self.confirmed = other.confirmed.or(self.confirmed);
        }
        // The least that was looked at is what can be promised.
        self.coverage = least(self.coverage, other.coverage);
        if self.stack.is_empty() {
            self.stack = other.stack;
            self.allocating_thread = other.allocating_thread.or(self.allocating_thread.take());
        }
        self.first_seen = earlier(self.first_seen, other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        self.sightings += other.sightings;
        self.seen_in.extend(other.seen_in);
        self.seen_in.sort_unstable();
        self.seen_in.dedup();
        for class in other.also_held {
            self.hold_also(class);
        }
    }
}

impl Candidate {
    /// A class of which nothing else is known.
    pub fn of_class(class: String) -> Self {
        Self {
            class,
            qualifying: false,
            ever_qualified: false,
            state: None,
            confirmed: None,
            discounted: None,
            values: None,
            folds: None,
            ages: None,
            fitted_growth: None,
            instances: None,
            retained_sampled_bytes: None,
            growth_bytes_per_hour: None,
            earliest_signal_ns: None,
            thread: None,
            stack: Vec::new(),
            chains: Vec::new(),
            no_chain: None,
            noise: None,
            series: Vec::new(),
        }
    }

    fn merge(&mut self, other: Self) {
        let newer = last(&other) >= last(self);
        let ever = self.ever_qualified || other.ever_qualified;
        let mut series = std::mem::take(&mut self.series);
        let mut other = other;
        series.append(&mut other.series);
        series.sort_by_key(|point| point.time);
        if newer {
            *self = other;
        }
        self.ever_qualified = ever;
        self.series = series;
    }

    /// Takes in the same class of another JVM: amounts add up; the rest is the one's that is further.
    fn join_jvm(&mut self, other: Self) {
        let further = |c: &Self| {
            let have = |p: Option<Progress>| p.map(|p| p.have);
            (
                c.qualifying,
                c.ever_qualified,
                have(c.folds),
                have(c.values),
            )
        };
        let instances = sum(self.instances, other.instances);
        let bytes = sum(self.retained_sampled_bytes, other.retained_sampled_bytes);
        let growth = add(self.growth_bytes_per_hour, other.growth_bytes_per_hour);
        if further(&other) > further(self) {
            *self = other;
        }
        self.instances = instances;
        self.retained_sampled_bytes = bytes;
        self.growth_bytes_per_hour = growth;
    }
}

impl Cost {
    /// Takes in a later recording of the same JVM: passes add up, refusals are cumulative.
    fn join(&mut self, later: Self) {
        for (gate, refusals) in later.refusals {
            let known = self.refusals.entry(gate).or_default();
            *known = (*known).max(refusals);
        }
        self.heap_walk_call_ns = self.heap_walk_call_ns.plus(later.heap_walk_call_ns);
        self.manual_walk_ns = self.manual_walk_ns.plus(later.manual_walk_ns);
        self.passes += later.passes;
        self.worst_pass_ns = self.worst_pass_ns.max(later.worst_pass_ns);
        self.safepoint_balance_ns = later.safepoint_balance_ns.or(self.safepoint_balance_ns);
        self.cpu_balance_ns = later.cpu_balance_ns.or(self.cpu_balance_ns);
        self.edge_budget = later.edge_budget.or(self.edge_budget);
        self.cadence_ns = later.cadence_ns.or(self.cadence_ns);
        self.backoff_multiplier = later.backoff_multiplier.or(self.backoff_multiplier);
        self.unresolved_candidates = later.unresolved_candidates.or(self.unresolved_candidates);
        self.series.extend(later.series);
    }

    /// Adds another JVM's cost.
    fn add(&mut self, other: Self) {
        let refusals = self.refusals.clone();
        self.refusals.clear();
        self.join(other);
        for (gate, count) in refusals {
            *self.refusals.entry(gate).or_default() += count;
        }
        self.refusals.retain(|_, count| *count > 0);
        self.series.sort_by_key(|point| point.time);
    }
}

impl AgentStatus {
    /// Takes in a later recording of the same agent; drops are cumulative.
    fn join(&mut self, later: Self) {
        let before = std::mem::replace(self, later);
        for (what, count) in before.drops {
            let known = self.drops.entry(what).or_default();
            *known = (*known).max(count);
        }
        self.note(before.degradations);
    }

    /// This agent's status, or that of another JVM's when only that one worked, with what the other could not keep.
    fn beside(mut self, mut other: Self) -> Self {
        if self.is_idle() && !other.is_idle() {
            std::mem::swap(&mut self, &mut other);
        }
        for (what, count) in other.drops {
            *self.drops.entry(what).or_default() += count;
        }
        self.note(other.degradations);
        self
    }

    fn note(&mut self, degradations: Vec<String>) {
        for message in degradations {
            if !self.degradations.contains(&message) {
                self.degradations.push(message);
            }
        }
    }
}

fn add(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (known, None) | (None, known) => known,
    }
}

fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (known, None) | (None, known) => known,
    }
}

/// Noise last, then what a collection can free, then by bytes, growth and instances.
fn rank_chains(chains: &mut [Chain]) {
    chains.sort_by(|a, b| {
        let class = |c: &Chain| (c.noise.is_some(), c.strength.is_lenient());
        class(a)
            .cmp(&class(b))
            .then_with(|| b.retained_sampled_bytes.cmp(&a.retained_sampled_bytes))
            .then_with(|| descending(a.growth_bytes_per_hour, b.growth_bytes_per_hour))
            .then_with(|| b.instances.cmp(&a.instances))
            .then_with(|| a.strength.cmp(&b.strength))
            .then_with(|| a.id.cmp(&b.id))
    });
}

fn descending(a: Option<f64>, b: Option<f64>) -> std::cmp::Ordering {
    let known = |x: Option<f64>| x.unwrap_or(f64::NEG_INFINITY);
    known(b).total_cmp(&known(a))
}

/// Takes from what a chain holds too the classes that have a finding of their own at the same root: the keys of a
/// map with soft values are strongly held, and counted there.
fn tell_once(chains: &mut [Chain]) {
    let told: Vec<(super::Producer, String, String, String)> = chains
        .iter()
        .map(|c| {
            (
                c.producer,
                c.root.text.clone(),
                c.leaf.clone(),
                c.id.clone(),
            )
        })
        .collect();
    for chain in chains {
        let elsewhere = |class: &String| {
            told.iter().any(|(producer, root, leaf, id)| {
                *producer == chain.producer
                    && *root == chain.root.text
                    && leaf == class
                    && *id != chain.id
            })
        };
        chain.also_held.retain(|class| !elsewhere(class));
    }
}

/// Ties each class to the chains that hold it, and gives chains what only the class knows.
fn link(candidates: &mut [Candidate], chains: &[Chain]) {
    for candidate in candidates {
        candidate.chains = chains
            .iter()
            .filter(|chain| {
                chain.candidate_class.as_ref() == Some(&candidate.class)
                    || chain.leaf == candidate.class
                    || chain.also_held.contains(&candidate.class)
                    || chain
                        .hops
                        .last()
                        .is_some_and(|hop| hop.class == candidate.class)
            })
            .map(|chain| chain.id.clone())
            .collect();
        if !candidate.chains.is_empty() {
            candidate.no_chain = None;
        }
        // What application code holds is not noise, whatever the class.
        if chains
            .iter()
            .any(|chain| chain.noise.is_none() && candidate.chains.contains(&chain.id))
        {
            candidate.noise = None;
        }
    }
}

fn rank_candidates(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| {
        let class = |c: &Candidate| (c.noise.is_some(), !c.qualifying, !c.ever_qualified);
        let folds = |c: &Candidate| c.folds.map(|folds| folds.have);
        let values = |c: &Candidate| c.values.map(|values| values.have);
        class(a)
            .cmp(&class(b))
            .then_with(|| folds(b).cmp(&folds(a)))
            .then_with(|| b.retained_sampled_bytes.cmp(&a.retained_sampled_bytes))
            .then_with(|| values(b).cmp(&values(a)))
            .then_with(|| b.instances.cmp(&a.instances))
            .then_with(|| a.class.cmp(&b.class))
    });
}

/// What the recordings lack, and which setting gives it.
fn hints(
    evidence: &Evidence<'_>,
    inputs: &[InputInfo],
    cutoffs: &[String],
    old_objects: u64,
) -> Vec<String> {
    let mut out = Vec::new();
    let empty = inputs.iter().all(|input| input.events == 0);
    if empty {
        let lost = inputs.iter().any(|input| !input.skipped.is_empty());
        out.push(if lost {
            "No event could be read; see what was skipped.".to_owned()
        } else {
            "The recordings hold no event at all: were any enabled?".to_owned()
        });
    } else if evidence.old_objects_without_path > 0 && evidence.chains.is_empty() {
        let now = cutoffs
            .first()
            .map_or_else(String::new, |cutoff| format!(" (here cutoff={cutoff})"));
        out.push(format!(
            "The old objects have no path to a GC root{now}. The JVM adds paths with \
             -XX:StartFlightRecording:path-to-gc-roots=true, or jcmd PID JFR.dump \
             path-to-gc-roots=true; each such dump stops the application for a heap walk. The agent \
             finds chains without it."
        ));
    } else if !evidence.agent && evidence.chains.is_empty() && old_objects == 0 {
        out.push(
            "Nothing in this recording can tell what holds an object. Run the service with the \
             agent (-agentpath:libjfr_chains.so=file=leak.jfr), or record with \
             path-to-gc-roots=true."
                .to_owned(),
        );
    }
    let partly = |input: &&InputInfo| !input.skipped.is_empty();
    let lost: Vec<&str> = inputs
        .iter()
        .filter(partly)
        .map(|input| input.path.as_str())
        .collect();
    if !lost.is_empty() && !empty {
        out.push(format!(
            "Not everything could be read: {}. What the rest held is not in this report; \"Read\" \
             says what it was.",
            lost.join(", ")
        ));
    }
    out
}

/// The span that all inputs cover together, for the reports.
pub fn covered(inputs: &[InputInfo]) -> Option<Nanos> {
    let start = inputs.iter().filter_map(|input| input.start).min()?;
    let end = inputs.iter().filter_map(|input| input.end).max()?;
    Some(end.since(start))
}
