//! `jfr-chains replay`: recorded decisions under other settings.

use std::path::PathBuf;

use anyhow::Context;
use clap::ValueEnum;

use super::Exit;
use super::common::{Output, complain, complain_of_loss, open};
use crate::replay;

/// Run recorded decisions through the core again, under other settings.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains replay leak.jfr                     does this version decide the same?\n  \
    jfr-chains replay --set painbudget=5 leak.jfr  with a larger budget?\n\n\
    The recorded world answers as it did: after the first different decision the\n\
    replay shows a tendency, no forecast.\n\
    Exit codes: 0 replayed, 1 without --set a decision differs, 2 usage or\n\
    unreadable input, 3 the recordings hold no decisions.")]
pub struct Args {
    /// Recordings of one JVM.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// An agent option in place of the recorded one; may be repeated.
    #[arg(long, value_name = "K=V", value_parser = key_value)]
    set: Vec<(String, String)>,

    /// How to write the outcome.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    format: Format,

    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For scripts: schema jfr-chains/replay/1.
    Json,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it has the form k=v")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.output.spares(&args.files)?;
    let mut recordings = Vec::with_capacity(args.files.len());
    for path in &args.files {
        recordings.push(open(path)?);
    }
    let journal = replay::read(&recordings)?;
    for recording in &recordings {
        let path = recording.path().display().to_string();
        for lost in recording.visit(|_| {}) {
            complain_of_loss(&path, lost.chunk, lost.offset, &lost.what);
        }
    }
    if journal.lines.is_empty() {
        complain("no decisions to replay: the recordings have no jfrchains.CoreInput events");
        return Ok(Exit::NothingAnalysed);
    }
    let outcome = replay::replay(&journal, &args.set).context("replay")?;
    args.output.write(|out| match args.format {
        Format::Text => replay::write_text(&outcome, out),
        Format::Json => replay::write_json(&outcome, out),
    })?;
    let differs = !outcome.replay.differences.is_empty();
    Ok(if differs && args.set.is_empty() {
        Exit::Finding
    } else {
        Exit::Clean
    })
}
