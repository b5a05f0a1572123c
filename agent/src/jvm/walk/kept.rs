//! Chains that were told, kept for re-reading them after their search.

use super::catalogue::{Catalogue, ClassIndex};
use super::observe::{KeptEdge, KeptStep};
use super::search::element;
use crate::jvm::env::{FieldId, Jni, Obj, Weak};

/// Elements looked through for another one of the recorded class.
const MAX_ELEMENTS: u32 = 100_000;

/// A chain that was told, for re-reading it after its search.
#[derive(Debug)]
pub struct Kept {
    /// Its number.
    pub handle: u64,
    /// The object at its end.
    pub leaf: Weak,
    /// Where it begins.
    pub root: KeptRoot,
    /// Edge and class of every object.
    pub steps: Vec<KeptStep>,
}

/// The root of a kept chain.
#[derive(Debug)]
pub enum KeptRoot {
    /// A static field of a class.
    Static(ClassIndex, FieldId),
    /// An object.
    Object(Weak),
}

impl Kept {
    /// Frees its references.
    pub fn free(self, jni: &Jni<'_>) {
        jni.delete_weak(self.leaf);
        if let KeptRoot::Object(weak) = self.root {
            jni.delete_weak(weak);
        }
    }
}

/// Whether the leaf lives and every hop, read again, has its class.
pub fn holds(kept: &Kept, catalogue: &mut Catalogue, jni: &Jni<'_>) -> bool {
    !jni.is_cleared(&kept.leaf) && reads(kept, catalogue, jni)
}

/// Re-reads a kept chain; whether every hop has its class.
fn reads(kept: &Kept, catalogue: &mut Catalogue, jni: &Jni<'_>) -> bool {
    let root = match &kept.root {
        KeptRoot::Object(weak) => jni.upgrade(weak),
        KeptRoot::Static(class, field) => catalogue.upgrade(jni, *class).and_then(|class| {
            // SAFETY: a static reference field of this class, which was initialised when it was read first.
            let value = unsafe { jni.static_object_field(&class, *field) };
            jni.delete(class);
            value
        }),
    };
    let Some(mut at) = root else {
        return false;
    };
    for (edge, class) in &kept.steps {
        let next = match edge {
            None => None,
            // SAFETY: the loop checked that `at` has the class that declares or inherits the field.
            Some(KeptEdge::Field(field)) => Some(unsafe { jni.object_field(&at, *field) }),
            Some(KeptEdge::Element(index)) => Some(element_of(jni, catalogue, &at, *index, *class)),
            Some(KeptEdge::Class) => Some(jni.class_of(&at).ok()),
        };
        if let Some(next) = next {
            jni.delete(at);
            let Some(next) = next else {
                return false;
            };
            at = next;
        }
        if catalogue.class_of(jni, &at) != Some(*class) {
            jni.delete(at);
            return false;
        }
    }
    jni.delete(at);
    true
}

/// An element of this class: the one at `index`, else another one, since maps and lists move their elements.
fn element_of<'f>(
    jni: &Jni<'f>,
    catalogue: &mut Catalogue,
    array: &Obj<'f>,
    index: u32,
    class: ClassIndex,
) -> Option<Obj<'f>> {
    // SAFETY: the kept path says that it is an array.
    let length = u32::try_from(unsafe { jni.array_length(array) }).unwrap_or(0);
    let others = (0..length.min(MAX_ELEMENTS)).filter(|other| *other != index);
    for at in std::iter::once(index).chain(others) {
        if let Some(found) = element(jni, array, at) {
            if catalogue.class_of(jni, &found) == Some(class) {
                return Some(found);
            }
            jni.delete(found);
        }
    }
    None
}
