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

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use chain_core::sim::trace::{Outcome, demo, trace};

fn main() -> ExitCode {
    match run(std::env::args().nth(1).as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A reader that has enough, `| head`, is no error.
            let left = |e: &io::Error| e.kind() == ErrorKind::BrokenPipe;
            if error.downcast_ref::<io::Error>().is_some_and(left) {
                return ExitCode::SUCCESS;
            }
            eprintln!("trace: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(argument: Option<&str>) -> Outcome<()> {
    let out = io::stdout().lock();
    match argument {
        Some("--demo") => demo(out),
        Some(option) if option.starts_with('-') => {
            Err(format!("{option}: trace takes a FILE, --demo or nothing (standard input)").into())
        }
        Some(path) => {
            let file = std::fs::File::open(path).map_err(|error| format!("{path}: {error}"))?;
            trace(file, out)
        }
        None => trace(io::stdin().lock(), out),
    }
}
