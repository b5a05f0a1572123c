//! One search's state between passes: what was seen, what is left, what was counted. No strong reference.

use std::collections::VecDeque;
use std::sync::Arc;

use chain_core::{ClassId, SearchId};

use super::catalogue::Catalogue;
use super::frontier::Parked;
use super::layout::Field;
use super::nodes::{Found, NodeId, Nodes, Referrer, RootId};
use super::roots::{Root, Roots, StaticScan};
use super::sigs::{SigId, Sigs};
use super::tally::Tally;
use crate::jvm::env::{Jni, Jvmti, Obj, Weak};

/// Which roots are being taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stage {
    /// Nothing was looked at yet.
    #[default]
    Start,
    /// Statics of application classes.
    ApplicationStatics,
    /// Thread objects.
    Threads,
    /// Statics of the JDK's classes.
    PlatformStatics,
    /// Every static and thread was taken up.
    Done,
}

/// A search between two passes.
#[derive(Debug)]
pub struct Search {
    /// Which one.
    pub id: SearchId,
    /// What was seen.
    pub nodes: Nodes,
    /// Along which paths.
    pub sigs: Sigs,
    /// From which roots.
    pub roots: Roots,
    /// What is left to expand.
    pub parked: VecDeque<Parked>,
    /// Which statics are left.
    pub statics: StaticScan,
    /// How far the roots are taken up.
    pub stage: Stage,
    /// Threads seen and not yet taken up.
    pub threads: VecDeque<(Weak, NodeId)>,
    /// The candidate classes.
    pub targets: Vec<ClassId>,
    /// Their JVM signatures, in the same order.
    pub signatures: Vec<Arc<str>>,
    /// Instances of each, in the same order.
    pub tallies: Vec<Tally>,
    /// Containers to look at again: what hung on them died or moved.
    pub again: VecDeque<NodeId>,
    /// How often a container was looked at again.
    pub looks: u32,
    /// Objects that did not fit under the cap.
    pub evicted: u64,
    /// Frontier entries that died.
    pub died: u64,
    /// The statics were looked through a second time for classes initialised since.
    pub rescanned: bool,
    /// Root enumeration was done.
    pub roots_seen: bool,
    /// Soft, weak and final referents are followed too.
    pub last_resort: bool,
}

impl Search {
    /// A search for these classes.
    #[must_use]
    pub fn new(id: SearchId, targets: Vec<ClassId>, signatures: Vec<Arc<str>>) -> Self {
        let tallies = targets.iter().map(|_| Tally::default()).collect();
        Self {
            id,
            nodes: Nodes::default(),
            sigs: Sigs::default(),
            roots: Roots::default(),
            parked: VecDeque::new(),
            statics: StaticScan::default(),
            stage: Stage::default(),
            threads: VecDeque::new(),
            targets,
            signatures,
            tallies,
            again: VecDeque::new(),
            looks: 0,
            evicted: 0,
            died: 0,
            rescanned: false,
            roots_seen: false,
            last_resort: false,
        }
    }

    /// Frees every reference.
    pub fn clear(&mut self, jni: &Jni<'_>) {
        for entry in self.parked.drain(..) {
            jni.delete_weak(entry.object);
        }
        for (weak, _) in self.threads.drain(..) {
            jni.delete_weak(weak);
        }
        self.roots.clear(jni);
        self.nodes = Nodes::default();
        self.sigs = Sigs::default();
    }

    /// Native bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.nodes.bytes() + self.sigs.bytes() + self.parked.len() * (size_of::<Parked>() + 8)
    }

    /// Records an object that a root refers to.
    ///
    /// # Errors
    /// Gives the root back when the object was seen or does not fit; the caller frees it.
    pub fn admit_root(
        &mut self,
        jvmti: Jvmti,
        object: &Obj<'_>,
        class: u32,
        root: Root,
    ) -> Result<NodeId, Root> {
        let Ok(hash) = jvmti.identity_hash(object) else {
            return Err(root);
        };
        let hash = hash.cast_unsigned();
        let found = self
            .nodes
            .find(class, hash, |sig| self.sigs.class(sig) == class);
        if matches!(found, Found::Seen(_)) {
            return Err(root);
        }
        let (root, stands_for) = self.roots.add(root)?;
        let sig = self.sigs.root(stands_for, class);
        let node = self
            .nodes
            .insert(class, hash, Referrer::Root(root), sig, |s| {
                self.sigs.class(s)
            });
        match node {
            Some(node) => {
                self.sigs.count(sig);
                Ok(node)
            }
            None => Err(self.roots.take_last().unwrap_or(Root::None)),
        }
    }
}

/// Reads the object at `node` again along its recorded edges; `None` when a hop changed class, became null, or the
/// path is longer than `limit`.
pub fn reach<'f>(
    search: &Search,
    catalogue: &mut Catalogue,
    jni: &Jni<'f>,
    node: NodeId,
    limit: usize,
) -> Option<Obj<'f>> {
    let (root, steps) = search.nodes.path(node, limit)?;
    let mut at = search.roots.read(jni, catalogue, root)?;
    let mut steps = steps.into_iter();
    let (_, first) = steps.next()?;
    if !is_of(search, catalogue, jni, &at, first) {
        jni.delete(at);
        return None;
    }
    let mut from = first;
    for (edge, to) in steps {
        let next = edge.and_then(|edge| read_edge(search, catalogue, jni, &at, from, edge));
        jni.delete(at);
        at = next?;
        if !is_of(search, catalogue, jni, &at, to) {
            jni.delete(at);
            return None;
        }
        from = to;
    }
    Some(at)
}

/// Whether an object has the class that was recorded for `node`.
pub fn is_of(
    search: &Search,
    catalogue: &mut Catalogue,
    jni: &Jni<'_>,
    object: &Obj<'_>,
    node: NodeId,
) -> bool {
    let recorded = search.nodes.sig(node).map(|sig| search.sigs.class(sig));
    recorded.is_some() && catalogue.class_of(jni, object) == recorded
}

/// Reads one recorded edge of `object`, which stands where `from` stood.
pub fn read_edge<'f>(
    search: &Search,
    catalogue: &Catalogue,
    jni: &Jni<'f>,
    object: &Obj<'f>,
    from: NodeId,
    edge: super::nodes::Edge,
) -> Option<Obj<'f>> {
    let class = search.nodes.sig(from).map(|sig| search.sigs.class(sig))?;
    let Some(index) = edge.index() else {
        return jni.class_of(object).ok();
    };
    match &catalogue.get(class)?.layout {
        super::layout::Layout::Array => element(jni, object, index),
        super::layout::Layout::Fields(fields) => {
            let field: &Field = fields.get(index as usize)?;
            // SAFETY: the caller checked that the object has the class whose field list this is.
            unsafe { jni.object_field(object, field.id) }
        }
        _ => None,
    }
}

/// An element of an array of references; `None` for null and beyond the end.
pub fn element<'f>(jni: &Jni<'f>, array: &Obj<'f>, index: u32) -> Option<Obj<'f>> {
    let index = i32::try_from(index).ok()?;
    // SAFETY: callers pass arrays of references only.
    unsafe {
        if index >= jni.array_length(array) {
            return None;
        }
        jni.array_element(array, index).ok().flatten()
    }
}

/// The root of a node's path.
#[must_use]
pub fn root_of(search: &Search, sig: SigId) -> Option<RootId> {
    let mut at = sig;
    while let Some(parent) = search.sigs.parent(at) {
        at = parent;
    }
    match search.sigs.step(at)? {
        super::sigs::Step::Root(root) => Some(root),
        _ => None,
    }
}
