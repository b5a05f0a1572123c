//! Bad input gets one clear line and the application runs on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{
    Child, Finished, Jdk, agent_argument, agent_argument_of, agent_library, java_fixtures, scratch,
    skip,
};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

fn jdks(test: &str) -> Vec<Jdk> {
    Jdk::among(test, &[17, 25])
}

/// Runs a small program under these agents.
fn run(jdk: &Jdk, agents: &[String]) -> Finished {
    Child::java(jdk)
        .args(agents)
        .arg("-cp")
        .arg(java_fixtures().unwrap().classes())
        .args(["life.Exits", "exit", "5"])
        .run(LIMIT)
        .unwrap()
}

fn assert_one_line(out: &Finished, wanted: &str) {
    assert_eq!(
        (out.code(), out.stdout.as_str()),
        (Some(3), "ready\n"),
        "{out}"
    );
    assert_eq!(out.stderr.lines().count(), 1, "{out}");
    assert!(out.stderr.contains(wanted), "{wanted:?} is not in {out}");
}

#[test]
fn a_wrong_option_is_named_with_its_range() {
    for jdk in jdks("wrong option") {
        let out = run(&jdk, &[agent_argument("interval=12q").unwrap()]);
        assert_one_line(
            &out,
            "interval takes a size in 1k..1g (units k, m, g); the agent is idle, the application runs on",
        );
        let out = run(&jdk, &[agent_argument("config=/nowhere/at/all").unwrap()]);
        assert_one_line(&out, "option config=\"/nowhere/at/all\": No such file");
    }
}

#[test]
fn a_refused_start_leaves_one_status_event_in_the_own_file() {
    for jdk in jdks("refusal event") {
        let dir = scratch("agent_refusal").unwrap();
        let file = dir.path().join("refused.jfr");
        let out = run(
            &jdk,
            &[agent_argument(&format!("file={},depth=900", file.display())).unwrap()],
        );
        assert_one_line(&out, "depth takes a whole number of frames in 0..512");
        let print = Child::new(jdk.tool("jfr").unwrap())
            .arg("print")
            .arg(&file)
            .run(LIMIT)
            .unwrap();
        assert!(
            print.ok() && print.stdout.contains("code = \"options-refused\""),
            "{print}"
        );
        assert!(print.stdout.contains("state = \"idle\""), "{print}");
    }
}

#[test]
fn strict_fails_the_start() {
    for jdk in jdks("strict") {
        let out = run(&jdk, &[agent_argument("interval=12q,strict=on").unwrap()]);
        assert_eq!(
            (out.code(), out.stdout.contains("ready")),
            (Some(1), false),
            "{out}"
        );
        assert!(out.stderr.contains("interval takes"), "{out}");
    }
}

#[test]
fn a_missing_folder_and_an_unwritable_file_are_said() {
    for jdk in jdks("unwritable file") {
        assert_one_line(
            &run(&jdk, &[agent_argument("file=/nowhere/x.jfr").unwrap()]),
            "folder /nowhere does not exist",
        );
        assert_one_line(
            &run(&jdk, &[agent_argument("file=/proc/x.jfr").unwrap()]),
            "cannot write /proc/x.jfr",
        );
        let dir = scratch("agent_folder").unwrap();
        let out = run(
            &jdk,
            &[agent_argument(&format!("file={}", dir.path().display())).unwrap()],
        );
        assert_one_line(&out, "is no regular file");
    }
}

#[test]
fn a_full_device_costs_the_recording_and_not_the_application() {
    if !std::path::Path::new("/dev/full").exists() {
        return skip("full device", "/dev/full");
    }
    for jdk in jdks("full device") {
        assert_one_line(
            &run(&jdk, &[agent_argument("file=/dev/full").unwrap()]),
            "/dev/full",
        );
    }
}

#[test]
fn a_second_load_keeps_the_first_agent() {
    for jdk in jdks("second load") {
        let dir = scratch("agent_twice").unwrap();
        let (first, second) = (dir.path().join("a.jfr"), dir.path().join("b.jfr"));
        let agents = [
            agent_argument(&format!("file={}", first.display())).unwrap(),
            agent_argument(&format!("file={}", second.display())).unwrap(),
        ];
        assert_one_line(
            &run(&jdk, &agents),
            "loaded twice: the options of the first -agentpath hold",
        );
        assert!(first.exists() && !second.exists());
    }
}

