//! A committed chain: its event, its hops, and the path that both forms share.

use std::collections::BTreeMap;
use std::sync::Arc;

use chain_core::chain::{
    Chain, EdgeKind, Hop as CoreHop, Root as CoreRoot, RootKind as CoreRootKind,
};
use chain_core::record::ChainCommitted;
use chain_core::signature;
use chain_core::{Bytes as CoreBytes, Tick};
use jfr_format::entity::{ClassInfo, StackInfo, ThreadInfo};
use jfr_format::path::{ChainPath, Edge, Link, Root, RootKind, binary_class};
use jfr_format::schema::events::{Hop, ReferenceChain};
use jfr_format::schema::{EpochMillis, Name};

use super::{Lookup, Mapper, bytes, growth, int, long, share_of, thousandths};
use crate::names::Names;

/// A chain with everything that its events need.
#[derive(Debug)]
pub struct CommittedChain {
    /// The chain's own event.
    pub event: ReferenceChain,
    /// One event a hop, for recordings that take no linked constants.
    pub hops: Vec<Hop>,
    /// The path, for the linked form.
    pub path: ChainPath,
    /// The allocating thread.
    pub thread: Option<Arc<ThreadInfo>>,
    /// The allocation stack.
    pub stack: Option<Arc<StackInfo>>,
    /// The sampled object that stack and thread are of: when it was allocated, and its size.
    pub sampled: Option<(Tick, CoreBytes)>,
    /// Heap in use after the last collection.
    pub heap_used: Option<CoreBytes>,
}

/// Numbers of chains: the same chain keeps its number.
#[derive(Debug, Default)]
pub(super) struct Numbers(BTreeMap<(u32, u32), i64>);

/// Most chains that keep a number of their own; later ones begin anew.
const MAX_NUMBERS: usize = 4_096;

impl Numbers {
    fn of(&mut self, candidate: u32, signature: u32) -> i64 {
        if self.0.len() >= MAX_NUMBERS {
            self.0.clear();
        }
        let next = long(self.0.len() as u64) + 1;
        *self.0.entry((candidate, signature)).or_insert(next)
    }
}

impl Mapper<'_> {
    pub(super) fn committed_chain(
        &mut self,
        c: &ChainCommitted,
        lookup: &impl Lookup,
    ) -> CommittedChain {
        let found = &c.found;
        let path = chain_path(&found.chain, self.names);
        let number = self.chains.of(found.candidate.0, found.signature.0);
        let origin = lookup.origin(found.candidate);
        let thread = origin.and_then(|origin| self.thread(origin.thread));
        let stack = origin.and_then(|origin| self.trace(origin.trace));
        let hops = &found.chain.hops;
        let container = signature::container_depth(&found.chain)
            .checked_sub(1)
            .filter(|_| !hops.is_empty());
        let event = ReferenceChain {
            chain: number,
            search: c.search.0.into(),
            signature: found.signature.to_string().into(),
            identity: c.identity.to_string().into(),
            root_kind: Name::of(path.root.kind.name()),
            root_description: path.root.description.clone().into(),
            candidate_class: self.class(found.candidate),
            candidate_name: self.class_name(found.candidate).into(),
            merged: self.class_names(c.merged.as_slice()).into(),
            leaf_class: c.display_leaf.as_deref().unwrap_or_default().into(),
            allocating_thread: thread.clone(),
            thread_name: origin
                .map_or_else(String::new, |o| {
                    self.names.threads.name(o.thread).as_ref().to_owned()
                })
                .into(),
            allocation_stack_trace: stack.clone(),
            strength: Name::of(c.strength.name()),
            depth: int(hops.len() as u64),
            total_hops: hops.iter().map(|hop| i64::from(hop.run.max(1))).sum(),
            container_hop: container.map(|index| int(index as u64)),
            age: origin.map(|origin| int(lookup.epoch().since(origin.oldest))),
            instances: long(found.instances),
            share: share_of(found.instances, found.reached),
            coverage: c.coverage.map(thousandths),
            retained_sampled_bytes: bytes(c.retained),
            growth_per_hour: c.growth_per_hour.map(growth),
            confirmed: self
                .candidates
                .get(&found.candidate)
                .copied()
                .unwrap_or(false),
            provisional: c.provisional,
            repeated: c.repeated,
            first_seen: EpochMillis(lookup.epoch_millis(c.first_seen)),
            path: path.to_text(),
        };
        let hops = hop_events(number, &found.chain, &path);
        CommittedChain {
            event,
            hops,
            path,
            thread,
            stack,
            sampled: origin.map(|origin| (origin.at, origin.size)),
            heap_used: lookup.used_after_gc(),
        }
    }
}

