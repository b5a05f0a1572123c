//! Our own reader takes every state that a stop of the writer can leave, and finds nothing to complain of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "../../jfr-writer/tests/support/memory_disk.rs"]
mod memory_disk;
#[path = "../../jfr-writer/tests/support/scenario.rs"]
mod scenario;
#[path = "../../jfr-writer/tests/support/mod.rs"]
mod support;

use jfr_chains_analyzer::reader::Recording;
use std::path::Path;

#[test]
fn every_cut_of_every_write_is_read_with_all_that_was_acknowledged() {
    let mut cuts = 0;
    scenario::states(&scenario::scenario(), |state, acknowledged| {
        cuts += 1;
        let bytes = state.at(Path::new(scenario::PATH)).unwrap().clone();
        let recording = Recording::from_bytes("cut.jfr", bytes).unwrap();
        assert!(
            recording.skipped().is_empty(),
            "cut {cuts}: {:?}",
            recording.skipped()
        );
        let mut sequences = Vec::new();
        for chunk in recording.chunks() {
            let complaints: Vec<_> = chunk.skipped().collect();
            assert!(complaints.is_empty(), "cut {cuts}: {complaints:?}");
            let inputs = chunk
                .events()
                .filter(|event| event.name() == "jfrchains.CoreInput");
            sequences.extend(inputs.map(|event| event.i64("sequence").unwrap()));
        }
        let whole: Vec<i64> = (1..=i64::try_from(sequences.len()).unwrap()).collect();
        assert_eq!(sequences, whole, "cut {cuts}");
        assert!(
            sequences.len() as u64 >= acknowledged,
            "cut {cuts}: {} of {acknowledged}",
            sequences.len()
        );
    });
    assert!(cuts > 500, "{cuts} cuts only");
}
