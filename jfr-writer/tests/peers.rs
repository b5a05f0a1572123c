//! Readers of other profilers take our files: async-profiler's converter and Grafana's parser.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "support/maven.rs"]
mod maven;
mod support;

use jfr_chains_tests::{Child, Jdk, scratch, skip, target_dir};
use jfr_format::schema;
use jfr_writer::{Options, Recording};
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::{CLOCK, emit_all};

const LIMIT: Duration = Duration::from_secs(300);

/// Every event type, twenty times each, over several chunks: a copy of the file while it was written, and the
/// closed file.
fn files(dir: &Path) -> Vec<PathBuf> {
    let (live, closed) = (dir.join("a-live.jfr"), dir.join("b-closed.jfr"));
    let options = Options {
        chunk_size: 64 << 10,
        ..Options::default()
    };
    let mut recording = Recording::open(&closed, CLOCK, CLOCK.ticks, options).unwrap();
    for time in 0..20 {
        emit_all(&mut recording, CLOCK.ticks + time * 10_000, 1);
        recording.flush(CLOCK.ticks + time * 10_000 + 100).unwrap();
    }
    std::fs::copy(&closed, &live).unwrap();
    recording.close(CLOCK.ticks + 10_000_000);
    vec![live, closed]
}

#[test]
fn async_profilers_converter_reads_every_event_with_thread_and_stack() {
    let test = "async_profilers_converter_reads_every_event_with_thread_and_stack";
    let Some(jdk) = Jdk::feature(17)
        .or_else(|| Jdk::feature(25))
        .filter(Jdk::has_compiler)
    else {
        return skip(test, "JDK 17 or 25");
    };
    let jar = "jfr-converter-4.1.jar";
    let Some(jars) = maven::jars(test, "async-profiler's converter", "async_profiler", jar) else {
        return;
    };
    let dir = scratch("converter").unwrap();
    let files = files(dir.path());
    let judge = "tests/java/async_profiler/ConverterJudge.java";
    let out = Child::java(&jdk)
        .arg("-cp")
        .arg(jars.join(jar))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(judge))
        .arg(dir.path())
        .run(LIMIT)
        .unwrap();
    assert!(out.ok() && !out.stdout.contains("ERROR"), "{out}");
    let blocks: Vec<&str> = out.stdout.split("FILE|").skip(1).collect();
    assert_eq!(blocks.len(), files.len(), "{out}");
    for block in blocks {
        for schema in schema::all() {
            let line = format!("TYPE|{}|20", schema.name);
            assert!(block.lines().any(|found| found == line), "{line}: {out}");
        }
        let sample = "SAMPLE|http-worker-1|com/acme/OrderService.handle";
        assert_eq!(
            block.lines().filter(|line| *line == sample).count(),
            20,
            "{out}"
        );
    }
}

#[test]
fn grafanas_parser_reads_every_chunk_and_its_stacks() {
    let test = "grafanas_parser_reads_every_chunk_and_its_stacks";
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go/grafana");
    let go = |arguments: &[&str]| {
        Child::new("go")
            .args(arguments)
            .current_dir(&source)
            .env("GOFLAGS", "-mod=readonly")
            .env("GOTOOLCHAIN", "local")
            .run(LIMIT)
    };
    if !go(&["version"]).is_ok_and(|out| out.ok()) {
        return skip(test, "go, which builds Grafana's parser");
    }
    if !go(&["mod", "download", "github.com/grafana/jfr-parser"]).is_ok_and(|out| out.ok()) {
        return skip(test, "Grafana's parser: its Go module cannot be had");
    }
    let judge = target_dir().join("grafana-judge");
    let built = go(&["build", "-o", judge.to_str().unwrap(), "."]).unwrap();
    assert!(built.ok(), "{built}");
    let dir = scratch("grafana").unwrap();
    let files = files(dir.path());
    let out = Child::new(judge).args(&files).run(LIMIT).unwrap();
    assert!(out.ok() && !out.stdout.contains("ERROR"), "{out}");
    let read: Vec<&str> = out
        .stdout
        .lines()
        .filter(|line| line.starts_with("READ "))
        .collect();
    assert_eq!(read.len(), files.len(), "{out}");
    // Its own event types are not among ours; classes, threads and stacks are.
    assert!(read.iter().all(|line| line.ends_with(" 1 1")), "{out}");
    for schema in schema::all() {
        let fields: Vec<&str> = schema.fields.iter().map(|field| field.name).collect();
        // The fields that all events have come first.
        let (start, end) = (
            format!("TYPE {} startTime,", schema.name),
            format!(",{}", fields.join(",")),
        );
        let declared = |line: &&str| line.starts_with(&start) && line.ends_with(&end);
        let found = out.stdout.lines().filter(declared).count();
        assert_eq!(found, files.len(), "{start}..{end}: {out}");
    }
    let frame = "FRAME com/acme/OrderService.handle";
    let frames = out.stdout.lines().filter(|line| *line == frame).count();
    assert_eq!(frames, files.len(), "{out}");
}
