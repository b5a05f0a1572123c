//! The demo service on default options: the leak is found, the file is accepted by every tool, the healthy variant
//! stays unsuspected, and the JVM's exit code and output are its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "orders/jmc.rs"]
mod jmc;

use jfr_chains_tests::{Child, Finished, Jdk, OrderResult, OrderRun, cli_binary, skip};
use serde_json::Value;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

const RELEASES: [u32; 2] = [17, 25];
const TOOL_LIMIT: Duration = Duration::from_secs(120);
/// Serving time: the signal needs 14 folds of a second or more, the search a few seconds.
const SECONDS: u32 = 50;
/// Hops from the static field to the array of one customer's list.
const TO_THE_LIST: usize = 5;

/// The results of one variant on each JDK found, run once, side by side.
fn results(leak: bool) -> &'static [(Jdk, OrderResult)] {
    static LEAKING: OnceLock<Vec<(Jdk, OrderResult)>> = OnceLock::new();
    static HEALTHY: OnceLock<Vec<(Jdk, OrderResult)>> = OnceLock::new();
    let cell = if leak { &LEAKING } else { &HEALTHY };
    cell.get_or_init(|| {
        let jdks: Vec<Jdk> = RELEASES.into_iter().filter_map(Jdk::feature).collect();
        for missing in RELEASES
            .into_iter()
            .filter(|&r| jdks.iter().all(|jdk| jdk.release() != r))
        {
            skip("e2e_orders", &format!("JDK {missing}"));
        }
        std::thread::scope(|scope| {
            let running: Vec<_> = jdks
                .into_iter()
                .map(|jdk| {
                    scope.spawn(move || {
                        let result = if leak {
                            OrderRun::leaking(jdk.clone(), SECONDS).run().unwrap()
                        } else {
                            healthy(&jdk)
                        };
                        (jdk, result)
                    })
                })
                .collect();
            running
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        })
    })
}

/// The healthy service, run again and longer where a busy machine's collections were too few for a verdict.
fn healthy(jdk: &Jdk) -> OrderResult {
    let result = OrderRun::healthy(jdk.clone(), SECONDS).run().unwrap();
    let few = |candidate: &Value| {
        let values = |key: &str| candidate["values"][key].as_u64();
        values("have") < values("need")
    };
    if result.report["verdict"] == "unknown" && list(&result.report, "candidates").iter().any(few) {
        return OrderRun::healthy(jdk.clone(), 3 * SECONDS).run().unwrap();
    }
    result
}

fn list<'a>(report: &'a Value, key: &str) -> &'a Vec<Value> {
    report[key]
        .as_array()
        .unwrap_or_else(|| panic!("no list {key} in {report:#}"))
}

/// The hops of a chain as `edge class`.
fn hops(chain: &Value) -> Vec<String> {
    let edge = |hop: &Value| match hop["edge"]["kind"].as_str() {
        Some("array") => "[]".to_owned(),
        _ => hop["edge"]["name"].as_str().unwrap_or_default().to_owned(),
    };
    list(chain, "hops")
        .iter()
        .map(|hop| format!("{} {}", edge(hop), hop["class"].as_str().unwrap()))
        .collect()
}

#[test]
fn the_chain_of_the_order_leak_is_the_known_one() {
    for (jdk, result) in results(true) {
        let report = &result.report;
        assert_eq!(report["schema"], "jfr-chains/report/1");
        assert_eq!(
            report["verdict"],
            "leak",
            "JDK {}: {report:#}",
            jdk.version()
        );
        let chain = &list(report, "chains")[0];
        let root = &chain["root"];
        assert_eq!(
            root["kind"],
            "static-field",
            "JDK {}: {chain:#}",
            jdk.version()
        );
        assert_eq!(root["class"], "orders.OrderCache");
        assert_eq!(root["field"], "BY_CUSTOMER");
        let hops: Vec<String> = hops(chain)
            .into_iter()
            .filter(|hop| hop != "next java.util.HashMap$Node")
            .collect();
        let known = [
            "BY_CUSTOMER java.util.HashMap",
            "table java.util.HashMap$Node[]",
            "[] java.util.HashMap$Node",
            "value java.util.ArrayList",
            "elementData java.lang.Object[]",
            "[] orders.Order",
        ];
        // Which class of the leak was sampled first is chance, the way to the list's array is not.
        let told = hops.len().min(known.len());
        assert!(told >= TO_THE_LIST, "JDK {}: {hops:?}", jdk.version());
        assert_eq!(hops[..told], known[..told], "JDK {}", jdk.version());
        assert_eq!(chain["strength"], "durable");
        assert_eq!(chain["producer"], "jfr-chains");
    }
}

