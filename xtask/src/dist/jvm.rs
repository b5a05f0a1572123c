//! The packed agent in a JVM of its platform: a program leaks, and the packed command must say what holds the leak.

use super::platform::{Libc, Platform};
use super::smoke;
use crate::jdk;
use anyhow::{Context as _, ensure};
use jfr_chains_tests::{Child, Finished, Jdk, agent_argument_of, java_fixtures, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Emulated, on a machine that has much else to do.
const LIMIT: Duration = Duration::from_secs(600);
/// How long the program leaks. The folds before a verdict take 14 s at least.
const SECONDS: u32 = 45;
/// The runtime for another processor that pip has.
const FEATURE: u32 = 25;
/// What holds the leaks of the program; either will do.
const HOLDERS: [&str; 2] = ["Archive.BY_NUMBER", "LoginEvents.LISTENERS"];

/// Runs the program with `agent` and reads the recording with `command`. Without such a JVM or a compiler for the
/// program, that is said. Errs when the JVM fails, misuses JNI, or the report names no holder.
pub fn run(platform: Platform, agent: &Path, command: &Path) -> anyhow::Result<()> {
    let name = platform.name();
    let (Some(java), Some(reader)) = (java(platform)?, smoke::runner(platform)?) else {
        let variable = variable(platform);
        eprintln!(
            "{name}: not tried in a JVM: none of that platform is here ({variable}=its java)"
        );
        return Ok(());
    };
    let classes = match java_fixtures() {
        Ok(fixtures) => fixtures.classes().to_path_buf(),
        Err(error) => {
            eprintln!("{name}: not tried in a JVM: {error:#}");
            return Ok(());
        }
    };
    let folder = scratch("dist-jvm")?;
    let recording = folder.path().join("leak.jfr");
    let options = format!(
        "file={},interval=16k,live-ratio=1,log=info",
        recording.display()
    );
    let leaked = child(&java)
        .args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx96m"])
        .args(["-Xcheck:jni", "-cp"])
        .arg(&classes)
        .arg(agent_argument_of(agent, &options))
        .args(["leaks.TwoLeaks", "steps=1000", "garbage=20"])
        .arg(format!("seconds={SECONDS}"))
        .current_dir(folder.path())
        .run(LIMIT)?;
    ensure!(
        leaked.ok() && !leaked.stdout.contains("WARNING in native"),
        "{name}: {leaked}"
    );
    let report = child(&reader)
        .arg(command)
        .arg("report")
        .arg(&recording)
        .run(LIMIT)?;
    ensure!(report.ok(), "{name}: {report}");
    let verdict = verdict(&report).with_context(|| format!("{name}: {report}\n{leaked}"))?;
    eprintln!("{name}: in a JVM: {verdict}");
    Ok(())
}

/// The report's first two lines, when it names a holder.
fn verdict(report: &Finished) -> Option<String> {
    let named = HOLDERS.iter().any(|holder| report.stdout.contains(holder));
    let lines: Vec<&str> = report.stdout.lines().take(2).map(str::trim).collect();
    named.then(|| lines.join(" "))
}

/// A `java` of that platform, with what runs it: the one that a variable names, one of this machine, or pip's.
fn java(platform: Platform) -> anyhow::Result<Option<Command>> {
    let Some(runner) = smoke::dynamic(platform)? else {
        return Ok(None);
    };
    let with = |mut runner: Command, java: PathBuf| {
        runner.arg(java);
        Some(runner)
    };
    if let Some(named) = std::env::var_os(variable(platform)) {
        // One for this processor finds its own loader, and itself through it.
        return Ok(match platform.arch.is_here() {
            true => Some(Command::new(named)),
            false => with(runner, named.into()),
        });
    }
    let own = if cfg!(target_env = "musl") {
        Libc::Musl
    } else {
        Libc::Glibc
    };
    if platform.arch.is_here() {
        let found = Jdk::all().last().filter(|_| platform.libc == own);
        return Ok(found.and_then(|jdk| with(runner, jdk.java())));
    }
    // No registry has a runtime for musl.
    if platform.libc == Libc::Musl {
        return Ok(None);
    }
    let arch = platform.arch.name();
    let home = smoke::tools().join(format!("java-{FEATURE}-{arch}"));
    match jdk::foreign_runtime(FEATURE, &format!("manylinux_2_17_{arch}"), &home) {
        Ok(()) => Ok(with(runner, home.join("bin/java"))),
        Err(error) => {
            eprintln!("no runtime for {arch}: {error:#}");
            Ok(None)
        }
    }
}

/// The variable that names the `java` of a platform: `JFR_CHAINS_JAVA_LINUX_X86_64_MUSL`.
fn variable(platform: Platform) -> String {
    let name = platform.name().to_uppercase().replace('-', "_");
    format!("JFR_CHAINS_JAVA_{name}")
}

fn child(command: &Command) -> Child {
    Child::new(command.get_program()).args(command.get_args())
}

#[cfg(test)]
mod tests {
    use super::{Libc, Platform, variable};
    use crate::dist::platform::Arch;

    #[test]
    fn a_variable_names_the_java_of_a_platform() {
        let platform = Platform {
            arch: Arch::X86_64,
            libc: Libc::Musl,
        };
        assert_eq!(variable(platform), "JFR_CHAINS_JAVA_LINUX_X86_64_MUSL");
    }
}
