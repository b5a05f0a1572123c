//! What the findings say of the governing case, of the vectors and the corpus, and of controls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod gc_shared;

use std::fmt::Write as _;
use std::path::Path;

use gc_shared::{analyse, analyse_text, shared};
use jfr_chains_analyzer::gc::analysis::{Analysis, Builder};
use jfr_chains_analyzer::gc::findings::{Advice, FlagValue, Id, Severity};
use jfr_chains_analyzer::gc::out::{json, text};
use jfr_chains_analyzer::gc::record::Cause;
use jfr_chains_analyzer::input::Input;

fn ids(a: &Analysis) -> Vec<&'static str> {
    a.findings().map(|f| f.id.name()).collect()
}

#[test]
fn the_governing_case_comes_out_right() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let a = analyse(&dir.join("doc-jdk7-parnew.log"));
    let gcs = &a.jvms[0].jvm.collections;
    assert_eq!(gcs[0].threshold_next, Some(1));
    assert_eq!(gcs[0].threshold_used, None);
    let promoted: Vec<u64> = gcs
        .iter()
        .map(|r| r.promoted.bytes().unwrap() / 1024)
        .collect();
    assert_eq!(promoted, [0, 372_487, 0]);
    let causes: Vec<Cause> = gcs.iter().map(|r| r.cause).collect();
    assert_eq!(causes, [Cause::None, Cause::Threshold, Cause::None]);
    assert_eq!(ids(&a), ["PROMO-01", "PROMO-05", "PROMO-07"]);
    assert_eq!(a.worst(), Some(Severity::Critical));

    let v = json::value(&a);
    let f = &v["findings"][0];
    assert_eq!(f["severity"], "critical");
    let sized = &f["advice"][0];
    assert_eq!(sized["argument"], "-XX:SurvivorRatio=3");
    assert_eq!(sized["flag"], "SurvivorRatio");
    assert_eq!(sized["value"], 3);
    assert_eq!(sized["expect"]["desired"], 429_490_176);
    assert_eq!(sized["expect"]["eden_change"], -0.25);
    assert_eq!(f["advice"][1]["argument"], "jcmd PID GC.run");
    assert_eq!(f["evidence"]["promoted"], 372_487 * 1024);
    assert_eq!(f["evidence"]["desired"], 214_728_704);
    assert_eq!(f["evidence"]["ages_before"]["1"], 315_529_928);
    let avoid = f["avoid"].to_string();
    assert!(avoid.contains("MaxTenuringThreshold"), "{avoid}");
    assert!(avoid.contains("TargetSurvivorRatio"), "{avoid}");
    assert!(
        avoid.contains("SurvivorRatio=4 holds it, and the threshold would still be 3"),
        "{avoid}"
    );
    // 227,024 K of young-after in the long pause is buffer waste.
    assert_eq!(
        v["findings"][2]["evidence"]["waste"].as_u64().unwrap() / 1024,
        227_023
    );
}

#[test]
fn the_schema_of_the_command_line_page_is_kept() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let v = json::value(&analyse(&dir.join("u17-serial-threshold1.log")));
    assert_eq!(v["schema"], "jfr-chains/gc/1");
    assert_eq!(v["collector"], "Serial");
    for key in [
        "time",
        "kind",
        "threshold_used",
        "threshold_next",
        "max_threshold",
        "ages",
        "desired",
        "promoted_bytes",
        "promoted_exact",
        "cause",
        "pause_ns",
        "cpu_ns",
    ] {
        assert!(v["collections"][1].get(key).is_some(), "{key}");
    }
    assert_eq!(
        v["collections"][1]["time"],
        "2026-11-30T06:32:19.060000000Z"
    );
    assert_eq!(v["collections"][1]["cause"], "threshold");
    for key in ["id", "severity", "evidence", "advice"] {
        assert!(v["findings"][0].get(key).is_some(), "{key}");
    }
}

#[test]
fn low_thresholds_without_harm_are_no_premature_promotion() {
    let Some(dir) = shared("corpus/gclog") else {
        return;
    };
    // Parallel's adaptive sizing lowers its threshold to 1 in 210 of 221 collections.
    let a = analyse(&dir.join("949_par.par.wd.wt.log"));
    assert!(
        !a.findings().any(|f| f.id.is_premature_promotion()),
        "{:?}",
        ids(&a)
    );
}

