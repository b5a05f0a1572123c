//! Reads JFR recordings back into leak and GC reports.
#![deny(unsafe_code)]

pub mod check;
pub mod cli;
pub mod diff;
pub mod events;
pub mod export;
pub mod gc;
pub mod input;
pub mod model;
pub mod reader;
pub mod recover;
pub mod replay;
pub mod report;
pub mod rfc3339;
pub mod summary;
