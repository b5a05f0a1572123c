//! The `jfr-chains` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    jfr_chains_analyzer::cli::run(std::env::args_os()).into()
}
