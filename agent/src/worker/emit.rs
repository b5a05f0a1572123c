//! Records, journal and status into events, and events to where they go.

use std::time::Instant;

use super::*;

impl Worker {
    /// Takes the engine's journal over, as events of many lines each.
    pub(super) fn collect_journal(&mut self) {
        let lines = self.engine.drain_journal();
        let joined = self
            .recordings
            .as_ref()
            .is_some_and(|recordings| recordings.is_enabled());
        if self.session.file.is_none() && !joined {
            self.journal.skip();
            return;
        }
        let at = self.now();
        for event in self.journal.events(lines, at) {
            self.emissions.push(Emission {
                at,
                what: Item::Event(Box::new(event.into())),
            });
        }
    }

    /// Takes the engine's records over, as events.
    pub(super) fn collect_records(&mut self) {
        let records: Vec<Stamped> = self.engine.drain().collect();
        for stamped in &records {
            match &stamped.record {
                Record::Admission(set) => self.agent.sampling.publish(set),
                Record::CostBudget(budget) => {
                    self.counters.core = budget.drops;
                    self.counters.refusals = budget.refusals;
                    self.counters.budget = Some(*budget);
                }
                Record::LeakCandidate(candidate) => self.note_candidate(candidate),
                Record::SearchStarted(_) => self.counters.searching = true,
                Record::SearchEnded(_) | Record::SearchAbandoned(_) => {
                    self.counters.searching = false
                }
                _ => {}
            }
            let view = View {
                handles: &self.handles,
                epoch: self.epoch,
                container: self.container,
                used_after_gc: self.used_after_gc,
                started_epoch_millis: self.started_epoch_millis,
            };
            self.mapper.map(stamped, &view, &mut self.emissions);
        }
    }

    /// Says what happened to the file: on stderr once, and as an event.
    pub(super) fn tell_notices(&mut self) {
        let notices = self
            .session
            .file
            .as_mut()
            .map(FileOutput::take_notices)
            .unwrap_or_default();
        for (code, sentence) in notices {
            crate::warning!("{sentence}");
            self.emit_status(code, "warning", &sentence);
        }
    }

    /// Keeps the last word on a class for status answers.
    pub(super) fn note_candidate(&mut self, candidate: &LeakCandidate) {
        if candidate.state == CandidateState::Gone {
            self.counters.candidates.remove(&candidate.class);
            return;
        }
        let name = self.agent.names.classes.name(candidate.class);
        let text = format!(
            "{}: {}, {}",
            name.as_deref().unwrap_or("unknown"),
            record::state_name(candidate.state),
            record::progress(candidate)
        );
        self.counters.candidates.insert(candidate.class, text);
    }

    pub(super) fn write(&mut self, jni: &Jni<'_>) {
        self.collect_records();
        self.collect_journal();
        self.tell_notices();
        self.tidy(jni);
        let now = Instant::now();
        if now.saturating_duration_since(self.last_status) >= STATUS_EVERY {
            self.last_status = now;
            self.emit_status("periodic", "info", "The agent works");
        }
        let flush_due = now.saturating_duration_since(self.last_flush) >= FLUSH_EVERY;
        self.put_out(flush_due);
        if flush_due {
            self.last_flush = now;
        }
    }

    /// Hands the collected events to the output. A chain is in the file before anybody hears of it.
    pub(super) fn put_out(&mut self, flush: bool) {
        let emissions = std::mem::take(&mut self.emissions);
        let Some(file) = &mut self.session.file else {
            for emission in emissions {
                self.offer(emission);
            }
            return;
        };
        for emission in &emissions {
            file.emit(emission);
        }
        let found: Vec<&str> = emissions.iter().filter_map(Emission::new_chain).collect();
        if flush || !found.is_empty() {
            file.flush();
        }
        for path in found {
            crate::info!("chain found: {path}");
        }
    }

    pub(super) fn emit_status(
        &mut self,
        code: &'static str,
        severity: &'static str,
        message: &str,
    ) {
        let event = self.status_event(code, severity, message);
        self.emissions.push(Emission {
            at: self.now(),
            what: Item::Event(Box::new(event.into())),
        });
    }
}
