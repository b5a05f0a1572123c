//! `jfr-chains gc`: premature promotion in a recording or a GC log, and its cure.

use std::path::PathBuf;

use clap::ValueEnum;

use super::Exit;
use super::common::{Output, complain, complain_of_loss, progress};
use crate::gc::analysis::{Builder, Form, is_recording, order_key};
use crate::gc::findings::Severity;
use crate::gc::out::{html, json, markdown, text};
use crate::input::Input;

/// Tell whether objects are promoted too early, why, and which flags keep them young.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains gc gc.log\n  \
    jfr-chains gc gc.log.0 gc.log.1 gc.log.2.current     rolled files of one JVM\n  \
    jfr-chains gc --format html -o gc.html recording.jfr\n  \
    jfr-chains gc --fail-on critical gc.log              for CI\n\n\
    Best input: -Xlog:gc*,gc+age=trace,gc+plab=debug,safepoint:file=gc.log (JDK 9+),\n\
    -XX:+PrintGCDetails -XX:+PrintTenuringDistribution (JDK 7, 8), or any recording\n\
    of JDK 11+.\n\n\
    Exit codes: 0 clean, 1 a finding that --fail-on refuses, 2 an input could not be\n\
    read, or with --fail-on nothing in what a damaged one has left, 3 no collection\n\
    was found.")]
pub struct Args {
    /// Recordings or GC logs; '-' is standard input. Rolled files are put in order.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// How to write the diagnosis.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    format: Format,

    /// Exit with 1 when a finding is at least this severe.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,

    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal, 80 columns.
    Text,
    /// For a ticket.
    Markdown,
    /// For scripts: schema jfr-chains/gc/1.
    Json,
    /// One self-contained page with plots.
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Critical findings only.
    Critical,
    /// Warnings too.
    Warn,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    args.output.spares(&args.files)?;
    let mut complete = true;
    let mut inputs: Vec<Input> = Vec::with_capacity(args.files.len());
    for path in &args.files {
        match Input::open(path) {
            Ok(input) => inputs.push(input),
            Err(error) => {
                complain(&error.to_string());
                complete = false;
            }
        }
    }
    inputs.sort_by_key(|input| order_key(input.bytes()));
    let mut builder = Builder::default();
    for input in inputs {
        if !is_recording(input.bytes()) {
            for lost in input.damage() {
                let path = input.path().display().to_string();
                complain_of_loss(&path, None, lost.offset, &lost.what);
            }
        }
        let bar = progress(input.path(), input.bytes().len() as u64);
        if let Err(error) = builder.add(input, &mut |bytes| bar.set_position(bytes)) {
            complain(&error.to_string());
            complete = false;
        }
        bar.finish_and_clear();
    }
    let analysis = builder.finish();
    for source in &analysis.sources {
        if source.form == Form::Unrecognised {
            complain(&format!(
                "{}: neither a GC log nor a recording",
                source.path
            ));
            complete = false;
        }
    }
    if analysis.is_empty() && !complete {
        return Ok(Exit::Usage);
    }
    args.output.write(|out| match args.format {
        Format::Text => text::write(&analysis, out),
        Format::Markdown => markdown::write(&analysis, out),
        Format::Json => json::write(&analysis, out),
        Format::Html => html::write(&analysis, out),
    })?;
    let refused = match args.fail_on {
        None => false,
        Some(FailOn::Critical) => analysis.worst() >= Some(Severity::Critical),
        Some(FailOn::Warn) => analysis.worst() >= Some(Severity::Warn),
    };
    Ok(if !complete {
        Exit::Usage
    } else if analysis.is_empty() {
        Exit::NothingAnalysed
    } else if refused {
        Exit::Finding
    } else if args.fail_on.is_some() && analysis.lost_collections() {
        Exit::Usage
    } else {
        Exit::Clean
    })
}
