//! The concurrent walk tells every leak shape's expected root and chain, on a JVM that checks every JNI call.
//!
//! The walk is asked directly, through `walk_probe`, so a shape takes a second; that the whole agent finds the shapes
//! by itself is another test's business.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{
    Child, Jdk, Shape, java_fixtures, native_fixture, shapes, skip, walk_probe,
};
use serde_json::Value;
use std::ffi::OsString;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);
/// Seconds in which the walk must find enough instances.
const SECONDS: &str = "30";

fn probe(jdk: &Jdk, shape: &Shape, leaf: &str) -> Result<Value, String> {
    let fixtures = java_fixtures().map_err(|e| format!("{e:#}"))?;
    let mut class_path = OsString::from(fixtures.classes());
    if shape.jdk >= 21 {
        class_path.push(":");
        class_path.push(
            fixtures
                .classes21()
                .ok_or("no compiler for JDK 21 fixtures")?,
        );
    }
    // More strings than the JDK holds itself on one path, and more finalizable objects than run at once.
    let instances = match shape.id.as_str() {
        "16" => "8000",
        "17" => "200",
        _ => "20",
    };
    let mut probe = Child::new(walk_probe().map_err(|e| format!("{e:#}"))?)
        .arg(jdk.home())
        .arg(class_path)
        .args([
            &shape.class,
            leaf,
            "--instances",
            instances,
            "--seconds",
            SECONDS,
        ])
        .arg("--args")
        .arg(format!("seconds=60,steps={}", shape.steps))
        .args(["--", "-Xmx96m", "-XX:TieredStopAtLevel=1", "-Xcheck:jni"]);
    if shape.id == "21" {
        let library = native_fixture(jdk).map_err(|e| format!("{e:#}"))?;
        probe = probe.arg(format!("-Dleak.library={}", library.display()));
    }
    let out = probe.run(LIMIT).map_err(|e| e.to_string())?;
    if !out.ok() || out.stdout.contains("WARNING in native") || out.stdout.contains("FATAL ERROR") {
        return Err(out.to_string());
    }
    let found = out.stdout.lines().rfind(|line| line.starts_with('{'));
    serde_json::from_str(found.ok_or_else(|| out.to_string())?).map_err(|e| e.to_string())
}

/// The strongest chain alone must be the expected one, verified and still there when it is read again.
fn check(jdk: &Jdk, shape: &Shape) -> Result<(), String> {
    let leaf = shape.leaf().ok_or("a shape without paths")?;
    let mut report = probe(jdk, shape, leaf)?;
    let chains = report["chains"].as_array_mut().ok_or("no chains")?;
    chains.truncate(1);
    let first = chains.first().ok_or("no chain")?;
    if first["verified"] != true {
        return Err(format!("not verified: {first}"));
    }
    report["verdict"] = shape.verdicts.first().cloned().unwrap_or_default().into();
    shape.check(&report)
}

fn all_shapes_on(feature: u32, test: &str) {
    let Some(jdk) = Jdk::feature(feature) else {
        return skip(test, &format!("JDK {feature}"));
    };
    let wrong: Vec<String> = shapes()
        .unwrap()
        .iter()
        .filter(|shape| !shape.control && shape.jdk <= feature)
        .filter_map(|shape| {
            let error = check(&jdk, shape).err()?;
            Some(format!("shape {} ({}): {error}", shape.id, shape.what))
        })
        .collect();
    assert!(wrong.is_empty(), "JDK {feature}: {}", wrong.join("\n"));
}

#[test]
fn every_shape_is_told_with_its_root_and_chain_on_17() {
    all_shapes_on(17, "every_shape_is_told_with_its_root_and_chain_on_17");
}

#[test]
fn every_shape_is_told_with_its_root_and_chain_on_25() {
    all_shapes_on(25, "every_shape_is_told_with_its_root_and_chain_on_25");
}
