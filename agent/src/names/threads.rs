//! Allocating threads: one id for each native thread that allocates.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chain_core::ThreadId;

use super::graveyard::Graveyard;
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
    forgotten: Graveyard,
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
            self.forgotten.bury(weak);
        }
    }

    /// What is known of a thread; `None` when it was forgotten.
    #[must_use]
    pub fn get(&self, id: ThreadId) -> Option<ThreadInfo> {
        lock(&self.table).get(&id.0).cloned()
    }

    /// The threads that had this name when they were first seen, with their objects.
    #[must_use]
    pub fn named(&self, name: &str) -> Vec<(ThreadId, Arc<Weak>)> {
        let table = lock(&self.table);
        let alike = table.iter().filter(|(_, info)| info.name.as_ref() == name);
        alike
            .filter_map(|(id, info)| Some((ThreadId(*id), Arc::clone(info.weak.as_ref()?))))
            .collect()
    }

    /// Its name, `thread N` when it was forgotten.
    #[must_use]
    pub fn name(&self, id: ThreadId) -> Arc<str> {
        match lock(&self.table).get(&id.0) {
            Some(info) => Arc::clone(&info.name),
            None => format!("thread {}", id.0).into(),
        }
    }

    /// Threads whose object can be asked whether it is gone, once there are enough of them to care.
    #[must_use]
    pub fn suspects(&self) -> Vec<(ThreadId, Arc<Weak>)> {
        let table = lock(&self.table);
        if table.len() <= MAX_THREADS / 2 {
            return Vec::new();
        }
        let known = table
            .iter()
            .filter_map(|(id, info)| Some((ThreadId(*id), Arc::clone(info.weak.as_ref()?))));
        known.collect()
    }

    /// Forgets a thread.
    pub fn remove(&self, id: ThreadId) {
        let removed = lock(&self.table).remove(&id.0);
        if let Some(weak) = removed.and_then(|info| info.weak) {
            self.forgotten.bury(weak);
        }
    }

    /// Forgets every thread; ids are not given again.
    pub(super) fn clear(&self) {
        let threads = std::mem::take(&mut *lock(&self.table));
        for weak in threads.into_values().filter_map(|info| info.weak) {
            self.forgotten.bury(weak);
        }
    }

    pub(super) fn take_free(&self) -> Vec<Weak> {
        self.forgotten.take_free()
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
    fn dead_threads_are_asked_for_only_when_there_are_many_and_free_their_reference() {
        let threads = Threads::default();
        let add = |n: u64| {
            let weak = Some(Arc::new(Weak::for_test(0x10)));
            threads.add(ThreadId(n), ThreadInfo { weak, ..info("x") });
        };
        add(1);
        assert!(threads.suspects().is_empty());
        (2..=MAX_THREADS as u64).for_each(add);
        assert_eq!(threads.suspects().len(), MAX_THREADS);
        threads.remove(ThreadId(7));
        assert!(threads.get(ThreadId(7)).is_none());
        assert_eq!(threads.take_free().len(), 1);
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
