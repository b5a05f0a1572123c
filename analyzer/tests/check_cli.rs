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

/// A recording cut off in the middle, in that folder.
fn cut(dir: &Path, name: &str, at: usize) -> String {
    let file = dir.join(name).to_str().unwrap().to_owned();
    let whole = std::fs::read(fixtures().join(name)).unwrap();
    assert!(at < whole.len());
    std::fs::write(&file, &whole[..at]).unwrap();
    file
}

#[test]
fn a_leak_that_may_lie_in_the_lost_part_does_not_pass() {
    let dir = tempfile::tempdir().unwrap();
    // The leak's chain comes later than that.
    let early = cut(dir.path(), "orders-leak.jfr", 40_000);
    let [junit, sarif] =
        ["leaks.xml", "leaks.sarif"].map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    let lost = "chunk 0, offset 40000: the chunk is cut off: 40000 of 94640 bytes are there";
    let files = ["--github", "--junit", &junit, "--sarif", &sarif, &early];
    let (code, out) = run(&[&["check"], &files[..]].concat());
    assert_eq!(code, 2, "{out}");
    assert!(
        out.starts_with("INCOMPLETE: no finding, but 1 recording"),
        "{out}"
    );
    assert!(!out.contains("PASSED"), "{out}");
    assert!(
        out.contains("::error title=jfr-chains: not read whole::"),
        "{out}"
    );
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("errors=\"1\"") && xml.contains(lost), "{xml}");
    assert!(
        xml.contains("28 events of 1 chunk"),
        "what was still read: {xml}"
    );
    let json = sarif_of(&sarif);
    let run_of = &json["runs"][0]["invocations"][0];
    assert_eq!(run_of["executionSuccessful"], false);
    let told = &run_of["toolExecutionNotifications"][0];
    assert_eq!(told["level"], "error");
    assert!(
        told["message"]["text"].as_str().unwrap().contains(lost),
        "{told}"
    );

    // A project that lives with it says so, and still sees it everywhere.
    let (code, out) = under("damaged = \"note\"", &files);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.starts_with("PASSED") && out.contains("the chunk is cut off"),
        "{out}"
    );
    assert!(
        out.contains("::warning title=jfr-chains: not read whole::"),
        "{out}"
    );
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("errors=\"0\"") && xml.contains(lost), "{xml}");
    let json = sarif_of(&sarif);
    let run_of = &json["runs"][0]["invocations"][0];
    assert_eq!(run_of["executionSuccessful"], true);
    assert_eq!(run_of["toolExecutionNotifications"][0]["level"], "warning");
}

fn sarif_of(path: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_finding_in_what_is_left_is_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let late = cut(dir.path(), "orders-leak.jfr", 80_000);
    let (code, out) = run(&["check", &late]);
    assert_eq!(code, 1, "{out}");
    assert!(out.starts_with("FAILED: 1 finding\nLOST  "), "{out}");
}

#[test]
fn a_diff_with_half_of_the_new_recording_is_not_clean() {
    let dir = tempfile::tempdir().unwrap();
    let early = cut(dir.path(), "orders-leak.jfr", 40_000);
    let (code, out) = run(&["diff", "orders-healthy.jfr", &early]);
    assert_eq!(code, 2, "{out}");
    assert!(
        out.contains("The new recording was not read whole"),
        "{out}"
    );
    let (_, out) = run(&["diff", "--format", "json", "orders-healthy.jfr", &early]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["new_inputs"][0]["skipped"][0]["offset"], 40_000);
    assert_eq!(json["old_inputs"][0]["skipped"], serde_json::json!([]));
    // What the old one has lost can make chains new, never hide one.
    let healthy = cut(dir.path(), "orders-healthy.jfr", 60_000);
    let (code, out) = run(&["diff", &healthy, "orders-healthy.jfr"]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("The old recording was not read whole"),
        "{out}"
    );
    assert_eq!(run(&["diff", &healthy, "orders-leak.jfr"]).0, 1);
}

#[test]
fn a_gc_verdict_on_half_of_a_recording_does_not_pass() {
    let dir = tempfile::tempdir().unwrap();
    let part = cut(dir.path(), "orders-part-1.jfr", 390_000);
    let (code, out) = run(&["gc", &part]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("recording-damaged"), "{out}");
    assert_eq!(run(&["gc", "--fail-on", "critical", &part]).0, 2);
    assert_eq!(
        run(&["gc", "--fail-on", "critical", "orders-part-1.jfr"]).0,
        0
    );
}

#[test]
fn a_report_says_at_its_head_that_a_part_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let half = cut(dir.path(), "orders-healthy.jfr", 80_000);
    for (format, mark) in [
        ("text", "Hint: "),
        ("markdown", "**Hint:** "),
        ("html", "class=\"hint\">"),
    ] {
        let (code, out) = run(&["report", "--format", format, &half]);
        assert_eq!(code, 0, "{out}");
        assert!(
            out.contains(&format!("{mark}Not everything could be read")),
            "{out}"
        );
    }
    let (_, out) = run(&["report", "orders-healthy.jfr"]);
    assert!(!out.contains("Not everything"), "{out}");
}

#[test]
fn a_check_of_a_jvm_whose_agent_refused_to_start_does_not_pass() {
    use jfr_format::schema::Name;
    use jfr_format::schema::events::AgentStatus;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("refused.jfr");
    let clock = jfr_writer::Clock {
        ticks: 0,
        ticks_per_second: 1_000_000_000,
        epoch_nanos: 1_767_225_600_000_000_000,
    };
    let mut recording =
        jfr_writer::Recording::open(&path, clock, 0, jfr_writer::Options::default()).unwrap();
    recording.emit(
        1,
        &AgentStatus {
            code: Name::of("options-refused"),
            severity: Name::of("error"),
            state: Some(Name::of("idle")),
            message: "option depth=\"900\" is wrong".to_owned(),
            ..AgentStatus::default()
        },
    );
    recording.close(1_000_000);
    let (code, out) = run(&["check", path.to_str().unwrap()]);
    assert_eq!(code, 3, "{out}");
    assert!(
        out.starts_with("NOTHING ANALYSED: The agent did not work"),
        "{out}"
    );
    assert!(out.contains("option depth=\"900\" is"), "{out}");
}
