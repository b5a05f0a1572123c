//! `jfr-chains gc` as scripts see it: exit codes, formats, compressed and several files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod gc_shared;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use gc_shared::shared;
use jfr_chains_analyzer::cli::{Exit, run};
use serde_json::Value;

fn gc(args: &[&str], files: &[&Path], out: &Path) -> Exit {
    let mut line: Vec<OsString> = ["jfr-chains", "gc"].iter().map(OsString::from).collect();
    line.extend(args.iter().map(OsString::from));
    line.push("-o".into());
    line.push(out.into());
    line.extend(files.iter().map(OsString::from));
    run(line)
}

#[test]
fn exit_codes_are_those_of_the_command_line_page() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let tmp = tempfile::tempdir().unwrap();
    let out = tmp.path().join("out");
    let (critical, warn, clean) = (
        dir.join("doc-jdk7-parnew.log"),
        dir.join("u17-serial-threshold1.log"),
        dir.join("u25-parallel-threshold-decrement.log"),
    );
    assert_eq!(gc(&[], &[&critical], &out), Exit::Clean);
    assert_eq!(
        gc(&["--fail-on", "critical"], &[&critical], &out),
        Exit::Finding
    );
    assert_eq!(gc(&["--fail-on", "critical"], &[&warn], &out), Exit::Clean);
    assert_eq!(gc(&["--fail-on", "warn"], &[&warn], &out), Exit::Finding);
    assert_eq!(gc(&["--fail-on", "warn"], &[&clean], &out), Exit::Clean);
    assert_eq!(gc(&[], &[&tmp.path().join("none.log")], &out), Exit::Usage);
    let text = tmp.path().join("app.log");
    std::fs::write(&text, "INFO nothing to see\n").unwrap();
    assert_eq!(gc(&[], &[&text], &out), Exit::Usage);
    // A log without a collection must not pass a check.
    let empty = tmp.path().join("empty.log");
    std::fs::write(&empty, "[0.010s][info][gc] Using G1\n").unwrap();
    assert_eq!(
        gc(&["--fail-on", "critical"], &[&empty], &out),
        Exit::NothingAnalysed
    );
}

#[test]
fn every_format_tells_of_the_finding() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let tmp = tempfile::tempdir().unwrap();
    let log = dir.join("doc-jdk7-parnew.log");
    for format in ["text", "markdown", "json", "html"] {
        let out = tmp.path().join(format);
        assert_eq!(gc(&["--format", format], &[&log], &out), Exit::Clean);
        let written = std::fs::read_to_string(&out).unwrap();
        assert!(written.contains("PROMO-01"), "{format}");
        assert!(written.contains("-XX:SurvivorRatio=3"), "{format}");
    }
    let html = std::fs::read_to_string(tmp.path().join("html")).unwrap();
    assert_eq!(html.matches("<figure>").count(), 5, "five plots");
    for outside in ["http://", "https://", "<script", "<link", "url("] {
        assert!(!html.contains(outside), "the page loads {outside}");
    }
    let json: Value =
        serde_json::from_slice(&std::fs::read(tmp.path().join("json")).unwrap()).unwrap();
    assert_eq!(json["findings"][0]["severity"], "critical");
}

#[test]
fn compressed_logs_open_as_they_are() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let tmp = tempfile::tempdir().unwrap();
    let gz = tmp.path().join("gc.log.gz");
    let log = std::fs::read(dir.join("u17-serial-threshold1.log")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(
        std::fs::File::create(&gz).unwrap(),
        flate2::Compression::default(),
    );
    encoder.write_all(&log).unwrap();
    encoder.finish().unwrap();
    let out = tmp.path().join("out");
    assert_eq!(gc(&["--format", "json"], &[&gz], &out), Exit::Clean);
    let v: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    assert_eq!(v["collections"].as_array().unwrap().len(), 3);
}

#[test]
fn rolled_files_given_out_of_order_are_one_jvm() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let tmp = tempfile::tempdir().unwrap();
    let log = std::fs::read_to_string(dir.join("u17-serial-threshold1.log")).unwrap();
    let at = log.find("[2026-11-30T06:32:19.060").unwrap();
    let (old, new) = (tmp.path().join("gc.log.0"), tmp.path().join("gc.log"));
    std::fs::write(&old, &log[..at]).unwrap();
    std::fs::write(&new, &log[at..]).unwrap();
    let out = tmp.path().join("out");
    assert_eq!(gc(&["--format", "json"], &[&new, &old], &out), Exit::Clean);
    let v: Value = serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap();
    assert_eq!(v["jvms"].as_array().unwrap().len(), 1);
    assert_eq!(v["collections"][1]["cause"], "threshold");
}

#[test]
fn names_in_a_log_cannot_break_out_of_the_page() {
    let tmp = tempfile::tempdir().unwrap();
    let log = tmp.path().join("<img src=x onerror=alert(1)>.log");
    std::fs::write(
        &log,
        "[0.010s][info][gc] Using Serial\n\
         [1.000s][info][gc] GC(0) Pause Young (</title><script>alert(1)</script>) 52M->1M(249M) 2.000ms\n",
    )
    .unwrap();
    let out = tmp.path().join("out");
    assert_eq!(gc(&["--format", "html"], &[&log], &out), Exit::Clean);
    let html = std::fs::read_to_string(&out).unwrap();
    assert!(!html.contains("<img") && !html.contains("<script"));
}
