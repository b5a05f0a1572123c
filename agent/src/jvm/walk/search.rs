//! One search's state between passes: what was seen, what is left, what was counted. No strong reference.

use std::collections::VecDeque;
use std::sync::Arc;

use chain_core::chain::Strength;
use chain_core::{ClassId, SearchId};

use super::catalogue::{Catalogue, ClassIndex};
use super::fingerprints::Fingerprints;
use super::frontier::Parked;
use super::layout::Field;
use super::nodes::{Content, Edge, Found, NodeId, Nodes, Referrer, RootId};
use super::roots::{Root, Roots, StaticScan};
use super::sigs::{SigId, Sigs, Step};
use super::tally::Tally;
use super::visited::{Key, Visited};
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
    /// How seen objects are recognised.
    pub visited: Visited,
    /// What was seen.
    pub nodes: Nodes,
    /// What was seen and leads to nothing of interest.
    pub folded: Fingerprints,
    /// Along which paths.
    pub sigs: Sigs,
    /// From which roots.
    pub roots: Roots,
    /// What is left to expand.
    pub parked: VecDeque<Parked>,
    /// What is left to expand below candidate threads (safepoint walk).
    pub near: VecDeque<Parked>,
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
    /// Objects that share class and hash with another and were told apart by what they hold.
    pub told_apart: u64,
    /// References read in earlier passes.
    pub edges: u64,
    /// References to read before folding is tried (again).
    pub fold_from: u64,
    /// Objects that did not fit under the cap.
    pub evicted: u64,
    /// Frontier entries that died.
    pub died: u64,
    /// What the walk is at.
    pub phase: Phase,
    /// Edges to follow in [`Phase::Housekeeping`].
    pub deferred: Vec<Deferred>,
    /// Reference objects to expand again in [`Phase::LastResort`].
    pub referents: VecDeque<NodeId>,
    /// Root enumeration was tried, so nothing stronger than a referent is left to try.
    pub roots_tried: bool,
}

impl Search {
    /// A search for these classes.
    #[must_use]
    pub fn new(
        id: SearchId,
        targets: Vec<ClassId>,
        signatures: Vec<Arc<str>>,
        visited: Visited,
    ) -> Self {
        let tallies = targets.iter().map(|_| Tally::default()).collect();
        Self {
            id,
            nodes: Nodes::new(visited.bytes_each()),
            visited,
            folded: Fingerprints::default(),
            sigs: Sigs::default(),
            roots: Roots::default(),
            parked: VecDeque::new(),
            near: VecDeque::new(),
            statics: StaticScan::default(),
            stage: Stage::default(),
            threads: VecDeque::new(),
            targets,
            signatures,
            tallies,
            again: VecDeque::new(),
            looks: 0,
            told_apart: 0,
            edges: 0,
            fold_from: 0,
            evicted: 0,
            died: 0,
            phase: Phase::default(),
            deferred: Vec::new(),
            referents: VecDeque::new(),
            roots_tried: false,
        }
    }

    /// Frees every reference and every tag; whether nothing is left.
    pub fn clear(&mut self, jni: &Jni<'_>) -> bool {
        for entry in self.parked.drain(..).chain(self.near.drain(..)) {
            jni.delete_weak(entry.object);
        }
        for (weak, _) in self.threads.drain(..) {
            jni.delete_weak(weak);
        }
        for deferred in self.deferred.drain(..) {
            jni.delete_weak(deferred.object);
        }
        self.roots.clear(jni);
        self.nodes = Nodes::default();
        self.folded = Fingerprints::default();
        self.sigs = Sigs::default();
        match std::mem::take(&mut self.visited) {
            Visited::Hash => true,
            Visited::Tags(tags) => tags.dispose().is_ok(),
        }
    }

