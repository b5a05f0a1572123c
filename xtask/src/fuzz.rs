//! `cargo xtask fuzz`: every fuzz target for a number of executions, from generated seeds.

use crate::steps;
use anyhow::{Context as _, ensure};
use jfr_chains_tests::workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The targets, with the longest input of each in bytes: about twice its largest seed.
const TARGETS: [(&str, u32); 4] = [
    ("reader", 4_096),
    ("metadata", 4_096),
    ("recover", 4_096),
    ("options", 512),
];

/// Options of `fuzz`.
#[derive(clap::Args)]
pub struct Options {
    /// Targets to run; all by default.
    #[arg(value_parser = TARGETS.map(|(name, _)| name))]
    targets: Vec<String>,
    /// Executions of each target.
    #[arg(long, default_value_t = 10_000_000)]
    runs: u64,
    /// Folder of the corpora, one below it for each target; `fuzz/corpus` by default.
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Installs nothing: errs when cargo-fuzz is missing.
    #[arg(long)]
    no_install: bool,
}

/// Runs the targets one after the other; errs at the first crash, hang or excess of memory.
pub fn run(options: &Options) -> anyhow::Result<()> {
    install(options.no_install)?;
    let corpus = match &options.corpus {
        Some(folder) => std::path::absolute(folder)?,
        None => workspace().join("fuzz/corpus"),
    };
    let mut seeds = Command::new(steps::cargo());
    seeds
        .args(["test", "--quiet", "--package", "jfr-chains-analyzer"])
        .args(["--test", "fuzz_seeds"])
        .env("JFR_CHAINS_SEEDS", &corpus);
    steps::run(&mut seeds)?;
    for (target, longest) in TARGETS {
        let named = |name: &String| name == target;
        if options.targets.is_empty() || options.targets.iter().any(named) {
            let corpus = corpus.join(target);
            std::fs::create_dir_all(&corpus)?;
            steps::run(&mut fuzz(target, &corpus, longest, options.runs))?;
        }
    }
    Ok(())
}

/// One target. There is no `unsafe` to sanitize in what it runs, and without the address sanitizer
/// it makes several times as many executions a second.
fn fuzz(target: &str, corpus: &Path, longest: u32, runs: u64) -> Command {
    let mut fuzz = Command::new("cargo");
    // The toolchain of this task must not be that of the target.
    fuzz.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    fuzz.args(["+nightly", "fuzz", "run", "--sanitizer", "none", target])
        .arg(corpus)
        .arg("--")
        .args([format!("-runs={runs}"), format!("-max_len={longest}")])
        // Wall time: on a busy machine a healthy execution can wait for seconds.
        .args(["-timeout=20", "-rss_limit_mb=512", "-print_final_stats=1"]);
    fuzz
}

fn install(no_install: bool) -> anyhow::Result<()> {
    if !steps::on_path("cargo-fuzz") {
        ensure!(
            !no_install,
            "cargo-fuzz is missing: cargo install cargo-fuzz"
        );
        steps::run(Command::new(steps::cargo()).args(["install", "--locked", "cargo-fuzz"]))?;
    }
    let nightly = Command::new("cargo")
        .args(["+nightly", "--version"])
        .output();
    let nightly = nightly.context("cargo +nightly")?;
    ensure!(
        nightly.status.success(),
        "fuzzing needs a nightly toolchain: rustup toolchain install nightly"
    );
    Ok(())
}
