//! `cargo xtask dist`: the command with the agents inside, for machines older than this one.

mod check;
mod debian;
mod jvm;
mod platform;
mod smoke;
mod toolchain;
mod zig;

use crate::steps;
use anyhow::{Context as _, ensure};
use check::{Limits, inspect};
use jfr_chains_tests::{target_dir, workspace};
use platform::{Arch, Libc, Platform};
use std::path::{Path, PathBuf};
use std::process::Command;
use toolchain::Toolchain;

/// Files that go beside the binary.
const DOCUMENTS: [&str; 6] = [
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "settings/jfr-chains.jfc",
];

/// Options of `dist`.
#[derive(clap::Args)]
pub struct Options {
    /// Processors (x86_64, aarch64); default: x86_64, and aarch64 when its compiler can be had.
    #[arg(long, value_delimiter = ',', value_parser = arch)]
    arch: Vec<Arch>,
    /// Builds and checks the agents only, with this profile: what a change of the agent needs to know.
    #[arg(long, value_name = "PROFILE")]
    agents: Option<String>,
    /// Does not ask rustup for a standard library that is missing: it is built from source at once.
    #[arg(long)]
    from_source: bool,
    /// Builds nothing and checks what is packed already.
    #[arg(long, conflicts_with_all = ["agents", "from_source"])]
    packed: bool,
}

fn arch(name: &str) -> Result<Arch, String> {
    let found = Arch::ALL.into_iter().find(|arch| arch.name() == name);
    found.ok_or_else(|| "x86_64 or aarch64".to_owned())
}

/// Builds, checks and packs; errs when a check fails, or a required platform cannot be built.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let zig = zig::install()?;
    let asked = |arch: &Arch| options.arch.is_empty() || options.arch.contains(arch);
    if options.packed {
        return again(Arch::ALL.into_iter().filter(asked), &zig);
    }
    let mut packed = Vec::new();
    for arch in Arch::ALL.into_iter().filter(asked) {
        let of = |libc| {
            let target = Platform { arch, libc }.target();
            Toolchain::of(&target, options.from_source)
        };
        let toolchains = match (of(Libc::Glibc), of(Libc::Musl)) {
            (Ok(glibc), Ok(musl)) => [glibc, musl],
            (Err(error), _) | (_, Err(error)) if !arch.is_required() && options.arch.is_empty() => {
                eprintln!("left out: {error:#}");
                continue;
            }
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let platforms: Vec<(Platform, Toolchain)> = Libc::ALL
            .map(|libc| Platform { arch, libc })
            .into_iter()
            .zip(toolchains)
            .collect();
        packed.extend(architecture(&platforms, options.agents.as_deref(), &zig)?);
    }
    for archive in packed {
        eprintln!("packed {}", archive.display());
    }
    Ok(())
}

/// Checks the packed folders of these processors; errs when there is none.
fn again(archs: impl Iterator<Item = Arch>, zig: &zig::Zig) -> anyhow::Result<()> {
    let mut found = 0;
    for arch in archs {
        for platform in Libc::ALL.map(|libc| Platform { arch, libc }) {
            let folder = folder(platform);
            if !folder.is_dir() {
                eprintln!("not packed: {}", folder.display());
                continue;
            }
            for libc in Libc::ALL {
                let of = Platform { arch, libc };
                let agent = folder.join(of.agent_name());
                checked(&agent, &Limits::agent(of))?;
                smoke::load(of, &agent, zig)?;
            }
            works(platform, &folder)?;
            found += 1;
        }
    }
    ensure!(found > 0, "nothing is packed");
    Ok(())
}

/// Where a platform is packed.
fn folder(platform: Platform) -> PathBuf {
    target_dir().join("dist").join(format!(
        "jfr-chains-{}-{}",
        env!("CARGO_PKG_VERSION"),
        platform.name()
    ))
}

/// The packed command is within its limits, runs, and finds a leak with the agent inside.
fn works(platform: Platform, folder: &Path) -> anyhow::Result<()> {
    let command = folder.join("jfr-chains");
    checked(&command, &Limits::command(platform))?;
    smoke::run(platform, &command)?;
    jvm::run(platform, &command)
}

