//! Stand-ins for lost constants that the JDK's printer cannot do without.
//!
//! A missing constant reads as null, and most nulls print. A frame without a method, a method without
//! a class or a class without a name end `jfr print` with a NullPointerException over the whole file.

use std::collections::{BTreeMap, BTreeSet};

use jfr_format::{string, varint};

use crate::reader::{Chunk, Field, Primitive, Type};

/// What a lost name prints as.
const LOST: &str = "<lost>";

/// What a lost descriptor prints as: the printer takes descriptors apart.
const LOST_DESCRIPTOR: &str = "()V";

/// A constant that must exist: type id, key, and the text of a name inside it.
type Wanted = (i64, i64, &'static str);

/// Constants to add: type id to key to encoded value.
pub(super) type Added = BTreeMap<i64, BTreeMap<i64, Vec<u8>>>;

/// The constants that must exist and do not.
pub(super) fn stand_ins(chunk: &Chunk<'_>) -> Added {
    let mut wanted: Vec<Wanted> = Vec::new();
    for declared in chunk.types().iter() {
        chunk.visit_constant_keys(declared, &mut |owner, field, key| {
            if must_exist(owner, field) && !chunk.has_constant(field.type_id(), key) {
                wanted.push((field.type_id(), key, text_of(field)));
            }
        });
    }
    let mut added = Added::new();
    // A type that refers to itself asks for itself again, also when it cannot be encoded.
    let mut tried: BTreeSet<(i64, i64)> = BTreeSet::new();
    while let Some((type_id, key, text)) = wanted.pop() {
        let Some(declared) = chunk.types().by_id(type_id) else {
            continue;
        };
        if !tried.insert((type_id, key)) {
            continue;
        }
        let mut value = Vec::new();
        if stand_in(chunk, declared, text, &mut value, &mut wanted).is_some() {
            added.entry(type_id).or_default().insert(key, value);
        }
    }
    added
}

fn must_exist(owner: &Type<'_>, field: &Field<'_>) -> bool {
    let owner = owner.name();
    match field.name() {
        "method" => owner.ends_with(".types.StackFrame"),
        "type" => owner.ends_with(".types.Method"),
        "name" => owner.ends_with(".types.Method") || owner == "java.lang.Class",
        "descriptor" => owner.ends_with(".types.Method"),
        _ => false,
    }
}

/// Encodes a value with nothing in it but names; what it refers to goes to `wanted`.
///
/// `None` for types that hold inline structures: the ones in question do not.
fn stand_in(
    chunk: &Chunk<'_>,
    declared: &Type<'_>,
    text: &'static str,
    value: &mut Vec<u8>,
    wanted: &mut Vec<Wanted>,
) -> Option<()> {
    for field in declared.fields() {
        let inner = chunk.types().by_id(field.type_id())?;
        if field.is_array() {
            value.push(0);
        } else if field.is_pooled() {
            let key = if must_exist(declared, field) {
                let text = text_of(field);
                let key = unused(chunk, field.type_id(), text);
                wanted.push((field.type_id(), key, text));
                key
            } else {
                0
            };
            varint::put_i64(value, key);
        } else {
            match inner.primitive()? {
                Primitive::String => string::put(value, Some(text)),
                Primitive::Float => value.extend_from_slice(&[0; 4]),
                Primitive::Double => value.extend_from_slice(&[0; 8]),
                _ => value.push(0),
            }
        }
    }
    Some(())
}

fn text_of(field: &Field<'_>) -> &'static str {
    match field.name() {
        "descriptor" => LOST_DESCRIPTOR,
        _ => LOST,
    }
}

/// The same key for every stand-in of a type and text, and none that the chunk uses.
fn unused(chunk: &Chunk<'_>, type_id: i64, text: &str) -> i64 {
    let which = i64::from(text == LOST_DESCRIPTOR);
    let keys = (0..).map(|step| 0x4000_0000_0000_0000 + 2 * step + which);
    let mut free = keys.filter(|&key| !chunk.has_constant(type_id, key));
    free.next().unwrap_or(0)
}
