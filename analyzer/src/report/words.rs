//! Sentences that every format shares, so that text, Markdown and HTML never disagree.

use std::collections::{BTreeMap, BTreeSet};

use super::{advice, units};
use crate::model::{
    Candidate, Chain, InputInfo, Jvm, Producer, Report, Search, SearchEnd, Skipped, Verdict,
};

/// How the figures may be read (search-control, section 15).
pub const FOOTER: &str = "Heap-walk-call time, manual-walk time, effective budget and cadence, \
    candidate progress and backoff, search outcome and drop counters belong together; none alone \
    establishes application pause, CPU overhead or complete coverage.";

/// The verdict in capitals.
pub const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Leak => "LEAK",
        Verdict::Plateau => "PLATEAU",
        Verdict::NoLeak => "NO LEAK",
        Verdict::NotHeap => "NOT THE HEAP",
        Verdict::Unknown => "UNKNOWN",
    }
}

/// What a person reads first, after the verdict.
pub fn headline(report: &Report) -> String {
    let first = report.chains.iter().find(|chain| chain.noise.is_none());
    match (report.verdict, first) {
        (Verdict::Leak | Verdict::Plateau, Some(chain)) => {
            let grows = match (report.verdict, chain.growth_bytes_per_hour) {
                (Verdict::Leak, Some(rate)) if rate > 0.0 => {
                    let rate = units::rate_per_hour(rate);
                    format!("grows by {} and ", rate.trim_start_matches('+'))
                }
                (Verdict::Plateau, _) => "grew, stopped growing, and ".to_owned(),
                _ => String::new(),
            };
            // The JVM's samples are survivors: nothing says that each is a leak.
            let told = |c: &&Chain| is_leak(c) && c.producer != Producer::Jdk;
            let leaks = report.chains.iter().filter(told).count();
            let more = match leaks.saturating_sub(1) {
                0 => String::new(),
                1 => "; one more below".to_owned(),
                n => format!("; {n} more below"),
            };
            format!("{} {grows}is held by {}{more}", chain.leaf, chain.holder())
        }
        (Verdict::Leak, None) => {
            let class = report
                .candidates
                .iter()
                .find(|c| c.qualifying)
                .map_or("something", |c| c.class.as_str());
            format!("{class} keeps growing; no chain was found")
        }
        (Verdict::Plateau, None) => "what grew has stopped growing".to_owned(),
        (Verdict::NoLeak, _) => "nothing on the Java heap keeps growing".to_owned(),
        (Verdict::NotHeap, _) => "the process grows, the Java heap does not".to_owned(),
        (Verdict::Unknown, Some(_)) => {
            "old objects and what holds them, without a measure of growth".to_owned()
        }
        (Verdict::Unknown, None) => "the recording cannot answer".to_owned(),
    }
}

/// Whether the chain is one that a person has to act on.
fn is_leak(chain: &Chain) -> bool {
    chain.noise.is_none() && !chain.strength.is_lenient()
}

/// The projection as a sentence; `None` when there is nothing to say.
pub fn projection(report: &Report) -> Option<String> {
    let seconds = report.oom.seconds_to_oom?;
    Some(format!(
        "At the last measured rate the memory is full in about {} (a projection).",
        units::seconds(seconds)
    ))
}

/// How full the heap was after the last collection; `None` when it is not told, or for several JVMs.
pub fn heap(report: &Report) -> Option<String> {
    let last = report.heap_floor.last()?;
    if report.heap_floor.iter().any(|point| point.jvm != last.jvm) {
        return None;
    }
    let max = last
        .max_bytes
        .map_or_else(String::new, |max| format!(" of {}", units::bytes(max)));
    Some(format!(
        "Heap after the last collection: {}{max}.",
        units::bytes(last.used_bytes)
    ))
}

/// The projected time to an `OutOfMemoryError`, or why there is none; `None` for other producers.
fn time_to_oom(report: &Report) -> Option<String> {
    if let Some(seconds) = report.oom.seconds_to_oom {
        return Some(format!(
            "projected time to OutOfMemoryError: {}",
            units::seconds(seconds)
        ));
    }
    let why = report.oom.why_not.as_deref()?;
    Some(format!("projected time to OutOfMemoryError: none ({why})"))
}

