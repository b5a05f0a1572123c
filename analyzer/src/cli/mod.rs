//! The command line: one module a command, shared options in `common`, exit codes in [`Exit`].

mod baseline;
mod check;
mod common;
mod diff;
mod events;
mod export;
mod gc;
mod jvm;
mod recover;
mod replay;
mod report;
mod summary;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{ColorChoice, Parser, Subcommand};

/// How a command ended, for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Nothing to complain about.
    Clean = 0,
    /// Something was found that the command was asked to refuse.
    Finding = 1,
    /// Wrong usage, or an input that could not be read.
    Usage = 2,
    /// Nothing was analysed: a check must not pass because nothing ran.
    NothingAnalysed = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Finds what holds growing memory in JVM flight recordings, and says so.
#[derive(Debug, Parser)]
#[command(
    name = "jfr-chains",
    version,
    max_term_width = 80,
    after_help = "Examples:\n  \
        jfr-chains report leak.jfr                       what leaks, and who holds it\n  \
        jfr-chains report --format markdown -o leak.md *.jfr\n  \
        jfr-chains check --baseline leaks.toml test.jfr  fail a build on a new leak\n\n\
        Exit codes: 0 clean, 1 finding, 2 usage or unreadable input, 3 nothing was\n\
        analysed. FILE may be '-' for standard input; .gz, .zip and .lz4 open as\n\
        they are."
)]
struct Cli {
    /// Colours in text for terminals: auto, always or never; NO_COLOR is honoured.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        display_order = 100
    )]
    color: ColorChoice,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Report(report::Args),
    Check(check::Args),
    Baseline(baseline::Args),
    Diff(diff::Args),
    Gc(gc::Args),
    Summary(summary::Args),
    Events(events::Args),
    Recover(recover::Args),
    Export(export::Args),
    Replay(replay::Args),
    Record(jvm::record::Args),
    Start(jvm::drive::StartArgs),
    Status(jvm::drive::StatusArgs),
    Dump(jvm::drive::DumpArgs),
    Stop(jvm::drive::StopArgs),
    List(jvm::list::Args),
    AgentPath(jvm::agent_path::Args),
}

/// Runs the command line `args`, the program's name first.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors; everything else is usage.
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Clean
            };
            return match error.print() {
                Ok(()) => exit,
                Err(_) => Exit::Usage,
            };
        }
    };
    let color = match cli.color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    color.write_global();
    let result = match cli.command {
        Command::Events(args) => events::run(&args),
        Command::Recover(args) => recover::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Summary(args) => summary::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Baseline(args) => baseline::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Gc(args) => gc::run(&args),
        Command::Record(args) => jvm::record::run(&args),
        Command::Start(args) => jvm::drive::start(&args),
        Command::Dump(args) => jvm::drive::dump(&args),
        Command::Stop(args) => jvm::drive::stop(&args),
        Command::Status(args) => jvm::drive::status(&args),
        Command::List(args) => jvm::list::run(&args),
        Command::AgentPath(args) => jvm::agent_path::run(&args),
    };
    result.unwrap_or_else(|error| {
        if common::is_broken_pipe(&error) {
            return Exit::Clean;
        }
        common::complain(&format!("{error:#}"));
        Exit::Usage
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string);
            assert!(
                help.is_some_and(|help| help.contains("jfr-chains ")),
                "{}",
                command.get_name()
            );
        }
    }

    #[test]
    fn help_keeps_to_80_columns_and_its_examples_are_commands() {
        let mut command = Cli::command();
        command.build();
        let mut examples = 0;
        for command in command.get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            for line in help.lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
            }
            for line in help.lines().flat_map(|line| line.split(" && ")) {
                // What stands behind several spaces is a remark.
                let line = line.trim().split("  ").next().unwrap_or_default();
                let line = line.split(['|', '>']).next().unwrap_or_default();
                if !line.starts_with("jfr-chains ") || command.get_name() == "help" {
                    continue;
                }
                examples += 1;
                let quoted = line.replace('\'', "\"");
                if let Err(error) = Cli::try_parse_from(words(&quoted)) {
                    assert!(!error.use_stderr(), "{line}\n{error}");
                }
            }
        }
        assert!(examples > 25, "{examples}");
    }

    /// The words of a shell line, with its quotes taken off.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(" # ").next().unwrap_or(line);
        let words = line.split_whitespace();
        words
            .map(|word| word.trim_matches('"').to_owned())
            .collect()
    }

    #[test]
    fn every_command_line_of_the_documentation_is_one() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut seen = 0;
        for page in [
            "docs/ci.md",
            "docs/reading-a-report.md",
            "docs/gc.md",
            "README.md",
            "fixtures/ci/README.md",
            "fixtures/ci/.github/workflows/leaks.yml",
        ] {
            let text = std::fs::read_to_string(root.join(page)).unwrap();
            let commands = text.lines().flat_map(|line| line.split(" && "));
            for line in commands {
                let line = line.trim_start().trim_start_matches("- run: ");
                let line = line.trim_start_matches("target/release/");
                if !line.starts_with("jfr-chains ") || line.contains("...") {
                    continue;
                }
                seen += 1;
                if let Err(error) = Cli::try_parse_from(words(line)) {
                    assert!(!error.use_stderr(), "{page}: {line}\n{error}");
                }
            }
        }
        assert!(seen > 8, "{seen} command lines found");
    }

    #[test]
    fn wrong_usage_is_2_and_help_is_0() {
        let run = |args: &[&str]| super::run(args.iter().map(OsString::from));
        assert_eq!(run(&["jfr-chains", "--help"]), Exit::Clean);
        assert_eq!(run(&["jfr-chains", "report"]), Exit::Usage);
        assert_eq!(run(&["jfr-chains", "no-such-command"]), Exit::Usage);
    }
}
