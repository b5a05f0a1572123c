//! Watched classes: which are told without a chain, and where each stands.

use super::super::{advice, units};
use super::no_chain;
use crate::model::{Candidate, NoChain, Report};

/// Watched classes without a chain, growing ones apart, each part with its title.
pub fn watched(report: &Report) -> Vec<(&'static str, Vec<&Candidate>)> {
    let rest = report
        .candidates
        .iter()
        .filter(|c| c.chains.is_empty() && c.noise.is_none());
    let (growing, others): (Vec<_>, Vec<_>) = rest.partition(|c| c.qualifying);
    let others_are = if report.agent.is_some() {
        "Watched, without a signal"
    } else {
        "Old objects without a path"
    };
    let proven = |c: &&Candidate| c.no_chain.as_ref().is_some_and(NoChain::is_proven);
    let (unheld, growing): (Vec<_>, Vec<_>) = growing.into_iter().partition(proven);
    [
        ("Growing, and no chain was found", growing),
        ("Growing, and no strong path leads to it", unheld),
        (others_are, others),
    ]
    .into_iter()
    .filter(|(_, classes)| !classes.is_empty())
    .collect()
}

/// How far a class is from a signal, and what it retains.
pub fn candidate(candidate: &Candidate) -> String {
    let mut parts = vec![standing(candidate)];
    if let Some(why) = &candidate.no_chain {
        parts.push(no_chain(why));
    }
    if let Some(bytes) = candidate.retained_sampled_bytes {
        parts.push(format!("{} retained by samples", units::bytes(bytes)));
    }
    // The rate of a class that does not qualify is noise: it says nothing that a person should act on.
    if let Some(rate) = candidate.growth_bytes_per_hour
        && candidate.qualifying
        && rate.abs() >= 1.0
    {
        parts.push(units::rate_per_hour(rate));
    }
    if let Some(thread) = &candidate.thread {
        parts.push(format!("allocated by thread \"{thread}\""));
    }
    if let Some(frame) = advice::adding_frame(&candidate.stack) {
        parts.push(format!("made in {}", advice::frame_words(frame)));
    }
    parts.join("; ")
}

/// Where a class stands, in words that say what it means.
fn standing(candidate: &Candidate) -> String {
    let folds = candidate.folds.map_or_else(String::new, |p| {
        format!(
            " ({} of {} qualifying folds in a row)",
            p.have.min(p.need),
            p.need
        )
    });
    if candidate.qualifying {
        return "keeps growing: qualifies as a leak candidate".to_owned();
    }
    if candidate.state.as_deref() == Some("old-objects") {
        let count = candidate.instances.unwrap_or(0);
        return units::counted(count, "old object sampled", "old objects sampled");
    }
    if let Some(values) = candidate.values
        && values.have < values.need
    {
        let eta = candidate
            .earliest_signal_ns
            .map_or_else(String::new, |eta| {
                format!(", earliest signal {} after the end", units::span(eta))
            });
        return format!(
            "too early to say: {} of {} values{eta}",
            values.have, values.need
        );
    }
    match candidate.state.as_deref() {
        Some("gone") => "no tracked object is left".to_owned(),
        Some("no-thread") => format!("rises, but no thread that allocates it qualifies{folds}"),
        Some("rising") => format!("rises, not for long enough{folds}"),
        _ if candidate.ever_qualified => format!("grew earlier, not at the end{folds}"),
        Some("plateau") => format!("grew earlier, then stayed level{folds}"),
        _ => format!("no steady growth{folds}"),
    }
}