/// A Serial log whose survivor space is small and whose threshold is 1, but where nothing lives on.
fn harmless(promoted_kib: u64) -> String {
    let mut log = String::from("[0.010s][info][gc] Using Serial\n");
    let mut old = 1000;
    for id in 0..12 {
        let t = id + 1;
        let _ = write!(
            log,
            "[{t}.000s][info][gc,start] GC({id}) Pause Young (Allocation Failure)\n\
             [{t}.001s][debug][gc,age] GC({id}) Desired survivor size 3342336 bytes, new threshold 1 (max threshold 15)\n\
             [{t}.001s][trace][gc,age] GC({id}) Age table:\n\
             [{t}.001s][trace][gc,age] GC({id}) - age   1:    3400000 bytes,    3400000 total\n\
             [{t}.001s][info][gc,heap] GC({id}) DefNew: 55800K(59008K)->3320K(59008K) Eden: 52480K(52480K)->0K(52480K) From: 3320K(6528K)->3320K(6528K)\n\
             [{t}.001s][info][gc,heap] GC({id}) Tenured: {old}K(196608K)->{}K(196608K)\n\
             [{t}.001s][info][gc] GC({id}) Pause Young (Allocation Failure) 55M->4M(249M) 5.000ms\n",
            old + promoted_kib,
        );
        old += promoted_kib;
    }
    log
}

#[test]
fn fragmented_survivors_with_threshold_one_are_harmless_until_they_promote() {
    let quiet = analyse_text(&harmless(100));
    assert!(
        !quiet.findings().any(|f| f.id.is_premature_promotion()),
        "{:?}",
        ids(&quiet)
    );
    // The same log with every cohort promoted is the chronic case.
    let harm = analyse_text(&harmless(3320));
    assert!(ids(&harm).contains(&"PROMO-03"), "{:?}", ids(&harm));
}

#[test]
fn a_healthy_log_gives_no_finding() {
    let mut log = String::from("[0.010s][info][gc] Using Serial\n");
    for id in 0..12 {
        let t = id + 1;
        let _ = write!(
            log,
            "[{t}.000s][info][gc,start] GC({id}) Pause Young (Allocation Failure)\n\
             [{t}.001s][debug][gc,age] GC({id}) Desired survivor size 3342336 bytes, new threshold 15 (max threshold 15)\n\
             [{t}.001s][trace][gc,age] GC({id}) Age table:\n\
             [{t}.001s][trace][gc,age] GC({id}) - age   1:     400000 bytes,     400000 total\n\
             [{t}.001s][info][gc,heap] GC({id}) DefNew: 52800K(59008K)->390K(59008K) Eden: 52480K(52480K)->0K(52480K) From: {}K(6528K)->390K(6528K)\n\
             [{t}.001s][info][gc,heap] GC({id}) Tenured: 900K(196608K)->900K(196608K)\n\
             [{t}.001s][info][gc] GC({id}) Pause Young (Allocation Failure) 52M->1M(249M) 2.000ms\n\
             [{t}.001s][info][gc,cpu] GC({id}) User=0.00s Sys=0.00s Real=0.00s\n",
            if id == 0 { 0 } else { 390 }
        );
    }
    let a = analyse_text(&log);
    assert_eq!(a.jvms[0].jvm.totals.young, 12);
    assert_eq!(ids(&a), Vec::<&str>::new());
}

#[test]
fn a_collapse_on_g1_names_the_region_arithmetic() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let a = analyse(&dir.join("u25-g1-adaptive-overflow.log"));
    let small = a.findings().find(|f| f.id == Id::Promo04).unwrap();
    assert_eq!(small.advice[0].flag, Some("NewSize"));
    let causes: Vec<Cause> = a.jvms[0].jvm.collections.iter().map(|r| r.cause).collect();
    assert_eq!(
        causes,
        [
            Cause::Overflow,
            Cause::Threshold,
            Cause::Threshold,
            Cause::None
        ]
    );
}

#[test]
fn failures_and_humongous_objects_are_told_apart_from_promotion() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let a = analyse(&dir.join("u25-g1-humongous-evacfail.log"));
    assert_eq!(ids(&a), ["PROMO-09", "PROMO-10"]);
    let a = analyse(&dir.join("u17-serial-alwaystenure.log"));
    assert_eq!(ids(&a), ["PROMO-08"]);
    let a = analyse(&dir.join("u17-parallel-overflow.log"));
    let f = a.findings().find(|f| f.id == Id::Promo02).unwrap();
    let typed: Vec<String> = f
        .advice
        .iter()
        .filter(|a| a.option == 'A')
        .map(|a| a.argument())
        .collect();
    assert!(
        typed.contains(&"-XX:-UseAdaptiveSizePolicy".to_owned()),
        "{typed:?}"
    );
    assert!(typed[0].starts_with("-XX:SurvivorRatio="), "{typed:?}");
}

