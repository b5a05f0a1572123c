//! The start gate: three conditions in order, each refusal counted by name.

/// Refusals by name since the process started; "why is there no search now?" is answered here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct GateRefusals {
    /// Start gate 1: safepoint-cost debt.
    pub safepoint_debt: u64,
    /// Start gate 2: the root-enumeration interval.
    pub root_interval: u64,
    /// Start gate 3: the signal is not armed.
    pub not_armed: u64,
    /// Start gate 3: no class qualifies.
    pub no_candidate: u64,
    /// Running search: minimum spacing.
    pub spacing: u64,
    /// Running search: CPU-cost debt.
    pub cpu_debt: u64,
    /// Running search: `cpucap`.
    pub cpu_cap: u64,
    /// Running search: candidate backoff.
    pub backoff: u64,
    /// A pass with a heap-walk call: the stop-time window is full.
    pub stop_window: u64,
}
