//! Reads what an object refers to.

use super::catalogue::{ClassIndex, Loader};
use super::content::{CROWDED, LOOKED_AT, content_of};
use super::layout::{Layout, Plan, Role};
use super::nodes::{Content, Edge, NodeId};
use super::pass::{AGAIN_HOPS, Pass};
use super::search::{Admission, Deferred, Link, element, reach};
use super::visited::Key;
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
                let mut unread = self.reads_content();
                for (at, place) in places.iter().enumerate() {
                    let Some(field) = fields.get(*place as usize) else {
                        continue;
                    };
                    // SAFETY: the object is of the class whose field list this is: the frontier keeps object and
                    // node together, and `reach` checks the class.
                    let Some(child) = (unsafe { self.jni.object_field(&object, field.id) }) else {
                        continue;
                    };
                    let hash = (unread && at < LOOKED_AT)
                        .then(|| self.remember(&child, node, *place))
                        .flatten();
                    unread &= hash.is_none();
                    let edge = Edge::slot(*place);
                    let strength = field.strength(reference);
                    if field.role == Role::Housekeeping {
                        self.defer(child, node, edge, strength);
                    } else {
                        self.visit_hashed(
                            child,
                            Link::Edge {
                                from: node,
                                edge,
                                array: false,
                                strength,
                            },
                            hash,
                        );
                    }
                }
                if unread {
                    self.search.nodes.read(node, Content::EMPTY);
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
        let mut unread = self.reads_content();
        for index in from..to {
            if let Some(child) = element(self.jni, &array, index) {
                let hash = (unread && (index as usize) < LOOKED_AT)
                    .then(|| self.remember(&child, node, index))
                    .flatten();
                unread &= hash.is_none();
                self.visit_hashed(
                    child,
                    Link::Edge {
                        from: node,
                        edge: Edge::slot(index),
                        array: true,
                        strength: Strength::Durable,
                    },
                    hash,
                );
            }
        }
        if from == 0 && unread {
            self.search.nodes.read(node, Content::EMPTY);
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

    /// Whether what objects hold is needed to tell them apart.
    fn reads_content(&self) -> bool {
        self.search.visited.tags().is_none()
    }

    /// Takes up an object read from another.
    pub(super) fn visit(&mut self, child: Obj<'f>, link: Link) {
        self.visit_hashed(child, link, None);
    }

    fn visit_hashed(&mut self, child: Obj<'f>, link: Link, hash: Option<u32>) {
        self.edges += 1;
        if let Err(child) = self.take_up(child, link, hash.map(Key::Hash)) {
            self.jni.delete(child);
        }
    }

    /// Takes up an object by a link; gives it back when it is a leaf, was seen, or finds no room. `key` identifies it
    /// where the caller knows that.
    pub(super) fn take_up(
        &mut self,
        child: Obj<'f>,
        link: Link,
        key: Option<Key>,
    ) -> Result<(), Obj<'f>> {
        let Some(class) = self.catalogue.class_of(self.jni, &child) else {
            return Err(child);
        };
        self.prepare(class);
        let Some(known) = self.catalogue.get(class) else {
            return Err(child);
        };
        if known.plan == Plan::Leaf && known.candidate.is_none() {
            return Err(child);
        }
        if known.is_thread && self.is_alive(&child) {
            // Live threads are roots: one that started since they were listed becomes one now.
            let name = self.jvmti.thread_name(self.jni, &child).unwrap_or_default();
            return match self.admit_thread(&child, &name, None) {
                Some(node) => {
                    self.enqueue(child, node, 0);
                    Ok(())
                }
                None => Err(child),
            };
        }
        let key = match key {
            Some(key) => key,
            None => match self.search.visited.key(self.jvmti, &child) {
                Ok(key) => key,
                Err(_) => return Err(child),
            },
        };
        match self.admit(&child, class, key, link) {
            Admission::New(node) => {
                self.follow_class(&child, class, node);
                self.enqueue_or_drop(child, class, node);
                Ok(())
            }
            Admission::Stronger(node) => {
                self.enqueue_or_drop(child, class, node);
                Ok(())
            }
            Admission::Refused(_) => Err(child),
        }
    }

    /// Records an object, telling it apart from a seen one that shares its class and hash.
    pub(super) fn admit(
        &mut self,
        object: &Obj<'_>,
        class: ClassIndex,
        key: Key,
        link: Link,
    ) -> Admission {
        let room = self.room();
        let (jni, jvmti, catalogue) = (self.jni, self.jvmti, &*self.catalogue);
        let known = catalogue.get(class);
        let candidate = known.and_then(|c| c.candidate);
        let asks = known.is_some_and(|c| c.seen >= CROWDED) && self.search.may_tell_apart();
        let mut now = None;
        let admission = self
            .search
            .admit(class, key, link, candidate, room, |content| {
                !asks
                    || *now.get_or_insert_with(|| content_of(jni, jvmti, catalogue, class, object))
                        == content
            });
        if let Admission::New(node) = admission {
            self.new_nodes += 1;
            if let (Key::Tag(tag), Some(tags)) = (key, self.search.visited.tags())
                && tags.set(object, tag.with_node(node)).is_err()
            {
                // Without its tag it would be taken for a new one at every meeting: it stays unread.
                self.search.evicted += 1;
                return Admission::Refused(None);
            }
            if let Some(now) = now {
                self.search.told_apart += 1;
                self.search.nodes.read(node, now);
            }
            if let Some(known) = self.catalogue.get_mut(class) {
                known.seen = known.seen.saturating_add(1);
            }
        }
        admission
    }

    /// Remembers the first referent of an object as what tells it apart; the referent's hash.
    fn remember(&mut self, referent: &Obj<'_>, node: NodeId, place: u32) -> Option<u32> {
        let hash = self.jvmti.identity_hash(referent).ok()?.cast_unsigned();
        self.search.nodes.read(node, Content::new(place, hash));
        Some(hash)
    }

    pub(super) fn defer(&mut self, child: Obj<'f>, from: NodeId, edge: Edge, strength: Strength) {
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
