//! The vocabulary of the JFR chunk format and the event schemas of jfr-chains.
#![forbid(unsafe_code)]
