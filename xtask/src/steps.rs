//! Steps that a task runs in sight of the user: the command is said, its output is passed through.

use anyhow::{Context as _, ensure};
use jfr_chains_tests::{target_dir, workspace};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The cargo that runs this task.
pub fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs a command in the workspace with its output on ours; errs when it cannot start or fails.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    run_in(&workspace(), command)
}

/// The same in another folder.
pub fn run_in(folder: &Path, command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    eprintln!("+ {shown}");
    let status = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .status()
        .with_context(|| shown.clone())?;
    ensure!(status.success(), "{shown}: {status}");
    Ok(())
}

/// Runs a command like [`run`] and gives each line of its stderr to `seen` too.
pub fn run_watching(command: &mut Command, mut seen: impl FnMut(&str)) -> anyhow::Result<()> {
    let shown = shown(command);
    eprintln!("+ {shown}");
    let mut child = command
        .current_dir(workspace())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| shown.clone())?;
    let stderr = child.stderr.take().with_context(|| shown.clone())?;
    for line in BufReader::new(stderr).split(b'\n') {
        let line = line.with_context(|| shown.clone())?;
        let line = String::from_utf8_lossy(&line);
        eprintln!("{line}");
        seen(&line);
    }
    let status = child.wait().with_context(|| shown.clone())?;
    ensure!(status.success(), "{shown}: {status}");
    Ok(())
}

/// Runs a command and gives its stdout; errs like [`run`].
pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let shown = shown(command);
    let out = command
        .current_dir(workspace())
        .stdin(Stdio::null())
        .output()
        .with_context(|| shown.clone())?;
    ensure!(
        out.status.success(),
        "{shown}: {}\n{}",
        out.status,
        String::from_utf8_lossy(&out.stderr)
    );
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// The agent library and the command.
pub struct Built {
    /// `libjfr_chains_agent.so`.
    pub agent: PathBuf,
    /// `jfr-chains`.
    pub command: PathBuf,
}

/// Builds both, with optimisation or (`dev`) without; where `JFR_CHAINS_AGENT` and `JFR_CHAINS_BIN` name finished
/// ones, those are taken.
pub fn build(dev: bool) -> anyhow::Result<Built> {
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    if let (Some(agent), Some(command)) = (named("JFR_CHAINS_AGENT"), named("JFR_CHAINS_BIN")) {
        return Ok(Built { agent, command });
    }
    let mut build = Command::new(cargo());
    build.args([
        "build",
        "--package",
        "jfr-chains-agent",
        "--package",
        "jfr-chains-analyzer",
    ]);
    if !dev {
        build.arg("--release");
    }
    run(&mut build)?;
    let out = target_dir().join(if dev { "debug" } else { "release" });
    Ok(Built {
        agent: out.join("libjfr_chains_agent.so"),
        command: out.join("jfr-chains"),
    })
}

/// Whether a program of that name is on the PATH.
pub fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{on_path, run, run_watching};
    use std::process::Command;

    #[test]
    fn a_failing_step_names_its_command_and_status() {
        let error = run(Command::new("sh").args(["-c", "exit 3"]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("sh -c exit 3") && error.contains("exit status: 3"),
            "{error}"
        );
    }

    #[test]
    fn a_watched_step_gives_every_line_and_its_status() {
        let mut lines = Vec::new();
        let error = run_watching(
            Command::new("sh").args(["-c", "echo one >&2; echo two >&2; exit 4"]),
            |line| lines.push(line.to_owned()),
        )
        .unwrap_err()
        .to_string();
        assert_eq!(lines, ["one", "two"]);
        assert!(error.contains("exit status: 4"), "{error}");
    }

    #[test]
    fn only_programs_on_the_path_are_found() {
        assert!(on_path("sh"));
        assert!(!on_path("no-such-program-of-ours"));
    }
}
