//! Where the chunks of a file begin and end.

use jfr_format::header::{self, Header, HeaderError, MAGIC, State, offset};
use memchr::memmem;

use super::error::{Skipped, version_hint};

/// One chunk's place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    /// One past the last byte that belongs to the chunk and is in the file.
    pub(crate) end: usize,
    pub(crate) header: Header,
}

/// What splitting found.
#[derive(Debug, Default)]
pub(crate) struct Split {
    pub(crate) spans: Vec<Span>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) refused: Vec<Refused>,
}

/// A chunk of a version that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) start: usize,
    /// Major and minor.
    pub(crate) version: (u16, u16),
}

/// Splits a file into chunks. Looks at headers only, unless a header's size cannot be true.
pub(crate) fn split(file: &[u8]) -> Split {
    let mut split = Split::default();
    let mut ahead = Ahead::new(file);
    let mut at = 0;
    while at < file.len() {
        let end = match start_at(file, at) {
            Some(Start::Chunk(header)) => {
                let (end, note) = extent(file, at, &header, &mut ahead);
                split.chunk(at, end, header, note);
                end
            }
            Some(Start::Foreign(version, header)) => {
                let (end, _) = extent(file, at, &header, &mut ahead);
                split.refuse(at, end, version);
                end
            }
            None => {
                let next = ahead.next(at + 1);
                let copy = next.and_then(|(found, header)| lost(at, found, &header?));
                let damaged = file.get(at..).and_then(|rest| Header::parse(rest).ok());
                match (copy, damaged) {
                    (Some((start, header)), _) => {
                        split.garbage(at, start);
                        let (end, _) = extent(file, start, &header, &mut ahead);
                        let note = "the header is unusable; a copy inside the chunk was used";
                        split.chunk(start, end, header, Some(note.to_owned()));
                        end
                    }
                    (None, Some(header)) => {
                        let (end, note) = extent(file, at, &header, &mut ahead);
                        split.chunk(at, end, header, note);
                        split.note(at, clock_note(&header));
                        end
                    }
                    (None, None) => {
                        let found = next.map_or(file.len(), |(found, _)| found);
                        split.garbage(at, found);
                        found
                    }
                }
            }
        };
        at = end;
    }
    split
}

impl Split {
    fn chunk(&mut self, start: usize, end: usize, header: Header, note: Option<String>) {
        if let Some(what) = note {
            self.skipped.push(Skipped {
                chunk: Some(self.spans.len()),
                offset: end as u64,
                what,
            });
        }
        self.spans.push(Span { start, end, header });
    }

    /// Says something about the chunk added last.
    fn note(&mut self, start: usize, what: Option<String>) {
        self.skipped.extend(what.map(|what| Skipped {
            chunk: self.spans.len().checked_sub(1),
            offset: start as u64,
            what,
        }));
    }

    fn garbage(&mut self, start: usize, end: usize) {
        if start == end {
            return;
        }
        self.skipped.push(Skipped {
            chunk: None,
            offset: start as u64,
            what: format!("{} bytes that are no chunk", end - start),
        });
    }

    fn refuse(&mut self, start: usize, end: usize, version: (u16, u16)) {
        let (major, minor) = version;
        let hint = version_hint(major);
        self.skipped.push(Skipped {
            chunk: None,
            offset: start as u64,
            what: format!(
                "{} bytes: a chunk of format version {major}.{minor}{hint}, which cannot be read",
                end - start
            ),
        });
        self.refused.push(Refused { start, version });
    }
}

/// The end of the chunk at `at`, and what is wrong with its stated size.
fn extent(
    file: &[u8],
    at: usize,
    header: &Header,
    ahead: &mut Ahead<'_>,
) -> (usize, Option<String>) {
    let rest = file.len() - at;
    let stated = usize::try_from(header.size).unwrap_or(usize::MAX);
    let usable = (header::LEN..=rest).contains(&stated);
    if usable && (stated == rest || start_at(file, at + stated).is_some()) {
        return (at + stated, None);
    }
    // The size is not true, or something else follows: the next header bounds the chunk.
    let next = ahead.next_foreign_to(header, at + header::LEN);
    let next = next.map_or(file.len(), |(next, _)| next);
    let held = next - at;
    let finished = header.state == State::Finished;
    if usable && stated <= held {
        // Trailing bytes of a finished chunk are garbage in their own right; what follows the last
        // flush of a live chunk is walked as far as it is whole.
        return (if finished { at + stated } else { next }, None);
    }
    let note = if !finished {
        format!(
            "the chunk was still being written: its header says {} bytes, {held} are there",
            header.size
        )
    } else if stated > held && header.size != PLACEHOLDER {
        format!("the chunk is cut off: {held} of {stated} bytes are there")
    } else {
        format!(
            "the chunk was never finished: its header says {} bytes, {held} are there",
            header.size
        )
    };
    (next, Some(note))
}

/// The size that a JVM writes into the header of a chunk it has just begun.
const PLACEHOLDER: i64 = 1024 * 1024 * 1024;

/// What a header without a clock costs.
fn clock_note(header: &Header) -> Option<String> {
    let Header {
        start_nanos,
        ticks_per_second,
        ..
    } = header;
    (*start_nanos <= 0 || *ticks_per_second <= 0).then(|| {
        format!(
            "the header has no clock (start at {start_nanos} ns, {ticks_per_second} ticks a second): no time in the chunk is right"
        )
    })
}

/// What starts at a place where a chunk could.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Chunk(Header),
    /// A version that cannot be read: major and minor, and the header as if it could.
    Foreign((u16, u16), Header),
}

