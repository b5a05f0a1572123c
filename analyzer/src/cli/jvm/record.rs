//! `jfr-chains record`: the whole job on a running JVM, with progress.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::super::Exit;
use super::Target;
use super::session::{Session, fetch, say};
use crate::model::Report;
use crate::model::build;
use crate::model::merge::merge;
use crate::reader::Recording;

/// Between two looks at the growing file.
const LOOK: Duration = Duration::from_secs(2);

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
    let here = session.jvm.inside(&file);
    let watched = watch(args, session.jvm.pid(), &here, &stop);
    // Whatever ended the wait, the agent must not stay behind.
    let stopped = session.send("stop", &[]);
    let ended = watched?;
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
    say(&format!(
        "{}: {bytes} bytes in {}; next: jfr-chains report {1}",
        ended.words(),
        args.output.display()
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

fn watch(args: &Args, pid: u32, file: &Path, stop: &Receiver<()>) -> anyhow::Result<Ended> {
    let bar = if io::stderr().is_terminal() {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    bar.set_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}")?);
    bar.enable_steady_tick(Duration::from_millis(200));
    let deadline = Instant::now() + args.duration;
    let ended = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break Ended::Time;
        }
        match stop.recv_timeout(left.min(LOOK)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break Ended::Interrupt,
        }
        if !Path::new(&format!("/proc/{pid}")).exists() {
            break Ended::JvmGone;
        }
        // Between two states of the file a look may fail; the next one will not.
        if let Some(report) = look(file) {
            bar.set_message(progress(&report));
            if args.until_chain && !report.chains.is_empty() {
                break Ended::Chain;
            }
        }
    };
    bar.finish_and_clear();
    Ok(ended)
}

fn look(file: &Path) -> Option<Report> {
    let recording = Recording::open(file).ok()?;
    let read = build::read(&recording, &|_| {});
    Some(merge(vec![read]))
}

/// One line: the nearest class, searches, chains.
fn progress(report: &Report) -> String {
    let nearest = report.candidates.first().map(|candidate| {
        let far = candidate.progress_words().unwrap_or_default();
        format!("{} ({far})", candidate.class)
    });
    format!(
        "{}, {} searches, {} chains",
        nearest.unwrap_or_else(|| "no class followed yet".to_owned()),
        report.searches.len(),
        report.chains.len()
    )
}