fn hop_events(chain: i64, observed: &Chain, path: &ChainPath) -> Vec<Hop> {
    let pairs = observed.hops.iter().zip(&path.links).enumerate();
    pairs
        .map(|(index, (hop, link))| {
            let (array_index, array_size) = match &link.edge {
                Edge::Array { index, length } => (*index, *length),
                _ => (None, None),
            };
            Hop {
                chain,
                index: int(index as u64),
                class: Some(Arc::clone(&link.class)),
                class_name: hop.class.as_ref().into(),
                edge_kind: Name::of(hop.edge.kind.name()),
                edge_name: hop.edge.name.as_deref().map(Name::from),
                array_index,
                array_size,
                size: hop.size.map(|size| int(size.into())),
                run: int(hop.run.max(1).into()),
                fan_out: (hop.fan_out > 0).then(|| int(hop.fan_out.into())),
            }
        })
        .collect()
}

/// A chain as recordings carry it.
#[must_use]
pub fn chain_path(chain: &Chain, names: &Names) -> ChainPath {
    let root = Root {
        kind: root_kind(chain.root.kind),
        description: root_description(&chain.root),
    };
    let links = chain.hops.iter().map(|hop| link(hop, &chain.root, names));
    ChainPath::of(root, links)
}

fn link(hop: &CoreHop, root: &CoreRoot, names: &Names) -> Link {
    let name = || hop.edge.name.as_deref().unwrap_or("?").to_owned();
    let edge = match hop.edge.kind {
        EdgeKind::Field => Edge::Field { name: name() },
        EdgeKind::Array => Edge::Array {
            index: hop.edge.index.and_then(|index| i32::try_from(index).ok()),
            length: None,
        },
        EdgeKind::Static => Edge::Static { name: name() },
        // The root's own reference to the first object: a static field's name, or the root itself.
        EdgeKind::Root => match (root.kind, &root.field) {
            (CoreRootKind::StaticField, Some(field)) => Edge::Static {
                name: field.as_ref().to_owned(),
            },
            _ => Edge::Other {
                name: "root".to_owned(),
            },
        },
        other => match &hop.edge.name {
            Some(name) => Edge::Other {
                name: format!("{} {name}", other.name()),
            },
            None => Edge::Other {
                name: other.name().to_owned(),
            },
        },
    };
    let known = hop.class_id.and_then(|id| names.classes.info(id));
    let class = known.unwrap_or_else(|| Arc::new(ClassInfo::named(binary_class(&hop.class))));
    Link {
        edge,
        class,
        size: hop.size.map(|size| int(size.into())),
        fan_out: Some(hop.fan_out).filter(|fan_out| *fan_out > 1),
        run: hop.run.max(1),
    }
}

fn root_kind(kind: CoreRootKind) -> RootKind {
    match kind {
        CoreRootKind::StaticField => RootKind::StaticField,
        CoreRootKind::Thread => RootKind::Thread,
        CoreRootKind::ThreadLocal => RootKind::ThreadLocal,
        CoreRootKind::ClassLoader => RootKind::ClassLoader,
        CoreRootKind::JniGlobal => RootKind::JniGlobal,
        CoreRootKind::JniLocal => RootKind::JniLocal,
        CoreRootKind::StackLocal => RootKind::StackLocal,
        CoreRootKind::Monitor => RootKind::Monitor,
        CoreRootKind::Finalizer => RootKind::Finalizer,
        CoreRootKind::System => RootKind::System,
        CoreRootKind::Unknown => RootKind::Unknown,
    }
}

