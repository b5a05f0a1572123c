//! Instances per path shape, and chains made from what was tallied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::chain::{Chain, Edge, EdgeKind, FoundChain, Hop, Root, RootKind, Strength};
use crate::classify::classify;
use crate::ids::ClassId;
use crate::signature;
use crate::sim::paths::{EdgeRef, FieldId, NodeId, PathArena};
use crate::tuning;

/// Leaves kept per shape, to see where paths fan out; also what *resolved* asks for.
const LEAVES: usize = tuning::RESOLVED_INSTANCES as usize;
/// Shapes kept per candidate; further ones are only counted.
const SHAPES: usize = 256;
/// Chains reported per candidate.
pub const CHAINS_PER_CANDIDATE: usize = 3;

/// Names of what a walk met, resolved when a chain is printed, not before.
pub trait Names {
    /// Class name as Java writes it.
    fn class(&self, class: ClassId) -> Arc<str>;
    /// Whether an application loader defined it.
    fn is_application(&self, class: ClassId) -> bool;
    /// Declaring class and name of a field.
    fn field(&self, field: FieldId) -> (Arc<str>, Arc<str>);
}

#[derive(Debug, Default)]
struct Shape {
    instances: u64,
    leaves: Vec<NodeId>,
    verified: bool,
}

/// Counts candidate instances by the shape of the path they were reached on.
#[derive(Debug, Default)]
pub struct Tally {
    shapes: BTreeMap<(ClassId, u32), Shape>,
    reached: BTreeMap<ClassId, u64>,
    untallied: u64,
}

impl Tally {
    /// Counts the instance at `leaf`, once per instance (the caller's visited set sees to that).
    pub fn count(&mut self, arena: &PathArena, leaf: NodeId) {
        let Some(node) = arena.get(leaf) else { return };
        *self.reached.entry(node.class).or_default() += 1;
        let key = (node.class, node.shape);
        if !self.shapes.contains_key(&key) {
            let of_class = self
                .shapes
                .range((node.class, 0)..=(node.class, u32::MAX))
                .count();
            if of_class >= SHAPES {
                self.untallied += 1;
                return;
            }
        }
        let shape = self.shapes.entry(key).or_default();
        shape.instances += 1;
        if shape.leaves.len() < LEAVES {
            shape.leaves.push(leaf);
        }
    }

    /// Instances of `class` reached under any shape.
    pub fn reached(&self, class: ClassId) -> u64 {
        self.reached.get(&class).copied().unwrap_or(0)
    }

    /// Instances of shapes beyond the bound: reached, and in no chain's share.
    pub fn untallied(&self) -> u64 {
        self.untallied
    }

    /// A leaf to re-read hop by hop for each of the strongest shapes that is not verified yet.
    pub fn unverified(&self, class: ClassId) -> Vec<NodeId> {
        let mut shapes: Vec<&Shape> = self
            .shapes
            .range((class, 0)..=(class, u32::MAX))
            .map(|(_, s)| s)
            .filter(|s| !s.verified)
            .collect();
        shapes.sort_by_key(|s| std::cmp::Reverse(s.instances));
        shapes
            .iter()
            .take(CHAINS_PER_CANDIDATE)
            .filter_map(|s| s.leaves.last().copied())
            .collect()
    }

    /// Notes that the path to `leaf` was re-read and holds; the chain is then made from that leaf.
    pub fn verified(&mut self, arena: &PathArena, leaf: NodeId) {
        let Some(node) = arena.get(leaf) else { return };
        if let Some(shape) = self.shapes.get_mut(&(node.class, node.shape)) {
            shape.verified = true;
            shape.leaves.retain(|l| *l != leaf);
            shape.leaves.insert(0, leaf);
            shape.leaves.truncate(LEAVES);
        }
    }

    /// Notes that the path to `leaf` no longer holds: another leaf of the shape is looked at next.
    pub fn changed(&mut self, arena: &PathArena, leaf: NodeId) {
        let Some(node) = arena.get(leaf) else { return };
        if let Some(shape) = self.shapes.get_mut(&(node.class, node.shape)) {
            shape.leaves.retain(|l| *l != leaf);
        }
    }

    /// The chains of `class`, at most [`CHAINS_PER_CANDIDATE`]: durable before transient, then by
    /// instances. Shapes that differ only in what a signature erases are one.
    pub fn chains(&self, class: ClassId, arena: &PathArena, names: &dyn Names) -> Vec<FoundChain> {
        let mut by_signature: BTreeMap<_, FoundChain> = BTreeMap::new();
        for shape in self
            .shapes
            .range((class, 0)..=(class, u32::MAX))
            .map(|(_, s)| s)
        {
            let Some(chain) = assemble(&shape.leaves, arena, names) else {
                continue;
            };
            let sig = signature::signature(&chain);
            let found = FoundChain {
                candidate: class,
                identity: signature::identity(&chain),
                signature: sig,
                verified: shape.verified,
                instances: shape.instances,
                reached: self.reached(class),
                leaf: shape.leaves.first().map(|l| u64::from(l.0)),
                chain,
            };
            by_signature
                .entry(sig)
                .and_modify(|old| {
                    let (instances, better) = (old.instances, found.verified && !old.verified);
                    if better || found.verified == old.verified && found.instances > instances {
                        *old = found.clone();
                    }
                    old.instances = instances + shape.instances;
                })
                .or_insert(found);
        }
        let mut chains: Vec<FoundChain> = by_signature.into_values().collect();
        chains.sort_by_key(|c| {
            (
                c.chain.strength,
                std::cmp::Reverse(c.instances),
                c.signature,
            )
        });
        chains.truncate(CHAINS_PER_CANDIDATE);
        chains
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Tally::default();
    }
}

