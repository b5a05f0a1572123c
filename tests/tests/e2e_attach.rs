//! Driving running JVMs from the command line: record, start, status, dump, stop, list, agent-path.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{
    Child, Finished, Jdk, Running, agent_argument_of, agent_library, cli_binary, java_fixtures,
    report, scratch, skip,
};
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// The command with arguments, and the freshly built agent.
fn command(arguments: &[&str]) -> Child {
    Child::new(cli_binary().unwrap()).args(arguments)
}

fn with_agent(arguments: &[&str]) -> Child {
    let (name, rest) = arguments.split_first().unwrap();
    command(&[name])
        .arg("--agent")
        .arg(agent_library().unwrap())
        .args(rest)
}

/// The demo service, small and healthy, for three minutes at most.
fn service(jdk: &Jdk, main: &str, flags: &[&str]) -> Running {
    let mut java = Child::java(jdk)
        .args(flags)
        .args(["-Xmx96m", "-XX:TieredStopAtLevel=1", "-Xcheck:jni", "-cp"])
        .arg(java_fixtures().unwrap().classes())
        .args([main, "seconds=180"])
        .start()
        .unwrap();
    let pid = java.pid().to_string();
    // The JVM tells its main class a moment after its process id.
    let listed = |_: &Running| {
        let list = command(&["list"]).run(LIMIT).unwrap().stdout;
        let mut lines = list.lines();
        lines.any(|line| line.contains(&pid) && line.contains(main))
    };
    assert!(java.wait_until(LIMIT, listed));
    java
}

/// `recording` when the agent works in `java`.
fn at_work(mut recording: Running, java: &Running) -> Running {
    let pid = java.pid().to_string();
    let agent_works = |_: &Running| {
        let status = command(&["status", &pid]).run(LIMIT).unwrap();
        ["state tracking", "state searching"]
            .iter()
            .any(|state| status.stdout.contains(state))
    };
    if !recording.wait_until(LIMIT, agent_works) {
        panic!("{}", recording.finish(LIMIT).unwrap());
    }
    recording
}

fn ok(out: &Finished) {
    assert_eq!(out.code(), Some(0), "{out}");
}

/// The JVM ended by SIGTERM without a warning about native code.
fn ends_cleanly(java: Running) {
    java.terminate().unwrap();
    let ended = java.finish(LIMIT).unwrap();
    assert_eq!(ended.code(), Some(143), "{ended}");
    assert!(
        !ended.stdout.contains("WARNING in native") && !ended.stderr.contains("WARNING in native"),
        "{ended}"
    );
}

fn jdks(name: &str) -> Vec<Jdk> {
    Jdk::among(name, &[17, 25])
}

fn opens_in_the_jdk(jdk: &Jdk, file: &Path) {
    let out = Child::new(jdk.tool("jfr").unwrap())
        .arg("summary")
        .arg(file)
        .run(LIMIT)
        .unwrap();
    ok(&out);
    assert!(out.stdout.contains("jfrchains.AgentStatus"), "{out}");
}

#[test]
fn record_brings_a_chain_home_and_leaves_nothing_behind() {
    for jdk in jdks("record_brings_a_chain_home_and_leaves_nothing_behind") {
        let dir = scratch("record").unwrap();
        let file = dir.path().join("leak.jfr");
        let java = service(&jdk, "shapes.S01StaticMap", &[]);
        let pid = java.pid().to_string();
        let out = with_agent(&[
            "record",
            &pid,
            "-d",
            "100s",
            "--until-chain",
            "--set",
            "interval=16k",
            "--set",
            "live-ratio=1",
            "-o",
        ])
        .arg(&file)
        .run(LIMIT + LIMIT)
        .unwrap();
        ok(&out);
        assert!(out.stderr.contains("a chain is found"), "{out}");
        opens_in_the_jdk(&jdk, &file);
        let report = report(&cli_binary().unwrap(), &file).unwrap();
        assert_eq!(
            report["chains"][0]["root"]["field"],
            "CACHE",
            "JDK {}: {report:#}",
            jdk.version()
        );
        let left: Vec<_> = std::fs::read_dir("/tmp")
            .unwrap()
            .flatten()
            .filter(|entry| {
                entry
                    .file_name()
                    .to_string_lossy()
                    .contains(&format!("-{pid}-"))
            })
            .filter(|entry| {
                entry
                    .file_name()
                    .to_string_lossy()
                    .starts_with("jfr-chains-")
            })
            .collect();
        assert!(left.is_empty(), "{left:?}");
        ends_cleanly(java);
    }
}

