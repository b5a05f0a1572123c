//! The core's records as events: one each, with names added. No decision is made here.

mod candidate;
mod chain;
mod cost;
mod search;
mod text;

pub use chain::{CommittedChain, chain_path};
pub use search::PassFacts;
pub use text::{decision_name, progress, refusal_text, state_name};

use std::sync::Arc;

use chain_core::config::WalkEngine;
use chain_core::input::ContainerReading;
use chain_core::record::{Record, Stamped};
use chain_core::tuning::Tuned;
use chain_core::{Bytes as CoreBytes, ClassId, Epoch, Micros, Millis, ThreadId, Tick, TraceId};
use jfr_format::entity::{ClassInfo, StackInfo, ThreadInfo};
use jfr_format::schema::{AnyEvent, Bytes, Nanos, Share};

use crate::handles::Origin;
use crate::names::Names;

/// One thing for the recordings, with the instant it was made at.
#[derive(Debug)]
pub struct Emission {
    /// When.
    pub at: Tick,
    /// What.
    pub what: Item,
}

impl Emission {
    /// The path of a chain that is recorded for the first time.
    #[must_use]
    pub fn new_chain(&self) -> Option<&str> {
        match &self.what {
            Item::Chain(chain) if !chain.event.repeated => Some(&chain.event.path),
            _ => None,
        }
    }
}

/// An event, or a chain with all that belongs to it.
#[derive(Debug)]
pub enum Item {
    /// An event of ours.
    Event(Box<AnyEvent>),
    /// A chain: its event, its hops, and the path for the linked form.
    Chain(Box<CommittedChain>),
}

/// What the mapping asks of the worker.
pub trait Lookup {
    /// Where the tracked objects of a class come from.
    fn origin(&self, class: ClassId) -> Option<Origin>;
    /// The newest epoch.
    fn epoch(&self) -> Epoch;
    /// The container's memory at the last reading.
    fn container(&self) -> Option<ContainerReading>;
    /// Heap in use after the last collection.
    fn used_after_gc(&self) -> Option<CoreBytes>;
    /// Wall clock of an instant, ms since the epoch.
    fn epoch_millis(&self, at: Tick) -> i64;
}

/// Turns records into events; keeps what several records need together.
#[derive(Debug)]
pub struct Mapper<'a> {
    names: &'a Names,
    engine: WalkEngine,
    tuned: Tuned,
    chains: chain::Numbers,
    last_pass: Option<PassFacts>,
    candidates: std::collections::BTreeMap<ClassId, bool>,
    latched: bool,
    last_root_outcome: Option<&'static str>,
    /// Searches begun.
    pub searches: u64,
    /// Chains recorded, repetitions aside.
    pub chains_recorded: u64,
}

impl<'a> Mapper<'a> {
    /// A mapper that has seen nothing.
    #[must_use]
    pub fn new(names: &'a Names, engine: WalkEngine, tuned: Tuned) -> Self {
        Self {
            names,
            engine,
            tuned,
            chains: chain::Numbers::default(),
            last_pass: None,
            candidates: std::collections::BTreeMap::new(),
            latched: false,
            last_root_outcome: None,
            searches: 0,
            chains_recorded: 0,
        }
    }

    /// Remembers what a pass reported beyond the core's record of it.
    pub fn pass_reported(&mut self, facts: PassFacts) {
        self.last_root_outcome = facts
            .roots_attempted
            .then_some(facts.root_outcome)
            .or(self.last_root_outcome);
        self.last_pass = Some(facts);
    }

