//! The worker and the JVM's own recordings: a search lives while one of them takes our events.

use std::time::Duration;

use chain_core::Input;

use super::Worker;
use crate::jvm::env::Jni;
use crate::jvm::jfr;
use crate::record::Emission;
use crate::recordings::{Change, Recordings};

/// How long the end waits for the recordings' thread: what waits is committed meanwhile.
const LEAVE_WAIT: Duration = Duration::from_millis(1_500);

impl Worker {
    /// Without an own file the events go into the JVM's recordings.
    pub(super) fn join_recordings(&mut self) {
        let agent = self.agent;
        match Recordings::begin(move |serve| jfr::on_this_thread(agent, serve)) {
            Ok(recordings) => self.recordings = Some(recordings),
            Err(error) => {
                crate::error!("no thread for the JVM's recordings ({error}); the agent stays idle")
            }
        }
    }

    /// Tells the engine when recordings begin to take our events, and when the last one ends.
    pub(super) fn follow_recordings(&mut self, jni: &Jni<'_>) {
        let Some(recordings) = &mut self.recordings else {
            return;
        };
        let change = recordings.take_change();
        for (code, sentence) in recordings.take_notices() {
            crate::warning!("{sentence}");
            self.emit_status(code, "warning", &sentence);
        }
        match change {
            Some(Change::Started) => {
                crate::info!("a recording takes the agent's events");
                self.recording_started(jni);
                self.emit_status(
                    "recording-started",
                    "info",
                    "A recording takes the agent's events",
                );
                for (code, message) in self.facts.degradations.clone() {
                    self.emit_status(code, "warning", &message);
                }
            }
            Some(Change::Stopped) => {
                crate::info!("no recording takes the agent's events any more");
                self.engine.handle(self.now(), Input::RecordingStopped);
                self.stop_sampling();
            }
            None => {}
        }
    }

    /// Hands an event over, when a recording takes it.
    pub(super) fn offer(&self, emission: Emission) {
        if let Some(recordings) = &self.recordings
            && recordings.is_enabled()
        {
            recordings.offer(emission);
        }
    }

    pub(super) fn leave_recordings(&mut self) {
        if let Some(recordings) = self.recordings.take()
            && !recordings.end(LEAVE_WAIT)
        {
            crate::warning!("the JVM's recordings did not take the last events in time");
        }
    }
}
