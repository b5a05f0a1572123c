//! Debian's Rust compiler with its sources, unpacked under the target folder: nothing is installed, no root needed.

use crate::steps;
use anyhow::{Context as _, ensure};
use jfr_chains_tests::target_dir;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages of one compiler: itself, its standard library, its sources. The first set that is new enough is taken;
/// stable releases carry a newer compiler for browsers beside their own.
const SETS: [[&str; 3]; 2] = [
    ["rustc-web", "libstd-rust-web-dev", "rust-web-src"],
    ["rustc", "libstd-rust-dev", "rust-src"],
];

/// Whether packages can be fetched and unpacked here.
pub fn is_here() -> bool {
    steps::on_path("apt-get") && steps::on_path("dpkg-deb")
}

/// A script that runs the compiler, fetched first when it is not there.
pub fn compiler() -> anyhow::Result<PathBuf> {
    let folder = target_dir().join("debian-rust");
    let script = folder.join("rustc");
    if works(&script) {
        return Ok(script);
    }
    if rustix::process::geteuid().is_root() {
        steps::run(Command::new("apt-get").args(["-qq", "update"]))?;
    }
    let mut failed = Vec::new();
    for set in SETS {
        match fetch(&set, &folder) {
            Ok(()) if works(&script) => return Ok(script),
            Ok(()) => failed.push(format!("{}: too old or does not run", set[0])),
            Err(error) => failed.push(format!("{}: {error:#}", set[0])),
        }
    }
    anyhow::bail!("no compiler among Debian's packages: {}", failed.join("; "))
}

/// Whether the script runs a compiler that is new enough and has its sources.
fn works(script: &Path) -> bool {
    let printed = |what: &str| {
        steps::output(Command::new(script).args(["--print", what]))
            .map(|text| PathBuf::from(text.trim()))
    };
    let version = steps::output(Command::new(script).arg("--version")).unwrap_or_default();
    let new_enough = minor(&version) >= minor_of(env!("CARGO_PKG_RUST_VERSION"));
    let sources = "lib/rustlib/src/rust/library/std/Cargo.toml";
    new_enough && printed("sysroot").is_ok_and(|sysroot| sysroot.join(sources).is_file())
}

/// `96` of `rustc 1.96.0 (...)`.
fn minor(version: &str) -> Option<u32> {
    minor_of(version.split_whitespace().nth(1)?)
}

fn minor_of(version: &str) -> Option<u32> {
    version.split('.').nth(1)?.parse().ok()
}

fn fetch(set: &[&str; 3], folder: &Path) -> anyhow::Result<()> {
    if folder.is_dir() {
        std::fs::remove_dir_all(folder)?;
    }
    let mut wanted: Vec<String> = set.iter().map(|name| (*name).to_owned()).collect();
    // The shared libraries carry their version in their names.
    let library = dependency(set[1], "libstd-rust-")?;
    wanted.push(dependency(&library, "libllvm")?);
    wanted.push(library);
    let root = folder.join("root");
    unpack(&wanted, &root)?;
    script(folder, &root)
}

/// Fetches packages and unpacks them into `root`; nothing else of the system changes.
pub fn unpack(packages: &[String], root: &Path) -> anyhow::Result<()> {
    unpack_with(&[], packages, root)
}

/// The same for packages of another architecture (`arm64`), which apt knows in `state` alone: lists of packages
/// are fetched there first.
pub fn unpack_foreign(
    architecture: &str,
    state: &Path,
    packages: &[String],
    root: &Path,
) -> anyhow::Result<()> {
    let folder = |name: &str| -> anyhow::Result<String> {
        std::fs::create_dir_all(state.join(name).join("partial"))?;
        Ok(state.join(name).display().to_string())
    };
    let settings = [
        format!("APT::Architecture={architecture}"),
        format!("APT::Architectures={architecture}"),
        format!("Dir::State={}", state.display()),
        "Dir::State::status=/dev/null".to_owned(),
        format!("Dir::State::lists={}", folder("lists")?),
        format!("Dir::Cache={}", state.display()),
        format!("Dir::Cache::archives={}", folder("archives")?),
        "Acquire::Languages=none".to_owned(),
    ];
    let options: Vec<String> = settings
        .into_iter()
        .flat_map(|setting| ["-o".to_owned(), setting])
        .collect();
    steps::run(
        Command::new("apt-get")
            .arg("-qq")
            .args(&options)
            .arg("update"),
    )?;
    unpack_with(&options, packages, root)
}

fn unpack_with(options: &[String], packages: &[String], root: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(root)?;
    let fetched = tempfile::tempdir_in(root)?;
    let mut download = Command::new("apt-get");
    download
        .arg("-qq")
        .args(options)
        .arg("download")
        .args(packages);
    steps::run_in(fetched.path(), &mut download)?;
    for package in std::fs::read_dir(fetched.path())?.flatten() {
        steps::run(
            Command::new("dpkg-deb")
                .arg("-x")
                .arg(package.path())
                .arg(root),
        )?;
    }
    Ok(())
}

/// The first dependency of `package` whose name begins so.
fn dependency(package: &str, prefix: &str) -> anyhow::Result<String> {
    let text = steps::output(Command::new("apt-cache").args(["depends", package]))?;
    let found = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Depends: "))
        .find(|name| name.starts_with(prefix));
    Ok(found
        .with_context(|| format!("{package} depends on no {prefix}..."))?
        .to_owned())
}

/// The compiler finds its libraries beside itself, wherever they were unpacked.
fn script(folder: &Path, root: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let libraries = std::fs::read_dir(root.join("usr/lib"))?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().ends_with("-linux-gnu"))
        .context("no folder of libraries")?;
    let rustc = root.join("usr/bin/rustc");
    ensure!(rustc.is_file(), "no rustc in {}", root.display());
    let path = folder.join("rustc");
    let text = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH='{}' exec '{}' \"$@\"\n",
        libraries.display(),
        rustc.display()
    );
    std::fs::write(&path, text)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{minor, minor_of};

    #[test]
    fn a_compilers_age_is_its_minor_version() {
        assert_eq!(
            minor("rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)"),
            Some(96)
        );
        assert!(minor("rustc 1.85.0") < minor_of("1.89"));
        assert_eq!(minor(""), None);
    }
}
