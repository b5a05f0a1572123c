//! One chunk: its types, its clock, its constants and its events.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use jfr_format::header::{self, Header, State};

use super::clock::Clock;
use super::cursor::Cursor;
use super::error::Skipped;
use super::event::Event;

use super::keys::{VisitKey, visit_keys};
use super::known::KnownTypes;
use super::metadata::{self, Metadata};
use super::pools::Pools;
use super::resync::Resync;
use super::skip::skip_value;
use super::split::Span;
use super::types::{Type, Types};
use super::value::{Struct, Value, constant};
use super::walk::{Head, METADATA_ID, Run, Tally, Walk, head};

/// One chunk of a recording. Types, ids, constants and ticks mean nothing outside it.
#[derive(Debug)]
pub struct Chunk<'r> {
    pub(super) bytes: &'r [u8],
    index: usize,
    offset: u64,
    header: Header,
    pub(crate) types: Arc<Types<'r>>,
    clock: Clock,
    pub(crate) walk: Walk,
    /// The body of the metadata event that the types come from.
    metadata: Option<Range<usize>>,
    skipped: Vec<Skipped>,
    pools: OnceLock<Constants>,
}

#[derive(Debug)]
struct Constants {
    pools: Pools,
    skipped: Vec<Skipped>,
}

impl<'r> Chunk<'r> {
    /// Reads the types of a chunk and walks its events; constants wait until one is needed.
    ///
    /// Chunks that declare the same types share them through `known`.
    pub(crate) fn read(file: &'r [u8], index: usize, span: &Span, known: &KnownTypes<'r>) -> Self {
        let bytes = file.get(span.start..span.end).unwrap_or(&[]);
        let header = span.header;
        let mut skipped = Skips {
            chunk: index,
            offset: span.start as u64,
            list: Vec::new(),
        };
        let found = find_metadata(bytes, &header, known, &mut skipped);
        let (metadata, types) = match found {
            Some((found, types)) => (Some(found.body..found.end), types),
            None => (None, Arc::default()),
        };
        let walk = Walk::new(bytes, header::LEN, Some((&types, resync(&header, bytes))));
        for gap in &walk.gaps {
            let len = gap.end - gap.start;
            let kept = if gap.checkpoint {
                "; it holds constants, which are used as far as they are whole"
            } else {
                ""
            };
            skipped.add(gap.start, format!("{len} bytes: {}{kept}", gap.why));
        }
        if let Some(lost) = undeclared(&walk, types.list.is_empty()) {
            skipped.add(header::LEN, lost);
        }
        Self {
            bytes,
            index,
            offset: span.start as u64,
            clock: Clock::new(header),
            header,
            types,
            walk,
            metadata,
            skipped: skipped.list,
            pools: OnceLock::new(),
        }
    }

