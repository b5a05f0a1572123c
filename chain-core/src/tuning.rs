//! Every threshold of search-control with unit, source and status.

/// Share of samples that is tracked when the user sets none.
pub const LIVE_RATIO: f64 = 0.1;

/// Instances tallied by signature after which a durable, verified chain counts as resolved.
pub const RESOLVED_INSTANCES: u32 = 64;
