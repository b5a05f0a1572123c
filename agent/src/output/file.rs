//! The own recording: events and linked chains into a crash-safe file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use chain_core::Tick;
use jfr_format::path::ChainPath;
use jfr_writer::{ChainSample, Clock, Counters, Notice, Options, Recording};

use crate::record::{CommittedChain, Emission, Item};

/// Most chains that are repeated beside a new one, and how long without being verified again.
const REPEATED_MAX: usize = 128;
const REPEATED_FOR: i64 = 150 * TICKS_PER_SECOND;

/// Chunks that a file of limited size has at least.
const CHUNKS_MIN: u64 = 4;

/// Ticks are ms since the origin, as the engine's are: an event names up to three instants, and each of
/// them takes three bytes less than in ns.
const TICKS_PER_SECOND: i64 = 1_000;

/// Age at which a chunk is closed although it is not full.
const CHUNK_TICKS: i64 = 3_600 * TICKS_PER_SECOND;

/// An open own recording.
pub struct FileOutput {
    recording: Recording,
    origin: Instant,
    known: BTreeMap<i64, Known>,
    /// When the last chain came that has no linked sample yet.
    unsampled: Option<i64>,
}

/// A chain that was written, for its next linked sample.
struct Known {
    ticks: i64,
    path: ChainPath,
    sample: ChainSample,
}

impl fmt::Debug for FileOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileOutput")
            .field("path", &self.recording.path())
            .finish_non_exhaustive()
    }
}

impl FileOutput {
    /// Opens the file; `origin` is tick 0, the same instant as the engine's. Beyond `max_size` bytes the oldest
    /// chunks go.
    ///
    /// # Errors
    /// One sentence with path and cause.
    pub fn open(path: &Path, origin: Instant, max_size: Option<u64>) -> Result<Self, String> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let at_origin = now.saturating_sub(origin.elapsed());
        let clock = Clock {
            epoch_nanos: i64::try_from(at_origin.as_nanos()).unwrap_or(i64::MAX),
            ticks: 0,
            ticks_per_second: TICKS_PER_SECOND,
        };
        let defaults = Options::default();
        let options = Options {
            // A small file still has a few chunks, so that not all of it goes at once.
            chunk_size: max_size.map_or(defaults.chunk_size, |most| {
                defaults.chunk_size.min(most / CHUNKS_MIN)
            }),
            chunk_ticks: Some(CHUNK_TICKS),
            max_size,
            ..defaults
        };
        let recording = Recording::open(path, clock, ticks_now(origin), options)
            .map_err(|error| format!("option file={}: {error}", path.display()))?;
        Ok(Self {
            recording,
            origin,
            known: BTreeMap::new(),
            unsampled: None,
        })
    }

    /// Takes an event or a chain; it waits in memory for the next flush.
    pub fn emit(&mut self, emission: &Emission) {
        let ticks = ticks_of(emission.at);
        match &emission.what {
            Item::Event(event) => {
                self.recording.emit_any(ticks, event);
            }
            Item::Chain(chain) => self.emit_chain(ticks, chain),
        }
    }

    /// The chain's event at once, its linked form with the next flush. The hops are in both: they need no events.
    fn emit_chain(&mut self, ticks: i64, chain: &CommittedChain) {
        self.recording.emit(ticks, &chain.event);
        let heap_used = chain.heap_used.map_or(0, |bytes| bytes.0);
        let sample = ChainSample {
            thread: chain.thread.clone(),
            stack: chain.stack.clone(),
            // Tick 0 stands for unknown.
            allocation_ticks: chain.sampled.map_or(0, |(at, _)| ticks_of(at).max(1)),
            object_size: chain.sampled.map_or(0, |(_, size)| size.0),
            heap_used,
            array_length: array_length(&chain.path),
        };
        self.known
            .retain(|_, known| ticks.saturating_sub(known.ticks) < REPEATED_FOR);
        if self.known.len() >= REPEATED_MAX {
            self.known.pop_first();
        }
        let known = Known {
            ticks,
            path: chain.path.clone(),
            sample,
        };
        self.known.insert(chain.event.chain, known);
        for known in self.known.values_mut() {
            known.sample.heap_used = heap_used;
        }
        self.unsampled = Some(ticks);
    }

    /// The JDK's views take the samples of the last instant alone, as the JVM writes them: all in one batch.
    fn emit_samples(&mut self) {
        let Some(ticks) = self.unsampled.take() else {
            return;
        };
        for known in self.known.values() {
            self.recording.emit_chain(ticks, &known.path, &known.sample);
        }
    }

    /// Writes what waits. A failure is a notice, the events keep waiting.
    pub fn flush(&mut self) {
        self.emit_samples();
        if let Err(error) = self.recording.flush(ticks_now(self.origin)) {
            crate::debug!("flush: {error}");
        }
    }

    /// What the user should be told, each once: (code of the status event, sentence).
    pub fn take_notices(&mut self) -> Vec<(&'static str, String)> {
        self.recording
            .take_notices()
            .iter()
            .map(|notice: &Notice| (notice.code(), notice.to_string()))
            .collect()
    }

    /// Figures for the status event.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.recording.counters()
    }

    /// Where the file is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.recording.path()
    }

    /// Completes the file; the sentence says why it may lack its last events.
    ///
    /// # Errors
    /// One sentence.
    pub fn close(mut self) -> Result<(), String> {
        self.emit_samples();
        let now = ticks_now(self.origin);
        match self.recording.close(now).error {
            None => Ok(()),
            Some(error) => Err(error.to_string()),
        }
    }
}

