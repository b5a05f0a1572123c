//! One chunk of our own: its bytes when it is new, and the steps that add a segment to it.
//!
//! A chunk is complete at every instant. Behind its last event one *filler* event reaches to the
//! chunk's end; readers skip it. A segment is written inside the filler, where nobody looks, together with
//! the head of a shorter filler behind it; then the header's checkpoint offset is set; then the segment's first
//! eight bytes replace the old filler's head, which reveals it. A cut between any two writes leaves a file that
//! reads as before or as after. An eight-byte head never crosses a [`SECTOR`], so it is never half there.

use crate::clock::Clock;
use crate::encoder::{Encoder, SHORTEST_FILLER};
use jfr_format::header::{self, Header, State};
use jfr_format::{ids, varint};

/// Bytes that the system writes whole or not at all.
const SECTOR: u64 = 512;

/// Bytes of a filler's head: size and type id, four each.
pub(crate) const HEAD: u64 = 8;

/// Longest chunk, bytes: a filler's size has 28 bits.
pub(crate) const LONGEST: u64 = (1 << 28) - 1;

/// Chunks start at multiples of it, so that no long of a header crosses a sector.
const ALIGNMENT: u64 = 8;

/// Our metadata event follows the header.
const METADATA_AT: i64 = header::LEN as i64;

/// Where a chunk of ours stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    /// Offset in its file.
    pub(crate) at: u64,
    /// Length with the filler.
    pub(crate) size: u64,
    /// Length without it; equal to `size` when there is none.
    pub(crate) used: u64,
    /// Offset of the newest checkpoint, from the chunk's start.
    checkpoint: u64,
    /// Its first instant.
    pub(crate) start_ticks: i64,
}

/// One write of an addition; the order counts.
pub(crate) struct Step {
    /// Offset in the file.
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
    /// Whether the next step may only be made when this one is on the device.
    pub(crate) sync: bool,
}

impl Chunk {
    /// A chunk with everything that waits in `encoder`, and its bytes; the rest up to `size` is zero.
    ///
    /// It is as long as `wanted`, or longer when that is too short for what waits.
    pub(crate) fn create(
        encoder: &Encoder,
        clock: &Clock,
        at: u64,
        wanted: u64,
        start_ticks: i64,
        now: i64,
    ) -> (Self, Vec<u8>) {
        let mut bytes = vec![0; header::LEN];
        bytes.extend(encoder.types().metadata_event(start_ticks));
        let base = bytes.len();
        let plain = encoder
            .segment(now, ids::checkpoint_mask::STATICS, 0, |_| 0)
            .0
            .len();
        let gap = gap_before_head(at + (base + plain) as u64);
        let (segment, checkpoint) = encoder.segment(now, ids::checkpoint_mask::STATICS, gap, |_| 0);
        bytes.extend(segment);
        let used = bytes.len() as u64;
        let chunk = Self {
            at,
            size: wanted.max(used + HEAD).min(LONGEST.max(used + HEAD)),
            used,
            checkpoint: (base + checkpoint) as u64,
            start_ticks,
        };
        bytes.extend(chunk.filler_head(encoder, used));
        bytes.splice(..header::LEN, chunk.header(clock, now, 0).to_bytes());
        (chunk, bytes)
    }

    /// Whether a segment of at most `len` bytes fits.
    pub(crate) const fn has_room_for(&self, len: usize) -> bool {
        self.size - self.used >= len as u64 + HEAD + 2 * SHORTEST_FILLER as u64 + HEAD
    }

    /// What waits in `encoder` as the bytes that follow this chunk's last event, and the chunk with them.
    pub(crate) fn extended(&self, encoder: &Encoder, now: i64) -> (Self, Vec<u8>) {
        let previous = |at: usize| {
            let here = self.used + at as u64;
            self.checkpoint.cast_signed() - here.cast_signed()
        };
        let mask = ids::checkpoint_mask::FLUSH;
        let plain = encoder.segment(now, mask, 0, previous).0.len();
        let gap = gap_before_head(self.at + self.used + plain as u64);
        let (segment, at) = encoder.segment(now, mask, gap, previous);
        let after = Self {
            used: self.used + segment.len() as u64,
            checkpoint: self.used + at as u64,
            ..*self
        };
        (after, segment)
    }

