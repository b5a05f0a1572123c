//! A chain's signature: the core's, so that a report and the agent name one leak alike.

use std::sync::Arc;

use chain_core::chain as core;
use chain_core::signature;

use super::chain::simple_name;
use super::noise::is_jdk_class;
use super::{Chain, EdgeKind, Hop, Root, RootKind, Strength};

/// Text and short id of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The text: root, edges and classes, without indices, counts and hidden-class numbers.
    pub text: String,
    /// Eight hex digits of it.
    pub id: String,
}

/// The signature of a chain with this root and these hops.
pub fn signature_of(root: &Root, hops: &[Hop]) -> Signature {
    let chain = to_core(root, hops, None);
    Signature {
        text: signature::signature_text(&chain, usize::MAX),
        id: signature::signature(&chain).to_string(),
    }
}

/// The leaf worth showing: the first application class below the growing container, else the
/// last hop's class. `container` is that container's position among the hops, when told.
pub fn display_leaf(root: &Root, hops: &[Hop], container: Option<usize>) -> String {
    let chain = to_core(root, hops, container);
    signature::display_leaf(&chain)
        .map(|leaf| leaf.to_string())
        .or_else(|| hops.last().map(|hop| hop.class.clone()))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Whether two chains are sightings of one leak: the same growing container holds both.
pub fn same_leak(a: &Chain, b: &Chain) -> bool {
    let core = |chain: &Chain| to_core(&chain.root, &chain.hops, chain.container_hop);
    signature::same_leak(&core(a), &core(b))
}

/// Text of the leak's identity: the path to the growing container.
pub fn identity_text(chain: &Chain) -> String {
    signature::identity_text(&to_core(&chain.root, &chain.hops, chain.container_hop))
}

fn to_core(root: &Root, hops: &[Hop], container: Option<usize>) -> core::Chain {
    let shared = |text: &Option<String>| text.as_deref().map(Arc::from);
    core::Chain {
        root: core::Root {
            kind: root_kind(root.kind),
            class: shared(&root.class),
            field: shared(&root.field),
            thread: shared(&root.thread),
            ..core::Root::default()
        },
        hops: hops
            .iter()
            .enumerate()
            .map(|(at, hop)| core::Hop {
                class: hop.class.as_str().into(),
                application: !is_jdk_class(&hop.class),
                edge: core::Edge {
                    kind: edge_kind(hop.edge.kind),
                    name: shared(&hop.edge.name),
                    index: None,
                },
                run: u32::try_from(hop.run).unwrap_or(u32::MAX),
                fan_out: if container == Some(at) { 2 } else { 1 },
                ..core::Hop::default()
            })
            .collect(),
        strength: core::Strength::default(),
    }
}

fn root_kind(kind: RootKind) -> core::RootKind {
    match kind {
        RootKind::StaticField => core::RootKind::StaticField,
        RootKind::Thread => core::RootKind::Thread,
        RootKind::ThreadLocal => core::RootKind::ThreadLocal,
        RootKind::ClassLoader => core::RootKind::ClassLoader,
        RootKind::JniGlobal => core::RootKind::JniGlobal,
        RootKind::JniLocal => core::RootKind::JniLocal,
        RootKind::StackLocal => core::RootKind::StackLocal,
        RootKind::Monitor => core::RootKind::Monitor,
        RootKind::Finalizer => core::RootKind::Finalizer,
        RootKind::System => core::RootKind::System,
        // A kind that only the format knows adds nothing to an identity.
        _ => core::RootKind::Unknown,
    }
}

fn edge_kind(kind: EdgeKind) -> core::EdgeKind {
    match kind {
        EdgeKind::Field | EdgeKind::Unknown => core::EdgeKind::Field,
        EdgeKind::Array => core::EdgeKind::Array,
        EdgeKind::Static => core::EdgeKind::Static,
        EdgeKind::Class => core::EdgeKind::Class,
        EdgeKind::Soft => core::EdgeKind::Soft,
        EdgeKind::Weak => core::EdgeKind::Weak,
        EdgeKind::Root => core::EdgeKind::Root,
    }
}

/// Joins hops of the same class behind the same edge that follow each other.
pub fn collapse(hops: Vec<Hop>) -> Vec<Hop> {
    let mut out: Vec<Hop> = Vec::with_capacity(hops.len());
    for hop in hops {
        match out.last_mut() {
            Some(last)
                if last.class == hop.class
                    && last.edge.kind == hop.edge.kind
                    && last.edge.name == hop.edge.name =>
            {
                last.run = last.run.saturating_add(hop.run);
            }
            _ => out.push(hop),
        }
    }
    out
}

/// How a chain holds its leaf, from its root and its weakest edge.
pub fn strength_of(root: RootKind, hops: &[Hop]) -> Strength {
    let edges = hops.iter().map(|hop| match hop.edge.kind {
        EdgeKind::Weak => Strength::Weak,
        EdgeKind::Soft => Strength::Soft,
        _ => Strength::Durable,
    });
    edges.fold(Strength::of_root(root), Strength::max)
}

/// What the edge `field` of an object of `holder` is: the referent of a reference object is soft
/// or weak, everything else a field.
pub fn field_edge_kind(holder: &str, field: &str) -> EdgeKind {
    if field != "referent" {
        return EdgeKind::Field;
    }
    let holder = simple_name(holder);
    if holder == "SoftReference" || holder.ends_with("SoftReference") {
        EdgeKind::Soft
    } else if holder.ends_with("WeakReference")
        || holder.ends_with("PhantomReference")
        || holder == "Cleaner"
        || holder == "WeakHashMap$Entry"
        || holder == "ThreadLocal$ThreadLocalMap$Entry"
    {
        EdgeKind::Weak
    } else {
        EdgeKind::Field
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Edge;

    fn hop(class: &str, name: &str, run: u64) -> Hop {
        Hop {
            class: class.to_owned(),
            edge: Edge {
                kind: field_edge_kind("", name),
                name: Some(name.to_owned()),
                index: None,
            },
            run,
            size: None,
        }
    }

    fn root() -> Root {
        Root {
            kind: RootKind::StaticField,
            text: String::new(),
            class: Some("com.acme.Cache".to_owned()),
            field: Some("MAP".to_owned()),
            thread: None,
        }
    }

    #[test]
    fn run_lengths_do_not_change_a_signature() {
        let short = signature_of(&root(), &[hop("a.Node", "next", 2)]);
        let long = signature_of(&root(), &[hop("a.Node", "next", 90_000)]);
        assert_eq!(short, long);
        assert_eq!(short.id.len(), 8);
        assert!(short.text.contains("com.acme.Cache.MAP"), "{}", short.text);
    }

    #[test]
    fn hidden_class_numbers_do_not_change_a_signature() {
        let one = signature_of(&root(), &[hop("a.B$$Lambda/0x000001", "f", 1)]);
        let two = signature_of(&root(), &[hop("a.B$$Lambda$77/0x0f00ab", "f", 1)]);
        assert_eq!(one, two);
    }

    #[test]
    fn equal_hops_in_a_row_become_a_run() {
        let hops = vec![
            hop("a.List", "head", 1),
            hop("a.Node", "next", 1),
            hop("a.Node", "next", 4),
            hop("a.Node", "item", 1),
        ];
        let collapsed = collapse(hops);
        let runs: Vec<_> = collapsed.iter().map(|h| h.run).collect();
        assert_eq!(runs, [1, 5, 1]);
    }

    #[test]
    fn the_weakest_link_decides_the_strength() {
        let mut soft = hop("a.V", "referent", 1);
        soft.edge.kind = field_edge_kind("java.lang.ref.SoftReference", "referent");
        let hops = [hop("java.lang.ref.SoftReference", "cell", 1), soft];
        assert_eq!(strength_of(RootKind::StaticField, &hops), Strength::Soft);
        assert_eq!(strength_of(RootKind::StackLocal, &hops), Strength::Soft);
        assert_eq!(
            strength_of(RootKind::StackLocal, &hops[..1]),
            Strength::Transient
        );
        assert_eq!(
            field_edge_kind("a.MyFinalizer", "referent"),
            EdgeKind::Field
        );
    }
}
