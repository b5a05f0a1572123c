//! Reads JFR recordings back into leak and GC reports.
#![deny(unsafe_code)]

pub mod cli;
pub mod gc;
pub mod input;
pub mod model;
pub mod reader;
pub mod report;
