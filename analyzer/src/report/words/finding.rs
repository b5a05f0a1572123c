//! One finding: what grows, how many there are, where it was seen.

use std::collections::BTreeSet;

use super::super::units;
use super::{is_leak, time_to_oom};
use crate::model::{Chain, Producer, Report, Verdict};

/// What grows, in one or two sentences.
pub fn grows(report: &Report, chain: &Chain) -> Vec<String> {
    let mut out = Vec::new();
    let mut parts = Vec::new();
    if let Some(rate) = chain.growth_bytes_per_hour.filter(|rate| rate.abs() >= 1.0) {
        parts.push(units::rate_per_hour(rate));
    }
    if let Some(bytes) = chain.retained_sampled_bytes {
        parts.push(format!("{} retained by samples", units::bytes(bytes)));
    }
    if let Some(age) = chain.age_epochs {
        parts.push(format!(
            "{} old",
            units::counted(age, "GC epoch", "GC epochs")
        ));
    }
    if !parts.is_empty() {
        out.push(parts.join(", "));
    }
    let own = report
        .candidates
        .iter()
        .filter(|candidate| candidate.chains.contains(&chain.id));
    for candidate in own {
        if candidate.qualifying && candidate.confirmed == Some(false) {
            out.push(
                "unconfirmed: no old, mixed or full collection has run since it qualified"
                    .to_owned(),
            );
            break;
        }
    }
    if is_leak(chain) && report.verdict == Verdict::Leak && chain.producer == Producer::JfrChains {
        out.extend(time_to_oom(report));
    }
    if !chain.also_held.is_empty() {
        let held = list(&chain.also_held);
        out.push(if chain.retained_sampled_bytes.is_some() {
            format!("with it counted, since the same holder keeps them: {held}")
        } else {
            format!("the same holder keeps {held}")
        });
    }
    out.extend(recordings(report, chain));
    if let (Some(first), Some(last)) = (chain.first_seen, chain.last_seen)
        && last.since(first).0 >= 1_000_000_000
    {
        out.push(format!(
            "chain seen over {}",
            units::span(last.since(first))
        ));
    }
    out
}

/// In how many recordings and JVMs a chain is, when there are several.
fn recordings(report: &Report, chain: &Chain) -> Option<String> {
    let all = report.inputs.len();
    if all < 2 {
        return None;
    }
    let of = |positions: &mut dyn Iterator<Item = usize>| -> usize {
        let jvms: BTreeSet<_> = positions
            .filter_map(|at| report.inputs.get(at)?.jvm)
            .collect();
        jvms.len()
    };
    let mut out = format!("in {} of {all} recordings", chain.seen_in.len());
    let known = of(&mut (0..all));
    if known > 1 {
        let seen = of(&mut chain.seen_in.iter().copied());
        out.push_str(&format!(", {seen} of {known} JVMs"));
    }
    Some(out)
}

/// `a, b and 3 more`.
fn list(classes: &[String]) -> String {
    let shown: Vec<&str> = classes.iter().take(3).map(String::as_str).collect();
    match classes.len().saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// How many the path holds and how much was looked at.
pub fn held(chain: &Chain) -> String {
    let mut parts = Vec::new();
    if let Some(instances) = chain.instances {
        let counted = match chain.producer {
            Producer::JfrChains => units::counted(instances, "instance", "instances"),
            _ => units::counted(instances, "sampled instance", "sampled instances"),
        };
        parts.push(format!("{counted} on this path"));
    }
    if let Some(share) = chain.share {
        parts.push(format!("{} of those reached", units::percent(share)));
    }
    if let Some(coverage) = chain.coverage {
        parts.push(format!("coverage {} of the heap", units::percent(coverage)));
    }
    match chain.producer {
        Producer::JfrChains => {}
        Producer::Jdk => parts.push("from jdk.OldObjectSample".to_owned()),
        Producer::Datadog => parts.push("from datadog.ReferenceChain".to_owned()),
    }
    parts.join(", ")
}
