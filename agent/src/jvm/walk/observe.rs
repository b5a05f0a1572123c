//! Re-reads a recorded path from its root and tells it as a chain.
//!
//! Every hop of the chain was read from the heap just now: a hop that changed its class or became null ends the
//! attempt. Only inside an array another element of the recorded class may stand in for the recorded one, since
//! maps and lists move their elements.

use std::sync::atomic::{AtomicBool, Ordering};

use chain_core::chain::{
    Chain, Edge as ChainEdge, EdgeKind, Hop, Root as ChainRoot, RootKind, Strength,
};

use chain_core::classify::classify;

use super::catalogue::{Catalogue, ClassIndex};
use super::contents::Held;
use super::layout::{Layout, Role};
use super::library::RefKind;
use super::names::java_name;
use super::nodes::{Edge, NodeId, PathStep, RootId};
use super::roots::Root;
use super::runs::collapse;
use super::search::{Search, element, is_of, read_edge};
use super::sigs::{SigId, Step};
use super::size::size_of;
use super::tally::Rank;
use crate::jvm::env::{FieldId, Jni, Obj};

/// Longest path that is re-read.
const MAX_STEPS: usize = 1_200_000;
/// Elements looked through for another one of the recorded class.
const MAX_ELEMENTS: u32 = 100_000;

/// A path as it was just read.
pub struct Observed<'f> {
    /// The root.
    pub root: RootId,
    /// Edge to and node of every object; the index of an array edge is the one that was read now.
    pub steps: Vec<PathStep>,
    /// Place among `steps` and size of each array and collection, in order.
    pub sizes: Vec<(usize, u32)>,
    /// The object at the end.
    pub leaf: Obj<'f>,
}

impl Observed<'_> {
    /// The size of the object at a place of `steps`.
    fn size(&self, place: usize) -> Option<u32> {
        let at = self
            .sizes
            .binary_search_by_key(&place, |(at, _)| *at)
            .ok()?;
        self.sizes.get(at).map(|(_, size)| *size)
    }
}

/// Reads the path to `node` again. `None` when it does not hold any more, or when `abort` is set.
pub fn observe<'f>(
    search: &Search,
    catalogue: &mut Catalogue,
    jni: &Jni<'f>,
    node: NodeId,
    abort: &AtomicBool,
) -> Option<Observed<'f>> {
    let (root, recorded) = search.nodes.path(node, MAX_STEPS)?;
    let mut at = search.roots.read(jni, catalogue, root)?;
    let mut steps: Vec<PathStep> = Vec::with_capacity(recorded.len());
    let mut sizes = Vec::new();
    for (edge, to) in recorded {
        if abort.load(Ordering::Relaxed) {
            jni.delete(at);
            return None;
        }
        let mut taken = edge;
        if let (Some(edge), Some((_, from))) = (edge, steps.last().copied()) {
            let next = read_edge(search, catalogue, jni, &at, from, edge);
            let holds = next
                .as_ref()
                .is_some_and(|next| is_of(search, catalogue, jni, next, to));
            let next = match next {
                Some(next) if holds => Some(next),
                other => {
                    if let Some(other) = other {
                        jni.delete(other);
                    }
                    let found = another_element(search, catalogue, jni, &at, from, to);
                    found.map(|(next, index)| {
                        taken = Some(Edge::slot(index));
                        next
                    })
                }
            };
            jni.delete(at);
            at = next?;
        } else if !is_of(search, catalogue, jni, &at, to) {
            jni.delete(at);
            return None;
        }
        let class = class_at(search, to);
        if let Some(size) = class.and_then(|class| size_of(catalogue, jni, &at, class)) {
            sizes.push((steps.len(), size));
        }
        steps.push((taken, to));
    }
    Some(Observed {
        root,
        steps,
        sizes,
        leaf: at,
    })
}

fn another_element<'f>(
    search: &Search,
    catalogue: &mut Catalogue,
    jni: &Jni<'f>,
    array: &Obj<'f>,
    from: NodeId,
    to: NodeId,
) -> Option<(Obj<'f>, u32)> {
    let class = class_at(search, from)?;
    if !matches!(catalogue.get(class)?.layout, Layout::Array) {
        return None;
    }
    // SAFETY: the class says that it is an array.
    let length = u32::try_from(unsafe { jni.array_length(array) }).unwrap_or(0);
    for index in 0..length.min(MAX_ELEMENTS) {
        if let Some(found) = element(jni, array, index) {
            if is_of(search, catalogue, jni, &found, to) {
                return Some((found, index));
            }
            jni.delete(found);
        }
    }
    None
}

fn class_at(search: &Search, node: NodeId) -> Option<ClassIndex> {
    search.nodes.sig(node).map(|sig| search.sigs.class(sig))
}

