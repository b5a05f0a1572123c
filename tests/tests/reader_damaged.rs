//! Damaged recordings: what is salvaged, what is said about the rest, and that the JDK opens what
//! `recover` makes of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod corpus;

use std::path::Path;
use std::time::Duration;

use corpus::corpus;
use cpu_time::ThreadTime;
use jfr_chains_analyzer::reader::Recording;
use jfr_chains_analyzer::recover::recover;
use jfr_chains_tests::{Child, Finished, Jdk, cli_binary, scratch, skip};

/// A hang shows long before this.
const LIMIT: Duration = Duration::from_secs(20);

/// File, exit code of `summary`, events salvaged, and what must be said about the rest.
const DAMAGED: &[(&str, i32, u64, &[&str])] = &[
    ("01_empty", 2, 0, &["the file is empty"]),
    (
        "02_header_only",
        2,
        0,
        &[
            "chunk 0, offset 68: the chunk is cut off: 68 of 346312 bytes are there",
            "no chunk says what its events are",
        ],
    ),
    (
        "03_trunc_half",
        0,
        746,
        &[
            "chunk 0, offset 173156: the chunk is cut off",
            "chunk 0, offset 171029: 2127 bytes",
        ],
    ),
    (
        "04_trunc_1byte",
        0,
        3_403,
        &[
            "chunk 0, offset 346216: 95 bytes",
            "346311 of 346312 bytes are there",
        ],
    ),
    (
        "05_open_chunk_size0",
        0,
        3_403,
        &["the chunk was never finished: its header says 0 bytes"],
    ),
    (
        "06_no_cp_no_metadata",
        0,
        3_403,
        &["the header knows no metadata event; the one at 9799 was used"],
    ),
    (
        "07_event_size0_first",
        0,
        3_403,
        &["chunk 0, offset 68: 8267 bytes: an event of size zero"],
    ),
    (
        "08_zero64_mid",
        0,
        3_402,
        &["chunk 0, offset 115451: 101 bytes: an event of size zero"],
    ),
    (
        "09_good_plus_truncated",
        0,
        747,
        &[
            "chunk 1, offset 278228: 2127 bytes",
            "chunk 1, offset 280355",
        ],
    ),
    (
        "10_truncated_plus_good",
        0,
        747,
        &[
            "chunk 0, offset 171029: 2127 bytes",
            "chunk 0, offset 173156",
        ],
    ),
    (
        "11_trailing_garbage",
        0,
        3_403,
        &["offset 346312: 100 bytes that are no chunk"],
    ),
    ("12_concat_two_producers", 0, 3_481, &[]),
    (
        "13_leading_garbage",
        0,
        3_403,
        &["offset 0: 5 bytes that are no chunk"],
    ),
    ("14_gzip_named_jfr", 0, 3_403, &[]),
    ("15_future_version", 2, 0, &["format version 9.9"]),
];

fn command(args: &[&str], file: &Path) -> Finished {
    let out = Child::new(cli_binary().unwrap())
        .args(args)
        .arg(file)
        .run(LIMIT)
        .unwrap();
    assert!(!out.timed_out, "{out}");
    out
}

#[test]
fn every_readable_event_is_salvaged_and_the_rest_is_named() {
    let Some(corpus) = corpus("every_readable_event_is_salvaged_and_the_rest_is_named") else {
        return;
    };
    for (name, code, events, said) in DAMAGED {
        let file = corpus.path(&format!("damaged/{name}.jfr"));
        let out = command(&["summary", "--format", "json"], &file);
        assert_eq!(out.code(), Some(*code), "{out}");
        if !out.stdout.is_empty() {
            let json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
            assert_eq!(json["schema"], "jfr-chains/summary/1");
            assert_eq!(json["total"], *events, "{name}: {out}");
            let lost = json["skipped"].as_array().unwrap();
            assert_eq!(lost.is_empty(), said.is_empty(), "{name}: {lost:?}");
        }
        let text = command(&["summary"], &file);
        for said in *said {
            let found = text.stdout.contains(said) || text.stderr.contains(said);
            assert!(found, "{name} does not say {said:?}: {text}");
        }
    }
}

#[test]
fn no_damage_costs_a_second_of_one_core() {
    let Some(corpus) = corpus("no_damage_costs_a_second_of_one_core") else {
        return;
    };
    // Time of this thread on a core: what other processes do does not count.
    let mut most = (Duration::ZERO, "");
    for (name, ..) in DAMAGED {
        let begun = ThreadTime::now();
        let file = corpus.path(&format!("damaged/{name}.jfr"));
        if let Ok(recording) = Recording::open(&file) {
            for chunk in recording.chunks() {
                let whole = chunk.events().filter(|event| event.verify().is_ok());
                assert!(whole.count() as u64 <= chunk.event_count());
                assert!(chunk.skipped().count() < 100);
            }
            recover(&recording, &mut std::io::sink()).unwrap();
        }
        most = most.max((begun.elapsed(), name));
    }
    eprintln!("at most {:?}, for {}", most.0, most.1);
    assert!(most.0 < Duration::from_secs(1), "{most:?}");
}

