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
use scenario::{PATH, scenario, states};
use std::path::Path;
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
