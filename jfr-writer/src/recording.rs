//! A recording file: what the agent holds.

use crate::chain::ChainSample;
use crate::chunk::Chunk;
use crate::clock::Clock;
use crate::copies::{self, Done};
use crate::disk::{Disk, DiskFile, RealDisk};
use crate::encoder::{self, Encoder};
use crate::error::{OpenError, WriteError};
use crate::name;
use crate::notice::Notice;
use jfr_format::header;
use jfr_format::path::ChainPath;
use jfr_format::schema::{AnyEvent, Event};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// Limits of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Length of a chunk while it is live, bytes; the file is sparse.
    pub chunk_size: u64,
    /// Ticks of the recording's clock after which a chunk is closed although it is not full; `None` for never.
    pub chunk_ticks: Option<i64>,
    /// Most bytes of the file: the oldest chunks go first; `None` for no limit.
    pub max_size: Option<u64>,
    /// Most bytes that wait in memory while the file cannot be written; later events are dropped.
    pub memory_cap: usize,
    /// Whether every step waits for the device. Without it a power cut can lose the file; `kill -9` cannot.
    pub sync: bool,
    /// Whether a `jdk.OldObjectSample` has the object's size. Those of JDK 17 have not, and a file in which some have
    /// and some have not shows them as two types in JDK Mission Control: false for chunks that follow a JDK 17's.
    pub object_size: bool,
}

impl Default for Options {
    /// Chunks of 2 MiB or an hour of ns ticks, no limit of the file, 4 MiB in memory, every step on the device.
    fn default() -> Self {
        Self {
            chunk_size: 2 << 20,
            chunk_ticks: Some(3_600_000_000_000),
            max_size: None,
            memory_cap: 4 << 20,
            sync: true,
            object_size: true,
        }
    }
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events that are in the file.
    pub events_written: u64,
    /// Events that wait for a flush.
    pub events_pending: u64,
    /// Events that were given up because too much waited.
    pub events_dropped: u64,
    /// Bytes written, copies of earlier chunks included.
    pub bytes_written: u64,
    /// Flushes that reached the file.
    pub flushes: u64,
    /// Flushes that did not.
    pub failures: u64,
    /// Chunks begun.
    pub chunks: u64,
    /// Chunks given up to keep the file below its limit.
    pub chunks_dropped: u64,
}

/// How a recording ended.
#[derive(Debug)]
pub struct Closed {
    /// Where the file is.
    pub path: PathBuf,
    /// Final counts.
    pub counters: Counters,
    /// Why the last events are missing or the file kept its filler; it is readable all the same.
    pub error: Option<WriteError>,
}

/// An open recording. It belongs to one thread at a time; nothing in it blocks on another thread.
pub struct Recording<D: Disk = RealDisk> {
    disk: D,
    path: PathBuf,
    clock: Clock,
    options: Options,
    encoder: Encoder,
    file: Option<D::File>,
    live: Option<Chunk>,
    done: Vec<Done>,
    /// Bytes of the chunks that are done which wait for a copy; every event asks for them.
    sealed_len: usize,
    last_start_ticks: i64,
    counters: Counters,
    notices: Vec<Notice>,
    failing: bool,
    /// Whether an addition to the live chunk failed: some of its steps may be in the file.
    half_added: bool,
}

impl Recording<RealDisk> {
    /// Opens a recording at `path`; `now` is its first instant.
    ///
    /// A file that another living process writes is left alone: the recording then has a suffix in its
    /// name, and a [`Notice`] says so. Any other file of that name is replaced.
    ///
    /// # Errors
    /// [`OpenError`] when no file can be made there.
    pub fn open(path: &Path, clock: Clock, now: i64, options: Options) -> Result<Self, OpenError> {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent.filter(|parent| !parent.is_dir()) {
            return Err(OpenError::NoFolder(parent.to_path_buf()));
        }
        // A link's target is written, not the link replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if path.symlink_metadata().is_ok_and(|there| !there.is_file()) {
            return Err(OpenError::NoFile(path));
        }
        Self::open_on(RealDisk, &path, clock, now, options, random_seed())
    }
}

/// 64 bits that differ from process to process.
fn random_seed() -> u64 {
    std::collections::hash_map::RandomState::new()
        .build_hasher()
        .finish()
}

