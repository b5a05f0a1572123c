//! Which chains are sightings of one leak, which of them says most, and how much the leak holds.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::noise::is_jdk_class;
use super::{Candidate, Chain, EpochNanos, Producer, identity};

/// One leak: all chains into one growing container, the one that says most first.
#[derive(Clone, Debug)]
pub struct Leak {
    chains: Vec<Chain>,
}

/// Chains by leak, in the order of each leak's first chain.
pub fn group(chains: Vec<Chain>) -> Vec<Leak> {
    // Ours first: the JVM's samples repeat what our agent tells better, when both recorded.
    let (ours, others): (Vec<Chain>, Vec<Chain>) = chains
        .into_iter()
        .partition(|chain| chain.producer == Producer::JfrChains);
    let mut leaks: Vec<Leak> = Vec::new();
    for chain in ours.into_iter().chain(others) {
        let same = |leak: &&mut Leak| leak.chains.iter().any(|known| known.is_same_leak(&chain));
        match leaks.iter_mut().find(same) {
            Some(leak) => leak.chains.push(chain),
            None => leaks.push(Leak {
                chains: vec![chain],
            }),
        }
    }
    for leak in &mut leaks {
        // Stable: among equals the order of rank stays.
        leak.chains
            .sort_by_key(|chain| (chain.producer != Producer::JfrChains, Reverse(says(chain))));
    }
    leaks
}

/// How much a chain says: whether the class it was searched for is the application's, so that its stack
/// is of application objects; else whether it passes an application class on its way.
fn says(chain: &Chain) -> (bool, bool) {
    let own = !is_jdk_class(chain.allocated_class());
    let leaf = !is_jdk_class(&chain.leaf);
    (own, leaf)
}

impl Leak {
    /// One chain for the leak: the path, thread and stack of the one that says most, with what all
    /// of them hold.
    pub fn into_chain(self) -> Option<Chain> {
        let (bytes, growth) = self.total();
        let mut chains = self.chains.into_iter();
        let mut face = chains.next()?;
        face.retained_sampled_bytes = bytes;
        face.growth_bytes_per_hour = growth;
        face.aliases.extend(face.identity.clone());
        for chain in chains {
            face.absorb(chain);
        }
        face.also_held.retain(|class| *class != face.leaf);
        let id = face.id.clone();
        face.aliases.retain(|alias| *alias != id);
        face.aliases.sort_unstable();
        face.aliases.dedup();
        Some(face)
    }

    /// Bytes and growth of every class that the leak's container holds.
    ///
    /// Samples are of one class each, so classes add up. Of a class that other holders or other paths
    /// keep too, each path counts by its share of the instances reached; without shares the class
    /// counts once.
    fn total(&self) -> (Option<u64>, Option<f64>) {
        let Some(face) = self.chains.first() else {
            return (None, None);
        };
        let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
        for chain in self.chains.iter().filter(|c| c.producer == face.producer) {
            // Other producers sample objects, each told once: all of them add up.
            let key = chain.candidate_class.as_deref().unwrap_or(&chain.id);
            parts.entry(key).or_default().take(chain);
        }
        let bytes = parts
            .values()
            .filter_map(|part| part.bytes)
            .reduce(|a, b| a + b);
        let growth = parts
            .values()
            .filter_map(|part| part.growth)
            .reduce(|a, b| a + b);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a sum of estimates, never negative"
        )]
        let bytes = bytes.map(|bytes| bytes.round() as u64);
        (bytes, growth)
    }
}

/// What one class has in a leak.
#[derive(Debug, Default)]
struct Part {
    bytes: Option<f64>,
    growth: Option<f64>,
}

