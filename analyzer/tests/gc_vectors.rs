//! Every expected value of the shared GC log vectors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod gc_shared;

use gc_shared::{read_log, shared};
use jfr_chains_analyzer::gc::record::{Collection, Collector, Kind, Nanos, Promoted};
use jfr_chains_analyzer::gc::rules::threshold::{self, Recomputed};
use jfr_chains_analyzer::gc::{intake::Jvm, num};
use serde_json::Value;

/// KiB within the rounding of the expected value's own arithmetic.
fn k(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

fn near(got: f64, want: &Value, tolerance: f64) -> bool {
    want.as_f64().is_some_and(|w| (w - got).abs() <= tolerance)
}

fn name(c: Collector) -> &'static str {
    match c {
        Collector::Serial => "DefNew",
        Collector::ParNew => "ParNew",
        Collector::Parallel => "PSYoungGen",
        Collector::G1 => "G1",
        _ => "?",
    }
}

fn ms(t: Option<Nanos>) -> f64 {
    t.map_or(-1.0, Nanos::millis)
}

fn secs(t: Option<Nanos>) -> f64 {
    t.map_or(-1.0, Nanos::secs)
}

/// Whether one expected field holds for a record; an unknown field fails.
fn holds(field: &str, want: &Value, r: &Collection, entry: &Value) -> bool {
    let pair = |c: Option<jfr_chains_analyzer::gc::record::RegionChange>| {
        c.is_some_and(|c| want[0] == c.before && want[1] == c.after)
    };
    match field {
        "date" => {
            let (ns, off, _) = num::datetime(want.as_str().unwrap().as_bytes()).unwrap();
            r.at.wall == Some(ns) && r.at.offset_min == off
        }
        "uptime" | "start_uptime" => near(secs(r.at.uptime), want, 1e-9),
        "gc_id" => r.gc_id == want.as_u64(),
        "collector" => want == name(r.collector),
        "title" => r.title.as_deref() == want.as_str(),
        "cause" => r.gc_cause.as_deref() == want.as_str(),
        "desired" => r.desired == want.as_u64(),
        "new_threshold" => r.threshold_printed.map(u64::from) == want.as_u64(),
        "max_threshold" => r.max_threshold.map(u64::from) == want.as_u64(),
        "threshold_scope" => want == r.collector.printed_threshold_is_for().name(),
        "threshold_used" => r.threshold_used.map(u64::from) == want.as_u64(),
        "age_table_of" => want == "previous_gc",
        "ages" => {
            let table = if entry["age_table_of"] == "previous_gc" {
                r.ages_before
            } else {
                r.ages
            };
            let want = want.as_object().unwrap();
            table.map_or(want.is_empty(), |t| {
                t.populated().count() == want.len()
                    && want
                        .iter()
                        .all(|(age, bytes)| Some(t.at(age.parse().unwrap())) == bytes.as_u64())
            })
        }
        "age_total" => {
            let table = if entry["age_table_of"] == "previous_gc" {
                r.ages_before
            } else {
                r.ages
            };
            table.map(|t| t.total()) == want.as_u64()
        }
        "young_before_k" => near(k(r.young.unwrap().before), want, 1e-3),
        "young_after_k" => near(k(r.young.unwrap().after), want, 1e-3),
        "young_cap_k" => near(k(r.young.unwrap().cap.unwrap()), want, 1e-3),
        "survivor_cap_k" => near(k(r.survivor_cap.unwrap()), want, 1e-3),
        "heap_before_k" => near(k(r.heap.unwrap().before), want, 1e-3),
        "heap_after_k" => near(k(r.heap.unwrap().after), want, 1e-3),
        "heap_cap_k" => near(k(r.heap.unwrap().cap.unwrap()), want, 1e-3),
        "old_before_k" => near(k(r.old.unwrap().before), want, 1e-3),
        "old_after_k" => near(k(r.old.unwrap().after), want, 1e-3),
        "promoted_k" => match r.promoted {
            Promoted::Exact(b) | Promoted::Approximate(b) => near(b as f64 / 1024.0, want, 1e-3),
            _ => false,
        },
        // A full collection compacts: its region growth bounds nothing, so there is no promoted number.
        "promoted_k_upper" if r.kind == Kind::Full => {
            near(k(r.old_region_growth().unwrap() as u64), want, 1e-3)
                && matches!(r.promoted, Promoted::NotComputable(_))
        }
        "promoted_k_upper" => {
            matches!(r.promoted, Promoted::AtMost(b) if near(k(b), want, 1e-3))
        }
        "survivor_waste_k" => near(r.survivor_waste().unwrap() as f64 / 1024.0, want, 0.051),
        "pause_ms" => near(ms(r.pause), want, 5e-4),
        "user_s" => near(secs(r.user), want, 1e-9),
        "sys_s" => near(secs(r.sys), want, 1e-9),
        "real_s" => near(secs(r.real), want, 1e-9),
        "safepoint_total_ms" => near(ms(r.safepoint_total), want, 6e-4),
        "ttsp_ms" => near(ms(r.ttsp), want, 6e-4),
        "copy_phase_ms" => near(ms(r.copy_phase), want, 1e-6),
        "ref_ms" => {
            let want = want.as_object().unwrap();
            want.len() == r.refs.len()
                && r.refs
                    .iter()
                    .all(|t| near(t.time.millis(), &want[t.kind], 1e-6))
        }
        "threshold_recomputed" => recomputed(want, r),
        "eden_regions" => pair(r.regions.eden),
        "survivor_regions" => pair(r.regions.survivor),
        "survivor_regions_limit" => r.regions.survivor.unwrap().limit == want.as_u64(),
        "old_regions" => pair(r.regions.old),
        "humongous_regions" => pair(r.regions.humongous),
        "evac_failure" => r.evacuation_failed == want.as_bool().unwrap(),
        _ => false,
    }
}

/// The expected file recomputes NeverTenure entries too, to show that they must be skipped.
fn recomputed(want: &Value, r: &Collection) -> bool {
    if matches!(r.max_threshold, Some(0 | 16)) {
        let raw = threshold::compute(&r.ages.unwrap(), r.desired.unwrap(), 16);
        return threshold::recompute(r) == Recomputed::Skipped(threshold::Skip::Fixed)
            && Some(u64::from(raw)) == want.as_u64();
    }
    matches!(threshold::recompute(r), Recomputed::Value(t) if Some(u64::from(t)) == want.as_u64())
}

#[test]
fn every_expected_value_of_the_log_vectors_holds() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let text = std::fs::read_to_string(dir.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let mut values = 0;
    let mut wrong = Vec::new();
    for (file, vector) in expected.as_object().unwrap() {
        let intake = read_log(&dir.join(file));
        assert_eq!(intake.jvms.len(), 1, "{file}");
        assert_eq!(intake.diagnostics.iter().count(), 0, "{file}");
        let jvm: &Jvm = &intake.jvms[0];
        let gcs = vector["gcs"].as_array().unwrap();
        assert_eq!(jvm.collections.len(), gcs.len(), "{file}: collections");
        if let Some(region) = vector["meta"]["region_k"].as_u64() {
            assert_eq!(jvm.facts.region_bytes, Some(region * 1024), "{file}");
        }
        for (at, entry) in gcs.iter().enumerate() {
            for (field, want) in entry.as_object().unwrap() {
                values += 1;
                if !holds(field, want, &jvm.collections[at], entry) {
                    wrong.push(format!(
                        "{file}[{at}].{field}: want {want}, have {:?}",
                        jvm.collections[at]
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {values}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(values > 700, "only {values} values compared");
}
