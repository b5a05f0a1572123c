//! A whole file: its chunks, one by one or in parallel.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jfr_format::header::State;
use rayon::prelude::*;

use super::chunk::Chunk;
use super::error::{ReadError, Skipped};
use super::event::Event;
use super::known::KnownTypes;
use super::split::{Refused, Span, Split, split};
use crate::input::Input;

/// How often, and how many times, a file is opened again whose header is being rewritten.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const LOOKS: u32 = 5;

/// A recording: every chunk of one file.
///
/// ```
/// use jfr_chains_analyzer::reader::{ReadError, Recording};
/// use std::path::Path;
///
/// fn old_objects(path: &Path) -> Result<u64, ReadError> {
///     let recording = Recording::open(path)?;
///     let mut found = 0;
///     for chunk in recording.chunks() {
///         for event in chunk.events().filter(|event| event.name() == "jdk.OldObjectSample") {
///             println!("{:?} {:?}", event.start(), event.i64("lastKnownHeapUsage"));
///             found += 1;
///         }
///     }
///     Ok(found)
/// }
/// ```
#[derive(Debug)]
pub struct Recording {
    input: Input,
    split: Split,
}

impl Recording {
    /// Opens a file, or standard input for `-`. Compressed files open as they are.
    ///
    /// Damaged files open: see [`Recording::skipped`] and [`Chunk::skipped`]. Errs when the file
    /// cannot be read, or when not one chunk in it can.
    ///
    /// The file is mapped. It may grow meanwhile; a process that shortens it in place, as a JVM
    /// does that dumps into a file that is there, ends this one with SIGBUS: copy such a file, or
    /// read it into [`Recording::from_bytes`].
    ///
    /// While a JVM rewrites the header of its last chunk, the file is looked at again for up to a
    /// tenth of a second; then what is there is salvaged.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let mut looks = 0;
        Self::open_while(path, &mut || {
            looks += 1;
            if looks > LOOKS {
                return false;
            }
            std::thread::sleep(LOOK_AGAIN);
            true
        })
    }

    /// Opens a file again while its last header is being rewritten and `again` says to.
    pub fn open_while(path: &Path, again: &mut dyn FnMut() -> bool) -> Result<Self, ReadError> {
        loop {
            let recording = Self::of(Input::open(path)?)?;
            let updating = |span: &Span| span.header.state == State::Updating;
            let file = recording.input.is_file();
            if !(file && recording.split.spans.last().is_some_and(updating) && again()) {
                return Ok(recording);
            }
        }
    }

    /// Reads a recording from memory; `name` stands for its path in messages.
    pub fn from_bytes(name: impl Into<PathBuf>, bytes: Vec<u8>) -> Result<Self, ReadError> {
        Self::of(Input::from_bytes(name.into(), bytes)?)
    }

    /// Reads a recording from what was opened elsewhere.
    pub fn of(input: Input) -> Result<Self, ReadError> {
        let mut split = split(input.bytes());
        if !split.spans.is_empty() {
            let damage = input.damage().iter().map(|damage| Skipped {
                chunk: None,
                offset: damage.offset,
                what: damage.what.clone(),
            });
            split.skipped.extend(damage);
            split.skipped.sort_by_key(|lost| lost.offset);
            return Ok(Self { input, split });
        }
        if let Some(damage) = input.damage().first() {
            return Err(ReadError::Compressed {
                path: input.path().to_owned(),
                what: format!("{}; no chunk comes before that", damage.what),
            });
        }
        let path = input.path().to_owned();
        if input.bytes().is_empty() {
            return Err(ReadError::Empty { path });
        }
        Err(match split.refused.first() {
            Some(&Refused { start, version }) => ReadError::Version {
                path,
                offset: start as u64,
                major: version.0,
                minor: version.1,
            },
            None => ReadError::NoChunk {
                path,
                len: input.bytes().len() as u64,
            },
        })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Bytes of the (decompressed) file.
    pub fn len(&self) -> u64 {
        self.input.bytes().len() as u64
    }

    /// Whether there are no bytes; a recording that opened has some.
    pub fn is_empty(&self) -> bool {
        self.input.bytes().is_empty()
    }

    /// How many chunks there are.
    pub fn chunk_count(&self) -> usize {
        self.split.spans.len()
    }

    /// Reads the chunk at this index.
    pub fn chunk(&self, index: usize) -> Option<Chunk<'_>> {
        self.read(index, &KnownTypes::default())
    }

    fn read<'r>(&'r self, index: usize, known: &KnownTypes<'r>) -> Option<Chunk<'r>> {
        let span = self.split.spans.get(index)?;
        Some(Chunk::read(self.input.bytes(), index, span, known))
    }

    /// Reads the chunks one by one, in the order of the file.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk<'_>> {
        let known = KnownTypes::default();
        (0..self.chunk_count()).filter_map(move |index| self.read(index, &known))
    }

    /// Reads the chunks in parallel and returns what `f` makes of each, in the order of the file.
    ///
    /// ```
    /// use jfr_chains_analyzer::reader::Recording;
    ///
    /// fn events(recording: &Recording) -> u64 {
    ///     recording.map_chunks(|chunk| chunk.event_count()).iter().sum()
    /// }
    /// ```
    pub fn map_chunks<T: Send>(&self, f: impl Fn(&Chunk<'_>) -> T + Sync + Send) -> Vec<T> {
        let known = KnownTypes::default();
        (0..self.chunk_count())
            .into_par_iter()
            .filter_map(|index| self.read(index, &known).map(|chunk| f(&chunk)))
            .collect()
    }

    /// Calls `visit` with every event, chunk by chunk, and returns everything that was skipped.
    ///
    /// ```
    /// use jfr_chains_analyzer::reader::Recording;
    /// use std::collections::BTreeMap;
    ///
    /// fn count(recording: &Recording) -> BTreeMap<String, u64> {
    ///     let mut counts = BTreeMap::new();
    ///     let skipped = recording.visit(|event| {
    ///         *counts.entry(event.name().to_owned()).or_default() += 1;
    ///     });
    ///     for lost in skipped {
    ///         eprintln!("{lost}");
    ///     }
    ///     counts
    /// }
    /// ```
    pub fn visit(&self, mut visit: impl FnMut(&Event<'_>)) -> Vec<Skipped> {
        let mut skipped = self.skipped().to_vec();
        for chunk in self.chunks() {
            for event in chunk.events() {
                visit(&event);
            }
            skipped.extend(chunk.skipped().cloned());
        }
        skipped
    }

    /// What lies between the chunks, chunks that are cut off, and where decompression failed. What
    /// is wrong inside a chunk is in [`Chunk::skipped`].
    pub fn skipped(&self) -> &[Skipped] {
        &self.split.skipped
    }
}
