//! A chain as linked constants in the JVM's own layout.

use crate::constants::Constants;
use jfr_format::entity::{ClassInfo, StackInfo, ThreadInfo};
use jfr_format::path::{ChainPath, Edge, RootKind};
use jfr_format::varint;
use std::sync::Arc;

/// Hops of one chain that are written as constants; the JDK's tools are known to print 1,500.
/// Of a longer chain the hops in the middle are left out, and the reference there says how many.
pub const MAX_LINKS: usize = 1_000;

/// `java.lang.reflect.Modifier.STATIC`.
const STATIC: i16 = 8;

/// What the JVM's sample event says beside the chain.
#[derive(Clone, Debug, Default)]
pub struct ChainSample {
    /// Thread that allocated the sampled object.
    pub thread: Option<Arc<ThreadInfo>>,
    /// Where it was allocated.
    pub stack: Option<Arc<StackInfo>>,
    /// When, ticks; 0 when unknown.
    pub allocation_ticks: i64,
    /// Its size in bytes; 0 when unknown.
    pub object_size: u64,
    /// Heap use after the last collection, bytes; 0 when unknown.
    pub heap_used: u64,
    /// Length of the object when it is an array.
    pub array_length: Option<i32>,
}

/// An object to write: the edge that reaches it and how many hops that edge stands for.
struct Node<'a> {
    class: &'a Arc<ClassInfo>,
    description: Option<&'a str>,
    edge: Option<&'a Edge>,
    skip: u64,
}

/// Appends the fields of `jdk.OldObjectSample`, `startTime` first, and puts the chain into the pools. `size` is the
/// object's, bytes, where the event has a field for it.
pub(crate) fn put(
    out: &mut Vec<u8>,
    constants: &mut Constants,
    ticks: i64,
    path: &ChainPath,
    sample: &ChainSample,
    size: Option<u64>,
) {
    let object = put_objects(constants, path);
    let thread = sample
        .thread
        .as_ref()
        .map_or(0, |thread| constants.thread(thread));
    let stack = sample
        .stack
        .as_ref()
        .map_or(0, |stack| constants.stack(stack));
    let (system, kind) = path.root.kind.jvm_names();
    let root = constants.root(&root_text(path), system, kind);
    let allocated = if sample.allocation_ticks == 0 {
        ticks
    } else {
        sample.allocation_ticks
    };
    varint::put_i64(out, ticks);
    varint::put_u64(out, 0);
    varint::put_u64(out, thread);
    varint::put_u64(out, stack);
    varint::put_i64(out, allocated);
    if let Some(size) = size {
        varint::put_u64(out, size);
    }
    varint::put_i64(out, ticks.saturating_sub(allocated));
    varint::put_u64(out, sample.heap_used);
    varint::put_u64(out, object);
    varint::put_i32(out, sample.array_length.unwrap_or(i32::MIN));
    varint::put_u64(out, root);
}

fn root_text(path: &ChainPath) -> String {
    if path.root.description.is_empty() {
        path.root.kind.name().to_owned()
    } else {
        [path.root.kind.name(), " ", &path.root.description].concat()
    }
}

/// The key of the leaf; 0 for a chain without hops.
fn put_objects(constants: &mut Constants, path: &ChainPath) -> u64 {
    let holder = root_holder(path);
    let holder_class = holder
        .as_ref()
        .map(|(class, _)| Arc::new(ClassInfo::named(*class)));
    let mut nodes = Vec::with_capacity(path.links.len() + 1);
    if let (Some(class), Some((_, description))) = (&holder_class, &holder) {
        nodes.push(Node {
            class,
            description: Some(description),
            edge: None,
            skip: 0,
        });
    }
    for link in &path.links {
        let edge = if nodes.is_empty() {
            None
        } else {
            Some(&link.edge)
        };
        nodes.push(Node {
            class: &link.class,
            description: None,
            edge,
            skip: u64::from(link.run.max(1)) - 1,
        });
    }
    leave_out_the_middle(&mut nodes);

    let mut key = 0;
    for node in &nodes {
        let referrer = match node.edge {
            Some(edge) if key != 0 => put_reference(constants, edge, key, node.skip),
            _ => 0,
        };
        let class = constants.class(node.class);
        key = constants.object(class, node.description, referrer);
    }
    key
}

