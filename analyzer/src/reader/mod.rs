//! Reads any JFR recording, damaged or not, typed by its own metadata.
//!
//! A [`Recording`] is a file, a [`Chunk`] has types, a clock, constants and events of its own, an
//! [`Event`] is a [`Struct`] whose fields are [`Value`]s. Everything borrows from the file: opening
//! costs no copy, constants are looked up when a field that refers to them is read, and strings
//! are decoded by [`Text::to_str`].
//!
//! Nothing here gives up on a damaged file: what could be read is there, and
//! [`Skipped`] says what was not, by chunk and offset.
//!
//! # Where to begin
//!
//! | question | answer |
//! |---|---|
//! | one pass over everything | [`Recording::visit`], or [`Recording::chunks`] and [`Chunk::events`] |
//! | all cores | [`Recording::map_chunks`] |
//! | what a file declares | [`Chunk::types`], [`Type::fields`], [`Field::label`] |
//! | how many, not which | [`Chunk::counts`]: no event is decoded |
//! | one field | [`Struct::i64`], [`Struct::text`], [`Struct::get`] with a path such as `"thread.javaName"` |
//! | every field once | [`Struct::fields`]; [`Struct::raw_fields`] when constants are not needed |
//! | events of few types | [`Chunk::events_of`] |
//! | a moment, a length of time | [`Event::start`], [`Event::duration`], [`Struct::time`], [`Struct::span`] |
//! | a constant without an event | [`Chunk::pool`], [`Chunk::constant`] |
//!
//! Ids, ticks and constants belong to one chunk: compare names, times and strings across chunks,
//! never keys.
//!
//! # Iterating
//!
//! The classes that were sampled most, and where; nothing is copied but what is kept:
//!
//! ```
//! use jfr_chains_analyzer::reader::{Event, ReadError, Recording};
//! use std::collections::HashMap;
//! use std::path::Path;
//!
//! fn sampled(path: &Path) -> Result<HashMap<(String, String), i64>, ReadError> {
//!     let mut weights = HashMap::new();
//!     for chunk in Recording::open(path)?.chunks() {
//!         for event in chunk.events() {
//!             if event.name() == "jdk.ObjectAllocationSample" {
//!                 let class = event.text("objectClass.name").map(|name| name.to_string());
//!                 let at = (class.unwrap_or_default(), top_method(&event).unwrap_or_default());
//!                 *weights.entry(at).or_default() += event.i64("weight").unwrap_or(0);
//!             }
//!         }
//!     }
//!     Ok(weights)
//! }
//!
//! fn top_method(event: &Event<'_>) -> Option<String> {
//!     let frames = event.get("stackTrace.frames")?.as_array()?;
//!     let method = frames.iter().next()?.as_struct()?.get_struct("method")?;
//!     Some(format!("{}.{}", method.text("type.name")?, method.text("name")?))
//! }
//! ```
//!
//! # Visiting
//!
//! A type is looked at once a chunk, its events by the positions that were found:
//!
//! ```
//! use jfr_chains_analyzer::reader::{Chunk, Unit};
//!
//! /// Sums of every field of bytes of one event type, by the field's label.
//! fn totals<'c>(chunk: &'c Chunk<'_>, name: &str) -> Vec<(&'c str, i64)> {
//!     let Some(declared) = chunk.types().by_name(name) else {
//!         return Vec::new();
//!     };
//!     let fields = declared.fields().iter().enumerate();
//!     let mut sums: Vec<(usize, &str, i64)> = fields
//!         .filter(|(_, field)| field.unit() == Some(Unit::Bytes))
//!         .map(|(position, field)| (position, field.label().unwrap_or(field.name()), 0))
//!         .collect();
//!     for event in chunk.events().filter(|event| event.name() == name) {
//!         for (position, _, sum) in &mut sums {
//!             *sum += event.at(*position).ok().and_then(|value| value.as_i64()).unwrap_or(0);
//!         }
//!     }
//!     sums.into_iter().map(|(_, label, sum)| (label, sum)).collect()
//! }
//! ```
//!
//! # What is promised
//!
//! - No input panics, loops or makes the reader allocate more than a small multiple of what the
//!   chunk at hand declares: every count is checked against the bytes that remain first.
//! - Versions 1.x and 2.x are read; 0.9 and later majors are refused by name.
//! - Damaged events cost themselves: the walk finds the next one that is whole.

mod chunk;
mod clock;
mod cursor;
mod error;
mod event;
mod halves;
mod keys;
mod known;
mod metadata;
mod plain;
mod pools;
mod recording;
mod resync;
mod skip;
mod split;
mod text;
mod tokens;
mod types;
mod value;
mod walk;

pub use chunk::{Chunk, Events};
pub use clock::{Clock, EpochNanos, Nanos};
pub use error::{DecodeError, ReadError, Skipped};
pub use event::Event;
pub use jfr_format::header::{Header, State};
pub use recording::Recording;
pub use text::Text;
pub(crate) use tokens::MetadataTokens;
pub use types::{Annotation, Field, Primitive, Type, Types, Unit};
pub use value::{Array, Fields, Key, Raw, RawFields, Struct, Value};
pub use walk::Tally;