/// No advice asks for a young generation that the heap it names cannot hold.
#[test]
fn a_young_generation_beyond_the_heap_comes_with_a_heap() {
    let (Some(vectors), Some(corpus)) = (shared("vectors/gc"), shared("corpus/gclog")) else {
        return;
    };
    let number = |group: &[Advice], flag| {
        group.iter().find_map(|a| match a.value {
            FlagValue::Number(n) if a.flag == Some(flag) => Some(n),
            _ => None,
        })
    };
    let mut beyond = 0;
    for entry in [vectors, corpus]
        .iter()
        .flat_map(|dir| std::fs::read_dir(dir).unwrap())
    {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "log") {
            continue;
        }
        for judged in analyse(&path).jvms {
            let heap = judged
                .jvm
                .collections
                .iter()
                .filter_map(|r| r.heap?.cap)
                .max();
            for finding in &judged.findings {
                for group in finding.advice.chunk_by(|a, b| a.option == b.option) {
                    let Some((young, heap)) = number(group, "NewSize").zip(heap) else {
                        continue;
                    };
                    let asked = number(group, "MaxHeapSize");
                    assert!(asked.unwrap_or(heap) > young, "{path:?} {group:?}");
                    assert_eq!(asked.is_some(), young >= heap, "{path:?} {group:?}");
                    beyond += u32::from(asked.is_some());
                }
            }
        }
    }
    assert!(beyond > 0);
}

/// The generated table of docs/gc.md: every vector and corpus log with its findings.
#[test]
fn the_table_of_the_docs_is_what_the_analysis_says() {
    let (Some(vectors), Some(corpus), Some(recordings)) = (
        shared("vectors/gc"),
        shared("corpus/gclog"),
        shared("corpus/jfr"),
    ) else {
        return;
    };
    let mut table = String::from(
        "| input | collector | young | full | cycles | thresholds low | promoted | findings |\n|---|---|---|---|---|---|---|---|\n",
    );
    for dir in [vectors, corpus, recordings] {
        let mut paths: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "log" || e == "jfr"))
            .collect();
        paths.sort();
        for path in paths {
            row(&path, &mut table);
        }
    }
    keep_current("findings", &table);
}

/// Every log of the vectors and the corpus, in order.
fn logs() -> Vec<std::path::PathBuf> {
    let mut out: Vec<_> = ["vectors/gc", "corpus/gclog"]
        .into_iter()
        .filter_map(shared)
        .flat_map(|dir| std::fs::read_dir(dir).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.extension().is_none_or(|e| e != "json"))
        .collect();
    out.sort();
    out
}

fn text_of(a: &Analysis) -> String {
    let mut out = Vec::new();
    text::write(a, &mut out).unwrap();
    anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
}

#[test]
fn the_text_keeps_to_80_columns_and_its_table_loses_nothing() {
    for path in logs() {
        let mut builder = Builder::default();
        let input = Input::from_bytes("gc.log".into(), std::fs::read(&path).unwrap()).unwrap();
        if builder.add(input, &mut |_| {}).is_err() {
            continue;
        }
        let a = builder.finish();
        let printed = text_of(&a);
        for line in printed.lines() {
            // A flag is never broken.
            let word = line.trim_start();
            assert!(
                line.chars().count() <= 80 || word.starts_with('-') && !word.contains(' '),
                "{}: {line}",
                path.display()
            );
        }
        let letters: String = printed.split_whitespace().collect();
        for judged in &a.jvms {
            for at in jfr_chains_analyzer::gc::out::table::notable(judged) {
                let cells = jfr_chains_analyzer::gc::out::table::cells(&judged.jvm.collections[at]);
                // Ages, total, desired, pause, CPU and cores; the date stands above the time.
                for cell in [3, 4, 5, 7, 8, 9].map(|at| &cells[at]) {
                    let cell: String = cell.split_whitespace().collect();
                    assert!(
                        letters.contains(&cell),
                        "{}: {cell}\n{printed}",
                        path.display()
                    );
                }
            }
        }
    }
}

