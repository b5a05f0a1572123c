//! `check`, `baseline` and `diff` as a build calls them: every rule of a policy through the real binary, over
//! recordings of our own programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/recordings")
}

/// Exit code and output.
fn run(args: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_jfr-chains"))
        .args(args)
        .current_dir(fixtures())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap(),
        String::from_utf8(text).unwrap(),
    )
}

/// `check` with this policy.
fn under(policy: &str, args: &[&str]) -> (i32, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policy.toml");
    std::fs::write(&file, policy).unwrap();
    let policy = ["check", "--policy", file.to_str().unwrap()];
    run(&[&policy, args].concat())
}

/// A baseline of these recordings, in that folder.
fn baseline(dir: &Path, args: &[&str]) -> String {
    let file = dir.join("leaks.toml").to_str().unwrap().to_owned();
    let (code, out) = run(&[&["baseline", "-o", &file], args].concat());
    assert_eq!(code, 0, "{out}");
    file
}

#[test]
fn limits_bind_accepted_chains_too() {
    let dir = tempfile::tempdir().unwrap();
    let known = baseline(dir.path(), &["orders-leak.jfr"]);
    let with = |policy: &str| under(policy, &["--baseline", &known, "orders-leak.jfr"]);
    assert_eq!(with("").0, 0);
    let (code, out) = with("max_instances = 100");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("too-many-instances"), "{out}");
    assert_eq!(with("max_instances = 1000000000").0, 0);
    let (code, out) = with("max_growth_per_hour = \"64m\"");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("too-much-growth"), "{out}");
    assert_eq!(with("max_growth_per_hour = \"900g\"").0, 0);
}

#[test]
fn heap_walk_call_time_has_a_limit_of_its_own() {
    // The main loop's list is held by a local variable: finding it takes a root enumeration.
    let ignored = "ignore_roots = [\"stack-local\"]\n";
    let with = |most: &str| {
        under(
            &format!("{ignored}max_heap_walk_call_time = \"{most}\""),
            &["main-loop.jfr"],
        )
    };
    let (code, out) = with("1ms");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("too-much-heap-walk-call-time"), "{out}");
    let (code, out) = with("1h");
    assert_eq!(code, 0, "{out}");
}

#[test]
fn kinds_of_roots_and_classes_can_be_ignored() {
    assert_eq!(run(&["check", "main-loop.jfr"]).0, 1);
    let (code, out) = under("ignore_roots = [\"stack-local\"]", &["main-loop.jfr"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("ignored by the policy"), "{out}");
    assert_eq!(
        under("ignore_roots = [\"thread\"]", &["main-loop.jfr"]).0,
        1
    );
    let (code, out) = under("ignore_classes = [\"orders.*\"]", &["orders-leak.jfr"]);
    assert_eq!(code, 0, "{out}");
}

#[test]
fn a_class_that_must_be_watched_fails_the_check_when_it_was_not() {
    let demand = |class: &str| {
        under(
            &format!("demand_classes = [\"{class}\"]"),
            &["orders-healthy.jfr"],
        )
    };
    assert_eq!(demand("orders.Order").0, 0);
    let (code, out) = demand("orders.Refund");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("class-not-watched"), "{out}");
}

#[test]
fn soft_and_finalizer_chains_fail_nothing_unless_the_policy_says_so() {
    let failures = |out: &str| out.matches("FAIL  reclaimable-chain").count();
    let (code, out) = run(&["check", "finalizer.jfr"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("note  reclaimable-chain"), "{out}");
    let (code, out) = under("reclaimable = \"fail\"", &["finalizer.jfr"]);
    assert_eq!((code, failures(&out) > 0), (1, true), "{out}");
    // The map's keys stay when the JVM clears its soft values: a leak of its own, which fails.
    let (code, out) = run(&["check", "soft-cache.jfr"]);
    assert_eq!((code, failures(&out)), (1, 0), "{out}");
    assert!(out.contains("note  reclaimable-chain"), "{out}");
    let keys = "ignore_classes = [\"java.lang.Integer\"]\n";
    let (code, out) = under(keys, &["soft-cache.jfr"]);
    assert_eq!(code, 0, "{out}");
    let (code, out) = under(
        &format!("{keys}reclaimable = \"fail\""),
        &["soft-cache.jfr"],
    );
    assert_eq!((code, failures(&out)), (1, 1), "{out}");
}

#[test]
fn an_acceptance_has_a_reason_an_owner_and_a_last_day() {
    let dir = tempfile::tempdir().unwrap();
    let known = baseline(
        dir.path(),
        &[
            "--reason",
            "ticket 17",
            "--owner",
            "team-orders",
            "--expires",
            "2020-01-31",
            "orders-leak.jfr",
        ],
    );
    let text = std::fs::read_to_string(&known).unwrap();
    for line in [
        "reason = \"ticket 17\"",
        "owner = \"team-orders\"",
        "expires = \"2020-01-31\"",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let (code, out) = run(&["check", "--baseline", &known, "orders-leak.jfr"]);
    assert_eq!(code, 1, "its last day is over: {out}");
    assert!(
        out.contains("expired-chain") && out.contains("team-orders"),
        "{out}"
    );
    // A leak that is gone leaves a note, not a failure.
    let (code, out) = run(&["check", "--baseline", &known, "orders-healthy.jfr"]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("stale-entry"), "{out}");
}

#[test]
fn a_baseline_of_one_jdk_accepts_the_leak_on_another_and_by_another_producer() {
    let dir = tempfile::tempdir().unwrap();
    let known = baseline(dir.path(), &["orders-leak.jfr"]);
    for name in ["orders-leak-25.jfr", "orders-part-2.jfr"] {
        let (code, out) = run(&["check", "--baseline", &known, name]);
        assert_eq!(code, 0, "{name}: {out}");
    }
    let (code, out) = run(&["check", "--baseline", &known, "two-leaks.jfr"]);
    assert_eq!(code, 1, "{out}");
}

#[test]
fn wrong_policies_and_baselines_are_usage_errors_that_name_the_key() {
    let (code, out) = under("max_instance = 5", &["orders-leak.jfr"]);
    assert_eq!(code, 2, "{out}");
    assert!(out.contains("max_instance"), "{out}");
    assert!(!out.contains("\\u{a}"), "lines are lines: {out}");
    let (code, out) = under("ignore_roots = [\"heap\"]", &["orders-leak.jfr"]);
    assert_eq!(code, 2, "{out}");
    let (code, _) = run(&["check", "--baseline", "no-such.toml", "orders-leak.jfr"]);
    assert_eq!(code, 2);
}
