//! Instances of the candidate classes, counted per path signature.

use std::collections::HashMap;

use chain_core::chain::Strength;

use super::nodes::NodeId;
use super::sigs::SigId;

/// Instances of one candidate that hang on one path.
#[derive(Debug, Clone, Default)]
pub struct Path {
    /// Instances reached along it, each counted once.
    pub instances: u64,
    /// Some of them: the first two and the last two.
    pub examples: Vec<NodeId>,
    /// The handle under which its chain was told last.
    pub handle: Option<u64>,
    /// Re-reading failed for every example.
    pub broken: u32,
}

const EXAMPLES: usize = 4;

/// Instances of one candidate class.
#[derive(Debug, Default)]
pub struct Tally {
    /// Instances reached in the search, each counted once.
    pub reached: u64,
    /// How many were reached when the chains were told last, 0 = never.
    pub told: u64,
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

    /// An instance hangs on a stronger path than the one it was counted on.
    pub fn rehang(&mut self, from: SigId, to: SigId, node: NodeId) {
        if let Some(old) = self.paths.get_mut(&from) {
            old.instances = old.instances.saturating_sub(1);
            old.examples.retain(|n| *n != node);
            if old.instances == 0 {
                self.paths.remove(&from);
            }
        }
        self.reached = self.reached.saturating_sub(1);
        self.count(to, node);
    }

    /// The paths worth telling, best first: the stronger before the weaker, then by weighed instances, then the
    /// shorter. A path with less than 1/16 of the best one's instances comes after all others: one instance in a
    /// static says little about a hundred thousand in a local.
    #[must_use]
    pub fn ranked(&self, rank: impl Fn(SigId) -> Rank) -> Vec<Ranked> {
        let most = self.paths.values().map(|path| path.instances).max();
        let mut all: Vec<Ranked> = self
            .paths
            .iter()
            .map(|(sig, path)| {
                let rank = rank(*sig);
                let share = if rank.application { 1 } else { LIBRARY_SHARE };
                Ranked {
                    minor: path.instances.saturating_mul(MINOR) < most.unwrap_or(0),
                    strength: rank.strength,
                    application: rank.application,
                    fallback: rank.fallback,
                    weight: path.instances / share,
                    depth: rank.depth,
                    sig: *sig,
                    instances: path.instances,
                }
            })
            .collect();
        all.sort_by_key(|r| {
            let weight = std::cmp::Reverse(r.weight);
            (r.minor, r.strength, r.fallback, weight, r.depth, r.sig)
        });
        all
    }

    /// Whether the chains are worth telling (again): the count has doubled since, or the search is over.
    #[must_use]
    pub fn is_news(&self, over: bool) -> bool {
        self.reached >= self.told.saturating_mul(2).max(1) || over && self.reached > self.told
    }
}

/// A path and what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranked {
    /// It holds less than 1/16 of what the best path holds.
    pub minor: bool,
    /// The weakest of root and edges.
    pub strength: Strength,
    /// Something on it is the application's.
    pub application: bool,
    /// It starts at a class loader, or at a static of one deployment among several: told when nothing else was found.
    pub fallback: bool,
    weight: u64,
    depth: u16,
    /// The path.
    pub sig: SigId,
    /// Instances on it.
    pub instances: u64,
}

impl Ranked {
    /// Whether it is worth telling beside `best`, now or at the end of the search (`over`): a path within the JDK (its
    /// caches of integers and names) says nothing beside one of the application, which may turn up until the end, and a
    /// path with less than 1/16 of the instances `reached` so far says little of them.
    #[must_use]
    pub fn worth_telling(&self, best: Option<&Self>, over: bool, reached: u64) -> bool {
        if !over && (self.fallback || self.instances.saturating_mul(MINOR) < reached) {
            return false;
        }
        let beside = best
            .is_none_or(|best| !self.outshines(best) && (self.application || !best.application));
        let beside = beside && best.is_none_or(|best| best.fallback || !self.fallback);
        beside && !self.minor && (self.application || over)
    }

