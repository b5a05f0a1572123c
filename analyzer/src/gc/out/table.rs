//! The table of notable collections, as text cells for every renderer.

use super::units;
use crate::gc::analysis::Judged;
use crate::gc::findings::series::Series;
use crate::gc::num::rfc3339;
use crate::gc::record::{AgeTable, Cause, Collection, Promoted};
use crate::report::units::counted;

/// Rows shown per JVM.
const ROWS: usize = 16;
/// Rows shown when no finding points at any.
const QUIET_ROWS: usize = 6;

/// Column heads.
pub const HEADS: [&str; 10] = [
    "time",
    "kind",
    "threshold",
    "ages",
    "total",
    "desired",
    "promoted",
    "pause",
    "CPU",
    "cores",
];

/// Column heads where columns are few: ages and the promotion's cause stand below each row.
pub const NARROW: [&str; 9] = [
    "time",
    "kind",
    "threshold",
    "survivors",
    "desired",
    "promoted",
    "pause",
    "CPU",
    "cores",
];

/// One collection for a table of few columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The day, when the time below has one; said once for the rows of one day.
    pub date: Option<String>,
    /// As [`NARROW`] says.
    pub cells: [String; 9],
    /// What has no column: why it promoted, and the bytes of each age.
    pub more: [Option<String>; 2],
}

/// Positions of the collections worth a row, in order: what findings point at, what promoted or paused
/// far beyond the others, and the collection before each of those.
pub fn notable(judged: &Judged) -> Vec<usize> {
    let jvm = &judged.jvm;
    let series = Series::of(jvm);
    let mut scored: Vec<(u64, usize)> = Vec::new();
    for (at, r) in jvm.collections.iter().enumerate() {
        let told = judged.findings.iter().any(|f| f.at == Some(at));
        let early = matches!(r.cause, Cause::Threshold | Cause::Overflow)
            && r.promoted.bytes().is_some_and(|b| Series::material(r, b));
        let failed = r.promotion_failed || r.evacuation_failed || r.refused;
        if told || early || failed || series.is_long(r.pause) {
            let score = if told {
                u64::MAX
            } else {
                r.pause.map_or(0, |p| p.0)
            };
            scored.push((score, at));
        }
    }
    scored.sort_unstable_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
    let most = if judged.findings.is_empty() {
        QUIET_ROWS
    } else {
        ROWS
    };
    scored.truncate(most / 2);
    let mut rows: Vec<usize> = scored
        .into_iter()
        .flat_map(|(_, at)| [at.checked_sub(1), Some(at), Some(at + 1)])
        .flatten()
        .filter(|at| *at < jvm.collections.len())
        .collect();
    rows.sort_unstable();
    rows.dedup();
    if rows.is_empty() {
        rows = (jvm.collections.len().saturating_sub(3)..jvm.collections.len()).collect();
    }
    rows.truncate(most);
    rows
}

/// A row of few columns.
pub fn row(r: &Collection) -> Row {
    let [
        time,
        kind,
        threshold,
        ages,
        total,
        desired,
        _,
        pause,
        cpu,
        cores,
    ] = cells(r);
    let (date, time) = match time.split_once(' ') {
        Some((date, clock)) if r.at.wall.is_some() => (Some(date.to_owned()), clock.to_owned()),
        _ => (None, time),
    };
    let cause = promotion_cause(r).map(|cause| format!("promoted by {cause}"));
    let ages = r.ages.map(|_| format!("ages {ages}"));
    Row {
        date,
        cells: [
            time,
            kind,
            threshold,
            total,
            desired,
            promoted_bytes(r),
            pause,
            cpu,
            cores,
        ],
        more: [cause, ages],
    }
}

/// The cells of one row.
pub fn cells(r: &Collection) -> [String; 10] {
    [
        time(r),
        r.kind.name().to_owned(),
        threshold(r),
        r.ages.map_or_else(|| "-".to_owned(), |t| ages(&t)),
        r.ages
            .map_or_else(|| "-".to_owned(), |t| units::bytes(t.total())),
        r.desired.map_or_else(|| "-".to_owned(), units::bytes),
        promoted(r),
        r.pause.map_or_else(|| "-".to_owned(), |p| p.to_string()),
        r.cpu().map_or_else(|| "-".to_owned(), |c| c.to_string()),
        r.cores()
            .map_or_else(|| "-".to_owned(), |c| format!("{c:.1}")),
    ]
}

