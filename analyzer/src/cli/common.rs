//! What commands share: inputs with progress, where output goes, how trouble is said.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anstream::AutoStream;
use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::gc::analysis::Builder;
use crate::model::build::{self, Facts};
use crate::model::merge::merge;
use crate::model::{InputInfo, Report, Skipped};
use crate::reader::Recording;
use crate::report::safe::terminal;

/// Inputs below this size are read before a progress bar could be looked at.
const PROGRESS_FROM: u64 = 64 << 20;

/// Recordings to read.
#[derive(Debug, clap::Args)]
pub struct Inputs {
    /// Recordings; '-' is standard input. Several files of one or many JVMs are merged.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
}

/// What reading the inputs gave.
pub struct Read {
    /// The merged report; `None` when not one input could be read.
    pub report: Option<Report>,
    /// Whether every input could be opened.
    pub complete: bool,
}

impl Inputs {
    /// Reads all inputs. Those that cannot be read are complained about and appear in the report
    /// with what is wrong.
    pub fn read(&self) -> Read {
        let mut recordings: Vec<(InputInfo, Facts)> = Vec::with_capacity(self.files.len());
        let mut failed = 0;
        let mut gc = Builder::default();
        for path in &self.files {
            match read_one(path, &mut gc) {
                Ok(read) => recordings.push(read),
                Err(error) => {
                    complain(&error);
                    failed += 1;
                    recordings.push((unreadable(path, error), Facts::default()));
                }
            }
        }
        let report = (failed < self.files.len()).then(|| {
            let mut report = merge(recordings);
            report.add_collections(&gc.finish());
            report
        });
        Read {
            report,
            complete: failed == 0,
        }
    }
}

fn read_one(path: &Path, gc: &mut Builder) -> Result<(InputInfo, Facts), String> {
    let recording = Recording::open(path).map_err(|error| error.to_string())?;
    let bar = progress(path, recording.len());
    let read = build::read(&recording, &|bytes| bar.inc(bytes));
    gc.add_recording(&recording, &mut |_| {});
    bar.finish_and_clear();
    Ok(read)
}

fn unreadable(path: &Path, what: String) -> InputInfo {
    InputInfo {
        path: path.display().to_string(),
        chunks: 0,
        events: 0,
        skipped: vec![Skipped {
            chunk: None,
            offset: 0,
            what,
        }],
        start: None,
        end: None,
        jvm: None,
    }
}

/// A bar on stderr for a large input, when stderr is a terminal.
pub fn progress(path: &Path, len: u64) -> ProgressBar {
    if len < PROGRESS_FROM || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr());
    let template = "reading {msg} {bar:24} {bytes} of {total_bytes}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(terminal(&path.display().to_string()).into_owned());
    bar
}

/// Where a command's output goes.
#[derive(Debug, clap::Args)]
pub struct Output {
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Output {
    /// Writes through `write`: styles reach a terminal, and no file unless colours are forced.
    pub fn write(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(path) = &self.output else {
            let mut out = BufWriter::new(AutoStream::auto(io::stdout().lock()));
            write(&mut out)?;
            out.flush()?;
            return Ok(());
        };
        write_file(path, write).with_context(|| format!("{}", path.display()))
    }
}

/// Writes a file beside its name first, so that a failure leaves no half of it.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let result = File::create(&part).and_then(|file| {
        let choice = match anstream::ColorChoice::global() {
            anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => {
                anstream::ColorChoice::AlwaysAnsi
            }
            _ => anstream::ColorChoice::Never,
        };
        let mut out = BufWriter::new(AutoStream::new(file, choice));
        write(&mut out)?;
        out.flush()?;
        std::fs::rename(&part, path)
    });
    if result.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&part);
    }
    result
}

/// Standard error for losses, one a line, safe for a terminal.
pub fn stderr() -> impl Write {
    AutoStream::auto(io::stderr())
}

/// Says on stderr what is wrong.
pub fn complain(what: &str) {
    for (at, line) in what.lines().enumerate() {
        let line = terminal(line);
        let prefix = if at == 0 { "jfr-chains: " } else { "  " };
        // There is nobody left to tell when stderr is closed.
        let _ = writeln!(io::stderr(), "{prefix}{line}");
    }
}

/// Whether the reader of our output went away, which is its right.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// A text file of the project: a baseline or a policy.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))
}

/// Today's date in UTC: expiry must not depend on the machine's time zone.
pub fn today() -> jiff::civil::Date {
    jiff::tz::TimeZone::UTC
        .to_datetime(jiff::Timestamp::now())
        .date()
}