#[test]
fn no_advice_leaves_everything_as_it_is() {
    let mut sized = 0;
    for path in logs() {
        let a = analyse_if_readable(&path);
        for advice in a
            .iter()
            .flat_map(Analysis::findings)
            .flat_map(|f| &f.advice)
        {
            let Some(expect) = advice.expect else {
                continue;
            };
            sized += 1;
            assert!(
                expect.eden_change.abs() > 0.001,
                "{}: {} changes nothing",
                path.display(),
                advice.argument()
            );
        }
    }
    assert!(sized > 4 || logs().is_empty(), "{sized}");
}

fn analyse_if_readable(path: &Path) -> Option<Analysis> {
    let mut builder = Builder::default();
    builder.add(Input::open(path).ok()?, &mut |_| {}).ok()?;
    Some(builder.finish())
}

#[test]
fn a_g1_log_whose_eden_went_beyond_its_target_is_sized_by_the_target() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    // 25 regions in use, and a survivor limit of 3 at ratio 8: the target was 24 at most.
    let a = analyse(&dir.join("u17-g1-threshold1.log"));
    let advice = &a.jvms[0].findings[0].advice[0];
    assert_eq!(advice.argument(), "-XX:SurvivorRatio=7");
    let expect = advice.expect.unwrap();
    assert_eq!(expect.desired, 4 * (16 << 20) / 2);
    // Eden: 20 of 24 regions instead of 21.
    assert!((expect.eden_change + 1.0 / 21.0).abs() < 1e-9, "{expect:?}");
}

/// The generated example of docs/gc.md: the governing case as the command prints it.
#[test]
fn the_example_of_the_docs_is_what_the_command_prints() {
    let Some(dir) = shared("vectors/gc") else {
        return;
    };
    let log = std::fs::read(dir.join("doc-jdk7-parnew.log")).unwrap();
    let mut builder = Builder::default();
    let input = Input::from_bytes("gc.log".into(), log).unwrap();
    builder.add(input, &mut |_| {}).unwrap();
    let mut out = Vec::new();
    text::write(&builder.finish(), &mut out).unwrap();
    let printed = String::from_utf8(out).unwrap();
    let plain = anstream::adapter::strip_str(&printed).to_string();
    keep_current(
        "example",
        &format!("```\n$ jfr-chains gc gc.log\n{plain}```\n"),
    );
}

/// Compares a generated block of docs/gc.md; `JFR_CHAINS_BLESS` rewrites it.
fn keep_current(block: &str, want: &str) {
    // Tests of one process run at the same time.
    static FILE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = FILE.lock().unwrap();
    let doc = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/gc.md");
    let text = std::fs::read_to_string(&doc).unwrap();
    let start = format!("<!-- generated: {block} -->\n");
    let end = "<!-- end -->";
    let (head, rest) = text.split_once(&start).unwrap();
    let (old, tail) = rest.split_once(end).unwrap();
    if old == want {
        return;
    }
    if std::env::var_os("JFR_CHAINS_BLESS").is_some() {
        std::fs::write(&doc, format!("{head}{start}{want}{end}{tail}")).unwrap();
        return;
    }
    panic!("docs/gc.md is out of date; run with JFR_CHAINS_BLESS=1:\n{want}");
}

fn row(path: &Path, table: &mut String) {
    let mut builder = Builder::default();
    let read = builder.add(Input::open(path).unwrap(), &mut |_| {});
    let a = builder.finish();
    let name = path.file_name().unwrap().to_string_lossy();
    let short = if name.len() > 40 { &name[..40] } else { &name };
    if read.is_err() {
        let _ = writeln!(
            table,
            "| {short} | - | - | - | - | - | - | cannot be read |"
        );
        return;
    }
    if a.is_empty() {
        let _ = writeln!(
            table,
            "| {short} | - | 0 | 0 | 0 | - | - | nothing was analysed |"
        );
        return;
    }
    let t = a.jvms.iter().fold([0u64; 6], |mut t, j| {
        let j = &j.jvm.totals;
        for (sum, add) in t.iter_mut().zip([
            j.young,
            j.full,
            j.cycles,
            j.low_threshold,
            j.with_threshold,
            j.promoted,
        ]) {
            *sum += add;
        }
        t
    });
    let findings: Vec<String> = a
        .findings()
        .map(|f| format!("{} {}", f.id.name(), f.severity.name()))
        .collect();
    let _ = writeln!(
        table,
        "| {short} | {} | {} | {} | {} | {} of {} | {} K | {} |",
        a.collector(),
        t[0],
        t[1],
        t[2],
        t[3],
        t[4],
        t[5] / 1024,
        if findings.is_empty() {
            "none".to_owned()
        } else {
            findings.join(", ")
        }
    );
}
