//! Writes events without end and says on stdout how many are safe after each flush; made to be killed.
//!
//! `endless_writer FILE SYNC SEED`: SYNC is `sync` or `nosync`; SEED varies sizes and flushes.
#![forbid(unsafe_code)]

use jfr_format::entity::ClassInfo;
use jfr_format::path::{ChainPath, Edge, Link, Root, RootKind};
use jfr_format::schema::events::CoreInput;
use jfr_writer::{ChainSample, Clock, Options, Recording};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, sync, seed] = arguments.as_slice() else {
        return Err("usage: endless_writer FILE sync|nosync SEED".into());
    };
    write(Path::new(file), sync == "sync", seed.parse()?)
}

/// Writes until something fails.
pub(crate) fn write(file: &Path, sync: bool, seed: u64) -> Result<(), Box<dyn std::error::Error>> {
    let mut random = seed;
    let clock = Clock {
        epoch_nanos: 1_700_000_000_000_000_000,
        ticks: 0,
        ticks_per_second: 1_000_000_000,
    };
    let options = Options {
        chunk_size: 96 << 10,
        sync,
        ..Options::default()
    };
    let mut recording = Recording::open(file, clock, 0, options)?;
    let link = Link {
        edge: Edge::Field {
            name: "next".into(),
        },
        class: Arc::new(ClassInfo::named("com.acme.Node")),
        run: 1,
        size: None,
        fan_out: None,
    };
    let root = Root {
        kind: RootKind::JniGlobal,
        description: "handle".into(),
    };
    let chain = ChainPath {
        root,
        links: vec![link; 20],
    };
    let mut acknowledged = std::io::stdout();
    for sequence in 1_i64.. {
        // A linear congruence is random enough to vary sizes.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let text = "x".repeat(usize::try_from(random >> 54)?);
        recording.emit(
            sequence * 1_000,
            &CoreInput {
                sequence,
                text,
                ..CoreInput::default()
            },
        );
        if random >> 33 & 7 == 0 {
            recording.emit_chain(sequence * 1_000, &chain, &ChainSample::default());
        }
        if random >> 40 & 3 == 0 {
            recording.flush(sequence * 1_000 + 1)?;
            writeln!(acknowledged, "{sequence}")?;
            acknowledged.flush()?;
        }
    }
    Ok(())
}
