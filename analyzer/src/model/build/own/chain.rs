//! Chains: one from its event and its hops.

use std::collections::BTreeMap;

use jfr_format::schema::events as own;

use super::super::source::{self, bytes, count, java_name};
use super::{Sightings, class, name, per_hour, share, thread_name};
use crate::model::{Chain, Edge, EdgeKind, EpochNanos, Hop, Producer, RootKind, Strength};

/// The chain of `event`; without its hops it is read from the text of its path.
pub fn own_chain(
    event: own::ReferenceChain,
    hops: BTreeMap<i32, own::Hop>,
    sightings: Sightings,
) -> Chain {
    let kind = RootKind::parse(&event.root_kind).unwrap_or(RootKind::Unknown);
    let mut root = super::super::root_words::parse(kind, &event.root_description);
    // Recordings of earlier versions tell an array's length with what it holds.
    let holds: Vec<_> = hops.values().skip(1).map(|hop| hop.array_size).collect();
    let mut out: Vec<Hop> = hops.into_values().map(own_hop).collect();
    for (hop, held) in out.iter_mut().zip(holds) {
        hop.size = hop.size.or(held.map(count));
    }
    if out.is_empty() {
        out = super::super::path_text::parse(&event.path);
    }
    if root.field.is_none()
        && kind == RootKind::StaticField
        && let Some(first) = out.first()
    {
        root.field = first.edge.name.clone();
    }
    let container = event
        .container_hop
        .and_then(|hop| usize::try_from(hop).ok());
    let mut chain = Chain::of_path(Producer::JfrChains, root, out, container);
    if is_short_id(&event.signature) {
        chain.id = event.signature.to_ascii_lowercase();
    }
    if let Some(leaf) = name(Some(&event.leaf_class)) {
        chain.leaf = java_name(&leaf).into_owned();
    }
    chain.strength = match Strength::parse(&event.strength) {
        Strength::Unknown => chain.strength,
        told => told,
    };
    chain.identity = name(Some(&event.identity));
    chain.instances = Some(count(event.instances)).filter(|instances| *instances > 0);
    chain.share = share(event.share);
    chain.coverage = share(event.coverage);
    chain.retained_sampled_bytes = Some(bytes(event.retained_sampled_bytes));
    chain.growth_bytes_per_hour = event.growth_per_hour.map(per_hour);
    chain.allocating_thread = thread_name(&event.thread_name, event.allocating_thread.as_deref());
    chain.stack = source::own_frames(event.allocation_stack_trace.as_deref());
    chain.first_seen = millis(event.first_seen).or(Some(sightings.first));
    chain.last_seen = Some(sightings.last);
    chain.age_epochs = event.age.map(count);
    chain.confirmed = Some(event.confirmed);
    chain.provisional = event.provisional;
    chain.candidate_class = class(&event.candidate_name, event.candidate_class.as_deref());
    chain.also_held = event
        .merged
        .split(',')
        .map(|class| java_name(class.trim()).into_owned())
        .filter(|class| !class.is_empty() && *class != chain.leaf)
        .collect();
    chain.sightings = sightings.count;
    chain
}

fn own_hop(hop: own::Hop) -> Hop {
    Hop {
        class: class(&hop.class_name, hop.class.as_deref()).unwrap_or_default(),
        edge: Edge {
            kind: EdgeKind::parse(&hop.edge_kind),
            name: name(hop.edge_name.as_ref()),
            index: hop.array_index.map(count),
        },
        run: count(hop.run).max(1),
        size: hop.size.map(count),
    }
}

fn is_short_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn millis(at: jfr_format::schema::EpochMillis) -> Option<EpochNanos> {
    (at.0 > 0).then(|| EpochNanos::new(at.0.saturating_mul(1_000_000)))
}

#[cfg(test)]
mod tests {
    use super::super::super::source::Fields;
    use super::*;
    use crate::reader::Recording;
    use jfr_format::schema::Event as _;

    /// Every chain of `recording` with its hop events and without.
    fn both_ways(recording: &std::path::Path) -> Vec<(Chain, Chain)> {
        let recording = Recording::open(recording).unwrap();
        let (mut chains, mut hops) = (Vec::new(), BTreeMap::<i64, BTreeMap<i32, own::Hop>>::new());
        for chunk in recording.chunks() {
            for event in chunk.events() {
                match event.name() {
                    "jfrchains.ReferenceChain" => {
                        chains.push(own::ReferenceChain::decode(&Fields(&event)));
                    }
                    "jfrchains.Hop" => {
                        let hop = own::Hop::decode(&Fields(&event));
                        hops.entry(hop.chain).or_default().insert(hop.index, hop);
                    }
                    _ => {}
                }
            }
        }
        let seen = Sightings {
            count: 1,
            first: EpochNanos::new(0),
            last: EpochNanos::new(0),
        };
        let with = chains.into_iter().filter_map(|chain| {
            let hops = hops.get(&chain.chain)?.clone();
            let by_text = own_chain(chain.clone(), BTreeMap::new(), seen);
            Some((own_chain(chain, hops, seen), by_text))
        });
        with.collect()
    }

    #[test]
    fn the_text_alone_tells_what_the_hop_events_tell() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/recordings");
        let mut compared = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "jfr") {
                for (by_hops, by_text) in both_ways(&path) {
                    assert_eq!(by_text, by_hops, "{}", path.display());
                    compared += 1;
                }
            }
        }
        assert!(compared > 10, "{compared} chains only");
    }
}
