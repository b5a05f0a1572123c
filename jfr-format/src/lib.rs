//! The vocabulary of the JFR chunk format and the event schemas of jfr-chains.
//!
//! Both directions stand on this crate: `jfr-writer` encodes with it, the analyzer decodes with it,
//! and the agent makes its `jdk.jfr.EventFactory` types from [`schema`]. It reads no file and keeps
//! no state. Source: the specification, "JFR chunks: what we write, what we read".
#![forbid(unsafe_code)]

pub mod entity;
pub mod header;
pub mod ids;
pub mod jvm;
pub mod metadata;
pub mod path;
pub mod schema;
pub mod string;
pub mod varint;
