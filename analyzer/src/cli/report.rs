//! `jfr-chains report`: what leaks, what holds it, what it cost to find out.

use clap::ValueEnum;

use super::Exit;
use super::common::{Inputs, Output};
use crate::report::{html, json, markdown, text};

/// Tell what leaks, who allocates it and what holds it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains report leak.jfr\n  \
    jfr-chains report --format html -o leak.html leak.jfr\n  \
    jfr-chains report --format markdown -o ticket.md leak.jfr\n  \
    jfr-chains report --format json pod-*.jfr | jq '.chains[0]'\n\n\
    Exit codes: 0 a report was written, 2 an input could not be read, 3 nothing in\n\
    the inputs can show a leak (no events of the agent and no chains).")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,

    /// How to write the report.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    format: Format,

    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal, 80 columns.
    Text,
    /// For a ticket.
    Markdown,
    /// For scripts: schema jfr-chains/report/1.
    Json,
    /// For a browser: one file that loads nothing.
    Html,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.output.spares(&args.inputs.files)?;
    let read = args.inputs.read();
    let Some(report) = read.report else {
        return Ok(Exit::Usage);
    };
    args.output.write(|out| match args.format {
        Format::Text => text::write(&report, out),
        Format::Markdown => markdown::write(&report, out),
        Format::Json => json::write(&report, out),
        Format::Html => html::write(&report, out),
    })?;
    Ok(if !read.unreadable.is_empty() {
        Exit::Usage
    } else if report.is_analysed() {
        Exit::Clean
    } else {
        Exit::NothingAnalysed
    })
}
