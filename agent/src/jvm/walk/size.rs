//! How many elements an array or a collection of the JDK has, where that is one read away.

use super::catalogue::{Catalogue, ClassIndex};
use super::layout::Layout;
use crate::jvm::env::{FieldId, Jni, Obj};

/// The field that counts a collection's elements.
#[derive(Debug, Clone, Copy)]
pub enum SizeField {
    /// An `int`.
    Int(FieldId),
    /// A `long` that counts all as long as the field of this name is null: beside it, writers that met each other count
    /// for themselves.
    Long(FieldId, &'static str),
}

/// The counting field among `java.util`'s own, by owner and name; `None` for any other field.
pub fn size_field(owner: &str, name: &str, declared: &str, id: FieldId) -> Option<SizeField> {
    if !owner.starts_with("Ljava/util/") {
        return None;
    }
    match (name, declared) {
        ("size" | "count" | "elementCount", "I") => Some(SizeField::Int(id)),
        ("baseCount", "J") => Some(SizeField::Long(id, "counterCells")),
        _ => None,
    }
}

/// The size of `object`, an instance of `class`; `None` when that is no array of references and no collection that
/// counts. A collection may be changed meanwhile: the number is of one moment.
pub fn size_of(
    catalogue: &mut Catalogue,
    jni: &Jni<'_>,
    object: &Obj<'_>,
    class: ClassIndex,
) -> Option<u32> {
    catalogue.read_instantiated(jni, class);
    let known = catalogue.get(class)?;
    if matches!(known.layout, Layout::Array | Layout::Primitive) {
        // SAFETY: the class says that it is an array.
        return u32::try_from(unsafe { jni.array_length(object) }).ok();
    }
    match known.size? {
        // SAFETY: an `int` field of the object's class or a superclass.
        SizeField::Int(id) => u32::try_from(unsafe { jni.int_field(object, id) }).ok(),
        SizeField::Long(id, apart) => {
            let Layout::Fields(fields) = &known.layout else {
                return None;
            };
            let apart = fields.iter().find(|field| field.name.as_ref() == apart)?;
            // SAFETY: a reference field of the object's class or a superclass.
            if let Some(cells) = unsafe { jni.object_field(object, apart.id) } {
                jni.delete(cells);
                return None;
            }
            // SAFETY: a `long` field of the object's class or a superclass.
            u32::try_from(unsafe { jni.long_field(object, id) }).ok()
        }
    }
}
