//! A client of the JVM's attach protocol: finds JVMs, starts their attach listener, loads an agent.
//!
//! Works across uid (as root) and container boundaries: files are reached through `/proc/PID/root`, names use
//! the pid inside the target's namespace. Every way to fail has its own message that names the cause and what to
//! do; see [`Error`]. Nothing here disturbs a process that is no JVM, or one that does not listen: what can be known
//! is checked before the signal is sent.
//!
//! ```no_run
//! let jvm = attach::Jvm::find(4711)?;
//! let library = attach::place(&jvm, std::path::Path::new("libjfr_chains.so"))?;
//! let mut listener = attach::connect(&jvm, std::time::Duration::from_secs(10))?;
//! listener.load(&library, "file=/tmp/leak.jfr")?;
//! # Ok::<(), attach::Error>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod jvm;
mod library;
mod listener;
mod perfdata;
mod process;
mod protocol;

pub use error::Error;
pub use jvm::{Jvm, list};
pub use library::place;
pub use listener::{Listener, connect};
pub use protocol::OPTIONS_MAX;
