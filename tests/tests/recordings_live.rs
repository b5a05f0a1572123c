//! The agent at home in the JVM's recordings: exit files, dumps, recordings that start late or stop, settings, and
//! JVMs without JFR.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{
    Child, Jdk, Running, agent_argument, cli_binary, java_fixtures, scratch, skip, workspace,
};
use jfr_format::schema;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(240);

fn jdks(test: &str) -> Vec<Jdk> {
    let found = [17, 25].map(|feature| (feature, Jdk::feature(feature).filter(Jdk::has_compiler)));
    let mut jdks = Vec::new();
    for (feature, jdk) in found {
        match jdk {
            Some(jdk) => jdks.push(jdk),
            None => skip(test, &format!("JDK {feature}")),
        }
    }
    jdks
}

fn java(jdk: &Jdk) -> Child {
    Child::java(jdk)
        .args(["-Xcheck:jni", "-Xmx256m"])
        .arg("-cp")
        .arg(java_fixtures().unwrap().classes())
}

fn jcmd(jdk: &Jdk, pid: u32, command: &[&str]) -> String {
    let out = Child::new(jdk.tool("jcmd").unwrap())
        .arg(pid.to_string())
        .args(command)
        .run(LIMIT)
        .unwrap();
    assert!(out.ok(), "{out}");
    out.stdout
}

fn print(jdk: &Jdk, file: &Path, events: &str) -> String {
    let out = Child::new(jdk.tool("jfr").unwrap())
        .args(["print", "--events", events])
        .arg(file)
        .run(LIMIT)
        .unwrap();
    assert!(out.ok(), "{out}");
    out.stdout
}

fn count(jdk: &Jdk, file: &Path, events: &str) -> usize {
    print(jdk, file, events)
        .matches(&format!("{events} {{"))
        .count()
}

/// Dumps a recording again and again until the dump holds what `wanted` looks for.
fn dump_until(
    jdk: &Jdk,
    service: &mut Running,
    name: &str,
    file: &Path,
    wanted: impl Fn(&str) -> bool,
) -> String {
    let pid = service.pid();
    let mut printed = String::new();
    let found = service.wait_until(LIMIT, |_| {
        let file_option = format!("filename={}", file.display());
        jcmd(
            jdk,
            pid,
            &["JFR.dump", &format!("name={name}"), &file_option],
        );
        printed = print(jdk, file, "jfrchains.*");
        wanted(&printed)
    });
    assert!(found, "not in the dump: {printed}");
    printed
}

/// Whether the recording holds decisions of the core already; those that it holds are made again.
fn replays(file: &Path) -> bool {
    let out = Child::new(cli_binary().unwrap())
        .arg("replay")
        .arg(file)
        .run(LIMIT)
        .unwrap();
    if !out.ok() && out.stderr.contains("to start from") {
        // Its first state is not written yet.
        return false;
    }
    assert!(
        out.ok() && out.stdout.contains("0 decided otherwise"),
        "{out}"
    );
    !out.stdout.starts_with("0 decisions")
}

#[test]
fn chains_are_in_dumps_late_recordings_and_the_exit_file() {
    for jdk in jdks("chains_are_in_dumps_late_recordings_and_the_exit_file") {
        let dir = scratch("recordings").unwrap();
        let exit = dir.path().join("exit.jfr");
        let start = format!(
            "-XX:StartFlightRecording=name=first,filename={}",
            exit.display()
        );
        let mut service = java(&jdk)
            .arg(start)
            .arg(agent_argument("log=info").unwrap())
            .args(["orders.OrderService", "leak=on", "seconds=300"])
            .start()
            .unwrap();
        let found = service.wait_until(LIMIT, |service| service.stderr().contains("chain found"));
        assert!(found, "{}", service.stderr());

        let chain = |text: &str| {
            text.contains(
                "static-field orders.OrderCache.BY_CUSTOMER -> ::BY_CUSTOMER java.util.HashMap",
            )
        };
        let named_file = dir.path().join("named.jfr");
        let named = dump_until(&jdk, &mut service, "first", &named_file, |text| {
            chain(text) && replays(&named_file)
        });
        assert!(named.contains("candidateClass = orders."), "{named}");
        assert!(named.contains("code = \"recording-started\""), "{named}");
        assert!(named.contains("jfrchains.Hop {"), "{named}");

        // A recording that starts after the chain was found gets it too, marked as a repetition.
        jcmd(&jdk, service.pid(), &["JFR.start", "name=late"]);
        let late = dir.path().join("late.jfr");
        let again = dump_until(&jdk, &mut service, "late", &late, |text| {
            chain(text) && text.contains("repeated = true") && replays(&late)
        });
        assert!(again.contains("code = \"recording-started\""), "{again}");
        jcmd(&jdk, service.pid(), &["JFR.stop", "name=late"]);

        // The search ends with the last recording, and the sampler is given back.
        jcmd(&jdk, service.pid(), &["JFR.stop", "name=first"]);
        let stopped = service.wait_until(LIMIT, |service| {
            service
                .stderr()
                .contains("no recording takes the agent's events any more")
        });
        assert!(stopped, "{}", service.stderr());
        jcmd(
            &jdk,
            service.pid(),
            &[
                "JFR.start",
                "name=second",
                &format!("filename={}", exit.display()),
            ],
        );
        let second = dir.path().join("second.jfr");
        dump_until(&jdk, &mut service, "second", &second, |text| {
            text.contains("jfrchains.AgentStatus")
        });

        service.terminate().unwrap();
        let out = service.finish(LIMIT).unwrap();
        assert!(!out.stderr.contains("WARNING in native"), "{out}");
        assert!(count(&jdk, &exit, "jfrchains.AgentStatus") > 0);
    }
}

