//! What the worker and the recordings' thread share.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Flight, serve};
use crate::record::Emission;

/// Emissions that wait for the thread; further ones are dropped and counted.
const MOST_WAITING: usize = 4_096;

/// A code for the status event, and a sentence.
pub type Notice = (&'static str, String);

/// What has changed since the worker last asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A recording that takes our events has begun; others may have run before.
    Started,
    /// No recording takes our events any more.
    Stopped,
}

/// Figures for the status event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events that recordings took.
    pub committed: u64,
    /// Events or chains that were lost: a full queue, or a failed commit.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Emission>,
    counters: Counters,
    notices: Vec<Notice>,
    enabled: bool,
    /// Recordings that began while or when our events were enabled.
    starts: u64,
    end_asked: bool,
    ended: bool,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread has looked.
    pub(super) fn seen(&self, enabled: bool, began: bool) {
        let mut state = self.lock();
        if enabled && (began || !state.enabled) {
            state.starts += 1;
        }
        state.enabled = enabled;
        if !enabled {
            // Nobody takes them: not lost, but of no use to anybody.
            state.queue.clear();
        }
    }

    /// The next emission, waiting up to `limit` for one; and whether the thread shall end.
    pub(super) fn next(&self, limit: Duration) -> (Option<Emission>, bool) {
        let deadline = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            if let Some(emission) = state.queue.pop_front() {
                return (Some(emission), false);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.end_asked || left.is_zero() {
                return (None, state.end_asked);
            }
            let waited = self.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn is_ending(&self) -> bool {
        self.lock().end_asked
    }

    pub(super) fn committed(&self, events: u64) {
        self.lock().counters.committed += events;
    }

    pub(super) fn lost(&self) {
        self.lock().counters.dropped += 1;
    }

    pub(super) fn tell(&self, notice: Notice) {
        self.lock().notices.push(notice);
    }

    #[cfg(test)]
    pub(super) fn counters(&self) -> Counters {
        self.lock().counters
    }

    #[cfg(test)]
    pub(super) fn wait_for_end(&self) {
        let mut state = self.lock();
        while !state.ended {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn ended(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }
}

/// The worker's end: what it offers, asks and ends.
#[derive(Debug)]
pub struct Recordings {
    pub(super) shared: Arc<Shared>,
    enabled: bool,
    starts: u64,
}

impl Recordings {
    /// Starts the thread; `with_flight` runs on it and calls its argument once with the JVM's side.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn begin(
        with_flight: impl FnOnce(&mut dyn FnMut(&mut dyn Flight)) + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("jfr-chains-jfr".into())
            .stack_size(1 << 20)
            .spawn(move || {
                let body = AssertUnwindSafe(|| {
                    with_flight(&mut |flight| serve(&of_thread, flight));
                });
                if let Err(payload) = catch_unwind(body) {
                    crate::jvm::guard::latch(payload);
                }
                of_thread.ended();
            })?;
        Ok(Self {
            shared,
            enabled: false,
            starts: 0,
        })
    }

    /// What has changed since the last call.
    pub fn take_change(&mut self) -> Option<Change> {
        let state = self.shared.lock();
        let (was, starts) = (self.enabled, self.starts);
        (self.enabled, self.starts) = (state.enabled, state.starts);
        if state.enabled && state.starts > starts {
            Some(Change::Started)
        } else if was && !state.enabled {
            Some(Change::Stopped)
        } else {
            None
        }
    }

    /// Whether a recording took our events at the last look.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Hands an event over to the recordings; dropped and counted when too many wait.
    pub fn offer(&self, emission: Emission) {
        let mut state = self.shared.lock();
        if state.queue.len() >= MOST_WAITING {
            state.counters.dropped += 1;
            return;
        }
        state.queue.push_back(emission);
        drop(state);
        self.shared.changed.notify_all();
    }

    /// What the user should be told, each once.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.shared.lock().notices)
    }

    /// Figures for the status event.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.lock().counters
    }

    /// Lets the thread commit what waits, ends it and waits for that, `limit` at most; true when it has ended.
    pub fn end(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut state = self.shared.lock();
        state.end_asked = true;
        self.shared.changed.notify_all();
        while !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }
}
