//! How the JVM numbers the fields of a class in heap callbacks.
//!
//! JVMTI's "field index": the fields of all superinterfaces come first, then those of each class from `Object` down, in
//! the order of `GetClassFields`, static ones included.

use crate::jvm::env::{FieldId, Jni, Jvmti, Obj};

/// The fields of a class by their number in heap callbacks.
#[derive(Debug, Clone, Default)]
pub struct Numbering {
    /// Numbers that the superinterfaces' constants take.
    pub first: usize,
    /// What follows.
    pub fields: Vec<FieldId>,
}

/// The numbering of a class that is prepared.
#[must_use]
pub fn numbering(jvmti: Jvmti, jni: &Jni<'_>, class: &Obj<'_>) -> Numbering {
    let mut groups = Vec::new();
    let mut interfaces: Vec<Obj<'_>> = Vec::new();
    let mut at = jni.new_local(class);
    while let Some(current) = at.take() {
        groups.push(jvmti.class_fields(&current).unwrap_or_default());
        collect_interfaces(jvmti, jni, &current, &mut interfaces);
        at = jni.superclass(&current);
        jni.delete(current);
    }
    let mut first = 0;
    for interface in interfaces {
        first += jvmti.class_fields(&interface).map_or(0, |ids| ids.len());
        jni.delete(interface);
    }
    Numbering {
        first,
        fields: groups.into_iter().rev().flatten().collect(),
    }
}

/// Adds the superinterfaces of `class` that are not among `known` yet.
fn collect_interfaces<'f>(jvmti: Jvmti, jni: &Jni<'f>, class: &Obj<'_>, known: &mut Vec<Obj<'f>>) {
    let mut next = known.len();
    add(jvmti, jni, class, known);
    while let Some(interface) = known.get(next).and_then(|i| jni.new_local(i)) {
        next += 1;
        add(jvmti, jni, &interface, known);
        jni.delete(interface);
    }
}

fn add<'f>(jvmti: Jvmti, jni: &Jni<'f>, class: &Obj<'_>, known: &mut Vec<Obj<'f>>) {
    for interface in jvmti.interfaces(jni, class).unwrap_or_default() {
        if known.iter().any(|other| jni.same(other, &interface)) {
            jni.delete(interface);
        } else {
            known.push(interface);
        }
    }
}
