//! `jfr-chains export`: chains for JDK Mission Control and `jfr view`.

use std::path::PathBuf;

use super::Exit;
use super::common::{Inputs, complain, complain_of_losses};
use crate::export;
use crate::report::units;

/// Write the chains of recordings as linked jdk.OldObjectSample events.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains export app.jfr -o chains.jfr\n  \
    jfr view memory-leaks-by-class chains.jfr\n\n\
    Open the result in JDK Mission Control under Memory, Live Objects.\n\
    Exit codes: 0 written, 2 usage or unreadable input, 3 the recordings hold no\n\
    chain.")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,

    /// The recording to write.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let read = args.inputs.read();
    let Some(report) = read.report else {
        return Ok(Exit::Usage);
    };
    complain_of_losses(&report);
    if report.chains.is_empty() {
        complain(&format!("no chain to export: {}", report.reason));
        return Ok(Exit::NothingAnalysed);
    }
    let written = export::export(&report, &args.output)?;
    complain(&format!(
        "{} written to {}",
        units::counted(written, "chain", "chains"),
        args.output.display()
    ));
    Ok(if read.unreadable.is_empty() {
        Exit::Clean
    } else {
        Exit::Usage
    })
}
