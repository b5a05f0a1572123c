//! `jfr-chains record`: the whole job on a running JVM, with progress.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::super::Exit;
use super::Target;
use super::progress::Progress;
use super::session::{Session, fetch, say};
use crate::model::build;
use crate::model::merge::merge;
use crate::model::{Nanos, Report};
use crate::reader::Recording;
use crate::report::units;

/// Between two looks at the growing file.
const LOOK: Duration = Duration::from_secs(2);
/// Between two steps of the clock that is shown.
const SECOND: Duration = Duration::from_secs(1);

/// Attach to a JVM, record for a while, bring the file home.
///
/// Loads the agent, shows how far it is, stops it after the given time or at Ctrl-C (which keeps what was recorded),
/// and leaves nothing behind in the JVM.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    jfr-chains record 4711 -d 5m -o leak.jfr && jfr-chains report leak.jfr\n  \
    jfr-chains record OrderService --until-chain -o leak.jfr\n\n\
    A JVM of JDK 21 or later prints a warning when an agent is loaded while it runs;\n\
    java -agentpath:$(jfr-chains agent-path)=file=leak.jfr ... does without.")]
pub struct Args {
    #[command(flatten)]
    target: Target,

    /// How long.
    #[arg(short, long, value_name = "TIME", default_value = "5m", value_parser = humantime::parse_duration)]
    duration: Duration,

    /// Stop as soon as a chain is found.
    #[arg(long)]
    until_chain: bool,

    /// Where to put the recording.
    #[arg(short, long, value_name = "FILE", default_value = "leak.jfr")]
    output: PathBuf,

    /// An option of the agent, name=value; several times for several.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    options: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let stop = interrupts()?;
    let mut session = Session::open(&args.target)?;
    let file = session.temporary("recording", "jfr");
    let mut options = args.options.clone();
    options.push(format!("file={}", file.display()));
    session.send("start", &options)?;
    let main = session.jvm.main_class().unwrap_or("no main class");
    let pid = session.jvm.pid();
    say(&format!(
        "recording process {pid} ({main}); Ctrl-C keeps what there is"
    ));
    let here = session.jvm.inside(&file);
    let watched = watch(args, &session.jvm, &here, &stop);
    // Whatever ended the wait, the agent must not stay behind.
    let stopped = session.send("stop", &[]);
    let (ended, took) = watched?;
    if let Err(error) = stopped
        && !matches!(ended, Ended::JvmGone)
    {
        return Err(error.context("stopping the agent"));
    }
    let bytes = fetch(&session.jvm, &file, &args.output).or_else(|error| {
        if here.exists() {
            Err(error)
        } else {
            bail!("the agent wrote no recording; see the JVM's stderr")
        }
    })?;
    let _ = fs::remove_file(&here);
    let chains = look(&args.output).map_or(0, |report| report.chains.len());
    say(&format!(
        "{} after {}: {}, {} in {output}; next: jfr-chains report {output}",
        ended.words(),
        units::span(Nanos(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX))),
        units::counted(u64::try_from(chains).unwrap_or(u64::MAX), "chain", "chains"),
        units::bytes(bytes),
        output = args.output.display()
    ));
    Ok(Exit::Clean)
}

/// What ended the wait.
enum Ended {
    Time,
    Interrupt,
    Chain,
    JvmGone,
}

impl Ended {
    fn words(&self) -> &'static str {
        match self {
            Self::Time => "time is over",
            Self::Interrupt => "interrupted",
            Self::Chain => "a chain is found",
            Self::JvmGone => "the JVM has ended",
        }
    }
}

/// A message for every Ctrl-C or SIGTERM from now on.
fn interrupts() -> anyhow::Result<Receiver<()>> {
    let (send, receive) = mpsc::channel();
    // A closed channel means that the wait is over: nobody to tell.
    ctrlc::set_handler(move || {
        let _ = send.send(());
    })
    .context("cannot handle Ctrl-C")?;
    Ok(receive)
}

fn watch(
    args: &Args,
    jvm: &attach::Jvm,
    file: &Path,
    stop: &Receiver<()>,
) -> anyhow::Result<(Ended, Duration)> {
    let mut progress = Progress::begin(args.duration, io::stderr().is_terminal())?;
    let began = Instant::now();
    let deadline = began + args.duration;
    let mut next_look = began + LOOK;
    let mut last = None;
    let ended = loop {
        let now = Instant::now();
        if now >= deadline {
            break Ended::Time;
        }
        let nap = SECOND.min(deadline - now);
        match stop.recv_timeout(nap) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break Ended::Interrupt,
        }
        if jvm.is_gone() {
            break Ended::JvmGone;
        }
        progress.elapsed(began.elapsed(), last.as_ref());
        if Instant::now() < next_look {
            continue;
        }
        next_look = Instant::now() + LOOK;
        // Between two states of the file a look may fail; the next one will not.
        if let Some(report) = look(file) {
            progress.seen(&report);
            if args.until_chain && !report.chains.is_empty() {
                break Ended::Chain;
            }
            last = Some(report);
        }
    };
    progress.end();
    Ok((ended, began.elapsed()))
}

fn look(file: &Path) -> Option<Report> {
    let recording = Recording::open(file).ok()?;
    let read = build::read(&recording, &|_| {});
    Some(merge(vec![read]))
}
