//! Shared helpers of the end-to-end tests.
#![forbid(unsafe_code)]