#[test]
fn a_second_copy_of_the_library_says_who_has_the_sampler() {
    for jdk in jdks("second copy") {
        let dir = scratch("agent_copy").unwrap();
        let copy = dir.path().join("copy.so");
        std::fs::copy(agent_library().unwrap(), &copy).unwrap();
        let file = |name: &str| format!("file={}", dir.path().join(name).display());
        let agents = [
            agent_argument(&file("a.jfr")).unwrap(),
            agent_argument_of(&copy, &file("b.jfr")),
        ];
        // The program waits: an agent whose JVM ends at once gives the sampler back before the other asks.
        let mut jvm = Child::java(&jdk)
            .args(&agents)
            .arg("-cp")
            .arg(java_fixtures().unwrap().classes())
            .args(["life.Exits", "wait", "5"])
            .start()
            .unwrap();
        let said = "another agent in this JVM holds the allocation sampler";
        assert!(
            jvm.wait_until(LIMIT, |jvm| jvm.stderr().contains(said)),
            "{}",
            jvm.stderr()
        );
        jvm.terminate().unwrap();
        let out = jvm.finish(LIMIT).unwrap();
        assert_eq!(
            (out.code(), out.stderr.lines().count()),
            (Some(143), 1),
            "{out}"
        );
    }
}

#[test]
fn jdk_tools_that_inherit_the_agent_are_left_alone() {
    for jdk in jdks("JDK tools") {
        let dir = scratch("agent_tools").unwrap();
        let file = dir.path().join("tool.jfr");
        // Even wrong options are not the tool's business.
        for options in [
            format!("file={}", file.display()),
            "interval=wrong".to_owned(),
        ] {
            for (tool, arguments) in [
                ("javac", vec!["-version"]),
                ("jcmd", vec!["-l"]),
                ("jfr", vec!["version"]),
                ("keytool", vec!["-help"]),
            ] {
                let Some(program) = jdk.tool(tool) else {
                    continue;
                };
                let out = Child::new(program)
                    .args(arguments)
                    .env("JAVA_TOOL_OPTIONS", agent_argument(&options).unwrap())
                    .run(LIMIT)
                    .unwrap();
                assert!(out.ok(), "{out}");
                assert!(
                    !out.stderr.contains("jfr-chains:") && !out.stdout.contains("jfr-chains:"),
                    "{out}"
                );
            }
        }
        assert!(!file.exists());
    }
}

#[test]
fn a_file_that_another_jvm_writes_is_left_alone_and_said() {
    for jdk in jdks("shared file") {
        let dir = scratch("agent_shared").unwrap();
        let file = dir.path().join("shared.jfr");
        let start = |end: &str| {
            Child::java(&jdk)
                .env(
                    "JAVA_TOOL_OPTIONS",
                    agent_argument(&format!("file={}", file.display())).unwrap(),
                )
                .arg("-cp")
                .arg(java_fixtures().unwrap().classes())
                .args(["life.Exits", end, "5"])
                .start()
                .unwrap()
        };
        let mut first = start("wait");
        assert!(first.wait_until(LIMIT, |jvm| jvm.stdout().contains("ready")));
        let second = start("exit").finish(LIMIT).unwrap();
        assert_eq!(second.code(), Some(3), "{second}");
        assert!(second.stderr.contains("another process writes"), "{second}");
        first.terminate().unwrap();
        let first = first.finish(LIMIT).unwrap();
        assert!(!first.stderr.contains("jfr-chains:"), "{first}");
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            2,
            "one recording each"
        );
    }
}

#[test]
fn templates_make_one_file_a_process() {
    for jdk in jdks("%p") {
        let dir = scratch("agent_template").unwrap();
        let out = run(
            &jdk,
            &[agent_argument(&format!("file={}/a-%p-%t.jfr", dir.path().display())).unwrap()],
        );
        assert_eq!((out.code(), out.stderr.as_str()), (Some(3), ""), "{out}");
        let name = std::fs::read_dir(dir.path())
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .file_name()
            .into_string()
            .unwrap();
        let digits = |part: &str| {
            part.split('_')
                .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()))
        };
        let parts: Vec<&str> = name.strip_suffix(".jfr").unwrap().split('-').collect();
        assert!(
            matches!(parts[..], ["a", pid, time] if digits(pid) && digits(time)),
            "{name}"
        );
    }
}
