//! `jfr-chains diff`: what two recordings hold that the other does not.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::Exit;
use super::common::{Inputs, Output};
use crate::diff;
use crate::model::Report;

/// Compare the chains of two recordings: gone, new, grown.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains diff before.jfr after.jfr\n  \
    jfr-chains diff --format markdown main.jfr branch.jfr >> comment.md\n\n\
    Exit codes: 0 nothing is new or grown, 1 something is, 2 usage or unreadable\n\
    input, or nothing in what a damaged new recording has left, 3 one of the\n\
    recordings cannot show a leak.")]
pub struct Args {
    /// The earlier recording.
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The later recording.
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// How to write the comparison.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    format: Format,

    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal.
    Text,
    /// For a ticket.
    Markdown,
    /// For scripts: schema jfr-chains/diff/1.
    Json,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.output.spares(&[args.old.clone(), args.new.clone()])?;
    let (Some(old), Some(new)) = (read(&args.old), read(&args.new)) else {
        return Ok(Exit::Usage);
    };
    let diff = diff::diff(&old, &new);
    args.output.write(|out| match args.format {
        Format::Text => diff::write_text(&diff, out),
        Format::Markdown => diff::write_markdown(&diff, out),
        Format::Json => diff::write_json(&diff, out),
    })?;
    Ok(if !old.is_analysed() || !new.is_analysed() {
        Exit::NothingAnalysed
    } else if !diff.is_clean() {
        Exit::Finding
    } else if diff.is_incomplete() {
        Exit::Usage
    } else {
        Exit::Clean
    })
}

fn read(path: &Path) -> Option<Report> {
    let inputs = Inputs {
        files: vec![path.to_owned()],
    };
    inputs.read().report
}
