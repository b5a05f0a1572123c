//! Tasks of the workspace: `cargo xtask demo`, `test`, `matrix`, `soak`, `bench`, `fuzz`, `mutants`, `dist`, `fixtures`.
#![forbid(unsafe_code)]

mod again;
mod bench;
mod demo;
mod dist;
mod fixtures;
mod fuzz;
mod jdk;
mod matrix;
mod mutants;
mod soak;
mod steps;
mod test;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Tasks of the jfr-chains workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs a leaking Java service under the agent and prints the report.
    Demo(demo::Options),
    /// Runs every test of the workspace, after installing what they need.
    Test(test::Options),
    /// Runs the leak shapes on every JDK and collector found and prints a table.
    Matrix(matrix::Options),
    /// Lets the agent come and go in a JVM that never rests, and looks for crashes, growth and lost chains.
    Soak(soak::Options),
    /// Makes the release binary with the agent inside and checks what it needs.
    Dist(dist::Options),
    /// Measures a part of the product beside its peers.
    Bench(bench::Options),
    /// Feeds generated and changed inputs to the reader, recover and the option parser.
    Fuzz(fuzz::Options),
    /// Changes the core's decisions one by one and counts what its unit tests notice.
    Mutants(mutants::Options),
    /// Compiles the Java fixtures and checks or rewrites their manifest.
    Fixtures(fixtures::Options),
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Demo(options) => demo::run(&options),
        Task::Test(options) => test::run(&options),
        Task::Matrix(options) => matrix::run(&options),
        Task::Soak(options) => soak::run(&options),
        Task::Bench(options) => bench::run(&options),
        Task::Fuzz(options) => fuzz::run(&options),
        Task::Dist(options) => dist::run(&options),
        Task::Mutants(options) => mutants::run(&options),
        Task::Fixtures(options) => fixtures::run(&options),
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
