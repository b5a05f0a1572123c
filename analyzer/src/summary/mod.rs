//! What is in a recording: chunks, event counts, and what could not be read.

mod render;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::reader::{Chunk, ReadError, Recording, Skipped, State};
use crate::rfc3339::Rfc3339;

pub use render::render;

/// The version of the JSON that [`Summary`] serialises to.
const SCHEMA: &str = "jfr-chains/summary/1";

/// Arguments of `jfr-chains summary`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  jfr-chains summary leak.jfr
  jfr-chains summary --format json a.jfr b.jfr.gz | jq .total
  cat leak.jfr | jfr-chains summary -")]
pub struct SummaryArgs {
    /// Recordings; `-` is standard input; .gz, .zip and .lz4 open as they are
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How to write it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// How a summary is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One document of schema `jfr-chains/summary/1`.
    Json,
    /// One line for each event type.
    Csv,
}

/// What is in one or more recordings.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    schema: Schema,
    /// One for each chunk, in the order of the files.
    pub chunks: Vec<ChunkSummary>,
    /// Events of declared types by name.
    pub events: BTreeMap<String, u64>,
    /// Bytes of those events by name.
    pub bytes: BTreeMap<String, u64>,
    /// Events of declared types, without metadata and checkpoints.
    pub total: u64,
    /// What could not be read.
    pub skipped: Vec<SkippedIn>,
}

#[derive(Debug, Clone, Copy)]
struct Schema(&'static str);

impl Default for Schema {
    fn default() -> Self {
        Self(SCHEMA)
    }
}

impl Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

/// One chunk's place, clock and contents.
#[derive(Debug, Clone, Serialize)]
pub struct ChunkSummary {
    /// The file.
    pub path: String,
    /// Index in the file, from 0.
    pub chunk: usize,
    /// First byte in the (decompressed) file.
    pub offset: u64,
    /// Bytes of it in the file.
    pub bytes: u64,
    /// Format version, such as `2.1`.
    pub version: String,
    /// `finished`, `live` or `updating`.
    pub state: &'static str,
    /// When it began.
    pub start: String,
    /// How long it lasted; absent while it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<i64>,
    /// Events of declared types.
    pub events: u64,
}

/// Something not read, and in which file.
#[derive(Debug, Clone, Serialize)]
pub struct SkippedIn {
    /// The file.
    pub path: String,
    /// Index of the chunk; absent between chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<usize>,
    /// First byte in the (decompressed) file.
    pub offset: u64,
    /// What it was and why it was skipped.
    pub what: String,
}

impl SkippedIn {
    /// Joins a loss with the file it happened in.
    pub fn new(path: &str, skipped: &Skipped) -> Self {
        Self {
            path: path.to_owned(),
            chunk: skipped.chunk,
            offset: skipped.offset,
            what: skipped.what.clone(),
        }
    }

    /// A whole file that does not open.
    pub(crate) fn unreadable(path: &Path, error: &ReadError) -> Self {
        let path = path.display().to_string();
        let what = error.to_string();
        let what = what.strip_prefix(&format!("{path}: ")).unwrap_or(&what);
        Self {
            what: what.to_owned(),
            path,
            chunk: None,
            offset: 0,
        }
    }
}

impl fmt::Display for SkippedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        if let Some(chunk) = self.chunk {
            write!(f, "chunk {chunk}, ")?;
        }
        write!(f, "offset {}: {}", self.offset, self.what)
    }
}

/// How many of the inputs could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readable {
    /// Every one.
    All,
    /// Not every one; what could be read has been written.
    Some,
    /// Not one opened: nothing has been written.
    None,
}

impl Readable {
    /// From whether at least one opened, and whether nothing was wrong with any.
    pub(crate) fn of(opened: bool, complete: bool) -> Self {
        match (opened, complete) {
            (_, true) => Self::All,
            (true, false) => Self::Some,
            (false, false) => Self::None,
        }
    }
}

/// What one chunk adds to a summary.
struct Part {
    /// Whether the chunk has metadata.
    typed: bool,
    chunk: ChunkSummary,
    tallies: Vec<(String, u64, u64)>,
    skipped: Vec<SkippedIn>,
}

impl Summary {
    /// Adds a recording; its chunks are walked in parallel.
    ///
    /// Returns whether at least one chunk has metadata; without, there is nothing to count.
    pub fn add(&mut self, recording: &Recording) -> bool {
        let path = recording.path().display().to_string();
        let between = recording.skipped().iter();
        self.skipped
            .extend(between.map(|skipped| SkippedIn::new(&path, skipped)));
        let mut readable = false;
        for part in recording.map_chunks(|chunk| part(&path, chunk)) {
            readable |= part.typed;
            self.total += part.chunk.events;
            self.chunks.push(part.chunk);
            self.skipped.extend(part.skipped);
            for (name, events, bytes) in part.tallies {
                *self.bytes.entry(name.clone()).or_default() += bytes;
                *self.events.entry(name).or_default() += events;
            }
        }
        self.skipped
            .sort_by(|a, b| (&a.path, a.offset).cmp(&(&b.path, b.offset)));
        readable
    }
}

fn part(path: &str, chunk: &Chunk<'_>) -> Part {
    let header = chunk.header();
    let tallies = chunk
        .counts()
        .map(|(declared, tally)| (declared.name().to_owned(), tally.events, tally.bytes))
        .collect();
    let skipped = chunk.skipped().map(|skipped| SkippedIn::new(path, skipped));
    Part {
        typed: chunk.types().iter().next().is_some(),
        tallies,
        skipped: skipped.collect(),
        chunk: ChunkSummary {
            path: path.to_owned(),
            chunk: chunk.index(),
            offset: chunk.offset(),
            bytes: chunk.len() as u64,
            version: format!("{}.{}", header.major, header.minor),
            state: match header.state {
                State::Finished => "finished",
                State::Live(_) => "live",
                State::Updating => "updating",
            },
            start: Rfc3339(header.start_nanos).to_string(),
            duration_ns: (header.duration_nanos > 0).then_some(header.duration_nanos),
            events: chunk.event_count(),
        },
    }
}

/// Runs `jfr-chains summary`: the summary goes to `out`, files that do not open to `err`, with CSV
/// what was skipped as well. Errs when `out` or `err` cannot be written.
pub fn run(args: &SummaryArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Readable> {
    let mut summary = Summary::default();
    let mut complete = true;
    let mut unreadable = Vec::new();
    for path in &args.files {
        match Recording::open(path) {
            Ok(recording) => {
                if !summary.add(&recording) {
                    writeln!(err, "{}: no chunk says what its events are", path.display())?;
                    complete = false;
                }
            }
            Err(error) => {
                writeln!(err, "{error}")?;
                unreadable.push(SkippedIn::unreadable(path, &error));
                complete = false;
            }
        }
    }
    let opened = !summary.chunks.is_empty();
    // Text follows what was said about these files already.
    if args.format == Format::Json {
        summary.skipped.extend(unreadable);
    }
    if opened {
        match render(&summary, args.format, out) {
            // Whoever reads `out` has enough; what is wrong with the files counts.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            rendered => rendered?,
        }
    }
    if args.format == Format::Csv {
        say(&summary.skipped, err)?;
    }
    Ok(Readable::of(opened, complete))
}

/// Writes what was not read, one a line.
pub(crate) fn say(skipped: &[SkippedIn], err: &mut dyn Write) -> io::Result<()> {
    skipped.iter().try_for_each(|lost| writeln!(err, "{lost}"))
}
