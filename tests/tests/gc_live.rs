//! Premature promotion on real JVMs: the finding appears with default sizing, in the log and in the
//! recording of the same run, and disappears with the flags that the command itself advises.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jfr_chains_tests::{Child, Jdk, cli_binary, java_fixtures, scratch, skip};
use serde_json::Value;

/// No run takes longer, whatever the machine does meanwhile.
const LIMIT: Duration = Duration::from_secs(120);
/// The young generation, in bytes: small, so that a run takes about a second.
const YOUNG: u64 = 64 << 20;

/// A collector as the tests start it.
struct Case {
    name: &'static str,
    flags: &'static [&'static str],
    /// What default sizing must be accused of.
    finding: &'static str,
    /// Bytes that each of the five arrays keeps, and rules that the engine compiles.
    keep: (u32, u32),
}

const SERIAL: Case = Case {
    name: "serial",
    flags: &["-XX:+UseSerialGC"],
    finding: "PROMO-01",
    keep: (900_000, 4_500),
};
const G1: Case = Case {
    name: "g1",
    flags: &["-XX:+UseG1GC", "-XX:G1HeapRegionSize=1m"],
    finding: "PROMO-01",
    keep: (900_000, 4_500),
};
const PARNEW: Case = Case {
    name: "parnew",
    flags: &["-XX:+UseConcMarkSweepGC"],
    finding: "PROMO-01",
    keep: (900_000, 4_500),
};
/// Parallel has no age table: there the survivor space itself must overflow.
const PARALLEL: Case = Case {
    name: "parallel",
    flags: &["-XX:+UseParallelGC"],
    finding: "PROMO-02",
    keep: (2_400_000, 12_000),
};

/// The log and the recording of one run.
struct Run {
    log: PathBuf,
    recording: PathBuf,
}

fn run(jdk: &Jdk, case: &Case, fixture: &[String], extra: &[String], dir: &Path, nth: u32) -> Run {
    let log = dir.join(format!("gc{nth}.log"));
    let recording = dir.join(format!("run{nth}.jfr"));
    let out = Child::java(jdk)
        .args(case.flags)
        .args(["-Xms256m", "-Xmx256m", &format!("-Xmn{YOUNG}")])
        .args(extra)
        .arg(format!(
            "-Xlog:gc*,gc+age=trace,gc+plab=debug,safepoint:file={}:time,uptime,level,tags",
            log.display()
        ))
        .arg(format!(
            "-XX:StartFlightRecording=filename={}",
            recording.display()
        ))
        .arg("-cp")
        .arg(java_fixtures().unwrap().classes())
        .args(fixture)
        .run(LIMIT)
        .unwrap();
    assert_eq!(out.code(), Some(0), "{out}");
    Run { log, recording }
}

/// What the command says of an input.
fn diagnose(input: &Path) -> Value {
    let out = Child::new(cli_binary().unwrap())
        .args(["gc", "--format", "json"])
        .arg(input)
        .run(LIMIT)
        .unwrap();
    assert_eq!(out.code(), Some(0), "{out}");
    serde_json::from_str(&out.stdout).unwrap()
}

fn finding<'a>(v: &'a Value, id: &str) -> Option<&'a Value> {
    v["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|f| f["id"] == id)
}

fn young(v: &Value) -> Vec<&Value> {
    v["collections"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["kind"] != "full" && c["kind"] != "concurrent-old")
        .collect()
}

