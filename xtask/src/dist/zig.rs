//! The linker that knows old C libraries, from the Python registry.

use crate::steps;
use anyhow::{Context as _, ensure};
use jfr_chains_tests::target_dir;
use std::path::PathBuf;
use std::process::Command;

/// Installed zig and its cargo command.
pub struct Zig {
    folder: PathBuf,
}

/// Installs both under the target folder unless they are there; errs without pip.
pub fn install() -> anyhow::Result<Zig> {
    let folder = target_dir().join("zig");
    if !folder.join("bin/cargo-zigbuild").is_file() {
        ensure!(
            steps::on_path("python3"),
            "python3 with pip is needed for ziglang and cargo-zigbuild"
        );
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--root-user-action=ignore",
        ]);
        steps::run(
            pip.arg("--target")
                .arg(&folder)
                .args(["ziglang", "cargo-zigbuild"]),
        )
        .context("installing zig")?;
    }
    Ok(Zig { folder })
}

impl Zig {
    /// `cargo zigbuild` without further arguments.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(self.folder.join("bin/cargo-zigbuild"));
        command.arg("zigbuild").env("PYTHONPATH", &self.folder);
        command
    }

    /// Zig's C compiler without further arguments.
    pub fn cc(&self) -> Command {
        let mut command = Command::new("python3");
        command
            .args(["-m", "ziglang", "cc"])
            .env("PYTHONPATH", &self.folder);
        command
    }
}