fn put_reference(constants: &mut Constants, edge: &Edge, holder: u64, skip: u64) -> u64 {
    let (array, field) = match edge {
        Edge::Array { index, length } => {
            (constants.array(length.unwrap_or(0), index.unwrap_or(-1)), 0)
        }
        Edge::Static { name } => (0, constants.field(name, STATIC)),
        Edge::Field { name } | Edge::Other { name } => (0, constants.field(name, 0)),
        _ => (0, 0),
    };
    constants.reference(array, field, holder, skip)
}

/// The object that the root itself is: the class of a static field, a thread, a class loader.
fn root_holder(path: &ChainPath) -> Option<(&'static str, String)> {
    let description = &path.root.description;
    match (path.root.kind, path.links.first().map(|link| &link.edge)) {
        (RootKind::StaticField, Some(Edge::Static { .. })) => {
            let class = description
                .rsplit_once('.')
                .map_or(description.as_str(), |(class, _)| class);
            Some(("java.lang.Class", format!("Class Name: {class}")))
        }
        (RootKind::Thread | RootKind::ThreadLocal, Some(Edge::Field { .. })) => {
            Some(("java.lang.Thread", format!("Thread Name: {description}")))
        }
        _ => None,
    }
}

/// Keeps the first and last halves of [`MAX_LINKS`]; the seam's `skip` counts what is missing.
fn leave_out_the_middle(nodes: &mut Vec<Node<'_>>) {
    if nodes.len() <= MAX_LINKS {
        return;
    }
    let from = MAX_LINKS / 2;
    let to = nodes.len() - (MAX_LINKS - from);
    let missing: u64 = nodes.drain(from..to).map(|node| node.skip + 1).sum();
    if let Some(seam) = nodes.get_mut(from) {
        seam.skip += missing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jfr_format::path::{Link, Root};

    fn path(links: usize) -> ChainPath {
        let link = Link {
            edge: Edge::Field {
                name: "next".into(),
            },
            class: Arc::new(ClassInfo::named("com.acme.Node")),
            run: 1,
            size: None,
            fan_out: None,
        };
        ChainPath {
            root: Root::default(),
            links: vec![link; links],
        }
    }

    #[test]
    fn a_very_long_chain_keeps_its_ends_and_counts_the_rest() {
        let long = path(MAX_LINKS + 500);
        let mut nodes: Vec<Node<'_>> = long
            .links
            .iter()
            .map(|link| Node {
                class: &link.class,
                description: None,
                edge: Some(&link.edge),
                skip: 0,
            })
            .collect();
        leave_out_the_middle(&mut nodes);
        assert_eq!(nodes.len(), MAX_LINKS);
        assert_eq!(nodes.iter().map(|node| node.skip).sum::<u64>(), 500);
    }

    #[test]
    fn a_chain_without_hops_has_no_object() {
        assert_eq!(put_objects(&mut Constants::new(), &path(0)), 0);
        assert_ne!(put_objects(&mut Constants::new(), &path(1)), 0);
    }

    #[test]
    fn a_chain_that_is_repeated_costs_no_constants() {
        let mut constants = Constants::new();
        let first = put_objects(&mut constants, &path(10));
        let written = constants.pending_len();
        assert_eq!(put_objects(&mut constants, &path(10)), first);
        assert_eq!(constants.pending_len(), written);
        assert_ne!(put_objects(&mut constants, &path(11)), first);
    }

    #[test]
    fn a_static_field_is_held_by_its_class() {
        let mut chain = path(1);
        chain.root = Root {
            kind: RootKind::StaticField,
            description: "com.acme.Cache.MAP".into(),
        };
        chain.links[0].edge = Edge::Static { name: "MAP".into() };
        assert_eq!(root_holder(&chain).unwrap().1, "Class Name: com.acme.Cache");
    }
}
