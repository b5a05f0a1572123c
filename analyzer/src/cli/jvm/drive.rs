//! `jfr-chains start`, `stop`, `dump`, `status`: one command to the agent each.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::super::Exit;
use super::super::common::Output;
use super::Target;
use super::session::{Session, fetch, say, value};
use crate::report::safe::terminal;
use crate::report::units;

/// Load the agent into a running JVM, or start it again there.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains start 4711 --file /var/tmp/leak-%p.jfr\n  \
    jfr-chains start OrderService --set interval=256k --set depth=32\n\n\
    Without --file the agent works while a recording of the JVM has its events enabled\n\
    (jcmd 4711 JFR.start, then JFR.dump).")]
pub struct StartArgs {
    #[command(flatten)]
    target: Target,

    /// Record to this file of the JVM's own file system; %p is the pid, %t the time.
    #[arg(long, value_name = "FILE")]
    file: Option<String>,

    /// An option of the agent, name=value; several times for several.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    options: Vec<String>,
}

/// Stop the agent in a JVM: callbacks off, references and tags released, its file complete.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  jfr-chains stop 4711")]
pub struct StopArgs {
    #[command(flatten)]
    target: Target,
}

/// Copy what the agent has recorded so far, without stopping it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  jfr-chains dump 4711 -o so-far.jfr && jfr-chains report so-far.jfr"
)]
pub struct DumpArgs {
    #[command(flatten)]
    target: Target,

    /// Where to put the copy.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Tell what the agent in a JVM does: state, gates' refusals, budgets, drop counters.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  jfr-chains status 4711")]
pub struct StatusArgs {
    #[command(flatten)]
    target: Target,

    #[command(flatten)]
    output: Output,
}

/// Runs `start`.
pub fn start(args: &StartArgs) -> anyhow::Result<Exit> {
    let mut session = Session::open(&args.target)?;
    let mut options = args.options.clone();
    if let Some(file) = &args.file {
        if !Path::new(file).is_absolute() {
            bail!(
                "--file {file}: give an absolute path; it is the JVM that writes it, from its own folder"
            );
        }
        options.push(format!("file={file}"));
    }
    session.send("start", &options)?;
    say(&format!("the agent runs in process {}", session.jvm.pid()));
    Ok(Exit::Clean)
}

/// Runs `stop`.
pub fn stop(args: &StopArgs) -> anyhow::Result<Exit> {
    let mut session = driven(&args.target)?;
    session.send("stop", &[])?;
    say(&format!(
        "the agent in process {} has stopped",
        session.jvm.pid()
    ));
    Ok(Exit::Clean)
}

/// Runs `dump`.
pub fn dump(args: &DumpArgs) -> anyhow::Result<Exit> {
    let mut session = driven(&args.target)?;
    let status = session.send("dump", &[])?;
    let Some(file) = value(&status, "file").filter(|file| !file.is_empty()) else {
        bail!(
            "the agent in process {0} records into the JVM's own recordings: `jcmd {0} JFR.dump filename=...`",
            session.jvm.pid()
        );
    };
    let bytes =
        fetch(&session.jvm, Path::new(file), &args.output).context("copying the recording")?;
    say(&format!(
        "{} in {}",
        units::bytes(bytes),
        args.output.display()
    ));
    Ok(Exit::Clean)
}

/// Runs `status`.
pub fn status(args: &StatusArgs) -> anyhow::Result<Exit> {
    let mut session = driven(&args.target)?;
    let status = session.send("status", &[])?;
    args.output.write(|out| {
        for line in status.lines() {
            writeln!(out, "{}", terminal(line))?;
        }
        Ok(())
    })?;
    Ok(Exit::Clean)
}

/// A session with a JVM that has the agent already: these commands never load it.
fn driven(target: &Target) -> anyhow::Result<Session> {
    let session = Session::open(target)?;
    if !session.had_agent() {
        bail!(
            "process {} has no agent; `jfr-chains start` or `record` loads it",
            session.jvm.pid()
        );
    }
    Ok(session)
}