/// Both agents of an architecture, then a command for each C library that carries both.
fn architecture(
    platforms: &[(Platform, Toolchain)],
    agents_only: Option<&str>,
    zig: &zig::Zig,
) -> anyhow::Result<Vec<PathBuf>> {
    let agents = target_dir().join("dist/agents");
    std::fs::create_dir_all(&agents)?;
    let mut embedded = Vec::new();
    for (platform, toolchain) in platforms {
        let build = Build {
            platform: *platform,
            toolchain,
            zig,
            profile: agents_only.unwrap_or("dist"),
        };
        let agent = agents.join(format!("{}.so", platform.name()));
        copy(&build.agent()?, &agent)?;
        checked(&agent, &Limits::agent(*platform))?;
        smoke::load(*platform, &agent, zig)?;
        embedded.push((*platform, agent));
    }
    if agents_only.is_some() {
        return Ok(Vec::new());
    }
    let pack = |(platform, toolchain): &(Platform, Toolchain)| {
        let build = Build {
            platform: *platform,
            toolchain,
            zig,
            profile: "dist",
        };
        pack(&build, &embedded)
    };
    platforms.iter().map(pack).collect()
}

fn pack(build: &Build<'_>, agents: &[(Platform, PathBuf)]) -> anyhow::Result<PathBuf> {
    let folder = folder(build.platform);
    if folder.is_dir() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    for (platform, agent) in agents {
        copy(agent, &folder.join(platform.agent_name()))?;
    }
    copy(&build.command(agents)?, &folder.join("jfr-chains"))?;
    works(build.platform, &folder)?;
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
    let archive = PathBuf::from(format!("{}.tar.gz", folder.display()));
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

fn checked(file: &Path, limits: &Limits) -> anyhow::Result<()> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    let found = inspect(&bytes).with_context(|| file.display().to_string())?;
    eprintln!("{}: {found}", file.display());
    limits
        .check(&found)
        .with_context(|| file.display().to_string())
}

/// How one platform's binaries are made.
struct Build<'a> {
    platform: Platform,
    toolchain: &'a Toolchain,
    zig: &'a zig::Zig,
    profile: &'a str,
}

impl Build<'_> {
    /// Builds the agent library; where cargo has put it.
    fn agent(&self) -> anyhow::Result<PathBuf> {
        let mut cargo = self.cargo("jfr-chains-agent");
        if self.platform.libc == Libc::Musl {
            // A library that brings its own C library along is none that a JVM can load.
            cargo.env(self.flags_variable(), "-C target-feature=-crt-static");
        }
        steps::run(&mut cargo)?;
        Ok(self.built().join("libjfr_chains_agent.so"))
    }

    /// Builds the command with these agents inside; where cargo has put it.
    fn command(&self, agents: &[(Platform, PathBuf)]) -> anyhow::Result<PathBuf> {
        let mut cargo = self.cargo("jfr-chains-analyzer");
        if self.platform.libc == Libc::Musl && *self.toolchain != Toolchain::Installed {
            // A standard library made from source brings no start files along: the linker has them.
            cargo.env(self.flags_variable(), "-C link-self-contained=no");
        }
        for (platform, agent) in agents {
            let variable = match platform.libc {
                Libc::Glibc => "JFR_CHAINS_AGENT_SO",
                Libc::Musl => "JFR_CHAINS_AGENT_MUSL_SO",
            };
            cargo.env(variable, agent);
        }
        steps::run(&mut cargo)?;
        Ok(self.built().join("jfr-chains"))
    }

    fn cargo(&self, package: &str) -> Command {
        let mut command = self.zig.cargo();
        command.args(["--profile", self.profile, "--locked", "--package", package]);
        command.args(["--target", &self.platform.zig_target()]);
        self.toolchain.apply(&mut command);
        command
    }

    fn built(&self) -> PathBuf {
        let folder = if self.profile == "dev" {
            "debug"
        } else {
            self.profile
        };
        target_dir().join(self.platform.target()).join(folder)
    }

    fn flags_variable(&self) -> String {
        let target = self.platform.target().to_uppercase().replace('-', "_");
        format!("CARGO_TARGET_{target}_RUSTFLAGS")
    }
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::copy(from, to).with_context(|| format!("{} -> {}", from.display(), to.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::arch;

    #[test]
    fn processors_are_named_as_in_archives() {
        assert!(arch("aarch64").is_ok());
        assert_eq!(arch("arm").unwrap_err(), "x86_64 or aarch64");
    }
}
