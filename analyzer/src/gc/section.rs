//! What the leak report says about garbage collection: only what there is to say.

use serde::Serialize;

use super::analysis::Analysis;
use super::findings::{self, Advice, Id, Severity};
use super::out::table;

/// The GC section of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Collectors of the JVMs.
    pub collector: String,
    /// Findings, worst first.
    pub findings: Vec<Entry>,
    /// Why leak candidates should wait, and for what; `None` when their ages can be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discount: Option<String>,
}

/// One finding, short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// `PROMO-01`.
    pub id: &'static str,
    /// `critical`, `warn` or `info`.
    pub severity: &'static str,
    /// One line.
    pub title: &'static str,
    /// When, where it is about one collection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Why and what.
    pub story: Vec<String>,
    /// What to type, one option an entry.
    pub advice: Vec<String>,
}

/// The section, or `None` when there is nothing to say: no finding from a warning up, and nothing that
/// speaks against leak candidates. `candidates` says whether the report has any.
pub fn of(analysis: &Analysis, candidates: bool) -> Option<Section> {
    let discount = analysis
        .jvms
        .iter()
        .filter(|_| candidates)
        .find_map(|j| findings::discount(&j.jvm))
        .map(|d| {
            format!(
                "Leak candidates are discounted: {}. They count again after {}.",
                d.why, d.until
            )
        });
    let worth = |severity: Severity, id: Id| {
        severity >= Severity::Warn && id != Id::Pause01 || matches!(id, Id::Age02 | Id::Promo05)
    };
    let mut found: Vec<(Severity, Entry)> = analysis
        .jvms
        .iter()
        .flat_map(|j| j.findings.iter().map(move |f| (j, f)))
        .filter(|(_, f)| worth(f.severity, f.id))
        .map(|(j, f)| {
            let time =
                f.at.and_then(|at| j.jvm.collections.get(at))
                    .map(table::time);
            let advice = f
                .advice
                .chunk_by(|a, b| a.option == b.option)
                .map(|group| {
                    let typed: Vec<String> = group.iter().map(Advice::argument).collect();
                    let cost = group.first().map_or("", |a| a.cost.as_str());
                    format!("{} (cost: {cost})", typed.join(" "))
                })
                .collect();
            let entry = Entry {
                id: f.id.name(),
                severity: f.severity.name(),
                title: f.id.title(),
                time,
                story: f.story.iter().take(2).cloned().collect(),
                advice,
            };
            (f.severity, entry)
        })
        .collect();
    found.sort_by_key(|(severity, _)| std::cmp::Reverse(*severity));
    (discount.is_some() || !found.is_empty()).then(|| Section {
        collector: analysis.collector(),
        findings: found.into_iter().map(|(_, entry)| entry).collect(),
        discount,
    })
}

/// One line for people: severity, id, title, time.
pub fn headline(entry: &Entry) -> String {
    let time = entry
        .time
        .as_deref()
        .map(|t| format!(" (at {t})"))
        .unwrap_or_default();
    format!("{} {}: {}{time}", entry.severity, entry.id, entry.title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::analysis::Builder;
    use crate::input::Input;

    /// A threshold collapse that promotes 23,198 K of a young generation of 400 MiB.
    const COLLAPSE: &str = "\
[0.023s][info][gc] Using Serial
[2.791s][info][gc,start    ] GC(0) Pause Young (Allocation Failure)
[2.896s][debug][gc,age      ] GC(0) Desired survivor size 19038208 bytes, new threshold 1 (max threshold 15)
[2.896s][trace][gc,age      ] GC(0) - age   1:   27963904 bytes,   27963904 total
[2.896s][info ][gc,heap     ] GC(0) DefNew: 333654K(372416K)->27308K(372416K) Eden: 333654K(335232K)->0K(335232K) From: 0K(37184K)->27308K(37184K)
[2.896s][info ][gc,heap     ] GC(0) Tenured: 0K(614400K)->0K(614400K)
[2.896s][info ][gc          ] GC(0) Pause Young (Allocation Failure) 325M->26M(963M) 10.270ms
[3.107s][info][gc,start    ] GC(1) Pause Young (Allocation Failure)
[3.191s][debug][gc,age      ] GC(1) Desired survivor size 19038208 bytes, new threshold 15 (max threshold 15)
[3.191s][trace][gc,age      ] GC(1) - age   1:    4213904 bytes,    4213904 total
[3.145s][info ][gc,heap     ] GC(1) DefNew: 360681K(372416K)->4115K(372416K) Eden: 333372K(335232K)->0K(335232K) From: 27308K(37184K)->4115K(37184K)
[3.145s][info ][gc,heap     ] GC(1) Tenured: 0K(614400K)->23198K(614400K)
[3.145s][info ][gc          ] GC(1) Pause Young (Allocation Failure) 352M->26M(963M) 84.129ms
";
    const FULL: &str = "\
[4.000s][info][gc,start    ] GC(2) Pause Full (System.gc())
[4.100s][info][gc,heap     ] GC(2) DefNew: 4115K(372416K)->0K(372416K)
[4.100s][info][gc,heap     ] GC(2) Tenured: 23198K(614400K)->500K(614400K)
[4.100s][info][gc          ] GC(2) Pause Full (System.gc()) 26M->1M(963M) 30.000ms
";

    fn analyse(log: &str) -> Analysis {
        let mut builder = Builder::default();
        let input = Input::from_bytes("t.log".into(), log.as_bytes().to_vec()).unwrap();
        builder.add(input, &mut |_| {}).unwrap();
        builder.finish()
    }

    #[test]
    fn candidates_wait_until_an_old_collection_has_run() {
        let early = of(&analyse(COLLAPSE), true).unwrap();
        assert!(
            early
                .discount
                .unwrap()
                .contains("an old collection that can clear it")
        );
        assert_eq!(early.findings[0].id, "PROMO-01");
        assert_eq!(of(&analyse(COLLAPSE), false).unwrap().discount, None);
        let cleared = of(&analyse(&format!("{COLLAPSE}{FULL}")), true).unwrap();
        assert_eq!(cleared.discount, None);
    }

    #[test]
    fn nothing_to_say_is_no_section() {
        let quiet: String = COLLAPSE.lines().take(7).map(|l| format!("{l}\n")).collect();
        assert_eq!(of(&analyse(&quiet), true), None);
    }
}
