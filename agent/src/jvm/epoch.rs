//! Counts of collection callbacks. The callbacks touch these atomics and nothing else.

use std::sync::atomic::{AtomicU64, Ordering};

static STARTS: AtomicU64 = AtomicU64::new(0);
static FINISHES: AtomicU64 = AtomicU64::new(0);

/// A collection pause began.
pub(super) fn started() {
    STARTS.fetch_add(1, Ordering::Relaxed);
}

/// A collection pause ended.
pub(super) fn finished() {
    FINISHES.fetch_add(1, Ordering::Release);
}

/// Pauses that ended since the library was loaded. Not cycles: see `beans`.
#[must_use]
pub fn finishes() -> u64 {
    FINISHES.load(Ordering::Acquire)
}

/// Pauses that began since the library was loaded.
#[must_use]
pub fn starts() -> u64 {
    STARTS.load(Ordering::Relaxed)
}
