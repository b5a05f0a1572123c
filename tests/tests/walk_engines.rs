//! The safepoint walk, and the concurrent walk with tags, tell leak shapes as the concurrent walk with hashes does: on
//! every JDK found, each with another collector, on a JVM that checks every JNI call.
//!
//! `JFR_CHAINS_LONG` has every shape walked by every collector.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Collector, Jdk, OrderRun, Shape, shapes, skip};
use serde_json::Value;

const JDKS: [u32; 4] = [11, 17, 21, 25];

fn is_long() -> bool {
    std::env::var_os("JFR_CHAINS_LONG").is_some()
}

/// The collectors to try: one that takes turns with the JDKs, or all.
fn collectors(jdk: &Jdk) -> Vec<Collector> {
    if is_long() {
        return Collector::ALL.to_vec();
    }
    vec![match jdk.release() {
        11 => Collector::Serial,
        17 => Collector::G1,
        21 => Collector::Parallel,
        _ => Collector::Z,
    }]
}

/// Shapes of these numbers, or all that leak.
fn chosen(ids: &[&str], jdk: &Jdk) -> Vec<Shape> {
    let all = shapes().unwrap().into_iter();
    all.filter(|shape| shape.leaf().is_some() && shape.jdk <= jdk.release())
        .filter(|shape| is_long() || ids.contains(&shape.id.as_str()))
        .collect()
}

fn tells(test: &str, walk: &str, ids: &[&str], also: impl Fn(&Value) -> Result<(), String>) {
    let mut wrong = Vec::new();
    for jdk in Jdk::among(test, &JDKS) {
        for collector in collectors(&jdk) {
            if !jdk.supports(collector) {
                continue;
            }
            for shape in chosen(ids, &jdk) {
                let told = shape.walk(&jdk, collector, walk).and_then(|report| {
                    also(&report)?;
                    shape.check_walk(report)
                });
                if let Err(error) = told {
                    wrong.push(format!(
                        "JDK {} {}, shape {} ({}): {error}",
                        jdk.version(),
                        collector.name(),
                        shape.id,
                        shape.what
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_safepoint_walk_tells_shapes_as_the_concurrent_one() {
    let test = "the_safepoint_walk_tells_shapes_as_the_concurrent_one";
    // A static, a thread-local, a long run, a local of a frame, a soft reference.
    let ids = ["01", "04", "13", "22", "18"];
    tells(test, "safepoint", &ids, |report| {
        let calls = report["cost"]["heap_walk_micros"].as_u64();
        let made = calls.is_some_and(|micros| micros > 0);
        made.then_some(())
            .ok_or_else(|| format!("no heap-walk call: {report}"))
    });
}

#[test]
fn tags_tell_shapes_as_hashes_do() {
    let ids = ["06", "22"];
    tells("tags_tell_shapes_as_hashes_do", "tags", &ids, |_| Ok(()));
}

/// The whole agent: the known leak is what a search finds, and its costs are stated.
#[test]
fn the_order_leak_is_found_by_the_safepoint_walk() {
    let test = "the_order_leak_is_found_by_the_safepoint_walk";
    let cells = [(17, Collector::G1), (25, Collector::Parallel)];
    std::thread::scope(|scope| {
        for (feature, collector) in cells {
            let Some(jdk) = Jdk::feature(feature) else {
                skip(test, &format!("JDK {feature}"));
                continue;
            };
            scope.spawn(move || finds_order_leak(jdk, collector));
        }
    });
}

fn finds_order_leak(jdk: Jdk, collector: Collector) {
    let told = format!("JDK {} {}", jdk.version(), collector.name());
    let mut run = OrderRun::leaking(jdk, 60);
    run.collector = collector;
    // A busy machine stretches every heap-walk call, and the usual cap would end the search before it comes far.
    run.options = ",walk=safepoint,stopcap=20s,painbudget=50".to_owned();
    let result = run.run().unwrap();
    assert!(result.ended.ok(), "{told}: {}", result.ended);
    let output = [&result.ended.stdout, &result.ended.stderr];
    assert!(
        output
            .iter()
            .all(|text| !text.contains("WARNING in native")),
        "{told}: {}",
        result.ended
    );
    let report = &result.report;
    let searches = report["searches"].as_array().unwrap();
    assert!(!searches.is_empty(), "{told}: {report:#}");
    let calls = report["cost"]["heap_walk_call_ns"].as_u64();
    assert!(calls > Some(0), "{told}: {report:#}");
    // A machine that is busy with other things may end the run within the search, before the leak is reached.
    let completed = searches.iter().any(|search| search["state"] == "completed");
    let chains = report["chains"].as_array().unwrap();
    let known = chains.iter().any(|chain| {
        let root = &chain["root"];
        root["class"] == "orders.OrderCache" && root["field"] == "BY_CUSTOMER"
    });
    assert!(known || !completed, "{told}: {report:#}");
}
