//! The packed command in use: a program leaks in a JVM of its processor, and `record` must bring home what holds it.

use super::platform::{Libc, Platform};
use super::smoke;
use crate::jdk;
use anyhow::{Context as _, ensure};
use jfr_chains_tests::{Child, Jdk, Running, java_fixtures, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Emulated, on a machine that has much else to do.
const LIMIT: Duration = Duration::from_secs(600);
/// The program leaks longer than anybody waits; it is ended by SIGKILL.
const SECONDS: u64 = 3 * LIMIT.as_secs();
/// The runtime for another processor that pip has.
const FEATURE: u32 = 25;
const PROGRAM: &str = "leaks.TwoLeaks";
/// What holds the leaks of the program; either will do.
const HOLDERS: [&str; 2] = ["Archive.BY_NUMBER", "LoginEvents.LISTENERS"];

/// Records a JVM with the command for each C library that it serves: the one for musl runs anywhere. Without such a
/// JVM or a compiler for the program, that is said. Errs when no chain is found, or JNI is misused.
pub fn run(platform: Platform, command: &Path) -> anyhow::Result<()> {
    let name = platform.name();
    let classes = match java_fixtures() {
        Ok(fixtures) => fixtures.classes().to_path_buf(),
        Err(error) => {
            eprintln!("{name}: not tried in a JVM: {error:#}");
            return Ok(());
        }
    };
    let Some(runner) = smoke::runner(platform)? else {
        return Ok(());
    };
    let served = Libc::ALL.map(|libc| Platform { libc, ..platform });
    for jvm in served
        .into_iter()
        .filter(|jvm| platform.libc == Libc::Musl || jvm.libc == Libc::Glibc)
    {
        let of = jvm.name();
        match java(jvm)? {
            Some(java) => {
                let told = record(&java, &runner, command, &classes)
                    .with_context(|| format!("{name} in a JVM of {of}"))?;
                eprintln!("{name} in a JVM of {of}: {told}");
            }
            None => eprintln!(
                "{name}: not tried in a JVM of {of}: none is here ({}=its java)",
                variable(jvm)
            ),
        }
    }
    Ok(())
}

/// Starts the program, records it until there is the chain, and gives the line that told it.
fn record(
    java: &Command,
    runner: &Command,
    command: &Path,
    classes: &Path,
) -> anyhow::Result<String> {
    let folder = scratch("dist-jvm")?;
    let mut program = child(java)
        .args(["-XX:TieredStopAtLevel=1", "-Xmx96m", "-Xcheck:jni", "-cp"])
        .arg(classes)
        .args([PROGRAM, "steps=1000", "garbage=20"])
        .arg(format!("seconds={SECONDS}"))
        .current_dir(folder.path())
        .start()?;
    let pid = program.pid().to_string();
    let said = |arguments: &[&str]| {
        child(runner)
            .arg(command)
            .args(arguments)
            .env("XDG_CACHE_HOME", folder.path())
    };
    let listed = |_: &Running| {
        let list = said(&["list"])
            .run(LIMIT)
            .map(|out| out.stdout)
            .unwrap_or_default();
        list.contains(&pid) && list.contains(PROGRAM)
    };
    ensure!(
        program.wait_until(LIMIT, listed),
        "{PROGRAM} is not listed: {}",
        program.stderr()
    );
    let recording = folder.path().join("leak.jfr");
    let recording = recording.to_string_lossy();
    let quick = ["--set", "interval=16k", "--set", "live-ratio=1"];
    let mut recorder =
        said(&[&["record", &pid, "-d", "1h", "-o", &recording][..], &quick].concat()).start()?;
    // Another chain may come first.
    let named = |text: &str| HOLDERS.iter().any(|holder| text.contains(holder));
    let found = recorder.wait_until(LIMIT, |recorder| named(&recorder.stderr()));
    let interrupt = Child::new("kill").args(["-INT", &recorder.pid().to_string()]);
    interrupt.run(LIMIT)?;
    let recorded = recorder.finish(LIMIT)?;
    ensure!(found, "no chain names {HOLDERS:?}: {recorded}");
    let report = said(&["report", &recording]).run(LIMIT)?;
    program.kill()?;
    let ended = program.finish(LIMIT)?;
    ensure!(
        recorded.ok() && report.ok() && !ended.stdout.contains("WARNING in native"),
        "{recorded}\n{report}\n{ended}"
    );
    ensure!(named(&report.stdout), "{report}");
    let told = recorded.stderr.lines().find(|line| named(line));
    Ok(told.unwrap_or_default().to_owned())
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