    /// Native bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.sigs.bytes()
            + (self.parked.len() + self.near.len()) * (size_of::<Parked>() + 8)
    }

    /// Records an object, or hangs a seen one on this stronger way to it. Counts it when it is a candidate's. `same`
    /// says whether it holds what a seen object with its hash held.
    pub fn admit(
        &mut self,
        class: ClassIndex,
        key: Key,
        link: Link,
        candidate: Option<u8>,
        room: usize,
        same: impl FnMut(Content) -> bool,
    ) -> Admission {
        let found = match key {
            Key::Hash(hash) => {
                let sigs = &self.sigs;
                self.nodes
                    .find(class, hash, |sig| sigs.class(sig) == class, same)
            }
            Key::Tag(tag) => tag.node().map_or(Found::Free(0), Found::Seen),
        };
        match found {
            Found::Seen(node) => self.hang_stronger(class, node, link, candidate),
            Found::Free(_) if self.is_folded(class, key) => Admission::Refused(link.into_root()),
            Found::Free(_) if !self.nodes.has_room(room) => {
                self.evicted += 1;
                if let Some(tally) = candidate.and_then(|c| self.tallies.get_mut(usize::from(c))) {
                    tally.reached += 1;
                }
                Admission::Refused(link.into_root())
            }
            Found::Free(_) => match self.place(class, link) {
                // Reading fields relies on it.
                Ok((_, sig)) if self.sigs.class(sig) != class => Admission::Refused(None),
                Ok((referrer, sig)) => self.record(class, key, referrer, sig, candidate),
                Err(root) => Admission::Refused(root),
            },
        }
    }

    fn is_folded(&self, class: ClassIndex, key: Key) -> bool {
        matches!(key, Key::Hash(hash) if self.folded.contains(class, hash))
    }

    fn record(
        &mut self,
        class: ClassIndex,
        key: Key,
        referrer: Referrer,
        sig: SigId,
        candidate: Option<u8>,
    ) -> Admission {
        let sigs = &self.sigs;
        let recorded = match key {
            Key::Hash(hash) => self
                .nodes
                .insert(class, hash, referrer, sig, |s| sigs.class(s)),
            Key::Tag(_) => self.nodes.push(referrer, sig, 0),
        };
        let Some(node) = recorded else {
            self.evicted += 1;
            return Admission::Refused(match referrer {
                Referrer::Root(_) => self.roots.take_last(),
                Referrer::Node(..) => None,
            });
        };
        self.sigs.count(sig);
        if let Some(tally) = candidate.and_then(|c| self.tallies.get_mut(usize::from(c))) {
            tally.count(sig, node);
        }
        Admission::New(node)
    }

    fn hang_stronger(
        &mut self,
        class: ClassIndex,
        node: NodeId,
        link: Link,
        candidate: Option<u8>,
    ) -> Admission {
        let held = self
            .nodes
            .sig(node)
            .map(|sig| (sig, self.sigs.strength(sig)));
        // A thread that was met before it started is a root from its start on.
        let became_root = matches!(link, Link::Root(Root::Thread { .. }, _))
            && matches!(self.nodes.referrer(node), Some(Referrer::Node(..)));
        let offered = match &link {
            Link::Root(_, strength) => *strength,
            Link::Edge { from, strength, .. } => self
                .nodes
                .sig(*from)
                .map_or(Strength::Weak, |sig| self.sigs.strength(sig).max(*strength)),
        };
        let Some((old, _)) = held.filter(|(_, held)| offered < *held || became_root) else {
            return Admission::Refused(link.into_root());
        };
        match self.place(class, link) {
            Ok((referrer, sig)) => {
                self.nodes.rehang(node, referrer, sig);
                self.sigs.uncount(old);
                self.sigs.count(sig);
                if let Some(tally) = candidate.and_then(|c| self.tallies.get_mut(usize::from(c))) {
                    tally.rehang(old, sig, node);
                }
                Admission::Stronger(node)
            }
            Err(root) => Admission::Refused(root),
        }
    }

    /// Where an object hangs by this link, and its signature there.
    fn place(&mut self, class: ClassIndex, link: Link) -> Result<(Referrer, SigId), Option<Root>> {
        match link {
            Link::Root(root, strength) => {
                let (id, stands_for) = self.roots.add(root).map_err(Some)?;
                let sig = self.sigs.root(stands_for, class, strength);
                Ok((Referrer::Root(id), sig))
            }
            Link::Edge {
                from,
                edge,
                array,
                strength,
            } => {
                let sig = self.nodes.sig(from).ok_or(None)?;
                let sig = self.sigs.child(sig, class, Step::of(edge, array), strength);
                Ok((Referrer::Node(from, edge), sig))
            }
        }
    }

    /// The node of an object of this class that was seen.
    #[must_use]
    pub fn find(&self, jvmti: Jvmti, class: ClassIndex, object: &Obj<'_>) -> Option<NodeId> {
        match self.visited.key(jvmti, object).ok()? {
            Key::Tag(tag) => tag.node(),
            Key::Hash(hash) => {
                let is = |sig| self.sigs.class(sig) == class;
                match self.nodes.find(class, hash, is, |_| true) {
                    Found::Seen(node) => Some(node),
                    Found::Free(_) => None,
                }
            }
        }
    }

    /// The class recorded for a node.
    #[must_use]
    pub fn class_of(&self, node: NodeId) -> Option<ClassIndex> {
        self.nodes.sig(node).map(|sig| self.sigs.class(sig))
    }

    /// Whether one more object may be taken for another one than the seen object with its hash. Objects that change
    /// while they are walked look like that too, so there is a bound.
    #[must_use]
    pub fn may_tell_apart(&self) -> bool {
        self.told_apart < 1000 + self.nodes.count() as u64 / 64
    }

    /// Whether some target has no durable path yet.
    #[must_use]
    pub fn misses_a_target(&self) -> bool {
        self.tallies.iter().any(|tally| {
            !tally
                .paths
                .keys()
                .any(|sig| self.sigs.strength(*sig) == Strength::Durable)
        })
    }
}

