//! What tells two objects of one class and one identity hash apart.

use super::catalogue::{Catalogue, ClassIndex};
use super::layout::{Layout, Plan};
use super::nodes::Content;
use super::search::element;
use crate::jvm::env::{Jni, Jvmti, Obj};

/// Fields or elements that are looked at for one that is not null.
pub const LOOKED_AT: usize = 4;
/// Objects of a class from which on a hash that was seen is not taken on trust: below it one in ten thousand searches
/// would meet a shared one.
pub const CROWDED: u32 = 1024;

/// The fingerprint of an object: the first referent among the first few places that a search reads.
#[must_use]
pub fn content_of(
    jni: &Jni<'_>,
    jvmti: Jvmti,
    catalogue: &Catalogue,
    class: ClassIndex,
    object: &Obj<'_>,
) -> Content {
    let Some(known) = catalogue.get(class) else {
        return Content::EMPTY;
    };
    let hashed = |place: u32, referent: Obj<'_>| {
        let hash = jvmti.identity_hash(&referent).unwrap_or(0);
        jni.delete(referent);
        Content::new(place, hash.cast_unsigned())
    };
    match (&known.plan, &known.layout) {
        (Plan::Fields(places), Layout::Fields(fields)) => places
            .iter()
            .take(LOOKED_AT)
            .find_map(|place| {
                let field = fields.get(*place as usize)?;
                // SAFETY: the caller says that the object is of this class.
                let referent = unsafe { jni.object_field(object, field.id) }?;
                Some(hashed(*place, referent))
            })
            .unwrap_or(Content::EMPTY),
        (Plan::Elements, _) => (0..u32::try_from(LOOKED_AT).unwrap_or(0))
            .find_map(|place| Some(hashed(place, element(jni, object, place)?)))
            .unwrap_or(Content::EMPTY),
        _ => Content::EMPTY,
    }
}
