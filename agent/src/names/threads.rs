//! Allocating threads: one id for each native thread that allocates.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chain_core::ThreadId;

use super::lock;
use crate::jvm::env::Weak;

/// Most threads that are remembered; the oldest are forgotten first.
pub const MAX_THREADS: usize = 4_096;

/// What is known of a thread.
#[derive(Debug, Clone)]
pub struct ThreadInfo {
    /// Its Java name when it was first seen.
    pub name: Arc<str>,
    /// Its native id.
    pub os_id: u64,
    /// Its `Thread.getId`, when it was read.
    pub java_id: Option<i64>,
    /// The Thread object; `None` for a carrier that was only seen under virtual threads.
    pub weak: Option<Arc<Weak>>,
    /// It was seen carrying virtual threads.
    pub carrier: bool,
}

/// The thread registry.
#[derive(Debug, Default)]
pub struct Threads {
    table: Mutex<BTreeMap<u64, ThreadInfo>>,
    last: AtomicU64,
    forgotten: Mutex<Vec<Arc<Weak>>>,
}

impl Threads {
    /// A new id, never 0, never given twice.
    pub fn next_id(&self) -> ThreadId {
        ThreadId(self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Remembers a thread; the oldest one is forgotten when there are too many.
    pub fn add(&self, id: ThreadId, info: ThreadInfo) {
        let dropped = {
            let mut table = lock(&self.table);
            table.insert(id.0, info);
            if table.len() > MAX_THREADS {
                table.pop_first()
            } else {
                None
            }
        };
        if let Some(weak) = dropped.and_then(|(_, info)| info.weak) {
            lock(&self.forgotten).push(weak);
        }
    }

    /// What is known of a thread; `None` when it was forgotten.
    #[must_use]
    pub fn get(&self, id: ThreadId) -> Option<ThreadInfo> {
        lock(&self.table).get(&id.0).cloned()
    }

    /// Its name, `thread N` when it was forgotten.
    #[must_use]
    pub fn name(&self, id: ThreadId) -> Arc<str> {
        match lock(&self.table).get(&id.0) {
            Some(info) => Arc::clone(&info.name),
            None => format!("thread {}", id.0).into(),
        }
    }

    /// Forgets every thread and gives the references back; ids are not given again.
    pub(super) fn clear(&self) -> Vec<Weak> {
        let threads = std::mem::take(&mut *lock(&self.table));
        let mut free = self.take_forgotten();
        free.extend(
            threads
                .into_values()
                .filter_map(|info| Arc::try_unwrap(info.weak?).ok()),
        );
        free
    }

    /// Takes the weak references of forgotten threads that nobody else holds: the worker deletes them.
    pub fn take_forgotten(&self) -> Vec<Weak> {
        let list = std::mem::take(&mut *lock(&self.forgotten));
        let (mut free, mut kept) = (Vec::new(), Vec::new());
        for weak in list {
            match Arc::try_unwrap(weak) {
                Ok(weak) => free.push(weak),
                Err(shared) => kept.push(shared),
            }
        }
        lock(&self.forgotten).append(&mut kept);
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str) -> ThreadInfo {
        ThreadInfo {
            name: name.into(),
            os_id: 1,
            java_id: None,
            weak: None,
            carrier: false,
        }
    }

    #[test]
    fn ids_start_at_one_and_are_never_reused() {
        let threads = Threads::default();
        assert_eq!(
            (threads.next_id(), threads.next_id()),
            (ThreadId(1), ThreadId(2))
        );
    }

    #[test]
    fn the_oldest_thread_is_forgotten_first() {
        let threads = Threads::default();
        for n in 0..=MAX_THREADS as u64 {
            threads.add(ThreadId(n + 1), info("x"));
        }
        assert!(threads.get(ThreadId(1)).is_none());
        assert!(threads.get(ThreadId(2)).is_some());
        assert_eq!(&*threads.name(ThreadId(1)), "thread 1");
    }
}
