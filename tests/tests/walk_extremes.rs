//! Heaps that are hard on a walk: it comes to an end, finds what is there, and leaves nothing behind in the JVM.
//!
//! `JFR_CHAINS_LONG` has them in their full size.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Child, Finished, Jdk, java_fixtures, skip, walk_probe};
use serde_json::Value;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(180);
const NEEDLE: &str = "walk.Extremes$Needle";

/// One heap on one JDK.
struct Case<'a> {
    heap: &'static str,
    size: u32,
    jvm: &'a [&'a str],
    probe: &'a [&'a str],
}

impl Case<'_> {
    fn of(heap: &'static str, size: u32) -> Self {
        Self {
            heap,
            size,
            jvm: &["-Xmx300m"],
            probe: &["--memory", "200000000"],
        }
    }

    fn run(&self, jdk: &Jdk) -> Finished {
        let out = Child::new(walk_probe().unwrap())
            .arg(jdk.home())
            .arg(java_fixtures().unwrap().classes())
            .args([
                "walk.Extremes",
                NEEDLE,
                "--instances",
                "100",
                "--seconds",
                "90",
            ])
            .args(self.probe)
            .arg("--args")
            .arg(format!("{},size={}", self.heap, self.size))
            .arg("--")
            .args(self.jvm)
            .run(LIMIT)
            .unwrap();
        assert!(!out.timed_out, "{out}");
        for alarm in [
            "WARNING in native",
            "FATAL ERROR",
            "# A fatal error",
            "panicked",
        ] {
            assert!(
                !out.stdout.contains(alarm) && !out.stderr.contains(alarm),
                "{out}"
            );
        }
        out
    }

    /// Every needle is reached, and the chain is told and holds.
    fn finds_all(&self, jdk: &Jdk) -> Value {
        let out = self.run(jdk);
        assert!(out.ok(), "{out}");
        let found = report(&out);
        let first = &found["chains"][0];
        assert_eq!(first["instances"], 100, "{out}");
        assert_eq!(first["verified"], true, "{out}");
        assert_eq!(found["tagged"], 0, "{out}");
        found
    }
}

fn report(out: &Finished) -> Value {
    let line = out
        .stdout
        .lines()
        .rfind(|line| line.starts_with('{'))
        .expect("a report");
    serde_json::from_str(line).unwrap()
}

/// `whole` with `JFR_CHAINS_LONG`, else a size that takes a second.
fn size(whole: u32, usual: u32) -> u32 {
    match std::env::var_os("JFR_CHAINS_LONG") {
        Some(_) => whole,
        None => usual,
    }
}

fn on_each_jdk(test: &str, body: impl Fn(&Jdk)) {
    for feature in [17, 25] {
        match Jdk::feature(feature) {
            Some(jdk) => body(&jdk),
            None => skip(test, &format!("JDK {feature}")),
        }
    }
}

#[test]
fn the_end_of_a_long_list_is_reached_and_told_as_one_run() {
    on_each_jdk(
        "the_end_of_a_long_list_is_reached_and_told_as_one_run",
        |jdk| {
            // The end of a list of ten million is further than any path that is read again: see below.
            let found = Case::of("list", size(1_000_000, 500_000)).finds_all(jdk);
            let hops = found["chains"][0]["hops"].as_array().unwrap().clone();
            assert!(hops.len() < 10, "{hops:?}");
            assert!(
                hops.iter().any(|hop| hop["run"].as_u64() > Some(400_000)),
                "{hops:?}"
            );
        },
    );
}

#[test]
fn two_classes_that_alternate_a_long_way_collapse() {
    on_each_jdk("two_classes_that_alternate_a_long_way_collapse", |jdk| {
        let found = Case::of("zigzag", 200_000).finds_all(jdk);
        assert!(
            found["chains"][0]["hops"].as_array().unwrap().len() < 12,
            "{found}"
        );
    });
}

#[test]
fn the_last_of_two_million_elements_is_reached() {
    on_each_jdk("the_last_of_two_million_elements_is_reached", |jdk| {
        Case::of("array", 2_000_000).finds_all(jdk);
    });
}

#[test]
fn classes_of_thousands_of_loaders_are_walked() {
    on_each_jdk("classes_of_thousands_of_loaders_are_walked", |jdk| {
        Case::of("classes", size(30_000, 5_000)).finds_all(jdk);
    });
}