    /// Its position in the file, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Offset of its first byte in the (decompressed) file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of it that are in the file.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the file holds nothing of it.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The header as written.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The clock that its ticks belong to.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The types it declares.
    pub fn types(&self) -> &Types<'r> {
        &self.types
    }

    /// Milliseconds that the recorded machine's local time was ahead of UTC.
    pub fn gmt_offset_millis(&self) -> i64 {
        self.types.gmt_offset_millis
    }

    /// Its events in the order of the bytes: roughly, but not exactly, that of time.
    pub fn events(&self) -> Events<'_> {
        Events {
            chunk: self,
            runs: self.walk.runs.iter(),
            at: 0,
            end: 0,
        }
    }

    /// Its events of the types that `wanted` says yes to, in the order of the bytes.
    ///
    /// `wanted` is asked once for each type that has events. Others are passed over by their size,
    /// and behind the last wanted event nothing is looked at.
    ///
    /// ```
    /// use jfr_chains_analyzer::reader::Chunk;
    ///
    /// fn largest_heap(chunk: &Chunk<'_>) -> Option<i64> {
    ///     let heaps = chunk.events_of(|of| of.name() == "jdk.GCHeapSummary");
    ///     heaps.filter_map(|event| event.i64("heapUsed")).max()
    /// }
    /// ```
    pub fn events_of(&self, wanted: impl Fn(&Type<'r>) -> bool) -> impl Iterator<Item = Event<'_>> {
        let mut is_wanted = vec![false; self.types.list.len()];
        let mut left = 0;
        for ((declared, tally), is_wanted) in self
            .types
            .list
            .iter()
            .zip(&self.walk.counts)
            .zip(&mut is_wanted)
        {
            *is_wanted = tally.events > 0 && wanted(declared);
            left += if *is_wanted { tally.events } else { 0 };
        }
        let mut events = self.events();
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            events.find(|event| is_wanted.get(event.type_index()) == Some(&true))
        })
    }

    /// The event that [`Event::file_offset`] says starts there.
    pub fn event_at(&self, file_offset: u64) -> Option<Event<'_>> {
        let at = usize::try_from(file_offset.checked_sub(self.offset)?).ok()?;
        // Damage can cut a chunk into as many runs as it has events.
        let behind = self.walk.runs.partition_point(|run| run.start <= at);
        let run = self.walk.runs.get(behind.checked_sub(1)?)?;
        if at >= run.end {
            return None;
        }
        self.event_in(at).and_then(|(_, event)| event)
    }

    /// The end of what starts at `at`, and the event if it is one of a declared type.
    #[inline]
    fn event_in(&self, at: usize) -> Option<(usize, Option<Event<'_>>)> {
        let found = head(self.bytes, at).ok()?;
        let event = || {
            let index = self.types.event_index(found.type_id)?;
            let declared = self.types.at(index)?;
            let body = Struct::new(self, declared, found.body, found.end, None);
            Some(Event::new(body, index, found.at, found.end - found.at))
        };
        Some((found.end, event()))
    }

    /// How many events of each type it holds; types without events are left out.
    pub fn counts(&self) -> impl Iterator<Item = (&Type<'r>, Tally)> {
        let counted = self.types.list.iter().zip(&self.walk.counts);
        counted.filter_map(|(declared, &tally)| (tally.events > 0).then_some((declared, tally)))
    }

    /// Events whose type the metadata does not declare, by type id: passed over by their size.
    pub fn undeclared(&self) -> impl Iterator<Item = (i64, Tally)> {
        let counted = self.walk.undeclared.iter().map(|(&id, &tally)| (id, tally));
        counted.filter(|(_, tally)| tally.events > 0)
    }

    /// How many events of declared types it holds.
    pub fn event_count(&self) -> u64 {
        self.walk.total()
    }

    /// The constant of this type id and key, or null.
    pub fn constant(&self, type_id: i64, key: i64) -> Value<'_> {
        match self.types.by_id.get(&type_id) {
            Some(&index) => constant(self, index, key),
            None => Value::Null,
        }
    }

    /// The constants of a type, each with its key and bytes, in the order of the file.
    pub fn pool(&self, type_id: i64) -> impl Iterator<Item = (i64, &'r [u8])> {
        let index = self.types.by_id.get(&type_id).copied();
        let keys = self.pools().of_type(type_id);
        keys.into_iter().filter_map(move |(key, at)| {
            let mut cursor = Cursor::new(self.bytes, at);
            skip_value(&self.types, index?, &mut cursor).ok()?;
            Some((key, self.bytes.get(at..cursor.at())?))
        })
    }

    /// Whether its pools hold a constant of this type id and key.
    pub fn has_constant(&self, type_id: i64, key: i64) -> bool {
        self.pools().find(type_id, key).is_some()
    }

    /// Visits every key that the constants of a type hold.
    pub(crate) fn visit_constant_keys(&self, of: &Type<'_>, visit: &mut VisitKey<'_>) {
        for (_, at) in self.pools().of_type(of.id) {
            let mut cursor = Cursor::new(self.bytes, at);
            // Constants in a pool have been passed over once: they are whole.
            let _ = visit_keys(&self.types, of, &mut cursor, visit);
        }
    }

    /// The body of the metadata event that its types come from.
    pub(crate) fn metadata_body(&self) -> Option<&'r [u8]> {
        self.bytes.get(self.metadata.clone()?)
    }

    /// How many constants its pools hold. Reads them if nothing has yet.
    pub fn constant_count(&self) -> usize {
        self.pools().len()
    }

    /// What could not be read of its header, metadata and events; once constants were needed,
    /// also what could not be read of them.
    pub fn skipped(&self) -> impl Iterator<Item = &Skipped> {
        let constants = self.pools.get().map(|constants| &constants.skipped);
        self.skipped.iter().chain(constants.into_iter().flatten())
    }

    pub(crate) fn bytes(&self) -> &'r [u8] {
        self.bytes
    }

    pub(crate) fn pools(&self) -> &Pools {
        &self.pools.get_or_init(|| self.read_constants()).pools
    }

    fn read_constants(&self) -> Constants {
        let mut pools = Pools::default();
        let mut skipped = Skips {
            chunk: self.index,
            offset: self.offset,
            list: Vec::new(),
        };
        for checkpoint in &self.walk.checkpoints {
            let added = pools.add(&self.types, self.bytes, checkpoint.body, checkpoint.end);
            if let Err(error) = added {
                let name = error
                    .type_id
                    .and_then(|id| self.types.by_id(id))
                    .map_or(String::new(), |declared| format!(" of {}", declared.name));
                let lost = checkpoint.end.saturating_sub(error.at);
                skipped.add(
                    error.at,
                    format!("{lost} bytes of constants{name}: {}", error.why),
                );
            }
        }
        Constants {
            pools,
            skipped: skipped.list,
        }
    }
}