#[test]
fn settings_switch_each_event_on_and_off() {
    for jdk in jdks("settings_switch_each_event_on_and_off") {
        let dir = scratch("recordings_settings").unwrap();
        let file = dir.path().join("settings.jfr");
        let settings = workspace().join("settings/jfr-chains.jfc");
        let start = format!(
            "-XX:StartFlightRecording=settings=default,settings={},jfrchains.CostBudget#enabled=false,filename={}",
            settings.display(),
            file.display()
        );
        let out = java(&jdk)
            .arg(start)
            .arg(agent_argument("").unwrap())
            .args(["orders.OrderService", "leak=off", "seconds=15"])
            .run(LIMIT)
            .unwrap();
        assert_eq!(out.code(), Some(0), "{out}");
        assert!(
            !out.stdout.contains("[warn") && !out.stderr.contains("WARNING"),
            "{out}"
        );
        assert_eq!(count(&jdk, &file, "jfrchains.CostBudget"), 0);
        assert!(count(&jdk, &file, "jfrchains.GateRefusals") > 0);
        assert!(count(&jdk, &file, "jfrchains.AgentStatus") > 0);
        assert!(count(&jdk, &file, "jdk.TenuringDistribution") > 0);
    }
}

#[test]
fn the_settings_file_names_every_event_of_ours() {
    let text = std::fs::read_to_string(workspace().join("settings/jfr-chains.jfc")).unwrap();
    for schema in schema::all() {
        assert!(
            text.contains(&format!("<event name=\"{}\">", schema.name)),
            "{}",
            schema.name
        );
    }
    assert_eq!(
        text.matches("<event name=\"jfrchains.").count(),
        schema::all().len()
    );
}

#[test]
fn a_jvm_without_jfr_is_told_once_and_runs_on() {
    for jdk in jdks("a_jvm_without_jfr_is_told_once_and_runs_on") {
        let out = java(&jdk)
            .args(["--limit-modules", "java.base,java.management"])
            .arg(agent_argument("").unwrap())
            .args(["orders.OrderService", "leak=off", "seconds=4"])
            .run(LIMIT)
            .unwrap();
        assert_eq!(out.code(), Some(0), "{out}");
        assert_eq!(out.stdout.lines().count(), 2, "{out}");
        let said = out
            .stderr
            .matches("module jdk.jfr is not in this JVM")
            .count();
        assert_eq!(said, 1, "{out}");
    }
}

#[test]
fn a_jvm_whose_jfr_is_switched_off_is_told_once_and_runs_on() {
    for jdk in jdks("a_jvm_whose_jfr_is_switched_off_is_told_once_and_runs_on") {
        let out = java(&jdk)
            .args(["-XX:-FlightRecorder", "-XX:+IgnoreUnrecognizedVMOptions"])
            .arg(agent_argument("").unwrap())
            .args(["orders.OrderService", "leak=off", "seconds=4"])
            .run(LIMIT)
            .unwrap();
        assert_eq!(out.code(), Some(0), "{out}");
        let said = out
            .stderr
            .matches("JFR is switched off in this JVM")
            .count();
        assert_eq!(said, 1, "{out}");
    }
}

#[test]
fn a_jvm_that_never_records_is_left_alone() {
    for jdk in jdks("a_jvm_that_never_records_is_left_alone") {
        let out = java(&jdk)
            .arg("-Xlog:jfr*=info")
            .arg(agent_argument("").unwrap())
            .args(["orders.OrderService", "leak=off", "seconds=4"])
            .run(LIMIT)
            .unwrap();
        assert_eq!((out.code(), out.stderr.as_str()), (Some(0), ""), "{out}");
        // Looking whether JFR is initialised does not initialise it.
        assert_eq!(out.stdout.lines().count(), 2, "{out}");
    }
}
