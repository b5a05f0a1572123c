//! JDK Mission Control's core loader takes our files: labels, categories, units, chains, and files that were cut.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "support/maven.rs"]
mod maven;
#[path = "support/memory_disk.rs"]
mod memory_disk;
#[path = "support/scenario.rs"]
mod scenario;
mod support;

use jfr_chains_tests::{Child, Jdk, content_type, scratch, skip};
use jfr_format::header::Header;
use jfr_format::schema;
use jfr_writer::{Clock, Options, Recording};
use std::path::Path;
use std::time::Duration;
use support::{CLOCK, emit_all};

/// What the loader says of every file of `folder`.
fn judge(test: &str, folder: &Path) -> Option<Vec<Vec<String>>> {
    let Some(jdk) = Jdk::feature(17)
        .or_else(|| Jdk::feature(25))
        .filter(Jdk::has_compiler)
    else {
        skip(test, "JDK 17 or 25");
        return None;
    };
    let reader = "JDK Mission Control's core loader";
    let jars = maven::jars(test, reader, "jmc", "flightrecorder-9.0.0.jar")?;
    let verdicts = folder.with_extension("jmc");
    let out = Child::java(&jdk)
        .arg("-cp")
        .arg(format!("{}/*", jars.display()))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/jmc/JmcJudge.java"))
        .arg(folder)
        .arg(&verdicts)
        .run(Duration::from_secs(300))
        .unwrap();
    assert!(out.ok(), "{out}");
    for warning in out
        .stderr
        .lines()
        .filter(|line| line.starts_with("WARNING") || line.starts_with("SEVERE"))
    {
        // Fillers are of a type that is no event; the loader skips them and says so. It also knows less of
        // a thread than JDK 21 and later write.
        let known = warning.ends_with("was not declared")
            || warning.contains("'virtual' in reader for 'thread'");
        assert!(known, "{out}");
    }
    let text = std::fs::read_to_string(&verdicts).unwrap();
    let lines = |block: &str| block.lines().skip(1).map(str::to_owned).collect();
    Some(text.split("FILE|").skip(1).map(lines).collect())
}

fn count(lines: &[String], name: &str) -> u64 {
    let found = lines
        .iter()
        .find_map(|line| line.strip_prefix(&format!("TYPE|{name}|")));
    found.map_or(0, |rest| rest.rsplit('|').next().unwrap().parse().unwrap())
}

#[test]
fn events_appear_with_labels_categories_and_units_and_chains_with_their_hops() {
    let test = "events_appear_with_labels_categories_and_units_and_chains_with_their_hops";
    let dir = scratch("jmc").unwrap();
    let folder = dir.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    let mut recording = Recording::open(
        &folder.join("a.jfr"),
        CLOCK,
        CLOCK.ticks,
        Options::default(),
    )
    .unwrap();
    emit_all(&mut recording, CLOCK.ticks + 1_000, 1);
    recording.close(CLOCK.ticks + 1_000_000);
    let Some(files) = judge(test, &folder) else {
        return;
    };
    let lines = &files[0];
    let has = |line: &str| assert!(lines.iter().any(|l| l == line), "no {line} in {lines:#?}");
    for schema in schema::all() {
        has(&format!(
            "TYPE|{}|{}|Java Virtual Machine/Reference Chains|1",
            schema.name, schema.label
        ));
        for field in schema.fields {
            let unit = content_type(field.kind);
            has(&format!(
                "FIELD|{}|{}|{}|{unit}",
                schema.name, field.name, field.label
            ));
        }
    }
    has("VALUE|jfrchains.ReferenceChain|retainedSampledBytes|50\u{a0}MiB");
    let hops: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("HOP|"))
        .collect();
    assert_eq!(
        hops,
        [
            "com.acme.Order|[3]|0",
            "java.lang.Object[]|elementData|0",
            "java.util.ArrayList|value|0",
            "java.util.HashMap$Node|next|2",
            "java.util.HashMap$Node|[17]|0",
            "java.util.HashMap$Node[]|table|0",
            "java.util.HashMap|BY_CUSTOMER|0",
            "java.lang.Class|root|0",
        ]
    );
}

#[test]
fn ticks_of_a_millisecond_are_shown_as_those_of_a_nanosecond() {
    let dir = scratch("jmc_ticks").unwrap();
    let folder = dir.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    for ticks_per_second in [1_000_000_000, 1_000] {
        support::write_at(
            &folder.join(format!("{ticks_per_second}.jfr")),
            ticks_per_second,
        );
    }
    let test = "ticks_of_a_millisecond_are_shown_as_those_of_a_nanosecond";
    let Some(files) = judge(test, &folder) else {
        return;
    };
    assert_eq!(files[0], files[1]);
    let start = "VALUE|jdk.OldObjectSample|startTime|";
    assert!(
        files[0].iter().any(|line| line.starts_with(start)),
        "{:#?}",
        files[0]
    );
}

