//! Counting the events with plain heads, which are nearly all.

use std::fmt;

use super::types::Types;
use super::walk::Tally;

/// Bytes walked at most between two settlings: of events of three bytes and more, less than 2^24.
const WINDOW: usize = 1 << 24;
/// Where in a sum the number of events begins; below are their bytes.
const EVENTS: u32 = 40;
/// Bytes before the end of a range that are left over: no plain event that starts before them
/// reaches past the range.
const REST: usize = 0x80;

/// Which event type the two bytes behind a size of one byte stand for: the index of the type plus
/// one, 0 for none. An id of one byte leaves the second to the event.
pub(crate) struct PlainIds(Box<[u16; 1 << 16]>);

impl fmt::Debug for PlainIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlainIds").finish_non_exhaustive()
    }
}

impl PlainIds {
    /// For event types with these ids and indices; ids of more than two bytes are none of them.
    pub(crate) fn new(events: impl Iterator<Item = (i64, u32)>) -> Self {
        let mut ids = vec![0; 1 << 16];
        for (id, index) in events {
            let (Ok(id), Ok(entry)) = (u16::try_from(id), u16::try_from(index + 1)) else {
                continue;
            };
            let (low, high) = (id & 0x7f, id >> 7);
            // An id below 128 may be written in two bytes as well.
            let short = (high == 0).then_some(low);
            let long = (high < 0x80).then_some(high << 8 | 0x80 | low);
            for key in short.into_iter().chain(long) {
                if let Some(slot) = ids.get_mut(usize::from(key)) {
                    *slot = entry;
                }
            }
        }
        let ids = ids.into_boxed_slice().try_into();
        Self(ids.unwrap_or_else(|_| Box::new([0; 1 << 16])))
    }

    #[inline(always)]
    fn index(&self, [low, high]: [u8; 2]) -> usize {
        // All ones where the id goes on in the second byte.
        let goes_on = low.cast_signed() >> 7;
        let key = u16::from_le_bytes([low, high & goes_on.cast_unsigned()]);
        let entry = self.0.get(usize::from(key)).copied().unwrap_or(0);
        usize::from(entry).wrapping_sub(1)
    }
}

/// Counts events whose heads are as nearly all are: a size of one byte, an id of one or two bytes,
/// of a declared event type. It goes from one to the next in a range of a chunk.
///
/// A walk takes as long as its longest chain of instructions that wait for each other: a type has
/// one number to add to, not two, and only sizes lead from event to event.
#[derive(Debug)]
pub(crate) struct PlainEvents {
    /// Where the next event starts.
    pub(crate) at: usize,
    /// One past the range.
    end: usize,
    /// For each index of [`Types::list`]: events above, bytes below [`EVENTS`].
    sums: Vec<u64>,
    settled_at: usize,
}

impl PlainEvents {
    /// For a range whose first event starts at `at`, and that many types.
    pub(crate) fn new(at: usize, end: usize, types: usize) -> Self {
        Self {
            at,
            end,
            sums: vec![0; types],
            settled_at: at,
        }
    }

    /// Whether the range is at its end.
    pub(crate) fn is_over(&self) -> bool {
        self.at >= self.end
    }

    /// Counts as far as the next event with another head, or to the range's last few events.
    pub(crate) fn pass(&mut self, bytes: &[u8], types: &Types<'_>, counts: &mut [Tally]) {
        while self.is_worth_it() {
            let heads = self.heads(bytes);
            let ids = types.plain_ids();
            let mut at = self.at;
            while let Some(end) = step(heads, at, ids, &mut self.sums) {
                at = end;
            }
            self.at = at;
            if !self.settle_window(counts) {
                return;
            }
        }
    }

    /// Counts in two ranges in turn, until one of them is where [`PlainEvents::pass`] ends.
    ///
    /// No event of the one waits for an event of the other: a core works at both at once.
    pub(crate) fn pass_both(
        [one, other]: [&mut Self; 2],
        bytes: &[u8],
        types: &Types<'_>,
        [one_counts, other_counts]: [&mut [Tally]; 2],
    ) {
        while one.is_worth_it() && other.is_worth_it() {
            let (heads, other_heads) = (one.heads(bytes), other.heads(bytes));
            let ids = types.plain_ids();
            let (mut at, mut other_at) = (one.at, other.at);
            while let Some(end) = step(heads, at, ids, &mut one.sums) {
                at = end;
                let Some(end) = step(other_heads, other_at, ids, &mut other.sums) else {
                    break;
                };
                other_at = end;
            }
            (one.at, other.at) = (at, other_at);
            if !(one.settle_window(one_counts) | other.settle_window(other_counts)) {
                return;
            }
        }
    }

    /// Adds what was counted so far to the tallies.
    pub(crate) fn settle(&mut self, counts: &mut [Tally]) {
        self.settled_at = self.at;
        for (sum, tally) in self.sums.iter_mut().zip(counts) {
            let sum = std::mem::take(sum);
            tally.events += sum >> EVENTS;
            tally.bytes += sum & ((1 << EVENTS) - 1);
        }
    }