#[test]
fn start_status_dump_stop_and_start_again() {
    for jdk in jdks("start_status_dump_stop_and_start_again") {
        let dir = scratch("drive").unwrap();
        let java = service(&jdk, "shapes.S01StaticMap", &[]);
        let pid = java.pid().to_string();
        let none = command(&["status", &pid]).run(LIMIT).unwrap();
        assert_eq!(none.code(), Some(2), "{none}");
        for round in 0..2 {
            let file = dir.path().join(format!("round-{round}.jfr"));
            ok(
                &with_agent(&["start", &pid, "--file", file.to_str().unwrap()])
                    .run(LIMIT)
                    .unwrap(),
            );
            let again = with_agent(&["start", &pid]).run(LIMIT).unwrap();
            assert!(
                again.code() == Some(2) && again.stderr.contains("works already"),
                "{again}"
            );
            let status = command(&["status", &pid]).run(LIMIT).unwrap();
            ok(&status);
            assert!(
                status.stdout.contains("state tracking") && status.stdout.contains("no-candidate"),
                "{status}"
            );
            let copy = dir.path().join(format!("copy-{round}.jfr"));
            ok(&command(&["dump", &pid, "-o"])
                .arg(&copy)
                .run(LIMIT)
                .unwrap());
            opens_in_the_jdk(&jdk, &copy);
            ok(&command(&["stop", &pid]).run(LIMIT).unwrap());
            opens_in_the_jdk(&jdk, &file);
        }
        ends_cleanly(java);
    }
}

#[test]
fn ctrl_c_keeps_what_was_recorded() {
    let name = "ctrl_c_keeps_what_was_recorded";
    let Some(jdk) = Jdk::feature(17) else {
        return skip(name, "JDK 17");
    };
    let dir = scratch("interrupt").unwrap();
    let file = dir.path().join("leak.jfr");
    let java = service(&jdk, "shapes.S01StaticMap", &[]);
    let recording = with_agent(&["record", &java.pid().to_string(), "-d", "10m", "-o"])
        .arg(&file)
        .start()
        .unwrap();
    let recording = at_work(recording, &java);
    assert!(
        Child::new("kill")
            .args(["-INT", &recording.pid().to_string()])
            .run(LIMIT)
            .unwrap()
            .ok()
    );
    let out = recording.finish(LIMIT).unwrap();
    ok(&out);
    assert!(out.stderr.contains("interrupted"), "{out}");
    opens_in_the_jdk(&jdk, &file);
    ends_cleanly(java);
}

#[test]
fn a_jvm_that_dies_while_it_is_recorded_leaves_its_recording() {
    let name = "a_jvm_that_dies_while_it_is_recorded_leaves_its_recording";
    let Some(jdk) = Jdk::feature(17) else {
        return skip(name, "JDK 17");
    };
    let dir = scratch("dies").unwrap();
    let file = dir.path().join("leak.jfr");
    let java = service(&jdk, "leaks.TwoLeaks", &[]);
    // By its main class: no other test runs this one.
    let recording = with_agent(&["record", "TwoLeaks", "-d", "10m", "-o"])
        .arg(&file)
        .start()
        .unwrap();
    let recording = at_work(recording, &java);
    java.kill().unwrap();
    let out = recording.finish(LIMIT).unwrap();
    ok(&out);
    assert!(
        out.stderr.contains("(leaks.TwoLeaks)") && out.stderr.contains("the JVM has ended"),
        "{out}"
    );
    opens_in_the_jdk(&jdk, &file);
    drop(java);
}

#[test]
fn a_wrong_agent_option_is_told_in_the_agents_words() {
    let name = "a_wrong_agent_option_is_told_in_the_agents_words";
    let Some(jdk) = Jdk::feature(17) else {
        return skip(name, "JDK 17");
    };
    let java = service(&jdk, "shapes.S01StaticMap", &[]);
    let out = with_agent(&["start", &java.pid().to_string(), "--set", "depth=9999"])
        .run(LIMIT)
        .unwrap();
    assert_eq!(out.code(), Some(2), "{out}");
    assert!(
        out.stderr.contains("depth") && out.stderr.contains("512"),
        "{out}"
    );
    ends_cleanly(java);
}

#[test]
fn another_users_jvm_is_refused_with_what_to_do() {
    let name = "another_users_jvm_is_refused_with_what_to_do";
    let Some(jdk) = Jdk::feature(17) else {
        return skip(name, "JDK 17");
    };
    if !rustix::process::geteuid().is_root() {
        return skip(name, "root");
    }
    let java = service(&jdk, "shapes.S01StaticMap", &[]);
    // The command must be where another user can start it.
    let dir = tempfile::tempdir().unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = dir.path().join("jfr-chains");
    std::fs::copy(cli_binary().unwrap(), &copy).unwrap();
    let out = Child::new("setpriv")
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&copy)
        .args(["status", &java.pid().to_string()])
        .current_dir("/")
        .run(LIMIT)
        .unwrap();
    assert_eq!(out.code(), Some(2), "{out}");
    assert!(
        out.stderr.contains("belongs to uid 0") && out.stderr.contains("sudo"),
        "{out}"
    );
    ends_cleanly(java);
}