impl Part {
    /// Takes in one path to the class.
    #[allow(clippy::cast_precision_loss, reason = "an estimate from samples")]
    fn take(&mut self, chain: &Chain) {
        let join = |known: Option<f64>, more: Option<f64>| match (known, more, chain.share) {
            (None, Some(more), share) => Some(more * share.unwrap_or(1.0)),
            (Some(known), Some(more), Some(share)) => Some(known + more * share),
            (Some(known), Some(more), None) => Some(known.max(more)),
            (known, None, _) => known,
        };
        let bytes = chain.retained_sampled_bytes.map(|bytes| bytes as f64);
        self.bytes = join(self.bytes, bytes);
        self.growth = join(self.growth, chain.growth_bytes_per_hour);
    }
}

/// Time of the newest figures of a class.
pub fn last(candidate: &Candidate) -> Option<EpochNanos> {
    candidate.series.last().map(|point| point.time)
}

impl Chain {
    /// Gives the chain what the later reports of its class know better: a chain is told when it is
    /// found, growth goes on.
    pub(super) fn refresh(&mut self, class: &Candidate) {
        if last(class) <= self.last_seen {
            return;
        }
        self.retained_sampled_bytes = class.retained_sampled_bytes.or(self.retained_sampled_bytes);
        self.growth_bytes_per_hour = class.growth_bytes_per_hour.or(self.growth_bytes_per_hour);
        self.confirmed = class.confirmed.or(self.confirmed);
    }

    /// The class whose objects the allocation stack is about.
    pub fn allocated_class(&self) -> &str {
        let last = self.hops.last().map(|hop| hop.class.as_str());
        self.candidate_class
            .as_deref()
            .or(last)
            .unwrap_or(&self.leaf)
    }

    /// Whether this is the same leak as `other`: one growing container holds both, and both strongly or
    /// neither: what a cache holds softly is another matter than the references it keeps.
    fn is_same_leak(&self, other: &Self) -> bool {
        if self.strength.is_lenient() != other.strength.is_lenient() {
            return false;
        }
        if self.producer != other.producer {
            return self.producer == Producer::JfrChains
                && other.producer == Producer::Jdk
                && identity::same_leak(self, other);
        }
        let told = self.identity.is_some() && self.identity == other.identity;
        told || identity::same_leak(self, other)
    }

    /// Whether `other`, of another report, is this finding: one id, one id of a chain that was taken
    /// in, or the same growing container.
    pub fn is_finding(&self, other: &Self) -> bool {
        self.id == other.id
            || self.aliases.iter().any(|id| other.has_id(id))
            || other.aliases.contains(&self.id)
            || self.strength.is_lenient() == other.strength.is_lenient()
                && identity::same_leak(self, other)
    }

    /// Whether `id` names this finding, in this run or in one where another chain of it came first.
    pub fn has_id(&self, id: &str) -> bool {
        self.id == id || self.aliases.iter().any(|alias| alias == id)
    }