impl<D: Disk> Recording<D> {
    /// Opens a recording on any [`Disk`]; `seed` chooses the type ids.
    ///
    /// # Errors
    /// [`OpenError`] when no file can be made there.
    pub fn open_on(
        mut disk: D,
        path: &Path,
        clock: Clock,
        now: i64,
        options: Options,
        seed: u64,
    ) -> Result<Self, OpenError> {
        let create = |source| OpenError::Create {
            path: path.to_path_buf(),
            source,
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let claim = name::claim(&mut disk, path).map_err(create)?;
            let Some((free, file)) = claim else {
                return Err(OpenError::Busy(path.to_path_buf()));
            };
            let mut recording = Self {
                disk,
                path: free,
                clock,
                options,
                encoder: Encoder::new(seed, options.object_size),
                file,
                live: None,
                done: Vec::new(),
                sealed_len: 0,
                last_start_ticks: i64::MIN,
                counters: Counters::default(),
                notices: Vec::new(),
                failing: false,
                half_added: false,
            };
            match recording.begin_chunk(now) {
                Ok(()) => {
                    if recording.path != path {
                        let actual = recording.path.clone();
                        recording.notices.push(Notice::Suffixed {
                            wanted: path.to_path_buf(),
                            actual,
                        });
                    }
                    return Ok(recording);
                }
                // Another process took the name in between.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 3 => {
                    disk = recording.disk;
                }
                Err(error) => return Err(create(error)),
            }
        }
    }

    /// Where the file is; it differs from the wanted name when that was taken.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What has happened so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            events_pending: self.waiting_events(),
            ..self.counters
        }
    }

    fn waiting_events(&self) -> u64 {
        let sealed = self.done.iter().map(|done| done.waiting).sum::<u64>();
        sealed + self.encoder.pending_events()
    }

    /// Bytes that wait in memory for the file.
    fn waiting_len(&self) -> usize {
        self.encoder.pending_len() + self.sealed_len
    }

    /// What the user should be told, each once; empties the list.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// The clock that ticks belong to.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Adds an event. It waits in memory for [`Recording::flush`]; false when too much waits already.
    pub fn emit<E: Event>(&mut self, ticks: i64, event: &E) -> bool {
        self.add(ticks, |encoder| encoder::put(encoder, ticks, event))
    }

    /// Adds an event of any type, as [`Recording::emit`] does.
    pub fn emit_any(&mut self, ticks: i64, event: &AnyEvent) -> bool {
        self.add(ticks, |encoder| {
            encoder.event(ticks, event.schema(), |fields| event.visit(fields));
        })
    }

    /// Adds a chain as a `jdk.OldObjectSample` with linked constants, for the tools that know that event.
    pub fn emit_chain(&mut self, ticks: i64, path: &ChainPath, sample: &ChainSample) -> bool {
        self.add(ticks, |encoder| encoder.chain(ticks, path, sample))
    }

    fn add(&mut self, ticks: i64, put: impl Fn(&mut Encoder)) -> bool {
        if self.waiting_len() >= self.options.memory_cap {
            self.counters.events_dropped += 1;
            return false;
        }
        let mark = self.encoder.mark();
        put(&mut self.encoder);
        let Some(live) = &self.live else { return true };
        if live.has_room_for(self.encoder.pending_len()) {
            return true;
        }
        // The event belongs into the next chunk, and its constants with it.
        self.encoder.roll_back(&mark);
        if self.encoder.pending_events() == 0 || self.write_pending(ticks).is_ok() {
            self.end_chunk(ticks, 0);
        } else {
            self.seal_chunk(ticks);
        }
        put(&mut self.encoder);
        true
    }

    /// Puts everything that waits into the file, on the device when [`Options::sync`] says so.
    ///
    /// After `Ok` the events survive `kill -9`.
    ///
    /// # Errors
    /// [`WriteError`]; the events then keep waiting, and the file reads as before.
    pub fn flush(&mut self, now: i64) -> Result<(), WriteError> {
        let result = self.flush_to_disk(now);
        match &result {
            Ok(()) if self.failing => {
                self.failing = false;
                self.notices.push(Notice::WritingAgain(self.path.clone()));
            }
            Err(error) => {
                self.counters.failures += 1;
                if !self.failing {
                    self.failing = true;
                    self.notices.push(Notice::NotWriting(error.to_string()));
                }
            }
            Ok(()) => {}
        }
        result
    }

    fn flush_to_disk(&mut self, now: i64) -> Result<(), WriteError> {
        self.follow_the_name().map_err(|error| self.error(error))?;
        if self.encoder.pending_events() > 0 {
            self.write_pending(now).map_err(|error| self.error(error))?;
            self.counters.flushes += 1;
        }
        let expired = |live: &Chunk| {
            self.options
                .chunk_ticks
                .is_some_and(|most| now.saturating_sub(live.start_ticks) >= most)
        };
        if self.live.as_ref().is_some_and(expired) {
            self.end_chunk(now, 0);
        }
        Ok(())
    }

    fn error(&self, source: io::Error) -> WriteError {
        WriteError::new(&self.path, self.waiting_len(), source)
    }

    /// Writes what waits into the live chunk, or begins one with it.
    fn write_pending(&mut self, now: i64) -> io::Result<()> {
        self.undo_half_added()?;
        let addition = match &self.live {
            Some(live) => live.add(&self.encoder, now, &self.clock),
            None => return self.begin_chunk(now),
        };
        let (Some((after, steps)), Some(file)) = (addition, self.file.as_mut()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        self.half_added = true;
        self.counters.bytes_written += copies::make(file, &steps, self.options.sync)?;
        self.half_added = false;
        self.live = Some(after);
        self.counters.events_written += self.encoder.pending_events();
        self.encoder.clear();
        Ok(())
    }

    /// Takes back what an addition that failed may have left in the live chunk.
    fn undo_half_added(&mut self) -> io::Result<()> {
        if let (true, Some(live), Some(file)) = (self.half_added, &self.live, self.file.as_mut()) {
            copies::make(file, &live.undo(&self.encoder), self.options.sync)?;
        }
        self.half_added = false;
        Ok(())
    }

    /// Ends the live chunk with what waits for it; that waits on, until a copy of the file is made.
    ///
    /// It cannot wait for another chunk: its constants are in this one.
    fn seal_chunk(&mut self, now: i64) {
        let Some(live) = self.live.take() else { return };
        let (after, mut end) = live.extended(&self.encoder, now);
        let (head, tail) = after.compacted(&self.encoder, &self.clock, now, 0);
        end.extend(tail);
        self.sealed_len += end.len();
        self.done.push(Done {
            at: live.at,
            used: live.used,
            compact: Some((Box::new(head), end)),
            waiting: self.encoder.pending_events(),
        });
        self.half_added = false;
        self.encoder.clear();
        self.encoder.next_chunk();
    }

    /// The live chunk takes no more; its filler goes with the next copy of the file.
    fn end_chunk(&mut self, now: i64, flags: u16) {
        let Some(live) = self.live.take() else { return };
        let (head, tail) = live.compacted(&self.encoder, &self.clock, now, flags);
        self.done.push(Done {
            at: live.at,
            used: live.used,
            compact: Some((Box::new(head), tail)),
            waiting: 0,
        });
        self.half_added = false;
        self.encoder.next_chunk();
    }

    /// Makes a copy of the file with one more chunk, which holds everything that waits.
    fn begin_chunk(&mut self, now: i64) -> io::Result<()> {
        self.drop_old_chunks();
        let at = self.done.iter().map(Done::len).sum();
        // No event lies before its chunk, and no two chunks start at the same instant.
        let first = self
            .encoder
            .earliest()
            .map_or(now, |earliest| earliest.min(now));
        let start = first.max(self.last_start_ticks.saturating_add(self.one_nano()));
        let (chunk, bytes) = Chunk::create(
            &self.encoder,
            &self.clock,
            at,
            self.options.chunk_size,
            start,
            now.max(start),
        );
        self.publish(self.file.is_none(), |_, file| {
            file.write_at(at, &bytes)?;
            file.set_len(at + chunk.size)
        })?;
        self.counters.bytes_written += bytes.len() as u64;
        self.live = Some(chunk);
        self.last_start_ticks = start;
        self.counters.chunks += 1;
        self.counters.events_written += self.encoder.pending_events();
        self.encoder.clear();
        Ok(())
    }

    /// Ticks that move a chunk's start by at least a nanosecond: no two chunks may start at the same one.
    const fn one_nano(&self) -> i64 {
        self.clock.ticks_per_second / 1_000_000_000 + 1
    }

    fn drop_old_chunks(&mut self) {
        let Some(most) = self.options.max_size else {
            return;
        };
        let mut total: u64 = self.done.iter().map(Done::len).sum::<u64>() + self.options.chunk_size;
        let mut dropped = 0;
        while total > most && !self.done.is_empty() {
            let oldest = self.done.remove(0);
            total -= oldest.len();
            self.counters.events_dropped += oldest.waiting;
            self.sealed_len = self.sealed_len.saturating_sub(oldest.waiting_len());
            dropped += 1;
        }
        self.counters.chunks_dropped += dropped;
        if dropped > 0 && self.counters.chunks_dropped == dropped {
            self.notices.push(Notice::ChunksDropped(self.path.clone()));
        }
    }

    /// Makes a new file with the chunks that are done and what `finish` adds from the present one, and gives it
    /// the recording's name: over the present file, or (`fresh`) only while no file has it.
    fn publish(
        &mut self,
        fresh: bool,
        finish: impl FnOnce(Option<&D::File>, &mut D::File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (temporary, mut file) = name::temporary(&mut self.disk, &self.path)?;
        let publish = || {
            self.counters.bytes_written +=
                copies::copy_done(self.file.as_ref(), &self.done, &mut file)?;
            finish(self.file.as_ref(), &mut file)?;
            // A name must never lead to a file whose content is not there yet, whatever the options say.
            file.sync()?;
            if fresh {
                self.disk.rename_new(&temporary, &self.path)
            } else {
                self.disk.rename(&temporary, &self.path)
            }
        };
        if let Err(error) = publish() {
            _ = self.disk.remove(&temporary);
            return Err(error);
        }
        self.sealed_len = 0;
        let mut at = 0;
        for done in &mut self.done {
            done.used = done.len();
            done.compact = None;
            self.counters.events_written += std::mem::take(&mut done.waiting);
            done.at = at;
            at += done.used;
        }
        self.file = Some(file);
        Ok(())
    }

    /// Notices when the file has lost its name, and makes it anew from the open one.
    fn follow_the_name(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let ours = file.id()?;
        let path = self.path.clone();
        let notice = match self.disk.id_at(&path)? {
            Some(there) if there == ours => return Ok(()),
            Some(_) => {
                let Some(actual) = name::beside(&self.disk, &path)? else {
                    return Err(io::ErrorKind::AlreadyExists.into());
                };
                self.path.clone_from(&actual);
                let path = path.clone();
                Notice::Replaced { path, actual }
            }
            None => Notice::Deleted(path.clone()),
        };
        if let Err(error) = self.make_anew() {
            // It is not there yet: the next flush looks again.
            self.path = path;
            return Err(error);
        }
        self.notices.push(notice);
        Ok(())
    }

    /// Gives the recording's name, which no file has, to a copy of the open file.
    fn make_anew(&mut self) -> io::Result<()> {
        self.undo_half_added()?;
        let live = self.live;
        self.publish(true, |old, new| match (old, live) {
            (Some(old), Some(live)) => {
                copies::copy(old, live.at, new, live.at, live.used + crate::chunk::HEAD)?;
                new.set_len(live.at + live.size)
            }
            _ => Ok(()),
        })
    }

    /// Writes what waits and replaces the file by a compact copy: no filler, the last chunk marked as such.
    ///
    /// A failure is in the answer; the file then stays as it is, readable and with its filler.
    pub fn close(mut self, now: i64) -> Closed {
        let mut error = self.flush(now).err();
        self.end_chunk(now, header::flag::FINAL_CHUNK);
        if error.is_none() {
            error = self
                .publish(false, |_, _| Ok(()))
                .map_err(|source| self.error(source))
                .err();
        }
        self.counters.events_pending = self.waiting_events();
        Closed {
            path: self.path,
            counters: self.counters,
            error,
        }
    }
}
