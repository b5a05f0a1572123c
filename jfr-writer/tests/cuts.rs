//! The world stops after any step, or in the middle of a write: the file still reads, with everything that was
//! acknowledged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::cast_possible_truncation, reason = "files of a few MiB")]

#[path = "support/memory_disk.rs"]
mod memory_disk;
#[path = "support/scenario.rs"]
mod scenario;
#[path = "support/strict.rs"]
mod strict;
mod support;
#[path = "support/tools.rs"]
mod tools;

use jfr_chains_tests::scratch;
use jfr_format::schema::events::CoreInput;
use jfr_writer::{Options, Recording};
use memory_disk::{MemoryDisk, Step};
use scenario::{PATH, scenario, states};
use std::path::Path;
use support::{CLOCK, sample};
use tools::{judge_folder, judged, judges};

fn check(bytes: &[u8], acknowledged: u64) -> Result<u64, String> {
    let chunks = strict::read(bytes)?;
    let mut last = 0;
    for chunk in &chunks {
        for (name, fields) in &chunk.events {
            if name != "jfrchains.CoreInput" {
                continue;
            }
            let strict::Val::Long(sequence) = chunk.get(fields, "sequence") else {
                return Err("no sequence".into());
            };
            if *sequence != last + 1 {
                return Err(format!("{sequence} follows {last}"));
            }
            last = *sequence;
        }
    }
    let last = u64::try_from(last).unwrap();
    if last < acknowledged {
        Err(format!("{last} of {acknowledged} acknowledged events"))
    } else {
        Ok(last)
    }
}

#[test]
fn every_cut_of_every_write_reads_with_all_that_was_acknowledged() {
    let mut cuts = 0;
    states(&scenario(), |state, acknowledged| {
        cuts += 1;
        let bytes = state.at(Path::new(PATH)).expect("the file is gone");
        if let Err(error) = check(bytes, acknowledged) {
            panic!("cut {cuts}: {error}");
        }
    });
    assert!(cuts > 500, "{cuts} cuts only");
}

/// Flushes of which one, or two in a row, fail at some step: every step, and what was acknowledged.
fn failing(first: u64, second: Option<u64>, delete: bool) -> Vec<Step> {
    let disk = MemoryDisk::default();
    let options = Options {
        chunk_size: 64 << 10,
        ..Options::default()
    };
    let path = Path::new(PATH);
    let ticks = CLOCK.ticks;
    let mut recording = Recording::open_on(disk.clone(), path, CLOCK, ticks, options, 7).unwrap();
    let emit = |recording: &mut Recording<MemoryDisk>, sequence: i64| {
        // Each segment is longer than the one before: its checkpoint lies elsewhere.
        let text = "x".repeat(usize::try_from(sequence * 211).unwrap());
        let input = CoreInput {
            sequence,
            text,
            ..CoreInput::default()
        };
        assert!(recording.emit(ticks + sequence, &input));
        let sample = sample();
        assert!(recording.emit_chain(ticks + sequence, &support::path(), &sample));
    };
    emit(&mut recording, 1);
    recording.flush(ticks + 1).unwrap();
    disk.acknowledge(1);
    emit(&mut recording, 2);
    let mut sequence = 2;
    for operations in [Some(first), second].into_iter().flatten() {
        disk.set_fails_after(operations);
        if recording.flush(ticks + sequence).is_ok() {
            assert!(disk.take_failure(), "a failure was hidden");
            disk.acknowledge(u64::try_from(sequence).unwrap());
        }
        sequence += 1;
        emit(&mut recording, sequence);
    }
    if delete {
        disk.delete(path);
    }
    recording.flush(ticks + sequence).unwrap();
    disk.acknowledge(u64::try_from(sequence).unwrap());
    assert!(recording.close(ticks + 100).error.is_none());
    disk.acknowledge(u64::try_from(sequence).unwrap());
    disk.steps()
}

#[test]
fn a_file_reads_at_every_step_after_a_flush_that_failed_at_any() {
    let mut cuts = 0;
    let pairs = (2..8)
        .step_by(2)
        .flat_map(|first| (0..10).step_by(4).map(move |then| (first, Some(then))));
    for (first, second) in (0..10).map(|first| (first, None)).chain(pairs) {
        states(&failing(first, second, false), |state, acknowledged| {
            cuts += 1;
            let bytes = state.at(Path::new(PATH)).expect("the file is gone");
            if let Err(error) = check(bytes, acknowledged) {
                panic!("failures at {first} and {second:?}, cut {cuts}: {error}");
            }
        });
    }
    assert!(cuts > 500, "{cuts} cuts only");
}

#[test]
fn a_file_deleted_after_a_flush_that_failed_at_any_step_is_written_anew_whole() {
    for first in 0..8 {
        let mut last = None;
        states(&failing(first, None, true), |state, acknowledged| {
            if let Some(bytes) = state.at(Path::new(PATH)) {
                let events = check(bytes, 0).unwrap_or_else(|error| panic!("{first}: {error}"));
                last = Some((events, acknowledged));
            }
        });
        assert_eq!(last, Some((3, 3)), "failure at {first}");
    }
}

#[test]
fn the_jdks_read_and_print_cut_files() {
    let steps = scenario();
    let mut total = 0;
    states(&steps, |_, _| total += 1);
    let wanted: usize = if std::env::var_os("JFR_CHAINS_LONG").is_some() {
        600
    } else {
        60
    };
    let every = (total / wanted).max(1);
    let dir = scratch("cuts").unwrap();
    let folder = dir.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    let (mut at, mut expected) = (0, Vec::new());
    states(&steps, |state, acknowledged| {
        if at % every == 0 {
            let bytes = state.at(Path::new(PATH)).unwrap();
            let name = format!("{at:06}.jfr");
            std::fs::write(folder.join(&name), bytes).unwrap();
            expected.push((name, check(bytes, acknowledged).unwrap()));
        }
        at += 1;
    });
    for jdk in judges("the_jdks_read_and_print_cut_files") {
        let verdicts = judge_folder(&jdk, &folder);
        assert_eq!(verdicts.len(), expected.len());
        for ((name, verdict), (file, events)) in verdicts.iter().zip(&expected) {
            assert_eq!(name, file);
            assert_eq!(
                judged(verdict, "jfrchains.CoreInput"),
                *events,
                "{name} by JDK {}",
                jdk.release()
            );
        }
    }
}