/// A kept edge of a chain, for re-reading it after its search ended.
#[derive(Debug, Clone, Copy)]
pub enum KeptEdge {
    /// A field.
    Field(FieldId),
    /// An array element.
    Element(u32),
    /// The object's class.
    Class,
}

/// Tells an observed path; `None` when it has more than `max_hops` hops, runs collapsed.
#[must_use]
pub fn tell(
    search: &Search,
    catalogue: &Catalogue,
    observed: &Observed<'_>,
    max_hops: usize,
) -> Option<Chain> {
    let (root, first_edge) = tell_root(search, catalogue, observed.root);
    let mut strength = Strength::of_root(root.kind);
    let mut path = Vec::with_capacity(observed.steps.len());
    let mut previous: Option<NodeId> = None;
    for (edge, node) in &observed.steps {
        let step = match (edge, previous) {
            (Some(edge), Some(from)) => {
                strength = strength.max(edge_strength(search, catalogue, from, *edge));
                Step::of(*edge, is_array(search, catalogue, from))
            }
            _ => Step::Root(observed.root),
        };
        path.push((class_at(search, *node)?, step));
        previous = Some(*node);
    }
    let runs = collapse(path.into_iter());
    if runs.len() > max_hops {
        return None;
    }
    let mut hops: Vec<Hop> = Vec::with_capacity(runs.len());
    let mut previous_objects = 1;
    for run in runs {
        let (edge, node) = observed.steps.get(run.first)?;
        let class = catalogue.get(run.class)?;
        let from = run
            .first
            .checked_sub(1)
            .and_then(|at| observed.steps.get(at));
        let edge = match (edge, from) {
            (Some(edge), Some((_, from))) => tell_edge(search, catalogue, *from, *edge),
            _ => first_edge.clone(),
        };
        let objects = search.sigs.objects(search.nodes.sig(*node)?).max(1);
        let growth = objects.div_ceil(previous_objects);
        // What hangs on a root alone grows itself: a list that a static field holds by its first node.
        let mut fan_out = 1;
        match hops.last_mut() {
            Some(last) => last.fan_out = last.fan_out.max(growth),
            None if root.kind == RootKind::StaticField => fan_out = growth,
            None => {}
        }
        hops.push(Hop {
            class: java_name(&class.signature).into(),
            class_id: None,
            application: class.loader.is_application(),
            edge,
            run: run.length,
            fan_out,
            size: observed.size(run.first).filter(|_| run.length == 1),
        });
        previous_objects = objects;
    }
    let chain = classify(Chain {
        root,
        hops,
        strength,
    });
    Some(Chain {
        strength: chain.strength.max(strength),
        ..chain
    })
}

/// The chain with what its leaf holds after it. Counts, signature and identity are those of the chain without: this is
/// one way on, read just now.
#[must_use]
pub fn tell_contents(catalogue: &Catalogue, chain: &Chain, contents: &[Held]) -> Chain {
    let mut told = chain.clone();
    for held in contents {
        let Some(class) = catalogue.get(held.to) else {
            break;
        };
        told.hops.push(Hop {
            class: java_name(&class.signature).into(),
            class_id: None,
            application: class.loader.is_application(),
            edge: tell_edge_of(catalogue, Some(held.from), held.edge),
            run: 1,
            fan_out: 0,
            size: held.size,
        });
    }
    told
}

/// A chain from a static of `class`, told through what holds the class's loader: `loader` is the chain to that.
#[must_use]
pub fn tell_through_loader(loader: Chain, chain: &Chain) -> Chain {
    let edge = |kind, name| ChainEdge {
        kind,
        name,
        index: None,
    };
    let mut told = loader;
    told.hops.push(Hop {
        class: "java.lang.Class".into(),
        class_id: None,
        application: false,
        edge: edge(EdgeKind::Class, None),
        run: 1,
        fan_out: 1,
        size: None,
    });
    told.hops.extend(chain.hops.iter().cloned());
    told.strength = told.strength.max(chain.strength);
    told
}

fn is_array(search: &Search, catalogue: &Catalogue, node: NodeId) -> bool {
    class_at(search, node)
        .and_then(|class| catalogue.get(class))
        .is_some_and(|class| matches!(class.layout, Layout::Array))
}

fn edge_strength(search: &Search, catalogue: &Catalogue, from: NodeId, edge: Edge) -> Strength {
    let class = class_at(search, from).and_then(|class| catalogue.get(class));
    match (class.map(|c| (&c.layout, c.reference)), edge.index()) {
        (Some((Layout::Fields(fields), reference)), Some(index)) => fields
            .get(index as usize)
            .map_or(Strength::Durable, |field| field.strength(reference)),
        _ => Strength::Durable,
    }
}

