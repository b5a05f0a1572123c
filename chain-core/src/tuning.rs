//! Every threshold of search-control with unit, source and status.

/// Share of samples that is tracked when the user sets none.
pub const LIVE_RATIO: f64 = 0.1;
