//! What an array or a collection of the JDK at the end of a chain holds: a few references further, the first class of
//! the application, else the first that is no collection (a string, a number), read from the heap just now.

use super::catalogue::{Catalogue, ClassIndex};
use super::layout::{Layout, Role};
use super::library::{RefKind, is_value_type};
use super::nodes::Edge;
use super::search::element;
use super::size::size_of;
use crate::jvm::env::{Jni, Obj};

/// References that are followed beyond the chain.
const DEPTH: usize = 4;
/// Elements of an array that are looked at, spread over its length.
const ELEMENTS: u32 = 64;
/// Objects that are read in all.
const MOST: usize = 512;
/// Fields that hold what a collection or a task is for, the most telling first. Others lead elsewhere: to the next of a
/// list, to the queue that a task waits in, to the collection that a view belongs to.
const CONTENT: &[&str] = &[
    "value",
    "val",
    "item",
    "element",
    "referent",
    "callable",
    "task",
    "key",
    "elementData",
    "elements",
    "array",
    "table",
    "queue",
    "head",
    "first",
    "root",
    "m",
    "map",
];

/// A reference that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Class of the referrer.
    pub from: ClassIndex,
    /// The edge.
    pub edge: Edge,
    /// Class of the referent.
    pub to: ClassIndex,
    /// Size of the referent, where it is an array or a collection that counts.
    pub size: Option<u32>,
}

struct Reached<'f> {
    object: Obj<'f>,
    class: ClassIndex,
    way: Vec<Held>,
}

/// The way from `leaf` to what it holds: the application's class that most of the objects nearest to it have, else a plain
/// one of the JDK. Empty when the leaf is the application's own, no container of the JDK, or holds nothing nearby.
pub fn contents(
    catalogue: &mut Catalogue,
    jni: &Jni<'_>,
    leaf: &Obj<'_>,
    class: ClassIndex,
) -> Vec<Held> {
    if !is_container(catalogue, class) {
        return Vec::new();
    }
    let room = i32::try_from(MOST).unwrap_or(i32::MAX) + 64;
    let found = jni.frame(room, |jni| {
        let object = jni.new_local(leaf)?;
        look(
            catalogue,
            jni,
            Reached {
                object,
                class,
                way: Vec::new(),
            },
        )
    });
    found.ok().flatten().unwrap_or_default()
}

fn look<'f>(catalogue: &mut Catalogue, jni: &Jni<'f>, leaf: Reached<'f>) -> Option<Vec<Held>> {
    let mut level = vec![leaf];
    let mut left = MOST;
    let mut of_the_jdk: Option<Vec<Held>> = None;
    for _ in 0..DEPTH {
        let mut next = Vec::new();
        for reached in &level {
            read(catalogue, jni, reached, &mut left, &mut next);
        }
        let of_the_application: Vec<&Reached<'_>> = next
            .iter()
            .filter(|r| is_application(catalogue, r.class))
            .collect();
        let count = |class| {
            of_the_application
                .iter()
                .filter(|r| r.class == class)
                .count()
        };
        // Of equals the first one read: content before links and keys.
        let most = of_the_application
            .iter()
            .rev()
            .max_by_key(|r| count(r.class));
        if let Some(most) = most {
            return Some(most.way.clone());
        }
        if of_the_jdk.is_none() {
            let plain = next.iter().find(|r| !is_container(catalogue, r.class));
            of_the_jdk = plain.map(|reached| reached.way.clone());
        }
        next.retain(|r| is_container(catalogue, r.class));
        level = next;
    }
    of_the_jdk
}

/// Reads what `from` refers to.
fn read<'f>(
    catalogue: &mut Catalogue,
    jni: &Jni<'f>,
    from: &Reached<'f>,
    left: &mut usize,
    into: &mut Vec<Reached<'f>>,
) {
    catalogue.prepare(jni, from.class);
    let Some(known) = catalogue.get(from.class) else {
        return;
    };
    let found: Vec<(Edge, Obj<'f>)> = match &known.layout {
        Layout::Array => {
            // SAFETY: the class says that it is an array of references.
            let length = u32::try_from(unsafe { jni.array_length(&from.object) }).unwrap_or(0);
            let step = length.div_ceil(ELEMENTS).max(1) as usize;
            (0..length)
                .step_by(step)
                .take(*left)
                .filter_map(|index| Some((Edge::slot(index), element(jni, &from.object, index)?)))
                .collect()
        }
        Layout::Fields(fields) => {
            let mut order: Vec<(usize, u32, usize)> = (0..)
                .zip(fields.iter().enumerate())
                .filter_map(|(place, (at, field))| {
                    let rank = CONTENT
                        .iter()
                        .position(|name| field.name.as_ref() == *name)?;
                    Some((rank, place, at))
                })
                .collect();
            order.sort_unstable();
            order
                .into_iter()
                .take(*left)
                .filter_map(|(_, place, at)| {
                    let field = fields.get(at)?;
                    let holds = match field.role {
                        Role::Strong => !is_value_type(&field.declared),
                        Role::Referent => known.reference == Some(RefKind::Final),
                        Role::Housekeeping | Role::Redundant | Role::Skipped => false,
                    };
                    if !holds {
                        return None;
                    }
                    // SAFETY: the object has the class whose field list this is.
                    let object = unsafe { jni.object_field(&from.object, field.id) }?;
                    Some((Edge::slot(place), object))
                })
                .collect()
        }
        Layout::Unknown | Layout::Primitive => return,
    };
    *left = left.saturating_sub(found.len());
    for (edge, object) in found {
        let Some(class) = catalogue.class_of(jni, &object) else {
            jni.delete(object);
            continue;
        };
        let mut way = from.way.clone();
        way.push(Held {
            from: from.class,
            edge,
            to: class,
            size: size_of(catalogue, jni, &object, class),
        });
        into.push(Reached { object, class, way });
    }
}

fn is_application(catalogue: &Catalogue, class: ClassIndex) -> bool {
    let known = catalogue.get(class);
    known.is_some_and(|class| class.loader.is_application())
}

/// Whether a class says nothing by itself: an array of references to the JDK's types, a collection of the JDK or a part
/// of one.
fn is_container(catalogue: &Catalogue, class: ClassIndex) -> bool {
    catalogue.get(class).is_some_and(|class| {
        let signature = class.signature.trim_start_matches('[');
        let array = signature.len() < class.signature.len();
        !class.loader.is_application()
            && !is_value_type(&class.signature)
            && (array && signature.len() > 1
                || signature.starts_with("Ljava/util/")
                || class.reference == Some(RefKind::Final))
    })
}
