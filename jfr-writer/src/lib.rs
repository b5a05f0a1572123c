//! Writes JFR chunks: constants, chunks and the crash-safe file.
#![forbid(unsafe_code)]
