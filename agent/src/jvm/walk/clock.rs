//! The CPU time of the current thread.

use std::time::{Duration, Instant};

use crate::jvm::env::Jvmti;

/// CPU time of the current thread since some fixed instant; elapsed time where the JVM cannot tell, which ends a
/// pass earlier, never later.
#[must_use]
pub fn cpu(jvmti: Jvmti) -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    jvmti.current_thread_cpu_ns().map_or_else(
        || START.get_or_init(Instant::now).elapsed(),
        Duration::from_nanos,
    )
}
