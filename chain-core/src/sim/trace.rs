//! Feeds journal lines to the deciding half and prints what it does; the example `trace` calls it.

use std::io::{BufRead, BufReader, Read, Write};

use crate::config::Config;
use crate::decider::Decider;
use crate::journal::{Entry, Line, Polled};
use crate::plan::Action;
use crate::sim::{Sim, shapes::SHAPES};
use crate::tick::Tick;

/// Anything that reading, parsing or writing may end with.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Forty seconds of a leaking application, as its journal.
///
/// # Errors
/// Writing fails.
pub fn demo(mut out: impl Write) -> Outcome<()> {
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

/// The first key of a `config` line that is none of [`Config`]: a journal of another version may have some,
/// but who writes one by hand and mistypes it would be told the default's decisions.
fn unknown_option(text: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(text).ok()?;
    let known = serde_json::to_value(Config::default()).ok()?;
    let mut keys = line.get("config")?.as_object()?.keys();
    keys.find(|key| known.get(key.as_str()).is_none()).cloned()
}

/// Reads lines (`#` begins a comment) and writes actions and records, as the example's own page says.
///
/// # Errors
/// Reading or writing fails, or a line is none; the text names its number.
pub fn trace(input: impl Read, mut out: impl Write) -> Outcome<()> {
    let mut lines = Vec::new();
    for (n, text) in BufReader::new(input).lines().enumerate() {
        let text = text?;
        if !text.trim().is_empty() && !text.starts_with('#') {
            let line: Line =
                serde_json::from_str(&text).map_err(|e| format!("line {}: {e}", n + 1))?;
            if let Some(key) = unknown_option(&text) {
                return Err(format!("line {}: {key}: no such option", n + 1).into());
            }
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
