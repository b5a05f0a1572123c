//! The JVMTI agent of jfr-chains. Unsafe code lives in [`jvm`] alone.
#![deny(unsafe_code)]

pub mod agent;
pub mod container;
pub mod control;
pub mod gc;
pub mod handles;
pub mod host;
pub mod jvm;
pub mod log;
pub mod names;
pub mod options;
pub mod output;
pub mod queue;
pub mod record;
pub mod recordings;
pub mod sampling;
pub mod session;
pub mod worker;
