//! Binaries for other systems are run here: with musl's loader, and with an emulator of the other processor.

use super::debian;
use super::platform::{Arch, Libc, Platform};
use super::zig::Zig;
use crate::steps;
use anyhow::{Context as _, ensure};
use jfr_chains_tests::{target_dir, workspace};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Loads the agent into a program of that platform; what cannot be run here is said.
pub fn load(platform: Platform, agent: &Path, zig: &Zig) -> anyhow::Result<()> {
    let Some(mut runner) = dynamic(platform)? else {
        eprintln!("not loaded here: {} (no loader for it)", agent.display());
        return Ok(());
    };
    let host = target_dir()
        .join("dist")
        .join(format!("host-{}", platform.name()));
    let mut build = zig.cc();
    build
        .args(["-target", &zig_triple(platform), "-O1", "-o"])
        .arg(&host);
    if platform.libc == Libc::Musl {
        build.arg("-dynamic");
    }
    steps::run(
        build
            .arg(workspace().join("xtask/src/dist/host.c"))
            .arg("-ldl"),
    )?;
    let out = runner.arg(&host).arg(agent).output()?;
    let said = String::from_utf8_lossy(&out.stderr);
    eprintln!("{}: {}", platform.name(), said.trim());
    ensure!(
        out.status.success() && said.contains("jfr-chains: error: "),
        "{}: {}",
        agent.display(),
        out.status
    );
    Ok(())
}

/// Runs the command: its version, and that it carries the agents of both C libraries.
pub fn run(platform: Platform, command: &Path) -> anyhow::Result<()> {
    let runner = match platform.libc {
        Libc::Glibc => dynamic(platform)?,
        Libc::Musl => emulator(platform.arch)?,
    };
    let Some(runner) = runner else {
        eprintln!("not run here: {} (no emulator)", command.display());
        return Ok(());
    };
    let cache = tempfile::tempdir()?;
    for arguments in [
        &["agent-path"][..],
        &["agent-path", "--musl"],
        &["--version"],
    ] {
        let mut step = Command::new(runner.get_program());
        step.args(runner.get_args())
            .env("XDG_CACHE_HOME", cache.path());
        let said = steps::output(step.arg(command).args(arguments))?;
        eprintln!("{}: {}", platform.name(), said.trim());
    }
    let unpacked = std::fs::read_dir(cache.path().join("jfr-chains"))?.count();
    ensure!(unpacked == 2, "{unpacked} agents unpacked, not two");
    Ok(())
}

/// What runs a program of that platform that is linked to its C library.
fn dynamic(platform: Platform) -> anyhow::Result<Option<Command>> {
    let Some(mut command) = emulator(platform.arch)? else {
        return Ok(None);
    };
    match (platform.arch, platform.libc) {
        (Arch::X86_64, Libc::Glibc) => Ok(Some(command)),
        (Arch::X86_64, Libc::Musl) => {
            let installed = Path::new("/lib/ld-musl-x86_64.so.1");
            let loader = match installed.is_file() {
                true => Some(installed.to_path_buf()),
                false => tool("musl", "lib/x86_64-linux-musl/libc.so")?,
            };
            Ok(loader.map(Command::new))
        }
        (Arch::Aarch64, Libc::Glibc) => {
            let library = tool(
                "libc6-arm64-cross",
                "usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1",
            )?;
            let folder = library.as_deref().and_then(|path| path.ancestors().nth(2));
            Ok(folder.map(|folder| {
                command.arg("-L").arg(folder);
                command
            }))
        }
        (Arch::Aarch64, Libc::Musl) => Ok(None),
    }
}

/// What runs a program of that processor without libraries: `env` for our own.
fn emulator(arch: Arch) -> anyhow::Result<Option<Command>> {
    if arch.name() == std::env::consts::ARCH {
        return Ok(Some(Command::new("env")));
    }
    let name = format!("qemu-{}-static", arch.name());
    if steps::on_path(&name) {
        return Ok(Some(Command::new(name)));
    }
    let path = tool("qemu-user-static", &format!("usr/bin/{name}"))?;
    Ok(path.map(Command::new))
}

/// A file of a Debian package, unpacked under the target folder; `None` where there are no such packages.
fn tool(package: &str, file: &str) -> anyhow::Result<Option<PathBuf>> {
    let root = target_dir().join("dist-tools").join(package);
    let path = root.join(file);
    if !path.is_file() && debian::is_here() {
        debian::unpack(&[package.to_owned()], &root)
            .with_context(|| format!("fetching {package}"))?;
    }
    Ok(path.is_file().then_some(path))
}

fn zig_triple(platform: Platform) -> String {
    let libc = match platform.libc {
        Libc::Glibc => "gnu.2.17",
        Libc::Musl => "musl",
    };
    format!("{}-linux-{libc}", platform.arch.name())
}
