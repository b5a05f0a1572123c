//! Cut and flipped recordings: always a result, never a panic, memory bounded.
//!
//! By default a sample of the positions is tried; `JFR_CHAINS_LONG=1` tries them all, and 100,000
//! flips. Each test says how many it tried.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod chunks;

use std::alloc::System;
use std::io;

use cap::Cap;
use chunks::*;
use jfr_chains_analyzer::reader::{Recording, Struct, Value};
use jfr_chains_analyzer::recover::recover;
use jfr_chains_analyzer::summary::{Format, Summary, render};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Memory that no input of a mebibyte may make the reader take.
const MEMORY: usize = 192 << 20;

fn long() -> bool {
    std::env::var_os("JFR_CHAINS_LONG").is_some_and(|value| value == "1")
}

const FRAME: i64 = 40;
const TRACE: i64 = 41;
const METHOD: i64 = 42;
const SYMBOL: i64 = 43;
const CLASS: i64 = 44;
const EVENT: i64 = 200;

/// A recording of two chunks with stacks, strings, arrays and several checkpoints.
fn recording(len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in 0..2 {
        let mut spec = ChunkSpec::new()
            .simple(SYMBOL, "jdk.types.Symbol", field("string", STRING))
            .class(
                CLASS,
                "java.lang.Class",
                &[pooled("name", SYMBOL), field("modifiers", INT)],
            )
            .class(
                METHOD,
                "jdk.types.Method",
                &[
                    pooled("type", CLASS),
                    pooled("name", SYMBOL),
                    pooled("descriptor", SYMBOL),
                ],
            )
            .class(
                FRAME,
                "jdk.types.StackFrame",
                &[pooled("method", METHOD), field("lineNumber", INT)],
            )
            .class(
                TRACE,
                "jdk.types.StackTrace",
                &[field("truncated", BOOLEAN), array("frames", FRAME)],
            )
            .event_type(
                EVENT,
                "test.Sample",
                &[
                    field("text", STRING),
                    pooled("stackTrace", TRACE),
                    field("weight", DOUBLE),
                ],
            )
            .event_type(
                EVENT + 1,
                "test.Numbers",
                &[array("numbers", LONG), pooled("kind", CLASS)],
            )
            .metadata();
        let mut number = 0;
        while spec.at() < len / 2 {
            number += 1;
            let value = Bytes::new().text("a text").long(number % 5).raw(&[0; 8]);
            spec = spec.event(EVENT, number, value);
            let value = Bytes::new()
                .long(3)
                .long(1)
                .long(-1)
                .long(number)
                .long(number % 3);
            spec = spec.event(EVENT + 1, number, value);
            if number % 40 == 1 {
                spec = checkpoint(spec, number % 5);
            }
        }
        bytes.extend(spec.build_with(|header| header.start_nanos += chunk));
    }
    bytes
}

fn checkpoint(spec: ChunkSpec, key: i64) -> ChunkSpec {
    let frames = (0..4).fold(Bytes::new().raw(&[0]).long(4), |frames, line| {
        frames.long(key).int(line)
    });
    spec.checkpoint(&[
        (
            SYMBOL,
            &[
                (key, Bytes::new().text("java/util/HashMap")),
                (99, Bytes::new().text("(I)V")),
            ],
        ),
        (CLASS, &[(key, Bytes::new().long(key).int(1))]),
        (METHOD, &[(key, Bytes::new().long(key).long(key).long(99))]),
        (TRACE, &[(key, frames)]),
    ])
}

/// Reads everything in every way; returns how many events there were.
fn exercise(bytes: &[u8]) -> u64 {
    let Ok(recording) = Recording::from_bytes("cut.jfr", bytes.to_vec()) else {
        return 0;
    };
    let mut values = 0;
    for chunk in recording.chunks() {
        for event in chunk.events() {
            event.start();
            values += visit(&event, 0);
            let _ = event.verify();
        }
        assert_eq!(chunk.events().count() as u64, chunk.event_count());
        let all = chunk.events_of(|_| true).count();
        assert_eq!(all as u64, chunk.event_count());
        assert!(
            chunk
                .skipped()
                .all(|lost| lost.offset <= bytes.len() as u64)
        );
    }
    assert!(values < 100 * bytes.len() as u64 + 1_000);
    let mut summary = Summary::default();
    summary.add(&recording);
    render(&summary, Format::Json, &mut io::sink()).unwrap();
    let mut whole = Vec::new();
    let recovered = recover(&recording, &mut whole).unwrap();
    if recovered.chunks > 0 {
        let again = Recording::from_bytes("whole.jfr", whole).unwrap();
        let events: u64 = again.chunks().map(|chunk| chunk.event_count()).sum();
        assert_eq!(events, recovered.events);
        assert!(
            again
                .chunks()
                .all(|chunk| chunk.constant_count() > 0 || chunk.event_count() < 1 << 20)
        );
    }
    summary.total
}