/// `com.acme.OrderCache.BY_CUSTOMER`, `"worker-1"`, `"worker-1" in com.acme.Main.run:12, depth 3, slot 2`.
fn root_description(root: &CoreRoot) -> String {
    let mut member = match (&root.class, &root.field) {
        (Some(class), Some(field)) => format!("{class}.{field}"),
        (Some(one), None) | (None, Some(one)) => one.as_ref().to_owned(),
        (None, None) => String::new(),
    };
    if let Some(line) = root.frame.as_ref().and_then(|frame| frame.line) {
        member.push_str(&format!(":{line}"));
    }
    let mut text = match (&root.thread, member.is_empty()) {
        (Some(thread), true) => format!("\"{thread}\""),
        (Some(thread), false) => format!("\"{thread}\" in {member}"),
        (None, _) => member,
    };
    if let Some(frame) = &root.frame {
        text.push_str(&format!(", depth {}", frame.depth));
        if let Some(slot) = frame.slot {
            text.push_str(&format!(", slot {slot}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use chain_core::chain::{Edge as CoreEdge, Frame};

    use super::*;

    fn hop(kind: EdgeKind, name: Option<&str>, index: Option<u32>, class: &str) -> CoreHop {
        CoreHop {
            class: class.into(),
            edge: CoreEdge {
                kind,
                name: name.map(Into::into),
                index,
            },
            run: 1,
            ..CoreHop::default()
        }
    }

    #[test]
    fn a_static_field_chain_becomes_the_path_of_recordings() {
        let chain = Chain {
            root: CoreRoot {
                kind: CoreRootKind::StaticField,
                class: Some("a.OrderCache".into()),
                field: Some("BY_CUSTOMER".into()),
                ..CoreRoot::default()
            },
            hops: vec![
                CoreHop {
                    size: Some(120_331),
                    ..hop(EdgeKind::Root, None, None, "java.util.HashMap")
                },
                CoreHop {
                    size: Some(262_144),
                    ..hop(
                        EdgeKind::Field,
                        Some("table"),
                        None,
                        "java.util.HashMap$Node[]",
                    )
                },
                hop(EdgeKind::Array, None, Some(17), "java.util.HashMap$Node"),
                hop(EdgeKind::Field, Some("value"), None, "a.Order"),
            ],
            ..Chain::default()
        };
        let path = chain_path(&chain, &Names::default());
        assert_eq!(
            path.to_text(),
            "static-field a.OrderCache.BY_CUSTOMER -> ::BY_CUSTOMER java.util.HashMap #120331 \
             -> .table java.util.HashMap$Node[] -> [17/262144] java.util.HashMap$Node -> .value a.Order"
        );
        assert_eq!(
            ChainPath::parse(&path.to_text()).map(|p| p.links.len()),
            Some(4)
        );
        let events = hop_events(3, &chain, &path);
        assert_eq!(events[2].array_index, Some(17));
        assert_eq!(events[2].array_size, Some(262_144));
        let sizes: Vec<_> = events.iter().map(|hop| hop.size).collect();
        assert_eq!(sizes, [Some(120_331), Some(262_144), None, None]);
        let bare = |chain: &Chain| {
            let hops = chain.hops.iter();
            let hops = hops.map(|hop| CoreHop {
                size: None,
                ..hop.clone()
            });
            Chain {
                hops: hops.collect(),
                ..chain.clone()
            }
        };
        // Sizes grow from sighting to sighting: they are no part of what a leak is known by.
        assert_eq!(
            signature::signature(&chain),
            signature::signature(&bare(&chain))
        );
        assert_eq!(
            signature::identity(&chain),
            signature::identity(&bare(&chain))
        );
        assert_eq!(events[1].class_name, "java.util.HashMap$Node[]".into());
    }

    #[test]
    fn a_frames_root_says_thread_method_depth_and_slot() {
        let root = CoreRoot {
            kind: CoreRootKind::StackLocal,
            class: Some("a.Main".into()),
            field: Some("run".into()),
            thread: Some("worker-1".into()),
            frame: Some(Frame {
                depth: 3,
                slot: Some(2),
                line: Some(12),
            }),
            ..CoreRoot::default()
        };
        assert_eq!(
            root_description(&root),
            "\"worker-1\" in a.Main.run:12, depth 3, slot 2"
        );
        let thread = CoreRoot {
            thread: Some("main".into()),
            ..CoreRoot::default()
        };
        assert_eq!(root_description(&thread), "\"main\"");
    }

    #[test]
    fn a_chain_keeps_its_number() {
        let mut numbers = Numbers::default();
        assert_eq!(
            (numbers.of(1, 9), numbers.of(2, 9), numbers.of(1, 9)),
            (1, 2, 1)
        );
    }
}
