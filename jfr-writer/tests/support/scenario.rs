//! A recording's life on a disk in memory, and every state that a stop of the world can leave.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]
#![allow(clippy::cast_possible_truncation, reason = "files of a few MiB")]

use crate::memory_disk::{MemoryDisk, State, Step};
use crate::support::{CLOCK, path, sample};
use jfr_format::schema::events::CoreInput;
use jfr_writer::{Options, Recording};
use std::path::Path;

/// The recording's name on the disk.
pub const PATH: &str = "/data/leak.jfr";

/// A write is whole or not at all within this many bytes.
const SECTOR: usize = 512;

/// Opens, flushes events of all sizes over several chunks, closes; every acknowledgement is among the steps.
pub fn scenario() -> Vec<Step> {
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
pub fn states(steps: &[Step], mut visit: impl FnMut(&State, u64)) {
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
