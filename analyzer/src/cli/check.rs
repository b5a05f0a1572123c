//! `jfr-chains check`: fail a build on chains that nobody accepted.

use std::path::PathBuf;

use anyhow::Context;

use super::Exit;
use super::common::{Inputs, read_text, spares, today, write_file, write_stdout};
use crate::check::{self, Baseline, Level, Policy};

/// Fail on chains that the baseline does not know or the policy forbids.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains check --baseline leaks.toml build/*.jfr\n  \
    jfr-chains check --policy policy.toml --junit target/leaks.xml target/test.jfr\n  \
    jfr-chains check --github --source-root src/main/java test.jfr\n\n\
    Exit codes: 0 passed, 1 a finding fails the check, 2 usage or unreadable input,\n\
    or no finding in what a damaged recording has left (policy: damaged = \"note\"\n\
    passes), 3 nothing was analysed: a check never passes because nothing ran.")]
pub struct Args {
    #[command(flatten)]
    inputs: Inputs,

    /// Accepted chains, as `jfr-chains baseline` writes them.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Limits and exceptions (TOML).
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Write the result as JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Write the result as SARIF 2.1.0.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// Print annotations for GitHub Actions too.
    #[arg(long)]
    github: bool,

    /// Where Java sources begin, for the paths in SARIF and annotations; may be repeated.
    #[arg(
        long = "source-root",
        value_name = "DIR",
        default_value = "src/main/java"
    )]
    source_roots: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    for written in [&args.junit, &args.sarif] {
        spares(written.as_deref(), &args.inputs.files)?;
    }
    let baseline = match &args.baseline {
        Some(path) => {
            Baseline::parse(&read_text(path)?).with_context(|| format!("{}", path.display()))?
        }
        None => Baseline::default(),
    };
    let policy = match &args.policy {
        Some(path) => {
            Policy::parse(&read_text(path)?).with_context(|| format!("{}", path.display()))?
        }
        None => Policy::default(),
    };
    let read = args.inputs.read();
    let mut outcome = match &read.report {
        Some(report) => check::evaluate(report, &baseline, &policy, today()),
        None => check::Outcome {
            findings: Vec::new(),
            analysed: false,
            reason: "no input could be read".to_owned(),
            unreadable: Vec::new(),
            damaged: Vec::new(),
            damage: Level::Error,
        },
    };
    outcome.unreadable = read.unreadable;
    if let Some(path) = &args.junit {
        write_file(path, |out| check::junit::write(&outcome, out))
            .with_context(|| format!("{}", path.display()))?;
    }
    if let Some(path) = &args.sarif {
        write_file(path, |out| {
            check::sarif::write(&outcome, &args.source_roots, out)
        })
        .with_context(|| format!("{}", path.display()))?;
    }
    // After the files: whoever reads the text may have enough of it.
    write_stdout(|out| {
        check::text::write(&outcome, out)?;
        if args.github {
            check::github::write(&outcome, &args.source_roots, out)?;
        }
        Ok(())
    })?;
    Ok(if !outcome.unreadable.is_empty() {
        Exit::Usage
    } else if !outcome.analysed {
        Exit::NothingAnalysed
    } else if outcome.is_failed() {
        Exit::Finding
    } else if outcome.is_incomplete() {
        Exit::Usage
    } else {
        Exit::Clean
    })
}
