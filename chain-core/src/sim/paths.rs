//! How each seen object was reached: parent links, classes and edges, 16 bytes an object.

use crate::chain::{EdgeKind, Root};
use crate::ids::ClassId;
use crate::tick::Bytes;

/// An object of the arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A field of a class, as the walk interns them (declaring class and name come from its `Names`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub u32);

/// An edge in 32 bits: 3 bits kind, 29 bits field id, array index or root number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeRef(u32);

const PAYLOAD: u32 = (1 << 29) - 1;

impl EdgeRef {
    /// Of an instance field.
    pub fn field(f: FieldId) -> EdgeRef {
        EdgeRef(f.0.min(PAYLOAD))
    }

    /// Of an array element; indices above 536,870,910 are kept as that.
    pub fn array(index: u32) -> EdgeRef {
        EdgeRef((1 << 29) | index.min(PAYLOAD))
    }

    /// Of a static field.
    pub fn static_field(f: FieldId) -> EdgeRef {
        EdgeRef((2 << 29) | f.0.min(PAYLOAD))
    }

    /// An object to its class or loader.
    pub fn class(f: FieldId) -> EdgeRef {
        EdgeRef((3 << 29) | f.0.min(PAYLOAD))
    }

    /// A `SoftReference.referent`.
    pub fn soft(f: FieldId) -> EdgeRef {
        EdgeRef((4 << 29) | f.0.min(PAYLOAD))
    }

    /// A weak or phantom `referent`.
    pub fn weak(f: FieldId) -> EdgeRef {
        EdgeRef((5 << 29) | f.0.min(PAYLOAD))
    }

    /// The root's own reference; `root` comes from [`PathArena::add_root`].
    pub fn root(root: u32) -> EdgeRef {
        EdgeRef((6 << 29) | root.min(PAYLOAD))
    }

    /// Its kind.
    pub fn kind(self) -> EdgeKind {
        match self.0 >> 29 {
            0 => EdgeKind::Field,
            1 => EdgeKind::Array,
            2 => EdgeKind::Static,
            3 => EdgeKind::Class,
            4 => EdgeKind::Soft,
            5 => EdgeKind::Weak,
            _ => EdgeKind::Root,
        }
    }

    /// Field id, array index or root number.
    pub fn payload(self) -> u32 {
        self.0 & PAYLOAD
    }

    /// The field, unless it is an array element or a root.
    pub fn field_id(self) -> Option<FieldId> {
        match self.kind() {
            EdgeKind::Array | EdgeKind::Root => None,
            _ => Some(FieldId(self.payload())),
        }
    }
}

/// One object as it was discovered.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    parent: u32,
    /// Its class.
    pub class: ClassId,
    /// The edge that led to it.
    pub edge: EdgeRef,
    /// Hash of the path's classes and edges, indices and self-edges erased: equal for equal shapes.
    pub shape: u32,
}

impl Node {
    /// The object it was reached from; `None` when a root or static field holds it.
    pub fn parent(&self) -> Option<NodeId> {
        (self.parent != NONE).then_some(NodeId(self.parent))
    }
}

const NONE: u32 = u32::MAX;
const PAGE: usize = 1 << 14;

/// Parent links of everything a search has seen, in pages, with a byte cap.
#[derive(Debug)]
pub struct PathArena {
    pages: Vec<Vec<Node>>,
    roots: Vec<Root>,
    cap: Bytes,
}

impl PathArena {
    /// An empty arena of at most `cap` bytes (one page of 256 KiB at least).
    pub fn new(cap: Bytes) -> PathArena {
        PathArena {
            pages: Vec::new(),
            roots: Vec::new(),
            cap,
        }
    }

    /// Registers a root for [`EdgeRef::root`].
    pub fn add_root(&mut self, root: Root) -> u32 {
        self.roots.push(root);
        u32::try_from(self.roots.len() - 1).unwrap_or(PAYLOAD)
    }

    /// A registered root.
    pub fn root(&self, index: u32) -> Option<&Root> {
        self.roots.get(index as usize)
    }

    /// Records an object; `None` at the cap.
    pub fn add(&mut self, parent: Option<NodeId>, class: ClassId, edge: EdgeRef) -> Option<NodeId> {
        let above = match parent {
            Some(p) => Some((p, self.get(p)?)),
            None => None,
        };
        let shape = match above {
            // A run of one class (list nodes, tree entries) has one shape, however long.
            Some((_, up)) if up.class == class => up.shape,
            Some((_, up)) => shape(up.shape, edge, class),
            None => shape(0x811c_9dc5, edge, class),
        };
        let full = self.pages.last().is_none_or(|p| p.len() == PAGE);
        if full {
            let bytes = (self.pages.len() as u64 + 1) * (PAGE * size_of::<Node>()) as u64;
            if bytes > self.cap.0 && !self.pages.is_empty() {
                return None;
            }
            let mut page = Vec::new();
            page.try_reserve_exact(PAGE).ok()?;
            self.pages.push(page);
        }
        let id = u32::try_from(self.len()).ok().filter(|id| *id != NONE)?;
        let page = self.pages.last_mut()?;
        page.push(Node {
            parent: above.map_or(NONE, |(p, _)| p.0),
            class,
            edge,
            shape,
        });
        Some(NodeId(id))
    }

