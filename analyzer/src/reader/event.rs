//! One event, borrowed from its chunk.

use std::ops::Deref;

use super::clock::{EpochNanos, Nanos};
use super::error::DecodeError;
use super::types::Unit;
use super::value::Struct;

/// An event of a declared type. Its fields are those of the [`Struct`] it dereferences to.
///
/// ```
/// use jfr_chains_analyzer::reader::Event;
///
/// fn used_heap(event: &Event<'_>) -> Option<i64> {
///     if event.name() != "jdk.GCHeapSummary" {
///         return None;
///     }
///     event.i64("heapUsed")
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Event<'c> {
    body: Struct<'c>,
    type_index: u32,
    /// Offset in the chunk of the event's size.
    at: usize,
    size: usize,
}

impl<'c> Event<'c> {
    pub(crate) fn new(body: Struct<'c>, type_index: u32, at: usize, size: usize) -> Self {
        Self {
            body,
            type_index,
            at,
            size,
        }
    }

    /// The position of its type in [`Types::iter`](super::Types::iter): a cheap key for what was
    /// decided once for each type of the chunk.
    pub fn type_index(&self) -> usize {
        self.type_index as usize
    }

    /// The type's full name, such as `jdk.OldObjectSample`.
    pub fn name(&self) -> &'c str {
        self.body.ty().name()
    }

    /// When it began, by the chunk's own clock. `None` for damaged bytes.
    pub fn start(&self) -> Option<EpochNanos> {
        let first = self.body.ty().fields().first()?;
        let raw = self.body.at(0).ok()?.as_i64()?;
        let unit = first.unit().unwrap_or(Unit::EpochTicks);
        self.body.chunk().clock().timestamp(raw, unit)
    }

    /// How long it lasted; `None` for types without a duration.
    pub fn duration(&self) -> Option<Nanos> {
        let second = self.body.ty().fields().get(1)?;
        if second.name() != "duration" {
            return None;
        }
        let raw = self.body.at(1).ok()?.as_i64()?;
        let unit = second.unit().unwrap_or(Unit::SpanTicks);
        self.body.chunk().clock().timespan(raw, unit)
    }

    /// The thread it belongs to.
    pub fn thread(&self) -> Option<Struct<'c>> {
        self.body.get_struct("eventThread")
    }

    /// Offset of its first byte in the (decompressed) file.
    pub fn file_offset(&self) -> u64 {
        self.body.chunk().offset() + self.at as u64
    }

    /// Bytes it takes in the file, its head included.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Its bytes as they lie in the file, head included.
    pub fn bytes(&self) -> &'c [u8] {
        let bytes = self.body.chunk().bytes();
        bytes.get(self.at..self.at + self.size).unwrap_or(&[])
    }

    /// The bytes of its fields.
    pub(crate) fn body_bytes(&self) -> &'c [u8] {
        self.body.bytes()
    }

    /// Whether every field can be read from the event's bytes; the first obstacle if not.
    pub fn verify(&self) -> Result<(), DecodeError> {
        self.body
            .fields()
            .try_for_each(|(_, value)| value.map(drop))
    }
}

impl<'c> Deref for Event<'c> {
    type Target = Struct<'c>;

    fn deref(&self) -> &Struct<'c> {
        &self.body
    }
}
