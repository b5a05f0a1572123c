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
}

impl Journal {
    /// The events of these lines, which the core made up to `at`.
    pub(super) fn events(&mut self, lines: Vec<String>, at: Tick) -> Vec<CoreInput> {
        let mut texts: Vec<String> = Vec::new();
        for line in lines {
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
