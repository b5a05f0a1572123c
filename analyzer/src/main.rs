//! The `jfr-chains` command.
fn main() {}
