//! Events and constants that wait for a flush.

use crate::chain::{self, ChainSample};
use crate::constants::Constants;
use crate::frame;
use crate::pool::Pool;
use crate::types::Types;
use jfr_format::path::ChainPath;
use jfr_format::schema::{Event, EventSchema, FieldSink, FieldSpec, Kind, Value};
use jfr_format::{ids, string, varint};

/// Longest text of a field, bytes; longer ones are cut at a character and end in an ellipsis.
const LONGEST_TEXT: usize = 1 << 16;

/// Everything that the process writes, until it is in the file.
pub(crate) struct Encoder {
    types: Types,
    constants: Constants,
    events: Vec<u8>,
    count: u64,
    earliest: Option<i64>,
    body: Vec<u8>,
}

/// A state to go back to when an event does not fit.
pub(crate) struct Mark {
    events: usize,
    count: u64,
    earliest: Option<i64>,
    pools: [(u64, usize); Pool::COUNT],
}

impl Encoder {
    pub(crate) fn new(seed: u64, object_size: bool) -> Self {
        Self {
            types: Types::new(seed, object_size),
            constants: Constants::new(),
            events: Vec::new(),
            count: 0,
            earliest: None,
            body: Vec::new(),
        }
    }

    pub(crate) const fn types(&self) -> &Types {
        &self.types
    }

    /// Events that wait.
    pub(crate) const fn pending_events(&self) -> u64 {
        self.count
    }

    /// An upper bound of [`Encoder::segment`]'s length.
    pub(crate) fn pending_len(&self) -> usize {
        self.events.len() + self.constants.pending_len() + CHECKPOINT_OVERHEAD
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            events: self.events.len(),
            count: self.count,
            earliest: self.earliest,
            pools: self.constants.mark(),
        }
    }

    /// Forgets what came after `mark`; [`Encoder::next_chunk`] must follow before anything is added.
    pub(crate) fn roll_back(&mut self, mark: &Mark) {
        self.events.truncate(mark.events);
        self.count = mark.count;
        self.earliest = mark.earliest;
        self.constants.roll_back(mark.pools);
    }

    pub(crate) const fn next_chunk(&mut self) {
        self.constants.next_chunk();
    }

    /// Adds one of our events.
    pub(crate) fn event(
        &mut self,
        ticks: i64,
        schema: &'static EventSchema,
        visit: impl FnOnce(&mut Fields<'_>),
    ) {
        self.body.clear();
        varint::put_u64(&mut self.body, self.types.event(schema));
        varint::put_i64(&mut self.body, ticks);
        visit(&mut Fields {
            constants: &mut self.constants,
            out: &mut self.body,
        });
        self.finish_event(ticks);
    }

    /// Adds a chain as the JVM's own sample event.
    pub(crate) fn chain(&mut self, ticks: i64, path: &ChainPath, sample: &ChainSample) {
        self.body.clear();
        varint::put_u64(&mut self.body, self.types.old_object_sample());
        let size = self.types.object_size().then_some(sample.object_size);
        chain::put(
            &mut self.body,
            &mut self.constants,
            ticks,
            path,
            sample,
            size,
        );
        self.finish_event(ticks);
    }

    /// The earliest event that waits, ticks.
    pub(crate) const fn earliest(&self) -> Option<i64> {
        self.earliest
    }

    fn finish_event(&mut self, ticks: i64) {
        frame::put_event(&mut self.events, &self.body);
        self.earliest = Some(self.earliest.map_or(ticks, |earliest| earliest.min(ticks)));
        self.count += 1;
    }

    /// The events that wait and, behind them, their constants.
    ///
    /// `gap` bytes of a filler stand between the two (0, or at least [`SHORTEST_FILLER`]). The checkpoint
    /// starts at the offset that is returned with the bytes; `previous` is its distance to the one before,
    /// as a function of that offset.
    pub(crate) fn segment(
        &self,
        ticks: i64,
        mask: u8,
        gap: usize,
        previous: impl FnOnce(usize) -> i64,
    ) -> (Vec<u8>, usize) {
        let mut out = Vec::with_capacity(self.pending_len() + gap);
        out.extend_from_slice(&self.events);
        self.put_filler(&mut out, gap);
        let at = out.len();
        let mut body = Vec::with_capacity(self.constants.pending_len() + CHECKPOINT_OVERHEAD);
        varint::put_u64(&mut body, ids::CHECKPOINT);
        varint::put_i64(&mut body, ticks);
        varint::put_u64(&mut body, 0);
        varint::put_i64(&mut body, previous(at));
        body.push(mask);
        let pools = self
            .constants
            .pools()
            .filter(|(_, pending)| !pending.is_empty());
        varint::put_u64(&mut body, pools.count() as u64);
        for (pool, pending) in self.constants.pools() {
            pending.write(&mut body, self.types.pool(pool));
        }
        frame::put_event(&mut out, &body);
        (out, at)
    }

    /// Appends an event of exactly `len` bytes that readers skip; `len` is 0 or [`SHORTEST_FILLER`]..=127.
    pub(crate) fn put_filler(&self, out: &mut Vec<u8>, len: usize) {
        if len == 0 {
            return;
        }
        let mut body = Vec::with_capacity(len);
        varint::put_u64(&mut body, self.types.filler());
        body.resize((len - 1).max(body.len()), 0);
        frame::put_event(out, &body);
    }

    /// The segment is in the file: nothing waits any more.
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.constants.clear_pending();
        self.earliest = None;
        self.count = 0;
    }
}