    /// A recorded object.
    pub fn get(&self, id: NodeId) -> Option<Node> {
        let index = id.0 as usize;
        self.pages.get(index / PAGE)?.get(index % PAGE).copied()
    }

    /// The objects from `leaf` up to the one that a root holds; leaf first.
    pub fn ancestors(&self, leaf: NodeId) -> impl Iterator<Item = (NodeId, Node)> + '_ {
        let mut next = Some(leaf);
        std::iter::from_fn(move || {
            let id = next?;
            let node = self.get(id)?;
            // Parents are recorded first, so ids only fall: no cycle is possible.
            next = node.parent().filter(|p| *p < id);
            Some((id, node))
        })
    }

    /// Objects recorded.
    pub fn len(&self) -> usize {
        self.pages
            .last()
            .map_or(0, |p| (self.pages.len() - 1) * PAGE + p.len())
    }

    /// Whether nothing is recorded.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Native bytes held.
    pub fn bytes(&self) -> Bytes {
        Bytes(
            (self.pages.len() * PAGE * size_of::<Node>() + self.roots.len() * size_of::<Root>())
                as u64,
        )
    }

    /// Forgets everything and gives the memory back.
    pub fn clear(&mut self) {
        self.pages = Vec::new();
        self.roots = Vec::new();
    }
}

fn shape(up: u32, edge: EdgeRef, class: ClassId) -> u32 {
    let step = match edge.kind() {
        EdgeKind::Array => 1 << 29,
        _ => edge.0,
    };
    let mut h = up;
    for word in [step, class.0] {
        h = (h ^ word)
            .wrapping_mul(0x9e37_79b1)
            .rotate_left(13)
            .wrapping_mul(0x85eb_ca6b);
        h ^= h >> 15;
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(n: u32) -> (PathArena, NodeId) {
        let mut a = PathArena::new(Bytes::mib(64));
        let mut at = a
            .add(None, ClassId(1), EdgeRef::static_field(FieldId(9)))
            .unwrap();
        for _ in 0..n {
            at = a
                .add(Some(at), ClassId(1), EdgeRef::field(FieldId(2)))
                .unwrap();
        }
        (a, at)
    }

    #[test]
    fn array_indices_and_runs_do_not_change_the_shape() {
        let mut a = PathArena::new(Bytes::mib(1));
        let array = a
            .add(None, ClassId(1), EdgeRef::static_field(FieldId(1)))
            .unwrap();
        let x = a.add(Some(array), ClassId(2), EdgeRef::array(3)).unwrap();
        let y = a.add(Some(array), ClassId(2), EdgeRef::array(77)).unwrap();
        let z = a
            .add(Some(y), ClassId(2), EdgeRef::field(FieldId(5)))
            .unwrap();
        let other = a.add(Some(array), ClassId(3), EdgeRef::array(77)).unwrap();
        let shapes = [x, y, z, other].map(|n| a.get(n).unwrap().shape);
        assert_eq!(shapes[0], shapes[1]);
        assert_eq!(shapes[1], shapes[2]);
        assert_ne!(shapes[2], shapes[3]);
    }

    #[test]
    fn a_list_of_a_million_nodes_is_walked_back_without_recursion() {
        let (a, leaf) = list(1_000_000);
        assert_eq!(a.ancestors(leaf).count(), 1_000_001);
        assert!(a.bytes() < Bytes::mib(17));
    }

    #[test]
    fn at_the_cap_nothing_more_is_recorded() {
        let mut a = PathArena::new(Bytes(1));
        let mut n = 0;
        while a.add(None, ClassId(1), EdgeRef::array(0)).is_some() {
            n += 1;
        }
        assert_eq!(n, PAGE);
    }

    #[test]
    fn edges_keep_kind_and_payload() {
        for (e, k, p) in [
            (EdgeRef::field(FieldId(7)), EdgeKind::Field, 7),
            (EdgeRef::array(u32::MAX), EdgeKind::Array, PAYLOAD),
            (EdgeRef::static_field(FieldId(7)), EdgeKind::Static, 7),
            (EdgeRef::class(FieldId(1)), EdgeKind::Class, 1),
            (EdgeRef::soft(FieldId(1)), EdgeKind::Soft, 1),
            (EdgeRef::weak(FieldId(1)), EdgeKind::Weak, 1),
            (EdgeRef::root(4), EdgeKind::Root, 4),
        ] {
            assert_eq!((e.kind(), e.payload()), (k, p));
        }
        assert_eq!(EdgeRef::array(1).field_id(), None);
        assert_eq!(EdgeRef::soft(FieldId(1)).field_id(), Some(FieldId(1)));
    }
}
