//! Recordings of one or many JVMs as one report.

use std::collections::BTreeMap;

use super::build::Facts;
use super::chain::{earlier, sum};
use super::verdict::{self, Evidence};
use super::{
    AgentStatus, Candidate, Chain, Cost, EpochNanos, InputInfo, Jvm, Nanos, Producer, Report,
    identity, noise,
};

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
    chains: Vec<(Chain, usize)>,
    candidates: BTreeMap<String, Candidate>,
    rest: Facts,
    /// Cost and status of each JVM's newest recording.
    costs: BTreeMap<usize, Cost>,
    epochs: Option<u64>,
    old_objects_without_path: u64,
    cutoffs: Vec<String>,
}

impl Merged {
    fn add(&mut self, position: usize, info: InputInfo, facts: Facts) {
        let jvm = self.jvm(facts.jvm, position);
        for mut chain in facts.chains {
            chain.seen_in = vec![position];
            self.chain(chain, jvm);
        }
        for candidate in facts.candidates {
            self.candidate(candidate);
        }
        for (class, survivors) in facts.survivors {
            self.candidate(Candidate {
                noise: noise::of_class(&class),
                state: Some("old-objects".to_owned()),
                instances: Some(survivors.count),
                retained_sampled_bytes: Some(survivors.bytes).filter(|bytes| *bytes > 0),
                thread: survivors.thread,
                stack: survivors.stack,
                ..Candidate::of_class(class)
            });
        }
        let rest = &mut self.rest;
        rest.searches
            .extend(facts.searches.into_iter().map(|mut search| {
                search.input = position;
                search
            }));
        rest.floor.extend(facts.floor);
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
            self.epochs = self.epochs.max(agent.epochs);
            join_agent(&mut rest.agent, agent);
        }
        self.costs.entry(jvm).or_default().join(facts.cost);
        self.old_objects_without_path += facts.old_objects - facts.old_objects_with_path;
        rest.old_objects += facts.old_objects;
        self.cutoffs.extend(facts.old_object_cutoff);
        self.inputs.push(info);
    }

    /// The position of this JVM among those seen. Without a pid every recording is its own JVM.
    fn jvm(&mut self, jvm: Jvm, position: usize) -> usize {
        if jvm == Jvm::default() {
            return usize::MAX - position;
        }
        let same = |known: &Jvm| {
            known.pid.is_some() && known.pid == jvm.pid && known.started == jvm.started
        };
        match self.jvms.iter().position(same) {
            Some(at) => at,
            None => {
                self.jvms.push(jvm);
                self.jvms.len() - 1
            }
        }
    }

    fn chain(&mut self, chain: Chain, jvm: usize) {
        let known = self
            .chains
            .iter_mut()
            .find(|(known, _)| known.id == chain.id);
        match known {
            Some((known, known_jvm)) => {
                known.merge(chain, *known_jvm == jvm);
                *known_jvm = jvm;
            }
            None => self.chains.push((chain, jvm)),
        }
    }

    fn candidate(&mut self, candidate: Candidate) {
        match self.candidates.get_mut(&candidate.class) {
            Some(known) => known.merge(candidate),
            None => {
                self.candidates.insert(candidate.class.clone(), candidate);
            }
        }
    }

    fn finish(self) -> Report {
        let mut chains: Vec<Chain> = self.chains.into_iter().map(|(chain, _)| chain).collect();
        rank_chains(&mut chains);
        let mut chains = one_per_leak(chains);
        let mut candidates: Vec<Candidate> = self.candidates.into_values().collect();
        link(&mut candidates, &chains);
        rank_candidates(&mut candidates);
        refresh(&mut chains, &candidates);
        rank_chains(&mut chains);
        let mut rest = self.rest;
        rest.searches
            .sort_by_key(|search| (search.input, search.start, search.id));
        rest.floor.sort_by_key(|point| point.time);
        rest.passes.sort_by_key(|point| point.time);
        let mut cost = Cost::default();
        for one in self.costs.into_values() {
            cost.add(one);
        }
        let evidence = Evidence {
            agent: rest.agent.is_some(),
            epochs: self.epochs,
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
            heap_floor: rest.floor,
            passes: rest.passes,
            hints,
            gc: None,
        }
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
                match (self.growth_bytes_per_hour, other.growth_bytes_per_hour) {
                    (Some(a), Some(b)) => Some(a + b),
                    (known, None) | (None, known) => known,
                };
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

    fn hold_also(&mut self, class: String) {
        if class != self.leaf && !self.also_held.contains(&class) {
            self.also_held.push(class);
        }
    }

    /// Whether this is the same leak as `other`: one growing container holds both, and both strongly or
    /// neither: what a cache holds softly is another matter than the references it keeps.
    fn is_same_leak(&self, other: &Self) -> bool {
        if self.strength.is_lenient() != other.strength.is_lenient() {
            return false;
        }
        if self.producer != other.producer {
            // The JVM's samples repeat what our agent tells better, when both recorded.
            return self.producer == Producer::JfrChains
                && other.producer == Producer::Jdk
                && identity::same_leak(self, other);
        }
        let told = self.identity.is_some() && self.identity == other.identity;
        told || identity::same_leak(self, other)
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
}

fn last(candidate: &Candidate) -> Option<EpochNanos> {
    candidate.series.last().map(|point| point.time)
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

fn join_agent(known: &mut Option<AgentStatus>, agent: AgentStatus) {
    let Some(before) = known.replace(agent) else {
        return;
    };
    if let Some(now) = known {
        for message in before.degradations {
            if !now.degradations.contains(&message) {
                now.degradations.push(message);
            }
        }
        for (what, count) in before.drops {
            let known = now.drops.entry(what).or_default();
            *known = (*known).max(count);
        }
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

/// Keeps one chain a leak: the first in rank, or ours over the JVM's samples of the same leak.
fn one_per_leak(chains: Vec<Chain>) -> Vec<Chain> {
    let (ours, others): (Vec<Chain>, Vec<Chain>) = chains
        .into_iter()
        .partition(|chain| chain.producer == Producer::JfrChains);
    let mut kept: Vec<Chain> = Vec::new();
    for chain in ours.into_iter().chain(others) {
        match kept.iter_mut().find(|known| known.is_same_leak(&chain)) {
            Some(known) => {
                // The leaf is an attribute of the leak: the application's class says most.
                let mut leaf = chain.leaf;
                if noise::is_jdk_class(&known.leaf) && !noise::is_jdk_class(&leaf) {
                    std::mem::swap(&mut known.leaf, &mut leaf);
                }
                known.also_held.retain(|class| *class != known.leaf);
                known.hold_also(leaf);
                for class in chain.also_held.into_iter().chain(chain.candidate_class) {
                    known.hold_also(class);
                }
            }
            None => kept.push(chain),
        }
    }
    rank_chains(&mut kept);
    kept
}

/// Gives each chain what its class's later reports know better: a chain is told when it is found,
/// growth goes on.
fn refresh(chains: &mut [Chain], candidates: &[Candidate]) {
    for chain in chains {
        let own = candidates
            .iter()
            .find(|candidate| chain.candidate_class.as_ref() == Some(&candidate.class));
        let Some(candidate) = own.filter(|own| last(own) > chain.last_seen) else {
            continue;
        };
        chain.retained_sampled_bytes = candidate
            .retained_sampled_bytes
            .or(chain.retained_sampled_bytes);
        chain.growth_bytes_per_hour = candidate
            .growth_bytes_per_hour
            .or(chain.growth_bytes_per_hour);
        chain.confirmed = candidate.confirmed.or(chain.confirmed);
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
    out
}

/// The span that all inputs cover together, for the reports.
pub fn covered(inputs: &[InputInfo]) -> Option<Nanos> {
    let start = inputs.iter().filter_map(|input| input.start).min()?;
    let end = inputs.iter().filter_map(|input| input.end).max()?;
    Some(end.since(start))
}

#[cfg(test)]
mod tests {
    use super::one_per_leak;
    use crate::model::Strength;
    use crate::report::sample;

    #[test]
    fn what_a_holder_keeps_softly_is_another_finding_than_what_it_keeps_strongly() {
        let strong = sample::leak().chains.remove(0);
        let mut soft = strong.clone();
        soft.strength = Strength::Soft;
        assert_eq!(one_per_leak(vec![strong.clone(), strong.clone()]).len(), 1);
        assert_eq!(one_per_leak(vec![strong, soft]).len(), 2);
    }
}
