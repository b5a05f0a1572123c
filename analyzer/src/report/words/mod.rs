//! Sentences that every format shares, so that text, Markdown and HTML never disagree.

mod finding;
mod no_chain;
mod search;
mod watched;

use super::units;
use crate::model::{Chain, InputInfo, Jvm, Producer, Report, Skipped, Verdict};

pub use self::finding::{grows, held};
pub use self::no_chain::no_chain;
pub use self::search::{cost, no_search, outcome, refusals, search_figures, searches};
pub use self::watched::{candidate, watched};

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
            let first = report.candidates.iter().find(|c| c.qualifying);
            let class = first.map_or("something", |c| c.class.as_str());
            let why = first.and_then(|c| c.no_chain.as_ref());
            let why = why.map_or_else(|| "no chain was found".to_owned(), no_chain);
            format!("{class} keeps growing; {why}")
        }
        (Verdict::Plateau, None) => "what grew has stopped growing".to_owned(),
        (Verdict::NoLeak, _) => "nothing on the Java heap keeps growing".to_owned(),
        (Verdict::NotHeap, _) => "the process grows, the Java heap does not".to_owned(),
        (Verdict::Unknown, Some(_)) => {
            "old objects and what holds them, without a measure of growth".to_owned()
        }
        (Verdict::Unknown, None) => {
            let unheld = report.candidates.iter().find_map(|c| {
                let why = c.no_chain.as_ref().filter(|why| why.is_proven())?;
                (c.qualifying && c.noise.is_none()).then(|| (c.class.as_str(), no_chain(why)))
            });
            match unheld {
                Some((class, why)) => format!("{class} keeps growing; {why}"),
                None => "the recording cannot answer".to_owned(),
            }
        }
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
