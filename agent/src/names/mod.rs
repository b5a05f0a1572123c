//! Names that the agent keeps: classes, threads, methods and whole allocation stacks, each behind a small id.
//!
//! Everything here is plain data behind short locks; who calls into the JVM does so before or after, never while
//! one of these locks is held.

mod classes;
mod graveyard;
mod java;
mod threads;
mod traces;

pub use classes::{Classes, MAX_CLASSES, NotAdded};
pub use java::{binary_name, is_hidden, java_name};
pub use threads::{MAX_THREADS, ThreadInfo, Threads};
pub use traces::{MAX_TRACES, Method, Traces};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Every registry of names.
#[derive(Debug, Default)]
pub struct Names {
    /// Classes of sampled objects and candidates.
    pub classes: Classes,
    /// Allocating threads.
    pub threads: Threads,
    /// Allocation stacks.
    pub traces: Traces,
}

impl Names {
    /// Takes the weak references that no name needs any more: the worker deletes them.
    pub fn take_free(&self) -> Vec<crate::jvm::env::Weak> {
        let mut free = self.classes.take_free();
        free.extend(self.threads.take_free());
        free
    }

    /// Forgets everything. The references come out of [`Names::take_free`].
    pub fn clear(&self) {
        self.traces.clear();
        self.classes.clear();
        self.threads.clear();
    }
}

/// Locks also after a panic of another holder: the data is plain and the agent is inert by then.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
