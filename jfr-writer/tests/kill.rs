//! `kill -9` at any instant of a real writing process leaves a file that reads, with everything that was
//! acknowledged. `JFR_CHAINS_LONG=1` takes 400 points instead of 40, and has other readers judge all of the files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "support/jmc.rs"]
mod jmc;
#[path = "support/killed.rs"]
mod killed;
#[path = "support/maven.rs"]
mod maven;
#[path = "support/strict.rs"]
mod strict;
#[path = "support/tools.rs"]
mod tools;

use jfr_chains_tests::scratch;
use killed::{kill_after, random};
use std::process::Command;
use tools::{judge_folder, judged, judges};

const INPUT: &str = "jfrchains.CoreInput";
const SAMPLE: &str = "jdk.OldObjectSample";

/// A killed process's file, and what a strict reading finds in it.
struct Killed {
    name: String,
    inputs: u64,
    samples: u64,
}

#[test]
fn a_killed_writer_leaves_everything_that_it_acknowledged() {
    let test = "a_killed_writer_leaves_everything_that_it_acknowledged";
    let long = std::env::var_os("JFR_CHAINS_LONG").is_some();
    let (points, judged_by_others) = if long { (400, 400) } else { (40, 20) };
    let dir = scratch("kill").unwrap();
    let folder = dir.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    let mut seeds = random();
    let mut expected = Vec::new();
    let mut several_chunks = 0;
    for point in 0..points {
        let seed = seeds.next().unwrap();
        // Waiting for the device takes most of a step's time: both ways put the kill elsewhere.
        let sync = if point % 4 == 0 { "sync" } else { "nosync" };
        let flushes = 1 + (seed >> 33) % if sync == "sync" { 60 } else { 700 };
        let file = dir.path().join("killed.jfr");
        let mut writer = Command::new(env!("CARGO_BIN_EXE_endless-writer"));
        writer.arg(&file).args([sync, &seed.to_string()]);
        let acknowledged = kill_after(writer, flushes);
        let bytes = std::fs::read(&file).unwrap();
        let chunks = strict::read(&bytes).unwrap_or_else(|error| {
            panic!("point {point} ({sync}, seed {seed}, {flushes} flushes): {error}")
        });
        let counts = strict::counts(&chunks);
        let count = |name: &str| counts.get(name).copied().unwrap_or(0);
        let inputs = count(INPUT);
        assert!(
            inputs >= acknowledged,
            "point {point}: {inputs} of {acknowledged} acknowledged events"
        );
        several_chunks += usize::from(chunks.len() > 1);
        if expected.len() < judged_by_others {
            let name = format!("{point:06}.jfr");
            std::fs::rename(&file, folder.join(&name)).unwrap();
            expected.push(Killed {
                name,
                inputs,
                samples: count(SAMPLE),
            });
        }
    }
    assert!(
        several_chunks > points / 4,
        "only {several_chunks} of {points} files had several chunks"
    );
    assert!(expected.iter().any(|killed| killed.samples > 0));
    for jdk in judges(test) {
        let verdicts = judge_folder(&jdk, &folder);
        assert_eq!(verdicts.len(), expected.len());
        for ((name, verdict), killed) in verdicts.iter().zip(&expected) {
            assert_eq!(name, &killed.name);
            assert_eq!(
                (judged(verdict, INPUT), judged(verdict, SAMPLE)),
                (killed.inputs, killed.samples),
                "{name} by JDK {}",
                jdk.release()
            );
        }
    }
    let Some(blocks) = jmc::judge(test, &folder, jmc::Detail::Counts) else {
        return;
    };
    assert_eq!(blocks.len(), expected.len());
    for (lines, killed) in blocks.iter().zip(&expected) {
        assert_eq!(
            (jmc::count(lines, INPUT), jmc::count(lines, SAMPLE)),
            (killed.inputs, killed.samples),
            "{} by JDK Mission Control: {lines:?}",
            killed.name
        );
    }
}
