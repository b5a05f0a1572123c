//! `jfr-chains summary`: what is in a recording.

use super::Exit;
use super::common::{Output, stderr};
use crate::summary::{self, Readable, SummaryArgs};

/// Say what is in a recording: chunks, event counts, what could not be read.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    summary: SummaryArgs,

    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.output.spares(&args.summary.files)?;
    // Of an output whose reader has left, nothing more is known.
    let mut readable = Readable::All;
    args.output.write_if_read(|out| {
        readable = summary::run(&args.summary, out, &mut stderr())?;
        Ok(readable)
    })?;
    Ok(match readable {
        Readable::All => Exit::Clean,
        Readable::Some | Readable::None => Exit::Usage,
    })
}
