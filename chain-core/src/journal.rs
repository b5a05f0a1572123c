//! The replayable journal: JSON lines of what the deciding half was told and what it answered.
//!
//! Each line is an object with `t` (ms, [`Tick`]) and exactly one of
//!
//! | key | value | meaning |
//! |---|---|---|
//! | `config` | [`Config`] | the options; first line of a journal |
//! | `state` | [`Decider`] | the whole state, so that a journal can begin in the middle |
//! | `fact` | [`Fact`], e.g. `{"gc":{"epoch":7,"used_after_gc":1048576}}`, `"recording_started"` | an input |
//! | `poll` | [`Polled`] | the engine was asked at this instant, and what it decided |
//!
//! Recordings carry such lines in `jfrchains.CoreInput` events, several to an event. The example
//! `trace` reads them too; there `poll` lines may be left out.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::decider::Decider;
use crate::input::Fact;
use crate::plan::Action;
use crate::record::{Decision, Stamped};
use crate::tick::Tick;
use crate::tuning;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When.
    pub t: Tick,
    /// What.
    #[serde(flatten)]
    pub entry: Entry,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The options.
    Config(Config),
    /// The whole state of the deciding half.
    State(Box<Decider>),
    /// An input.
    Fact(Fact),
    /// A question and its answer.
    Poll(Polled),
}

/// The answer of a poll, as far as a replay compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Polled {
    /// What was decided.
    pub decision: Decision,
    /// Until when, for a wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Tick>,
    /// Edge budget of a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<u64>,
}

impl Polled {
    /// Of the answer `action` that `decider` just gave.
    pub fn of(decider: &Decider, action: Action) -> Polled {
        Polled {
            decision: decider.decision,
            until: match action {
                Action::Wait { until } => Some(until),
                _ => None,
            },
            edges: match action {
                Action::RunPass(plan) => Some(plan.edge_budget),
                _ => None,
            },
        }
    }
}

/// Why a journal cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum JournalError {
    /// A line is not of this format.
    Line {
        /// Counted from 1.
        line: usize,
        /// What the parser says.
        cause: serde_json::Error,
    },
    /// There are neither options nor a state to start from.
    NoStart,
    /// An option that `--set` names does not exist or has no such value.
    Option(String),
}

impl std::fmt::Display for JournalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JournalError::Line { line, cause } => write!(f, "journal line {line}: {cause}"),
            JournalError::NoStart => {
                write!(
                    f,
                    "the journal has neither options nor a state to start from"
                )
            }
            JournalError::Option(what) => write!(f, "{what}"),
        }
    }
}

impl std::error::Error for JournalError {}

/// Entries on their way out, in room reserved at set-up.
#[derive(Debug)]
pub(crate) struct Journal {
    lines: VecDeque<Line>,
    dropped: u64,
    want_state: bool,
}

impl Journal {
    pub fn new(decider: &Decider) -> Journal {
        let mut lines = VecDeque::with_capacity(tuning::JOURNAL_QUEUE);
        lines.push_back(Line {
            t: Tick(0),
            entry: Entry::Config(decider.config.clone()),
        });
        Journal {
            lines,
            dropped: 0,
            want_state: false,
        }
    }

    pub fn fact(&mut self, t: Tick, fact: Fact) {
        self.push(Line {
            t,
            entry: Entry::Fact(fact),
        });
    }

    pub fn polled(&mut self, t: Tick, decider: &Decider, action: Action) {
        self.push(Line {
            t,
            entry: Entry::Poll(Polled::of(decider, action)),
        });
    }

    /// The next drain begins with a whole state: a recording starts.
    pub fn want_state(&mut self) {
        self.want_state = true;
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn drain(&mut self, decider: &Decider) -> Vec<String> {
        let mut out: Vec<String> = self
            .lines
            .drain(..)
            .filter_map(|l| serde_json::to_string(&l).ok())
            .collect();
        if std::mem::take(&mut self.want_state) {
            let entry = Entry::State(Box::new(decider.clone()));
            let line = Line {
                t: decider.asked_at(),
                entry,
            };
            out.extend(serde_json::to_string(&line).ok());
        }
        out
    }

    /// Forgets what is queued; the next drain begins with a whole state.
    pub fn forget(&mut self) {
        self.lines.clear();
        self.want_state = true;
    }

    fn push(&mut self, line: Line) {
        if self.lines.len() >= tuning::JOURNAL_QUEUE {
            self.dropped += 1;
            // What follows cannot be replayed without knowing what was lost.
            self.want_state = true;
        } else {
            self.lines.push_back(line);
        }
    }
}

/// One decision that a replay makes differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// When.
    pub t: Tick,
    /// What the recording says.
    pub recorded: Polled,
    /// What this version, with these options, decides.
    pub replayed: Polled,
}

/// The outcome of a replay.
#[derive(Debug, Default)]
pub struct Replay {
    /// Lines read.
    pub lines: usize,
    /// Lines before the first options or state, left out: a recording that starts beside another one gets
    /// what was queued for both before it gets its state.
    pub early: usize,
    /// Decisions compared.
    pub decisions: usize,
    /// Those that differ, oldest first.
    pub differences: Vec<Difference>,
    /// The records that the replay made.
    pub records: Vec<Stamped>,
}

/// Feeds journal lines to a fresh deciding half. `set` overrides options (`key`, `value`); then
/// differences show what would have changed as far as the recorded world answers.
///
/// # Errors
/// A line that is not of the format, no options or state at all, an unknown option.
pub fn replay<'a>(
    lines: impl Iterator<Item = &'a str>,
    set: &[(String, String)],
) -> Result<Replay, JournalError> {
    let mut out = Replay::default();
    let mut decider: Option<Decider> = None;
    for (n, text) in lines.enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let line: Line = serde_json::from_str(text)
            .map_err(|cause| JournalError::Line { line: n + 1, cause })?;
        out.lines += 1;
        match line.entry {
            Entry::Config(mut config) => {
                apply(&mut config, set)?;
                decider = Some(Decider::new(config));
            }
            Entry::State(state) => {
                // With other options only the first state is a start; later ones are another world's.
                if set.is_empty() || decider.is_none() {
                    let mut config = state.config.clone();
                    let mut state = *state;
                    if !set.is_empty() {
                        apply(&mut config, set)?;
                        state.reconfigure(config);
                    }
                    decider = Some(state);
                }
            }
            Entry::Fact(fact) => {
                let Some(d) = decider.as_mut() else {
                    out.early += 1;
                    continue;
                };
                d.fact(line.t, &fact);
                d.take_commits();
            }
            Entry::Poll(recorded) => {
                let Some(d) = decider.as_mut() else {
                    out.early += 1;
                    continue;
                };
                let (action, _) = d.poll(line.t);
                let replayed = Polled::of(d, action);
                out.decisions += 1;
                if replayed != recorded {
                    out.differences.push(Difference {
                        t: line.t,
                        recorded,
                        replayed,
                    });
                }
            }
        }
        if let Some(d) = decider.as_mut() {
            out.records.extend(d.output.drain());
        }
    }
    if decider.is_none() && out.lines > 0 {
        return Err(JournalError::NoStart);
    }
    Ok(out)
}

fn apply(config: &mut Config, set: &[(String, String)]) -> Result<(), JournalError> {
    for (key, value) in set {
        config.set(key, value).map_err(JournalError::Option)?;
    }
    Ok(())
}
