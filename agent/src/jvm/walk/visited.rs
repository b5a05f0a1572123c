//! How a search recognises an object that it has seen: by its identity hash, or by a tag.
//!
//! A hash needs nothing from the JVM but writes the object's header and is shared by a few objects; a tag names one
//! object exactly, costs native memory in the JVM, and makes collections longer. Tags live in an environment of the
//! search's own, so that releasing them touches nobody else's.

use super::catalogue::ClassIndex;
use super::nodes::NodeId;
use crate::jvm::env::raw_jvmti::jvmtiCapabilities;
use crate::jvm::env::{JvmError, Jvmti, Obj, Vm};

/// Native bytes of a tag in the JVM: table entry and weak handle. Measured: 70-80.
pub const TAG_BYTES: usize = 80;

/// The set of seen objects of one search.
#[derive(Debug, Default)]
pub enum Visited {
    /// By class and identity hash.
    #[default]
    Hash,
    /// By tag.
    Tags(Tags),
}

/// What identifies an object to a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Its identity hash; other objects may share it.
    Hash(u32),
    /// Its tag.
    Tag(Tag),
}

impl Visited {
    /// Native bytes outside the node table, for one seen object.
    #[must_use]
    pub fn bytes_each(&self) -> usize {
        match self {
            Self::Hash => 0,
            Self::Tags(_) => TAG_BYTES,
        }
    }

    /// The tags, when objects are tagged.
    #[must_use]
    pub fn tags(&self) -> Option<Tags> {
        match self {
            Self::Hash => None,
            Self::Tags(tags) => Some(*tags),
        }
    }

    /// What identifies `object`; `jvmti` answers hashes.
    ///
    /// # Errors
    /// Any error of the JVM.
    pub fn key(&self, jvmti: Jvmti, object: &Obj<'_>) -> Result<Key, JvmError> {
        Ok(match self {
            Self::Hash => Key::Hash(jvmti.identity_hash(object)?.cast_unsigned()),
            Self::Tags(tags) => Key::Tag(tags.of(object)?),
        })
    }
}

/// A tag, as this search writes it: the object's node in the low half; for a class also its place in the catalogue;
/// or, for what a heap walk has just met, the number of that meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tag(i64);

const NODE_BITS: u32 = 32;
const NODE_MASK: i64 = (1 << NODE_BITS) - 1;
const CLASS_MASK: i64 = ((1 << 29) - 1) << NODE_BITS;
const MET: i64 = 1 << 61;
const BATCH: i64 = 1 << 62;

impl Tag {
    /// What marks the array that a heap walk starts at.
    pub const BATCH: Self = Self(BATCH);

    /// From the JVM's number.
    #[must_use]
    pub fn from_raw(raw: i64) -> Self {
        Self(raw)
    }

    /// As the JVM takes it.
    #[must_use]
    pub fn raw(self) -> i64 {
        self.0
    }

    /// The node, unless the object is new.
    #[must_use]
    pub fn node(self) -> Option<NodeId> {
        if self.0 & (MET | BATCH) != 0 {
            return None;
        }
        let low = u32::try_from(self.0 & NODE_MASK).ok()?;
        low.checked_sub(1).map(NodeId::new)
    }

    /// The number of the meeting with a heap walk.
    #[must_use]
    pub fn meeting(self) -> Option<u32> {
        (self.0 & MET != 0)
            .then(|| u32::try_from(self.0 & NODE_MASK).ok())
            .flatten()
    }

    /// The class that this tag, of a class, names.
    #[must_use]
    pub fn class(self) -> Option<ClassIndex> {
        let class = u32::try_from((self.0 & CLASS_MASK) >> NODE_BITS).ok()?;
        class.checked_sub(1)
    }

    /// Whether nothing but a class is named: the object was neither seen nor met.
    #[must_use]
    pub fn is_fresh(self) -> bool {
        self.0 & !CLASS_MASK == 0
    }

    /// The same with this node.
    #[must_use]
    pub fn with_node(self, node: NodeId) -> Self {
        Self((self.0 & CLASS_MASK) | (i64::from(node.number()) + 1))
    }

    /// The same, met by a heap walk.
    #[must_use]
    pub fn with_meeting(self, number: u32) -> Self {
        Self((self.0 & CLASS_MASK) | MET | i64::from(number))
    }

    /// The same, neither seen nor met.
    #[must_use]
    pub fn cleared(self) -> Self {
        Self(self.0 & CLASS_MASK)
    }

    /// The same, naming this class. Classes beyond half a billion are not named.
    #[must_use]
    pub fn with_class(self, class: ClassIndex) -> Self {
        let named = (i64::from(class) + 1) << NODE_BITS;
        if named & !CLASS_MASK != 0 {
            return self;
        }
        Self((self.0 & !CLASS_MASK) | named)
    }
}

/// An environment that holds the tags of one search. Copies name the same one.
#[derive(Debug, Clone, Copy)]
pub struct Tags(Jvmti);

impl Tags {
    /// An environment without a tag.
    ///
    /// # Errors
    /// Any error of the JVM.
    pub fn open(vm: Vm) -> Result<Self, JvmError> {
        let env = vm.new_jvmti()?;
        let mut capabilities = jvmtiCapabilities::default();
        capabilities.set_can_tag_objects(true);
        match env.add_capabilities(&capabilities) {
            Ok(()) => Ok(Self(env)),
            Err(error) => {
                // SAFETY: ours alone, without events.
                let _ = unsafe { env.dispose() };
                Err(error)
            }
        }
    }

    /// The environment, for heap walks.
    #[must_use]
    pub fn env(self) -> Jvmti {
        self.0
    }

    /// An object's tag.
    ///
    /// # Errors
    /// Any error of the JVM.
    pub fn of(self, object: &Obj<'_>) -> Result<Tag, JvmError> {
        self.0.tag(object).map(Tag)
    }

    /// Sets an object's tag.
    ///
    /// # Errors
    /// Any error of the JVM.
    pub fn set(self, object: &Obj<'_>, tag: Tag) -> Result<(), JvmError> {
        self.0.set_tag(object, tag.0)
    }

    /// Gives the environment and every tag in it back. The JVM frees the tags one by one and reaches no safepoint
    /// meanwhile (about 1 us each): clear the many before.
    ///
    /// # Errors
    /// Any error of the JVM.
    pub fn dispose(self) -> Result<(), JvmError> {
        // SAFETY: the environment enables no event and is used by the worker thread alone, which gives up its copies
        // with the search.
        unsafe { self.0.dispose() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_names_node_and_class_beside_each_other() {
        let class = Tag::default().with_class(70_000);
        assert_eq!((class.class(), class.node()), (Some(70_000), None));
        let seen = class.with_node(NodeId::new(u32::MAX - 2));
        assert_eq!(seen.class(), Some(70_000));
        assert_eq!(seen.node(), Some(NodeId::new(u32::MAX - 2)));
        assert_eq!(seen.with_class(3).node(), seen.node());
        assert!(class.is_fresh() && !seen.is_fresh());
        assert_eq!(seen.cleared(), class);
    }

    #[test]
    fn what_a_heap_walk_has_met_is_no_node_yet() {
        let met = Tag::default().with_class(9).with_meeting(0);
        assert_eq!(
            (met.node(), met.meeting(), met.class()),
            (None, Some(0), Some(9))
        );
        assert!(!met.is_fresh());
        assert_eq!(met.with_node(NodeId::new(4)).meeting(), None);
        assert_eq!(Tag::BATCH.node(), None);
        assert_eq!(Tag::from_raw(0).node(), None);
    }
}
