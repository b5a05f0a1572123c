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

/// Runs the command: its version, that it carries the agents of both C libraries, and a report on a recording.
pub fn run(platform: Platform, command: &Path) -> anyhow::Result<()> {
    let Some(runner) = runner(platform)? else {
        eprintln!("not run here: {} (no emulator)", command.display());
        return Ok(());
    };
    let cache = tempfile::tempdir()?;
    let step = |arguments: &[&str]| {
        let mut step = again(&runner);
        step.env("XDG_CACHE_HOME", cache.path());
        steps::output(step.arg(command).args(arguments))
    };
    for arguments in [
        &["agent-path"][..],
        &["agent-path", "--musl"],
        &["--version"],
    ] {
        eprintln!("{}: {}", platform.name(), step(arguments)?.trim());
    }
    let unpacked = std::fs::read_dir(cache.path().join("jfr-chains"))?.count();
    ensure!(unpacked == 2, "{unpacked} agents unpacked, not two");
    let recording = workspace().join("fixtures/recordings/orders-leak-25.jfr");
    let report = step(&["report", &recording.to_string_lossy()])?;
    ensure!(
        report.contains("OrderCache.BY_CUSTOMER"),
        "a report without the leak: {report}"
    );
    eprintln!(
        "{}: {}",
        platform.name(),
        report.lines().next().unwrap_or_default()
    );
    Ok(())
}

/// What runs the packed command of that platform; the one for musl needs no library.
pub fn runner(platform: Platform) -> anyhow::Result<Option<Command>> {
    match platform.libc {
        Libc::Glibc => dynamic(platform),
        Libc::Musl => emulator(platform.arch),
    }
}

/// The same program with the same first arguments.
pub fn again(command: &Command) -> Command {
    let mut same = Command::new(command.get_program());
    same.args(command.get_args());
    same
}

/// What runs a program of that platform that is linked to its C library.
pub fn dynamic(platform: Platform) -> anyhow::Result<Option<Command>> {
    let Some(mut command) = emulator(platform.arch)? else {
        return Ok(None);
    };
    let arch = platform.arch;
    match platform.libc {
        Libc::Glibc if arch.is_here() => Ok(Some(command)),
        Libc::Glibc => {
            // Debian's packages for cross compilers are of every processor.
            let package = format!("libc6-{}-cross", arch.debian_name());
            let folder = format!("usr/{}-linux-gnu", arch.name());
            let Some(library) = tool(&package, &format!("{folder}/lib/libc.so.6"))? else {
                return Ok(None);
            };
            let root = library.ancestors().nth(2).context("a library in no root")?;
            command.arg("-L").arg(root);
            Ok(Some(command))
        }
        Libc::Musl => Ok(musl_loader(arch)?.map(|loader| {
            command.arg(loader);
            command
        })),
    }
}

/// musl's loader: installed, or from Debian's package for that processor.
fn musl_loader(arch: Arch) -> anyhow::Result<Option<PathBuf>> {
    let installed = PathBuf::from(format!("/lib/ld-musl-{}.so.1", arch.name()));
    if arch.is_here() && installed.is_file() {
        return Ok(Some(installed));
    }
    let file = format!("lib/{}-linux-musl/libc.so", arch.name());
    if arch.is_here() {
        return tool("musl", &file);
    }
    let root = tools().join(format!("musl-{}", arch.name()));
    let path = root.join(file);
    if !path.is_file() && debian::is_here() {
        let state = tools().join(format!("apt-{}", arch.name()));
        debian::unpack_foreign(arch.debian_name(), &state, &["musl".to_owned()], &root)
            .context("fetching musl")?;
    }
    Ok(path.is_file().then_some(path))
}

/// What runs a program of that processor without libraries: `env` for our own.
fn emulator(arch: Arch) -> anyhow::Result<Option<Command>> {
    if arch.is_here() {
        return Ok(Some(Command::new("env")));
    }
    let name = format!("qemu-{}-static", arch.name());
    if steps::on_path(&name) {
        return Ok(Some(Command::new(name)));
    }
    let path = tool("qemu-user-static", &format!("usr/bin/{name}"))?;
    Ok(path.map(Command::new))
}

/// Where tools of other systems are unpacked.
pub fn tools() -> PathBuf {
    target_dir().join("dist-tools")
}

/// A file of a Debian package, unpacked under the target folder; `None` where there are no such packages.
fn tool(package: &str, file: &str) -> anyhow::Result<Option<PathBuf>> {
    let root = tools().join(package);
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
