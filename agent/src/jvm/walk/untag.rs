//! Takes a search's tags off again, object by object along the recorded edges, so that disposing of the environment
//! finds few left: the JVM frees those in one go and reaches no safepoint meanwhile.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use super::catalogue::Catalogue;
use super::frontier::{Frontier, Popped};
use super::nodes::{NodeId, Nodes, Referrer};
use super::pass::FRAME;
use super::search::{Search, read_edge};
use super::visited::{Tag, Tags};
use crate::jvm::env::{Jni, Obj};

/// Tags that are left to the environment's disposal: a few milliseconds.
const FEW: usize = 4_000;

/// Clears the tags of every object that its recorded edge still leads to. Answers how many are left on objects that
/// were not found, at most: they may be dead. Ends early when `abort` is set.
pub fn untag(
    search: &mut Search,
    catalogue: &mut Catalogue,
    jni: &Jni<'_>,
    tags: Tags,
    abort: &AtomicBool,
) -> usize {
    let count = search.nodes.count();
    if count <= FEW {
        return count;
    }
    let Some(tree) = Tree::of(&search.nodes) else {
        return count;
    };
    let room = i32::try_from(FRAME).unwrap_or(i32::MAX);
    let cleared = jni.frame(room, |jni| {
        let mut walk = Untag {
            search,
            catalogue,
            jni,
            tags,
            frontier: Frontier::default(),
            cleared: 0,
        };
        walk.run(&tree, abort);
        let mut left = VecDeque::new();
        let (frontier, cleared) = (walk.frontier, walk.cleared);
        frontier.park(jni, &mut left);
        for entry in left {
            jni.delete_weak(entry.object);
        }
        cleared
    });
    count.saturating_sub(cleared.unwrap_or(0))
}

struct Untag<'s, 'f> {
    search: &'s Search,
    catalogue: &'s Catalogue,
    jni: &'s Jni<'f>,
    tags: Tags,
    frontier: Frontier<'f>,
    cleared: usize,
}

impl<'f> Untag<'_, 'f> {
    fn run(&mut self, tree: &Tree, abort: &AtomicBool) {
        for node in self.search.nodes.ids() {
            let Some(Referrer::Root(root)) = self.search.nodes.referrer(node) else {
                continue;
            };
            if let Some(object) = self.search.roots.read(self.jni, self.catalogue, root) {
                self.clear(object, node);
            }
            if self.frontier.is_narrow() {
                continue;
            }
            self.drain(tree, abort);
        }
        self.drain(tree, abort);
    }

    fn drain(&mut self, tree: &Tree, abort: &AtomicBool) {
        while !abort.load(Ordering::Relaxed) {
            match self.frontier.pop(self.jni) {
                Popped::Object(object, node, _) => {
                    self.clear_children(&object, node, tree);
                    self.jni.delete(object);
                }
                Popped::Dead(_) => {}
                Popped::Empty => return,
            }
        }
    }

    fn clear_children(&mut self, object: &Obj<'f>, node: NodeId, tree: &Tree) {
        for child in tree.children(node) {
            let Some(Referrer::Node(_, edge)) = self.search.nodes.referrer(child) else {
                continue;
            };
            // The object carried the tag of `node`, so it has the class that was recorded for it.
            let read = read_edge(self.search, self.catalogue, self.jni, object, node, edge);
            if let Some(found) = read {
                self.clear(found, child);
            }
        }
    }

    /// Clears the tag of `object` if it is the one of `node`, and goes on below it.
    fn clear(&mut self, object: Obj<'f>, node: NodeId) {
        let is_it = self
            .tags
            .of(&object)
            .is_ok_and(|tag| tag.node() == Some(node));
        if is_it && self.tags.set(&object, Tag::default()).is_ok() {
            self.cleared += 1;
            self.frontier.push(self.jni, object, node, 0);
        } else {
            self.jni.delete(object);
        }
    }
}

/// The recorded edges from referrer to referent.
struct Tree {
    /// Where the children of each node begin in `children`; one more than there are nodes.
    starts: Vec<u32>,
    children: Vec<u32>,
}

impl Tree {
    /// `None` when the process has no memory for it.
    fn of(nodes: &Nodes) -> Option<Self> {
        let count = nodes.count();
        let mut starts: Vec<u32> = Vec::new();
        starts.try_reserve_exact(count + 2).ok()?;
        starts.resize(count + 2, 0);
        let mut children: Vec<u32> = Vec::new();
        children.try_reserve_exact(count).ok()?;
        children.resize(count, 0);
        // Counted two places on, summed, and filled one place on: what is left are the begins.
        let parent = |node| match nodes.referrer(node) {
            Some(Referrer::Node(parent, _)) => Some(parent.number() as usize),
            _ => None,
        };
        for parent in nodes.ids().filter_map(parent) {
            *starts.get_mut(parent + 2)? += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        for node in nodes.ids() {
            if let Some(parent) = parent(node) {
                let at = starts.get_mut(parent + 1)?;
                *children.get_mut(*at as usize)? = node.number();
                *at += 1;
            }
        }
        Some(Self { starts, children })
    }

    fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> + use<'_> {
        let at = |node: usize| self.starts.get(node).copied().unwrap_or(0) as usize;
        let node = node.number() as usize;
        let range = self.children.get(at(node)..at(node + 1));
        range
            .unwrap_or_default()
            .iter()
            .map(|child| NodeId::new(*child))
    }
}

#[cfg(test)]
mod tests {
    use super::super::nodes::{Edge, RootId};
    use super::super::sigs::SigId;
    use super::*;

    #[test]
    fn every_recorded_edge_is_found_from_its_referrer() {
        let mut nodes = Nodes::new(80);
        let mut add = |referrer| nodes.push(referrer, SigId(0), 0).unwrap();
        let a = add(Referrer::Root(RootId(0)));
        let b = add(Referrer::Node(a, Edge::slot(0)));
        let c = add(Referrer::Node(b, Edge::slot(0)));
        let d = add(Referrer::Node(a, Edge::slot(1)));
        let e = add(Referrer::Root(RootId(1)));
        let tree = Tree::of(&nodes).unwrap();
        let of = |node| tree.children(node).collect::<Vec<_>>();
        assert_eq!(of(a), [b, d]);
        assert_eq!(of(b), [c]);
        assert_eq!((of(c), of(d), of(e)), (vec![], vec![], vec![]));
    }
}
