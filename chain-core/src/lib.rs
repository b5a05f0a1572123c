//! Pure decisions of jfr-chains: no JVM, no clock, no thread, no I/O.
//!
//! [`Engine`] is the facade. It splits in a tracker ([`liveness`]) that turns samples into folds, and a
//! [`decider`] that decides from facts a recording can carry; with feature `journal` these become JSON
//! lines that replay. Feature `sim` is a simulated JVM around it all.
//!
#![doc = include_str!("specification.md")]
#![forbid(unsafe_code)]

pub mod admission;
pub mod backoff;
pub mod chain;
pub mod classify;
pub mod collector;
pub mod config;
pub mod cost_budget;
pub mod decider;
pub mod engine;
pub mod gate;
pub mod ids;
pub mod inline;
pub mod input;
#[cfg(feature = "journal")]
pub mod journal;
pub mod ladder;
pub mod leak_signal;
pub mod liveness;
pub mod oom;
pub mod output;
pub mod pacing;
pub mod pid;
pub mod plan;
pub mod record;
pub mod ring;
pub mod schedule;
pub mod search;
pub mod signature;
#[cfg(feature = "sim")]
pub mod sim;
pub mod tick;
pub mod trend;
pub mod tuning;
pub mod walk;

pub use config::Config;
pub use engine::Engine;
pub use ids::{ClassId, SampleId, SearchId, ShortId, ThreadId, TraceId};
pub use input::Input;
pub use plan::{Action, PassPlan};
pub use record::Record;
pub use tick::{Bytes, Epoch, Micros, Millis, Tick};
pub use walk::{HeapWalk, PassReport, ReleaseReport};
