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

const ALL: [&str; 6] = [
    "orders-leak.jfr",
    "orders-healthy.jfr",
    "jdk-paths.jfr",
    "jdk-no-paths.jfr",
    "two-leaks.jfr",
    "walk-queue.jfr",
];

/// Two recordings of one JVM, one after the other.
const PARTS: [&str; 2] = ["orders-part-1.jfr", "orders-part-2.jfr"];
/// One leak in JVMs of two releases with two collectors.
const SAME_LEAK: [&str; 2] = ["orders-leak.jfr", "orders-leak-25.jfr"];

fn json(args: &[&str]) -> serde_json::Value {
    let (code, out, err) = run(&[&["report", "--format", "json"], args].concat());
    assert!(matches!(code, 0 | 3), "{err}");
    serde_json::from_str(&out).unwrap()
}

/// Ids of the chains that are no noise, in the report's order.
fn ids(report: &serde_json::Value) -> Vec<&str> {
    let chains = report["chains"].as_array().unwrap().iter();
    chains
        .filter(|c| c["noise"].is_null())
        .map(|c| c["id"].as_str().unwrap())
        .collect()
}

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
fn the_html_report_of_every_recording() {
    for name in ALL {
        let (_, out, _) = run(&["report", "--format", "html", name]);
        // The style sheet is a file of its own, and the curves are long.
        let (head, rest) = out.split_once("<style>").unwrap();
        let (_, body) = rest.split_once("</style>").unwrap();
        let mut page = head.to_owned();
        for line in body.lines() {
            match line.find(" points=\"") {
                Some(at) => page.push_str(&line[..at]),
                None => page.push_str(line),
            }
            page.push('\n');
        }
        let page = page.replace(env!("CARGO_PKG_VERSION"), "VERSION");
        insta::assert_snapshot!(format!("html_{name}"), page);
    }
}

#[test]
fn what_a_ci_system_reads_of_a_leak() {
    let dir = tempfile::tempdir().unwrap();
    let [junit, sarif] = ["junit.xml", "leaks.sarif"].map(|name| dir.path().join(name));
    let (code, out, _) = run(&[
        "check",
        "--github",
        "--junit",
        junit.to_str().unwrap(),
        "--sarif",
        sarif.to_str().unwrap(),
        "--source-root",
        "../java",
        "two-leaks.jfr",
    ]);
    assert_eq!(code, 1);
    insta::assert_snapshot!("check_text_and_github", out);
    let junit = std::fs::read_to_string(junit).unwrap();
    insta::assert_snapshot!("check_junit", junit);
    let sarif = std::fs::read_to_string(sarif).unwrap();
    let sarif = sarif.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!("check_sarif", sarif);
}

#[test]
fn a_diff_of_a_fixed_leak_in_every_format() {
    for format in ["text", "markdown", "json"] {
        let (code, out, _) = run(&[
            "diff",
            "--format",
            format,
            "two-leaks.jfr",
            "orders-healthy.jfr",
        ]);
        assert_eq!(code, 0, "a fixed leak gives a clean diff");
        insta::assert_snapshot!(format!("diff_{format}"), out);
    }
}

