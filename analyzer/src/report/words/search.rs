//! Searches, refusals and cost in words.

use std::collections::BTreeMap;

use super::super::units;
use crate::model::{Producer, Report, Search, SearchEnd};

/// Why there is no search in the recording.
pub fn no_search(report: &Report) -> String {
    if report.agent.is_none() {
        return "The recording has no agent events: nobody searched.".to_owned();
    }
    if report.cost.refusals.is_empty() {
        "None was started.".to_owned()
    } else {
        "None was started; the start gate refused, by reason:".to_owned()
    }
}

/// One labelled line a search.
pub fn searches(report: &Report) -> Vec<(String, String)> {
    report
        .searches
        .iter()
        .enumerate()
        .map(|(at, search)| {
            let number = search.id.unwrap_or(at as u64 + 1);
            (format!("#{number}"), one_search(search))
        })
        .collect()
}

fn one_search(search: &Search) -> String {
    format!(
        "{}: {}",
        outcome(&search.outcome),
        search_figures(search).join(", ")
    )
}

/// Details that come first, in this order: what a search was about.
const FIRST: [&str; 3] = ["looking for", "resolved", "because"];

/// How a search ended, in words.
pub fn outcome(outcome: &SearchEnd) -> String {
    match outcome {
        SearchEnd::Completed => "completed".to_owned(),
        SearchEnd::Abandoned(reason) => format!("abandoned: {}", abandon_reason(reason)),
        SearchEnd::Stopped => "stopped with its recording".to_owned(),
        SearchEnd::Running => "still running at the end".to_owned(),
    }
}

/// A search's figures, each with its name.
pub fn search_figures(search: &Search) -> Vec<String> {
    let detail = |name: &str| {
        let value = search.details.get(name)?;
        Some(format!("{name} {value}"))
    };
    let mut parts: Vec<String> = FIRST.into_iter().filter_map(detail).collect();
    if let (Some(start), Some(end)) = (search.start, search.end) {
        parts.push(format!("over {}", units::span(end.since(start))));
    }
    parts.push(units::counted(search.passes, "pass", "passes"));
    if let Some(visited) = search.visited {
        parts.push(units::counted(visited, "object visited", "objects visited"));
    }
    if search.producer == Producer::JfrChains {
        let worst = match search.worst_pass_ns.0 {
            0 => String::new(),
            _ => format!(" (worst pass {})", units::span(search.worst_pass_ns)),
        };
        parts.push(format!(
            "{} of heap-walk-call time{worst}",
            units::span(search.heap_walk_call_ns)
        ));
        parts.push(format!(
            "{} of manual-walk time",
            units::span(search.manual_walk_ns)
        ));
    }
    if let Some(coverage) = search.coverage {
        parts.push(format!("coverage {}", units::percent(coverage)));
    }
    parts.extend(
        search
            .details
            .iter()
            .filter(|(name, _)| !FIRST.contains(&name.as_str()))
            .map(|(name, value)| format!("{name} {value}")),
    );
    parts
}

/// An abandonment's reason with what it means; words of other producers as they are.
fn abandon_reason(reason: &str) -> String {
    let meaning = match normal(reason).as_str() {
        "frontiercap" => "the frontier reached its bound before the search was through",
        "rootenumerationerror" => "the JVM failed to enumerate its roots three times",
        "candidatelost" => {
            "the watched objects died or moved out of reach before a chain was found"
        }
        "ttl" => "it took longer than its time limit",
        "noprogress" => "30 passes found nothing new",
        "canarystuck" => "the watched objects could not be reached",
        "memcap" => "the memory bound cut the search",
        _ => return reason.to_owned(),
    };
    format!("{reason} ({meaning})")
}

fn normal(word: &str) -> String {
    word.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// What each gate waits for. Source: search-control, sections 4 to 6.
const GATES: &[(&str, &str)] = &[
    ("safepoint-debt", "the safepoint-cost debt had not drained"),
    ("root-interval", "too soon after the last root enumeration"),
    ("not-armed", "the leak signal was not armed"),
    ("no-candidate", "no class qualified"),
    ("spacing", "least time between passes"),
    ("cpu-debt", "the CPU-cost debt had not drained"),
    ("cpu-cap", "its share of a core was used up"),
    ("backoff", "the last passes brought no progress"),
    ("stop-window", "the cap on heap-walk-call time was reached"),
];

/// `safepoint-debt 12 times (the safepoint-cost debt had not drained), no-candidate 3 times (...)`.
pub fn refusals(refusals: &BTreeMap<String, u64>) -> String {
    refusals
        .iter()
        .map(|(name, count)| {
            let counted = units::counted(*count, "time", "times");
            match GATES.iter().find(|(gate, _)| gate == name) {
                Some((_, why)) => format!("{name} {counted} ({why})"),
                None => format!("{name} {counted}"),
            }
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// What watching and searching cost, as labelled lines.
pub fn cost(report: &Report) -> Vec<(&'static str, String)> {
    let cost = &report.cost;
    if report.agent.is_none() && cost.passes == 0 {
        return Vec::new();
    }
    let mut out = vec![
        (
            "Safepoint",
            format!(
                "{} of heap-walk-call time, worst pass {}",
                units::span(cost.heap_walk_call_ns),
                units::span(cost.worst_pass_ns)
            ),
        ),
        (
            "CPU",
            format!(
                "{} of manual-walk time in {}",
                units::span(cost.manual_walk_ns),
                units::counted(cost.passes, "pass", "passes")
            ),
        ),
    ];
    let mut balances = Vec::new();
    if let Some(balance) = cost.safepoint_balance_ns {
        balances.push(format!("safepoint {}", units::span(balance)));
    }
    if let Some(balance) = cost.cpu_balance_ns {
        balances.push(format!("CPU {}", units::span(balance)));
    }
    if !balances.is_empty() {
        out.push(("Debt left", balances.join(", ")));
    }
    let mut pacing = Vec::new();
    if let Some(budget) = cost.edge_budget {
        pacing.push(format!(
            "effective budget {} edges a pass",
            units::count(budget)
        ));
    }
    if let Some(cadence) = cost.cadence_ns {
        pacing.push(format!("cadence {}", units::span(cadence)));
    }
    if let Some(unresolved) = cost.unresolved_candidates {
        let counted = units::counted(unresolved, "candidate", "candidates");
        pacing.push(format!("{counted} unresolved"));
    }
    match cost.backoff_multiplier {
        Some(0 | 1) => pacing.push("no backoff".to_owned()),
        Some(times) => pacing.push(format!("backoff x {times}")),
        None => {}
    }
    if !pacing.is_empty() {
        out.push(("Pacing", format!("{} at the end", pacing.join(", "))));
    }
    out
}
