//! What a chain of ten hops costs in the file, beside the text of its path: the shapes that occur, and what each part
//! takes.
//!
//! A hop is two flat constants in the JVM's layout, the only one that every reader takes: the object (key, address,
//! class, description, referrer) and the reference to it (key, array, field, holder, skip). That is ten bytes while keys
//! are below 128 and fifteen below 16,384. With the two events a chain of which no hop was met before takes about 200
//! bytes in the first case, and cannot in the second: its hops alone are 150.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(
    clippy::print_stdout,
    reason = "what each part takes, for whom asks a test"
)]

#[path = "support/memory_disk.rs"]
mod memory_disk;
mod support;

use jfr_format::path::{ChainPath, Edge, Link};
use jfr_format::schema::events::ReferenceChain;
use jfr_format::varint;
use jfr_writer::{ChainSample, Clock, Options, Recording};
use memory_disk::{MemoryDisk, Step};
use std::path::Path;
use support::{chain_event, class, path, sample};

/// Ticks as the agent's own file has them, ms.
const CLOCK: Clock = Clock {
    epoch_nanos: 1_700_000_000_000_000_000,
    ticks: 0,
    ticks_per_second: 1_000,
};

/// A day after the recording began.
const NOW: i64 = 86_400_000;

/// How a chain differs from those before it. Classes, names, thread and stack trace are those of the first one.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Position among the hops of the first one that was not met before.
    new_from: usize,
    /// Whether every array on the way has another slot and length than any before.
    slots: bool,
    /// Whether it is another leak: signature and identity are new texts.
    other_leak: bool,
}

/// Ten hops from the static field, two of them array slots: the order service's leak with three more fields on the way.
fn ten_hops(number: i64, shape: Shape) -> ChainPath {
    let number = i32::try_from(number).unwrap();
    let mut chain = path();
    let field = |name: &str, of: &str| Link {
        edge: Edge::Field { name: name.into() },
        class: class(of),
        run: 1,
        size: (name == "inner").then_some(120_331),
        fan_out: None,
    };
    let wrapper = "java.util.Collections$SynchronizedMap";
    chain.links.insert(1, field("m", wrapper));
    chain.links.insert(2, field("inner", "java.util.HashMap"));
    chain
        .links
        .insert(3, field("delegate", "java.util.HashMap"));
    assert_eq!(chain.links.len(), 10);
    if shape.slots {
        for (link, base) in chain.links.iter_mut().zip((0..).step_by(10_000)) {
            if let Edge::Array { index, length } = &mut link.edge {
                (*index, *length) = (Some(base + number), Some(262_144 + base + number));
            }
        }
    }
    // Another count of skipped hops makes the hop, and with it all that it holds, one that was not met before.
    chain.links[shape.new_from].run += u32::try_from(number).unwrap();
    chain
}

/// Where the bytes of a segment are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bytes {
    chain_event: usize,
    sample_event: usize,
    constants: usize,
}

impl Bytes {
    fn total(self) -> usize {
        self.chain_event + self.sample_event + self.constants
    }
}

struct Writer {
    disk: MemoryDisk,
    recording: Recording<MemoryDisk>,
    next: i64,
}

impl Writer {
    fn new() -> Self {
        let disk = MemoryDisk::default();
        let options = Options {
            chunk_ticks: None,
            ..Options::default()
        };
        let path = Path::new("/a.jfr");
        let recording = Recording::open_on(disk.clone(), path, CLOCK, NOW, options, 7).unwrap();
        Self {
            disk,
            recording,
            next: 0,
        }
    }

    /// What a flush of `chains` chains of a shape adds.
    fn flush(&mut self, chains: i64, shape: Shape) -> Bytes {
        let before = self.disk.steps().len();
        for _ in 0..chains {
            let (number, now) = (self.next, NOW + self.next);
            self.next += 1;
            let mut event = ReferenceChain {
                path: String::new(),
                total_hops: 12,
                depth: 10,
                ..chain_event(number)
            };
            if shape.other_leak {
                event.signature = format!("{number:08x}").into();
                event.identity = format!("{:08x}", number + (1 << 28)).into();
            }
            let sample = ChainSample {
                allocation_ticks: now - 600_000,
                ..sample()
            };
            self.recording.emit(now, &event);
            self.recording
                .emit_chain(now, &ten_hops(number, shape), &sample);
        }
        self.recording.flush(NOW + self.next).unwrap();
        let mut steps = self.disk.steps().into_iter().skip(before);
        let written = |step| match step {
            Step::Write(_, _, bytes) => Some(bytes),
            _ => None,
        };
        // The segment's first eight bytes come last; behind its rest stands the head of the next filler.
        let hidden = steps.by_ref().find_map(written).unwrap();
        let first = steps.filter_map(written).next_back().unwrap();
        let segment = [&first[..], &hidden[..hidden.len() - 8]].concat();
        let (mut at, mut bytes) = (0, Bytes::default());
        for event in 0.. {
            let Some((size, _)) = varint::get_u64(&segment[at..]) else {
                break;
            };
            let size = usize::try_from(size).unwrap();
            *match event {
                event if event >= 2 * chains => &mut bytes.constants,
                event if event % 2 == 0 => &mut bytes.chain_event,
                _ => &mut bytes.sample_event,
            } += size;
            at += size;
            if at == segment.len() {
                break;
            }
        }
        assert_eq!(bytes.total(), segment.len());
        bytes
    }
}

/// The most that one more chain of a shape adds to a flush, after so many others.
fn cost(before: i64, shape: Shape) -> Bytes {
    let mut writer = Writer::new();
    writer.flush(before, shape);
    let first = writer.flush(1, shape);
    let two = writer.flush(2, shape);
    Bytes {
        chain_event: two.chain_event - first.chain_event,
        sample_event: two.sample_event - first.sample_event,
        constants: two.constants - first.constants,
    }
}

/// The most that a chain of `shape` costs after any of so many others.
fn most(before: &[i64], shape: Shape) -> usize {
    let costs = before.iter().map(|before| {
        let bytes = cost(*before, shape);
        println!("{shape:?} after {before}: {} = {bytes:?}", bytes.total());
        bytes.total()
    });
    costs.max().unwrap()
}

/// The same leak through other slots of arrays of other lengths; hops before `new_from` are known.
const fn again(new_from: usize) -> Shape {
    Shape {
        new_from,
        slots: true,
        other_leak: false,
    }
}

#[test]
fn a_known_leak_through_other_slots_costs_at_most_200_bytes_after_up_to_2_000_chains() {
    assert!(most(&[1, 6, 100, 1_000, 2_000], again(5)) <= 200);
}

#[test]
fn a_chain_with_slots_and_no_hop_of_an_earlier_one_costs_at_most_210_bytes_while_keys_take_one() {
    assert!(most(&[1, 6], again(0)) <= 210);
}

#[test]
fn another_leak_costs_its_two_texts_more_and_longer_keys_five_bytes_a_hop() {
    let other = Shape {
        other_leak: true,
        ..again(0)
    };
    assert!(most(&[1, 6], other) <= 232);
    assert!(most(&[100, 1_000], again(0)) <= 264);
    assert!(most(&[100, 1_000], other) <= 290);
}