#[test]
fn what_the_last_of_many_threads_holds_is_reached() {
    on_each_jdk("what_the_last_of_many_threads_holds_is_reached", |jdk| {
        let found = Case::of("threads", size(1_000, 300)).finds_all(jdk);
        assert_eq!(found["chains"][0]["root"]["kind"], "thread", "{found}");
    });
}

#[test]
fn classes_may_be_unloaded_while_they_are_walked() {
    on_each_jdk("classes_may_be_unloaded_while_they_are_walked", |jdk| {
        let mut case = Case::of("unloading", 0);
        case.jvm = &["-Xmx100m", "-Xcheck:jni"];
        case.probe = &["--abort", "20000", "--seconds", "8"];
        let found = report(&case.run(jdk));
        assert_eq!(found["chains"][0]["root"]["field"], "ROOT", "{found}");
    });
}

#[test]
fn a_heap_that_is_full_most_of_the_time_is_walked() {
    on_each_jdk("a_heap_that_is_full_most_of_the_time_is_walked", |jdk| {
        let mut case = Case::of("exhausted", 0);
        case.jvm = &["-Xmx60m", "-Xcheck:jni"];
        let found = case.finds_all(jdk);
        assert_eq!(found["chains"][0]["root"]["field"], "ROOT", "{found}");
    });
}

#[test]
fn exceptions_pending_on_the_walks_thread_end_with_the_call_and_others_are_left_alone() {
    let test = "exceptions_pending_on_the_walks_thread_end_with_the_call_and_others_are_left_alone";
    for (feature, walk) in [(17, "hash"), (25, "hash"), (17, "safepoint"), (25, "tags")] {
        let Some(jdk) = Jdk::feature(feature) else {
            skip(test, &format!("JDK {feature}"));
            continue;
        };
        // The program ends the JVM when it catches something else than what it threw, or nothing.
        let mut case = Case::of("throwing", 0);
        case.jvm = &["-Xmx100m", "-Xcheck:jni", "-Xss512k"];
        let probe = ["--pending", "1", "--walk", walk];
        case.probe = &probe;
        let found = case.finds_all(&jdk);
        assert_eq!(found["chains"][0]["holds"], true, "{found}");
    }
}

#[test]
fn ten_million_nodes_in_one_list_end_at_the_cap_on_memory_and_it_is_said() {
    let test = "ten_million_nodes_in_one_list_end_at_the_cap_on_memory_and_it_is_said";
    on_each_jdk(test, |jdk| {
        let mut case = Case::of("list", size(10_000_000, 1_000_000));
        case.jvm = &["-Xmx600m"];
        case.probe = &["--memory", "16000000", "--cut", "1"];
        let found = report(&case.run(jdk));
        assert!(found["cost"]["evicted"].as_u64() > Some(0), "{found}");
        assert!(found["cost"]["coverage"].is_null(), "{found}");
        let held = found["cost"]["native_bytes"].as_u64();
        assert!(held <= Some(16_000_000), "{found}");
    });
}

#[test]
fn what_leads_nowhere_is_folded_so_that_a_large_heap_fits_in_little_memory() {
    let test = "what_leads_nowhere_is_folded_so_that_a_large_heap_fits_in_little_memory";
    on_each_jdk(test, |jdk| {
        let mut case = Case::of("array", 2_000_000);
        // At 26 bytes an object it would take 52 MB and twice that while the table grows.
        case.probe = &["--memory", "33000000"];
        let found = case.finds_all(jdk);
        assert_eq!(found["cost"]["evicted"], 0, "{found}");
        let held = found["cost"]["native_bytes"].as_u64();
        assert!(held <= Some(33_000_000), "{found}");
    });
}

#[test]
fn tags_and_heap_walks_bear_a_full_heap_and_classes_that_are_unloaded() {
    let test = "tags_and_heap_walks_bear_a_full_heap_and_classes_that_are_unloaded";
    let cells: [(u32, &[&str], &[&str]); 2] = [
        (
            17,
            &["--walk", "safepoint", "--abort", "20000", "--seconds", "8"],
            &["--walk", "safepoint"],
        ),
        (
            25,
            &["--walk", "tags", "--abort", "20000", "--seconds", "8"],
            &["--walk", "tags"],
        ),
    ];
    for (feature, unloading, exhausted) in cells {
        let Some(jdk) = Jdk::feature(feature) else {
            skip(test, &format!("JDK {feature}"));
            continue;
        };
        let mut case = Case::of("unloading", 0);
        case.jvm = &["-Xmx100m", "-Xcheck:jni"];
        case.probe = unloading;
        let found = report(&case.run(&jdk));
        assert_eq!(found["chains"][0]["root"]["field"], "ROOT", "{found}");
        let mut case = Case::of("exhausted", 0);
        case.jvm = &["-Xmx60m", "-Xcheck:jni"];
        case.probe = exhausted;
        let found = case.finds_all(&jdk);
        assert_eq!(found["chains"][0]["root"]["field"], "ROOT", "{found}");
    }
}

