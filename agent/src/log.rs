//! One line at a time on stderr, at the level that `log=` sets.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::options::LogLevel;

static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Warn as u8);

/// Sets the level from now on.
pub fn set_level(level: LogLevel) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Whether a line of this level would be written.
#[must_use]
pub fn enabled(level: LogLevel) -> bool {
    level != LogLevel::Off && level as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// Writes one line; a closed or full stderr is not an error. Never call it under a lock or in a GC callback.
pub fn line(level: LogLevel, text: fmt::Arguments<'_>) {
    if !enabled(level) {
        return;
    }
    let word = match level {
        LogLevel::Off => return,
        LogLevel::Error => "error",
        LogLevel::Warn => "warning",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    // One write, so that lines of several processes on one terminal do not mix.
    let whole = format!("jfr-chains: {word}: {text}\n");
    let _closed = std::io::stderr().write_all(whole.as_bytes());
}

/// What makes the agent useless in this JVM.
#[macro_export]
macro_rules! error {
    ($($arg:tt)*) => { $crate::log::line($crate::options::LogLevel::Error, format_args!($($arg)*)) };
}

/// What the user should know.
#[macro_export]
macro_rules! warning {
    ($($arg:tt)*) => { $crate::log::line($crate::options::LogLevel::Warn, format_args!($($arg)*)) };
}

/// A milestone.
#[macro_export]
macro_rules! info {
    ($($arg:tt)*) => { $crate::log::line($crate::options::LogLevel::Info, format_args!($($arg)*)) };
}

/// A detail.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)*) => { $crate::log::line($crate::options::LogLevel::Debug, format_args!($($arg)*)) };
}
