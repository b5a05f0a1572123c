//! Instances of the candidate classes, counted per path signature.

use std::collections::HashMap;

use super::nodes::NodeId;
use super::sigs::SigId;

/// Instances of one candidate that hang on one path.
#[derive(Debug, Clone, Default)]
pub struct Path {
    /// Instances reached along it, each counted once.
    pub instances: u64,
    /// Some of them: the first two and the last two.
    pub examples: Vec<NodeId>,
    /// How many were counted when the chain was last reported, 0 = never.
    pub reported: u64,
    /// Re-reading failed for every example.
    pub broken: u32,
}

const EXAMPLES: usize = 4;

/// Instances of one candidate class.
#[derive(Debug, Default)]
pub struct Tally {
    /// Instances reached in the search, each counted once.
    pub reached: u64,
    /// By path.
    pub paths: HashMap<SigId, Path>,
}

impl Tally {
    /// Counts an instance.
    pub fn count(&mut self, sig: SigId, node: NodeId) {
        self.reached += 1;
        let path = self.paths.entry(sig).or_default();
        path.instances += 1;
        if path.examples.len() == EXAMPLES {
            path.examples.remove(2);
        }
        path.examples.push(node);
    }

    /// The paths worth telling, best first: `durable` ones before others, then by instances, then the shorter.
    #[must_use]
    pub fn ranked(
        &self,
        durable: impl Fn(SigId) -> bool,
        depth: impl Fn(SigId) -> u16,
    ) -> Vec<SigId> {
        let mut all: Vec<SigId> = self.paths.keys().copied().collect();
        all.sort_by_key(|sig| {
            let instances = self.paths.get(sig).map_or(0, |path| path.instances);
            (
                !durable(*sig),
                std::cmp::Reverse(instances),
                depth(*sig),
                *sig,
            )
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::walk::nodes::{Nodes, Referrer, RootId};

    fn node(nodes: &mut Nodes, hash: u32) -> NodeId {
        nodes
            .insert(0, hash, Referrer::Root(RootId(0)), SigId(0), |_| 0)
            .unwrap()
    }

    #[test]
    fn the_path_with_most_instances_wins_and_a_durable_root_beats_it() {
        let mut nodes = Nodes::default();
        let mut tally = Tally::default();
        for i in 0..10 {
            tally.count(SigId(1), node(&mut nodes, i));
        }
        for i in 10..13 {
            tally.count(SigId(2), node(&mut nodes, i));
        }
        tally.count(SigId(3), node(&mut nodes, 99));
        assert_eq!(tally.reached, 14);
        assert_eq!(
            tally.ranked(|_| true, |_| 1),
            [SigId(1), SigId(2), SigId(3)]
        );
        assert_eq!(tally.ranked(|s| s == SigId(3), |_| 1)[0], SigId(3));
    }

    #[test]
    fn the_first_and_the_last_instances_stay_as_examples() {
        let mut nodes = Nodes::default();
        let mut tally = Tally::default();
        let all: Vec<NodeId> = (0..50).map(|i| node(&mut nodes, i)).collect();
        for n in &all {
            tally.count(SigId(7), *n);
        }
        assert_eq!(
            tally.paths[&SigId(7)].examples,
            [all[0], all[1], all[48], all[49]]
        );
    }
}
