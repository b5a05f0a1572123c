//! Our own reader takes the file of a killed writer, and finds nothing to complain of. `JFR_CHAINS_LONG=1` kills 300
//! instead of 15.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[allow(dead_code, reason = "its main is that of the writer's own program")]
#[path = "../../jfr-writer/tests/bin/endless_writer.rs"]
mod endless_writer;
#[path = "../../jfr-writer/tests/support/killed.rs"]
mod killed;

use jfr_chains_analyzer::reader::Recording;
use jfr_chains_tests::scratch;
use killed::{kill_after, random};
use std::path::Path;
use std::process::Command;

/// File and seed of the writer, in the process that the test starts to be one.
const FILE: &str = "JFR_CHAINS_TEST_WRITES";
const SEED: &str = "JFR_CHAINS_TEST_SEED";

#[test]
fn the_file_of_a_killed_writer_is_read_with_all_that_was_acknowledged() {
    let test = "the_file_of_a_killed_writer_is_read_with_all_that_was_acknowledged";
    if let Some(file) = std::env::var_os(FILE) {
        let seed = std::env::var(SEED).unwrap().parse().unwrap();
        endless_writer::write(Path::new(&file), false, seed).unwrap();
    }
    let long = std::env::var_os("JFR_CHAINS_LONG").is_some();
    let dir = scratch("writer_kill").unwrap();
    let file = dir.path().join("killed.jfr");
    let mut several_chunks = 0;
    let points = if long { 300 } else { 15 };
    for seed in random().take(points) {
        let mut writer = Command::new(std::env::current_exe().unwrap());
        writer
            .args(["--exact", test, "--nocapture"])
            .env(FILE, &file)
            .env(SEED, seed.to_string());
        let acknowledged = kill_after(writer, 1 + (seed >> 33) % 500);
        let recording = Recording::open(&file).unwrap();
        assert!(
            recording.skipped().is_empty(),
            "seed {seed}: {:?}",
            recording.skipped()
        );
        let mut sequences = Vec::new();
        for chunk in recording.chunks() {
            let complaints: Vec<_> = chunk.skipped().collect();
            assert!(complaints.is_empty(), "seed {seed}: {complaints:?}");
            let inputs = chunk
                .events()
                .filter(|event| event.name() == "jfrchains.CoreInput");
            sequences.extend(inputs.map(|event| event.i64("sequence").unwrap()));
        }
        let whole: Vec<i64> = (1..=i64::try_from(sequences.len()).unwrap()).collect();
        assert_eq!(sequences, whole, "seed {seed}");
        assert!(
            sequences.len() as u64 >= acknowledged,
            "seed {seed}: {} of {acknowledged}",
            sequences.len()
        );
        several_chunks += usize::from(recording.chunks().count() > 1);
    }
    assert!(several_chunks > points / 4, "{several_chunks} of {points}");
}