#[test]
fn the_old_format_is_refused_with_a_sentence() {
    let Some(corpus) = corpus("the_old_format_is_refused_with_a_sentence") else {
        return;
    };
    let file = corpus.path("jfr/elastic+apm-agent-java__recording.jfr");
    for name in ["summary", "events"] {
        let out = command(&[name], &file);
        assert_eq!(out.code(), Some(2), "{out}");
        assert!(out.stdout.is_empty(), "{out}");
        let why = "offset 0 has format version 0.9 (written by Oracle JDK 7 or 8, or an async-profiler before 2.0)";
        assert!(out.stderr.contains(why), "{out}");
    }
}

/// Every event with its time and values, as one line of JSON each.
fn events(file: &Path) -> Vec<serde_json::Value> {
    let out = command(&["events", "--format", "json", "--stack-depth", "4"], file);
    let mut json: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    let events = json["events"].as_array_mut().unwrap();
    for event in events.iter_mut() {
        event.as_object_mut().unwrap().remove("offset");
    }
    std::mem::take(events)
}

#[test]
fn recovered_events_have_the_times_and_values_that_they_had() {
    let test = "recovered_events_have_the_times_and_values_that_they_had";
    let Some(corpus) = corpus(test) else { return };
    let dir = scratch(test).unwrap();
    let read = |name: &str| std::fs::read(corpus.path(&format!("{name}.jfr"))).unwrap();
    let cut = read("damaged/10_truncated_plus_good");
    // In an order in which nobody recorded them, from three producers.
    let glued = [
        read("jfr/openjdk+jmc__char_attribute"),
        read("damaged/12_concat_two_producers"),
    ];
    for (name, bytes, least) in [("cut", cut, 700), ("glued", glued.concat(), 3_400)] {
        let file = dir.path().join(format!("{name}.jfr"));
        let whole = dir.path().join(format!("{name}-whole.jfr"));
        std::fs::write(&file, bytes).unwrap();
        let out = command(&["recover", "-o", whole.to_str().unwrap()], &file);
        assert_eq!(out.code(), Some(0), "{out}");
        let (before, after) = (events(&file), events(&whole));
        assert_eq!(before.len(), after.len());
        assert!(before.len() > least);
        let mut differ = 0;
        for (before, after) in before.iter().zip(&after) {
            if before != after {
                // What the JDK's printer cannot do without has a stand-in.
                assert!(
                    after.to_string().contains("<lost>"),
                    "{before} became {after}"
                );
                differ += 1;
            }
        }
        assert!(differ < 10, "{name}: {differ} differ");
    }
}

#[test]
fn recovered_files_open_in_every_jdk() {
    let test = "recovered_files_open_in_every_jdk";
    let Some(corpus) = corpus(test) else { return };
    let jdks: Vec<&Jdk> = Jdk::all()
        .iter()
        .filter(|jdk| jdk.tool("jfr").is_some())
        .collect();
    if jdks.is_empty() {
        return skip(test, "a JDK with the jfr tool");
    }
    let dir = scratch(test).unwrap();
    let mut opened = std::collections::BTreeSet::new();
    // Two files that crash the printer as they are, for their producers' own faults.
    let crashing = [
        "ocadaruma+jfrs__profiler-lock",
        "grafana+jfr-parser__FastSlow_2024_01_16_180855",
    ];
    let crashing = crashing.map(|name| (format!("jfr/{name}.jfr"), 0));
    let damaged = DAMAGED
        .iter()
        .map(|(name, code, ..)| (format!("damaged/{name}.jfr"), *code));
    for (name, code) in damaged.chain(crashing) {
        let whole = dir.path().join("whole.jfr");
        let _ = std::fs::remove_file(&whole);
        let out = command(
            &["recover", "-o", whole.to_str().unwrap()],
            &corpus.path(&name),
        );
        assert_eq!(out.code(), Some(code), "{out}");
        assert_eq!(whole.exists(), code == 0, "{out}");
        if code != 0 {
            continue;
        }
        let summary = command(&["summary", "--format", "json"], &whole);
        let summary: serde_json::Value = serde_json::from_str(&summary.stdout).unwrap();
        assert!(
            summary["skipped"].as_array().unwrap().is_empty(),
            "{name}: {summary:#}"
        );
        let total = summary["total"].as_u64().unwrap();
        assert!(total > 0, "{name}");
        // Several kinds of damage lose nothing: the same bytes need not be opened again.
        if !opened.insert(std::fs::read(&whole).unwrap()) {
            continue;
        }
        for jdk in &jdks {
            let tool = |command: &str| {
                let tool = jdk.tool("jfr").unwrap();
                Child::new(tool)
                    .arg(command)
                    .arg(&whole)
                    .run(Duration::from_secs(120))
                    .unwrap()
            };
            let out = tool("summary");
            assert!(out.ok(), "{name} on JDK {}: {out}", jdk.version());
            let out = tool("print");
            assert!(out.ok(), "{name} on JDK {}: {}", jdk.version(), out.stderr);
            let begins_event =
                |line: &&str| !line.starts_with([' ', '}', ']']) && line.ends_with(" {");
            let printed = out.stdout.lines().filter(begins_event).count();
            assert_eq!(printed as u64, total, "{name} on JDK {}", jdk.version());
        }
    }
}
