//! Reads any JFR recording, damaged or not, typed by its own metadata.
//!
//! A [`Recording`] is a file, a [`Chunk`] has types, a clock, constants and events of its own, an
//! [`Event`] is a [`Struct`] whose fields are [`Value`]s. Everything borrows from the file: opening
//! costs no copy, constants are looked up when a field that refers to them is read, and strings
//! are decoded by [`Text::to_str`].
//!
//! Nothing here gives up on a damaged file: what could be read is there, and
//! [`Skipped`] says what was not, by chunk and offset.

mod chunk;
mod clock;
mod cursor;
mod error;
mod event;
mod keys;
mod metadata;
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
pub use value::{Array, Fields, Struct, Value};
pub use walk::Tally;
