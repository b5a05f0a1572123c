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

/// Reads the `jfrchains.CoreInput` events of recordings of one JVM, in order of their numbers.
pub fn read(recordings: &[Recording]) -> Journal {
    let mut events: Vec<(i64, String)> = recordings
        .iter()
        .flat_map(|recording| {
            recording.map_chunks(|chunk| {
                chunk
                    .events()
                    .filter(|event| event.name() == CoreInput::SCHEMA.name)
                    .map(|event| CoreInput::decode(&Fields(&event)))
                    .map(|input| (input.sequence, input.text))
                    .collect::<Vec<_>>()
            })
        })
        .flatten()
        .collect();
    events.sort_by_key(|(sequence, _)| *sequence);
    events.dedup_by_key(|(sequence, _)| *sequence);
    let span = match (events.first(), events.last()) {
        (Some((first, _)), Some((last, _))) => last.saturating_sub(*first).saturating_add(1),
        _ => 0,
    };
    let missing = u64::try_from(span)
        .unwrap_or(0)
        .saturating_sub(events.len() as u64);
    Journal {
        lines: events
            .iter()
            .flat_map(|(_, text)| text.lines().map(str::to_owned))
            .collect(),
        missing,
    }
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
}
