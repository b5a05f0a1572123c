//! `jfr-chains baseline`: accept the chains of recordings, with reasons.

use anyhow::Context;
use jiff::civil::Date;

use super::Exit;
use super::common::{Inputs, Output, complain, complain_of_losses, read_text};
use crate::check::Baseline;

/// Write the accepted chains of recordings; entries that are there keep their reasons.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains baseline -o leaks.toml --owner orders --reason 'ticket 17' test.jfr\n  \
    jfr-chains baseline --only 1a2b3c4d --expires 2026-12-31 -o leaks.toml x.jfr\n\n\
    With -o an existing file is extended: reasons, owners and dates that people\n\
    wrote stay.\n\
    Exit codes: 0 written, 2 usage or unreadable input, 3 nothing was analysed.")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,

    #[command(flatten)]
    output: Output,

    /// Why the chains are accepted.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,

    /// Who answers for them.
    #[arg(long, value_name = "WHO", default_value = "")]
    owner: String,

    /// The last day on which they are accepted, such as 2026-12-31.
    #[arg(long, value_name = "DATE")]
    expires: Option<Date>,

    /// Accept only the chain with this id; may be repeated.
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.output.spares(&args.inputs.files)?;
    let mut baseline = match &args.output.output {
        Some(path) if path.exists() => {
            Baseline::parse(&read_text(path)?).with_context(|| format!("{}", path.display()))?
        }
        _ => Baseline::default(),
    };
    let read = args.inputs.read();
    let Some(report) = read.report else {
        return Ok(Exit::Usage);
    };
    complain_of_losses(&report);
    if !report.is_analysed() {
        complain(&report.reason);
        return Ok(Exit::NothingAnalysed);
    }
    for id in &args.only {
        anyhow::ensure!(
            report.chains.iter().any(|chain| chain.id == *id),
            "no chain of these recordings has the id {id}"
        );
    }
    let wanted = |id: &String| args.only.is_empty() || args.only.contains(id);
    for chain in report.chains.iter().filter(|chain| wanted(&chain.id)) {
        baseline.accept(chain, &args.reason, &args.owner, args.expires);
    }
    args.output
        .write(|out| out.write_all(baseline.to_toml().as_bytes()))?;
    Ok(if read.unreadable.is_empty() {
        Exit::Clean
    } else {
        Exit::Usage
    })
}
