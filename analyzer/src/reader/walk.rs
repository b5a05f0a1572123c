//! From event to event by their sizes, and past damage.

use std::collections::VecDeque;

use jfr_format::ids;
use rustc_hash::FxHashMap;

use super::cursor::Cursor;
use super::halves;
use super::plain::PlainEvents;
use super::resync::Resync;
use super::types::Types;

/// Type id of metadata events, in every version.
pub(crate) const METADATA_ID: i64 = ids::METADATA.cast_signed();
/// Type id of checkpoint events, in every version.
pub(crate) const CHECKPOINT_ID: i64 = ids::CHECKPOINT.cast_signed();

/// How far back damage may have been overlooked: events passed over by a size that damage wrote.
const SUSPECTS: usize = 4;

/// Where an event lies and what type it says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) at: usize,
    /// One past its last byte; never past the range.
    pub(crate) end: usize,
    pub(crate) type_id: i64,
    /// First byte behind the type id.
    pub(crate) body: usize,
}

/// Why no event starts here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadError {
    #[error("an event of size zero")]
    ZeroSize,
    #[error("an event of {0} bytes where {1} remain")]
    TooLong(u64, usize),
    #[error("an event smaller than its own head")]
    TooShort,
    #[error("an event head cut off")]
    Cut,
}

/// Reads the head of the event at `at`.
#[inline]
pub(crate) fn head(bytes: &[u8], at: usize) -> Result<Head, HeadError> {
    let mut cursor = Cursor::new(bytes, at);
    let size = cursor.varint().map_err(|_| HeadError::Cut)?;
    if size == 0 {
        return Err(HeadError::ZeroSize);
    }
    if size >= OVERFLOW
        && let Some(checkpoint) = overflowed_checkpoint(bytes, at)
    {
        return Ok(checkpoint);
    }
    let type_id = cursor.long();
    let end = usize::try_from(size)
        .ok()
        .and_then(|size| at.checked_add(size))
        .filter(|&end| end <= bytes.len());
    let (Some(end), Ok(type_id)) = (end, type_id) else {
        return Err(HeadError::TooLong(size, bytes.len().saturating_sub(at)));
    };
    if cursor.at() > end {
        return Err(HeadError::TooShort);
    }
    Ok(Head {
        at,
        end,
        type_id,
        body: cursor.at(),
    })
}

/// The first size that does not fit in four bytes of seven bits.
const OVERFLOW: u64 = 1 << 28;

/// Old JVMs padded every checkpoint's size to four bytes, and wrote sizes of 2^28 and more into
/// the same four: the fourth byte then has eight bits, and the type id follows it.
///
/// Read as an ordinary integer, the type id becomes a part of the size, and something else the type.
#[cold]
fn overflowed_checkpoint(bytes: &[u8], at: usize) -> Option<Head> {
    let &[b0, b1, b2, b3, type_id] = bytes.get(at..)?.first_chunk()?;
    let [b0, b1, b2, b3] = [b0, b1, b2, b3].map(usize::from);
    let padded = b0 & b1 & b2 & b3 & 0x80 != 0 && i64::from(type_id) == CHECKPOINT_ID;
    let size = b0 & 0x7f | (b1 & 0x7f) << 7 | (b2 & 0x7f) << 14 | b3 << 21;
    let end = at.checked_add(size).filter(|&end| end <= bytes.len())?;
    // Five bytes of size are legal as well: then the type comes behind them.
    let mut behind = Cursor::new(bytes, at + 5);
    let ordinary = matches!(behind.long(), Ok(METADATA_ID | CHECKPOINT_ID));
    (padded && !ordinary).then_some(Head {
        at,
        end,
        type_id: CHECKPOINT_ID,
        body: at + 5,
    })
}

/// An unbroken sequence of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Bytes between runs that no event could be found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) why: HeadError,
    /// A checkpoint starts here whose constants can still be read as far as they are whole.
    pub(crate) checkpoint: bool,
}

