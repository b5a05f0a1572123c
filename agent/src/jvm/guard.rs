//! The one guard around every `extern` body: a panic is caught, latched and never crosses into the JVM.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

static PANICKED: AtomicBool = AtomicBool::new(false);

/// Whether a body has panicked. The agent is inert from then on: callbacks return at once, the worker ends.
#[must_use]
pub fn panicked() -> bool {
    PANICKED.load(Ordering::Relaxed)
}

/// Latches as [`guarded`] does; for threads of our own, whose bodies catch by themselves.
pub fn latch(payload: Box<dyn Any + Send>) {
    PANICKED.store(true, Ordering::Relaxed);
    // A payload's own Drop could panic again: leaked.
    std::mem::forget(payload);
}

/// Runs `body`; `fallback` when it panics or when one has panicked before.
pub fn guarded<R>(fallback: R, body: impl FnOnce() -> R) -> R {
    if panicked() {
        fallback
    } else {
        guarded_always(fallback, body)
    }
}

/// As [`guarded`], but `body` runs also when another one has panicked before.
pub fn guarded_always<R>(fallback: R, body: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(payload) => {
            latch(payload);
            fallback
        }
    }
}

/// Says a panic in one line with its place. Only our own library's standard library sees this hook.
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or_else(String::new, |l| format!(" at {}:{}", l.file(), l.line()));
        let payload = info.payload();
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no text");
        crate::error!(
            "internal error{place}: {text}; the agent is inactive from now on, the application runs on"
        );
    }));
}
