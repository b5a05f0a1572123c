//! What `record` shows while it waits: two lines on a terminal, and a line that stays for each chain.

use std::collections::BTreeSet;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::session::say;
use crate::model::{Chain, Report, SearchEnd};
use crate::report::safe::terminal;
use crate::report::units::counted;
use crate::report::words::held_by;

/// Columns of the second line. It ends before the edge, so that an echoed `^C` does not begin a new line.
const COLUMNS: usize = 72;

/// Between two turns of the spinner.
const TICK: Duration = Duration::from_millis(200);

/// The lines of one `record`.
pub struct Progress {
    bar: ProgressBar,
    total: Duration,
    told: BTreeSet<String>,
}

impl Progress {
    /// Shows that it begins; nothing moves unless stderr is a terminal.
    pub fn begin(total: Duration, on_terminal: bool) -> anyhow::Result<Self> {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(if on_terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        bar.set_style(ProgressStyle::with_template("{spinner} {prefix}\n  {msg}")?);
        bar.set_message("a class is followed once its objects survive a collection");
        bar.enable_steady_tick(TICK);
        let told = BTreeSet::new();
        let progress = Self { bar, total, told };
        progress.elapsed(Duration::ZERO, None);
        Ok(progress)
    }

    /// The time goes on; `report` is the last look at the recording.
    pub fn elapsed(&self, elapsed: Duration, report: Option<&Report>) {
        let mut line = format!("{} of {}", clock(elapsed), clock(self.total));
        if let Some(report) = report {
            line.push_str(&format!("   {}", head(report)));
        }
        self.bar.set_prefix(line);
    }

    /// A look at the recording.
    pub fn seen(&mut self, report: &Report) {
        if let Some(detail) = nearest(report) {
            self.bar.set_message(fitting(&terminal(&detail)));
        }
        for chain in &report.chains {
            if self.told.insert(chain.id.clone()) {
                // What stays goes above the lines that move.
                self.bar.suspend(|| say(&found(chain)));
            }
        }
    }

    /// Nothing moves any more.
    pub fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// The beginning of a text that fits; names come from the program and can be of any length.
fn fitting(text: &str) -> String {
    if text.chars().count() <= COLUMNS {
        return text.to_owned();
    }
    text.chars()
        .take(COLUMNS - 3)
        .chain("...".chars())
        .collect()
}

/// `2:05`, `1:00:00`.
fn clock(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// `18 epochs, 4 classes followed, searching, 1 chain`.
fn head(report: &Report) -> String {
    let len = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let mut parts = Vec::new();
    if let Some(epochs) = report.agent.as_ref().and_then(|agent| agent.epochs) {
        parts.push(counted(epochs, "epoch", "epochs"));
    }
    parts.push(counted(
        len(report.candidates.len()),
        "class followed",
        "classes followed",
    ));
    let running = report
        .searches
        .last()
        .filter(|search| search.outcome == SearchEnd::Running);
    parts.push(match running {
        Some(search) => format!("searching (pass {})", search.passes),
        None => counted(len(report.searches.len()), "search", "searches"),
    });
    parts.push(counted(len(report.chains.len()), "chain", "chains"));
    parts.join(", ")
}

/// How far the nearest class is from a signal.
fn nearest(report: &Report) -> Option<String> {
    let candidate = report.candidates.first()?;
    let far = candidate.progress_words().unwrap_or_default();
    Some(format!("{}: {far}", candidate.class))
}

/// One chain, in a line.
fn found(chain: &Chain) -> String {
    format!("chain found: {}", held_by(chain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn times_are_shown_as_clocks_do() {
        assert_eq!(clock(Duration::from_secs(65)), "1:05");
        assert_eq!(clock(Duration::from_secs(3_600)), "1:00:00");
    }

    #[test]
    fn the_lines_tell_epochs_classes_searches_and_chains_in_eighty_columns() {
        let report = sample::leak();
        let head = head(&report);
        for word in ["epoch", "followed", "search", "chain"] {
            assert!(head.contains(word), "{head}");
        }
        let line = format!("* 10:00 of 10:00   {head}");
        assert!(line.len() <= 80, "{line}");
        assert!(
            nearest(&report).unwrap().contains(" of "),
            "{:?}",
            nearest(&report)
        );
    }

    #[test]
    fn a_long_name_is_cut() {
        assert_eq!(fitting("short"), "short");
        let cut = fitting(&"é".repeat(100));
        assert!(cut.ends_with("é...") && cut.chars().count() == COLUMNS);
    }

    #[test]
    fn a_chain_is_told_once() {
        let report = sample::leak();
        let mut progress = Progress::begin(Duration::from_secs(1), false).unwrap();
        progress.seen(&report);
        let told = progress.told.len();
        progress.seen(&report);
        assert!(told > 0 && progress.told.len() == told);
        assert!(found(&report.chains[0]).contains(" held by "));
        progress.end();
    }
}
