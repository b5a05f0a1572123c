//! Which objects a search has seen, and along which edge each was reached first.
//!
//! An object is keyed by class and identity hash, or recognised by its tag: nothing here keeps an object alive. 26
//! bytes an object at the usual load, 20 beside a tag.

use super::sigs::SigId;

/// A seen object, dense from 0 in order of discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

/// Index of a GC root in the search's root list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RootId(pub u32);

/// Where a seen object hangs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Referrer {
    /// The object is what this root refers to.
    Root(RootId),
    /// The object was read from another object.
    Node(NodeId, Edge),
}

/// The edge that led to an object, meaningful together with the referrer's class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge(u32);

impl NodeId {
    /// The object with this number.
    #[must_use]
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

const CLASS_EDGE: u32 = u32::MAX;
const ROOT_PARENT: u32 = u32::MAX;
const NODES_PER_CHUNK: usize = 1 << 16;
const CHUNK_SHIFT: u32 = 16;

impl Edge {
    /// The edge from an object to its class.
    pub const CLASS: Self = Self(CLASS_EDGE);

    /// A field by its place in the referrer class's list, or an array element by its index.
    #[must_use]
    pub fn slot(index: u32) -> Self {
        Self(index.min(CLASS_EDGE - 1))
    }

    /// The field's place or the element's index; `None` for [`Edge::CLASS`].
    #[must_use]
    pub fn index(self) -> Option<u32> {
        (self.0 != CLASS_EDGE).then_some(self.0)
    }
}

/// A fingerprint of what an object refers to; [`Content::UNREAD`] while it was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Content(u32);

impl Content {
    /// Not read yet.
    pub const UNREAD: Self = Self(0);
    /// Read, and nothing that could tell it apart was there.
    pub const EMPTY: Self = Self(1);

    /// From the place and the identity hash of the first referent that is there.
    #[must_use]
    pub fn new(place: u32, hash: u32) -> Self {
        let spread = place.rotate_left(24) ^ hash.wrapping_mul(0x9E37_79B1);
        Self(spread.max(2))
    }
}

#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    edge: u32,
    sig: SigId,
    hash: u32,
    content: Content,
}

/// An object on a path and the edge to it, `None` for what the root refers to.
pub type PathStep = (Option<Edge>, NodeId);

/// Answer of [`Nodes::find`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Seen before (or an object of the same class with the same hash was).
    Seen(NodeId),
    /// Not seen; the place where [`Nodes::insert`] puts it.
    Free(usize),
}

/// New numbers of the objects that [`Nodes::retain`] kept.
#[derive(Debug)]
pub struct Renumbering(Vec<u32>);

impl Renumbering {
    /// The new number of an object that was marked.
    #[must_use]
    pub fn of(&self, node: NodeId) -> NodeId {
        NodeId(self.0.get(node.0 as usize).copied().unwrap_or(DROP))
    }
}

/// Marks of [`Nodes::marks`].
const KEEP: u32 = 0;
const DROP: u32 = u32::MAX;

/// All seen objects of one search.
#[derive(Debug, Default)]
pub struct Nodes {
    chunks: Vec<Vec<Node>>,
    len: u32,
    /// Open addressing: 0 = free, else node index + 1. Empty when objects are recognised by tags.
    slots: Vec<u32>,
    /// Native bytes outside this table for each object.
    outside: usize,
}

impl Nodes {
    /// Nobody seen yet; `outside` is what each costs outside this table.
    #[must_use]
    pub fn new(outside: usize) -> Self {
        Self {
            outside,
            ..Self::default()
        }
    }

    /// How many objects were seen.
    #[must_use]
    pub fn count(&self) -> usize {
        self.len as usize
    }