/// Log and recording of one run tell the same of every young collection, where both tell it.
fn assert_agree(log: &Value, recording: &Value, what: &str) {
    assert_eq!(log["collector"], recording["collector"], "{what}");
    let (mut log, recording) = (young(log), young(recording));
    // JFR ends its file before the JVM ends: what is collected after that is in the log alone.
    let id = |c: &Value| c["gc_id"].as_u64().unwrap();
    let last = recording.last().map_or(0, |c| id(c));
    let before = log.len();
    log.retain(|c| id(c) <= last);
    assert!(before - log.len() <= 2, "{what}: the recording ends early");
    assert_eq!(log.len(), recording.len(), "{what}: young collections");
    assert!(log.len() >= 3, "{what}: only {} collections", log.len());
    let mut promoted = 0;
    for (l, r) in log.iter().zip(&recording) {
        let what = format!("{what}: log {l}, recording {r}");
        assert_eq!(l["gc_id"], r["gc_id"], "{what}");
        for key in [
            "threshold_used",
            "ages",
            "desired",
            "gc_cause",
            "max_threshold",
        ] {
            if !l[key].is_null() && !r[key].is_null() {
                assert_eq!(l[key], r[key], "{key}: {what}");
            }
        }
        let exact = |c: &Value| c["promoted_exact"] == true;
        if exact(l) && exact(r) {
            promoted += 1;
            let (a, b) = (
                l["promoted_bytes"].as_u64().unwrap(),
                r["promoted_bytes"].as_u64().unwrap(),
            );
            // The log rounds old space to KiB, before and after.
            assert!(a.abs_diff(b) <= 2 * 1024, "{what}");
            assert_eq!(l["cause"], r["cause"], "{what}");
        }
    }
    // ParNew's buffer waste keeps its recordings from telling promoted bytes.
    assert!(
        promoted >= 2 || what.contains("parnew"),
        "{what}: {promoted} compared"
    );
}

/// The flags of advice A, as the command prints them.
fn advised(finding: &Value) -> Vec<String> {
    finding["advice"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|a| a["option"] == "A" && a["flag"].is_string())
        .map(|a| a["argument"].as_str().unwrap().to_owned())
        .collect()
}

fn reproduce(test: &str, feature: u32, case: &Case) {
    let Some(jdk) = Jdk::feature(feature) else {
        skip(test, &format!("JDK {feature}"));
        return;
    };
    let (bytes, rules) = case.keep;
    let fixtures = [
        vec![
            "gc.FiveArrays".to_owned(),
            bytes.to_string(),
            "6".to_owned(),
            YOUNG.to_string(),
        ],
        vec![
            "gc.RuleEngine".to_owned(),
            rules.to_string(),
            (6 * YOUNG).to_string(),
        ],
    ];
    for fixture in fixtures {
        let what = format!("{} on JDK {feature} {}", fixture[0], case.name);
        let dir = scratch(test).unwrap();
        let first = run(&jdk, case, &fixture, &[], dir.path(), 1);
        let (log, recording) = (diagnose(&first.log), diagnose(&first.recording));
        assert_agree(&log, &recording, &what);
        let Some(found) = finding(&log, case.finding) else {
            panic!(
                "{what}: the log gives no {}: {}",
                case.finding, log["findings"]
            );
        };
        assert!(
            finding(&recording, case.finding).is_some(),
            "{what}: the recording gives no {}: {}",
            case.finding,
            recording["findings"]
        );
        let flags = advised(found);
        assert!(!flags.is_empty(), "{what}: {found}");

        let second = run(&jdk, case, &fixture, &flags, dir.path(), 2);
        let (log, recording) = (diagnose(&second.log), diagnose(&second.recording));
        assert_agree(&log, &recording, &format!("{what} with {flags:?}"));
        for (from, v) in [("log", &log), ("recording", &recording)] {
            for id in ["PROMO-01", "PROMO-02", "PROMO-03"] {
                assert!(
                    finding(v, id).is_none(),
                    "{what} with {flags:?}: the {from} still gives {id}: {}",
                    v["collections"]
                );
            }
        }
    }
}

#[test]
fn serial_17_promotes_early_until_the_advice_is_taken() {
    reproduce("gc_serial_17", 17, &SERIAL);
}

#[test]
fn serial_25_promotes_early_until_the_advice_is_taken() {
    reproduce("gc_serial_25", 25, &SERIAL);
}

#[test]
fn g1_17_promotes_early_until_the_advice_is_taken() {
    reproduce("gc_g1_17", 17, &G1);
}

#[test]
fn g1_25_promotes_early_until_the_advice_is_taken() {
    reproduce("gc_g1_25", 25, &G1);
}

#[test]
fn parallel_17_overflows_until_the_advice_is_taken() {
    reproduce("gc_parallel_17", 17, &PARALLEL);
}

