//! The facade: inputs with their instants in, actions and records out.

use std::sync::Arc;

mod chain_cache;

use crate::admission::AdmissionSet;
use crate::chain::{Chain, FoundChain};
use crate::collector::SteadyEpochs;
use crate::config::{Collector, Config};
use crate::decider::{Commit, Decider};
use crate::ids::{SampleId, ShortId};
use crate::input::{AdmissionCounts, Fact, GcReading, Input, Sample};
use crate::liveness::Tracker;
use crate::plan::Action;
use crate::record::{Drops, Record, Stamped};
use crate::tick::{Bytes, Tick};
use crate::tuning::{self, Tuned};
use crate::walk::{ChainAlive, PassReport};

#[cfg(feature = "journal")]
use crate::journal::Journal;

use chain_cache::ChainCache;

/// Owns every decision. Only the worker thread holds it; it reads no clock and calls nothing.
///
/// Protocol, once per wake-up: `handle` the GC and container readings, the queued samples and what
/// happened; then `poll` and do what it says until it says `Wait`; then `drain` the records.
/// Answers change only through an input, or at the instant that `Wait` names. Without a recording
/// (`Input::RecordingStarted`, also for the agent's own file) nothing is armed.
#[derive(Debug)]
pub struct Engine {
    decider: Decider,
    tracker: Tracker,
    admission: AdmissionSet,
    chains: ChainCache,
    counts: AdmissionCounts,
    last_gc: Option<GcReading>,
    epochs: SteadyEpochs,
    drops: Drops,
    #[cfg(feature = "journal")]
    journal: Journal,
}

impl Engine {
    /// A new engine; unset options are tuned to `config.machine`.
    pub fn new(config: Config) -> Engine {
        let decider = Decider::new(config);
        let tuned = decider.tuned;
        let bytes =
            (decider.collector() == Collector::GenZgc).then_some(Bytes(tuning::RESERVOIR_BYTES));
        #[cfg(feature = "journal")]
        let journal = Journal::new(&decider);
        Engine {
            tracker: Tracker::new(tuned.table_start(), tuned.table_max, bytes),
            admission: AdmissionSet {
                ratio: AdmissionSet::scale_ratio(tuned.live_ratio),
                ..AdmissionSet::default()
            },
            chains: ChainCache::default(),
            counts: AdmissionCounts::default(),
            last_gc: None,
            epochs: SteadyEpochs::default(),
            drops: Drops::default(),
            decider,
            #[cfg(feature = "journal")]
            journal,
        }
    }

    /// Takes one input that happened at `now`.
    pub fn handle(&mut self, now: Tick, input: Input) {
        match input {
            Input::SamplingStarted => self.fact(now, Fact::SamplingStarted),
            Input::SamplingUnavailable(why) => self.fact(now, Fact::SamplingUnavailable(why)),
            Input::Gc(reading) => {
                // A reading that says nothing new is none.
                if self.last_gc != Some(reading) {
                    self.last_gc = Some(reading);
                    let epoch = self.epochs.take(reading.epoch);
                    self.tracker.set_epoch(epoch);
                    let reading = GcReading { epoch, ..reading };
                    self.fact(now, Fact::Gc(reading));
                }
            }
            Input::Container(reading) => self.fact(now, Fact::Container(reading)),
            Input::Sample(sample) => {
                let epoch = self.epochs.of_sample(sample.epoch);
                self.tracker.add(Sample { epoch, ..sample });
                if self.tracker.wants_sweep() {
                    self.fact(now, Fact::SweepWanted);
                }
            }
            Input::Swept { dead } => self.swept(now, &dead),
            Input::RecordingStarted => self.fact(now, Fact::RecordingStarted),
            Input::RecordingStopped => self.fact(now, Fact::RecordingStopped),
            Input::Pass(report) => self.pass(now, report),
            Input::Released(report) => self.fact(now, Fact::Released(report)),
            Input::Reverified(chains) => self.reverified(now, chains),
            Input::AdmissionCounts(counts) => self.counts = counts,
            Input::Stop => self.fact(now, Fact::Stop),
        }
        self.commit(now);
        self.publish(now);
    }

    /// What to do at `now`. Idempotent at one instant; after set-up it allocates nothing.
    pub fn poll(&mut self, now: Tick) -> Action {
        let (action, fresh) = self.decider.poll(now);
        if fresh {
            #[cfg(feature = "journal")]
            self.journal.polled(now, &self.decider, action);
            self.publish(now);
        }
        action
    }

