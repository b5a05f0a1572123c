//! A client of the JVM attach protocol.
#![forbid(unsafe_code)]
