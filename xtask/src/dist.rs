//! `cargo xtask dist`: the command with the agent inside, for machines older than this one.

mod check;
mod zig;

use crate::steps;
use anyhow::{Context as _, ensure};
use check::{Limits, inspect};
use jfr_chains_tests::{target_dir, workspace};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files that go beside the binary.
const DOCUMENTS: [&str; 6] = [
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "settings/jfr-chains.jfc",
];

/// A platform that a release is built for.
struct Platform {
    /// Rust's name.
    target: &'static str,
    /// The same with zig's glibc baseline.
    zig_target: &'static str,
    /// Name in the archive.
    name: &'static str,
    /// Newest glibc that the binaries may need.
    glibc: Option<(u32, u32)>,
}

/// x86_64 is required; musl serves Alpine images.
const PLATFORMS: [Platform; 4] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        zig_target: "x86_64-unknown-linux-gnu.2.17",
        name: "linux-x86_64",
        glibc: Some((2, 17)),
    },
    Platform {
        target: "x86_64-unknown-linux-musl",
        zig_target: "x86_64-unknown-linux-musl",
        name: "linux-x86_64-musl",
        glibc: None,
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        zig_target: "aarch64-unknown-linux-gnu.2.17",
        name: "linux-aarch64",
        glibc: Some((2, 17)),
    },
    Platform {
        target: "aarch64-unknown-linux-musl",
        zig_target: "aarch64-unknown-linux-musl",
        name: "linux-aarch64-musl",
        glibc: None,
    },
];

/// Options of `dist`.
#[derive(clap::Args)]
pub struct Options {
    /// Rust targets; default: every one whose standard library is installed.
    #[arg(long, value_delimiter = ',')]
    target: Vec<String>,
    /// Fails when a target's standard library is missing, instead of leaving the target out.
    #[arg(long)]
    all: bool,
}

/// Builds, checks and packs; errs when a check fails or nothing could be built.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let zig = zig::install()?;
    let mut packed = Vec::new();
    let named = |platform: &&Platform| {
        options.target.is_empty()
            || options
                .target
                .iter()
                .any(|target| target == platform.target)
    };
    for platform in PLATFORMS.iter().filter(named) {
        if !standard_library(platform.target)? {
            let advice = format!(
                "{}: no standard library; `rustup target add {0}`",
                platform.target
            );
            ensure!(!options.all, "{advice}");
            eprintln!("left out: {advice}");
            continue;
        }
        packed.push(pack(platform, &zig)?);
    }
    ensure!(!packed.is_empty(), "nothing was built");
    for archive in packed {
        eprintln!("packed {}", archive.display());
    }
    Ok(())
}

/// Whether rustc has the target's standard library.
fn standard_library(target: &str) -> anyhow::Result<bool> {
    let folder = steps::output(Command::new("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        target,
    ]))?;
    Ok(Path::new(folder.trim()).is_dir())
}

fn pack(platform: &Platform, zig: &zig::Zig) -> anyhow::Result<PathBuf> {
    let built = target_dir().join(platform.target).join("dist");
    steps::run(&mut build("jfr-chains-agent", platform, zig))?;
    let folder = target_dir().join("dist").join(format!(
        "jfr-chains-{}-{}",
        env!("CARGO_PKG_VERSION"),
        platform.name
    ));
    if folder.is_dir() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let agent = folder.join("libjfr_chains.so");
    copy(&built.join("libjfr_chains_agent.so"), &agent)?;
    steps::run(build("jfr-chains-analyzer", platform, zig).env("JFR_CHAINS_AGENT_SO", &agent))?;
    let command = folder.join("jfr-chains");
    copy(&built.join("jfr-chains"), &command)?;
    for (file, limits) in [
        (&agent, Limits::agent(platform.glibc)),
        (&command, Limits::command(platform.glibc)),
    ] {
        let found = inspect(&std::fs::read(file)?).with_context(|| file.display().to_string())?;
        eprintln!("{}: {found}", file.display());
        limits
            .check(&found)
            .with_context(|| file.display().to_string())?;
    }
    for document in DOCUMENTS
        .iter()
        .map(|name| workspace().join(name))
        .filter(|path| path.is_file())
    {
        copy(
            &document,
            &folder.join(document.file_name().unwrap_or_default()),
        )?;
    }
    let archive = folder.with_extension("tar.gz");
    let parent = folder.parent().context("a folder without parent")?;
    let name = folder.file_name().context("a folder without name")?;
    steps::run(
        Command::new("tar")
            .arg("-C")
            .arg(parent)
            .arg("-czf")
            .arg(&archive)
            .arg(name),
    )?;
    Ok(archive)
}

fn build(package: &str, platform: &Platform, zig: &zig::Zig) -> Command {
    let mut command = zig.cargo();
    command.args([
        "--profile",
        "dist",
        "--locked",
        "--package",
        package,
        "--target",
        platform.zig_target,
    ]);
    command
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::copy(from, to).with_context(|| format!("{} -> {}", from.display(), to.display()))?;
    Ok(())
}
