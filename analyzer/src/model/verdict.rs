//! The answer and its reason, from the merged facts.

use std::collections::BTreeMap;

use super::noise::is_jdk_class;
use super::trend::{self, Trend};
use super::{
    Candidate, Chain, EpochNanos, FloorPoint, Nanos, NoChain, Producer, Strength, Verdict,
};
use crate::report::units;

/// Epochs that the signal needs at least: 10 values, the last 5 of them qualifying.
const SIGNAL_EPOCHS: u64 = 14;

/// How long an agent has watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Epochs since it started: an agent that was loaded late has not seen those before.
    pub epochs: u64,
    /// Time since it started, when told.
    pub span: Option<Nanos>,
}

impl Watched {
    /// Folds that it can have made at most: one an epoch, and a second apart.
    /// Source: search-control specification, "Leak signal".
    pub fn folds(self) -> u64 {
        let seconds = self.span.map_or(u64::MAX, |span| span.0 / 1_000_000_000);
        self.epochs.min(seconds)
    }
}

/// What the verdict looks at.
pub struct Evidence<'r> {
    /// Whether our agent was there.
    pub agent: bool,
    /// How long an agent has watched, the longest.
    pub watched: Option<Watched>,
    /// Why the agent did nothing, if it did nothing.
    pub idle: Option<String>,
    /// Watched classes.
    pub candidates: &'r [Candidate],
    /// Chains.
    pub chains: &'r [Chain],
    /// Used heap after collections.
    pub floor: &'r [FloorPoint],
    /// The agent's own word on the floor.
    pub floor_rising: Option<bool>,
    /// Memory outside the heap.
    pub outside: &'r [(&'static str, Vec<(EpochNanos, u64)>)],
    /// Samples of old objects without a path.
    pub old_objects_without_path: u64,
}

/// The answer and why.
pub fn judge(evidence: &Evidence<'_>) -> (Verdict, String) {
    let floor = floor_trend(evidence);
    if evidence.agent {
        with_agent(evidence, floor)
    } else {
        without_agent(evidence, floor)
    }
}

fn with_agent(evidence: &Evidence<'_>, floor: Trend) -> (Verdict, String) {
    if let Some(why) = &evidence.idle {
        return (
            Verdict::Unknown,
            format!("The agent did not work in this JVM: {why}"),
        );
    }
    let watched = || evidence.candidates.iter().filter(|c| c.noise.is_none());
    let told: Vec<&Chain> = own_chains(evidence).collect();
    let qualifying: Vec<&Candidate> = watched().filter(|c| c.qualifying).collect();
    let ours = qualifying.iter().find(|c| !is_jdk_class(&c.class));
    if let Some(first) = ours.or(qualifying.first()) {
        return growing(first, &qualifying, &told);
    }
    let unwatched = told.iter().find(|chain| {
        !evidence
            .candidates
            .iter()
            .any(|c| c.chains.contains(&chain.id))
    });
    if let Some(chain) = unwatched {
        let reason = format!(
            "The agent found what holds {}; the recording no longer tells how it grew.",
            chain.leaf
        );
        return (Verdict::Leak, reason);
    }
    if let Some(settled) = watched().find(|c| c.ever_qualified || is_plateau(c)) {
        let reason = format!(
            "{} grew earlier in the recording and had stopped growing at its end.",
            settled.class
        );
        return (Verdict::Plateau, reason);
    }
    let seen = |c: &Candidate| c.values.is_some();
    let judged = if evidence.candidates.iter().any(seen) {
        evidence.candidates.iter().any(is_decided)
    } else {
        // No class ever survived long enough to be watched: the cycles alone say how long that is.
        evidence
            .watched
            .is_some_and(|watched| watched.folds() >= SIGNAL_EPOCHS)
    };
    if !judged {
        return (Verdict::Unknown, too_early(evidence));
    }
    if floor == Trend::Rising {
        let reason = "The heap after collections rises, yet no class qualifies as a leak \
                      candidate: no chain can be had from this recording."
            .to_owned();
        return (Verdict::Unknown, reason);
    }
    if let Some(reason) = outside(evidence) {
        return (Verdict::NotHeap, reason);
    }
    let early = watched().filter(|c| !is_decided(c)).count() as u64;
    let late = match early {
        0 => String::new(),
        _ => format!(
            " For {} of them it is too early to say.",
            units::count(early)
        ),
    };
    let reason = format!(
        "{} watched, none keeps growing.{late}",
        units::counted(watched().count() as u64, "class was", "classes were")
    );
    (Verdict::NoLeak, reason)
}