    /// The writes that add what waits in `encoder`, and the chunk afterwards.
    ///
    /// `None` when it does not fit.
    pub(crate) fn add(
        &self,
        encoder: &Encoder,
        now: i64,
        clock: &Clock,
    ) -> Option<(Self, [Step; 4])> {
        let (after, segment) = self.extended(encoder, now);
        if after.used + HEAD > after.size {
            return None;
        }
        let (first, rest) = segment.split_at_checked(8)?;
        let mut hidden = rest.to_vec();
        hidden.extend(after.filler_head(encoder, after.used));
        let head = after.header(clock, now, 0);
        let steps = [
            Step {
                at: self.at + self.used + 8,
                bytes: hidden,
                sync: false,
            },
            self.long(header::offset::DURATION_NANOS, head.duration_nanos, true),
            self.long(header::offset::CHECKPOINT, head.checkpoint, true),
            Step {
                at: self.at + self.used,
                bytes: first.to_vec(),
                sync: true,
            },
        ];
        Some((after, steps))
    }

    /// The writes that take an addition back which failed somewhere: hidden again, and the header as it was. Without
    /// them the next addition would overwrite what the file already shows.
    pub(crate) fn undo(&self, encoder: &Encoder) -> [Step; 2] {
        [
            Step {
                at: self.at + self.used,
                bytes: self.filler_head(encoder, self.used),
                sync: true,
            },
            self.long(
                header::offset::CHECKPOINT,
                self.checkpoint.cast_signed(),
                true,
            ),
        ]
    }

    /// The write of one long of the header.
    fn long(&self, offset: usize, value: i64, sync: bool) -> Step {
        Step {
            at: self.at + offset as u64,
            bytes: value.to_be_bytes().to_vec(),
            sync,
        }
    }

    /// This chunk without its long filler: its header, and the bytes that end it.
    ///
    /// The end is a multiple of [`ALIGNMENT`] when the start is.
    pub(crate) fn compacted(
        &self,
        encoder: &Encoder,
        clock: &Clock,
        end: i64,
        flags: u16,
    ) -> ([u8; header::LEN], Vec<u8>) {
        let mut gap = (ALIGNMENT - self.used % ALIGNMENT) % ALIGNMENT;
        if gap > 0 && gap < SHORTEST_FILLER as u64 {
            gap += ALIGNMENT;
        }
        let mut tail = Vec::new();
        encoder.put_filler(&mut tail, usize::try_from(gap).unwrap_or(0));
        let size = self.used + tail.len() as u64;
        let compact = Self {
            size,
            used: size,
            ..*self
        };
        (compact.header(clock, end, flags).to_bytes(), tail)
    }

    fn header(&self, clock: &Clock, now: i64, flags: u16) -> Header {
        Header {
            major: 2,
            minor: 1,
            size: self.size.cast_signed(),
            checkpoint: self.checkpoint.cast_signed(),
            metadata: METADATA_AT,
            start_nanos: clock.nanos_at(self.start_ticks),
            duration_nanos: clock
                .span_nanos(now.saturating_sub(self.start_ticks))
                .max(1),
            start_ticks: self.start_ticks,
            ticks_per_second: clock.ticks_per_second,
            state: State::Finished,
            flags: header::flag::COMPRESSED_INTS | flags,
        }
    }

    /// The head of a filler from `from` to the chunk's end.
    fn filler_head(&self, encoder: &Encoder, from: u64) -> Vec<u8> {
        let mut head = Vec::with_capacity(8);
        head.extend(varint::padded::<4>(self.size - from).unwrap_or_default());
        head.extend(varint::padded::<4>(encoder.types().filler()).unwrap_or_default());
        head
    }
}

/// Bytes to put in front of a head at file offset `at` so that it crosses no sector: 0, or enough for an event.
fn gap_before_head(at: u64) -> usize {
    let mut gap = 0;
    while (at + gap) % SECTOR > SECTOR - HEAD {
        gap = if gap == 0 {
            SHORTEST_FILLER as u64
        } else {
            gap + 1
        };
    }
    usize::try_from(gap).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_never_crosses_a_sector() {
        for at in 0..2 * SECTOR {
            let gap = gap_before_head(at);
            assert!((at + gap as u64) % SECTOR <= SECTOR - HEAD, "{at}");
            assert!(gap == 0 || gap >= SHORTEST_FILLER);
        }
    }
}