/// The shortest event that [`Encoder::segment`] can put between events and constants, bytes.
pub(crate) const SHORTEST_FILLER: usize = 5;

/// Bytes of a checkpoint beside its constants, at most, and of the fillers around it.
const CHECKPOINT_OVERHEAD: usize = 64 + Pool::COUNT * 14 + 32;

/// Encodes an event's fields in a chunk's layout.
pub(crate) struct Fields<'a> {
    constants: &'a mut Constants,
    out: &'a mut Vec<u8>,
}

impl FieldSink for Fields<'_> {
    fn field(&mut self, spec: &'static FieldSpec, value: Value<'_>) {
        match value {
            Value::Long(long) => varint::put_i64(self.out, long),
            Value::Int(int) => varint::put_i32(self.out, int),
            Value::Short(short) => varint::put_i16(self.out, short),
            Value::Float(float) => self.out.extend(float.to_be_bytes()),
            Value::Double(double) => self.out.extend(double.to_be_bytes()),
            Value::Boolean(flag) => self.out.push(u8::from(flag)),
            Value::Text(text) if spec.kind == Kind::Name => self.constants.put_name(self.out, text),
            Value::Text(text) => put_text(self.out, text),
            Value::Class(class) => {
                let key = class.map_or(0, |class| self.constants.class(class));
                varint::put_u64(self.out, key);
            }
            Value::Thread(thread) => {
                let key = thread.map_or(0, |thread| self.constants.thread(thread));
                varint::put_u64(self.out, key);
            }
            Value::Stack(stack) => {
                let key = stack.map_or(0, |stack| self.constants.stack(stack));
                varint::put_u64(self.out, key);
            }
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) if text.len() > LONGEST_TEXT => {
            let mut end = LONGEST_TEXT;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let (cut, _) = text.split_at(end);
            string::put(out, Some(&[cut, "..."].concat()));
        }
        other => string::put(out, other),
    }
}

/// Adds `event`.
pub(crate) fn put<E: Event>(encoder: &mut Encoder, ticks: i64, event: &E) {
    encoder.event(ticks, E::SCHEMA, |fields| event.visit(fields));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut_at_a_character() {
        let mut out = Vec::new();
        put_text(&mut out, Some(&"é".repeat(LONGEST_TEXT)));
        let text = std::str::from_utf8(&out[4..]).unwrap();
        assert!(text.ends_with("é...") && text.len() <= LONGEST_TEXT + 3);
    }

    #[test]
    fn a_gap_takes_exactly_its_bytes() {
        let encoder = Encoder::new(1, true);
        let (without, at) = encoder.segment(0, 1, 0, |_| 0);
        for gap in SHORTEST_FILLER..40 {
            let (with, moved) = encoder.segment(0, 1, gap, |_| 0);
            assert_eq!((with.len(), moved), (without.len() + gap, at + gap));
        }
    }
}