/// How an object was reached.
#[derive(Debug)]
pub enum Link {
    /// By a root.
    Root(Root, Strength),
    /// From another object.
    Edge {
        /// The referrer.
        from: NodeId,
        /// The edge.
        edge: Edge,
        /// The referrer is an array.
        array: bool,
        /// How firmly the edge holds.
        strength: Strength,
    },
}

impl Link {
    fn into_root(self) -> Option<Root> {
        match self {
            Self::Root(root, _) => Some(root),
            Self::Edge { .. } => None,
        }
    }
}

/// Answer of [`Search::admit`].
#[derive(Debug)]
pub enum Admission {
    /// Seen for the first time.
    New(NodeId),
    /// Seen before, and hung on this stronger way: its children must be looked at again.
    Stronger(NodeId),
    /// Seen before or no room; the link's root, if it had one, for freeing.
    Refused(Option<Root>),
}

/// An edge that is followed after everything else.
#[derive(Debug)]
pub struct Deferred {
    /// The referent.
    pub object: Weak,
    /// The referrer.
    pub from: NodeId,
    /// The edge.
    pub edge: Edge,
    /// How firmly it holds.
    pub strength: Strength,
}

/// What comes when the frontier is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Phase {
    /// Statics and threads.
    #[default]
    Main,
    /// The classes that were initialised and the threads that were started since.
    Rescan,
    /// Housekeeping edges and class loaders.
    Housekeeping,
    /// Soft, weak and final referents.
    LastResort,
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
    edge: Edge,
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
pub fn element<'f>(jni: &Jni<'f>, array: &Obj<'_>, index: u32) -> Option<Obj<'f>> {
    let index = i32::try_from(index).ok()?;
    // SAFETY: callers pass arrays of references only.
    unsafe {
        if index >= jni.array_length(array) {
            return None;
        }
        jni.array_element(array, index).ok().flatten()
    }
}

/// The root of a signature's path.
#[must_use]
pub fn root_of(sigs: &Sigs, sig: SigId) -> Option<RootId> {
    let mut at = sig;
    while let Some(parent) = sigs.parent(at) {
        at = parent;
    }
    match sigs.step(at)? {
        Step::Root(root) => Some(root),
        _ => None,
    }
}
