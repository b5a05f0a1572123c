//! Writes JFR chunks that the JDK's tools and JDK Mission Control open, into a file that is complete
//! at every instant.
//!
//! [`Recording`] is the whole API: open, emit events of [`jfr_format::schema`] and chains, flush,
//! close. It reads no clock: every call takes ticks of the [`Clock`] it was opened with.
//!
//! ```
//! use jfr_format::schema::events::CoreInput;
//! use jfr_writer::{Clock, Options, Recording};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! let clock = Clock { epoch_nanos: 1_700_000_000_000_000_000, ticks: 0, ticks_per_second: 1_000_000_000 };
//! let mut recording = Recording::open(&dir.path().join("leak.jfr"), clock, 0, Options::default())?;
//! recording.emit(1_000, &CoreInput { text: "{}".into(), ..CoreInput::default() });
//! recording.flush(2_000)?;
//! let closed = recording.close(3_000);
//! assert_eq!(closed.counters.events_written, 1);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod chain;
mod chunk;
mod clock;
mod constants;
mod copies;
pub mod disk;
mod encoder;
mod error;
mod frame;
mod metadata;
mod name;
mod notice;
mod pool;
mod recording;
mod types;

pub use chain::{ChainSample, MAX_LINKS};
pub use clock::Clock;
pub use error::{OpenError, WriteError};
pub use notice::Notice;
pub use recording::{Closed, Counters, Options, Recording};
