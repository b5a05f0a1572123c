//! The heap walk: finds which chains of references hold a candidate's instances, while the application runs.
//!
//! [`ConcurrentWalk`] reads the graph through plain JNI from the worker thread, without a safepoint; [`SafepointWalk`]
//! has the JVM follow references a batch at a time. Both share everything but that. Who is asked:
//! - [`catalogue`]: which class is this, and which of its fields matter; [`library`], [`layout`]: tables and rules;
//! - [`roots`]: where to begin; [`frontier`]: what is left; [`nodes`]: what was seen, and along which edge;
//! - [`sigs`], [`tally`]: how many instances hang on which path;
//! - [`visited`]: was this object seen, by its hash or by its tag;
//! - [`observe`]: does the path still hold, and how is it told; [`kept`]: does a told one hold later.
//!
//! The walk owns no strong reference between two passes and never initialises a class.

pub mod catalogue;
mod clock;
pub mod concurrent;
mod content;
mod contents;
mod expand;
mod fingerprints;
mod fold;
pub mod frontier;
pub mod kept;
pub mod layout;
pub mod library;
pub mod names;
pub mod nodes;
pub mod observe;
pub mod pass;
pub mod roots;
mod runs;
pub mod safepoint;
pub mod search;
pub mod sigs;
mod size;
pub mod stack_roots;
pub mod tally;
mod telling;
pub mod types;
mod untag;
pub mod visited;
pub mod walker;

use std::sync::Arc;
use std::time::Duration;

use chain_core::{ClassId, ThreadId};

use super::env::{Jni, Obj};

pub use concurrent::ConcurrentWalk;
pub use safepoint::SafepointWalk;
pub use walker::Recognise;

/// What the walk asks of the agent around it.
pub trait Host {
    /// The JVM signature (`Lapp/Order;`) of a class that the agent numbered; `None` when it is unknown.
    fn class_signature(&self, class: ClassId) -> Option<Arc<str>>;

    /// The agent's number of the thread with this object and name; `None` when it never saw it allocate.
    fn thread_id(&self, jni: &Jni<'_>, thread: &Obj<'_>, name: &str) -> Option<ThreadId> {
        let _ = (jni, thread, name);
        None
    }

    /// The longest stop that one root enumeration may be expected to make.
    fn stop_limit(&self) -> Duration {
        Duration::from_millis(500)
    }

    /// Whether a thread belongs to the agent: it is never a root.
    fn is_own_thread(&self, name: &str) -> bool {
        name.starts_with("jfr-chains")
    }
}