    /// Whether it would come before `best` by strength and plain instances: such a path is not told beside it, so
    /// that the order of what is told is the same for everybody who sorts it.
    #[must_use]
    pub fn outshines(&self, best: &Self) -> bool {
        (self.strength, std::cmp::Reverse(self.instances))
            < (best.strength, std::cmp::Reverse(best.instances))
    }
}

/// How many times fewer instances make a path minor.
const MINOR: u64 = 16;
/// An instance on a path without any application class weighs this many times less: the JDK keeps thousands of
/// strings and map nodes of its own.
const LIBRARY_SHARE: u64 = 8;

/// What a path is worth besides its instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// The weakest of root and edges.
    pub strength: Strength,
    /// Some class on it, or the root's, is the application's.
    pub application: bool,
    /// The root lives by a class loader: what holds that was not seen, or comes later.
    pub fallback: bool,
    /// Its steps.
    pub depth: u16,
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

    fn sigs(ranked: Vec<Ranked>) -> Vec<SigId> {
        ranked.into_iter().map(|r| r.sig).collect()
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
        let all = |strength, application| {
            move |_| Rank {
                strength,
                application,
                fallback: false,
                depth: 1,
            }
        };
        assert_eq!(
            sigs(tally.ranked(all(Strength::Durable, true))),
            [SigId(1), SigId(2), SigId(3)]
        );
        let third = sigs(tally.ranked(|s| Rank {
            strength: if s == SigId(3) {
                Strength::Durable
            } else {
                Strength::Transient
            },
            application: true,
            fallback: false,
            depth: 1,
        }));
        assert_eq!(third[0], SigId(3));
        for i in 100..300 {
            tally.count(SigId(2), node(&mut nodes, i));
        }
        let minor_last = sigs(tally.ranked(|s| Rank {
            strength: if s == SigId(2) {
                Strength::Transient
            } else {
                Strength::Durable
            },
            application: true,
            fallback: false,
            depth: 1,
        }));
        assert_eq!(minor_last, [SigId(2), SigId(1), SigId(3)]);
        let second = sigs(tally.ranked(|s| Rank {
            strength: Strength::Durable,
            application: s == SigId(2),
            fallback: false,
            depth: 1,
        }));
        assert_eq!(second[0], SigId(2));
    }

    #[test]
    fn a_class_loader_is_named_only_when_nothing_else_holds_it() {
        let mut nodes = Nodes::default();
        let mut tally = Tally::default();
        for i in 0..10 {
            tally.count(SigId(1), node(&mut nodes, i));
        }
        for i in 10..40 {
            tally.count(SigId(2), node(&mut nodes, i));
        }
        let ranked = tally.ranked(|s| Rank {
            strength: Strength::Durable,
            application: true,
            fallback: s == SigId(2),
            depth: 1,
        });
        let [map, loader] = ranked[..] else {
            panic!("{ranked:?}");
        };
        assert_eq!((map.sig, loader.sig), (SigId(1), SigId(2)));
        assert!(!loader.worth_telling(Some(&map), true, 40));
        assert!(!loader.worth_telling(None, false, 40));
        assert!(loader.worth_telling(None, true, 40));
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

    #[test]
    fn a_path_within_the_jdk_waits_for_the_end_and_for_one_of_the_application() {
        let path = |application, instances| Ranked {
            minor: false,
            strength: Strength::Durable,
            application,
            fallback: false,
            weight: instances,
            depth: 1,
            sig: SigId(0),
            instances,
        };
        assert!(!path(false, 256).worth_telling(None, false, 2000));
        assert!(path(false, 256).worth_telling(None, true, 2000));
        assert!(!path(false, 256).worth_telling(Some(&path(true, 1000)), true, 2000));
        assert!(path(true, 256).worth_telling(Some(&path(true, 1000)), false, 2000));
        assert!(!path(true, 2000).worth_telling(Some(&path(true, 1000)), true, 2000));
        assert!(
            !path(true, 1).worth_telling(None, false, 2000),
            "one of two thousand"
        );
        assert!(path(true, 1).worth_telling(None, true, 2000));
    }
}
