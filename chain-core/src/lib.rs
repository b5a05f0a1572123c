//! Pure decisions of jfr-chains: no JVM, no clock, no thread, no I/O.
#![forbid(unsafe_code)]
