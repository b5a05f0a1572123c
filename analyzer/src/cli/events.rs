//! `jfr-chains events`: the events of a recording.

use super::Exit;
use super::common::{Output, stderr};
use crate::events::{self, EventsArgs};

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
    let mut complete = true;
    args.output.write(|out| {
        complete = events::run(&args.events, out, &mut stderr())?;
        Ok(())
    })?;
    Ok(if complete { Exit::Clean } else { Exit::Usage })
}
