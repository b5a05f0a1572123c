//! From a damaged recording to one that every JDK opens.
//!
//! Each chunk is written anew: header, metadata, one checkpoint with every constant that could be
//! read, and every event whose fields are whole, byte for byte as they were.

mod chunk;
mod ids;
mod lost;
mod metadata;
mod starts;

use std::io::{self, Write};
use std::path::PathBuf;

use crate::reader::Recording;
use crate::summary::SkippedIn;
use chunk::Rebuilt;
use ids::Ids;
use starts::Starts;

/// Arguments of `jfr-chains recover`.
#[derive(Debug, Clone, clap::Args)]
pub struct RecoverArgs {
    /// Recording to salvage; `-` is standard input; .gz, .zip and .lz4 open as they are
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// What was salvaged.
#[derive(Debug, Clone, Default)]
pub struct Recovered {
    /// Chunks written.
    pub chunks: u64,
    /// Events written.
    pub events: u64,
    /// Constants written.
    pub constants: u64,
    /// What was lost, by chunk and offset of the damaged file.
    pub skipped: Vec<SkippedIn>,
}

/// Writes everything readable of `recording` to `out`. Nothing is written when nothing is readable.
///
/// ```
/// use jfr_chains_analyzer::reader::Recording;
/// use jfr_chains_analyzer::recover::recover;
///
/// fn repair(broken: &Recording) -> std::io::Result<Vec<u8>> {
///     let mut whole = Vec::new();
///     let salvaged = recover(broken, &mut whole)?;
///     println!("{} events in {} chunks", salvaged.events, salvaged.chunks);
///     Ok(whole)
/// }
/// ```
pub fn recover(recording: &Recording, out: &mut dyn Write) -> io::Result<Recovered> {
    let path = recording.path().display().to_string();
    let mut recovered = Recovered::default();
    let between = recording.skipped().iter();
    recovered.skipped = between.map(|lost| SkippedIn::new(&path, lost)).collect();
    let mut ids = Ids::default();
    let mut starts = Starts::default();
    for source in recording.chunks() {
        if let Some(rebuilt) = Rebuilt::new(&source, &mut ids, &mut starts) {
            rebuilt.write(&source, out)?;
            recovered.chunks += 1;
            recovered.events += rebuilt.events();
            recovered.constants += rebuilt.constants();
            let damaged = rebuilt.damaged().iter();
            let damaged = damaged.map(|lost| SkippedIn::new(&path, lost));
            recovered.skipped.extend(damaged);
        }
        let lost = source.skipped().map(|lost| SkippedIn::new(&path, lost));
        recovered.skipped.extend(lost);
    }
    recovered.skipped.sort_by_key(|lost| lost.offset);
    Ok(recovered)
}
