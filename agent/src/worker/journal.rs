//! The core's journal as events: lines joined up to a size, numbered without gaps.

use chain_core::Tick;
use jfr_format::schema::events::CoreInput;
use jfr_format::schema::{Name, Nanos};

/// Most bytes of lines in one event; a single longer line (a whole state) has an event of its own.
const MOST_BYTES: usize = 16 << 10;

/// Numbers the events of one session.
#[derive(Debug, Default)]
pub(super) struct Journal {
    sequence: i64,
    /// Lines were left out: what follows means nothing before the next whole state.
    broken: bool,
}

/// Whether a journal can begin with this line: the options or a whole state.
fn is_start(line: &str) -> bool {
    let after_time = line.split_once(',').map_or("", |(_, rest)| rest);
    after_time.starts_with("\"config\":") || after_time.starts_with("\"state\":")
}

impl Journal {
    /// Lines were left out, since nobody takes them.
    pub(super) fn skip(&mut self) {
        self.broken = true;
    }

    /// The events of these lines, which the core made up to `at`.
    pub(super) fn events(&mut self, lines: Vec<String>, at: Tick) -> Vec<CoreInput> {
        let mut texts: Vec<String> = Vec::new();
        for line in lines {
            self.broken &= !is_start(&line);
            if self.broken {
                continue;
            }
            match texts.last_mut() {
                Some(text) if text.len() + line.len() < MOST_BYTES => {
                    text.push('\n');
                    text.push_str(&line);
                }
                _ => texts.push(line),
            }
        }
        texts.into_iter().map(|text| self.event(text, at)).collect()
    }

    fn event(&mut self, text: String, at: Tick) -> CoreInput {
        self.sequence += 1;
        CoreInput {
            sequence: self.sequence,
            at: Nanos::from_millis(i64::try_from(at.0).unwrap_or(i64::MAX)),
            kind: Name::of("journal"),
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_gap_the_journal_begins_with_a_whole_state() {
        let mut journal = Journal::default();
        journal.skip();
        let (fact, state) = (
            r#"{"t":1,"fact":"recording_started"}"#,
            r#"{"t":2,"state":{}}"#,
        );
        assert_eq!(journal.events(vec![fact.into()], Tick(1)), []);
        let events = journal.events(vec![fact.into(), state.into(), fact.into()], Tick(2));
        assert_eq!(events[0].text, format!("{state}\n{fact}"));
        assert_eq!(journal.events(vec![fact.into()], Tick(3)).len(), 1);
        assert!(is_start(r#"{"t":0,"config":{}}"#));
    }

    #[test]
    fn lines_are_joined_up_to_a_size_and_numbered_without_gaps() {
        let mut journal = Journal::default();
        let long = "x".repeat(MOST_BYTES);
        let lines = vec!["a".to_owned(), "b".to_owned(), long.clone(), "c".to_owned()];
        let events = journal.events(lines, Tick(7));
        let texts: Vec<&str> = events.iter().map(|event| event.text.as_str()).collect();
        assert_eq!(texts, ["a\nb", long.as_str(), "c"]);
        let next = journal.events(vec!["d".to_owned()], Tick(8));
        let numbers: Vec<i64> = events
            .iter()
            .chain(&next)
            .map(|event| event.sequence)
            .collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert_eq!(next[0].at, Nanos(8_000_000));
    }
}
