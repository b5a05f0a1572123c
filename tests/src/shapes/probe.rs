//! A leak shape walked at once, without waiting for a leak signal.

use crate::{Child, Collector, Jdk, Shape, java_fixtures, native_fixture, walk_probe};
use serde_json::Value;
use std::ffi::OsString;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);
/// Seconds in which the walk must find enough instances.
const SECONDS: &str = "30";

impl Shape {
    /// What `walk_probe` tells of the shape by the engine that it calls `walk` (`hash`, `tags`, `safepoint`); the
    /// error is its whole output.
    pub fn walk(&self, jdk: &Jdk, collector: Collector, walk: &str) -> Result<Value, String> {
        let leaf = self.leaf().ok_or("a shape without paths")?;
        let fixtures = java_fixtures().map_err(|e| format!("{e:#}"))?;
        let mut class_path = OsString::from(fixtures.classes());
        if self.jdk >= 21 {
            class_path.push(":");
            class_path.push(
                fixtures
                    .classes21()
                    .ok_or("no compiler for JDK 21 fixtures")?,
            );
        }
        // More strings than the JDK holds itself on one path, and more finalizable objects than run at once.
        let instances = match self.id.as_str() {
            "16" => "8000",
            "17" => "200",
            _ => "20",
        };
        let mut probe = Child::new(walk_probe().map_err(|e| format!("{e:#}"))?)
            .arg(jdk.home())
            .arg(class_path)
            .args([&self.class, leaf, "--instances", instances])
            .args(["--seconds", SECONDS, "--walk", walk, "--args"])
            .arg(format!("seconds=60,steps={}", self.steps))
            .arg("--")
            .args(collector.flags())
            .args(["-Xmx96m", "-XX:TieredStopAtLevel=1", "-Xcheck:jni"]);
        if self.id == "21" {
            let library = native_fixture(jdk).map_err(|e| format!("{e:#}"))?;
            probe = probe.arg(format!("-Dleak.library={}", library.display()));
        }
        let out = probe.run(LIMIT).map_err(|e| e.to_string())?;
        let alarms = ["WARNING in native", "FATAL ERROR", "panicked"];
        let alarmed = |text: &str| alarms.iter().any(|alarm| text.contains(alarm));
        if !out.ok() || alarmed(&out.stdout) || alarmed(&out.stderr) {
            return Err(out.to_string());
        }
        let found = out.stdout.lines().rfind(|line| line.starts_with('{'));
        serde_json::from_str(found.ok_or_else(|| out.to_string())?).map_err(|e| e.to_string())
    }

    /// Whether the strongest chain alone of [`Self::walk`] is the expected one, verified.
    pub fn check_walk(&self, mut report: Value) -> Result<(), String> {
        let told = report.as_object_mut().ok_or("no report")?;
        let chains = told.get_mut("chains").and_then(Value::as_array_mut);
        let chains = chains.ok_or("no chains")?;
        chains.truncate(1);
        let first = chains.first().ok_or("no chain")?;
        if first.get("verified") != Some(&Value::Bool(true)) {
            return Err(format!("not verified: {first}"));
        }
        let verdict = self.verdicts.first().cloned().unwrap_or_default();
        told.insert("verdict".to_owned(), verdict.into());
        self.check(&report)
    }
}
