//! The agent's life in a JVM: it starts, samples, stops and leaves exit code and output alone, whatever the
//! collector and however the program ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{
    Child, Collector, Finished, Jdk, agent_argument, java_fixtures, scratch, skip,
};
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);
const JDKS: [u32; 4] = [11, 17, 21, 25];

/// The JDKs of this test; a missing one is said and skipped.
fn jdks(test: &str) -> Vec<Jdk> {
    Jdk::among(test, &JDKS)
}

fn program(jdk: &Jdk, options: &str, arguments: &[&str]) -> Child {
    Child::java(jdk)
        .args(["-Xcheck:jni", "-Xmx96m"])
        .arg(agent_argument(options).unwrap())
        .arg("-cp")
        .arg(java_fixtures().unwrap().classes())
        .arg("life.Exits")
        .args(arguments)
}

fn assert_no_jni_warning(out: &Finished) {
    let all = format!("{}{}", out.stdout, out.stderr);
    assert!(!all.contains("WARNING"), "{out}");
    assert!(!all.contains("FATAL ERROR"), "{out}");
}

/// The events of a type, as `jfr print` shows them: of that JDK, or of 25 where it has no such tool.
fn printed(jdk: &Jdk, file: &Path, events: &str) -> String {
    let tool = jdk
        .tool("jfr")
        .or_else(|| Jdk::feature(25)?.tool("jfr"))
        .expect("a full JDK");
    let out = Child::new(tool)
        .args(["print", "--events", events])
        .arg(file)
        .run(LIMIT)
        .unwrap();
    assert!(out.ok(), "{out}");
    out.stdout
}

/// The number in the last `name = 123` of a printout.
fn last_number(text: &str, name: &str) -> u64 {
    let prefix = format!("{name} = ");
    let mut lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(&prefix));
    lines
        .next_back()
        .unwrap_or_else(|| panic!("no {name} in {text}"))
        .parse()
        .unwrap()
}

fn collector_runs(collector: Collector) {
    let test = format!("agent_life on {}", collector.name());
    for jdk in jdks(&test) {
        if !jdk.supports(collector) {
            skip(
                &test,
                &format!("{} in JDK {}", collector.name(), jdk.release()),
            );
            continue;
        }
        let dir = scratch("agent_life").unwrap();
        let file = dir.path().join("life.jfr");
        let out = Child::java(&jdk)
            .args(collector.flags())
            .args(["-Xcheck:jni", "-Xmx96m"])
            .arg(agent_argument(&format!("file={},log=info", file.display())).unwrap())
            .arg("-cp")
            .arg(java_fixtures().unwrap().classes())
            .args(["life.Exits", "return", "4000"])
            .run(LIMIT)
            .unwrap();
        assert_eq!(out.code(), Some(0), "{out}");
        assert_eq!(out.stdout, "ready\n", "{out}");
        assert_no_jni_warning(&out);
        assert!(
            out.stderr.contains("jfr-chains: info: stopped: "),
            "the worker's last line: {out}"
        );
        let status = printed(&jdk, &file, "jfrchains.AgentStatus");
        assert!(
            status.contains("code = \"started\"") && status.contains("code = \"stopped\""),
            "{status}"
        );
        assert!(last_number(&status, "samples") > 100, "{status}");
        assert!(last_number(&status, "epoch") > 0, "{status}");
        assert!(last_number(&status, "gcCallbacks") > 0, "{status}");
        assert_eq!(last_number(&status, "queueDropped"), 0, "{status}");
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "nothing but the recording stays"
        );
    }
}

#[test]
fn the_agent_starts_samples_and_stops_on_g1() {
    collector_runs(Collector::G1);
}

#[test]
fn the_agent_starts_samples_and_stops_on_parallel() {
    collector_runs(Collector::Parallel);
}

#[test]
fn the_agent_starts_samples_and_stops_on_serial() {
    collector_runs(Collector::Serial);
}

#[test]
fn the_agent_starts_samples_and_stops_on_zgc() {
    collector_runs(Collector::Z);
}

#[test]
fn the_agent_starts_samples_and_stops_on_shenandoah() {
    collector_runs(Collector::Shenandoah);
}