#[test]
fn a_cap_on_memory_cuts_the_walk_and_is_said() {
    on_each_jdk("a_cap_on_memory_cuts_the_walk_and_is_said", |jdk| {
        let mut case = Case::of("array", 2_000_000);
        case.probe = &["--memory", "8000000", "--cut", "1"];
        let found = report(&case.run(jdk));
        assert!(found["cost"]["evicted"].as_u64() > Some(0), "{found}");
        assert!(found["cost"]["coverage"].is_null(), "{found}");
        assert!(
            found["cost"]["native_bytes"].as_u64() <= Some(8_000_000),
            "{found}"
        );
    });
}

/// The JVM's own counts of JNI references: (global, weak) in each thread dump.
fn references(out: &Finished) -> Vec<(u64, u64)> {
    let counts = out.stdout.lines().filter_map(|line| {
        let rest = line.strip_prefix("JNI global refs: ")?;
        let (global, weak) = rest.split_once(", weak refs: ")?;
        Some((global.trim().parse().ok()?, weak.trim().parse().ok()?))
    });
    counts.collect()
}

#[test]
fn searches_that_are_cut_at_any_instant_leave_no_reference_behind() {
    on_each_jdk(
        "searches_that_are_cut_at_any_instant_leave_no_reference_behind",
        |jdk| {
            const CUTS: [&[&str]; 3] = [
                &["--dumps", "1", "--seconds", "4", "--abort", "200"],
                &["--dumps", "1", "--seconds", "4", "--abort", "3000"],
                &["--dumps", "1", "--seconds", "4", "--abort", "30000"],
            ];
            for cut in CUTS {
                let mut case = Case::of("tree", 20_000);
                case.probe = cut;
                case.jvm = &["-Xms100m", "-Xmx100m", "-XX:+AlwaysPreTouch", "-Xcheck:jni"];
                leaves_nothing(&case, jdk);
            }
        },
    );
}

/// Searches of this case are cut; afterwards there are no more references, and no more memory, than before.
fn leaves_nothing(case: &Case, jdk: &Jdk) {
    let out = case.run(jdk);
    let aborted = &report(&out)["aborted"];
    // Memory is compared from the tenth search on.
    assert!(aborted["searches"].as_u64() > Some(10), "{out}");
    let [before, after] = references(&out)[..] else {
        panic!("two thread dumps were asked for: {out}");
    };
    assert!(
        after.0 <= before.0 + 2 && after.1 <= before.1,
        "{before:?} {after:?}"
    );
    // Cut searches and then a whole one: not one object carries a tag of theirs.
    assert_eq!(report(&out)["tagged"], 0, "{out}");
    // Hundreds of searches: what each keeps adds up, while the allocator's and the collector's own memory does not.
    let grown = aborted["grown_bytes"].as_u64();
    assert!(grown < Some(16 << 20), "{out}");
}

#[test]
fn tags_and_heap_walks_that_are_cut_leave_neither_reference_nor_memory_behind() {
    let test = "tags_and_heap_walks_that_are_cut_leave_neither_reference_nor_memory_behind";
    for (feature, walk, after) in [(17, "safepoint", "30000"), (25, "tags", "100000")] {
        let Some(jdk) = Jdk::feature(feature) else {
            skip(test, &format!("JDK {feature}"));
            continue;
        };
        let probe = [
            "--dumps",
            "1",
            "--seconds",
            "6",
            "--abort",
            after,
            "--walk",
            walk,
        ];
        let mut case = Case::of("tree", 100_000);
        case.probe = &probe;
        case.jvm = &["-Xms100m", "-Xmx100m", "-XX:+AlwaysPreTouch", "-Xcheck:jni"];
        leaves_nothing(&case, &jdk);
    }
}