/// Makes the chain of the first leaf; the others tell the fan-out of each hop.
pub fn assemble(leaves: &[NodeId], arena: &PathArena, names: &dyn Names) -> Option<Chain> {
    let paths: Vec<Vec<Step>> = leaves.iter().map(|l| collapse(arena, *l)).collect();
    let first = paths.first()?;
    let root = root_of(first, arena, names);
    let mut hops: Vec<Hop> = Vec::with_capacity(first.len());
    for (i, step) in first.iter().enumerate() {
        let edge = edge(step.edge, names);
        hops.push(Hop {
            class: names.class(step.class),
            class_id: Some(step.class),
            application: names.is_application(step.class),
            edge,
            run: step.run,
            fan_out: fan_out(&paths, i),
            size: None,
        });
    }
    Some(classify(Chain {
        root,
        hops,
        strength: Strength::Durable,
    }))
}

/// A run of objects of one class: consecutive list nodes, tree entries.
#[derive(Clone, Copy, Debug)]
struct Step {
    class: ClassId,
    edge: EdgeRef,
    first: NodeId,
    last: NodeId,
    run: u32,
}

/// Root-first steps of a path. A node that is linked from a node of its own class joins its run.
fn collapse(arena: &PathArena, leaf: NodeId) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (id, node) in arena.ancestors(leaf) {
        match steps.last_mut() {
            Some(s) if s.class == node.class => {
                s.first = id;
                s.edge = node.edge;
                s.run = s.run.saturating_add(1);
            }
            _ => steps.push(Step {
                class: node.class,
                edge: node.edge,
                first: id,
                last: id,
                run: 1,
            }),
        }
    }
    steps.reverse();
    steps
}

/// Most distinct next objects that one object at position `i` leads to; for the last position,
/// distinct leaves under one first object (a list that grows in its own run).
fn fan_out(paths: &[Vec<Step>], i: usize) -> u32 {
    let mut next: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    for path in paths {
        if let Some(step) = path.get(i) {
            let to = path.get(i + 1).map_or(step.last, |s| s.first);
            next.entry(step.first).or_default().insert(to);
        }
    }
    let most = next.values().map(BTreeSet::len).max().unwrap_or(1);
    u32::try_from(most).unwrap_or(u32::MAX)
}

fn edge(edge: EdgeRef, names: &dyn Names) -> Edge {
    Edge {
        kind: edge.kind(),
        name: edge.field_id().map(|f| names.field(f).1),
        index: (edge.kind() == EdgeKind::Array).then(|| edge.payload()),
    }
}