/// Wall time to the second where known, otherwise uptime, otherwise the JVM's number.
pub fn time(r: &Collection) -> String {
    if let Some(ns) = r.at.wall {
        let text = rfc3339(ns, r.at.offset_min);
        return text.get(..19).unwrap_or(&text).replace('T', " ");
    }
    if let Some(up) = r.at.uptime {
        return format!("{:.3} s", up.secs());
    }
    r.gc_id
        .map_or_else(|| format!("line {}", r.line), |id| format!("GC({id})"))
}

/// `1 > 15`: used, then what the next collection gets.
pub fn threshold(r: &Collection) -> String {
    let show = |t: Option<u8>| t.map_or_else(|| "?".to_owned(), |t| t.to_string());
    if r.threshold_used.is_none() && r.threshold_next.is_none() {
        return "-".to_owned();
    }
    format!("{} > {}", show(r.threshold_used), show(r.threshold_next))
}

/// `1: 301 MiB, 2: 39.1 MiB`; the oldest ages are summed when there are many.
pub fn ages(table: &AgeTable) -> String {
    let rows: Vec<(u8, u64)> = table.populated().collect();
    if rows.is_empty() {
        return "none".to_owned();
    }
    let shown = if rows.len() > 4 { 3 } else { rows.len() };
    let mut parts: Vec<String> = rows
        .iter()
        .take(shown)
        .map(|(age, bytes)| format!("{age}: {}", units::bytes(*bytes)))
        .collect();
    if let (Some((from, _)), Some((to, _))) = (rows.get(shown), rows.last()) {
        let rest: u64 = rows.iter().skip(shown).map(|(_, b)| *b).sum();
        parts.push(format!("{from}-{to}: {}", units::bytes(rest)));
    }
    parts.join(", ")
}

/// Promoted bytes with their quality and cause.
pub fn promoted(r: &Collection) -> String {
    let cause = promotion_cause(r).map_or_else(String::new, |cause| format!(" ({cause})"));
    format!("{}{cause}", promoted_bytes(r))
}

/// Why a collection promoted; `None` when it promoted nothing, or the input does not tell.
fn promotion_cause(r: &Collection) -> Option<&'static str> {
    let nothing = matches!(r.promoted, Promoted::AtMost(0) | Promoted::NotComputable(_));
    (!nothing && !matches!(r.cause, Cause::None | Cause::Unknown)).then(|| r.cause.name())
}

/// Promoted bytes with their quality.
fn promoted_bytes(r: &Collection) -> String {
    match r.promoted {
        Promoted::Exact(_) if r.cause == Cause::None => "0".to_owned(),
        Promoted::Exact(b) => units::bytes(u64::try_from(b).unwrap_or(0)),
        Promoted::Approximate(b) => format!("~{}", units::bytes(u64::try_from(b).unwrap_or(0))),
        Promoted::AtMost(0) => "0".to_owned(),
        Promoted::AtMost(b) => format!("<= {}", units::bytes(b)),
        Promoted::NotComputable(_) => "?".to_owned(),
    }
}

/// What this input cannot tell, in sentences.
pub fn limits(judged: &Judged) -> Vec<String> {
    let jvm = &judged.jvm;
    let young = || jvm.collections.iter().filter(|r| r.kind.is_young());
    let mut limits = Vec::new();
    if let Some(first) = young().next()
        && first.threshold_used.is_none()
        && jvm.facts.collector.has_age_table()
    {
        limits.push(
            "The threshold of the first collection: the input does not start with the JVM."
                .to_owned(),
        );
    }
    let at_most = young()
        .filter(|r| matches!(r.promoted, Promoted::AtMost(b) if b > 0))
        .count();
    if at_most > 0 {
        limits.push(format!(
            "Exact promoted bytes of {}: whole regions bound them from above; gc+plab=debug in the log has them.",
            counted(at_most as u64, "collection", "collections")
        ));
    }
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for r in &jvm.collections {
        if let Promoted::NotComputable(why) = r.promoted
            && (r.kind.is_young() || r.promotion_failed)
        {
            match reasons.iter_mut().find(|(text, _)| *text == why.text()) {
                Some((_, n)) => *n += 1,
                None => reasons.push((why.text(), 1)),
            }
        }
    }
    for (text, n) in reasons {
        limits.push(format!(
            "Promoted bytes of {}: {text}.",
            counted(n as u64, "collection", "collections")
        ));
    }
    if jvm.facts.recording
        && young().any(|r| r.desired.is_none())
        && jvm.facts.collector.has_age_table()
    {
        limits.push(
            "The desired survivor size of some collections: no event carries it, and a young generation that \
             resizes hides it."
                .to_owned(),
        );
    }
    if young().any(|r| r.threshold_used == Some(1) && r.cause == Cause::Threshold) {
        limits.push(
            "Whether the promoted objects died soon after: only a later collection of the old generation shows it."
                .to_owned(),
        );
    }
    limits
}
