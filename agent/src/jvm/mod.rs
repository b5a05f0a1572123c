//! Everything that touches the JVM through raw tables: the only unsafe code of this crate.
//!
//! Rules that hold in every file here (specification: agent, "Locks and shutdown"):
//! - no JNI or JVMTI call while a lock of ours is held;
//! - GC callbacks touch atomics only;
//! - no panic crosses an `extern` body: each one runs inside one guard;
//! - state that a callback may see is leaked `&'static`, since callbacks can outlive VMDeath.
#![allow(unsafe_code)]

pub mod beans;
mod callbacks;
pub mod env;
pub mod epoch;
pub mod guard;
pub mod jfr;
mod lifecycle;
pub mod load;
pub mod resolve;
pub mod sampler;
pub mod walk;
