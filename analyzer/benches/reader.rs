//! Reads one recording in one way and prints what it took: `reader WAY FILE`.
//!
//! Each measurement is a process of its own, so that no way warms memory for another.
//! `cargo xtask bench reader` runs the ways side by side, with the JDK's tools.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::alloc::System;
use std::io;
use std::path::Path;
use std::time::Instant;

use cap::Cap;
use cpu_time::ProcessTime;
use jfr_chains_analyzer::reader::{Raw, Recording, Struct, Value};
use jfr_chains_analyzer::summary::{Format, Summary, render};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

fn main() {
    let arguments: Vec<String> = std::env::args()
        .filter(|argument| argument != "--bench")
        .collect();
    let [_, way, file] = arguments.as_slice() else {
        // `cargo test --benches` starts every benchmark without arguments.
        eprintln!("usage: reader (decode|resolve|parallel|summary|jfrs) FILE");
        return;
    };
    let file = Path::new(file);
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let (events, values) = match way.as_str() {
        "decode" => decode(file, false),
        "resolve" => decode(file, true),
        "parallel" => parallel(file),
        "summary" => summary(file),
        "jfrs" => jfrs(file),
        other => panic!("{other} is no way to read"),
    };
    println!(
        "{{\"events\":{events},\"values\":{values},\"wall_s\":{:.3},\"cpu_s\":{:.3},\"private_bytes\":{}}}",
        wall.elapsed().as_secs_f64(),
        cpu.elapsed().as_secs_f64(),
        ALLOCATOR.max_allocated()
    );
}

/// Every field of every event on one core, and every constant once; `deep` follows every key.
fn decode(file: &Path, deep: bool) -> (u64, u64) {
    let recording = Recording::open(file).unwrap();
    let (mut events, mut values) = (0, 0);
    for chunk in recording.chunks() {
        for declared in chunk.types().iter() {
            for (key, _) in chunk.pool(declared.id()) {
                values += visit(chunk.constant(declared.id(), key), 0, false);
            }
        }
        for event in chunk.events() {
            events += 1;
            values += fields(&event, 0, deep);
        }
    }
    (events, values)
}

fn parallel(file: &Path) -> (u64, u64) {
    let recording = Recording::open(file).unwrap();
    let parts = recording.map_chunks(|chunk| {
        let values: u64 = chunk.events().map(|event| fields(&event, 0, false)).sum();
        (chunk.event_count(), values)
    });
    parts
        .iter()
        .fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
}

fn fields(of: &Struct<'_>, depth: u32, deep: bool) -> u64 {
    if deep {
        return of
            .fields()
            .map(|(_, value)| visit(value.unwrap(), depth, deep))
            .sum();
    }
    // As the peer does, keys are read and not followed.
    of.raw_fields()
        .map(|(_, value)| match value.unwrap() {
            Raw::Key(key) => 1 + key.key().unsigned_abs() / (u64::MAX / 2),
            Raw::Value(value) => visit(value, depth, deep),
        })
        .sum()
}

#[inline]
fn visit(value: Value<'_>, depth: u32, deep: bool) -> u64 {
    match value {
        Value::Struct(_) | Value::Array(_) | Value::Text(_) => visit_parts(value, depth, deep),
        value => 1 + value.as_i64().unwrap_or(0).unsigned_abs() / (u64::MAX / 2),
    }
}

fn visit_parts(value: Value<'_>, depth: u32, deep: bool) -> u64 {
    match value {
        _ if depth > 8 => 1,
        Value::Struct(inner) => fields(&inner, depth + 1, deep),
        Value::Array(array) => array
            .iter()
            .map(|element| visit(element, depth + 1, deep))
            .sum(),
        Value::Text(text) => 1 + text.to_str().len() as u64 / 1_000_000,
        _ => 1,
    }
}

fn summary(file: &Path) -> (u64, u64) {
    let mut summary = Summary::default();
    summary.add(&Recording::open(file).unwrap());
    render(&summary, Format::Text, &mut io::sink()).unwrap();
    (summary.total, 0)
}

/// The peer decodes constants and events into trees of values.
fn jfrs(file: &Path) -> (u64, u64) {
    let mut reader = jfrs::reader::JfrReader::new(std::fs::File::open(file).unwrap());
    let (mut events, mut values) = (0, 0);
    for chunk in reader.chunks() {
        let (mut chunk_reader, chunk) = chunk.unwrap();
        for event in chunk_reader.events(&chunk) {
            let event = event.unwrap();
            events += 1;
            values += u64::from(event.value().get_field("startTime").is_some());
        }
    }
    (events, values)
}
