//! The agent library and the command, built when they are missing or stale.

use crate::{Child, paths};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Longest build of both, from nothing, on a busy machine.
const BUILD_LIMIT: Duration = Duration::from_secs(1200);

/// The built agent, `libjfr_chains_agent.so`: `JFR_CHAINS_AGENT` when set, else the debug build, which
/// cargo brings up to date once per process.
pub fn agent_library() -> anyhow::Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        locate(
            "JFR_CHAINS_AGENT",
            "jfr-chains-agent",
            "libjfr_chains_agent.so",
        )
    });
    built.clone().map_err(anyhow::Error::msg)
}

/// The JVM's argument that loads the built agent with `options` (`file=a.jfr,interval=16k`), none when empty.
pub fn agent_argument(options: &str) -> anyhow::Result<String> {
    Ok(agent_argument_of(&agent_library()?, options))
}

/// The JVM's argument that loads `library` with `options`, none when empty.
pub fn agent_argument_of(library: &Path, options: &str) -> String {
    let equals = if options.is_empty() { "" } else { "=" };
    format!("-agentpath:{}{equals}{options}", library.display())
}

/// The built command, `jfr-chains`: `JFR_CHAINS_BIN` when set, else the debug build, which cargo brings
/// up to date once per process.
pub fn cli_binary() -> anyhow::Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| locate("JFR_CHAINS_BIN", "jfr-chains-analyzer", "jfr-chains"));
    built.clone().map_err(anyhow::Error::msg)
}

/// The built `walk_probe`, which walks a JVM without waiting for a leak signal: `JFR_CHAINS_WALK_PROBE` when set,
/// else the debug build of the agent's example.
pub fn walk_probe() -> anyhow::Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        build(
            "JFR_CHAINS_WALK_PROBE",
            &["--package", "jfr-chains-agent", "--example", "walk_probe"],
            "examples/walk_probe",
        )
    });
    built.clone().map_err(anyhow::Error::msg)
}

fn locate(variable: &str, package: &str, file: &str) -> Result<PathBuf, String> {
    build(variable, &["--package", package], file)
}

fn build(variable: &str, what: &[&str], file: &str) -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os(variable).map(PathBuf::from) {
        return if path.is_file() {
            Ok(path)
        } else {
            Err(format!("{variable}: no file {}", path.display()))
        };
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = Child::new(cargo)
        .args(["build", "--quiet"])
        .args(what)
        .current_dir(paths::workspace())
        .run(BUILD_LIMIT)
        .map_err(|e| e.to_string())?;
    if !build.ok() {
        return Err(build.to_string());
    }
    let path = paths::target_dir().join("debug").join(file);
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!(
            "cargo built {}, yet there is no {}",
            what.join(" "),
            path.display()
        ))
    }
}