/// Events of the end of a chunk that [`exercise_end`] reads: where a cut can have done something.
const LAST: u64 = 16;

/// As [`exercise`], but of the events only the last few of each chunk have their fields read, and
/// nothing is recovered: a cut leaves the bytes before it as they were. Returns how many events
/// there were.
fn exercise_end(bytes: &[u8]) -> u64 {
    let Ok(recording) = Recording::from_bytes("cut.jfr", bytes.to_vec()) else {
        return 0;
    };
    let mut total = 0;
    for chunk in recording.chunks() {
        total += chunk.event_count();
        let early = usize::try_from(chunk.event_count().saturating_sub(LAST)).unwrap();
        let mut last = 0;
        for event in chunk.events().skip(early) {
            last += 1;
            event.start();
            visit(&event, 0);
            let _ = event.verify();
            assert!(event.file_offset() + event.size() as u64 <= bytes.len() as u64);
        }
        assert_eq!(last, chunk.event_count().min(LAST));
        assert!(
            chunk
                .skipped()
                .all(|lost| lost.offset <= bytes.len() as u64)
        );
    }
    total
}

fn visit(of: &Struct<'_>, depth: u32) -> u64 {
    of.fields()
        .map(|(_, value)| match value {
            Ok(Value::Struct(inner)) if depth < 4 => visit(&inner, depth + 1),
            Ok(Value::Array(array)) => array
                .iter()
                .map(|element| {
                    element.as_struct().map_or(1, |inner| {
                        if depth < 4 {
                            visit(&inner, depth + 1)
                        } else {
                            1
                        }
                    })
                })
                .sum(),
            Ok(Value::Text(text)) => text.to_str().len() as u64,
            _ => 1,
        })
        .sum()
}

fn bounded(what: &str, tried: usize) {
    let most = ALLOCATOR.max_allocated();
    eprintln!(
        "{what}: {tried} tried, at most {} KiB of memory",
        most >> 10
    );
    assert!(most < MEMORY, "{most} bytes were taken");
}

#[test]
fn every_truncation_point_of_64_kib_gives_a_result() {
    let bytes = recording(64 << 10);
    let whole = exercise(&bytes);
    assert!(whole > 1_000);
    let step = if long() { 1 } else { 509 };
    let mut tried = 0;
    for cut in (0..bytes.len()).step_by(step) {
        assert!(exercise(&bytes[..cut]) <= whole);
        tried += 1;
    }
    bounded("truncation points", tried);
}

#[test]
fn every_event_boundary_of_a_mebibyte_gives_a_result() {
    let bytes = recording(1 << 20);
    let recording = open_bytes(bytes.clone());
    let mut boundaries = vec![0];
    for chunk in recording.chunks() {
        boundaries.push(usize::try_from(chunk.offset()).unwrap());
        for event in chunk.events() {
            boundaries.push(usize::try_from(event.file_offset()).unwrap() + event.size());
        }
    }
    // One chunk's last event ends where the next chunk starts.
    boundaries.sort_unstable();
    boundaries.dedup();
    let whole = exercise(&bytes);
    // At some of the boundaries everything is done.
    let (step, full) = if long() { (1, 127) } else { (1_999, 5) };
    let mut tried = 0;
    let mut before = 0;
    for (number, boundary) in boundaries.iter().step_by(step).enumerate() {
        for cut in [boundary.saturating_sub(1), *boundary, boundary + 1] {
            let cut = &bytes[..cut.min(bytes.len())];
            let events = exercise_end(cut);
            // A longer file has no fewer events.
            assert!((before..=whole).contains(&events), "{} bytes", cut.len());
            before = events;
            if number % full == 0 {
                assert_eq!(exercise(cut), events);
            }
            tried += 1;
        }
    }
    bounded("event boundaries", tried);
}

#[test]
fn random_flips_give_a_result() {
    let bytes = recording(16 << 10);
    let rounds = if long() { 100_000 } else { 300 };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..rounds {
        let mut flipped = bytes.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(flipped.len());
            flipped[at] = match random.below(4) {
                0 => 0,
                1 => 0xff,
                2 => flipped[at] ^ (1 << random.below(8)),
                _ => u8::try_from(random.below(256)).unwrap(),
            };
        }
        exercise(&flipped);
    }
    bounded("random flips", rounds);
}

