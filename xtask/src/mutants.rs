//! `cargo xtask mutants`: would the unit tests of the core's decision modules notice a changed decision?
//!
//! The modules and what they use are copied to a crate of their own, without features and dependencies: a mutant
//! builds in a second there instead of ten. Only the modules' unit tests are run, not the simulator's scenarios,
//! so that the share told is a lower bound.

use crate::steps;
use anyhow::{Context as _, bail, ensure};
use jfr_chains_tests::{target_dir, workspace};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Where mutants are made.
const DECIDE: [&str; 18] = [
    "admission",
    "backoff",
    "collector",
    "cost_budget",
    "decider/exhaustion",
    "decider/settled",
    "decider/sweeping",
    "gate",
    "ladder",
    "leak_signal",
    "liveness",
    "oom",
    "pacing",
    "pid",
    "ring",
    "schedule",
    "search",
    "trend",
];
/// What these use.
const USED: [&str; 12] = [
    "chain",
    "classify",
    "config",
    "ids",
    "inline",
    "input",
    "plan",
    "record",
    "signature",
    "tick",
    "tuning",
    "walk",
];
/// The version that the recorded figures were made with.
const TOOL: &str = "cargo-mutants@27.1.0";
/// Least share of mutants that are caught.
const GOAL: f64 = 0.85;

/// Options of `mutants`.
#[derive(clap::Args)]
pub struct Options {
    /// Arguments for `cargo mutants`, after `--`; e.g. `--shard 0/4`, `--re liveness`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Runs the mutants; errs when less than 85 % are caught, or the tool is not there.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let known = Command::new(steps::cargo())
        .args(["mutants", "--version"])
        .output()
        .is_ok_and(|out| out.status.success());
    ensure!(
        known,
        "cargo-mutants is not installed: cargo install --locked {TOOL}"
    );
    let home = target_dir().join("mutants");
    let source = workspace().join("chain-core/src");
    copy(&source, &home.join("core"))?;
    let mut command = Command::new(steps::cargo());
    command
        .args(["mutants", "--in-place", "--cargo-arg=--lib"])
        .args(["--shuffle", "--timeout", "60", "--dir"])
        .arg(home.join("core"))
        .arg("--output")
        .arg(&home);
    for module in DECIDE {
        command.args(["-f", &format!("src/{module}.rs")]);
    }
    command.args(&options.arguments);
    // Its exit code tells missed mutants and timeouts apart; the share below judges.
    let ended = steps::run(&mut command);
    let list = |name: &str| lines(&home.join("mutants.out").join(name));
    let (caught, timeout) = (list("caught.txt")?, list("timeout.txt")?);
    let missed = list("missed.txt")?;
    let tried = caught.len() + timeout.len() + missed.len();
    if tried == 0 {
        return ended.and_then(|()| bail!("no mutant was tried"));
    }
    for mutant in &missed {
        eprintln!("survived: {mutant}");
    }
    #[allow(clippy::cast_precision_loss, reason = "a thousand mutants")]
    let share = (caught.len() + timeout.len()) as f64 / tried as f64;
    eprintln!(
        "{} of {tried} mutants caught, {} of them by a timeout: {:.1} %",
        caught.len() + timeout.len(),
        timeout.len(),
        share * 100.0
    );
    ensure!(share >= GOAL, "the goal is {:.0} %", GOAL * 100.0);
    Ok(())
}

fn lines(file: &Path) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Makes the crate anew.
fn copy(source: &Path, to: &Path) -> anyhow::Result<()> {
    let _ = fs::remove_dir_all(to.join("src"));
    fs::create_dir_all(to.join("src/decider"))?;
    let mut root =
        String::from("#![allow(missing_docs, unused, reason = \"a part of a crate\")]\n");
    let mut inner = String::new();
    for module in DECIDE.iter().chain(&USED) {
        let file = format!("{module}.rs");
        let text = fs::read_to_string(source.join(&file)).with_context(|| file.clone())?;
        // This one's test prints a table through another crate.
        let text = match text.split_once("#[cfg(test)]") {
            Some((code, _)) if *module == "tuning" => code,
            _ => &text,
        };
        fs::write(to.join("src").join(&file), text)?;
        let own_tests = format!("{module}/tests.rs");
        if source.join(&own_tests).is_file() {
            fs::create_dir_all(to.join("src").join(module))?;
            fs::copy(source.join(&own_tests), to.join("src").join(&own_tests))?;
        }
        match module.split_once('/') {
            Some((_, name)) => writeln!(inner, "    pub mod {name};")?,
            None => writeln!(root, "pub mod {module};")?,
        }
    }
    writeln!(root, "pub mod decider {{\n{inner}}}")?;
    let lib = fs::read_to_string(source.join("lib.rs"))?;
    let shown = |line: &&str| {
        let left_out = ["engine", "walk"];
        line.starts_with("pub use ") && !left_out.iter().any(|m| line.contains(&format!(" {m}::")))
    };
    for line in lib.lines().filter(shown) {
        writeln!(root, "{line}")?;
    }
    fs::write(to.join("src/lib.rs"), root)?;
    fs::write(
        to.join("Cargo.toml"),
        "[package]\nname = \"chain-core\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [features]\njournal = []\nsim = []\n\n\
         [profile.dev]\ndebug = 0\n\n[profile.test]\ndebug = 0\n\n[workspace]\n",
    )?;
    Ok(())
}
