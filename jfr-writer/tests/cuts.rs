//! The world stops after any step, or in the middle of a write: the file still reads, with everything that was
//! acknowledged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::cast_possible_truncation, reason = "files of a few MiB")]

#[path = "support/memory_disk.rs"]
mod memory_disk;
#[path = "support/strict.rs"]
mod strict;
mod support;
#[path = "support/tools.rs"]
mod tools;

use jfr_chains_tests::scratch;
use jfr_format::schema::events::CoreInput;
use jfr_writer::{Options, Recording};
use memory_disk::{MemoryDisk, State, Step};
use std::path::Path;
use support::{CLOCK, path, sample};
use tools::{judge_folder, judged, judges};

const PATH: &str = "/work/leak.jfr";

/// A write is whole or not at all within this many bytes.
const SECTOR: usize = 512;

/// Opens, flushes events of all sizes over several chunks, closes; every acknowledgement is among the steps.
fn scenario() -> Vec<Step> {
    let disk = MemoryDisk::default();
    let options = Options {
        chunk_size: 40 << 10,
        ..Options::default()
    };
    let mut recording = Recording::open_on(
        disk.clone(),
        Path::new(PATH),
        CLOCK,
        CLOCK.ticks,
        options,
        7,
    )
    .unwrap();
    disk.acknowledge(0);
    let mut sequence = 0;
    for round in 0..90_i64 {
        let now = CLOCK.ticks + round * 1_000_000;
        for _ in 0..=round % 3 {
            sequence += 1;
            let text = "x".repeat(usize::try_from(round * 37 % 700).unwrap());
            recording.emit(
                now,
                &CoreInput {
                    sequence,
                    text,
                    ..CoreInput::default()
                },
            );
        }
        if round % 5 == 0 {
            recording.emit_chain(now, &path(), &sample());
        }
        recording.flush(now + 1).unwrap();
        disk.acknowledge(u64::try_from(sequence).unwrap());
    }
    assert!(recording.close(CLOCK.ticks + 100_000_000).error.is_none());
    disk.acknowledge(u64::try_from(sequence).unwrap());
    disk.steps()
}

/// Every state that a stop can leave: between two steps, and inside a write at its sector boundaries.
fn states(steps: &[Step], mut visit: impl FnMut(&State, u64)) {
    let mut state = State::default();
    let mut acknowledged = None;
    for step in steps {
        if let (Step::Write(inode, at, bytes), Some(events)) = (step, acknowledged) {
            let mut cut = SECTOR - *at as usize % SECTOR;
            while cut < bytes.len() {
                let mut torn = state.clone();
                torn.apply(&Step::Write(*inode, *at, bytes[..cut].to_vec()));
                visit(&torn, events);
                // Long copies differ little from sector to sector.
                cut += if bytes.len() > 16 * SECTOR {
                    8 * SECTOR
                } else {
                    SECTOR
                };
            }
        }
        state.apply(step);
        if let Step::Acknowledged(events) = step {
            acknowledged = Some(*events);
        }
        if let Some(events) = acknowledged {
            visit(&state, events);
        }
    }
}

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