/// The reason for a class that qualifies, and whether only soft or weak references hold it.
fn growing(first: &Candidate, all: &[&Candidate], told: &[&Chain]) -> (Verdict, String) {
    let more = match all.len() - 1 {
        0 => String::new(),
        n => format!(" and {} more", units::counted(n as u64, "class", "classes")),
    };
    let mut reason = format!(
        "{}{more} kept growing to the end of the recording",
        first.class
    );
    let held: Vec<&&Chain> = told
        .iter()
        .filter(|chain| all.iter().any(|c| c.chains.contains(&chain.id)))
        .collect();
    let reclaimable = |chain: &&&Chain| matches!(chain.strength, Strength::Soft | Strength::Weak);
    if !held.is_empty() && held.iter().all(reclaimable) {
        reason.push_str(
            ", but only soft or weak references lead to it: the JVM frees it before it runs out.",
        );
        return (Verdict::NoLeak, reason);
    }
    let unheld = first.no_chain.as_ref().is_some_and(NoChain::is_proven);
    if held.is_empty() && unheld && first.confirmed == Some(false) {
        reason.push_str(
            ", but a search of the whole heap found no strong path to it, and no old, mixed or full collection has \
             run since: it may be garbage that awaits one.",
        );
        return (Verdict::Unknown, reason);
    }
    if held.is_empty() && unheld {
        reason.push_str(
            "; a search of the whole heap found no strong path to it, and it outlives collections all the same.",
        );
    } else if held.is_empty() {
        reason.push_str("; no chain to it was found.");
    } else {
        reason.push_str(", and a verified chain says what holds it.");
    }
    if first.confirmed == Some(false) {
        reason.push_str(
            " Unconfirmed: no old, mixed or full collection has run since, so promoted garbage \
             may be part of it.",
        );
    }
    (Verdict::Leak, reason)
}

fn without_agent(evidence: &Evidence<'_>, floor: Trend) -> (Verdict, String) {
    let real = |c: &&Chain| c.noise.is_none() && !c.strength.is_lenient();
    let chain = evidence.chains.iter().find(real);
    let level = floor_words(evidence);
    match (chain, floor) {
        (Some(chain), _) if chain.producer == Producer::Datadog && floor != Trend::Flat => (
            Verdict::Leak,
            format!(
                "The profiler that recorded this searched for what holds {} because its \
                 population grew.{level}",
                chain.leaf
            ),
        ),
        (Some(_), Trend::Rising) => (
            Verdict::Leak,
            format!("Old objects are held by the chains below, and the heap rises.{level}"),
        ),
        (_, Trend::Settled) => (
            Verdict::Plateau,
            format!("The heap after collections rose and then stayed level.{level}"),
        ),
        (_, Trend::Flat) => match outside(evidence) {
            Some(reason) => (Verdict::NotHeap, reason),
            None => (
                Verdict::NoLeak,
                format!(
                    "The heap after collections does not rise.{}",
                    floor_range(evidence)
                ),
            ),
        },
        (None, Trend::Rising) => (
            Verdict::Unknown,
            format!(
                "The heap after collections rises, and the recording holds no chain that says \
                 why.{level}"
            ),
        ),
        (Some(_), Trend::Unknown) => (
            Verdict::Unknown,
            "The recording has chains of old objects, but neither growth nor ten collections to \
             judge by."
                .to_owned(),
        ),
        (None, Trend::Unknown) if !evidence.chains.is_empty() => (
            Verdict::Unknown,
            "The recording has chains of warm-up and of the JDK's own objects only, and neither growth nor ten \
             collections to judge by."
                .to_owned(),
        ),
        (None, Trend::Unknown) if evidence.old_objects_without_path > 0 => (
            Verdict::Unknown,
            "The recording has old objects without their paths to GC roots.".to_owned(),
        ),
        (None, Trend::Unknown) => (
            Verdict::Unknown,
            "The recording has no events of the agent, no chains and too few collections to judge \
             by."
            .to_owned(),
        ),
    }
}

fn own_chains<'r>(evidence: &Evidence<'r>) -> impl Iterator<Item = &'r Chain> {
    evidence
        .chains
        .iter()
        .filter(|c| c.producer == Producer::JfrChains && c.noise.is_none())
}

fn is_plateau(candidate: &Candidate) -> bool {
    candidate.state.as_deref() == Some("plateau")
}

