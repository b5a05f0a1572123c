//! The rules of a check, in the order in which a chain meets them.

use jiff::civil::Date;

use super::policy::{Action, FailByDefault};
use super::{Baseline, Damage, Finding, Level, Outcome, Policy, Rule, path_text};
use crate::model::{Candidate, Chain, InputInfo, Producer, Report, Verdict};
use crate::report::{advice, units, words};

/// Judges `report` on the day `today`.
pub fn evaluate(report: &Report, baseline: &Baseline, policy: &Policy, today: Date) -> Outcome {
    let mut findings = Vec::new();
    for chain in &report.chains {
        findings.push(standing(report, chain, baseline, policy, today));
        findings.extend(limits(chain, policy));
    }
    for candidate in &report.candidates {
        findings.extend(growing(report, candidate, policy));
    }
    findings.extend(cost(report, policy));
    findings.extend(undecided(report, policy));
    findings.extend(demanded(report, policy));
    findings.extend(stale(report, baseline));
    Outcome {
        findings,
        analysed: report.is_analysed(),
        reason: report.reason.clone(),
        unreadable: Vec::new(),
        damaged: report.inputs.iter().filter_map(damage).collect(),
        damage: match policy.damaged {
            FailByDefault::Fail => Level::Error,
            FailByDefault::Note => Level::Note,
        },
    }
}

/// What of an input was not read; `None` when all of it was, and when nothing was: that is no damage but an
/// input that cannot be read.
fn damage(input: &InputInfo) -> Option<Damage> {
    (input.chunks > 0 && !input.skipped.is_empty()).then(|| Damage {
        path: input.path.clone(),
        parts: input.skipped.iter().map(words::skipped).collect(),
        read: format!(
            "{} of {}",
            units::counted(input.events, "event", "events"),
            units::counted(input.chunks, "chunk", "chunks")
        ),
    })
}

/// What the chain is, before any limit.
fn standing(
    report: &Report,
    chain: &Chain,
    baseline: &Baseline,
    policy: &Policy,
    today: Date,
) -> Finding {
    let held = words::held_by(chain);
    if let Some(entry) = baseline.entry(chain) {
        let whom = if entry.owner.is_empty() {
            String::new()
        } else {
            format!(" ({})", entry.owner)
        };
        return match entry.expires {
            Some(last) if last < today => finding(
                chain,
                Rule::ExpiredChain,
                Level::Error,
                format!("{held}; accepted until {last}{whom}: {}", entry.reason),
            ),
            _ => finding(
                chain,
                Rule::AcceptedChain,
                Level::Note,
                format!("{held}; accepted{whom}: {}", entry.reason),
            ),
        };
    }
    let note = |rule: Rule, action: Action, why: &str| {
        let level = match action {
            Action::Note => Level::Note,
            Action::Fail => Level::Error,
        };
        finding(chain, rule, level, format!("{held}: {why}"))
    };
    if let Some(noise) = chain.noise {
        return note(Rule::NoiseChain, policy.noise, noise.reason);
    }
    if chain.strength.is_lenient() {
        let why = chain.strength.note().unwrap_or_default();
        return note(Rule::ReclaimableChain, policy.reclaimable, why);
    }
    if chain.producer == Producer::Jdk && report.verdict != Verdict::Leak {
        let why = "an old object that the JVM sampled; nothing says that its class grows";
        return note(Rule::Survivor, policy.survivors, why);
    }
    let ignored =
        policy.ignore_roots.contains(&chain.root.kind) || policy.ignores_class(&chain.leaf);
    let level = if ignored { Level::Note } else { Level::Error };
    let mut message = held;
    if let Some(rate) = chain.growth_bytes_per_hour {
        message.push_str(&format!(", {}", units::rate_per_hour(rate)));
    }
    if let Some(instances) = chain.instances {
        let instances = units::counted(instances, "instance", "instances");
        message.push_str(&format!(", {instances}"));
    }
    if ignored {
        message.push_str(" (ignored by the policy)");
    }
    finding(chain, Rule::UnknownChain, level, message)
}

fn finding(chain: &Chain, rule: Rule, level: Level, message: String) -> Finding {
    Finding {
        rule,
        level,
        subject: chain.leaf.clone(),
        message,
        chain: Some(chain.id.clone()),
        path: path_text(chain),
        place: advice::adding_frame(&chain.stack).cloned(),
    }
}