#[test]
fn live_cut_rotated_and_appended_files_are_read_in_full() {
    let test = "live_cut_rotated_and_appended_files_are_read_in_full";
    let Some(jdk) = Jdk::feature(25).or_else(|| Jdk::feature(17)) else {
        return skip(test, "JDK 17 or 25");
    };
    let dir = scratch("jmc_live").unwrap();
    let folder = dir.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    // Copies of a file that is written on, so that fillers and several chunks are in it.
    let live = dir.path().join("live.jfr");
    let options = Options {
        chunk_size: 64 << 10,
        ..Options::default()
    };
    let mut recording = Recording::open(&live, CLOCK, CLOCK.ticks, options).unwrap();
    let mut expected = Vec::new();
    for time in 0..60 {
        emit_all(&mut recording, CLOCK.ticks + 1_000 + time * 10_000_000, 1);
        recording
            .flush(CLOCK.ticks + 2_000 + time * 10_000_000)
            .unwrap();
        if time % 15 == 14 {
            std::fs::copy(&live, folder.join(format!("live{time:02}.jfr"))).unwrap();
            expected.push(u64::try_from(time).unwrap() + 1);
        }
    }
    assert!(recording.counters().chunks > 1);
    recording.close(CLOCK.ticks + 1_000_000_000);

    let jvm = dir.path().join("jvm.jfr");
    let run = Child::java(&jdk)
        .arg(format!(
            "-XX:StartFlightRecording=filename={},settings=profile",
            jvm.display()
        ))
        .arg("--version")
        .run(Duration::from_secs(120))
        .unwrap();
    assert!(run.ok(), "{run}");
    let mut both = std::fs::read(&jvm).unwrap();
    let header = Header::parse(&both).unwrap();
    let clock = Clock::of_header(&header);
    let start = clock.ticks_at(header.start_nanos + header.duration_nanos);
    let own = dir.path().join("own.jfr");
    let mut recording = Recording::open(&own, clock, start, Options::default()).unwrap();
    emit_all(&mut recording, start + 1_000, 3);
    recording.close(start + 1_000_000);
    both.extend(std::fs::read(&own).unwrap());
    std::fs::write(folder.join("z.jfr"), both).unwrap();
    expected.push(3);

    let Some(files) = judge(test, &folder) else {
        return;
    };
    assert_eq!(files.len(), expected.len());
    for (lines, expected) in files.iter().zip(expected) {
        assert_eq!(
            count(lines, "jfrchains.ReferenceChain"),
            expected,
            "{lines:#?}"
        );
        assert_eq!(count(lines, "jdk.OldObjectSample"), expected);
        // A constant that is missing shows as null here: every chunk has its own.
        let class = "VALUE|jfrchains.ReferenceChain|candidateName|com.acme.Order";
        assert_eq!(
            lines.iter().filter(|line| *line == class).count() as u64,
            expected
        );
        let hops = lines
            .iter()
            .filter(|line| line.starts_with("HOP|com.acme.Order|[3]|0"))
            .count();
        assert_eq!(hops as u64, expected);
    }
    assert!(
        files
            .last()
            .unwrap()
            .iter()
            .any(|line| line.starts_with("TYPE|jdk.JVMInformation|"))
    );
}

#[test]
fn cut_files_are_read_with_all_that_was_acknowledged() {
    let dir = scratch("jmc_cuts").unwrap();
    let folder = dir.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    let steps = scenario::scenario();
    let (mut at, mut acknowledged) = (0, Vec::new());
    scenario::states(&steps, |state, events| {
        // A prime number: no kind of step is left out.
        if at % 13 == 0 {
            let bytes = state.at(Path::new(scenario::PATH)).unwrap();
            std::fs::write(folder.join(format!("{at:06}.jfr")), bytes).unwrap();
            acknowledged.push(events);
        }
        at += 1;
    });
    let Some(files) = judge("cut_files_are_read_with_all_that_was_acknowledged", &folder) else {
        return;
    };
    assert_eq!(files.len(), acknowledged.len());
    for (lines, events) in files.iter().zip(acknowledged) {
        assert!(
            !lines.iter().any(|line| line.starts_with("ERROR")),
            "{lines:#?}"
        );
        assert!(
            count(lines, "jfrchains.CoreInput") >= events,
            "{events} in {lines:#?}"
        );
    }
}
