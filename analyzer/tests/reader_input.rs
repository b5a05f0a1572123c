//! Files and pipes of any length: the same result, in little memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod chunks;

use std::alloc::System;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use cap::Cap;
use chunks::*;
use jfr_chains_analyzer::reader::Recording;
use jfr_chains_analyzer::summary::Summary;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const EVENT: i64 = 200;
/// Chunks of the long file, and about as many bytes in each.
const CHUNKS: usize = 48;
const CHUNK: usize = 1 << 20;
/// Memory that the reading of it may take: four of its 48 chunks.
const BUDGET: usize = 4 * CHUNK;

/// One chunk of about `len` bytes.
fn chunk(len: usize) -> Vec<u8> {
    let fields = [field("text", STRING), field("number", LONG)];
    let mut spec = ChunkSpec::new()
        .event_type(EVENT, "test.Sample", &fields)
        .metadata();
    let text = "a text of a hundred characters or so, ".repeat(3);
    let mut number = 0;
    while spec.at() < len {
        number += 1;
        spec = spec.event(EVENT, number, Bytes::new().text(&text).long(number));
    }
    spec.build()
}

#[test]
fn memory_does_not_grow_with_the_length_of_a_file() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let bytes = chunk(CHUNK);
    for _ in 0..CHUNKS {
        file.write_all(&bytes).unwrap();
    }
    drop(bytes);
    let before = ALLOCATOR.allocated();
    let recording = Recording::open(file.path()).unwrap();
    let mut events = 0;
    let lost = recording.visit(|event| {
        events += u64::from(event.fields().all(|(_, value)| value.is_ok()));
    });
    assert_eq!(lost, []);
    let mut summary = Summary::default();
    assert!(summary.add(&recording));
    assert_eq!(summary.total, events);
    assert!(events > 5_000 * CHUNKS as u64);
    let most = ALLOCATOR.max_allocated();
    // What was made before is part of the highest mark: one chunk.
    assert!(
        most < before + 2 * CHUNK + BUDGET,
        "{most} bytes were taken"
    );
}

/// What `jfr-chains summary` says about `bytes` at `path`, or on its standard input.
fn summary(path: &Path, piped: Option<&[u8]>) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_jfr-chains"))
        .args(["summary", "--format", "csv"])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(piped.unwrap_or_default())
        .unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success(), "{out:?}");
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn a_pipe_reads_as_the_file_does_compressed_or_not() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let bytes = [chunk(1 << 16), chunk(1 << 15)].concat();
    file.write_all(&bytes).unwrap();
    let expected = summary(file.path(), None);
    assert!(expected.contains("test.Sample,"), "{expected}");
    let pipe = Path::new("-");
    assert_eq!(summary(pipe, Some(&bytes)), expected);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    assert_eq!(summary(pipe, Some(&gzip.finish().unwrap())), expected);
}