#[test]
fn parallel_25_overflows_until_the_advice_is_taken() {
    reproduce("gc_parallel_25", 25, &PARALLEL);
}

#[test]
fn parnew_11_promotes_early_until_the_advice_is_taken() {
    reproduce("gc_parnew_11", 11, &PARNEW);
}

/// A fixture's log and recording under `jdk`, diagnosed; `None` after saying that the JDK is missing.
fn diagnosed(test: &str, feature: u32, flags: &[&str], fixture: &[&str]) -> Option<(Value, Value)> {
    let Some(jdk) = Jdk::feature(feature) else {
        skip(test, &format!("JDK {feature}"));
        return None;
    };
    let dir = scratch(test).unwrap();
    let fixture: Vec<String> = fixture.iter().map(ToString::to_string).collect();
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    let plain = Case {
        name: "plain",
        flags: &[],
        finding: "",
        keep: (0, 0),
    };
    let run = run(&jdk, &plain, &fixture, &flags, dir.path(), 1);
    Some((diagnose(&run.log), diagnose(&run.recording)))
}

#[test]
fn a_steady_leak_is_told_from_warm_up_by_its_ages() {
    let leak = ["gc.SteadyLeak", "2000000000", "200"];
    for flags in [
        ["-XX:+UseSerialGC", "-Xss1m"],
        ["-XX:+UseG1GC", "-XX:G1HeapRegionSize=1m"],
    ] {
        let Some((log, recording)) = diagnosed("gc_leak", 17, &flags, &leak) else {
            return;
        };
        for v in [&log, &recording] {
            let f = finding(v, "AGE-01").unwrap_or_else(|| panic!("{flags:?}: {}", v["findings"]));
            assert!(f["evidence"]["ages"].as_u64().unwrap() >= 6, "{f}");
        }
    }
}

#[test]
fn a_healthy_run_gives_no_finding() {
    let healthy = ["gc.RuleEngine", "100", "402653184"];
    for (feature, flags) in [
        (17, ["-XX:+UseSerialGC", "-Xss1m"]),
        (25, ["-XX:+UseG1GC", "-XX:G1HeapRegionSize=1m"]),
        (25, ["-XX:+UseParallelGC", "-Xss1m"]),
    ] {
        let Some((log, recording)) = diagnosed("gc_healthy", feature, &flags, &healthy) else {
            return;
        };
        for v in [&log, &recording] {
            let told: Vec<&Value> = v["findings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|f| &f["id"])
                // A busy machine starves pauses; that is true, and no matter of promotion.
                .filter(|id| *id != "PAUSE-01")
                .collect();
            assert!(told.is_empty(), "{feature} {flags:?}: {}", v["findings"]);
        }
    }
}

#[test]
fn concurrent_collectors_give_the_same_thresholds_in_log_and_recording() {
    let keep = ["gc.FiveArrays", "900000", "12", "67108864"];
    let Some((log, recording)) = diagnosed("gc_zgc", 25, &["-XX:+UseZGC"], &keep) else {
        return;
    };
    assert_eq!(log["collector"], "ZGC");
    // A major collection may outlast minor ones, so the order of the ends is not that of the numbers.
    let thresholds = |v: &Value| -> BTreeMap<u64, Value> {
        v["collections"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (c["gc_id"].as_u64().unwrap(), c["threshold_used"].clone()))
            .collect()
    };
    let (log, recording) = (thresholds(&log), thresholds(&recording));
    assert!(!recording.is_empty());
    // A recording ends before the JVM does: the log may have collections more.
    for (id, threshold) in &recording {
        assert_eq!(log.get(id), Some(threshold), "collection {id}");
    }
    let flags = [
        "-XX:+UseShenandoahGC",
        "-XX:+UnlockExperimentalVMOptions",
        "-XX:ShenandoahGCMode=generational",
    ];
    let Some((log, recording)) = diagnosed("gc_shenandoah", 25, &flags, &keep) else {
        return;
    };
    for v in [&log, &recording] {
        assert_eq!(v["collector"], "Shenandoah");
        assert!(!v["collections"].as_array().unwrap().is_empty());
        assert!(finding(v, "PROMO-01").is_none());
    }
}
