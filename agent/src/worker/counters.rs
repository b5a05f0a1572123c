//! What the worker itself counts.

use std::collections::BTreeMap;

use chain_core::ClassId;
use chain_core::gate::GateRefusals;
use chain_core::input::AdmissionCounts;
use chain_core::record::{CostBudget, Drops};

/// Counters since the session began.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Samples handed to the engine.
    pub(super) samples_taken: u64,
    /// Passes run.
    pub(super) passes: u64,
    /// The core's drop counters, from its last budget record.
    pub(super) core: Drops,
    /// Gate refusals, from the same record.
    pub(super) refusals: GateRefusals,
    /// The last budget record itself.
    pub(super) budget: Option<CostBudget>,
    /// What the sampling callback counted, as last handed in.
    pub(super) admission: AdmissionCounts,
    /// A search runs.
    pub(super) searching: bool,
    /// The last periodic word on each followed class: name, state and progress.
    pub(super) candidates: BTreeMap<ClassId, String>,
}
