//! The report as the template sees it: strings, and nothing to compute.

use serde::Serialize;

use super::plot::{self, Plot};
use super::tree::{self, Node};
use crate::model::{Candidate, Chain, Report, SearchEnd, Verdict};
use crate::report::words::search_figures;
use crate::report::{advice, path, stack, units, words};

/// Everything on the page.
#[derive(Serialize)]
pub struct View {
    verdict: &'static str,
    verdict_class: &'static str,
    headline: String,
    reason: String,
    projection: Option<String>,
    jvms: Vec<String>,
    hints: Vec<String>,
    cards: Vec<Card>,
    findings: Vec<Finding>,
    noise: Vec<Finding>,
    plot: Option<Plot>,
    trees: Vec<Node>,
    gc: Option<crate::gc::section::Section>,
    candidates: Vec<Row>,
    more_candidates: usize,
    searches: Vec<Search>,
    no_search: String,
    refusals: String,
    cost: Vec<(&'static str, String)>,
    agent: Vec<(&'static str, String)>,
    inputs: Vec<Input>,
    footer: &'static str,
    unknowns: Vec<String>,
    version: &'static str,
}

#[derive(Serialize)]
struct Card {
    label: &'static str,
    value: String,
}

#[derive(Serialize)]
struct Finding {
    number: usize,
    id: String,
    leaf: String,
    holder: String,
    grows: Vec<String>,
    held: String,
    note: Option<&'static str>,
    noise: Option<&'static str>,
    advice: Vec<String>,
    thread: Option<String>,
    stack: Vec<StackLine>,
    steps: Vec<Step>,
    signature: String,
    share: Option<f64>,
    hops: usize,
}

#[derive(Serialize)]
struct StackLine {
    text: String,
    gap: bool,
}

#[derive(Serialize)]
struct Step {
    holder: String,
    edge: String,
    note: Option<String>,
    part: &'static str,
}

#[derive(Serialize)]
struct Row {
    class: String,
    state: String,
    hot: bool,
    values: Option<Bar>,
    folds: Option<Bar>,
    ages: String,
    instances: String,
    retained: String,
    growth: String,
    thread: String,
    noise: Option<&'static str>,
}

#[derive(Serialize)]
struct Bar {
    words: String,
    percent: u64,
}

#[derive(Serialize)]
struct Search {
    name: String,
    outcome: String,
    ok: bool,
    facts: String,
}

#[derive(Serialize)]
struct Input {
    text: String,
    skipped: Vec<String>,
}

/// Watched classes that the table shows.
const ROWS: usize = 30;

impl View {
    /// The view of `report`.
    pub fn new(report: &Report) -> Self {
        let (signal, noise): (Vec<_>, Vec<_>) =
            report.chains.iter().partition(|c| c.noise.is_none());
        let findings = |chains: Vec<&Chain>| {
            chains
                .into_iter()
                .enumerate()
                .map(|(at, chain)| finding(report, chain, at + 1))
                .collect()
        };
        Self {
            verdict: words::verdict(report.verdict),
            verdict_class: report.verdict.as_str(),
            headline: words::headline(report),
            reason: report.reason.clone(),
            projection: words::projection(report),
            jvms: report.jvms.iter().map(words::jvm).collect(),
            hints: report.hints.clone(),
            cards: cards(report),
            findings: findings(signal),
            noise: findings(noise),
            plot: plot::plot(report),
            trees: tree::trees(&report.chains),
            gc: report.gc.clone(),
            candidates: report.candidates.iter().take(ROWS).map(row).collect(),
            more_candidates: report.candidates.len().saturating_sub(ROWS),
            searches: searches(report),
            no_search: words::no_search(report),
            refusals: words::refusals(&report.cost.refusals),
            cost: words::cost(report),
            agent: words::agent(report),
            inputs: report
                .inputs
                .iter()
                .map(|input| Input {
                    text: words::input(input),
                    skipped: input.skipped.iter().map(words::skipped).collect(),
                })
                .collect(),
            footer: words::FOOTER,
            unknowns: words::unknowns(report),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

fn cards(report: &Report) -> Vec<Card> {
    let mut out = Vec::new();
    let mut card = |label, value| out.push(Card { label, value });
    let first = report.chains.iter().find(|c| c.noise.is_none());
    if report.verdict == Verdict::Leak
        && let Some(rate) = first.and_then(|c| c.growth_bytes_per_hour)
    {
        card("growth", units::rate_per_hour(rate));
    }
    if let Some(bytes) = first.and_then(|c| c.retained_sampled_bytes) {
        card("retained by samples", units::bytes(bytes));
    }
    if let Some(instances) = first.and_then(|c| c.instances) {
        card("instances on the path", units::count(instances));
    }
    if let Some(seconds) = report.oom.seconds_to_oom {
        card("memory full in about", units::seconds(seconds));
    }
    let jvms = report.heap_floor.chunk_by(|a, b| a.jvm == b.jvm).count();
    if let Some(last) = report.heap_floor.last().filter(|_| jvms == 1) {
        card("heap after last GC", units::bytes(last.used_bytes));
    }
    if report.agent.is_some() {
        card(
            "heap-walk-call time",
            units::span(report.cost.heap_walk_call_ns),
        );
        card("searches", units::count(report.searches.len() as u64));
    }
    out
}

fn finding(report: &Report, chain: &Chain, number: usize) -> Finding {
    Finding {
        number,
        id: chain.id.clone(),
        leaf: chain.leaf.clone(),
        holder: chain.holder(),
        grows: words::grows(report, chain),
        held: words::held(chain),
        note: chain.strength.note(),
        noise: chain.noise.map(|noise| noise.reason),
        advice: advice::for_chain(chain),
        thread: chain.allocating_thread.clone(),
        stack: stack::lines(&chain.stack)
            .into_iter()
            .map(|line| match line {
                stack::Line::Frame(text) => StackLine { text, gap: false },
                stack::Line::Gap(text) => StackLine { text, gap: true },
            })
            .collect(),
        steps: path::lines(chain)
            .into_iter()
            .map(|line| Step {
                holder: line.object(),
                edge: line.edge.clone(),
                note: line.note.clone(),
                part: match line.part {
                    path::Part::Root => "root",
                    path::Part::Hop => "hop",
                    path::Part::Gap => "gap",
                    path::Part::Leaf => "leaf",
                },
            })
            .collect(),
        signature: chain.signature.clone(),
        share: chain.share.map(|share| (share * 100.0).clamp(0.0, 100.0)),
        hops: chain.hops.len(),
    }
}

fn row(candidate: &Candidate) -> Row {
    let bar = |progress: Option<crate::model::Progress>| {
        progress.map(|p| Bar {
            words: format!("{} of {}", p.have.min(p.need), p.need),
            percent: (p.have.min(p.need) * 100).checked_div(p.need).unwrap_or(0),
        })
    };
    let state = if candidate.qualifying {
        "qualifies".to_owned()
    } else {
        candidate
            .state
            .clone()
            .unwrap_or_else(|| "watched".to_owned())
    };
    let state = match &candidate.no_chain {
        Some(why) => format!("{state}; {}", words::no_chain(why)),
        None => state,
    };
    Row {
        class: candidate.class.clone(),
        state,
        hot: candidate.qualifying,
        values: bar(candidate.values),
        folds: bar(candidate.folds),
        ages: candidate
            .ages
            .map_or_else(String::new, |ages| format!("{ages:.0}")),
        instances: candidate.instances.map_or_else(String::new, units::count),
        retained: candidate
            .retained_sampled_bytes
            .map_or_else(String::new, units::bytes),
        growth: candidate
            .growth_bytes_per_hour
            .filter(|_| candidate.qualifying)
            .map_or_else(String::new, units::rate_per_hour),
        thread: candidate.thread.clone().unwrap_or_default(),
        noise: candidate.noise.map(|noise| noise.reason),
    }
}

fn searches(report: &Report) -> Vec<Search> {
    report
        .searches
        .iter()
        .zip(words::searches(report))
        .map(|(search, (name, _))| Search {
            name,
            outcome: match &search.outcome {
                SearchEnd::Abandoned(_) => "abandoned".to_owned(),
                other => words::outcome(other),
            },
            ok: search.outcome == SearchEnd::Completed,
            facts: {
                let mut facts = search_figures(search);
                if let SearchEnd::Abandoned(_) = &search.outcome {
                    let why = words::outcome(&search.outcome);
                    facts.insert(0, why.trim_start_matches("abandoned: ").to_owned());
                }
                facts.join(", ")
            },
        })
        .collect()
}
