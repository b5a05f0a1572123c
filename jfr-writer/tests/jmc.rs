//! JDK Mission Control's core loader takes our files: labels, categories, units, chains, and files that were cut.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "support/jmc.rs"]
mod jmc;
#[path = "support/maven.rs"]
mod maven;
#[path = "support/memory_disk.rs"]
mod memory_disk;
#[path = "support/scenario.rs"]
mod scenario;
mod support;
#[path = "support/tools.rs"]
mod tools;

use jfr_chains_tests::{content_type, scratch};
use jfr_format::schema;
use jfr_writer::{Options, Recording};
use jmc::{Detail, count, judge};
use std::path::Path;
use support::{CLOCK, behind_a_jvms, emit_all};
use tools::judges;

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
    let Some(files) = judge(test, &folder, Detail::Values) else {
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
    let Some(files) = judge(test, &folder, Detail::Values) else {
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

    for jdk in judges(test) {
        let (_, both) = behind_a_jvms(&jdk, dir.path(), 3);
        std::fs::write(folder.join(format!("z{}.jfr", jdk.release())), both).unwrap();
        expected.push(3);
    }

    let Some(files) = judge(test, &folder, Detail::Values) else {
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
fn files_of_two_processes_behind_each_other_keep_their_own_constants() {
    let test = "files_of_two_processes_behind_each_other_keep_their_own_constants";
    let dir = scratch("jmc_two").unwrap();
    let folder = dir.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    support::write_two_processes(&folder.join("both.jfr"));
    let Some(files) = judge(test, &folder, Detail::Values) else {
        return;
    };
    let after = |head: &str| {
        let found = files[0].iter().filter_map(|line| line.strip_prefix(head));
        found.map(str::to_owned).collect::<Vec<_>>()
    };
    let names = after("VALUE|jfrchains.ReferenceChain|candidateName|");
    assert_eq!(names, support::TWO_LEAKS);
    let hops = after("HOP|");
    let leaves: Vec<_> = hops
        .iter()
        .filter_map(|hop| hop.strip_suffix("|[3]|0"))
        .collect();
    assert_eq!(leaves, support::TWO_LEAKS);
}

#[test]
fn cut_files_are_read_with_all_that_was_acknowledged() {
    let test = "cut_files_are_read_with_all_that_was_acknowledged";
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
    let Some(files) = judge(test, &folder, Detail::Counts) else {
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
