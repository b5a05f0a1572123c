//! Damaged, rolled, mixed and undecorated logs: named diagnostics, never a wrong number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod gc_shared;

use std::path::PathBuf;

use gc_shared::{analyse_text, read_text, shared};
use jfr_chains_analyzer::gc::analysis::{Analysis, Builder};
use jfr_chains_analyzer::gc::diag::Problem;
use jfr_chains_analyzer::gc::record::{Collection, Collector};
use jfr_chains_analyzer::input::Input;

fn logs(folder: &str) -> Vec<(String, Vec<u8>)> {
    let Some(dir) = shared(folder) else {
        return Vec::new();
    };
    let mut logs: Vec<(String, Vec<u8>)> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "log"))
        .map(|p: PathBuf| {
            let name = p.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(p).unwrap())
        })
        .collect();
    logs.sort();
    logs
}

fn vector(name: &str) -> Option<String> {
    let dir = shared("vectors/gc")?;
    Some(std::fs::read_to_string(dir.join(name)).unwrap())
}

fn collections(a: &Analysis) -> Vec<&Collection> {
    a.jvms.iter().flat_map(|j| &j.jvm.collections).collect()
}

fn has(a: &Analysis, problem: Problem) -> bool {
    a.diagnostics.has(problem)
}

/// A record without what lines behind its pause line bring: the safepoint, the CPU times, the next
/// threshold. JDK 8's G1 prints a table with the next collection only.
fn core(r: &Collection) -> Collection {
    let printed_later = r.collector == Collector::G1 && r.gc_id.is_none();
    Collection {
        ages: r.ages.filter(|_| !printed_later),
        user: None,
        sys: None,
        real: None,
        safepoint_total: None,
        ttsp: None,
        threshold_next: None,
        ..r.clone()
    }
}

#[test]
fn a_log_cut_anywhere_gives_a_prefix_of_its_collections() {
    for (name, bytes) in logs("vectors/gc") {
        let whole = read_text(&bytes);
        let whole: Vec<Collection> = whole
            .jvms
            .iter()
            .flat_map(|j| j.collections.iter().map(core))
            .collect();
        for cut in (0..bytes.len()).step_by(41) {
            let part = read_text(&bytes[..cut]);
            let got: Vec<Collection> = part
                .jvms
                .iter()
                .flat_map(|j| j.collections.iter().map(core))
                .collect();
            assert!(got.len() <= whole.len(), "{name} cut at {cut}");
            for (n, r) in got.iter().enumerate() {
                assert_eq!(*r, whole[n], "{name} cut at {cut}");
            }
        }
    }
}

#[test]
fn damaged_bytes_never_panic_and_never_add_collections() {
    for (name, bytes) in logs("corpus/gclog") {
        let whole: usize = read_text(&bytes)
            .jvms
            .iter()
            .map(|j| j.collections.len())
            .sum();
        for seed in 0..6u64 {
            let mut damaged = bytes.clone();
            let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            for _ in 0..40 {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                let len = damaged.len() as u64;
                if len > 0 {
                    damaged[usize::try_from(x % len).unwrap()] = (x >> 32).to_le_bytes()[0];
                }
            }
            let got: usize = read_text(&damaged)
                .jvms
                .iter()
                .map(|j| j.collections.len())
                .sum();
            // A damaged line can split an entry, but cannot bring more than one record per damage.
            assert!(got <= whole + 40, "{name}: {got} of {whole}");
        }
    }
}

#[test]
fn undecorated_and_partly_decorated_lines_give_the_same_numbers() {
    let Some(log) = vector("u17-serial-threshold1.log") else {
        return;
    };
    let full = analyse_text(&log);
    let strip = |keep: usize| {
        log.lines()
            .map(|l| {
                let mut rest = l;
                for _ in 0..keep {
                    rest = rest.split_once(']').unwrap().1;
                }
                let rest = if keep == 4 { rest.trim_start() } else { rest };
                format!("{rest}\n")
            })
            .collect::<String>()
    };
    for groups in 1..=4 {
        let bare = analyse_text(&strip(groups));
        let (full, bare) = (collections(&full), collections(&bare));
        assert_eq!(full.len(), bare.len(), "{groups} groups dropped");
        for (f, b) in full.iter().zip(&bare) {
            assert_eq!(f.ages, b.ages);
            assert_eq!(f.promoted, b.promoted);
            assert_eq!(f.threshold_used, b.threshold_used);
            assert_eq!(f.pause, b.pause);
        }
    }
}

#[test]
fn rolled_files_of_one_jvm_are_one_run_in_any_order() {
    let Some(log) = vector("u17-serial-threshold1.log") else {
        return;
    };
    let at = log.find("[2026-11-30T06:32:19.060").unwrap();
    let (first, second) = log.split_at(at);
    let whole = analyse_text(&log);
    let mut builder = Builder::default();
    for (name, part) in [("gc.log.0", first), ("gc.log.1", second)] {
        let input = Input::from_bytes(name.into(), part.as_bytes().to_vec()).unwrap();
        builder.add(input, &mut |_| {}).unwrap();
    }
    let rolled = builder.finish();
    assert_eq!(rolled.jvms.len(), 1);
    let (whole, rolled) = (collections(&whole), collections(&rolled));
    assert_eq!(whole.len(), rolled.len());
    for (w, r) in whole.iter().zip(&rolled) {
        assert_eq!(
            (w.cause, w.threshold_used, w.ages_before),
            (r.cause, r.threshold_used, r.ages_before)
        );
    }
}