fn tell_root(search: &Search, catalogue: &Catalogue, root: RootId) -> (ChainRoot, ChainEdge) {
    let plain = ChainEdge {
        kind: EdgeKind::Root,
        name: None,
        index: None,
    };
    match search.roots.get(root) {
        Some(Root::Static { class, name, .. }) => (
            ChainRoot {
                kind: RootKind::StaticField,
                class: catalogue
                    .get(*class)
                    .map(|c| java_name(&c.signature).into()),
                field: Some(name.clone()),
                ..ChainRoot::default()
            },
            ChainEdge {
                kind: EdgeKind::Static,
                name: Some(name.clone()),
                index: None,
            },
        ),
        Some(Root::Thread { name, id, .. }) => (
            ChainRoot {
                kind: RootKind::Thread,
                thread: Some(name.clone()),
                thread_id: *id,
                ..ChainRoot::default()
            },
            plain,
        ),
        Some(Root::Seen { kind, place, .. }) => (
            ChainRoot {
                kind: *kind,
                class: place.as_ref().and_then(|p| p.class.clone()),
                field: place.as_ref().and_then(|p| p.method.clone()),
                thread: place.as_ref().map(|p| p.thread.clone()),
                thread_id: place.as_ref().and_then(|p| p.id),
                frame: place.as_ref().map(|p| p.frame),
            },
            plain,
        ),
        Some(Root::None) | None => (ChainRoot::default(), plain),
    }
}

fn tell_edge(search: &Search, catalogue: &Catalogue, from: NodeId, edge: Edge) -> ChainEdge {
    tell_edge_of(catalogue, class_at(search, from), edge)
}

fn tell_edge_of(catalogue: &Catalogue, from: Option<ClassIndex>, edge: Edge) -> ChainEdge {
    let of = |kind, name, index| ChainEdge { kind, name, index };
    let class = from.and_then(|class| catalogue.get(class));
    let (Some(index), Some(class)) = (edge.index(), class) else {
        return of(EdgeKind::Class, None, None);
    };
    let Layout::Fields(fields) = &class.layout else {
        return of(EdgeKind::Array, None, Some(index));
    };
    let Some(field) = fields.get(index as usize) else {
        return ChainEdge::default();
    };
    let kind = match (field.role, class.reference) {
        (Role::Referent, Some(RefKind::Soft)) => EdgeKind::Soft,
        (Role::Referent, Some(RefKind::Final)) => EdgeKind::Field,
        (Role::Referent, _) => EdgeKind::Weak,
        _ => EdgeKind::Field,
    };
    of(kind, Some(field.name.clone()), None)
}

/// What a path is worth besides its instances, without reading the heap.
#[must_use]
pub fn rank(search: &Search, catalogue: &Catalogue, sig: SigId) -> Rank {
    let is_application = |class: ClassIndex| {
        catalogue
            .get(class)
            .is_some_and(|class| class.loader.is_application())
    };
    let mut application = false;
    let mut fallback = false;
    let mut at = Some(sig);
    while let Some(current) = at {
        application |= is_application(search.sigs.class(current));
        if let Some(Step::Root(root)) = search.sigs.step(current) {
            let root = search.roots.get(root);
            fallback = match root {
                Some(Root::Seen { kind, .. }) => *kind == RootKind::ClassLoader,
                // A static of one deployment among several lives by its loader.
                Some(Root::Static { class, .. }) => catalogue.is_redeployed(*class),
                _ => false,
            };
            application |= match root {
                Some(Root::Static { class, .. }) => is_application(*class),
                // Threads, frames and JNI references are mostly the application's doing.
                _ => true,
            };
        }
        at = search.sigs.parent(current);
    }
    Rank {
        strength: search.sigs.strength(sig),
        application,
        fallback,
        depth: search.sigs.depth(sig),
    }
}

/// A kept hop: the edge to it (`None` for what the root refers to) and its class.
pub type KeptStep = (Option<KeptEdge>, ClassIndex);

/// The edges and classes of an observed path, for re-reading it later.
#[must_use]
pub fn keep(search: &Search, catalogue: &Catalogue, observed: &Observed<'_>) -> Vec<KeptStep> {
    let mut previous: Option<NodeId> = None;
    let mut kept = Vec::with_capacity(observed.steps.len());
    for (edge, node) in &observed.steps {
        let class = class_at(search, *node).unwrap_or(ClassIndex::MAX);
        let edge = match (edge, previous) {
            (Some(edge), Some(from)) => Some(kept_edge(search, catalogue, from, *edge)),
            _ => None,
        };
        kept.push((edge, class));
        previous = Some(*node);
    }
    kept
}

fn kept_edge(search: &Search, catalogue: &Catalogue, from: NodeId, edge: Edge) -> KeptEdge {
    let Some(index) = edge.index() else {
        return KeptEdge::Class;
    };
    let class = class_at(search, from).and_then(|class| catalogue.get(class));
    match class.map(|class| &class.layout) {
        Some(Layout::Fields(fields)) => fields
            .get(index as usize)
            .map_or(KeptEdge::Class, |field| KeptEdge::Field(field.id)),
        _ => KeptEdge::Element(index),
    }
}