    /// Takes the records made since the last call, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Stamped> + '_ {
        self.decider.output.drain()
    }

    /// Takes the journal lines made since the last call ([`crate::journal`]); join as many as fit
    /// into one event. When entries were lost the next line is a whole state.
    #[cfg(feature = "journal")]
    pub fn drain_journal(&mut self) -> Vec<String> {
        self.journal.drain(&self.decider)
    }

    /// Forgets the journal entries made since the last call: nobody keeps them.
    #[cfg(feature = "journal")]
    pub fn drain_journal_quietly(&mut self) {
        self.journal.forget();
    }

    /// Takes the handle slots the engine no longer tracks (dead, dropped or evicted): delete their
    /// weak references and reuse the slots. Call it after samples and sweeps.
    pub fn take_released(&mut self) -> std::vec::Drain<'_, SampleId> {
        self.tracker.take_released()
    }

    /// The admission set in force; `Record::Admission` says when it changed.
    pub fn admission(&self) -> &AdmissionSet {
        &self.admission
    }

    /// The chains that `Action::Reverify` asks about.
    pub fn cached_chains(&self) -> impl Iterator<Item = &Arc<FoundChain>> {
        self.chains.iter()
    }

    /// The options as given.
    pub fn config(&self) -> &Config {
        &self.decider.config
    }

    /// The options in force.
    pub fn tuned(&self) -> &Tuned {
        &self.decider.tuned
    }

    /// The deciding half, for a status line or a test.
    pub fn decider(&self) -> &Decider {
        &self.decider
    }

    /// Entries of the liveness table.
    pub fn tracked(&self) -> usize {
        self.tracker.len()
    }

    fn fact(&mut self, now: Tick, fact: Fact) {
        self.decider.fact(now, &fact);
        #[cfg(feature = "journal")]
        {
            let snapshot = matches!(fact, Fact::RecordingStarted);
            self.journal.fact(now, fact);
            if snapshot {
                self.journal.want_state();
            }
        }
    }

    fn swept(&mut self, now: Tick, dead: &[SampleId]) {
        self.tracker.swept(dead);
        self.fact(now, Fact::Swept);
        if self.decider.push_due(now) {
            let fold = self
                .tracker
                .fold(self.decider.since_arming(), &self.decider.followed());
            self.fact(now, Fact::Fold(fold));
        }
        let (samples, reservoir) = self.tracker.drops();
        let drops = Drops {
            samples,
            reservoir,
            chains: self.chains.dropped(),
            #[cfg(feature = "journal")]
            journal: self.journal.dropped(),
            urgent_boost_admits: self.counts.boost_admits,
            urgent_boost_backed_off: self.counts.boost_backed_off,
            ..Drops::default()
        };
        if drops != self.drops {
            self.drops = drops;
            self.fact(now, Fact::Drops(drops));
        }
    }

    fn pass(&mut self, now: Tick, mut report: PassReport) {
        for found in std::mem::take(&mut report.chains) {
            report.chains.push(reduced(&found));
            self.chains.take(now, report.search, report.coverage, found);
        }
        self.fact(now, Fact::Pass(report));
    }

    /// Writes the chains of classes that were decided about; nothing is held back for a dump.
    fn commit(&mut self, now: Tick) {
        let commits: Vec<Commit> = self.decider.take_commits().collect();
        for commit in commits {
            for key in self.chains.commit(commit.class, commit.provisional) {
                self.emit(now, key, false);
            }
        }
    }

    fn emit(&mut self, now: Tick, key: ShortId, repeated: bool) {
        let record = self.chains.record(key, repeated, &self.decider.signal);
        if let Some(record) = record {
            self.decider
                .output
                .push(now, Record::ChainCommitted(record));
        }
    }

    fn reverified(&mut self, now: Tick, chains: Vec<ChainAlive>) {
        for c in &chains {
            if c.alive {
                if self.chains.is_committed(c.signature) {
                    self.emit(now, c.signature, true);
                }
            } else {
                self.chains.remove(c.signature);
            }
        }
        self.fact(now, Fact::Reverified(chains));
    }

    fn publish(&mut self, now: Tick) {
        let set = AdmissionSet {
            enabled: self.decider.wants_samples(),
            watched: *self.decider.watched(),
            boost: self.decider.boosted(),
            table_full: self.tracker.at_limit(),
            ..self.admission
        };
        if set != self.admission {
            self.admission = AdmissionSet {
                version: self.admission.version + 1,
                ..set
            };
            self.decider
                .output
                .push(now, Record::Admission(self.admission));
        }
    }
}

/// What decides of a chain: no hop, no name.
fn reduced(found: &FoundChain) -> FoundChain {
    let root = crate::chain::Root {
        kind: found.chain.root.kind,
        ..crate::chain::Root::default()
    };
    FoundChain {
        candidate: found.candidate,
        chain: Chain {
            root,
            hops: Vec::new(),
            strength: found.chain.strength,
        },
        signature: found.signature,
        identity: found.identity,
        verified: found.verified,
        instances: found.instances,
        reached: found.reached,
        leaf: None,
    }
}

#[cfg(test)]
mod tests;
