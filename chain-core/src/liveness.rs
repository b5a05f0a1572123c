//! The liveness table: tracked samples, their ages, and one summary a fold.

use crate::ids::{ClassId, ThreadId};
use crate::tick::{Bytes, Epoch};

/// One processed GC epoch range of the liveness table, reduced to what the leak signal reads.
///
/// `classes` holds, by retained sampled bytes descending, at most 256 classes with survivors, and
/// then an entry with zero survivors for each class the signal already follows and that has none.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct FoldSummary {
    /// The newest epoch of the range.
    pub epoch: Epoch,
    /// Epochs since the signal was armed.
    pub since_arming: u64,
    /// Per class.
    pub classes: Vec<ClassFold>,
    /// Entries of the table.
    pub tracked: u32,
    /// The table is full and dropped samples since the last fold.
    pub dropped: u64,
}

/// One class in one fold.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ClassFold {
    /// The class.
    pub class: ClassId,
    /// Distinct GC ages among its surviving tracked instances (age 0 has survived nothing).
    pub ages: u32,
    /// Surviving tracked instances.
    pub survivors: u32,
    /// Instances that had survived an earlier fold and died since.
    pub died: u32,
    /// Allocated bytes the survivors stand for.
    pub retained: Bytes,
    /// At most 8 allocating threads with survivors, most retained instances first.
    pub threads: Vec<ThreadFold>,
}

/// One allocating thread of a class in one fold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ThreadFold {
    /// The thread.
    pub thread: ThreadId,
    /// Distinct GC ages among its survivors.
    pub ages: u32,
    /// Its surviving tracked instances.
    pub survivors: u32,
}
