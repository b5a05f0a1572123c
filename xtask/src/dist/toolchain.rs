//! A compiler with a standard library for the target: what is installed, what rustup adds, or the standard library
//! built from source with Debian's compiler.

use super::debian;
use crate::steps;
use anyhow::{Context as _, bail};
use jfr_chains_tests::Child;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A standard library is some 30 MB.
const RUSTUP_LIMIT: Duration = Duration::from_secs(90);

/// Where a target's standard library comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// The compiler in use has it.
    Installed,
    /// This compiler, and its own sources of the standard library.
    FromSource(PathBuf),
}

impl Toolchain {
    /// The simplest one that can be had; rustup is left out with `from_source`. Errs with what to run by hand.
    pub fn of(target: &str, from_source: bool) -> anyhow::Result<Self> {
        if has_library(target)? {
            return Ok(Self::Installed);
        }
        if !from_source && steps::on_path("rustup") && rustup_adds(target)? {
            return Ok(Self::Installed);
        }
        if !debian::is_here() {
            bail!("{target}: no standard library. {}", by_hand(target));
        }
        let compiler = debian::compiler()
            .with_context(|| format!("{target}: no standard library. {}", by_hand(target)))?;
        Ok(Self::FromSource(compiler))
    }

    /// Adds to a cargo command what this needs.
    pub fn apply(&self, cargo: &mut Command) {
        if let Self::FromSource(compiler) = self {
            cargo
                .args(["-Z", "build-std=std,panic_unwind"])
                .env("RUSTC", compiler)
                .env("RUSTC_BOOTSTRAP", "1");
        }
    }
}

/// Whether rustup could fetch it; without network it tries for long.
fn rustup_adds(target: &str) -> anyhow::Result<bool> {
    eprintln!("+ rustup target add {target}");
    let added = Child::new("rustup")
        .args(["target", "add", target])
        .run(RUSTUP_LIMIT)?;
    if !added.ok() {
        eprintln!("rustup cannot: {}", added.stderr.trim());
    }
    Ok(added.ok() && has_library(target)?)
}

/// Whether rustc has the target's standard library.
fn has_library(target: &str) -> anyhow::Result<bool> {
    let folder = steps::output(Command::new("rustc").args([
        "--print",
        "target-libdir",
        "--target",
        target,
    ]))?;
    Ok(Path::new(folder.trim()).is_dir())
}

fn by_hand(target: &str) -> String {
    format!("Run `rustup target add {target}`; on Debian 12 or later `apt-get update` is enough")
}