/// The events of a chunk, in the order of its bytes.
#[derive(Debug, Clone)]
pub struct Events<'c> {
    chunk: &'c Chunk<'c>,
    runs: std::slice::Iter<'c, Run>,
    at: usize,
    end: usize,
}

impl<'c> Iterator for Events<'c> {
    type Item = Event<'c>;

    #[inline]
    fn next(&mut self) -> Option<Event<'c>> {
        let chunk = self.chunk;
        loop {
            if self.at >= self.end {
                let run = self.runs.next()?;
                self.at = run.start;
                self.end = run.end;
            }
            // The walk has seen every head of a run.
            let (end, event) = chunk.event_in(self.at).unwrap_or((self.end, None));
            self.at = end;
            if event.is_some() {
                return event;
            }
        }
    }
}

/// One sentence about all events of undeclared types: a chunk without metadata has thousands.
fn undeclared(walk: &Walk, all: bool) -> Option<String> {
    let mut sum = Tally::default();
    let mut ids: Vec<i64> = walk.undeclared.keys().copied().collect();
    for tally in walk.undeclared.values() {
        sum.events += tally.events;
        sum.bytes += tally.bytes;
    }
    if sum.events == 0 {
        return None;
    }
    let Tally { events, bytes } = sum;
    if all {
        return Some(format!("{events} events ({bytes} bytes) without a type"));
    }
    ids.sort_unstable();
    let more = ids.len().saturating_sub(8);
    let mut shown: Vec<String> = ids.iter().take(8).map(i64::to_string).collect();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    let shown = shown.join(", ");
    Some(format!(
        "{events} events ({bytes} bytes) of types that the metadata does not declare: {shown}"
    ))
}

pub(super) fn resync(header: &Header, bytes: &[u8]) -> Resync {
    // Events may have begun before the chunk, and headers of live chunks know no duration.
    let day = header.ticks_per_second.max(1).saturating_mul(86_400);
    let nanos = i128::from(header.duration_nanos.max(0));
    let ticks = nanos * i128::from(header.ticks_per_second.max(1)) / 1_000_000_000;
    let ticks = i64::try_from(ticks).unwrap_or(i64::MAX);
    let earliest = header.start_ticks.saturating_sub(day);
    let latest = header.start_ticks.saturating_add(ticks).saturating_add(day);
    Resync::new(bytes.len(), earliest, latest)
}

