//! The facade: inputs with their instants in, actions and records out.

use crate::admission::AdmissionSet;
use crate::config::Config;
use crate::ids::SampleId;
use crate::input::Input;
use crate::plan::Action;
use crate::record::Stamped;
use crate::tick::{Millis, Tick};

/// Owns every decision. Only the worker thread holds it; it reads no clock and calls nothing.
///
/// Protocol, once per wake-up: `handle` the GC and container readings, the queued samples and what
/// happened; then `poll` and do what it says until it says `Wait`; then `drain` the records.
/// Answers change only through an input, or at the instant that `Wait` names.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    records: Vec<Stamped>,
    released: Vec<SampleId>,
    admission: AdmissionSet,
}

impl Engine {
    /// A new engine; unset options are tuned to `config.machine`.
    pub fn new(config: Config) -> Engine {
        Engine {
            config,
            records: Vec::new(),
            released: Vec::new(),
            admission: AdmissionSet::default(),
        }
    }

    /// Takes one input that happened at `now`.
    pub fn handle(&mut self, now: Tick, input: Input) {
        let _ = (now, input);
    }

    /// What to do at `now`. Idempotent at one instant; after set-up it allocates nothing.
    pub fn poll(&mut self, now: Tick) -> Action {
        crate::plan::wait(now, Millis(1000))
    }

    /// Takes the records made since the last call, oldest first.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Stamped> {
        self.records.drain(..)
    }

    /// Takes the handle slots the engine no longer tracks (dead, dropped or evicted): delete their
    /// weak references and reuse the slots. Call it after samples and sweeps.
    pub fn take_released(&mut self) -> std::vec::Drain<'_, SampleId> {
        self.released.drain(..)
    }

    /// The admission set in force; `Record::Admission` says when it changed.
    pub fn admission(&self) -> &AdmissionSet {
        &self.admission
    }

    /// The options in force.
    pub fn config(&self) -> &Config {
        &self.config
    }
}
