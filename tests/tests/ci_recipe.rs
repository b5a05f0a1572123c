//! The recipe of docs/ci.md on a live JVM: a program that leaks in one version and not in the next,
//! run with the agent, then checked.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::Path;
use std::time::Duration;

use jfr_chains_tests::{Child, Jdk, agent_library, cli_binary, java_fixtures, scratch, skip};

/// Longer than the service serves, on a machine that does other things too.
const LIMIT: Duration = Duration::from_secs(240);

/// Runs the order service with the agent, the way a build would run its tests.
fn record(jdk: &Jdk, leak: &str, seconds: &str, recording: &Path) {
    let ended = Child::java(jdk)
        .arg("-Xmx256m")
        .arg("-XX:+UseG1GC")
        .arg(format!(
            "-agentpath:{}=file={}",
            agent_library().unwrap().display(),
            recording.display()
        ))
        .arg("-cp")
        .arg(java_fixtures().unwrap().classes())
        .args(["orders.OrderService", leak, &format!("seconds={seconds}")])
        .run(LIMIT)
        .unwrap();
    assert!(ended.ok(), "{ended}");
}

/// Runs `jfr-chains`; its exit code and output.
fn command(args: &[&str]) -> (Option<i32>, String) {
    let ended = Child::new(cli_binary().unwrap())
        .args(args)
        .run(Duration::from_secs(60))
        .unwrap();
    (ended.code(), format!("{}{}", ended.stdout, ended.stderr))
}

#[test]
fn a_build_fails_on_the_commit_that_leaks_and_passes_on_the_next() {
    let Some(jdk) = Jdk::feature(17) else {
        skip("ci_recipe", "a JDK 17");
        return;
    };
    let dir = scratch("ci-recipe").unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (leaky, fixed) = (path("leaky.jfr"), path("fixed.jfr"));
    std::thread::scope(|scope| {
        scope.spawn(|| record(&jdk, "leak=on", "60", Path::new(&leaky)));
        scope.spawn(|| record(&jdk, "leak=off", "60", Path::new(&fixed)));
    });

    let junit = path("junit.xml");
    let (code, out) = command(&["check", "--junit", &junit, "--github", &leaky]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("OrderCache.BY_CUSTOMER"), "{out}");
    assert!(out.contains("::error file="), "{out}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("<failure"), "{xml}");

    let (code, out) = command(&["check", &fixed]);
    assert_eq!(code, Some(0), "{out}");

    let (code, out) = command(&["diff", &leaky, &fixed]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("gone"), "{out}");
    let (code, out) = command(&["diff", &fixed, &leaky]);
    assert_eq!(code, Some(1), "{out}");

    let baseline = path("leaks.toml");
    let (code, out) = command(&["baseline", "-o", &baseline, "--reason", "known", &leaky]);
    assert_eq!(code, Some(0), "{out}");
    let (code, out) = command(&["check", "--baseline", &baseline, &leaky]);
    assert_eq!(code, Some(0), "{out}");
}