    /// Takes in another chain of the same leak.
    fn absorb(&mut self, other: Self) {
        let mut leaf = other.leaf;
        if is_jdk_class(&self.leaf) && !is_jdk_class(&leaf) {
            std::mem::swap(&mut self.leaf, &mut leaf);
        }
        self.hold_also(leaf);
        for class in other.also_held.into_iter().chain(other.candidate_class) {
            self.hold_also(class);
        }
        self.aliases.push(other.id);
        self.aliases.extend(other.aliases);
        self.aliases.extend(other.identity);
        self.sightings += other.sightings;
        self.first_seen = super::chain::earlier(self.first_seen, other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
        self.seen_in.extend(other.seen_in);
        self.seen_in.sort_unstable();
        self.seen_in.dedup();
    }

    /// Notes another class that the same holder keeps.
    pub(super) fn hold_also(&mut self, class: String) {
        if class != self.leaf && !self.also_held.contains(&class) {
            self.also_held.push(class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Strength;
    use crate::report::sample;

    fn one(chains: Vec<Chain>) -> Chain {
        let mut leaks = group(chains);
        assert_eq!(leaks.len(), 1);
        leaks.remove(0).into_chain().unwrap()
    }

    /// The sample's chain, whose watched class is the array inside the list.
    fn of_array() -> Chain {
        let mut chain = sample::leak().chains.remove(0);
        while chain
            .hops
            .last()
            .is_some_and(|hop| !is_jdk_class(&hop.class))
        {
            chain.hops.pop();
        }
        chain.id = "00000001".to_owned();
        chain.candidate_class = chain.hops.last().map(|hop| hop.class.clone());
        chain.leaf = chain.candidate_class.clone().unwrap();
        chain.stack.clear();
        chain.allocating_thread = Some("grower".to_owned());
        chain.retained_sampled_bytes = Some(1 << 40);
        chain
    }

    #[test]
    fn what_a_holder_keeps_softly_is_another_finding_than_what_it_keeps_strongly() {
        let strong = sample::leak().chains.remove(0);
        let mut soft = strong.clone();
        soft.strength = Strength::Soft;
        assert_eq!(group(vec![strong.clone(), strong.clone()]).len(), 1);
        assert_eq!(group(vec![strong, soft]).len(), 2);
    }

    #[test]
    fn the_chain_that_reaches_the_application_class_is_shown_with_its_own_stack() {
        let order = sample::leak().chains.remove(0);
        let array = of_array();
        for chains in [
            vec![order.clone(), array.clone()],
            vec![array.clone(), order.clone()],
        ] {
            let leak = one(chains);
            assert_eq!(leak.id, order.id);
            assert_eq!(leak.leaf, order.leaf);
            assert_eq!(leak.hops, order.hops);
            assert_eq!(leak.stack, order.stack);
            assert_eq!(leak.allocating_thread, order.allocating_thread);
            assert!(leak.also_held.contains(&array.leaf), "{:?}", leak.also_held);
            assert!(leak.has_id(&array.id) && leak.is_finding(&array));
        }
    }

    #[test]
    fn a_leak_weighs_what_all_its_classes_weigh_each_by_its_share() {
        let mut order = sample::leak().chains.remove(0);
        order.retained_sampled_bytes = Some(1_000);
        order.growth_bytes_per_hour = Some(10.0);
        order.share = Some(1.0);
        let mut array = of_array();
        array.retained_sampled_bytes = Some(600);
        array.growth_bytes_per_hour = Some(8.0);
        array.share = Some(0.5);
        let leak = one(vec![order.clone(), array.clone()]);
        assert_eq!(leak.retained_sampled_bytes, Some(1_300));
        assert_eq!(leak.growth_bytes_per_hour, Some(14.0));
        // A second path of one class into the container adds its share, not the class once more.
        let mut again = array.clone();
        again.id = "00000002".to_owned();
        let leak = one(vec![order.clone(), array.clone(), again]);
        assert_eq!(leak.retained_sampled_bytes, Some(1_600));
        // Without shares two paths cannot be told apart: the class counts once.
        let mut unknown = array.clone();
        unknown.share = None;
        let mut again = unknown.clone();
        again.id = "00000002".to_owned();
        let leak = one(vec![order, unknown, again]);
        assert_eq!(leak.retained_sampled_bytes, Some(1_600));
    }

    #[test]
    fn later_figures_of_its_class_are_the_chains_and_earlier_ones_are_not() {
        let mut chain = sample::leak().chains.remove(0);
        let mut class = Candidate::of_class(chain.allocated_class().to_owned());
        class.retained_sampled_bytes = Some(6_000);
        chain.retained_sampled_bytes = Some(5_000);
        chain.refresh(&class);
        assert_eq!(chain.retained_sampled_bytes, Some(5_000));
        class.series.push(crate::model::AgePoint {
            time: super::super::EpochNanos::new(i64::MAX),
            ages: 9.0,
        });
        chain.refresh(&class);
        assert_eq!(chain.retained_sampled_bytes, Some(6_000));
    }
}
