//! Every output over recordings of our own programs (fixtures/recordings, with their recipe).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::PathBuf;
use std::process::Command;

/// The binary's answer: exit code, standard output, standard error.
fn run(args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_jfr-chains"))
        .args(args)
        .current_dir(fixtures())
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/recordings")
}

const ALL: [&str; 4] = [
    "orders-leak.jfr",
    "orders-healthy.jfr",
    "jdk-paths.jfr",
    "jdk-no-paths.jfr",
];

#[test]
fn the_text_report_of_every_recording() {
    for name in ALL {
        let (_, out, _) = run(&["report", name]);
        insta::assert_snapshot!(format!("text_{name}"), out);
    }
}

#[test]
fn the_markdown_report_of_every_recording() {
    for name in ALL {
        let (_, out, _) = run(&["report", "--format", "markdown", name]);
        insta::assert_snapshot!(format!("markdown_{name}"), out);
    }
}

#[test]
fn the_json_report_of_a_leak_without_its_series() {
    let (code, out, _) = run(&["report", "--format", "json", "orders-leak.jfr"]);
    assert_eq!(code, 0);
    let mut value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["schema"], "jfr-chains/report/1");
    // The series are hundreds of lines and drawn in the HTML.
    value["heap_floor"] = serde_json::json!([]);
    value["cost"]["series"] = serde_json::json!([]);
    for candidate in value["candidates"].as_array_mut().unwrap() {
        candidate["series"] = serde_json::json!([]);
    }
    let text = serde_json::to_string_pretty(&value).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn class_field_and_method_are_in_the_report() {
    for name in ["orders-leak.jfr", "jdk-paths.jfr"] {
        let (code, out, _) = run(&["report", name]);
        assert_eq!(code, 0);
        assert!(out.starts_with("LEAK: "), "{out}");
        assert!(out.contains("OrderCache.BY_CUSTOMER"), "{out}");
        let allocated = out.contains("OrderHandler.") || out.contains("OrderCache.remember");
        assert!(allocated, "{out}");
    }
}

#[test]
fn exit_codes_tell_clean_finding_unreadable_and_nothing_analysed_apart() {
    let code = |args: &[&str]| run(args).0;
    assert_eq!(code(&["report", "orders-healthy.jfr"]), 0);
    assert_eq!(code(&["report", "jdk-no-paths.jfr"]), 3);
    assert_eq!(code(&["report", "missing.jfr"]), 2);
    assert_eq!(code(&["report", "orders-leak.jfr", "missing.jfr"]), 2);
    assert_eq!(code(&["check", "orders-healthy.jfr"]), 0);
    assert_eq!(code(&["check", "orders-leak.jfr"]), 1);
    assert_eq!(code(&["check", "jdk-no-paths.jfr"]), 3);
    assert_eq!(code(&["diff", "orders-leak.jfr", "orders-leak.jfr"]), 0);
    assert_eq!(code(&["diff", "orders-healthy.jfr", "orders-leak.jfr"]), 1);
    assert_eq!(code(&["diff", "orders-leak.jfr", "orders-healthy.jfr"]), 0);
    assert_eq!(code(&["export", "jdk-no-paths.jfr", "-o", "/dev/null"]), 3);
    assert_eq!(code(&["replay", "jdk-paths.jfr"]), 3);
}

#[test]
fn a_baseline_lets_the_known_leak_pass_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("leaks.toml");
    let file = file.to_str().unwrap();
    let (code, _, _) = run(&[
        "baseline",
        "-o",
        file,
        "--reason",
        "ticket 17",
        "orders-leak.jfr",
    ]);
    assert_eq!(code, 0);
    let junit = dir.path().join("junit.xml");
    let sarif = dir.path().join("sarif.json");
    let (code, out, err) = run(&[
        "check",
        "--baseline",
        file,
        "--junit",
        junit.to_str().unwrap(),
        "--sarif",
        sarif.to_str().unwrap(),
        "orders-leak.jfr",
    ]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        std::fs::read_to_string(&junit)
            .unwrap()
            .contains("failures=\"0\"")
    );
    let sarif = std::fs::read_to_string(&sarif).unwrap();
    serde_json::from_str::<serde_json::Value>(&sarif).unwrap();
    // An acceptance that is over fails again.
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(
        file,
        text.replace("expires = \"\"", "expires = \"2020-01-01\""),
    )
    .unwrap();
    assert_eq!(run(&["check", "--baseline", file, "orders-leak.jfr"]).0, 1);
}

#[test]
fn the_jvms_samples_and_the_agent_name_the_same_holder() {
    let ids = |name: &str| -> Vec<(String, String)> {
        let (_, out, _) = run(&["report", "--format", "json", name]);
        let value: serde_json::Value = serde_json::from_str(&out).unwrap();
        let chains = value["chains"].as_array().unwrap().iter();
        chains
            .map(|c| {
                let root = &c["root"];
                (root["class"].to_string(), root["field"].to_string())
            })
            .collect()
    };
    let holder = (
        "\"orders.OrderCache\"".to_owned(),
        "\"BY_CUSTOMER\"".to_owned(),
    );
    assert!(ids("orders-leak.jfr").contains(&holder));
    assert!(ids("jdk-paths.jfr").contains(&holder));
}

#[test]
fn a_recorded_journal_replays_without_a_difference() {
    let (code, out, err) = run(&["replay", "orders-leak.jfr"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains(" 0 decided otherwise"), "{out}");
    let (code, out, _) = run(&["replay", "--set", "budget=1000", "orders-leak.jfr"]);
    assert_eq!(code, 0);
    assert!(!out.contains(" 0 decided otherwise"), "{out}");
    assert_eq!(
        run(&["replay", "--set", "budgett=1", "orders-leak.jfr"]).0,
        2
    );
}

#[test]
fn an_export_reads_back_with_the_same_chains() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("chains.jfr");
    let out = out.to_str().unwrap();
    assert_eq!(run(&["export", "orders-leak.jfr", "-o", out]).0, 0);
    let ids = |path: &str| -> Vec<String> {
        let (_, json, _) = run(&["report", "--format", "json", path]);
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let chains = value["chains"].as_array().unwrap().iter();
        let mut ids: Vec<String> = chains.map(|c| c["id"].to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("orders-leak.jfr"), ids(out));
}

#[test]
fn colours_are_kept_or_left_out_as_asked() {
    assert!(
        run(&["report", "--color", "always", "orders-leak.jfr"])
            .1
            .contains("\x1b[")
    );
    assert!(!run(&["report", "orders-leak.jfr"]).1.contains("\x1b["));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_jfr-chains"))
        .args(["report", "--format", "json", "orders-leak.jfr"])
        .current_dir(fixtures())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(
        output.stderr.is_empty(),
        "{:?}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_documentation_shows_the_report_as_it_is() {
    let page = fixtures().join("../../docs/reading-a-report.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, out, _) = run(&["report", "orders-leak.jfr"]);
    assert!(
        page.contains(out.trim_end()),
        "docs/reading-a-report.md is stale"
    );
}
