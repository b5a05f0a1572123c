//! How other threads talk to the worker: requests in, a bounded wait for its end. Nothing is called under its lock.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the worker is asked to do when it wakes up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Requests {
    /// End.
    pub stop: bool,
    /// Write what is known to the file.
    pub dump: bool,
    /// Answer a status question.
    pub status: bool,
}

impl Requests {
    fn any(self) -> bool {
        self.stop || self.dump || self.status
    }
}

#[derive(Debug, Default)]
struct State {
    requests: Requests,
    running: bool,
    /// Dump and status requests that were answered.
    answered: u64,
    status: String,
}

/// The mailbox of the worker.
#[derive(Debug, Default)]
pub struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the one place for a worker; false when one runs already.
    pub fn begin(&self) -> bool {
        let mut state = self.lock();
        if state.running {
            return false;
        }
        *state = State {
            running: true,
            ..State::default()
        };
        true
    }

    /// The worker has ended; it is detached from the JVM by now.
    pub fn end(&self) {
        self.lock().running = false;
        self.changed.notify_all();
    }

    /// Whether a worker runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.lock().running
    }

    /// Asks the worker for something and wakes it.
    pub fn request(&self, ask: Requests) {
        let mut state = self.lock();
        state.requests.stop |= ask.stop;
        state.requests.dump |= ask.dump;
        state.requests.status |= ask.status;
        drop(state);
        self.changed.notify_all();
    }

    /// The worker sleeps until something is asked or `timeout` is over; takes what was asked. A stop stays asked.
    pub fn wait(&self, timeout: Duration) -> Requests {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.requests.any() || left.is_zero() {
                let taken = state.requests;
                state.requests = Requests {
                    stop: taken.stop,
                    ..Requests::default()
                };
                return taken;
            }
            let (next, _) = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
        }
    }

    /// Whether a stop was asked; for the worker between two pieces of work.
    #[must_use]
    pub fn stop_asked(&self) -> bool {
        self.lock().requests.stop
    }

    /// The worker answers dump and status requests with this text.
    pub fn answer(&self, text: String) {
        let mut state = self.lock();
        state.answered += 1;
        state.status = text;
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until the worker has ended; false when it has not within `timeout`.
    pub fn wait_for_end(&self, timeout: Duration) -> bool {
        self.wait_until(timeout, |state| (!state.running).then_some(()))
            .is_some()
    }

    /// Asks and waits for the answer's text; `None` when the worker does not answer in time or ends.
    pub fn ask(&self, ask: Requests, timeout: Duration) -> Option<String> {
        let before = self.lock().answered;
        self.request(ask);
        self.wait_until(timeout, |state| {
            if state.answered > before {
                return Some(Some(state.status.clone()));
            }
            (!state.running).then_some(None)
        })
        .flatten()
    }

    fn wait_until<T>(
        &self,
        timeout: Duration,
        mut done: impl FnMut(&State) -> Option<T>,
    ) -> Option<T> {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            if let Some(answer) = done(&state) {
                return Some(answer);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let (next, _) = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner);
            state = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: Requests = Requests {
        stop: true,
        dump: false,
        status: false,
    };
    const STATUS: Requests = Requests {
        stop: false,
        dump: false,
        status: true,
    };

    #[test]
    fn there_is_one_worker_at_a_time() {
        let control = Control::default();
        assert!(control.begin());
        assert!(!control.begin());
        control.end();
        assert!(control.begin());
    }

    #[test]
    fn a_request_is_taken_once_but_a_stop_stays() {
        let control = Control::default();
        assert!(control.begin());
        control.request(STATUS);
        assert_eq!(control.wait(Duration::ZERO), STATUS);
        assert_eq!(control.wait(Duration::ZERO), Requests::default());
        control.request(STOP);
        assert_eq!(control.wait(Duration::from_secs(60)), STOP);
        assert_eq!(control.wait(Duration::from_secs(60)), STOP);
    }

    #[test]
    fn waiting_for_the_end_is_bounded() {
        let control = Control::default();
        assert!(control.begin());
        assert!(!control.wait_for_end(Duration::ZERO));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !control.wait(Duration::from_secs(60)).stop {}
                control.end();
            });
            control.request(STOP);
            assert!(control.wait_for_end(Duration::from_secs(60)));
        });
    }

    #[test]
    fn a_question_gets_the_workers_text_or_nothing_when_it_ends() {
        let control = Control::default();
        assert!(control.begin());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(control.wait(Duration::from_secs(60)).status);
                control.answer("fine".into());
                assert!(control.wait(Duration::from_secs(60)).status);
                control.end();
            });
            assert_eq!(
                control.ask(STATUS, Duration::from_secs(60)).as_deref(),
                Some("fine")
            );
            assert_eq!(control.ask(STATUS, Duration::from_secs(60)), None);
        });
    }
}
