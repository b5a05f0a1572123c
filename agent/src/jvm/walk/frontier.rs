//! Objects that were seen and are not expanded yet.
//!
//! Oldest first while it is small, so that chains come out short; newest first once it is large, so that a wide
//! heap does not make it wider; from both ends beyond that, since one end alone can starve. Within a pass a bounded
//! part is held by local references, the rest and everything between passes by weak ones: the walk keeps no
//! garbage alive.

use std::collections::VecDeque;

use super::nodes::{NodeId, Renumbering};
use crate::jvm::env::{Jni, Obj, Weak};

/// Entries held by local references.
pub const MAX_LOCAL: usize = 4096;
/// From here on the newest entry goes first.
const WIDE: usize = 12_000;
/// From here on both ends take turns.
const VERY_WIDE: usize = 48_000;

/// An entry between two passes.
#[derive(Debug)]
pub struct Parked {
    /// The object.
    pub object: Weak,
    /// Its node.
    pub node: NodeId,
    /// The next element to read, for arrays.
    pub cursor: u32,
}

/// An object and how it is held.
#[derive(Debug)]
enum Held<'f> {
    Local(Obj<'f>),
    Weak(Weak),
}

#[derive(Debug)]
struct Entry<'f> {
    held: Held<'f>,
    node: NodeId,
    cursor: u32,
}

/// What [`Frontier::pop`] gives.
#[derive(Debug)]
pub enum Popped<'f> {
    /// An object to expand from the given element on.
    Object(Obj<'f>, NodeId, u32),
    /// The object died since it was seen.
    Dead(NodeId),
    /// Nothing is left.
    Empty,
}

/// The frontier within a pass.
#[derive(Debug, Default)]
pub struct Frontier<'f> {
    entries: VecDeque<Entry<'f>>,
    locals: usize,
    turn: bool,
}

impl<'f> Frontier<'f> {
    /// Takes up what the last pass left.
    pub fn resume(parked: &mut VecDeque<Parked>) -> Self {
        let entries = parked
            .drain(..)
            .map(|p| Entry {
                held: Held::Weak(p.object),
                node: p.node,
                cursor: p.cursor,
            })
            .collect();
        Self {
            entries,
            locals: 0,
            turn: false,
        }
    }

    /// Leaves everything for the next pass; answers how many entries were lost for want of memory in the JVM.
    pub fn park(mut self, jni: &Jni<'f>, parked: &mut VecDeque<Parked>) -> usize {
        let mut lost = 0;
        for entry in self.entries.drain(..) {
            let object = match entry.held {
                Held::Weak(weak) => Some(weak),
                Held::Local(local) => {
                    let weak = jni.new_weak(&local);
                    jni.delete(local);
                    weak
                }
            };
            match object {
                Some(object) => parked.push_back(Parked {
                    object,
                    node: entry.node,
                    cursor: entry.cursor,
                }),
                None => lost += 1,
            }
        }
        lost
    }

    /// How many entries there are.
    #[must_use]
    pub fn width(&self) -> usize {
        self.entries.len()
    }

    /// The nodes of all entries.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<'_, 'f> {
        self.entries.iter().map(|entry| entry.node)
    }

    /// Gives every entry its node's new number.
    pub fn renumber(&mut self, numbers: &Renumbering) {
        for entry in &mut self.entries {
            entry.node = numbers.of(entry.node);
        }
    }

    /// Whether more roots may be taken up: the frontier is small.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.entries.len() < MAX_LOCAL / 2
    }

    /// Adds an object; false when the JVM has no memory for a reference.
    pub fn push(&mut self, jni: &Jni<'f>, object: Obj<'f>, node: NodeId, cursor: u32) -> bool {
        let held = if self.locals < MAX_LOCAL {
            self.locals += 1;
            Held::Local(object)
        } else {
            let weak = jni.new_weak(&object);
            jni.delete(object);
            match weak {
                Some(weak) => Held::Weak(weak),
                None => return false,
            }
        };
        self.entries.push_back(Entry { held, node, cursor });
        true
    }

    /// The oldest object, whatever comes next by the usual order.
    pub fn pop_oldest(&mut self, jni: &Jni<'f>) -> Popped<'f> {
        let entry = self.entries.pop_front();
        self.take(jni, entry)
    }

    /// The newest object, whatever comes next by the usual order.
    pub fn pop_newest(&mut self, jni: &Jni<'f>) -> Popped<'f> {
        let entry = self.entries.pop_back();
        self.take(jni, entry)
    }

    /// The next object.
    pub fn pop(&mut self, jni: &Jni<'f>) -> Popped<'f> {
        let from_back = match self.entries.len() {
            ..WIDE => false,
            WIDE..VERY_WIDE => true,
            _ => {
                self.turn = !self.turn;
                self.turn
            }
        };
        let entry = if from_back {
            self.entries.pop_back()
        } else {
            self.entries.pop_front()
        };
        self.take(jni, entry)
    }

    fn take(&mut self, jni: &Jni<'f>, entry: Option<Entry<'f>>) -> Popped<'f> {
        let Some(entry) = entry else {
            return Popped::Empty;
        };
        match entry.held {
            Held::Local(object) => {
                self.locals -= 1;
                Popped::Object(object, entry.node, entry.cursor)
            }
            Held::Weak(weak) => {
                let object = jni.upgrade(&weak);
                jni.delete_weak(weak);
                match object {
                    Some(object) => Popped::Object(object, entry.node, entry.cursor),
                    None => Popped::Dead(entry.node),
                }
            }
        }
    }
}