/// The newest metadata event and what it declares: where the header says, or else wherever one can
/// be found.
fn find_metadata<'r>(
    bytes: &'r [u8],
    header: &Header,
    known: &KnownTypes<'r>,
    skipped: &mut Skips,
) -> Option<(Head, Arc<Types<'r>>)> {
    let stated = usize::try_from(header.metadata).ok();
    let stated = stated
        .filter(|&at| at >= header::LEN)
        .and_then(|at| head(bytes, at).ok())
        .filter(|found| found.type_id == METADATA_ID);
    if let Some(found) = stated
        && let Some(body) = bytes.get(found.body..found.end)
    {
        if let Some(types) = known.find(body) {
            return Some((found, types));
        }
        let metadata = metadata::read(body);
        if metadata.broken.is_none() {
            let types = Arc::new(metadata.types);
            known.keep(body, &types);
            return Some((found, types));
        }
    }
    let header_at = usize::try_from(header.metadata).unwrap_or(0);
    let mut reason = match header.metadata {
        0 => "the header knows no metadata event".to_owned(),
        _ if header_at >= bytes.len() => {
            format!("the metadata event at {header_at} of the chunk is not in the file")
        }
        _ => format!("no readable metadata event at {header_at} of the chunk"),
    };
    if !header.has_compressed_ints() {
        // Chunks that read in spite of the flag are read: the JDK's tools do not look at it.
        reason.push_str("; the header says that integers have a fixed width, which no JVM writes and this reader does not know");
    }
    let walked = Walk::new(bytes, header::LEN, None);
    let found = walked
        .metadata
        .iter()
        .rev()
        .filter_map(|found| Some((*found, read_metadata(bytes, found)?)))
        .find(|(_, metadata)| metadata.broken.is_none())
        .or_else(|| search_metadata(bytes));
    match &found {
        Some((used, _)) => reason.push_str(&format!("; the one at {} was used", used.at)),
        None => reason.push_str("; without one no event can be read"),
    }
    if header.state == State::Finished || found.is_none() {
        skipped.add(header_at.min(bytes.len()), reason);
    }
    found.map(|(head, metadata)| (head, Arc::new(metadata.types)))
}

fn read_metadata<'r>(bytes: &'r [u8], found: &Head) -> Option<Metadata<'r>> {
    let body = bytes.get(found.body..found.end)?;
    Some(metadata::read(body))
}

/// The last whole metadata event anywhere in the bytes, found by what it must contain.
fn search_metadata(bytes: &[u8]) -> Option<(Head, Metadata<'_>)> {
    // Every metadata event holds this name once in its string table, near its start.
    let needle: &[u8] = b"jdk.jfr.Event";
    let mut best = None;
    // Hostile bytes can make every position look like metadata for long.
    let mut work = bytes.len().saturating_mul(16).saturating_add(1 << 16);
    for name_at in memchr::memmem::find_iter(bytes, needle).take(64) {
        // The table's strings before it are few hundred kilobytes at the very most.
        let earliest = name_at.saturating_sub(1 << 18).max(header::LEN);
        for at in (earliest..name_at).rev() {
            let Ok(found) = head(bytes, at) else { continue };
            if found.type_id != METADATA_ID || found.end <= name_at {
                continue;
            }
            let Some(metadata) = read_metadata(bytes, &found) else {
                continue;
            };
            if metadata.broken.is_none() {
                best = Some((found, metadata));
                break;
            }
            work = work.saturating_sub(metadata.read + 64);
            if work == 0 {
                return best;
            }
        }
    }
    best
}

/// Collects what one chunk lost.
pub(crate) struct Skips {
    chunk: usize,
    offset: u64,
    list: Vec<Skipped>,
}

impl Skips {
    fn add(&mut self, at: usize, what: String) {
        self.list.push(Skipped {
            chunk: Some(self.chunk),
            offset: self.offset + at as u64,
            what,
        });
    }
}
