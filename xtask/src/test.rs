//! `cargo xtask test`: every test, with what they need.

use crate::{again, jdk, steps};
use anyhow::Context as _;
use jfr_chains_tests::{Jdk, target_dir};
use std::process::Command;

/// Feature releases that the tests run on, when they can be had.
const RELEASES: [u32; 4] = [11, 17, 21, 25];
/// Programs that tests drive, with the Debian package of each.
const PROGRAMS: [(&str, &str); 3] = [
    ("mvn", "maven"),
    ("chromium", "chromium"),
    ("pip3", "python3-pip"),
];

/// Options of `test`.
#[derive(clap::Args)]
pub struct Options {
    /// Installs nothing; tests that lack something are skipped and listed.
    #[arg(long)]
    no_install: bool,
    /// Fails when a test was skipped.
    #[arg(long)]
    strict: bool,
    /// Tries every cut, 100,000 flips and 10,000 random sequences instead of samples; takes hours.
    #[arg(long)]
    long: bool,
    /// Arguments for `cargo test`, after `--`.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// Runs the tests; errs when one fails, or when the machine has no JDK and none can be installed.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if !options.no_install {
        install();
    }
    let compiler = jdk::full(!options.no_install)?;
    eprintln!(
        "fixtures are compiled by {} ({})",
        compiler.home().display(),
        compiler.version()
    );
    for jdk in Jdk::discover() {
        eprintln!("found JDK {} at {}", jdk.version(), jdk.home().display());
    }
    let built = steps::build(true)?;
    let skips = target_dir().join("skipped-tests");
    std::fs::write(&skips, "").with_context(|| skips.display().to_string())?;
    let test = |targets: &[&str]| {
        let mut test = Command::new(steps::cargo());
        test.arg("test")
            .args(targets)
            .arg("--no-fail-fast")
            .args(&options.arguments)
            .env("JFR_CHAINS_AGENT", &built.agent)
            .env("JFR_CHAINS_BIN", &built.command)
            .env("JFR_CHAINS_SKIPS", &skips);
        if options.strict {
            test.env("JFR_CHAINS_STRICT", "1");
        }
        if options.long {
            test.env("JFR_CHAINS_LONG", "1");
        }
        test
    };
    let result = again::run(&mut test(&["--workspace"]), |name| {
        test(&["--package", "jfr-chains-tests", "--test", name])
    });
    let skipped = std::fs::read_to_string(&skips).unwrap_or_default();
    if !skipped.is_empty() {
        eprintln!(
            "{} tests could not run here:\n{skipped}",
            skipped.lines().count()
        );
    }
    result
}

/// Installs what is missing; what cannot be had is said, and its tests are skipped.
fn install() {
    let missing: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(program, _)| !steps::on_path(program))
        .map(|&(_, package)| package)
        .collect();
    if !missing.is_empty() {
        say(jdk::debian(&missing));
    }
    for release in RELEASES {
        if release == 17 {
            say(jdk::full(true).map(drop));
        } else {
            say(jdk::runtime(release));
        }
    }
}

fn say(result: anyhow::Result<()>) {
    if let Err(error) = result {
        eprintln!("not installed: {error:#}");
    }
}
