//! Reads JFR recordings back into leak and GC reports.
#![deny(unsafe_code)]

pub mod model;
pub mod report;
