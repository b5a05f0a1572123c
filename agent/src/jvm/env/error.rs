//! Why a call into the JVM gave no answer.

use std::fmt;

use super::raw_jvmti::{error_name, jvmtiError};

/// A failed call, with the name of the function that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JvmError {
    /// A JVMTI function returned an error code.
    Jvmti(&'static str, jvmtiError),
    /// A JNI or invocation function returned a negative code.
    Jni(&'static str, i32),
    /// The call left a Java exception pending; it has been cleared.
    Exception(&'static str),
    /// The call returned a null reference where one was needed.
    Null(&'static str),
    /// The JVM's function table has no such entry.
    Missing(&'static str),
    /// An array that the JVM announced does not fit in memory.
    OutOfMemory(&'static str),
}

impl JvmError {
    /// The JVMTI code, when the failure is one.
    #[must_use]
    pub fn jvmti_code(self) -> Option<jvmtiError> {
        match self {
            Self::Jvmti(_, code) => Some(code),
            _ => None,
        }
    }
}

impl fmt::Display for JvmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jvmti(call, code) => write!(f, "{call}: {} ({})", error_name(*code), code.raw()),
            Self::Jni(call, code) => write!(f, "{call}: JNI code {code}"),
            Self::Exception(call) => write!(f, "{call}: a Java exception was thrown"),
            Self::Null(call) => write!(f, "{call}: no result"),
            Self::Missing(call) => write!(f, "{call}: not offered by this JVM"),
            Self::OutOfMemory(call) => write!(f, "{call}: the result does not fit in memory"),
        }
    }
}

impl std::error::Error for JvmError {}