#[test]
fn exit_code_and_output_are_the_programs_own_however_it_ends() {
    for jdk in jdks("exits") {
        for (end, code) in [("return", 0), ("exit", 3), ("halt", 4), ("throw", 1)] {
            let dir = scratch("agent_exits").unwrap();
            let file = dir.path().join("exits.jfr");
            let out = program(&jdk, &format!("file={}", file.display()), &[end, "100"])
                .run(LIMIT)
                .unwrap();
            assert_eq!(out.code(), Some(code), "{out}");
            assert_eq!(out.stdout, "ready\n", "{out}");
            if end == "throw" {
                assert!(
                    out.stderr.starts_with("Exception in thread \"main\""),
                    "{out}"
                );
            } else {
                assert_eq!(out.stderr, "", "{out}");
            }
            let status = printed(&jdk, &file, "jfrchains.AgentStatus");
            assert!(
                status.contains("code = \"stopped\""),
                "ended by {end}: {status}"
            );
        }
    }
}

#[test]
fn a_terminated_jvm_has_a_whole_recording_and_the_signals_exit_code() {
    for jdk in jdks("SIGTERM") {
        let dir = scratch("agent_term").unwrap();
        let file = dir.path().join("term.jfr");
        let mut jvm = program(&jdk, &format!("file={}", file.display()), &["wait", "100"])
            .start()
            .unwrap();
        assert!(jvm.wait_until(LIMIT, |jvm| jvm.stdout().contains("ready")));
        jvm.terminate().unwrap();
        let out = jvm.finish(LIMIT).unwrap();
        assert_eq!(out.code(), Some(143), "{out}");
        assert_no_jni_warning(&out);
        assert!(printed(&jdk, &file, "jfrchains.AgentStatus").contains("code = \"stopped\""));
    }
}

#[test]
fn a_killed_jvm_leaves_a_readable_recording() {
    for jdk in jdks("SIGKILL") {
        let dir = scratch("agent_kill").unwrap();
        let file = dir.path().join("kill.jfr");
        let mut jvm = program(&jdk, &format!("file={}", file.display()), &["wait", "100"])
            .start()
            .unwrap();
        let written = |_: &_| std::fs::metadata(&file).is_ok_and(|data| data.len() > 0);
        assert!(jvm.wait_until(LIMIT, |jvm| jvm.stdout().contains("ready") && written(jvm)));
        jvm.kill().unwrap();
        drop(jvm.finish(LIMIT).unwrap());
        printed(&jdk, &file, "jfrchains.AgentStatus");
    }
}

#[test]
fn a_recording_ends_after_its_duration_and_the_program_runs_on() {
    for jdk in jdks("duration") {
        let dir = scratch("agent_duration").unwrap();
        let file = dir.path().join("duration.jfr");
        let options = format!("file={},duration=1s,log=info", file.display());
        let mut jvm = program(&jdk, &options, &["wait", "10"]).start().unwrap();
        assert!(jvm.wait_until(LIMIT, |jvm| {
            jvm.stderr().contains("jfr-chains: info: stopped: ")
        }));
        assert!(jvm.stdout().contains("ready"));
        assert!(printed(&jdk, &file, "jfrchains.AgentStatus").contains("code = \"stopped\""));
        jvm.terminate().unwrap();
        let out = jvm.finish(LIMIT).unwrap();
        assert_eq!(out.code(), Some(143), "{out}");
        assert_no_jni_warning(&out);
    }
}

#[test]
fn a_jvm_without_management_and_jfr_modules_is_served_and_told_once() {
    for jdk in jdks("java.base alone") {
        let dir = scratch("agent_modules").unwrap();
        let file = dir.path().join("base.jfr");
        let out = Child::java(&jdk)
            .args(["--limit-modules", "java.base", "-Xcheck:jni", "-Xmx96m"])
            .arg(agent_argument(&format!("file={}", file.display())).unwrap())
            .arg("-cp")
            .arg(java_fixtures().unwrap().classes())
            .args(["life.Exits", "return", "800"])
            .run(LIMIT)
            .unwrap();
        assert_eq!(
            (out.code(), out.stdout.as_str()),
            (Some(0), "ready\n"),
            "{out}"
        );
        assert_no_jni_warning(&out);
        let status = printed(&jdk, &file, "jfrchains.AgentStatus");
        assert!(status.contains("code = \"no-management\""), "{status}");
        assert!(
            status.contains("epochSource = \"GC callbacks divided by 1\""),
            "{status}"
        );
        assert!(
            status.contains("collector = \"G1\"") || status.contains("collector = \"Serial\""),
            "{status}"
        );
        assert!(last_number(&status, "epoch") > 0, "{status}");
    }
}
