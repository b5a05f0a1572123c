//! Reads what an object refers to.

use super::catalogue::{ClassIndex, Loader};
use super::layout::{Layout, Plan, Role};
use super::nodes::{Edge, NodeId};
use super::pass::{AGAIN_HOPS, Pass};
use super::search::{Admission, Deferred, Link, element, reach};
use crate::jvm::env::Obj;
use crate::jvm::env::raw_jvmti::JVMTI_THREAD_STATE_ALIVE;
use chain_core::chain::Strength;

/// Elements of an array that are read before others get their turn.
const ELEMENTS: u32 = 512;
/// Slots without an object that cost as much as an edge.
const EMPTY_SLOTS: u64 = 8;
/// Edges kept for later.
const MAX_DEFERRED: usize = 10_000;

impl<'f> Pass<'_, 'f> {
    /// Reads the edges of an object, from `cursor` on if it is an array.
    pub(super) fn expand(&mut self, object: Obj<'f>, node: NodeId, cursor: u32) {
        let Some(class) = self.search.class_of(node) else {
            self.jni.delete(object);
            return;
        };
        self.prepare(class);
        let Some(known) = self.catalogue.get(class) else {
            self.jni.delete(object);
            return;
        };
        match (&known.plan, &known.layout) {
            (Plan::Fields(places), Layout::Fields(fields)) => {
                let (places, fields, reference) = (places.clone(), fields.clone(), known.reference);
                for place in places.iter() {
                    let Some(field) = fields.get(*place as usize) else {
                        continue;
                    };
                    // SAFETY: the object is of the class whose field list this is: the frontier keeps object and
                    // node together, and `reach` checks the class.
                    let Some(child) = (unsafe { self.jni.object_field(&object, field.id) }) else {
                        continue;
                    };
                    let edge = Edge::slot(*place);
                    let strength = field.strength(reference);
                    if field.role == Role::Housekeeping {
                        self.defer(child, node, edge, strength);
                    } else {
                        self.visit(
                            child,
                            Link::Edge {
                                from: node,
                                edge,
                                array: false,
                                strength,
                            },
                        );
                    }
                }
                self.jni.delete(object);
            }
            (Plan::Elements, _) => self.expand_array(object, node, cursor),
            _ => self.jni.delete(object),
        }
    }

    fn expand_array(&mut self, array: Obj<'f>, node: NodeId, from: u32) {
        // SAFETY: the plan says that the object is an array of references.
        let length = u32::try_from(unsafe { self.jni.array_length(&array) }).unwrap_or(0);
        let to = length.min(from.saturating_add(ELEMENTS));
        for index in from..to {
            if let Some(child) = element(self.jni, &array, index) {
                self.visit(
                    child,
                    Link::Edge {
                        from: node,
                        edge: Edge::slot(index),
                        array: true,
                        strength: Strength::Durable,
                    },
                );
            }
        }
        self.edges += u64::from(to.saturating_sub(from)) / EMPTY_SLOTS;
        if to < length {
            self.enqueue(array, node, to);
        } else {
            if from > 0 {
                self.look_again_if_replaced(&array, node);
            }
            self.jni.delete(array);
        }
    }

    /// Takes up an object read from another.
    pub(super) fn visit(&mut self, child: Obj<'f>, link: Link) {
        self.edges += 1;
        let Some(class) = self.catalogue.class_of(self.jni, &child) else {
            self.jni.delete(child);
            return;
        };
        self.prepare(class);
        let Some(known) = self.catalogue.get(class) else {
            self.jni.delete(child);
            return;
        };
        let (candidate, is_thread) = (known.candidate, known.is_thread);
        if known.plan == Plan::Leaf && candidate.is_none() {
            self.jni.delete(child);
            return;
        }
        if is_thread && self.is_alive(&child) {
            // Live threads are roots: one that started since they were listed becomes one now.
            let name = self.jvmti.thread_name(self.jni, &child).unwrap_or_default();
            match self.admit_thread(&child, &name, None) {
                Some(node) => self.enqueue(child, node, 0),
                None => self.jni.delete(child),
            }
            return;
        }
        let Ok(hash) = self.jvmti.identity_hash(&child) else {
            self.jni.delete(child);
            return;
        };
        let room = self.room();
        match self
            .search
            .admit(class, hash.cast_unsigned(), link, candidate, room)
        {
            Admission::New(node) => {
                self.new_nodes += 1;
                self.follow_class(&child, class, node);
                self.enqueue_or_drop(child, class, node);
            }
            Admission::Stronger(node) => self.enqueue_or_drop(child, class, node),
            Admission::Refused(_) => self.jni.delete(child),
        }
    }

    fn defer(&mut self, child: Obj<'f>, from: NodeId, edge: Edge, strength: Strength) {
        if self.search.deferred.len() < MAX_DEFERRED
            && let Some(object) = self.jni.new_weak(&child)
        {
            self.search.deferred.push(Deferred {
                object,
                from,
                edge,
                strength,
            });
        }
        self.jni.delete(child);
    }

    pub(super) fn prepare(&mut self, class: ClassIndex) {
        if self
            .catalogue
            .get(class)
            .is_some_and(|c| c.plan == Plan::Undecided)
        {
            self.catalogue.prepare(self.jni, class);
        }
    }

    pub(super) fn enqueue_or_drop(&mut self, object: Obj<'f>, class: ClassIndex, node: NodeId) {
        if self
            .catalogue
            .get(class)
            .is_some_and(|c| c.plan == Plan::Leaf)
        {
            self.jni.delete(object);
        } else {
            self.enqueue(object, node, 0);
        }
    }

    pub(super) fn enqueue(&mut self, object: Obj<'f>, node: NodeId, cursor: u32) {
        if !self.frontier.push(self.jni, object, node, cursor) {
            self.search.evicted += 1;
        }
    }

    /// The first instance of a class that a custom loader made leads on to its class, and so to its loader.
    pub(super) fn follow_class(&mut self, object: &Obj<'f>, class: ClassIndex, node: NodeId) {
        let Some(known) = self.catalogue.get_mut(class) else {
            return;
        };
        if known.loader != Loader::Custom || known.mirror_seen {
            return;
        }
        known.mirror_seen = true;
        if let Ok(mirror) = self.jni.class_of(object) {
            self.visit(
                mirror,
                Link::Edge {
                    from: node,
                    edge: Edge::CLASS,
                    array: false,
                    strength: Strength::Durable,
                },
            );
        }
    }

    fn is_alive(&self, thread: &Obj<'_>) -> bool {
        self.jvmti
            .thread_state(thread)
            .is_ok_and(|state| state & JVMTI_THREAD_STATE_ALIVE != 0)
    }

    /// A long array was read to its end: when its holder has another one by now (a resized map or list), that one
    /// is read too.
    fn look_again_if_replaced(&mut self, array: &Obj<'f>, node: NodeId) {
        if let Some(now) = reach(self.search, self.catalogue, self.jni, node, AGAIN_HOPS) {
            let same = self.jni.same(&now, array);
            self.jni.delete(now);
            if same {
                return;
            }
        }
        self.look_again_at_referrer(node);
    }
}