#[test]
fn the_report_names_class_growth_thread_stack_and_search_cost() {
    for (jdk, result) in results(true) {
        let report = &result.report;
        let candidates = list(report, "candidates");
        let ours = candidates.iter().find(|c| {
            c["class"]
                .as_str()
                .is_some_and(|class| class.starts_with("orders.Order"))
        });
        assert!(ours.is_some(), "JDK {}: {candidates:#?}", jdk.version());
        let chain = &list(report, "chains")[0];
        let thread = chain["allocating_thread"].as_str().unwrap_or_default();
        assert!(
            thread.starts_with("order-handler-"),
            "JDK {}: {chain:#}",
            jdk.version()
        );
        let stack: Vec<&str> = list(chain, "stack")
            .iter()
            .filter_map(|frame| frame["class"].as_str())
            .collect();
        assert!(
            stack.contains(&"orders.OrderHandler"),
            "JDK {}: {stack:?}",
            jdk.version()
        );
        assert!(
            !list(report, "searches").is_empty(),
            "JDK {}",
            jdk.version()
        );
        assert!(
            report["cost"]
                .as_object()
                .is_some_and(|cost| !cost.is_empty()),
            "JDK {}",
            jdk.version()
        );
    }
}

/// `jfr-chains replay --format json` of a recording: exit code, differing decisions, all decisions.
fn replayed(recording: &Path, set: &[&str]) -> (Option<i32>, usize, u64) {
    let out = Child::new(cli_binary().unwrap())
        .args(["replay", "--format", "json"])
        .args(set)
        .arg(recording)
        .run(TOOL_LIMIT)
        .unwrap();
    let outcome: Value = serde_json::from_str(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out}"));
    assert_eq!(outcome["missing_events"], 0, "{out}");
    let differences = list(&outcome, "differences").len();
    (
        out.code(),
        differences,
        outcome["decisions"].as_u64().unwrap(),
    )
}

#[test]
fn a_replay_decides_as_the_agent_did_and_other_options_decide_otherwise() {
    for (jdk, result) in results(true) {
        let (code, differences, decisions) = replayed(&result.recording, &[]);
        assert_eq!((code, differences), (Some(0), 0), "JDK {}", jdk.version());
        assert!(decisions > u64::from(SECONDS) / 2, "{decisions}");
        let (code, differences, _) = replayed(&result.recording, &["--set", "chains=off"]);
        assert_eq!(code, Some(0));
        assert!(differences > 0, "JDK {}: no search was made", jdk.version());
    }
}

/// Every combination of tool and file; the tools of one JDK must read the files of the other.
fn each_tool_and_file(what: &str, mut check: impl FnMut(&Path, &Jdk, &OrderResult)) {
    for (jdk, _) in results(true) {
        let Some(tool) = jdk.tool("jfr") else {
            skip(what, &format!("jfr of JDK {}", jdk.version()));
            continue;
        };
        for (_, result) in results(true) {
            check(&tool, jdk, result);
        }
    }
}

fn jfr(tool: &Path, arguments: &[&str], file: &Path) -> Finished {
    let out = Child::new(tool)
        .args(arguments)
        .arg(file)
        .run(TOOL_LIMIT)
        .unwrap();
    assert!(out.ok(), "{out}");
    assert!(out.stderr.is_empty(), "{out}");
    out
}

#[test]
fn jfr_summary_lists_our_events() {
    each_tool_and_file("jfr_summary", |tool, _, result| {
        let out = jfr(tool, &["summary"], &result.recording);
        let counted = |name: &str| {
            let line = out
                .stdout
                .lines()
                .find(|line| line.trim_start().starts_with(name));
            let count = line
                .and_then(|line| line.split_whitespace().nth(1))
                .and_then(|count| count.parse().ok());
            count.unwrap_or(0_u64)
        };
        assert!(counted("jfrchains.ReferenceChain") > 0, "{out}");
        assert!(counted("jdk.OldObjectSample") > 0, "{out}");
    });
}

#[test]
fn jfr_print_tells_the_chain_as_text() {
    each_tool_and_file("jfr_print", |tool, _, result| {
        let all = jfr(tool, &["print"], &result.recording);
        assert!(
            all.stdout.contains("BY_CUSTOMER"),
            "{}",
            all.stdout.chars().take(4000).collect::<String>()
        );
        let old = jfr(
            tool,
            &["print", "--events", "OldObjectSample"],
            &result.recording,
        );
        assert!(
            old.stdout.contains("orders.Order") && old.stdout.contains("HashMap$Node"),
            "{old}"
        );
    });
}