/// How many events of one type a chunk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many.
    pub events: u64,
    /// Bytes they take, heads included.
    pub bytes: u64,
}

impl Tally {
    #[inline]
    pub(super) fn add(&mut self, head: &Head) {
        self.events += 1;
        self.bytes += (head.end - head.at) as u64;
    }

    /// Adds another tally of the same type.
    pub(super) fn join(&mut self, other: Self) {
        self.events += other.events;
        self.bytes += other.bytes;
    }

    fn remove(&mut self, head: &Head) {
        self.events = self.events.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub((head.end - head.at) as u64);
    }
}

/// Everything that walking a chunk found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) runs: Vec<Run>,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) metadata: Vec<Head>,
    pub(crate) checkpoints: Vec<Head>,
    /// Events per index of [`Types::list`]; events of types that are not events count as undeclared.
    pub(crate) counts: Vec<Tally>,
    /// Events of undeclared types, per id.
    pub(crate) undeclared: FxHashMap<i64, Tally>,
}

impl Walk {
    /// Walks `bytes` from `start` to their end.
    ///
    /// Without types (`None`) the first damage ends the walk; with types it is searched past.
    pub(crate) fn new(bytes: &[u8], start: usize, types: Option<(&Types<'_>, Resync)>) -> Self {
        match types {
            Some((types, resync)) => halves::walk(bytes, start, types, &resync)
                .unwrap_or_else(|| Self::past_damage(bytes, start, types, resync)),
            None => Self::untyped(bytes, start),
        }
    }

    fn untyped(bytes: &[u8], start: usize) -> Self {
        let mut walk = Walk::default();
        let mut at = start;
        while at < bytes.len() {
            match head(bytes, at) {
                Ok(head) => {
                    walk.count(bytes, &head, None);
                    at = head.end;
                }
                Err(why) => {
                    walk.gap(at, bytes.len(), why, false);
                    break;
                }
            }
        }
        walk.close(start, at);
        walk
    }

    pub(super) fn past_damage(
        bytes: &[u8],
        start: usize,
        types: &Types<'_>,
        mut resync: Resync,
    ) -> Self {
        let mut walk = Walk::counting(types);
        let mut run = start;
        let mut plain = PlainEvents::new(start, bytes.len(), types.list.len());
        loop {
            plain.pass(bytes, types, &mut walk.counts);
            if plain.is_over() {
                break;
            }
            let at = plain.at;
            match head(bytes, at) {
                Ok(head) => {
                    walk.count(bytes, &head, Some(types));
                    plain.at = head.end;
                }
                Err(why) => {
                    plain.settle(&mut walk.counts);
                    let damage = back_up(bytes, types, run, at);
                    walk.uncount(bytes, types, damage, at);
                    walk.close(run, damage);
                    let next = resync.next_event(bytes, types, damage + 1);
                    let end = next.unwrap_or(bytes.len());
                    let checkpoint = resync.cut_checkpoint(bytes, types, damage, end);
                    walk.checkpoints.extend(checkpoint);
                    walk.gap(damage, end, why, checkpoint.is_some());
                    let Some(next) = next else {
                        return walk;
                    };
                    plain.at = next;
                    run = next;
                }
            }
        }
        plain.settle(&mut walk.counts);
        walk.close(run, plain.at);
        walk
    }

    /// A walk that has found nothing yet.
    pub(super) fn counting(types: &Types<'_>) -> Self {
        Self {
            counts: vec![Tally::default(); types.list.len()],
            ..Self::default()
        }
    }

    /// Adds what was found in the bytes that follow; runs and gaps are not joined.
    pub(super) fn join(&mut self, next: Self) {
        self.metadata.extend(next.metadata);
        self.checkpoints.extend(next.checkpoints);
        for (tally, other) in self.counts.iter_mut().zip(next.counts) {
            tally.join(other);
        }
        for (id, other) in next.undeclared {
            self.undeclared.entry(id).or_default().join(other);
        }
    }

    /// Events of declared types.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().map(|tally| tally.events).sum()
    }

