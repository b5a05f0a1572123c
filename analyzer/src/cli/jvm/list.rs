//! `jfr-chains list`: the JVMs that can be attached to.

use attach::Jvm;

use super::super::Exit;
use super::super::common::{Output, complain};
use crate::report::safe::terminal;

/// List the JVMs that can be seen: pid, version, main class.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains list\n  \
    sudo jfr-chains list        those of other users and in containers too")]
pub struct Args {
    /// Print one JSON object a JVM.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    output: Output,
}

/// Runs the command. Nothing to list is no error: the answer is then 3.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let jvms = attach::list();
    args.output.write(|out| {
        for jvm in &jvms {
            let line = if args.json {
                json(jvm).to_string()
            } else {
                line(jvm)
            };
            writeln!(out, "{line}")?;
        }
        Ok(())
    })?;
    Ok(if jvms.is_empty() {
        complain("no JVM can be seen; root sees those of other users and in containers too");
        Exit::NothingAnalysed
    } else {
        Exit::Clean
    })
}

fn line(jvm: &Jvm) -> String {
    let mut line = format!(
        "{:>8}  {:<10}  {}",
        jvm.pid(),
        jvm.version().unwrap_or("?"),
        jvm.command().unwrap_or("(publishes no main class)")
    );
    if jvm.is_contained() {
        line.push_str(&format!(
            "  [container, pid {} inside]",
            jvm.namespace_pid()
        ));
    }
    if jvm.agent().is_some() {
        line.push_str("  [agent loaded]");
    }
    terminal(&line).into_owned()
}

fn json(jvm: &Jvm) -> serde_json::Value {
    serde_json::json!({
        "pid": jvm.pid(),
        "namespace_pid": jvm.namespace_pid(),
        "uid": jvm.uid(),
        "version": jvm.version(),
        "vm": jvm.vm(),
        "command": jvm.command(),
        "container": jvm.is_contained(),
        "agent": jvm.agent(),
    })
}
