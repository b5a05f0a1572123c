//! What a chain costs in the file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "support/memory_disk.rs"]
mod memory_disk;
mod support;

use jfr_format::path::{ChainPath, Edge, Link};
use jfr_format::schema::events::ReferenceChain;
use jfr_writer::{Options, Recording};
use memory_disk::{MemoryDisk, Step};
use std::path::Path;
use support::{CLOCK, chain_event, class, path, sample};

/// Ten hops: the order service's leak with three more fields on the way. Chains of different numbers share classes
/// and names, and no hop behind the root's class.
fn ten_hops(number: i64) -> ChainPath {
    let mut chain = path();
    chain.links[0].run = u32::try_from(number).unwrap() + 1;
    let field = |name: &str, of: &str| Link {
        edge: Edge::Field { name: name.into() },
        class: class(of),
        run: 1,
        size: (name == "inner").then_some(120_331),
    };
    chain
        .links
        .insert(1, field("m", "java.util.Collections$SynchronizedMap"));
    chain.links.insert(2, field("inner", "java.util.HashMap"));
    chain
        .links
        .insert(3, field("delegate", "java.util.HashMap"));
    assert_eq!(chain.links.len(), 10);
    chain
}

fn event(chain: i64) -> ReferenceChain {
    ReferenceChain {
        path: String::new(),
        total_hops: 12,
        depth: 10,
        ..chain_event(chain)
    }
}

/// Bytes that flushes of `chains` chains add to a file, heads of fillers and header fields left out.
fn flushed(
    recording: &mut Recording<MemoryDisk>,
    disk: &MemoryDisk,
    chains: std::ops::Range<i64>,
) -> u64 {
    let before = disk.steps().len();
    for chain in chains {
        let now = CLOCK.ticks + 1_000_000_000 + chain * 1_000;
        recording.emit(now, &event(chain));
        recording.emit_chain(now, &ten_hops(chain), &sample());
    }
    recording.flush(CLOCK.ticks + 2_000_000_000).unwrap();
    let hidden = disk
        .steps()
        .into_iter()
        .skip(before)
        .find_map(|step| match step {
            Step::Write(_, _, bytes) => Some(bytes.len() as u64),
            _ => None,
        });
    // The segment's first eight bytes come later, the head of the next filler is eight bytes long.
    hidden.unwrap()
}

#[test]
fn a_ten_hop_chain_of_known_classes_costs_at_most_200_bytes_beside_its_text() {
    let disk = MemoryDisk::default();
    let mut recording = Recording::open_on(
        disk.clone(),
        Path::new("/a.jfr"),
        CLOCK,
        CLOCK.ticks,
        Options::default(),
        7,
    )
    .unwrap();
    // The first one brings the classes, names, thread and stack trace.
    flushed(&mut recording, &disk, 0..1);
    let one = flushed(&mut recording, &disk, 1..2);
    let two = flushed(&mut recording, &disk, 2..4);
    println!(
        "one chain in a flush of its own: {one} bytes, each further one: {} bytes",
        two - one
    );
    assert!(two - one <= 200, "{}", two - one);
}
