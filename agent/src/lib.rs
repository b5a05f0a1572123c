//! The JVMTI agent of jfr-chains. Unsafe code lives in [`jvm`] alone.
#![deny(unsafe_code)]

pub mod jvm;
pub mod options;
