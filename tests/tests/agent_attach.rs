//! Loaded into a running JVM: start, status, dump, stop, again; a stop leaves nothing behind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Child, Jdk, Running, agent_library, java_fixtures, scratch};
use std::path::Path;
use std::time::Duration;

/// Weak references that compilations in progress may hold.
const COMPILERS: u64 = 3;
const LIMIT: Duration = Duration::from_secs(120);

fn jdks(test: &str) -> Vec<Jdk> {
    Jdk::among(test, &[17, 25])
}

/// A busy service that runs until it is terminated.
fn service(jdk: &Jdk) -> Running {
    let mut jvm = Child::java(jdk)
        .args(["-Xcheck:jni", "-Xmx256m", "-cp"])
        .arg(java_fixtures().unwrap().classes())
        .args([
            "orders.OrderService",
            "seconds=100",
            "garbage=100",
            "orders=1000",
        ])
        .start()
        .unwrap();
    assert!(jvm.wait_until(LIMIT, |jvm| jvm.stdout().contains("serving")));
    jvm
}

fn jcmd(jdk: &Jdk, jvm: &Running, command: &[&str]) -> String {
    let out = Child::new(jdk.tool("jcmd").expect("a full JDK"))
        .arg(jvm.pid().to_string())
        .args(command)
        .run(LIMIT)
        .unwrap();
    assert!(out.ok(), "{out}");
    out.stdout
}

/// Loads the agent with these options: (whether the JVM reports success, the agent's answer).
fn load(jdk: &Jdk, jvm: &Running, dir: &Path, options: &str) -> (bool, String) {
    let reply = dir.join("reply");
    std::fs::write(&reply, "").unwrap();
    let library = agent_library().unwrap();
    let options = format!("\"{options},reply={}\"", reply.display());
    let said = jcmd(
        jdk,
        jvm,
        &["JVMTI.agent_load", &library.display().to_string(), &options],
    );
    (
        said.contains("return code: 0"),
        std::fs::read_to_string(&reply).unwrap(),
    )
}

/// Global and weak JNI references of the JVM.
fn references(jdk: &Jdk, jvm: &Running) -> (u64, u64) {
    let text = jcmd(jdk, jvm, &["Thread.print"]);
    let line = text
        .lines()
        .find(|line| line.starts_with("JNI global refs:"))
        .expect("a count of references");
    let numbers: Vec<u64> = line
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    (numbers[0], numbers[1])
}

fn agent_threads(jvm: &Running) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", jvm.pid())).unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.unwrap().path().join("comm"))
    };
    tasks
        .filter_map(|task| name(task).ok())
        .filter(|name| name.starts_with("jfr-chains"))
        .count()
}

#[test]
fn an_attached_agent_starts_answers_and_stops() {
    for jdk in jdks("attach") {
        let dir = scratch("agent_attach").unwrap();
        let jvm = service(&jdk);
        let load = |options: &str| load(&jdk, &jvm, dir.path(), options);
        let file = dir.path().join("attached.jfr");

        assert_eq!(
            load("cmd=status"),
            (false, "the agent is not loaded in this JVM\n".into())
        );
        assert_eq!(
            load(&format!("file={}", file.display())),
            (true, "started\n".into())
        );
        let (ok, status) = load("cmd=status");
        assert!(
            ok && status.starts_with("state tracking, epoch "),
            "{status}"
        );
        assert!(
            status.contains(&format!("\nfile {}\n", file.display())),
            "{status}"
        );
        assert!(status.contains("\ngates safepoint-debt "), "{status}");
        assert!(status.contains("\nbudgets "), "{status}");
        assert!(status.contains("\ndropped queue "), "{status}");

        let (ok, again) = load("interval=1m");
        assert!(
            !ok && again.contains("works already in this JVM"),
            "{again}"
        );
        let (ok, wrong) = load("interval=wrong");
        assert!(
            !ok && wrong.contains("interval takes a size in 1k..1g"),
            "{wrong}"
        );

        let (ok, dumped) = load("cmd=dump");
        assert!(ok && dumped.starts_with("state "), "{dumped}");
        let print = Child::new(jdk.tool("jfr").unwrap())
            .arg("print")
            .arg(&file)
            .run(LIMIT)
            .unwrap();
        assert!(
            print.ok() && print.stdout.contains("Written on request"),
            "{print}"
        );

        assert_eq!(load("cmd=stop"), (true, "stopped\n".into()));
        let (ok, idle) = load("cmd=stop");
        assert!(
            !ok && idle.contains("not at work: it was stopped"),
            "{idle}"
        );

        jvm.terminate().unwrap();
        let out = jvm.finish(LIMIT).unwrap();
        assert_eq!(out.code(), Some(143), "{out}");
        assert!(
            !out.stderr.contains("jfr-chains:"),
            "the answers are not the application's: {out}"
        );
        assert!(!out.stdout.contains("WARNING in native"), "{out}");
    }
}

#[test]
fn a_stop_leaves_no_reference_and_no_thread_and_another_start_works() {
    for jdk in jdks("detach") {
        let dir = scratch("agent_detach").unwrap();
        let jvm = service(&jdk);
        let file = dir.path().join("again.jfr");
        let start = format!("file={},live-ratio=1,interval=64k", file.display());
        let before = references(&jdk, &jvm);
        for _round in 0..2 {
            assert!(load(&jdk, &jvm, dir.path(), &start).0);
            assert_eq!(agent_threads(&jvm), 1);
            let tracked = |_: &Running| {
                load(&jdk, &jvm, dir.path(), "cmd=status")
                    .1
                    .contains(" 0 tracked")
            };
            assert!(!tracked(&jvm) || !tracked(&jvm), "nothing was tracked");
            assert_eq!(
                load(&jdk, &jvm, dir.path(), "cmd=stop"),
                (true, "stopped\n".into())
            );
            assert_eq!(agent_threads(&jvm), 0);
            // The JVM's compilers hold a few weak references while they work: looked at until they rest. Ours
            // would be dozens: tracked objects, classes and threads.
            let mut after = references(&jdk, &jvm);
            let gone = |after: (u64, u64)| after.0 <= before.0 && after.1 <= before.1 + COMPILERS;
            for _ in 0..20 {
                if !gone(after) {
                    after = references(&jdk, &jvm);
                }
            }
            let release = jdk.release();
            assert!(gone(after), "JDK {release}: {before:?} -> {after:?}");
        }
        // The sampler is free for others: a copy of the library is another agent.
        let copy = dir.path().join("copy.so");
        std::fs::copy(agent_library().unwrap(), &copy).unwrap();
        let reply = dir.path().join("reply2");
        std::fs::write(&reply, "").unwrap();
        let ask = |options: String| {
            let options = format!("\"{options},reply={}\"", reply.display());
            jcmd(
                &jdk,
                &jvm,
                &["JVMTI.agent_load", &copy.display().to_string(), &options],
            )
        };
        assert!(
            ask(format!("file={}", dir.path().join("copy.jfr").display()))
                .contains("return code: 0")
        );
        ask("cmd=status".into());
        let status = std::fs::read_to_string(&reply).unwrap();
        assert!(status.starts_with("state tracking"), "{status}");
        jvm.terminate().unwrap();
        assert_eq!(jvm.finish(LIMIT).unwrap().code(), Some(143));
    }
}