/// Limits bind accepted chains too: what was accepted was not "any amount".
fn limits(chain: &Chain, policy: &Policy) -> Vec<Finding> {
    let mut out = Vec::new();
    if let (Some(most), Some(instances)) = (policy.max_instances, chain.instances)
        && instances > most
    {
        let message = format!(
            "{}: {} instances, {} allowed",
            words::held_by(chain),
            units::count(instances),
            units::count(most)
        );
        out.push(finding(
            chain,
            Rule::TooManyInstances,
            Level::Error,
            message,
        ));
    }
    #[allow(clippy::cast_precision_loss, reason = "a limit for an estimate")]
    if let (Some(most), Some(rate)) = (policy.max_growth_per_hour, chain.growth_bytes_per_hour)
        && rate > most.0 as f64
    {
        let message = format!(
            "{}: {}, {} allowed",
            words::held_by(chain),
            units::rate_per_hour(rate),
            units::rate_per_hour(most.0 as f64)
        );
        out.push(finding(chain, Rule::TooMuchGrowth, Level::Error, message));
    }
    out
}

fn growing(report: &Report, candidate: &Candidate, policy: &Policy) -> Option<Finding> {
    if !candidate.qualifying || !candidate.chains.is_empty() || candidate.noise.is_some() {
        return None;
    }
    // The run ended before its search: what is made beside the objects of a chain belongs to them.
    let beside = report.chains.iter().find(|chain| {
        let method = |stack| advice::adding_frame(stack).map(|f| (&f.class, &f.method));
        method(&chain.stack).is_some() && method(&chain.stack) == method(&candidate.stack)
    });
    let ignored = policy.growing_classes == FailByDefault::Note
        || policy.ignores_class(&candidate.class)
        || report.verdict != Verdict::Leak
        || beside.is_some();
    let beside = beside.map_or_else(String::new, |chain| {
        format!("; made beside what {} holds", chain.holder())
    });
    Some(Finding {
        rule: Rule::GrowingClass,
        level: if ignored { Level::Note } else { Level::Error },
        subject: candidate.class.clone(),
        message: format!(
            "{}: {}{beside}",
            candidate.class,
            words::candidate(candidate)
        ),
        chain: None,
        path: String::new(),
        place: advice::adding_frame(&candidate.stack).cloned(),
    })
}

fn cost(report: &Report, policy: &Policy) -> Option<Finding> {
    let most = policy.max_heap_walk_call_time?.0;
    let spent = report.cost.heap_walk_call_ns;
    (spent > most).then(|| {
        plain(
            Rule::TooMuchHeapWalkTime,
            Level::Error,
            "heap-walk-call time",
            format!(
                "searches took {} of heap-walk-call time, {} allowed",
                units::span(spent),
                units::span(most)
            ),
        )
    })
}

fn undecided(report: &Report, policy: &Policy) -> Option<Finding> {
    let demanded = policy.undecided == Action::Fail && report.is_analysed();
    (demanded && report.verdict == Verdict::Unknown).then(|| {
        plain(
            Rule::Undecided,
            Level::Error,
            "verdict",
            report.reason.clone(),
        )
    })
}

fn demanded(report: &Report, policy: &Policy) -> Vec<Finding> {
    policy
        .demand_classes
        .iter()
        .filter(|class| {
            let watched = report.candidates.iter().any(|c| &c.class == *class);
            let held = report.chains.iter().any(|c| {
                &c.leaf == *class
                    || c.candidate_class.as_ref() == Some(*class)
                    || c.hops.iter().any(|hop| &hop.class == *class)
            });
            !watched && !held
        })
        .map(|class| {
            plain(
                Rule::ClassNotWatched,
                Level::Error,
                class,
                format!(
                    "{class} was never among the watched classes: the check says nothing of it"
                ),
            )
        })
        .collect()
}

fn stale(report: &Report, baseline: &Baseline) -> Vec<Finding> {
    if !report.is_analysed() {
        return Vec::new();
    }
    baseline
        .entries
        .iter()
        .filter(|(id, entry)| !report.chains.iter().any(|chain| entry.accepts(id, chain)))
        .map(|(id, entry)| {
            let message = format!("{} was not seen: the entry may go", entry.leaf);
            Finding {
                chain: Some(id.clone()),
                ..plain(Rule::StaleEntry, Level::Note, &entry.leaf, message)
            }
        })
        .collect()
}

fn plain(rule: Rule, level: Level, subject: &str, message: String) -> Finding {
    Finding {
        rule,
        level,
        subject: subject.to_owned(),
        message,
        chain: None,
        path: String::new(),
        place: None,
    }
}