/// Length of the object at the end when that is an array and was read.
fn array_length(path: &ChainPath) -> Option<i32> {
    let leaf = path.links.last()?;
    leaf.size.filter(|_| leaf.class.name.starts_with('['))
}

fn ticks_now(origin: Instant) -> i64 {
    i64::try_from(origin.elapsed().as_millis()).unwrap_or(i64::MAX)
}

fn ticks_of(at: Tick) -> i64 {
    i64::try_from(at.0).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chain_core::Bytes;
    use jfr_format::schema::events::CoreInput;

    use super::*;

    #[test]
    fn a_limited_file_keeps_its_newest_chunks_and_says_once_that_old_ones_went() {
        const MOST: u64 = 1 << 20;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("limited.jfr");
        let mut output = FileOutput::open(&path, Instant::now(), Some(MOST)).unwrap();
        let mut notices = Vec::new();
        for number in 0..400_u64 {
            let event = CoreInput {
                sequence: i64::try_from(number).unwrap(),
                text: format!("number-{number}-{}", "x".repeat(8_000)),
                ..CoreInput::default()
            };
            output.emit(&Emission {
                at: Tick(number),
                what: Item::Event(Box::new(event.into())),
            });
            output.flush();
            notices.extend(output.take_notices());
        }
        output.close().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() as u64 <= MOST, "{}", bytes.len());
        let holds = |text: &str| {
            let mut windows = bytes.windows(text.len());
            windows.any(|window| window == text.as_bytes())
        };
        assert!(holds("number-399-") && !holds("number-0-"));
        assert_eq!(notices.len(), 1, "{notices:?}");
    }

    #[test]
    fn a_sample_says_when_its_object_was_allocated_and_what_the_heap_held() {
        let dir = tempfile::tempdir().unwrap();
        let mut output =
            FileOutput::open(&dir.path().join("sample.jfr"), Instant::now(), None).unwrap();
        let chain = CommittedChain {
            event: jfr_format::schema::events::ReferenceChain::default(),
            hops: Vec::new(),
            path: ChainPath::default(),
            thread: None,
            stack: None,
            sampled: Some((Tick(2), Bytes(40))),
            heap_used: Some(Bytes(1 << 20)),
        };
        output.emit(&Emission {
            at: Tick(10),
            what: Item::Chain(Box::new(chain)),
        });
        let known = output.known.values().next().unwrap();
        let sample = &known.sample;
        assert_eq!(
            (
                sample.allocation_ticks,
                sample.object_size,
                sample.heap_used
            ),
            (2, 40, 1 << 20)
        );
    }

    #[test]
    fn a_folder_that_goes_and_comes_back_is_told_once_and_costs_no_event() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("own.jfr");
        let mut output = FileOutput::open(&path, Instant::now(), None).unwrap();
        let emit = |output: &mut FileOutput| {
            output.emit(&Emission {
                at: Tick(1),
                what: Item::Event(Box::new(CoreInput::default().into())),
            });
            output.flush();
        };
        std::fs::remove_dir_all(&folder).unwrap();
        for _ in 0..3 {
            emit(&mut output);
        }
        let counters = output.counters();
        assert_eq!((counters.events_written, counters.events_pending), (0, 3));
        std::fs::create_dir(&folder).unwrap();
        emit(&mut output);
        let told = output.take_notices();
        let codes: Vec<_> = told.iter().map(|(code, _)| *code).collect();
        assert_eq!(
            codes,
            ["file-not-writing", "file-deleted", "file-writing-again"]
        );
        assert_eq!(output.counters().events_written, 4);
        output.close().unwrap();
        assert!(path.is_file());
    }

    #[test]
    fn the_length_of_an_array_at_the_end_is_the_samples() {
        let length = |text: &str| array_length(&ChainPath::parse(text).unwrap());
        assert_eq!(length("thread main -> .a long[] #7"), Some(7));
        assert_eq!(length("thread main -> .a long[]"), None);
        assert_eq!(length("thread main -> .a java.util.HashMap #7"), None);
        assert_eq!(length("thread main"), None);
    }

    #[test]
    fn a_chunk_ends_after_an_hour() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hours.jfr");
        let mut output = FileOutput::open(&path, Instant::now(), None).unwrap();
        let mut flushed_after = |minutes: u64| {
            output.origin -= Duration::from_secs(minutes * 60);
            output.emit(&Emission {
                at: Tick(1),
                what: Item::Event(Box::new(CoreInput::default().into())),
            });
            output.flush();
            output.counters().chunks
        };
        assert_eq!([0, 59, 2, 0].map(&mut flushed_after), [1, 1, 1, 2]);
    }

    #[test]
    fn a_chain_is_one_event_and_a_flush_adds_one_sample_of_every_chain() {
        let dir = tempfile::tempdir().unwrap();
        let mut output =
            FileOutput::open(&dir.path().join("chains.jfr"), Instant::now(), None).unwrap();
        for number in 1..=3 {
            let chain = CommittedChain {
                event: jfr_format::schema::events::ReferenceChain {
                    chain: number,
                    ..Default::default()
                },
                hops: vec![Default::default(); 10],
                path: ChainPath::default(),
                thread: None,
                stack: None,
                sampled: None,
                heap_used: None,
            };
            output.emit(&Emission {
                at: Tick(10),
                what: Item::Chain(Box::new(chain)),
            });
        }
        output.flush();
        assert_eq!(output.counters().events_written, 3 + 3);
        output.flush();
        assert_eq!(output.counters().events_written, 3 + 3);
    }
}
