//! Recorded decisions once more, under other settings: what would have been decided otherwise.

use std::io::{self, Write};

use chain_core::journal::{self, Difference, JournalError, Polled};
use jfr_format::schema::Event as _;
use jfr_format::schema::events::CoreInput;

use crate::model::Nanos;
use crate::model::build::Fields;
use crate::reader::Recording;
use crate::report::units;

/// The journal of a recording, and what of it is missing.
#[derive(Debug, Default)]
pub struct Journal {
    /// JSON lines in order.
    pub lines: Vec<String>,
    /// Events between the first and the last one that the recording does not hold.
    pub missing: u64,
}

/// One event of a journal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Numbered {
    sequence: i64,
    text: String,
    /// When it was written, ns since the epoch.
    at: i64,
}

impl Numbered {
    /// Whether its first line is the options, `config`, or a whole `state`.
    fn begins_with(&self, key: &str) -> bool {
        let entry = self.text.split_once(',').map_or("", |(_, rest)| rest);
        entry.strip_prefix('"').is_some_and(|entry| {
            entry
                .strip_prefix(key)
                .is_some_and(|rest| rest.starts_with("\":"))
        })
    }
}

/// Reads the `jfrchains.CoreInput` events of recordings of one JVM, in order of their numbers; the starts of an
/// agent that was stopped and started again one after the other.
///
/// # Errors
/// Two journals run at once: the recordings are of several JVMs.
pub fn read(recordings: &[Recording]) -> Result<Journal, SeveralJvms> {
    let mut events: Vec<Numbered> = recordings
        .iter()
        .flat_map(|recording| {
            recording.map_chunks(|chunk| {
                chunk
                    .events()
                    .filter(|event| event.name() == CoreInput::SCHEMA.name)
                    .map(|event| {
                        let input = CoreInput::decode(&Fields(&event));
                        Numbered {
                            sequence: input.sequence,
                            text: input.text,
                            at: event.start().map_or(i64::MIN, |start| start.0),
                        }
                    })
                    .collect::<Vec<_>>()
            })
        })
        .flatten()
        .collect();
    events.sort();
    // Overlapping recordings hold the same event.
    events.dedup_by(|a, b| a.sequence == b.sequence && a.text == b.text);
    let mut journal = Journal::default();
    for session in sessions(events)? {
        let span = match (session.first(), session.last()) {
            (Some(first), Some(last)) => last.sequence.saturating_sub(first.sequence) + 1,
            _ => 0,
        };
        let span = u64::try_from(span).unwrap_or(0);
        journal.missing += span.saturating_sub(session.len() as u64);
        let lines = session.iter().flat_map(|event| event.text.lines());
        journal.lines.extend(lines.map(str::to_owned));
    }
    Ok(journal)
}

/// Two journals run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the recordings are of several JVMs: replay those of one")]
pub struct SeveralJvms;

/// Events in order of their numbers, divided by the starts of the agent: each counts from 1.
fn sessions(mut events: Vec<Numbered>) -> Result<Vec<Vec<Numbered>>, SeveralJvms> {
    let twice = |pair: &[Numbered]| matches!(pair, [a, b] if a.sequence == b.sequence);
    let earliest = events.iter().map(|event| event.at).min();
    let restarted = |event: &Numbered| event.begins_with("config") && Some(event.at) > earliest;
    if !events.windows(2).any(twice) && !events.iter().any(restarted) {
        return Ok(vec![events]);
    }
    events.sort_by_key(|event| (event.at, event.sequence));
    let mut sessions: Vec<Vec<Numbered>> = Vec::new();
    for event in events {
        match sessions.last_mut() {
            Some(session) if session.last().is_some_and(|l| l.sequence < event.sequence) => {
                session.push(event);
            }
            None => sessions.push(vec![event]),
            Some(_) if event.begins_with("config") || event.begins_with("state") => {
                sessions.push(vec![event]);
            }
            Some(_) => return Err(SeveralJvms),
        }
    }
    Ok(sessions)
}

/// What a replay showed.
#[derive(Debug)]
pub struct Outcome {
    /// The core's own account.
    pub replay: journal::Replay,
    /// Events that the recording lacks.
    pub missing: u64,
}

/// Runs `journal` through the core with `set` (option, value) in place of what was recorded.
pub fn replay(journal: &Journal, set: &[(String, String)]) -> Result<Outcome, JournalError> {
    let lines = journal.lines.iter().map(String::as_str);
    Ok(Outcome {
        replay: journal::replay(lines, set)?,
        missing: journal.missing,
    })
}

/// Differences that the text shows.
const SHOWN: usize = 20;

