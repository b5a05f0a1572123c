//! One chunk, written anew.

use std::io::{self, Write};

use jfr_format::header::{self, Header, State, flag};
use jfr_format::{ids as format_ids, varint};

use super::ids::{Ids, Renumbered};
use super::starts::Starts;
use super::{lost, metadata};
use crate::reader::{Chunk, Event, Skipped};

/// Everything readable of one chunk, measured and ready to be written.
pub(super) struct Rebuilt {
    header: Header,
    metadata: Vec<u8>,
    checkpoint: Vec<u8>,
    ids: Renumbered,
    events: u64,
    constants: u64,
    damaged: Vec<Skipped>,
}

impl Rebuilt {
    /// `None` when the chunk has no metadata: nothing in it means anything then.
    ///
    /// The chunk starts when no other does: readers take two with one start for the same.
    pub(super) fn new(source: &Chunk<'_>, ids: &mut Ids, starts: &mut Starts) -> Option<Self> {
        let body = source.metadata_body()?;
        let ids = ids.of(source);
        let metadata = event(format_ids::METADATA, &metadata::rewrite(body, &ids).ok()?);
        let mut constants = 0;
        let checkpoint = checkpoint(source, &ids, &mut constants);
        let mut rebuilt = Self {
            header: *source.header(),
            metadata,
            checkpoint,
            ids,
            events: 0,
            constants,
            damaged: Vec::new(),
        };
        let mut bytes = 0_usize;
        let mut end_ticks = source.header().start_ticks;
        for event in source.events() {
            match event.verify() {
                Ok(()) => {
                    rebuilt.events += 1;
                    bytes += rebuilt.event_len(&event);
                    let ticks = |at| event.at(at).ok().and_then(|value| value.as_i64());
                    end_ticks = end_ticks.max(ticks(0).unwrap_or(0));
                }
                Err(why) => rebuilt.damaged.push(Skipped {
                    chunk: Some(source.index()),
                    offset: event.file_offset(),
                    what: format!("{} of {} bytes: {why}", event.name(), event.size()),
                }),
            }
        }
        rebuilt.finish_header(source, bytes, end_ticks, starts);
        Some(rebuilt)
    }

    fn finish_header(
        &mut self,
        source: &Chunk<'_>,
        events: usize,
        end_ticks: i64,
        starts: &mut Starts,
    ) {
        let header = &mut self.header;
        let checkpoint = header::LEN + self.metadata.len();
        let size = checkpoint + self.checkpoint.len() + events;
        header.metadata = header::LEN as i64;
        header.checkpoint = i64::try_from(checkpoint).unwrap_or(i64::MAX);
        header.size = i64::try_from(size).unwrap_or(i64::MAX);
        if header.ticks_per_second < 1 {
            // Ticks of such a chunk count as nanoseconds.
            header.ticks_per_second = 1_000_000_000;
        }
        if header.duration_nanos <= 0 {
            let ticks = end_ticks.saturating_sub(header.start_ticks);
            header.duration_nanos = source.clock().span(ticks).0.max(0);
        }
        // A start before 1970 is none: readers take such a header for damage.
        header.start_nanos = header.start_nanos.max(1);
        starts.make_unique(header);
        header.state = State::Finished;
        header.flags = flag::COMPRESSED_INTS;
    }

    pub(super) fn events(&self) -> u64 {
        self.events
    }

    pub(super) fn constants(&self) -> u64 {
        self.constants
    }

    /// Events left out because a field of theirs is damaged.
    pub(super) fn damaged(&self) -> &[Skipped] {
        &self.damaged
    }

    /// Writes the chunk that was measured; `source` is the one it was made from.
    pub(super) fn write(&self, source: &Chunk<'_>, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.header.to_bytes())?;
        out.write_all(&self.metadata)?;
        out.write_all(&self.checkpoint)?;
        for event in source.events().filter(|event| event.verify().is_ok()) {
            match self.ids.get(&event.ty().id()) {
                None => out.write_all(event.bytes())?,
                Some(&id) => {
                    out.write_all(&head(id.cast_unsigned(), event.body_bytes().len()))?;
                    out.write_all(event.body_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn event_len(&self, event: &Event<'_>) -> usize {
        match self.ids.get(&event.ty().id()) {
            None => event.size(),
            Some(&id) => {
                let body = event.body_bytes().len();
                head(id.cast_unsigned(), body).len() + body
            }
        }
    }
}

/// One checkpoint with every constant; pools without one are left out, since an empty pool is an
/// error to the JDK.
fn checkpoint(source: &Chunk<'_>, ids: &Renumbered, constants: &mut u64) -> Vec<u8> {
    let mut pools = 0_u64;
    let mut content = Vec::new();
    let mut entries = Vec::new();
    let mut stand_ins = lost::stand_ins(source);
    for declared in source.types().iter() {
        // Of two declarations with one id the later counts, and its pool is written once.
        let counts = source.types().by_id(declared.id());
        if !counts.is_some_and(|counts| std::ptr::eq(counts, declared)) {
            continue;
        }
        entries.clear();
        let mut count = 0_u64;
        for (key, bytes) in source.pool(declared.id()) {
            varint::put_i64(&mut entries, key);
            entries.extend_from_slice(bytes);
            count += 1;
        }
        *constants += count;
        for (key, bytes) in stand_ins.remove(&declared.id()).unwrap_or_default() {
            varint::put_i64(&mut entries, key);
            entries.extend_from_slice(&bytes);
            count += 1;
        }
        if count > 0 {
            let id = ids.get(&declared.id()).copied().unwrap_or(declared.id());
            varint::put_i64(&mut content, id);
            varint::put_u64(&mut content, count);
            content.append(&mut entries);
            pools += 1;
        }
    }
    let mut body = Vec::with_capacity(content.len() + 32);
    varint::put_i64(&mut body, source.header().start_ticks);
    // No duration, no checkpoint before this one, no kind.
    body.extend_from_slice(&[0, 0, 0]);
    varint::put_u64(&mut body, pools);
    body.append(&mut content);
    event(format_ids::CHECKPOINT, &body)
}

fn event(type_id: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = head(type_id, body.len());
    bytes.extend_from_slice(body);
    bytes
}

/// Size and type id in front of a body of `body` bytes; the size counts itself.
fn head(type_id: u64, body: usize) -> Vec<u8> {
    let rest = varint::len_u64(type_id) + body;
    let mut size = rest + 1;
    while size - rest < varint::len_u64(size as u64) {
        size += 1;
    }
    let mut bytes = Vec::with_capacity(20);
    varint::put_u64(&mut bytes, size as u64);
    varint::put_u64(&mut bytes, type_id);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_their_own_bytes() {
        for body in [0, 1, 124, 125, 126, 127, 16_380, 16_381, 16_382, 2_097_150] {
            let bytes = event(300, &vec![7; body]);
            let (size, len) = varint::get_u64(&bytes).unwrap();
            assert_eq!(size, bytes.len() as u64, "{body}");
            assert_eq!(bytes.len(), len + 2 + body);
        }
    }
}