#[test]
fn a_jvm_in_a_container_is_recorded_from_outside() {
    let name = "a_jvm_in_a_container_is_recorded_from_outside";
    for jdk in jdks(name) {
        let unshare = || {
            Child::new("unshare").args([
                "--pid",
                "--mount",
                "--fork",
                "--kill-child",
                "--mount-proc",
            ])
        };
        let root = rustix::process::geteuid().is_root();
        if !root || !unshare().arg("true").run(LIMIT).is_ok_and(|out| out.ok()) {
            return skip(name, "root with unshare");
        }
        let inner = "mount -t tmpfs tmpfs /tmp && cd / && exec \"$@\"";
        let mut outer = unshare()
            .args(["sh", "-c", inner, "sh"])
            .arg(jdk.java())
            .args(["-Xmx96m", "-cp"])
            .arg(java_fixtures().unwrap().classes())
            .args(["shapes.S24LinkedMap", "seconds=180"])
            .start()
            .unwrap();
        let children = format!("/proc/{0}/task/{0}/children", outer.pid());
        let child = || {
            std::fs::read_to_string(&children)
                .unwrap()
                .trim()
                .to_owned()
        };
        let listed = |_: &Running| {
            !child().is_empty()
                && command(&["list"])
                    .run(LIMIT)
                    .unwrap()
                    .stdout
                    .contains(&child())
        };
        assert!(outer.wait_until(LIMIT, listed));
        let dir = scratch("container").unwrap();
        let file = dir.path().join("leak.jfr");
        let out = with_agent(&["record", &child(), "-d", "3s", "-o"])
            .arg(&file)
            .run(LIMIT)
            .unwrap();
        ok(&out);
        opens_in_the_jdk(&jdk, &file);
    }
}

#[test]
fn agent_path_prints_a_library_that_a_jvm_loads() {
    for jdk in jdks("agent_path_prints_a_library_that_a_jvm_loads") {
        let out = with_agent(&["agent-path"]).run(LIMIT).unwrap();
        ok(&out);
        let java = Child::java(&jdk)
            .arg(agent_argument_of(Path::new(out.stdout.trim()), ""))
            .arg("-version")
            .run(LIMIT)
            .unwrap();
        ok(&java);
    }
}

#[test]
fn a_jvm_on_musl_gets_the_agent_for_musl() {
    // No JVM of Alpine: a process that maps what makes one, a JVM's library and musl's loader.
    let dir = scratch("musl").unwrap();
    let mapped: Vec<String> = ["libjvm.so", "ld-musl-x86_64.so.1"]
        .iter()
        .map(|name| {
            let path = dir.path().join(name);
            std::fs::copy(agent_library().unwrap(), &path).unwrap();
            path.display().to_string()
        })
        .collect();
    let mut process = Child::new("sleep")
        .arg("600")
        .env("LD_PRELOAD", mapped.join(":"))
        .start()
        .unwrap();
    let maps = format!("/proc/{}/maps", process.pid());
    let ready =
        |_: &Running| std::fs::read_to_string(&maps).is_ok_and(|maps| maps.contains("ld-musl-"));
    assert!(process.wait_until(LIMIT, ready));

    let bin = dir.path().join("jfr-chains");
    std::fs::copy(cli_binary().unwrap(), &bin).unwrap();
    std::fs::copy(
        agent_library().unwrap(),
        dir.path().join("libjfr_chains.so"),
    )
    .unwrap();
    let pid = process.pid().to_string();
    let start = || Child::new(&bin).args(["start", &pid]).run(LIMIT).unwrap();
    let without = start();
    assert_eq!(without.code(), Some(2), "{without}");
    assert!(without.stderr.contains("musl libc (Alpine)"), "{without}");

    // With the other library beside the command the next obstacle is reached: this process is no JVM.
    std::fs::write(
        dir.path().join("libjfr_chains-musl.so"),
        "an agent for musl",
    )
    .unwrap();
    let with = start();
    assert_eq!(with.code(), Some(2), "{with}");
    assert!(!with.stderr.contains("musl"), "{with}");

    // A library for glibc is not put into it, whoever names it.
    let forced = with_agent(&["start", &pid]).run(LIMIT).unwrap();
    assert!(forced.stderr.contains("is built for glibc"), "{forced}");
}