#[test]
fn random_bytes_behind_a_header_give_a_result() {
    let header = recording(1 << 10)[..68].to_vec();
    let rounds = if long() { 20_000 } else { 200 };
    let mut random = Random(0x0123_4567_89ab_cdef);
    for _ in 0..rounds {
        let mut bytes = header.clone();
        // Small bytes look most like ids, counts and sizes.
        let most = [3, 16, 256][random.below(3)];
        bytes.extend((0..random.below(4_096)).map(|_| u8::try_from(random.below(most)).unwrap()));
        exercise(&bytes);
    }
    bounded("random bytes", rounds);
}

/// A xorshift generator: the same bytes in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

#[test]
fn a_method_whose_class_is_another_method_with_a_structure_in_it_is_recovered() {
    // What stands in for the lost class asked for itself for ever, since a structure cannot be encoded.
    const PART: i64 = 45;
    let bytes = ChunkSpec::new()
        .class(PART, "test.Part", &[field("number", INT)])
        .class(
            METHOD,
            "jdk.types.Method",
            &[pooled("type", METHOD), field("part", PART)],
        )
        .event_type(EVENT, "test.Sample", &[pooled("method", METHOD)])
        .metadata()
        .checkpoint(&[(METHOD, &[(1, Bytes::new().long(7).int(3))])])
        .event(EVENT, 1, Bytes::new().long(1))
        .build();
    assert_eq!(exercise(&bytes), 1);
}

#[test]
fn recovered_chunks_keep_their_times_in_whatever_order_they_stand() {
    let chunk = |start: i64, ticks: i64| {
        ChunkSpec::new()
            .event_type(EVENT, "test.Sample", &[field("number", INT)])
            .metadata()
            .event(EVENT, ticks, Bytes::new().int(1))
            .build_with(|header| header.start_nanos = start)
    };
    let day = 86_400_000_000_000;
    let glued = [
        chunk(START_NANOS + day, 7),
        chunk(START_NANOS, 8),
        chunk(START_NANOS + 2 * day, 9),
        chunk(START_NANOS + day, 10),
        chunk(START_NANOS + day, 11),
    ];
    let times = |recording: &Recording| {
        let mut times = Vec::new();
        recording.visit(|event| times.push(event.start()));
        times
    };
    let glued = open_bytes(glued.concat());
    let mut bytes = Vec::new();
    recover(&glued, &mut bytes).unwrap();
    let recovered = open_bytes(bytes);
    assert_eq!(times(&recovered), times(&glued));
    let starts = recovered.chunks().map(|chunk| chunk.header().start_nanos);
    let starts: std::collections::BTreeSet<i64> = starts.collect();
    assert_eq!(starts.len(), 5);
}

#[test]
fn chunks_without_a_clock_are_recovered_into_some_that_have_one() {
    for (start, frequency) in [(0, 0), (-5, 1_000), (START_NANOS, -1), (i64::MIN, i64::MIN)] {
        let chunk = ChunkSpec::new()
            .event_type(EVENT, "test.Sample", &[field("number", INT)])
            .metadata()
            .event(EVENT, 3, Bytes::new().int(1))
            .build_with(|header| {
                header.start_nanos = start;
                header.ticks_per_second = frequency;
            });
        let damaged = open_bytes([chunk.clone(), chunk].concat());
        assert_eq!(damaged.skipped().len(), 2);
        let mut bytes = Vec::new();
        assert_eq!(recover(&damaged, &mut bytes).unwrap().events, 2);
        assert_eq!(open_bytes(bytes).skipped(), []);
    }
}

#[test]
fn damaged_places_cost_the_same_however_many_there_are() {
    // Each time over all that came before, this would take half an hour.
    const PLACES: usize = 100_000;
    let whole = encode_event(1, &Bytes::new().long(1_000).raw(&[0; 4]).0);
    let mut chunk = ChunkSpec::new()
        .event_type(EVENT, "test.Sample", &[field("number", INT)])
        .metadata();
    for _ in 0..PLACES {
        chunk = chunk.raw(&whole).raw(&whole).raw(&[0]);
    }
    let recording = open_bytes(chunk.event(EVENT, 3, Bytes::new().int(1)).build());
    let chunk = recording.chunk(0).unwrap();
    assert_eq!(chunk.skipped().count(), PLACES);
    // The last event is behind them all.
    let event = chunk.events().last().unwrap();
    let found = chunk.event_at(event.file_offset()).unwrap();
    assert_eq!(found.i64("number"), Some(1));
}
