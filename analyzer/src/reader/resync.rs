//! Finding the next event behind damage.

use super::cursor::Cursor;
use super::metadata;
use super::pools::checkpoint_head;
use super::skip::skip_field;
use super::types::{Types, Unit};
use super::walk::{CHECKPOINT_ID, Head, METADATA_ID, head};

/// Bytes of work per byte of chunk before the search gives up: hostile bytes can make every
/// position look like an event.
const WORK_PER_BYTE: usize = 16;

/// Searches one chunk for places where events continue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resync {
    /// Ticks that an event of this chunk may start at.
    earliest: i64,
    latest: i64,
    work_left: usize,
}

impl Resync {
    /// For a chunk of `len` bytes whose events start between these ticks.
    pub(crate) fn new(len: usize, earliest: i64, latest: i64) -> Self {
        Self {
            earliest,
            latest,
            work_left: len.saturating_mul(WORK_PER_BYTE).saturating_add(1 << 12),
        }
    }

    /// The same search with less work to do before it gives up.
    pub(crate) fn with_work(&self, work: usize) -> Self {
        Self {
            work_left: self.work_left.min(work),
            ..*self
        }
    }

    /// The first position from `from` on where an event starts that is whole, starts within the
    /// chunk's time and is followed by another such event or by the end.
    pub(crate) fn next_event(
        &mut self,
        bytes: &[u8],
        types: &Types<'_>,
        from: usize,
    ) -> Option<usize> {
        for at in from..bytes.len() {
            if self.work_left == 0 {
                return None;
            }
            self.work_left -= 1;
            let Some(first) = self.event(bytes, types, at) else {
                continue;
            };
            if first.end == bytes.len() || self.event(bytes, types, first.end).is_some() {
                return Some(at);
            }
        }
        None
    }

    fn event(&mut self, bytes: &[u8], types: &Types<'_>, at: usize) -> Option<Head> {
        let found = head(bytes, at).ok()?;
        let mut cursor = Cursor::new(bytes.get(..found.end)?, found.body);
        let starts_in_ticks = match types.event_index(found.type_id) {
            Some(index) => {
                let first = types.at(index)?.fields.first();
                first.is_some_and(|field| field.unit == Some(Unit::EpochTicks))
            }
            None => matches!(found.type_id, METADATA_ID | CHECKPOINT_ID),
        };
        if !starts_in_ticks {
            return None;
        }
        let ticks = cursor.long().ok()?;
        if found.type_id != METADATA_ID && !(self.earliest..=self.latest).contains(&ticks) {
            return None;
        }
        self.work_left = self.work_left.saturating_sub(found.end - found.at);
        fits(bytes, types, &found).then_some(found)
    }
}

impl Resync {
    /// The checkpoint between `at` and `end` whose size is damaged or reaches past the file: its
    /// constants can be read nevertheless.
    pub(crate) fn cut_checkpoint(
        &self,
        bytes: &[u8],
        types: &Types<'_>,
        at: usize,
        end: usize,
    ) -> Option<Head> {
        // Behind the size, in however many bytes it was written.
        (1..=9).find_map(|len| {
            let mut cursor = Cursor::new(bytes.get(..end)?, at + len);
            if cursor.long().ok()? != CHECKPOINT_ID {
                return None;
            }
            let found = Head {
                at,
                end,
                type_id: CHECKPOINT_ID,
                body: cursor.at(),
            };
            let ticks = cursor.long().ok()?;
            let in_time = (self.earliest..=self.latest).contains(&ticks);
            (in_time && fits(bytes, types, &found)).then_some(found)
        })
    }
}

/// Whether the content of an event fills it exactly. Undeclared types never do.
pub(crate) fn fits(bytes: &[u8], types: &Types<'_>, found: &Head) -> bool {
    let Some(range) = bytes.get(..found.end) else {
        return false;
    };
    let mut cursor = Cursor::new(range, found.body);
    match found.type_id {
        METADATA_ID => range
            .get(found.body..)
            .is_some_and(|body| metadata::read(body).broken.is_none()),
        CHECKPOINT_ID => checkpoint_head(&mut cursor).is_ok_and(|checkpoint| {
            checkpoint.delta <= 0 && checkpoint.mask & !0x0f == 0 && checkpoint.pools < 1 << 16
        }),
        id => {
            let Some(declared) = types.event_index(id).and_then(|index| types.at(index)) else {
                return false;
            };
            let skipped = declared
                .fields
                .iter()
                .try_for_each(|field| skip_field(types, field, &mut cursor));
            skipped.is_ok() && cursor.at() == found.end
        }
    }
}