/// Writes `outcome` for people.
pub fn write_text(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let replay = &outcome.replay;
    let different = replay.differences.len() as u64;
    writeln!(
        out,
        "{} replayed, {} decided otherwise",
        units::counted(replay.decisions as u64, "decision", "decisions"),
        units::count(different)
    )?;
    if replay.early > 0 {
        writeln!(
            out,
            "{} before the first recorded state left out",
            units::counted(replay.early as u64, "line", "lines")
        )?;
    }
    if outcome.missing > 0 {
        writeln!(
            out,
            "{} missing: what follows a gap is replayed from the next recorded state",
            units::counted(outcome.missing, "event is", "events are")
        )?;
    }
    for difference in replay.differences.iter().take(SHOWN) {
        writeln!(out, "{}", sentence(difference))?;
    }
    if different > SHOWN as u64 {
        writeln!(out, "... {} more", units::count(different - SHOWN as u64))?;
    }
    Ok(())
}

fn sentence(difference: &Difference) -> String {
    let at = units::span(Nanos(difference.t.0.saturating_mul(1_000_000)));
    format!(
        "at {at}: recorded {}, replayed {}",
        polled(&difference.recorded),
        polled(&difference.replayed)
    )
}

fn polled(polled: &Polled) -> String {
    // The decision's word is the one that the journal itself uses.
    let mut out = match serde_json::to_value(polled.decision) {
        Ok(serde_json::Value::String(word)) => word.replace('_', " "),
        Ok(other) => other.to_string(),
        Err(_) => "unknown".to_owned(),
    };
    if let Some(edges) = polled.edges {
        out.push_str(&format!(" with {} edges", units::count(edges)));
    }
    if let Some(until) = polled.until {
        let until = units::span(Nanos(until.0.saturating_mul(1_000_000)));
        out.push_str(&format!(" until {until}"));
    }
    out
}

/// Writes `outcome` as JSON, schema `jfr-chains/replay/1`.
pub fn write_json(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let document = serde_json::json!({
        "schema": "jfr-chains/replay/1",
        "lines": outcome.replay.lines,
        "early_lines": outcome.replay.early,
        "missing_events": outcome.missing,
        "decisions": outcome.replay.decisions,
        "differences": outcome.replay.differences,
    });
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(lines: &[&str]) -> Journal {
        Journal {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            missing: 0,
        }
    }

    fn config() -> String {
        let config = serde_json::to_value(chain_core::Config::default()).unwrap();
        serde_json::json!({"t": 0, "config": config}).to_string()
    }

    #[test]
    fn a_journal_without_a_start_is_an_error() {
        let error = replay(&journal(&["{\"t\":1,\"fact\":\"sampling_started\"}"]), &[]);
        assert!(error.is_err());
    }

    #[test]
    fn an_unknown_option_is_named() {
        let set = [("no-such-option".to_owned(), "1".to_owned())];
        let error = replay(&journal(&[&config()]), &set).unwrap_err();
        assert!(error.to_string().contains("no-such-option"), "{error}");
    }

    #[test]
    fn the_same_settings_decide_the_same() {
        let outcome = replay(&journal(&[&config()]), &[]).unwrap();
        assert_eq!(outcome.replay.differences, []);
        let mut text = Vec::new();
        write_text(&outcome, &mut text).unwrap();
        assert!(
            String::from_utf8(text)
                .unwrap()
                .starts_with("0 decisions replayed")
        );
    }

    fn event(sequence: i64, at: i64, entry: &str) -> Numbered {
        Numbered {
            sequence,
            text: format!("{{\"t\":{at},{entry}}}"),
            at,
        }
    }

    fn of(events: &[Numbered]) -> Result<Vec<Vec<i64>>, SeveralJvms> {
        let mut events = events.to_vec();
        events.sort();
        let numbers = |session: Vec<Numbered>| session.iter().map(|e| e.sequence).collect();
        sessions(events).map(|all| all.into_iter().map(numbers).collect())
    }

    const CONFIG: &str = "\"config\":{}";
    const STATE: &str = "\"state\":{}";
    const FACT: &str = "\"fact\":\"swept\"";

    #[test]
    fn one_start_is_one_session_whatever_the_clock_does() {
        let events = [event(1, 50, CONFIG), event(2, 60, FACT), event(3, 55, FACT)];
        assert_eq!(of(&events), Ok(vec![vec![1, 2, 3]]));
    }

    #[test]
    fn an_agent_that_was_started_again_counts_from_one_again() {
        let again = [
            event(1, 10, CONFIG),
            event(2, 20, FACT),
            event(1, 30, CONFIG),
            event(2, 40, FACT),
            event(3, 50, FACT),
        ];
        assert_eq!(of(&again), Ok(vec![vec![1, 2], vec![1, 2, 3]]));
        // The recording began in the middle of the first start, and no number is there twice.
        let middle = [
            event(8, 10, STATE),
            event(9, 20, FACT),
            event(1, 30, CONFIG),
            event(2, 40, FACT),
        ];
        assert_eq!(of(&middle), Ok(vec![vec![8, 9], vec![1, 2]]));
    }

    #[test]
    fn two_journals_at_once_are_refused() {
        let both = [
            event(1, 10, CONFIG),
            event(2, 30, FACT),
            event(3, 50, FACT),
            event(1, 20, CONFIG),
            event(2, 40, FACT),
            event(3, 60, FACT),
        ];
        assert_eq!(of(&both), Err(SeveralJvms));
    }
}