#[test]
fn two_leaks_of_one_program_are_two_findings_ranked_by_bytes() {
    let report = json(&["two-leaks.jfr"]);
    let chains = report["chains"].as_array().unwrap();
    let found: Vec<(&str, &str)> = chains
        .iter()
        .filter(|c| c["noise"].is_null())
        .map(|c| {
            (
                c["leaf"].as_str().unwrap(),
                c["root"]["field"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("leaks.TwoLeaks$Invoice", "BY_NUMBER"),
            ("leaks.TwoLeaks$LoginListener", "LISTENERS"),
        ]
    );
    let bytes = |at: usize| chains[at]["retained_sampled_bytes"].as_u64().unwrap();
    assert!(bytes(0) > bytes(1));
    // Each has its own thread and method, though byte[] grows in both.
    assert_eq!(chains[0]["allocating_thread"], "invoice-writer");
    assert_eq!(chains[1]["allocating_thread"], "logins");
}

#[test]
fn two_recordings_of_one_jvm_are_one_jvm_with_its_newest_figures() {
    let [first, second] = PARTS.map(|name| json(&[name]));
    let both = json(&PARTS);
    assert_eq!(both["jvms"].as_array().unwrap().len(), 1);
    let leak = |report: &serde_json::Value| report["chains"][0].clone();
    assert_eq!(leak(&both)["id"], "d27875f1");
    assert_eq!(ids(&both), ids(&second));
    assert_eq!(leak(&both)["seen_in"], serde_json::json!([0, 1]));
    // The newest figures, not their sum.
    let at = |report: &serde_json::Value, key: &str| leak(report)[key].as_u64().unwrap();
    assert_eq!(at(&both, "instances"), at(&second, "instances"));
    let (one, two) = (
        at(&first, "retained_sampled_bytes"),
        at(&second, "retained_sampled_bytes"),
    );
    assert!(at(&both, "retained_sampled_bytes") < one + two);
    assert_eq!(
        at(&both, "sightings"),
        at(&first, "sightings") + at(&second, "sightings")
    );
    // Passes of both parts add up; refusals are counted by the process, so the later number holds.
    let cost = |report: &serde_json::Value, key: &str| report["cost"][key].as_u64().unwrap();
    assert_eq!(
        cost(&both, "passes"),
        cost(&first, "passes") + cost(&second, "passes")
    );
    assert_eq!(
        cost(&both, "worst_pass_ns"),
        cost(&first, "worst_pass_ns").max(cost(&second, "worst_pass_ns"))
    );
    let refused = |report: &serde_json::Value| report["cost"]["refusals"]["no-candidate"].as_u64();
    assert_eq!(refused(&both), refused(&first).max(refused(&second)));
    // The order of files says nothing.
    let turned = json(&[PARTS[1], PARTS[0]]);
    assert_eq!(at(&turned, "instances"), at(&second, "instances"));
}

#[test]
fn one_leak_in_two_jvms_is_one_finding_with_the_sum_of_both() {
    let [one, two] = SAME_LEAK.map(|name| json(&[name]));
    let both = json(&SAME_LEAK);
    assert_eq!(both["jvms"].as_array().unwrap().len(), 2);
    assert_eq!(
        ids(&both),
        ["d27875f1"],
        "one signature on two JDKs and two collectors"
    );
    let at = |report: &serde_json::Value, key: &str| report["chains"][0][key].as_f64().unwrap();
    for key in [
        "instances",
        "retained_sampled_bytes",
        "growth_bytes_per_hour",
    ] {
        let sum = at(&one, key) + at(&two, key);
        assert!((at(&both, key) - sum).abs() <= sum * 1e-6 + 2.0, "{key}");
    }
    let cost = |report: &serde_json::Value, key: &str| report["cost"][key].as_u64().unwrap();
    for key in ["passes", "manual_walk_ns", "heap_walk_call_ns"] {
        assert_eq!(cost(&both, key), cost(&one, key) + cost(&two, key), "{key}");
    }
    let refused =
        |report: &serde_json::Value| report["cost"]["refusals"]["no-candidate"].as_u64().unwrap();
    assert_eq!(refused(&both), refused(&one) + refused(&two));
}

#[test]
fn leaks_of_different_jvms_stay_apart_and_every_format_says_where_each_is() {
    let files = ["orders-leak.jfr", "two-leaks.jfr"];
    let alone: Vec<String> = files
        .iter()
        .flat_map(|name| {
            let report = json(&[name]);
            ids(&report)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    let both = json(&files);
    let mut merged: Vec<String> = ids(&both).into_iter().map(str::to_owned).collect();
    let bytes = |at: usize| both["chains"][at]["retained_sampled_bytes"].as_u64();
    assert!(
        bytes(0) >= bytes(1) && bytes(1) >= bytes(2),
        "ranked by bytes"
    );
    merged.sort();
    let mut alone = alone;
    alone.sort();
    assert_eq!(merged, alone);
    for format in ["text", "markdown", "html"] {
        let (_, out, _) = run(&["report", "--format", format, files[0], files[1]]);
        assert!(
            out.contains("in 1 of 2 recordings, 1 of 2 JVMs"),
            "{format}: {out}"
        );
    }
    let (_, out, _) = run(&["report", SAME_LEAK[0], SAME_LEAK[1]]);
    assert!(out.contains("in 2 of 2 recordings, 2 of 2 JVMs"), "{out}");
    assert_eq!(both["chains"][0]["seen_in"].as_array().unwrap().len(), 1);
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
    let holders = |name: &str| -> Vec<(String, String)> {
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
    assert!(holders("orders-leak.jfr").contains(&holder));
    assert!(holders("jdk-paths.jfr").contains(&holder));
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

/// A recording of more than 64 MB: its chunk ends with one huge event of a type that nobody declared.
fn large(dir: &std::path::Path) -> PathBuf {
    const FILLER: u32 = 65 << 20;
    let mut bytes = std::fs::read(fixtures().join("orders-leak.jfr")).unwrap();
    let size = u64::try_from(bytes.len()).unwrap() + u64::from(FILLER);
    bytes[8..16].copy_from_slice(&size.to_be_bytes());
    let start = bytes.len();
    // Its size in four bytes of seven bits, then its type.
    let seven = |shift: u32| u8::try_from(FILLER >> shift & 0x7f).unwrap();
    bytes.extend([0, 7, 14].map(|shift| seven(shift) | 0x80));
    bytes.extend([seven(21), 0xf0, 0xf0, 0x7f]);
    bytes.resize(start + usize::try_from(FILLER).unwrap(), 0);
    let path = dir.join("large.jfr");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn progress_of_a_long_read_is_shown_on_a_terminal_only() {
    let dir = tempfile::tempdir().unwrap();
    let large = large(dir.path());
    let out = dir.path().join("report.txt");
    let [file, out] = [&large, &out].map(|path| path.to_str().unwrap());
    let (code, stdout, stderr) = run(&["report", "-o", out, file]);
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (0, "", ""));
    // `script` gives the command a terminal.
    let command = format!(
        "{} report -o {out} {file}",
        env!("CARGO_BIN_EXE_jfr-chains")
    );
    let terminal = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::null())
        .output();
    let Ok(terminal) = terminal else {
        eprintln!("skipped: script (util-linux) is not installed");
        return;
    };
    let shown = String::from_utf8_lossy(&terminal.stdout);
    assert!(terminal.status.success(), "{shown}");
    assert!(
        shown.contains("reading") && shown.contains("large.jfr"),
        "{shown}"
    );
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

fn page(name: &str) -> String {
    std::fs::read_to_string(fixtures().join("../..").join(name)).unwrap()
}

#[test]
fn the_documentation_shows_the_report_as_it_is() {
    let (_, out, _) = run(&["report", "orders-leak.jfr"]);
    assert!(
        page("docs/reading-a-report.md").contains(out.trim_end()),
        "docs/reading-a-report.md is stale"
    );
    let top = out.split("\nWatched, without a signal").next().unwrap();
    assert!(
        page("README.md").contains(top.trim_end()),
        "README.md is stale"
    );
}

/// The walk-through: a recording, and what a person has to find in its text: class, holder, method.
const WALK: [(&str, &str, &str, &str); 5] = [
    (
        "orders-leak.jfr",
        "orders.Order",
        "orders.OrderCache.BY_CUSTOMER",
        "OrderHandler.priced",
    ),
    (
        "walk-listener.jfr",
        "shapes.S02AnonymousListener$Outer",
        "S02AnonymousListener$Bus .listeners",
        "S02AnonymousListener.lambda$main$0",
    ),
    (
        "walk-thread-local.jfr",
        "shapes.S04ThreadLocal$Value",
        "thread-local of thread \"request-worker\"",
        "S04ThreadLocal.lambda$main$0",
    ),
    (
        "walk-queue.jfr",
        "shapes.S13ExecutorQueue$Task",
        "ThreadPoolExecutor .workQueue",
        "S13ExecutorQueue.lambda$main$2",
    ),
    (
        "walk-cancelled.jfr",
        "ScheduledThreadPoolExecutor$ScheduledFutureTask",
        "ScheduledThreadPoolExecutor .workQueue",
        "S12CancelledTasks.lambda$main$2",
    ),
];

#[test]
fn class_field_and_method_of_five_leaks_are_in_the_text_and_the_walk_through_shows_it() {
    let walk = page("docs/walk-through.md");
    for (name, class, holder, method) in WALK {
        let (code, out, _) = run(&["report", name]);
        assert_eq!(code, 0);
        assert!(out.starts_with("LEAK: "), "{out}");
        let start = out.find("\n1. ").unwrap() + 1;
        let finding = out[start..].split("\n\n").next().unwrap();
        for part in [class, holder, method] {
            assert!(
                finding.contains(part),
                "{name}: {part} is not in\n{finding}"
            );
        }
        let shown = format!("```text\n{}\n```", finding.trim_end());
        assert!(
            walk.contains(&shown),
            "docs/walk-through.md is stale, {name}:\n{shown}"
        );
    }
}

#[test]
fn a_reason_does_not_deny_the_chains_that_are_told() {
    let root = std::env::var_os("JFR_CHAINS_SHARED").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let name = "corpus/jfr/openjdk+jmc__flight_recording_17eaMonitoredVM10440_3.jfr";
    let path = root.join(name);
    if !path.is_file() {
        eprintln!("skipped: {name} is not at {}", root.display());
        return;
    }
    // Three old objects with a path, all of them the JDK's own; one without; no ten collections.
    let (_, out, _) = run(&["report", path.to_str().unwrap()]);
    let reason: String = out.lines().skip(1).take(2).collect::<Vec<_>>().join(" ");
    assert!(
        reason.contains("chains of warm-up and of the JDK's own objects only"),
        "{out}"
    );
}

#[test]
fn a_class_with_a_finding_of_its_own_is_not_counted_with_another() {
    // A map of soft values: its keys are strongly held, and are the first finding.
    let (_, out, _) = run(&["report", "soft-cache.jfr"]);
    let (keys, values) = out.split_once("\n2. ").unwrap();
    assert!(keys.contains("1. java.lang.Integer"), "{out}");
    let (values, _) = values.split_once("\nWatched").unwrap();
    assert!(values.starts_with("shapes.S18SoftCache$Value"), "{out}");
    assert!(!values.contains("with it counted"), "{out}");
}
