//! Feeds JSON-lines inputs to the deciding half and prints what it does: actions and records.
//!
//! ```text
//! cargo run -p chain-core --features sim --example trace -- [FILE]       (default: standard input)
//! cargo run -p chain-core --features sim --example trace -- --demo       prints an input to try
//! ```
//!
//! A line is `{"t":MS,"fact":...}`; `chain_core::journal` has the format. `{"t":MS,"config":{...}}` sets
//! options and may come first. Between two inputs the engine is asked at every instant it named, as
//! the agent's worker does; where the file has `poll` lines it is asked at these only, and an answer
//! that differs from the recorded one is marked `!`. Output lines are `{"t","action"}` and
//! `{"t","record"}`; repeated waits are left out.
#![allow(clippy::print_stdout, reason = "printing is its job")]

use std::io::{BufRead, BufReader, Read, Write};

use chain_core::config::Config;
use chain_core::decider::Decider;
use chain_core::journal::{Entry, Line, Polled};
use chain_core::plan::Action;
use chain_core::sim::{Sim, shapes::SHAPES};
use chain_core::tick::Tick;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let argument = std::env::args().nth(1);
    let out = std::io::stdout().lock();
    match argument.as_deref() {
        Some("--demo") => demo(out),
        Some(path) => trace(std::fs::File::open(path)?, out),
        None => trace(std::io::stdin().lock(), out),
    }
}

/// A minute of a leaking application, as its journal.
fn demo(mut out: impl Write) -> Outcome<()> {
    let mut sim = Sim::builder(1)
        .fillers(10_000)
        .leak(*SHAPES.first().ok_or("no shape")?)
        .build();
    sim.keep_journal();
    sim.run_until_seconds(40);
    for line in sim.journal() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn trace(input: impl Read, mut out: impl Write) -> Outcome<()> {
    let mut lines = Vec::new();
    for (n, text) in BufReader::new(input).lines().enumerate() {
        let text = text?;
        if !text.trim().is_empty() && !text.starts_with('#') {
            let line: Line =
                serde_json::from_str(&text).map_err(|e| format!("line {}: {e}", n + 1))?;
            lines.push(line);
        }
    }
    let recorded_polls = lines.iter().any(|l| matches!(l.entry, Entry::Poll(_)));
    let mut decider = Decider::new(Config::default());
    let mut wake: Option<Tick> = None;
    let mut last = None;
    for line in lines {
        while let Some(at) = wake.filter(|at| !recorded_polls && *at < line.t) {
            wake = ask(&mut decider, at, &mut last, &mut out)?;
        }
        match line.entry {
            Entry::Config(config) => decider = Decider::new(config),
            Entry::State(state) => decider = *state,
            Entry::Fact(fact) => {
                decider.fact(line.t, &fact);
                for commit in decider.take_commits() {
                    writeln!(
                        out,
                        "{}",
                        serde_json::json!({"t": line.t, "commit": commit})
                    )?;
                }
                print_records(&mut decider, &mut out)?;
                if !recorded_polls {
                    wake = ask(&mut decider, line.t, &mut last, &mut out)?;
                }
            }
            Entry::Poll(recorded) => {
                let (action, _) = decider.poll(line.t);
                let replayed = Polled::of(&decider, action);
                if replayed != recorded {
                    writeln!(
                        out,
                        "! {}",
                        serde_json::json!({"t": line.t, "recorded": recorded, "replayed": replayed})
                    )?;
                }
                print_action(&decider, line.t, action, &mut last, &mut out)?;
                print_records(&mut decider, &mut out)?;
            }
        }
    }
    Ok(())
}

/// Asks at `now`; the next instant to ask at, unless an answer is awaited.
fn ask(
    decider: &mut Decider,
    now: Tick,
    last: &mut Option<Polled>,
    out: &mut impl Write,
) -> Outcome<Option<Tick>> {
    let (action, _) = decider.poll(now);
    print_action(decider, now, action, last, out)?;
    print_records(decider, out)?;
    Ok(match action {
        Action::Wait { until } => Some(until),
        _ => None,
    })
}

fn print_action(
    decider: &Decider,
    now: Tick,
    action: Action,
    last: &mut Option<Polled>,
    out: &mut impl Write,
) -> Outcome<()> {
    let polled = Polled::of(decider, action);
    let told = Polled {
        until: None,
        ..polled
    };
    let waits = matches!(action, Action::Wait { .. });
    if *last != Some(told) || !waits {
        writeln!(
            out,
            "{}",
            serde_json::json!({"t": now, "decision": polled.decision, "action": action})
        )?;
    }
    *last = Some(told);
    Ok(())
}

fn print_records(decider: &mut Decider, out: &mut impl Write) -> Outcome<()> {
    for r in decider.drain() {
        writeln!(
            out,
            "{}",
            serde_json::json!({"t": r.at, "record": r.record})
        )?;
    }
    Ok(())
}
