//! Premature promotion and tenuring: recordings and GC logs to findings with computed advice.
//!
//! `dialect` and `jfr` turn an input into one [`record::Collection`] per collection; [`intake`] tells
//! JVMs apart and adds what depends on the previous collection; [`rules`] is the arithmetic;
//! `findings` judges; `out` renders. Source of every rule: the gc-promotion specification.

pub mod analysis;
pub mod diag;
pub mod dialect;
pub mod facts;
pub mod findings;
pub mod intake;
pub mod jfr;
pub mod lines;
pub mod num;
pub mod out;
pub mod record;
pub mod rules;
pub mod section;
pub mod terms;
