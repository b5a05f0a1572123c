//! What commands share: inputs with progress, where output goes, how trouble is said.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::unix::fs::MetadataExt as _;
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
use crate::summary::Readable;

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
    /// Inputs that could not be opened, each with what is wrong.
    pub unreadable: Vec<String>,
}

impl Inputs {
    /// Reads all inputs. Those that cannot be read are complained about and appear in the report
    /// with what is wrong.
    pub fn read(&self) -> Read {
        let mut recordings: Vec<(InputInfo, Facts)> = Vec::with_capacity(self.files.len());
        let mut failed = Vec::new();
        let mut gc = Builder::default();
        for path in &self.files {
            match read_one(path, &mut gc) {
                Ok(read) => recordings.push(read),
                Err(error) => {
                    complain(&error);
                    failed.push(error.clone());
                    recordings.push((unreadable(path, error), Facts::default()));
                }
            }
        }
        let report = (failed.len() < self.files.len()).then(|| {
            let mut report = merge(recordings);
            report.add_collections(&gc.finish());
            report
        });
        Read {
            report,
            unreadable: failed,
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
    /// Errs when the output would take the place of one of `inputs`.
    pub fn spares(&self, inputs: &[PathBuf]) -> anyhow::Result<()> {
        spares(self.output.as_deref(), inputs)
    }

    /// Writes through `write`: styles reach a terminal, and no file unless colours are forced.
    pub fn write(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        match &self.output {
            None => write_stdout(write).context("standard output"),
            Some(path) => write_file(path, write).with_context(|| format!("{}", path.display())),
        }
    }

    /// The same for a command that reads while it writes: an output that is there keeps its content
    /// when not one input could be read, or when the arguments made no sense.
    pub fn write_if_read(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<Readable>,
    ) -> anyhow::Result<()> {
        let mut gave_up = None;
        let written = self.write(|out| {
            let error = match write(out) {
                Ok(Readable::All | Readable::Some) => return Ok(()),
                Ok(Readable::None) => None,
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    Some(anyhow::anyhow!("{error}"))
                }
                Err(error) => return Err(error),
            };
            gave_up = Some(error);
            Err(io::ErrorKind::InvalidInput.into())
        });
        match gave_up {
            Some(Some(usage)) => Err(usage),
            // What is wrong with the inputs has been said.
            Some(None) => Ok(()),
            None => written,
        }
    }
}

/// Errs when `output` is the same file as one of `inputs`: text in the place of a recording loses it.
pub fn spares(output: Option<&Path>, inputs: &[PathBuf]) -> anyhow::Result<()> {
    let file = |path: &Path| {
        let there = std::fs::metadata(path).ok().filter(|there| there.is_file());
        there.map(|there| (there.dev(), there.ino()))
    };
    let Some((output, there)) = output.and_then(|path| Some((path, file(path)?))) else {
        return Ok(());
    };
    for input in inputs {
        anyhow::ensure!(
            file(input) != Some(there),
            "{} is the input {}: give the output another name",
            output.display(),
            input.display()
        );
    }
    Ok(())
}

/// Writes to standard output. That its reader has left is no error, so that the exit code still is
/// the command's verdict: `check ... | head -1` fails a build like `check ...`.
pub fn write_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(AutoStream::auto(io::stdout().lock()));
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a file as [`replace`] does, with styles when colours are forced only.
pub fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let choice = match anstream::ColorChoice::global() {
        anstream::ColorChoice::Always | anstream::ColorChoice::AlwaysAnsi => {
            anstream::ColorChoice::AlwaysAnsi
        }
        _ => anstream::ColorChoice::Never,
    };
    replace(path, |file| {
        let mut out = BufWriter::new(AutoStream::new(file, choice));
        write(&mut out)?;
        out.flush()
    })
}

/// Writes a file beside its name first and renames it, so that a failure leaves no half of it and the
/// input may be the output. A link is followed; a pipe or a device is written to, never replaced.
pub fn replace(path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
    let target = match std::fs::metadata(path) {
        Ok(there) if !there.is_file() && !there.is_dir() => {
            return write(File::options().write(true).open(path)?);
        }
        Ok(_) => std::fs::canonicalize(path)?,
        Err(_) => path.to_owned(),
    };
    let mut part = target.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let result = File::create(&part)
        .and_then(write)
        .and_then(|()| std::fs::rename(&part, &target));
    if result.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&part);
    }
    result
}

/// Standard error for what is wrong, one a line, as [`complain`] says it.
pub fn stderr() -> impl Write {
    Complaints::new(io::stderr())
}

/// Lines that say who complains, without control characters: a path may hold an escape sequence.
struct Complaints<W> {
    to: W,
    line: Vec<u8>,
}

impl<W> Complaints<W> {
    fn new(to: W) -> Self {
        let line = Vec::new();
        Self { to, line }
    }
}

impl<W: Write> Write for Complaints<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        for part in buf.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if let Some((b'\n', line)) = self.line.split_last() {
                let line = String::from_utf8_lossy(line);
                writeln!(self.to, "jfr-chains: {}", terminal(&line))?;
                self.line.clear();
            }
        }
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Opens a recording; the error says file and cause once.
pub fn open(path: &Path) -> anyhow::Result<Recording> {
    Recording::open(path).map_err(|error| anyhow::anyhow!("{error}"))
}

/// Says on stderr what of a file was not read.
pub fn complain_of_loss(path: &str, chunk: Option<usize>, offset: u64, what: &str) {
    let chunk = chunk.map_or(String::new(), |chunk| format!("chunk {chunk}, "));
    complain(&format!("{path}: {chunk}offset {offset}: {what}"));
}

/// Says on stderr what of these inputs was not read, for commands whose output has no place for it.
pub fn complain_of_losses(report: &Report) {
    for input in &report.inputs {
        // What could not be opened at all has been said.
        for lost in input.skipped.iter().filter(|_| input.chunks > 0) {
            let chunk = lost.chunk.and_then(|chunk| usize::try_from(chunk).ok());
            complain_of_loss(&input.path, chunk, lost.offset, &lost.what);
        }
    }
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