fn root_of(path: &[Step], arena: &PathArena, names: &dyn Names) -> Root {
    let Some(first) = path.first() else {
        return Root::default();
    };
    match (first.edge.kind(), first.edge.field_id()) {
        (EdgeKind::Static, Some(field)) => {
            let (class, name) = names.field(field);
            Root {
                kind: RootKind::StaticField,
                class: Some(class),
                field: Some(name),
                ..Root::default()
            }
        }
        _ => arena
            .root(first.edge.payload())
            .cloned()
            .unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick::Bytes;

    const MAP: ClassId = ClassId(1);
    const TABLE: ClassId = ClassId(2);
    const NODE: ClassId = ClassId(3);
    const ORDER: ClassId = ClassId(4);
    const THREAD: ClassId = ClassId(5);

    struct Book;
    impl Names for Book {
        fn class(&self, c: ClassId) -> Arc<str> {
            [
                "?",
                "java.util.HashMap",
                "java.util.HashMap$Node[]",
                "java.util.HashMap$Node",
                "com.acme.Order",
                "java.lang.Thread",
            ][c.0 as usize]
                .into()
        }
        fn is_application(&self, c: ClassId) -> bool {
            c == ORDER
        }
        fn field(&self, f: FieldId) -> (Arc<str>, Arc<str>) {
            let (c, n) = [
                ("com.acme.OrderCache", "BY_CUSTOMER"),
                ("java.util.HashMap", "table"),
                ("java.util.HashMap$Node", "next"),
                ("java.util.HashMap$Node", "value"),
                ("java.lang.Thread", "threadLocals"),
                ("java.lang.Thread", "contextClassLoader"),
                ("java.lang.ref.Reference", "referent"),
            ][f.0 as usize];
            (c.into(), n.into())
        }
    }

    fn map_with_orders(n: u32) -> (PathArena, Tally, Vec<NodeId>) {
        let mut a = PathArena::new(Bytes::mib(1));
        let map = a.add(None, MAP, EdgeRef::static_field(FieldId(0))).unwrap();
        let table = a.add(Some(map), TABLE, EdgeRef::field(FieldId(1))).unwrap();
        let mut tally = Tally::default();
        let mut leaves = Vec::new();
        for i in 0..n {
            let mut node = a.add(Some(table), NODE, EdgeRef::array(i)).unwrap();
            for _ in 0..i % 3 {
                node = a.add(Some(node), NODE, EdgeRef::field(FieldId(2))).unwrap();
            }
            let order = a
                .add(Some(node), ORDER, EdgeRef::field(FieldId(3)))
                .unwrap();
            tally.count(&a, order);
            leaves.push(order);
        }
        (a, tally, leaves)
    }

    #[test]
    fn any_live_instance_counts_and_buckets_share_one_signature() {
        let (a, mut tally, leaves) = map_with_orders(100);
        tally.verified(&a, leaves[7]);
        let chains = tally.chains(ORDER, &a, &Book);
        assert_eq!(chains.len(), 1);
        let c = &chains[0];
        assert_eq!((c.instances, c.reached, c.verified), (100, 100, true));
        assert_eq!(c.chain.root.field.as_deref(), Some("BY_CUSTOMER"));
        assert_eq!(c.chain.hops[1].fan_out, 64);
        assert_eq!(crate::signature::container_depth(&c.chain), 2);
        assert_eq!(
            crate::signature::display_leaf(&c.chain).as_deref(),
            Some("com.acme.Order")
        );
        assert_eq!(c.chain.strength, Strength::Durable);
    }

    #[test]
    fn runs_collapse_and_keep_their_length() {
        let mut a = PathArena::new(Bytes::mib(1));
        let mut at = a
            .add(None, NODE, EdgeRef::static_field(FieldId(0)))
            .unwrap();
        let mut tally = Tally::default();
        tally.count(&a, at);
        for _ in 0..999 {
            at = a.add(Some(at), NODE, EdgeRef::field(FieldId(2))).unwrap();
            tally.count(&a, at);
        }
        tally.verified(&a, at);
        let chains = tally.chains(NODE, &a, &Book);
        assert_eq!(chains.len(), 1);
        assert_eq!(chains[0].chain.hops.len(), 1);
        assert_eq!(chains[0].chain.hops[0].run, 1000);
        assert_eq!(chains[0].chain.hops[0].fan_out, 64);
    }

    #[test]
    fn a_durable_root_beats_a_transient_one_however_many_instances() {
        let (mut a, mut tally, _) = map_with_orders(3);
        let frame = a.add_root(Root {
            kind: RootKind::StackLocal,
            ..Root::default()
        });
        for _ in 0..50 {
            let o = a.add(None, ORDER, EdgeRef::root(frame)).unwrap();
            tally.count(&a, o);
        }
        let chains = tally.chains(ORDER, &a, &Book);
        let kinds: Vec<RootKind> = chains.iter().map(|c| c.chain.root.kind).collect();
        assert_eq!(kinds, [RootKind::StaticField, RootKind::StackLocal]);
        assert_eq!(chains[1].instances, 50);
    }

    #[test]
    fn thread_locals_context_loaders_and_soft_edges_are_labelled() {
        let build = |edges: &[EdgeRef]| {
            let mut a = PathArena::new(Bytes::mib(1));
            let root = a.add_root(Root {
                kind: RootKind::Thread,
                ..Root::default()
            });
            let mut at = a.add(None, THREAD, EdgeRef::root(root)).unwrap();
            for e in edges {
                at = a.add(Some(at), MAP, *e).unwrap();
            }
            let leaf = a.add(Some(at), ORDER, EdgeRef::field(FieldId(3))).unwrap();
            let c = assemble(&[leaf], &a, &Book).unwrap();
            (c.root.kind, c.strength)
        };
        assert_eq!(
            build(&[EdgeRef::field(FieldId(4))]),
            (RootKind::ThreadLocal, Strength::Durable)
        );
        assert_eq!(
            build(&[EdgeRef::field(FieldId(5))]),
            (RootKind::Thread, Strength::Housekeeping)
        );
        assert_eq!(
            build(&[EdgeRef::soft(FieldId(6))]),
            (RootKind::Thread, Strength::Soft)
        );
    }

    #[test]
    fn a_changed_path_is_another_look_never_an_invented_edge() {
        let (a, mut tally, _) = map_with_orders(10);
        let before = tally.unverified(ORDER);
        assert_eq!(before.len(), 1);
        tally.changed(&a, before[0]);
        let after = tally.unverified(ORDER);
        assert_ne!(after, before);
        assert!(tally.chains(ORDER, &a, &Book).iter().all(|c| !c.verified));
    }

    #[test]
    fn shapes_are_bounded_and_the_rest_is_counted() {
        let mut a = PathArena::new(Bytes::mib(64));
        let mut tally = Tally::default();
        for i in 0..300 {
            let o = a
                .add(None, ORDER, EdgeRef::static_field(FieldId(i)))
                .unwrap();
            tally.count(&a, o);
        }
        assert_eq!((tally.reached(ORDER), tally.untallied()), (300, 44));
    }
}