#[test]
fn a_second_file_alone_starts_without_a_previous_table() {
    let Some(log) = vector("u17-serial-threshold1.log") else {
        return;
    };
    let at = log.find("[2026-11-30T06:32:19.060").unwrap();
    let a = analyse_text(&log[at..]);
    let first = collections(&a)[0];
    assert_eq!(first.threshold_used, None);
    assert_eq!(first.ages_before, None);
    assert_eq!(first.promoted.bytes(), Some(23_198 << 10));
}

#[test]
fn several_jvms_in_one_file_are_analysed_apart() {
    let (Some(serial), Some(g1)) = (
        vector("u17-serial-threshold1.log"),
        vector("u17-g1-threshold1.log"),
    ) else {
        return;
    };
    let both = analyse_text(&format!("{serial}{g1}{serial}"));
    assert!(has(&both, Problem::SeveralJvms));
    assert_eq!(both.jvms.len(), 3);
    let alone = [
        analyse_text(&serial),
        analyse_text(&g1),
        analyse_text(&serial),
    ];
    for (together, alone) in both.jvms.iter().zip(&alone) {
        let ids = |f: &[jfr_chains_analyzer::gc::findings::Finding]| {
            f.iter().map(|f| f.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&together.findings), ids(&alone.jvms[0].findings));
        assert_eq!(together.jvm.totals, alone.jvms[0].jvm.totals);
    }
    // Without the line that names the collector, numbers and uptime still tell.
    let bare: String = serial.lines().skip(2).map(|l| format!("{l}\n")).collect();
    let twice = analyse_text(&format!("{serial}{bare}"));
    assert_eq!(twice.jvms.len(), 2);
    assert_eq!(collections(&twice)[3].threshold_used, Some(15));
}

#[test]
fn two_processes_that_share_a_file_are_told_apart_by_pid() {
    let line = |pid: u32, s: &str, rest: &str| format!("[{s}s][{pid}][{pid}1][info][gc] {rest}\n");
    let one = |pid: u32, old: u32| {
        vec![
            line(pid, "1.000", "GC(0) Pause Young (Allocation Failure)"),
            line(pid, "1.010", "GC(0) DefNew: 100K(200K)->10K(200K)"),
            line(
                pid,
                "1.010",
                &format!("GC(0) Tenured: 0K(400K)->{old}K(400K)"),
            ),
            line(
                pid,
                "1.010",
                "GC(0) Pause Young (Allocation Failure) 1M->1M(1M) 10.000ms",
            ),
        ]
    };
    let log: String = one(7, 5)
        .into_iter()
        .zip(one(8, 9))
        .flat_map(|(a, b)| [a, b])
        .collect();
    let a = analyse_text(&log);
    assert_eq!(a.jvms.len(), 2);
    let promoted: Vec<Option<u64>> = collections(&a).iter().map(|r| r.promoted.bytes()).collect();
    assert_eq!(promoted, [Some(5 << 10), Some(9 << 10)]);
}

#[test]
fn a_wall_clock_that_jumps_back_is_reported_and_changes_nothing() {
    let Some(log) = vector("u17-serial-threshold1.log") else {
        return;
    };
    let jumped = log.replace("2026-11-30T06:32:19", "2026-11-30T05:32:19");
    let a = analyse_text(&jumped);
    assert!(has(&a, Problem::ClockJumped));
    assert_eq!(a.jvms.len(), 1);
    assert_eq!(collections(&a)[1].cause.name(), "threshold");
}

#[test]
fn an_age_table_that_contradicts_itself_is_not_used() {
    let Some(log) = vector("u17-serial-threshold1.log") else {
        return;
    };
    let torn = log.replace(
        "- age   1:   27963904 bytes,   27963904 total",
        "- age   1:   2796",
    );
    let a = analyse_text(&torn);
    assert!(has(&a, Problem::AgeTableInconsistent));
    assert_eq!(collections(&a)[0].ages, None);
    // The next collection's cause needs that table, so it is not guessed.
    assert_ne!(collections(&a)[1].cause.name(), "normal-ageing");
    assert_eq!(collections(&a)[1].ages_before, None);
}

#[test]
fn missing_collections_break_the_chain_of_thresholds() {
    let Some(log) = vector("u17-serial-threshold1.log") else {
        return;
    };
    let without: String = log
        .lines()
        .filter(|l| !l.contains("GC(1) "))
        .map(|l| format!("{l}\n"))
        .collect();
    let a = analyse_text(&without);
    assert!(has(&a, Problem::Gap));
    assert_eq!(collections(&a)[1].threshold_used, None);
}

#[test]
fn other_text_is_not_taken_for_a_log() {
    let a = analyse_text("INFO started in 1.234 s\nsome [text] with GC in it\n");
    assert!(a.is_empty());
    assert!(has(&a, Problem::NotRecognised));
}

#[test]
fn a_line_without_end_is_skipped_in_bounded_memory() {
    let Some(log) = vector("u17-serial-threshold1.log") else {
        return;
    };
    let at = log.find("[2026-11-30T06:32:19.060").unwrap();
    let long = format!("{}{}\n{}", &log[..at], "x".repeat(3 << 20), &log[at..]);
    let a = analyse_text(&long);
    assert!(has(&a, Problem::LineTooLong));
    assert_eq!(collections(&a).len(), 3);
}