#[test]
fn jfr_print_json_is_json_with_every_event() {
    each_tool_and_file("jfr_print_json", |tool, _, result| {
        let out = jfr(tool, &["print", "--json"], &result.recording);
        let json: Value = serde_json::from_str(&out.stdout).unwrap();
        let events = list(&json["recording"], "events");
        let samples: Vec<&Value> = events
            .iter()
            .filter(|event| event["type"] == "jdk.OldObjectSample")
            .map(|event| &event["values"])
            .collect();
        assert!(!samples.is_empty());
        for sample in samples {
            // A leak is old before it is searched for, and its heap is in use.
            assert_ne!(sample["objectAge"], "PT0S", "{sample:#}");
            assert!(
                sample["lastKnownHeapUsage"].as_u64() > Some(0),
                "{sample:#}"
            );
            assert!(sample["objectSize"].as_u64() > Some(0), "{sample:#}");
        }
    });
}

#[test]
fn jfr_metadata_labels_our_events() {
    each_tool_and_file("jfr_metadata", |tool, _, result| {
        let out = jfr(tool, &["metadata"], &result.recording);
        assert!(out.stdout.contains("jfrchains.ReferenceChain"), "{out}");
        assert!(
            out.stdout
                .contains("@Category({\"Java Virtual Machine\", \"Reference Chains\"})"),
            "{out}"
        );
    });
}

#[test]
fn jfr_view_lists_the_leaking_class() {
    each_tool_and_file("jfr_view", |tool, jdk, result| {
        if jdk.release() >= 21 {
            let out = jfr(
                tool,
                &["view", "--width", "200", "memory-leaks-by-class"],
                &result.recording,
            );
            assert!(out.stdout.contains("orders.Order"), "{out}");
            let site = jfr(
                tool,
                &["view", "--width", "200", "memory-leaks-by-site"],
                &result.recording,
            );
            assert!(site.stdout.contains("orders.OrderHandler"), "{site}");
        }
    });
}

#[test]
fn the_jvm_keeps_its_exit_code_and_output_and_checks_find_nothing() {
    for (jdk, result) in results(true).iter().chain(results(false)) {
        let ended = &result.ended;
        assert_eq!(ended.code(), Some(0), "JDK {}: {ended}", jdk.version());
        let lines: Vec<&str> = ended.stdout.lines().collect();
        assert_eq!(lines.len(), 2, "JDK {}: {ended}", jdk.version());
        assert!(
            lines[0].starts_with("serving for ") && lines[1].starts_with("served "),
            "{ended}"
        );
        assert!(
            !ended.stderr.contains("WARNING"),
            "JDK {}: {ended}",
            jdk.version()
        );
        let foreign: Vec<&str> = ended
            .stderr
            .lines()
            .filter(|line| !line.starts_with("jfr-chains: "))
            .collect();
        assert!(foreign.is_empty(), "JDK {}: {foreign:?}", jdk.version());
    }
}

#[test]
fn a_healthy_service_is_not_suspected_nor_searched() {
    for (jdk, result) in results(false) {
        let report = &result.report;
        let verdict = report["verdict"].as_str().unwrap_or_default();
        assert!(
            ["no-leak", "plateau"].contains(&verdict),
            "JDK {}: {report:#}",
            jdk.version()
        );
        assert!(
            list(report, "chains").is_empty(),
            "JDK {}: {report:#}",
            jdk.version()
        );
        assert!(
            list(report, "searches").is_empty(),
            "its caches are full after 5 s; JDK {}: {report:#}",
            jdk.version()
        );
    }
}

#[test]
fn a_failing_program_fails_as_it_would_without_the_agent() {
    for jdk in RELEASES.into_iter().filter_map(Jdk::feature) {
        let plain = Child::java(&jdk)
            .arg("-cp")
            .arg(jfr_chains_tests::java_fixtures().unwrap().classes())
            .args(["orders.OrderService", "seconds=soon"]);
        let with_agent = Child::java(&jdk)
            .arg(jfr_chains_tests::agent_argument("").unwrap())
            .arg("-cp")
            .arg(jfr_chains_tests::java_fixtures().unwrap().classes())
            .args(["orders.OrderService", "seconds=soon"]);
        let (plain, with_agent) = (
            plain.run(TOOL_LIMIT).unwrap(),
            with_agent.run(TOOL_LIMIT).unwrap(),
        );
        assert_eq!(plain.code(), Some(1));
        assert_eq!(with_agent.code(), plain.code(), "{with_agent}");
        assert_eq!(with_agent.stdout, plain.stdout);
        assert!(
            with_agent.stderr.contains("NumberFormatException"),
            "{with_agent}"
        );
    }
}