/// `JDK 17.0.12+7 (OpenJDK 64-Bit Server VM), G1, max heap 256 MiB, pid 42: com.acme.Main`.
pub fn jvm(jvm: &Jvm) -> String {
    let mut parts = Vec::new();
    let version = jvm.version.as_deref().unwrap_or("unknown version");
    // The full version string names the build, the host and more; the first words suffice.
    parts.push(match &jvm.name {
        Some(name) => format!("{name} {}", short_version(version)),
        None => short_version(version).to_owned(),
    });
    parts.extend(jvm.collector.clone());
    if let Some(max) = jvm.max_heap_bytes {
        parts.push(format!("max heap {}", units::bytes(max)));
    }
    if let Some(pid) = jvm.pid {
        parts.push(format!("pid {pid}"));
    }
    let mut out = parts.join(", ");
    if let Some(arguments) = jvm.java_arguments.as_deref().filter(|a| !a.is_empty()) {
        let shown: String = arguments.chars().take(200).collect();
        out.push_str(": ");
        out.push_str(&shown);
    }
    out
}

/// `(17.0.12+7-Debian...)` out of `OpenJDK 64-Bit Server VM (17.0.12+7-Debian...) for linux...`.
fn short_version(version: &str) -> &str {
    let inside = version
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(inside, _)| inside);
    inside.unwrap_or(version)
}

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
    [
        ("Growing, and no chain was found", growing),
        (others_are, others),
    ]
    .into_iter()
    .filter(|(_, classes)| !classes.is_empty())
    .collect()
}

/// How far a class is from a signal, and what it retains.
pub fn candidate(candidate: &Candidate) -> String {
    let mut parts = vec![standing(candidate)];
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

/// The agent's state, as labelled lines.
pub fn agent(report: &Report) -> Vec<(&'static str, String)> {
    let Some(agent) = &report.agent else {
        return Vec::new();
    };
    let mut out = Vec::new();
    if let Some(state) = &agent.state {
        let version = agent
            .version
            .as_ref()
            .map_or_else(String::new, |version| format!(" (version {version})"));
        out.push(("State", format!("{state}{version}")));
    }
    if let Some(configuration) = agent.configuration.as_ref().filter(|c| !c.is_empty()) {
        // A blank after each comma, so that lines can break there.
        out.push(("Options", configuration.replace(',', ", ")));
    }
    for degradation in &agent.degradations {
        out.push(("Limits", degradation.clone()));
    }
    let drops: Vec<_> = agent
        .drops
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{name} {}", units::count(*count)))
        .collect();
    if !drops.is_empty() {
        out.push(("Dropped", drops.join(", ")));
    } else if !agent.drops.is_empty() {
        out.push(("Dropped", "nothing".to_owned()));
    }
    out
}

/// What was read of one input.
pub fn input(input: &InputInfo) -> String {
    let mut out = format!(
        "{}: {}, {}",
        input.path,
        units::counted(input.chunks, "chunk", "chunks"),
        units::counted(input.events, "event", "events")
    );
    if let (Some(start), Some(end)) = (input.start, input.end) {
        out.push_str(&format!(
            ", {} from {}",
            units::span(end.since(start)),
            units::clock(start)
        ));
    }
    out
}

/// Where and why something was skipped.
pub fn skipped(skipped: &Skipped) -> String {
    match skipped.chunk {
        Some(chunk) => format!("chunk {chunk}, offset {}: {}", skipped.offset, skipped.what),
        None => format!("offset {}: {}", skipped.offset, skipped.what),
    }
}

/// What these figures do not say, for this report.
pub fn unknowns(report: &Report) -> Vec<String> {
    let mut out = Vec::new();
    if report
        .chains
        .iter()
        .any(|c| c.coverage.is_some_and(|part| part < 1.0))
    {
        out.push(
            "Part of the heap was not looked at: another path may hold the same objects."
                .to_owned(),
        );
    }
    let told = |c: &Chain| c.producer == Producer::JfrChains;
    if report.chains.iter().any(told) && report.chains.iter().all(|c| c.coverage.is_none()) {
        out.push(
            "Searches stop when they have found what they look for: how much of the heap they saw is \
             not told, and another path may hold the same objects."
                .to_owned(),
        );
    }
    if !report.chains.is_empty() {
        out.push(
            "A chain is one observed path at one moment; bytes are estimates from samples."
                .to_owned(),
        );
    }
    if report.chains.iter().any(|c| c.producer == Producer::Jdk) {
        out.push(
            "jdk.OldObjectSample tells survivors, not growth, and no total per path.".to_owned(),
        );
    }
    if report.agent.is_none() && report.chains.is_empty() {
        out.push("Without chains this report cannot say what holds an object.".to_owned());
    }
    out
}

/// `com.acme.Order held by OrderCache.BY_CUSTOMER`.
pub fn held_by(chain: &Chain) -> String {
    format!("{} held by {}", chain.leaf, chain.holder())
}
