//! Living with the JVM's own recordings: events go into every recording that has them enabled.
//!
//! All calls into `jdk.jfr` happen on one thread of its own, since some of them block for seconds while the
//! application starts a recording; sampling and searches never wait for it. The worker offers events into a bounded
//! queue and asks what has changed. The thread looks once a second whether JFR is initialised (which does not
//! initialise it), then declares our event types, and from then on asks whether any recording has them enabled.

mod shared;

use std::time::{Duration, Instant};

use crate::record::Emission;
pub use shared::{Change, Counters, Notice, Recordings};

use shared::Shared;

/// Between two looks at the JVM's recordings.
const POLL_EVERY: Duration = Duration::from_millis(500);

/// What a look at the JVM's recordings shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// Some recording has an event type of ours enabled.
    pub enabled: bool,
    /// Numbers of the recordings that run.
    pub running: Vec<i64>,
}

/// Why there will never be a recording to join in this JVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Never {
    /// The module `jdk.jfr` is not in this runtime image.
    Absent,
    /// JFR is switched off.
    Unavailable,
    /// Our event types were refused; the text says how.
    Refused(String),
}

impl Never {
    fn notice(&self) -> Notice {
        match self {
            Self::Absent => (
                "jfr-absent",
                "module jdk.jfr is not in this JVM: without file= there is nowhere to write to".to_owned(),
            ),
            Self::Unavailable => (
                "jfr-unavailable",
                "JFR is switched off in this JVM (-XX:-FlightRecorder): without file= there is nowhere to write to"
                    .to_owned(),
            ),
            Self::Refused(why) => {
                ("jfr-refused", format!("JFR refuses the event types ({why}): without file= nothing is written"))
            }
        }
    }
}

/// The JVM's side, on the thread that talks to it.
pub trait Flight {
    /// Looks at the recordings; `None` while JFR is not initialised.
    ///
    /// # Errors
    /// There is nothing to join, now and for ever.
    fn look(&mut self) -> Result<Option<Sight>, Never>;

    /// Commits an event or a chain with its hops; how many events a recording took.
    ///
    /// # Errors
    /// One sentence; the events are lost.
    fn commit(&mut self, emission: &Emission) -> Result<u64, String>;
}

/// The thread's work: looks, commits, until the end is asked for.
fn serve(shared: &Shared, flight: &mut dyn Flight) {
    let mut known: Vec<i64> = Vec::new();
    loop {
        match flight.look() {
            Err(never) => {
                shared.tell(never.notice());
                shared.seen(false, false);
                return;
            }
            Ok(None) => {}
            Ok(Some(sight)) => {
                let began = sight.enabled && sight.running.iter().any(|id| !known.contains(id));
                known = sight.running;
                shared.seen(sight.enabled, began);
            }
        }
        let next_look = Instant::now() + POLL_EVERY;
        loop {
            // A look comes every so often, however many events there are to commit.
            let left = next_look.saturating_duration_since(Instant::now());
            if left.is_zero() && !shared.is_ending() {
                break;
            }
            let (next, ended) = shared.next(left);
            if ended {
                return;
            }
            let Some(emission) = next else { break };
            match flight.commit(&emission) {
                Ok(events) => {
                    shared.committed(events);
                    // Said once a recording has it.
                    if let Some(path) = emission.new_chain().filter(|_| events > 0) {
                        crate::info!("chain found: {path}");
                    }
                }
                Err(why) => {
                    shared.lost();
                    crate::debug!("commit: {why}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