/// A header with a clock and a size that can be true: a magic inside other bytes rarely passes for one.
fn start_at(file: &[u8], at: usize) -> Option<Start> {
    let bytes = file.get(at..)?;
    let found = match Header::parse(bytes) {
        Ok(header) => Start::Chunk(header),
        Err(HeaderError::Version(major, minor)) if major <= 9 => {
            let mut known = *bytes.first_chunk::<{ header::LEN }>()?;
            known
                .get_mut(offset::MAJOR..offset::MINOR)?
                .copy_from_slice(&2_u16.to_be_bytes());
            Start::Foreign((major, minor), Header::parse(&known).ok()?)
        }
        Err(_) => return None,
    };
    let (Start::Chunk(header) | Start::Foreign(_, header)) = found;
    // The old format's header ends before its clock.
    let old = matches!(found, Start::Foreign((0, _), _));
    let clock = header.start_nanos > 0 && header.ticks_per_second > 0;
    (old || (header.size >= 0 && clock)).then_some(found)
}

/// Looks ahead for starts of chunks, and no place over twice: a file can be all headers that lie.
struct Ahead<'a> {
    file: &'a [u8],
    any: Option<Seen>,
    foreign: Option<(Key, Seen)>,
}

/// Start in nanoseconds and in ticks: what the copies of one chunk's header share.
type Key = (i64, i64);

/// Where a chunk starts, and its header if it can be read.
type Found = (usize, Option<Header>);

/// The first find from a place on.
#[derive(Clone, Copy)]
struct Seen {
    from: usize,
    found: Option<Found>,
}

impl Seen {
    /// Whether a search from there would find the same.
    fn holds(&self, from: usize) -> bool {
        from >= self.from && self.found.is_none_or(|(at, _)| at >= from)
    }
}

impl<'a> Ahead<'a> {
    fn new(file: &'a [u8]) -> Self {
        Self {
            file,
            any: None,
            foreign: None,
        }
    }

    /// See [`next_start`].
    fn next(&mut self, from: usize) -> Option<Found> {
        match self.any {
            Some(seen) if seen.holds(from) => seen.found,
            _ => {
                let found = next_start(self.file, from, None);
                self.any = Some(Seen { from, found });
                found
            }
        }
    }

    /// The same, for a start that is no copy of this header.
    fn next_foreign_to(&mut self, own: &Header, from: usize) -> Option<Found> {
        let key = (own.start_nanos, own.start_ticks);
        match self.foreign {
            Some((known, seen)) if known == key && seen.holds(from) => seen.found,
            _ => {
                let found = next_start(self.file, from, Some(own));
                self.foreign = Some((key, Seen { from, found }));
                found
            }
        }
    }
}

/// The next place from `from` on where a chunk starts, with its header if it can be read.
///
/// With every flush a JVM also writes the header into a checkpoint: inside the chunk that
/// `enclosing` heads, headers with its own start are such copies.
fn next_start(file: &[u8], from: usize, enclosing: Option<&Header>) -> Option<Found> {
    let rest = file.get(from..)?;
    memmem::find_iter(rest, &MAGIC).find_map(|found| {
        let at = from + found;
        match start_at(file, at)? {
            Start::Chunk(header) | Start::Foreign(_, header)
                if enclosing.is_some_and(|own| {
                    (own.start_nanos, own.start_ticks) == (header.start_nanos, header.start_ticks)
                        && !is_whole(file, at, &header)
                }) =>
            {
                None
            }
            // Minor versions mean nothing where a chunk is due; elsewhere they tell chance from a header.
            Start::Chunk(header) | Start::Foreign(_, header) if header.minor > 99 => None,
            Start::Chunk(header) => Some((at, Some(header))),
            Start::Foreign(..) => Some((at, None)),
        }
    })
}

/// Whether the header at `at` heads a whole chunk, whatever came before it: one that was cut off may
/// stand before itself, where a transfer was begun again.
fn is_whole(file: &[u8], at: usize, header: &Header) -> bool {
    let end = usize::try_from(header.size)
        .ok()
        .and_then(|size| at.checked_add(size));
    header.state == State::Finished
        && end.is_some_and(|end| end == file.len() || start_at(file, end).is_some())
}

/// If the header at `found` is the copy that a flush left inside a chunk whose own header is lost:
/// where, from `from` on, that chunk starts, and its header.
///
/// A copy is the last thing in its checkpoint, and its size reaches up to its own end.
fn lost(from: usize, found: usize, header: &Header) -> Option<(usize, Header)> {
    if header.state == State::Finished {
        return None;
    }
    let size = usize::try_from(header.size).ok()?;
    let start = (found + header::LEN).checked_sub(size)?;
    (start >= from && start < found).then_some((start, *header))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(start_nanos: i64, size: i64) -> Header {
        Header {
            major: 2,
            minor: 1,
            size,
            checkpoint: 0,
            metadata: 0,
            start_nanos,
            duration_nanos: 0,
            start_ticks: 500,
            ticks_per_second: 1_000,
            state: State::Finished,
            flags: 1,
        }
    }

    #[test]
    fn headers_that_lie_are_not_looked_at_again_for_each_other() {
        // As many looks ahead as headers: over and over to the end, this would take minutes.
        for lie in [header(0, 68), header(7, 68), header(0, 0), header(7, 0)] {
            let mut file = [&lie.to_bytes()[..], b"x"].concat().repeat(60_000);
            let end = file.len();
            file.extend(header(9, 68).to_bytes());
            let split = split(&file);
            let last = split.spans.last().map(|span| (span.start, span.end));
            assert_eq!(last, Some((end, end + header::LEN)));
        }
    }
}
