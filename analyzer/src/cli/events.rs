//! `jfr-chains events`: the events of a recording.

use super::Exit;
use super::common::{Output, stderr};
use crate::events::{self, EventsArgs};
use crate::summary::Readable;

/// Write a recording's events, filtered by type, time and thread.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    events: EventsArgs,

    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.output.spares(&args.events.files)?;
    // Of an output whose reader has left, nothing more is known.
    let mut readable = Readable::All;
    args.output.write_if_read(|out| {
        readable = events::run(&args.events, out, &mut stderr())?;
        Ok(readable)
    })?;
    Ok(match readable {
        Readable::All => Exit::Clean,
        Readable::Some | Readable::None => Exit::Usage,
    })
}
