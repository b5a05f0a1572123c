//! `jfr-chains agent-path`: where the agent library is, for `-agentpath`.

use std::path::PathBuf;

use super::super::Exit;
use super::super::common::Output;
use super::library::{self, Libc};

/// Print the path of the agent library, for -agentpath.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    java -agentpath:$(jfr-chains agent-path)=file=leak.jfr -jar app.jar\n  \
    JAVA_TOOL_OPTIONS=-agentpath:$(jfr-chains agent-path)=file=%p.jfr ./start.sh")]
pub struct Args {
    /// Check this library instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,

    /// The library for a JVM on musl libc (Alpine), also on a machine that has glibc.
    #[arg(long)]
    musl: bool,

    #[command(flatten)]
    output: Output,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let libc = if args.musl { Libc::Musl } else { Libc::here() };
    let path = library::locate(args.agent.as_deref(), libc)?;
    args.output
        .write(|out| writeln!(out, "{}", path.display()))?;
    Ok(Exit::Clean)
}
