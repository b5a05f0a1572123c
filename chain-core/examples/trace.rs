//! Feeds JSON-lines inputs to the deciding half and prints what it does: actions and records.
//!
//! ```text
//! cargo run -p chain-core --features sim --example trace -- [FILE]       (default: standard input)
//! cargo run -p chain-core --features sim --example trace -- --demo       prints an input to try
//! ```
//!
//! A line is `{"t":MS,"fact":...}`; `chain_core::journal` has the format. `{"t":MS,"config":{...}}` sets
//! options and may come first. Between two inputs the engine is asked at every instant it named, as
//! the agent's worker does; where the file has `poll` lines it is asked at these only, and an answer
//! that differs from the recorded one is marked `!`. Output lines are `{"t","action"}` and
//! `{"t","record"}`; repeated waits are left out.
//!
//! The page `docs/core-trace.md` goes through a trace.

use chain_core::sim::trace::{Outcome, demo, trace};

fn main() -> Outcome<()> {
    let argument = std::env::args().nth(1);
    let out = std::io::stdout().lock();
    match argument.as_deref() {
        Some("--demo") => demo(out),
        Some(path) => trace(std::fs::File::open(path)?, out),
        None => trace(std::io::stdin().lock(), out),
    }
}