    /// The events of one record.
    pub fn map(&mut self, stamped: &Stamped, lookup: &impl Lookup, out: &mut Vec<Emission>) {
        let at = stamped.at;
        let mut event = |event: AnyEvent| {
            out.push(Emission {
                at,
                what: Item::Event(Box::new(event)),
            })
        };
        match &stamped.record {
            Record::LeakCandidate(candidate) => {
                event(self.leak_candidate(candidate, lookup).into())
            }
            Record::SearchStarted(started) => event(self.search_started(started).into()),
            Record::SearchPass(pass) => event(self.search_pass(pass).into()),
            Record::SearchEnded(ended) => {
                event(self.search_ended(ended));
                self.last_pass = None;
            }
            Record::SearchAbandoned(ended) => {
                event(self.search_abandoned(ended).into());
                self.last_pass = None;
            }
            Record::CostBudget(budget) => {
                event(cost::cost_budget(budget, at).into());
                event(cost::gate_refusals(&budget.refusals).into());
            }
            Record::OomProjection(oom) => {
                event(cost::heap_floor(oom, lookup.epoch(), lookup.container()).into());
                event(cost::oom_projection(oom).into());
                if oom.latched != self.latched {
                    self.latched = oom.latched;
                    event(cost::urgency_latch(oom).into());
                }
            }
            Record::ChainCommitted(committed) => {
                let chain = self.committed_chain(committed, lookup);
                if !chain.event.repeated {
                    self.chains_recorded += 1;
                }
                out.push(Emission {
                    at,
                    what: Item::Chain(Box::new(chain)),
                });
            }
            // Published to the callbacks, said in a status event, and counted in one: the worker's business.
            Record::Admission(_)
            | Record::SamplingUnavailable(_)
            | Record::TagReleaseFailed { .. } => {}
        }
    }

    /// Native bytes that the last pass reported, while its search runs.
    #[must_use]
    pub fn search_bytes(&self) -> u64 {
        self.last_pass.map_or(0, |facts| facts.native_bytes())
    }

    fn class(&self, id: ClassId) -> Option<Arc<ClassInfo>> {
        self.names.classes.info(id)
    }

    fn class_name(&self, id: ClassId) -> String {
        self.names.classes.name(id).map_or_else(
            || format!("class {}", id.0),
            |name| name.as_ref().to_owned(),
        )
    }

    fn class_names(&self, ids: &[ClassId]) -> String {
        ids.iter()
            .map(|id| self.class_name(*id))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn thread(&self, id: ThreadId) -> Option<Arc<ThreadInfo>> {
        let known = self.names.threads.get(id)?;
        Some(Arc::new(ThreadInfo {
            os_name: Some(known.name.as_ref().to_owned()),
            os_thread_id: i64::try_from(known.os_id).unwrap_or(0),
            java_name: (!known.carrier).then(|| known.name.as_ref().to_owned()),
            java_thread_id: known.java_id.unwrap_or(0),
            group: None,
            is_virtual: false,
            handle: id.0,
        }))
    }

    fn trace(&self, id: TraceId) -> Option<Arc<StackInfo>> {
        self.names.traces.get(id)
    }
}

fn long(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn int(value: u64) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

fn micros(value: Micros) -> Nanos {
    Nanos(long(value.0.saturating_mul(1_000)))
}

fn millis(value: Millis) -> Nanos {
    Nanos::from_millis(long(value.0))
}

fn seconds(value: f64) -> Nanos {
    Nanos::from_secs_f64(value)
}

/// Milliseconds with fraction, as the budgets keep them.
fn millis_f64(value: f64) -> Nanos {
    Nanos::from_secs_f64(value / 1_000.0)
}

fn bytes(value: CoreBytes) -> Bytes {
    Bytes::from(value.0)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "float to int casts saturate"
)]
fn growth(per_hour: f64) -> Bytes {
    Bytes(per_hour.round() as i64)
}

fn thousandths(value: u16) -> Share {
    Share(f32::from(value) / 1_000.0)
}

#[allow(clippy::cast_possible_truncation, reason = "a rate between 0 and 1")]
fn rate(value: f64) -> Share {
    Share(value as f32)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a share between 0 and 1"
)]
fn share_of(part: u64, whole: u64) -> Option<Share> {
    (whole > 0).then(|| Share((part as f64 / whole as f64) as f32))
}
