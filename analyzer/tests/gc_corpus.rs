//! The shared corpus of real GC logs: every collection counted, every threshold recomputed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod gc_shared;

use std::collections::BTreeMap;
use std::path::Path;

use gc_shared::{read_log, shared};
use jfr_chains_analyzer::gc::diag::Problem;
use jfr_chains_analyzer::gc::record::Kind;
use jfr_chains_analyzer::gc::rules::threshold::{Recomputed, recompute};

/// Collections counted by their text alone, apart from the parsers.
fn counted_by_text(path: &Path) -> usize {
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let count = |needle: &str| text.matches(needle).count();
    if text.contains("GC(0)") {
        return text
            .lines()
            .filter(|l| {
                (l.contains(") Pause Young") || l.contains(") Pause Full") || l.contains(" Cycle "))
                    && l.contains("ms")
            })
            .count();
    }
    if text.contains("[PSYoungGen") {
        return count("[PSYoungGen:");
    }
    let cycles = text
        .lines()
        .filter(|l| l.contains(": [CMS-concurrent-reset: ") && !l.contains("[ParNew"))
        .count();
    cycles + count("[ParNew") + count("[DefNew") + count("[GC pause") + count("[Full GC")
}

/// Entries of the corpus that are cut off or start before their file does.
const INCOMPLETE: [(&str, Problem); 2] = [
    // Edited by its donor: numbers go on, survivors (4 regions, then 26) do not.
    ("jvm-gc-10Nov2022.log", Problem::Gap),
    ("no_young_intro.log", Problem::StartsInside),
];

#[test]
fn every_collection_of_the_corpus_is_counted() {
    let Some(dir) = shared("corpus/gclog") else {
        return;
    };
    let mut files = 0;
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let intake = read_log(&path);
        let got: usize = intake.jvms.iter().map(|j| j.collections.len()).sum();
        let lost = intake
            .diagnostics
            .iter()
            .filter(|d| matches!(d.problem, Problem::Truncated | Problem::Unreadable))
            .count();
        assert_eq!(got + lost, counted_by_text(&path), "{name}");
        for d in intake.diagnostics.iter() {
            assert!(
                INCOMPLETE.contains(&(name.as_str(), d.problem)),
                "{name}: {d}"
            );
        }
        files += 1;
    }
    assert!(files >= 15, "only {files} logs");
}

#[test]
fn printed_thresholds_are_what_the_rules_give() {
    let Some(dir) = shared("corpus/gclog") else {
        return;
    };
    let mut compared = 0;
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    let mut different = Vec::new();
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        for jvm in read_log(&path).jvms {
            for r in jvm.collections.iter().filter(|r| r.kind != Kind::Full) {
                match recompute(r) {
                    Recomputed::Value(t) if Some(t) == r.threshold_printed => compared += 1,
                    Recomputed::Value(t) => different.push(format!(
                        "{} line {}: rule {t}, printed {:?}, desired {:?}, ages {:?}",
                        path.display(),
                        r.line,
                        r.threshold_printed,
                        r.desired,
                        r.ages
                    )),
                    Recomputed::Skipped(why) => *skipped.entry(why.name()).or_default() += 1,
                }
            }
        }
    }
    println!("{compared} equal; skipped {skipped:?}");
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared > 250, "only {compared} thresholds compared");
}