    /// Whether there is more than the rest.
    fn is_worth_it(&self) -> bool {
        self.at.saturating_add(REST) < self.end
    }

    /// Settles when the window is used up and the range goes on behind it; returns whether.
    fn settle_window(&mut self, counts: &mut [Tally]) -> bool {
        let used = self.at >= self.settled_at.saturating_add(WINDOW) && self.is_worth_it();
        if used {
            self.settle(counts);
        }
        used
    }

    /// The bytes in whose beginnings heads are read before the next settling.
    fn heads<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let stop = self.settled_at.saturating_add(WINDOW).min(self.end - REST);
        bytes.get(..stop + HEAD).unwrap_or_default()
    }
}

/// Bytes that are read of a head.
const HEAD: usize = 3;

/// Counts the event at `at`, which starts before the last two bytes of `heads`, and returns its end;
/// `None` where it has another head.
#[inline(always)]
fn step(heads: &[u8], at: usize, ids: &PlainIds, sums: &mut [u64]) -> Option<usize> {
    let &[size, low, high] = heads.get(at..)?.first_chunk::<HEAD>()?;
    if !(3..0x80).contains(&size) {
        return None;
    }
    let sum = sums.get_mut(ids.index([low, high]))?;
    *sum += u64::from(size) | 1 << EVENTS;
    Some(at + usize::from(size))
}

#[cfg(test)]
mod tests {
    use super::super::walk::head;
    use super::*;

    #[test]
    fn plain_heads_count_as_all_heads_do() {
        let ids = [
            (2, 0),
            (127, 1),
            (128, 2),
            (299, 3),
            (16_383, 4),
            (16_384, 5),
        ];
        let types = Types {
            event_ids: ids.into_iter().collect(),
            ..Types::default()
        };
        // Sizes and ids of every length and padding, undeclared ids, sizes that are damaged.
        let heads: [&[u8]; 15] = [
            &[2, 2],
            &[3, 2, 0xff],
            &[4, 0xff, 0x7f],
            &[4, 0x80, 0x80, 1],
            &[3, 0x80, 0x80],
            &[3, 127],
            &[3, 0x80, 1],
            &[4, 0xab, 2],
            &[4, 0x82, 0],
            &[5, 0x82, 0x80, 0],
            &[0x85, 0, 2],
            &[5, 3],
            &[2, 0x80, 1],
            &[0, 2],
            &[60, 2],
        ];
        for first in heads {
            for second in heads {
                let mut bytes = Vec::new();
                for head in [first, second, first] {
                    let end = bytes.len() + usize::from(head[0] & 0x7f).clamp(head.len(), 60);
                    bytes.extend_from_slice(head);
                    bytes.resize(end, 0);
                }
                let len = bytes.len();
                bytes.resize(len + REST + HEAD, 0);
                let mut counts = vec![Tally::default(); ids.len()];
                let mut plain = PlainEvents::new(0, bytes.len(), counts.len());
                plain.pass(&bytes, &types, &mut counts);
                plain.settle(&mut counts);
                let at = plain.at;
                assert!(at <= len, "{bytes:?}");
                let mut expected = vec![Tally::default(); ids.len()];
                let mut next = 0;
                while next < at {
                    let head = head(&bytes, next).unwrap();
                    expected[types.event_index(head.type_id).unwrap() as usize].add(&head);
                    next = head.end;
                }
                assert_eq!((next, &counts), (at, &expected), "{bytes:?}");
            }
        }
    }

    #[test]
    fn the_smallest_events_of_a_long_chunk_are_all_counted() {
        let types = Types {
            event_ids: [(2, 0)].into_iter().collect(),
            ..Types::default()
        };
        // Longer than a window and a half, in the smallest events.
        let bytes = [3, 2, 0].repeat(WINDOW / 2 + 3);
        let mut counts = [Tally::default()];
        let mut plain = PlainEvents::new(0, bytes.len(), counts.len());
        plain.pass(&bytes, &types, &mut counts);
        plain.settle(&mut counts);
        let at = plain.at;
        // The events at the very end are for the careful reading.
        assert!(bytes.len() - at <= REST);
        let expected = Tally {
            events: at as u64 / 3,
            bytes: at as u64,
        };
        assert_eq!(counts, [expected]);

        // In two ranges, of which one is over before the other.
        let middle = bytes.len() / 9 * 3;
        let mut counts = [[Tally::default()], [Tally::default()]];
        let [one, other] = &mut counts;
        let mut first = PlainEvents::new(0, middle, 1);
        let mut second = PlainEvents::new(middle, bytes.len(), 1);
        PlainEvents::pass_both([&mut first, &mut second], &bytes, &types, [one, other]);
        second.pass(&bytes, &types, other);
        first.settle(one);
        second.settle(other);
        assert!(first.at <= middle && middle - first.at <= REST);
        assert_eq!(second.at, at);
        one[0].join(other[0]);
        let left_over = (middle - first.at) as u64;
        let expected = Tally {
            events: (at as u64 - left_over) / 3,
            bytes: at as u64 - left_over,
        };
        assert_eq!(*one, [expected]);
    }
}