/// Whether it has been watched for long enough to be called growing or not: all its values, and not on the way to its
/// first signal.
fn is_decided(candidate: &Candidate) -> bool {
    let Some(values) = candidate.values else {
        return false;
    };
    let (on_the_way, more) = candidate
        .folds
        .map_or((false, 0), |f| (f.have > 0, f.need.saturating_sub(1)));
    values.have >= values.need + if on_the_way { more } else { 0 }
}

fn too_early(evidence: &Evidence<'_>) -> String {
    let best = evidence
        .candidates
        .iter()
        .filter_map(|c| Some((c, c.values?)))
        .max_by_key(|(_, values)| values.have);
    let progress = match best {
        Some((candidate, values)) => format!(
            "the furthest class, {}, has {} of {} values",
            candidate.class, values.have, values.need
        ),
        None => "no class has a value yet".to_owned(),
    };
    let epochs = evidence.watched.map_or_else(String::new, |watched| {
        let cycles = units::counted(watched.epochs, "collection cycle", "collection cycles");
        match watched.span {
            Some(span) if watched.folds() < watched.epochs => {
                format!(" after {cycles} within {}", units::span(span))
            }
            _ => format!(" after {cycles}"),
        }
    });
    format!(
        "Too early to say: {progress}{epochs}. The signal needs about {SIGNAL_EPOCHS} cycles at least a second \
         apart; a service that rarely collects needs a longer recording."
    )
}

/// The heap that does worst, of all JVMs: its points and trend.
fn worst_floor(evidence: &Evidence<'_>) -> (Vec<FloorPoint>, Trend) {
    let mut by_jvm: BTreeMap<usize, Vec<FloorPoint>> = BTreeMap::new();
    for point in evidence.floor {
        by_jvm.entry(point.jvm).or_default().push(*point);
    }
    let judged = by_jvm.into_values().map(|floor| {
        let trend = trend::of(&points(floor.iter().map(|p| (p.time, p.used_bytes))));
        (floor, trend)
    });
    let badness = |trend: Trend| match trend {
        Trend::Rising => 3,
        Trend::Settled => 2,
        Trend::Flat => 1,
        Trend::Unknown => 0,
    };
    judged
        .max_by_key(|(_, trend)| badness(*trend))
        .unwrap_or((Vec::new(), Trend::Unknown))
}

fn floor_trend(evidence: &Evidence<'_>) -> Trend {
    match (worst_floor(evidence).1, evidence.floor_rising) {
        (Trend::Unknown, Some(true)) => Trend::Rising,
        (trend, _) => trend,
    }
}

fn floor_words(evidence: &Evidence<'_>) -> String {
    let (floor, _) = worst_floor(evidence);
    match (floor.first(), floor.last()) {
        (Some(first), Some(last)) if floor.len() > 1 => format!(
            " It was {} after the first collection and {} after the last, {} later.",
            units::bytes(first.used_bytes),
            units::bytes(last.used_bytes),
            units::span(last.time.since(first.time))
        ),
        _ => String::new(),
    }
}

/// Between what a level heap moves: its first and last value would read like a rise or a fall.
fn floor_range(evidence: &Evidence<'_>) -> String {
    let (floor, _) = worst_floor(evidence);
    let used = || floor.iter().map(|point| point.used_bytes);
    match (used().min(), used().max()) {
        (Some(least), Some(most)) => format!(
            " After {} it was between {} and {}.",
            units::counted(floor.len() as u64, "collection", "collections"),
            units::bytes(least),
            units::bytes(most)
        ),
        _ => String::new(),
    }
}

/// What rises outside the heap, if something does.
fn outside(evidence: &Evidence<'_>) -> Option<String> {
    evidence.outside.iter().find_map(|(what, series)| {
        let trend = trend::of(&points(series.iter().copied()));
        let (first, last) = (series.first()?, series.last()?);
        (trend == Trend::Rising).then(|| {
            format!(
                "The heap after collections does not rise, but {what} does: from {} to {} in {}.",
                units::bytes(first.1),
                units::bytes(last.1),
                units::span(last.0.since(first.0))
            )
        })
    })
}

#[allow(clippy::cast_precision_loss, reason = "sizes and times for a fit")]
fn points(series: impl Iterator<Item = (EpochNanos, u64)>) -> Vec<(f64, f64)> {
    let mut start = None;
    series
        .map(|(time, size)| {
            let start = *start.get_or_insert(time);
            (time.since(start).seconds(), size as f64)
        })
        .collect()
}