    /// Native bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.chunks.len() * NODES_PER_CHUNK * size_of::<Node>()
            + self.slots.len() * 4
            + self.len as usize * self.outside
    }

    fn node(&self, id: u32) -> Option<&Node> {
        self.chunks
            .get((id >> CHUNK_SHIFT) as usize)?
            .get(id as usize & (NODES_PER_CHUNK - 1))
    }

    /// Looks for an object with this key; `same_class` says whether a signature's class is the object's, `same` whether
    /// the object holds what a seen one held (asked only when key and class agree and the seen one was read).
    #[must_use]
    pub fn find(
        &self,
        class: u32,
        hash: u32,
        same_class: impl Fn(SigId) -> bool,
        mut same: impl FnMut(Content) -> bool,
    ) -> Found {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = mix(class, hash) & mask;
        loop {
            match self.slots.get(at) {
                None => return Found::Free(usize::MAX),
                Some(0) => return Found::Free(at),
                Some(stored) => {
                    if let Some(node) = self.node(stored - 1)
                        && node.hash == hash
                        && same_class(node.sig)
                        && (node.content == Content::UNREAD || same(node.content))
                    {
                        return Found::Seen(NodeId(stored - 1));
                    }
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Remembers what an object held when it was expanded first.
    pub fn read(&mut self, id: NodeId, content: Content) {
        if let Some(node) = self.node_mut(id)
            && node.content == Content::UNREAD
        {
            node.content = content;
        }
    }

    fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.chunks
            .get_mut((id.0 >> CHUNK_SHIFT) as usize)?
            .get_mut(id.0 as usize & (NODES_PER_CHUNK - 1))
    }

    /// Whether one more object fits in `cap` bytes, growth of the table included.
    #[must_use]
    pub fn has_room(&self, cap: usize) -> bool {
        let mut needed = self.bytes() + self.outside;
        if self.len as usize & (NODES_PER_CHUNK - 1) == 0 {
            needed += NODES_PER_CHUNK * size_of::<Node>();
        }
        if self.outside == 0 && self.must_grow() {
            // The old table lives until the new one is filled.
            needed += self.grown_slots() * 4;
        }
        needed <= cap && self.len < u32::MAX - 1
    }

    /// Whether `more` objects fit in `cap` bytes, with what it takes to fold them afterwards.
    #[must_use]
    pub fn has_room_for(&self, more: usize, cap: usize) -> bool {
        let mut needed = self.bytes() + NODES_PER_CHUNK * size_of::<Node>() + self.len as usize * 4;
        if (self.len as usize + more) * 5 > self.slots.len() * 4 {
            needed += self.grown_slots() * 4;
        }
        needed <= cap
    }

    /// A mark for every object, none of them to be kept yet; `None` when the process has no memory for it.
    #[must_use]
    pub fn marks(&self) -> Option<Vec<u32>> {
        let mut marks = Vec::new();
        marks.try_reserve_exact(self.len as usize).ok()?;
        marks.resize(self.len as usize, DROP);
        Some(marks)
    }

    /// Marks an object and the way to it.
    pub fn mark_path(&self, marks: &mut [u32], node: NodeId) {
        let mut at = node.0;
        while let Some(mark) = marks.get_mut(at as usize) {
            if *mark == KEEP {
                return;
            }
            *mark = KEEP;
            match self.node(at) {
                Some(node) if node.parent != ROOT_PARENT => at = node.parent,
                _ => return,
            }
        }
    }

    /// Marks as many more objects as it takes to leave at most `most` without a mark.
    pub fn mark_beyond(&self, marks: &mut [u32], most: usize) {
        let mut left = marks.iter().filter(|mark| **mark == DROP).count();
        for id in 0..self.len {
            if left <= most {
                return;
            }
            if marks.get(id as usize) == Some(&DROP) {
                self.mark_path(marks, NodeId(id));
                left -= 1;
            }
        }
    }

    /// Keeps what is marked and tells class and hash of the rest; `class_of` answers the class of a signature. Ways of
    /// marked objects are marked too, or they lead nowhere.
    pub fn retain(
        &mut self,
        mut marks: Vec<u32>,
        class_of: impl Fn(SigId) -> u32,
        mut gone: impl FnMut(u32, u32),
    ) -> Renumbering {
        let mut kept = 0;
        for (id, mark) in (0..).zip(&mut marks) {
            if *mark == KEEP {
                *mark = kept;
                kept += 1;
            } else if let Some(node) = self.node(id) {
                gone(class_of(node.sig), node.hash);
            }
        }
        let number = |old: u32| marks.get(old as usize).copied().unwrap_or(DROP);
        for id in 0..self.len {
            let to = number(id);
            let Some(mut node) = self.node(id).copied().filter(|_| to != DROP) else {
                continue;
            };
            if node.parent != ROOT_PARENT {
                node.parent = number(node.parent);
            }
            if let Some(slot) = self.node_mut(NodeId(to)) {
                *slot = node;
            }
        }
        self.len = kept;
        self.chunks
            .truncate((kept as usize).div_ceil(NODES_PER_CHUNK));
        if let Some(last) = self.chunks.last_mut() {
            let full = kept as usize & (NODES_PER_CHUNK - 1);
            last.truncate(if full == 0 { NODES_PER_CHUNK } else { full });
        }
        self.slots.fill(0);
        for id in 0..kept {
            if let Some(node) = self.node(id).copied() {
                self.place(class_of(node.sig), node.hash, id);
            }
        }
        Renumbering(marks)
    }

    fn must_grow(&self) -> bool {
        // Load at most 4/5.
        (self.len as usize + 1) * 5 > self.slots.len() * 4
    }

    fn grown_slots(&self) -> usize {
        (self.slots.len() * 2).max(1 << 12)
    }

    /// Records an object; `class_of` answers the class of a signature (needed when the table grows).
    /// `None` when the process has no memory for it.
    pub fn insert(
        &mut self,
        class: u32,
        hash: u32,
        referrer: Referrer,
        sig: SigId,
        class_of: impl Fn(SigId) -> u32,
    ) -> Option<NodeId> {
        if self.must_grow() {
            self.grow(&class_of)?;
        }
        let id = self.push(referrer, sig, hash)?;
        self.place(class, hash, id.0);
        Some(id)
    }

    /// Records an object that a tag recognises.
    pub fn push(&mut self, referrer: Referrer, sig: SigId, hash: u32) -> Option<NodeId> {
        let (parent, edge) = link(referrer);
        let id = self.len;
        if id as usize & (NODES_PER_CHUNK - 1) == 0 {
            let mut chunk = Vec::new();
            chunk.try_reserve_exact(NODES_PER_CHUNK).ok()?;
            self.chunks.push(chunk);
        }
        self.chunks.last_mut()?.push(Node {
            parent,
            edge,
            sig,
            hash,
            content: Content::UNREAD,
        });
        self.len += 1;
        Some(NodeId(id))
    }

    fn place(&mut self, class: u32, hash: u32, id: u32) {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = mix(class, hash) & mask;
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == 0 {
                *slot = id + 1;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self, class_of: &impl Fn(SigId) -> u32) -> Option<()> {
        let mut slots = Vec::new();
        slots.try_reserve_exact(self.grown_slots()).ok()?;
        slots.resize(self.grown_slots(), 0);
        self.slots = slots;
        for id in 0..self.len {
            if let Some(node) = self.node(id).copied() {
                self.place(class_of(node.sig), node.hash, id);
            }
        }
        Some(())
    }

    /// Hangs an object elsewhere: a stronger way to it was found.
    pub fn rehang(&mut self, id: NodeId, referrer: Referrer, sig: SigId) {
        let (parent, edge) = link(referrer);
        if let Some(node) = self.node_mut(id) {
            *node = Node {
                parent,
                edge,
                sig,
                hash: node.hash,
                content: node.content,
            };
        }
    }

    /// Every object, in order of discovery.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.len).map(NodeId)
    }

    /// Where an object hangs.
    #[must_use]
    pub fn referrer(&self, id: NodeId) -> Option<Referrer> {
        let node = self.node(id.0)?;
        Some(if node.parent == ROOT_PARENT {
            Referrer::Root(RootId(node.edge))
        } else {
            Referrer::Node(NodeId(node.parent), Edge(node.edge))
        })
    }

    /// An object's path signature.
    #[must_use]
    pub fn sig(&self, id: NodeId) -> Option<SigId> {
        self.node(id.0).map(|node| node.sig)
    }

    /// The identity hash (mixed with the length for arrays) that an object had.
    #[must_use]
    pub fn hash(&self, id: NodeId) -> Option<u32> {
        self.node(id.0).map(|node| node.hash)
    }

    /// The way from the root: the root, the object it refers to, then one edge and object per hop. `None` beyond
    /// `limit` hops.
    #[must_use]
    pub fn path(&self, id: NodeId, limit: usize) -> Option<(RootId, Vec<PathStep>)> {
        let mut steps = Vec::new();
        let mut at = id;
        loop {
            if steps.len() > limit {
                return None;
            }
            match self.referrer(at)? {
                Referrer::Root(root) => {
                    steps.push((None, at));
                    steps.reverse();
                    return Some((root, steps));
                }
                Referrer::Node(parent, edge) => {
                    steps.push((Some(edge), at));
                    at = parent;
                }
            }
        }
    }
}

fn link(referrer: Referrer) -> (u32, u32) {
    match referrer {
        Referrer::Root(root) => (ROOT_PARENT, root.0),
        Referrer::Node(parent, edge) => (parent.0, edge.0),
    }
}

/// Spreads a key over the table.
fn mix(class: u32, hash: u32) -> usize {
    let key = (u64::from(class) << 32) | u64::from(hash);
    let spread = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from(spread >> 24).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(sig: SigId) -> u32 {
        sig.0
    }

    fn add(nodes: &mut Nodes, class: u32, hash: u32, referrer: Referrer) -> NodeId {
        nodes
            .insert(class, hash, referrer, SigId(class), class_of)
            .unwrap()
    }

    #[test]
    fn an_object_is_found_by_class_and_hash_after_the_table_grew() {
        let mut nodes = Nodes::default();
        for i in 0..100_000 {
            add(&mut nodes, i % 7, i, Referrer::Root(RootId(i)));
        }
        for i in 0..100_000 {
            let Found::Seen(id) = nodes.find(i % 7, i, |s| s == SigId(i % 7), |_| true) else {
                panic!("{i} is lost");
            };
            assert_eq!(nodes.referrer(id), Some(Referrer::Root(RootId(i))));
        }
        assert!(matches!(
            nodes.find(8, 3, |s| s == SigId(8), |_| true),
            Found::Free(_)
        ));
    }

    #[test]
    fn equal_hashes_of_two_classes_are_two_objects() {
        let mut nodes = Nodes::default();
        add(&mut nodes, 1, 42, Referrer::Root(RootId(0)));
        assert!(matches!(
            nodes.find(2, 42, |s| s == SigId(2), |_| true),
            Found::Free(_)
        ));
        let second = add(&mut nodes, 2, 42, Referrer::Root(RootId(1)));
        assert_eq!(
            nodes.find(2, 42, |s| s == SigId(2), |_| true),
            Found::Seen(second)
        );
    }

    #[test]
    fn a_path_runs_from_the_root_to_the_object() {
        let mut nodes = Nodes::default();
        let a = add(&mut nodes, 1, 1, Referrer::Root(RootId(9)));
        let b = add(&mut nodes, 2, 2, Referrer::Node(a, Edge::slot(4)));
        let c = add(&mut nodes, 3, 3, Referrer::Node(b, Edge::CLASS));
        let (root, steps) = nodes.path(c, 10).unwrap();
        assert_eq!(root, RootId(9));
        assert_eq!(
            steps,
            [(None, a), (Some(Edge::slot(4)), b), (Some(Edge::CLASS), c)]
        );
        assert_eq!(nodes.path(c, 1), None);
    }

    #[test]
    fn the_cap_counts_the_growth_of_the_table_before_it_happens() {
        let mut nodes = Nodes::default();
        assert!(!nodes.has_room(1 << 20), "the first chunk alone is more");
        assert!(nodes.has_room(2 << 20));
        add(&mut nodes, 1, 1, Referrer::Root(RootId(0)));
        assert_eq!(nodes.bytes(), NODES_PER_CHUNK * 20 + (1 << 12) * 4);
    }

    #[test]
    fn what_is_kept_keeps_its_way_and_is_found_under_its_new_number() {
        let mut nodes = Nodes::default();
        let root = add(&mut nodes, 1, 0, Referrer::Root(RootId(7)));
        let mut ends = Vec::new();
        for i in 1..200_000 {
            let middle = add(&mut nodes, 2, i, Referrer::Node(root, Edge::slot(i)));
            ends.push(add(&mut nodes, 3, i, Referrer::Node(middle, Edge::slot(0))));
        }
        let before = nodes.bytes();
        let mut marks = nodes.marks().unwrap();
        for end in ends.iter().step_by(10) {
            nodes.mark_path(&mut marks, *end);
        }
        let mut gone = Vec::new();
        let numbers = nodes.retain(marks, class_of, |class, hash| gone.push((class, hash)));
        assert_eq!(nodes.count(), 1 + 2 * 20_000);
        assert_eq!(nodes.count() + gone.len(), 1 + 2 * 199_999);
        assert!(gone.contains(&(3, 2)) && !gone.contains(&(3, 1)));
        assert!(nodes.bytes() < before / 2);
        for (at, end) in (1..).zip(&ends).step_by(10) {
            let end = numbers.of(*end);
            let (root, steps) = nodes.path(end, 10).unwrap();
            assert_eq!((root, steps.len()), (RootId(7), 3));
            assert_eq!(steps[1].0, Some(Edge::slot(at)));
            let found = nodes.find(3, at, |s| s == SigId(3), |_| true);
            assert_eq!(found, Found::Seen(end));
        }
        add(&mut nodes, 4, 4, Referrer::Root(RootId(8)));
    }

    #[test]
    fn no_more_are_given_up_than_fit_elsewhere() {
        let mut nodes = Nodes::default();
        let root = add(&mut nodes, 1, 0, Referrer::Root(RootId(0)));
        for i in 1..100 {
            add(&mut nodes, 2, i, Referrer::Node(root, Edge::slot(i)));
        }
        let mut marks = nodes.marks().unwrap();
        nodes.mark_beyond(&mut marks, 30);
        let mut gone = 0;
        nodes.retain(marks, class_of, |_, _| gone += 1);
        assert_eq!((nodes.count(), gone), (70, 30));
    }

    #[test]
    fn two_objects_with_one_hash_are_told_apart_by_what_they_hold() {
        let mut nodes = Nodes::default();
        let first = add(&mut nodes, 1, 42, Referrer::Root(RootId(0)));
        let holds = Content::new(0, 77);
        let find = |nodes: &Nodes, now| nodes.find(1, 42, |s| s == SigId(1), |c| c == now);
        assert_eq!(
            find(&nodes, Content::new(0, 5)),
            Found::Seen(first),
            "unread"
        );
        nodes.read(first, holds);
        assert_eq!(find(&nodes, holds), Found::Seen(first));
        assert!(matches!(find(&nodes, Content::new(0, 5)), Found::Free(_)));
        let second = add(&mut nodes, 1, 42, Referrer::Root(RootId(1)));
        nodes.read(second, Content::new(0, 5));
        assert_eq!(find(&nodes, Content::new(0, 5)), Found::Seen(second));
        assert_eq!(nodes.sig(second), Some(SigId(1)));
    }
}
