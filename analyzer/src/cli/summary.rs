//! `jfr-chains summary`: what is in a recording.

use super::Exit;
use super::common::{Output, stderr};
use crate::summary::{self, SummaryArgs};

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
    let mut complete = true;
    args.output.write(|out| {
        complete = summary::run(&args.summary, out, &mut stderr())?;
        Ok(())
    })?;
    Ok(if complete { Exit::Clean } else { Exit::Usage })
}