    pub(super) fn count(&mut self, bytes: &[u8], head: &Head, types: Option<&Types<'_>>) {
        match head.type_id {
            METADATA_ID => self.metadata.push(*head),
            CHECKPOINT_ID => self.checkpoints.push(*head),
            id => {
                let Some(types) = types else { return };
                match types.event_index(id) {
                    Some(index) => {
                        if let Some(tally) = self.counts.get_mut(index as usize) {
                            tally.add(head);
                        }
                    }
                    // Writers fill room that they may use later with an event of no content.
                    None if types
                        .by_id(id)
                        .is_some_and(|of| of.name() == ids::FILLER_TYPE) => {}
                    None if is_filler(bytes, head) => {}
                    None => self.undeclared.entry(id).or_default().add(head),
                }
            }
        }
    }

    /// Takes back the events from `from` on, which turned out to be damage.
    fn uncount(&mut self, bytes: &[u8], types: &Types<'_>, from: usize, to: usize) {
        // In the order of the bytes: a chunk may hold as many as it has damaged places.
        for heads in [&mut self.metadata, &mut self.checkpoints] {
            heads.truncate(heads.partition_point(|head| head.at < from));
        }
        let mut at = from;
        while at < to {
            let Ok(head) = head(bytes, at) else { return };
            let tally = match types.event_index(head.type_id) {
                Some(index) => self.counts.get_mut(index as usize),
                None => self.undeclared.get_mut(&head.type_id),
            };
            if let Some(tally) = tally {
                tally.remove(&head);
            }
            at = head.end;
        }
    }

    pub(super) fn close(&mut self, start: usize, end: usize) {
        if end > start {
            self.runs.push(Run { start, end });
        }
    }

    fn gap(&mut self, start: usize, end: usize, why: HeadError, checkpoint: bool) {
        if end > start {
            self.gaps.push(Gap {
                start,
                end,
                why,
                checkpoint,
            });
        }
    }
}

/// Whether an event has no content, or zeros only.
fn is_filler(bytes: &[u8], head: &Head) -> bool {
    let body = bytes.get(head.body..head.end).unwrap_or_default();
    body.iter().all(|&byte| byte == 0)
}

/// Where the damage that shows at `at` began: there, or at the earliest of the events before it
/// that cannot be real, of the run that starts at `run`. One of them may carry a damaged size.
fn back_up(bytes: &[u8], types: &Types<'_>, run: usize, at: usize) -> usize {
    let mut last = VecDeque::with_capacity(SUSPECTS + 1);
    let mut next = run;
    while next < at
        && let Ok(head) = head(bytes, next)
    {
        if last.len() == SUSPECTS {
            last.pop_front();
        }
        next = head.end;
        last.push_back(head);
    }
    let mut damage = at;
    while let Some(head) = last.pop_back()
        && head.end == damage
        && !super::resync::fits(bytes, types, &head)
    {
        damage = head.at;
    }
    damage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_zero_and_past_the_end_are_not_events() {
        assert_eq!(head(&[0, 1], 0), Err(HeadError::ZeroSize));
        assert_eq!(head(&[9, 5, 0], 0), Err(HeadError::TooLong(9, 3)));
        assert_eq!(head(&[1, 5, 0], 0), Err(HeadError::TooShort));
        assert_eq!(head(&[0x80], 0), Err(HeadError::Cut));
    }

    #[test]
    fn padded_sizes_are_read() {
        let found = head(&[0x86, 0x80, 0x80, 0x00, 0x05, 0x00], 0);
        let expected = Head {
            at: 0,
            end: 6,
            type_id: 5,
            body: 5,
        };
        assert_eq!(found, Ok(expected));
    }
}
