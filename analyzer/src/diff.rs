//! Two reports side by side: which chains are gone, new, grown.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::model::{Chain, InputInfo, Report, Verdict};
use crate::report::fold::{WIDTH, fold};
use crate::report::safe::{markdown_text, terminal};
use crate::report::{units, words};

/// The JSON's schema and version.
pub const SCHEMA: &str = "jfr-chains/diff/1";

/// Growth counts from this factor on: estimates from samples vary by less in two runs.
const GROWN_BY: f64 = 1.25;
/// ... and from this many bytes an hour.
const GROWN_RATE: f64 = 1024.0 * 1024.0;
/// ... or this many instances.
const GROWN_INSTANCES: u64 = 16;

/// What happened to one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Only in the new recording.
    New,
    /// In both, and it grows faster or holds more.
    Grown,
    /// In both.
    Same,
    /// Only in the old recording.
    Gone,
}

/// One chain in both reports.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry<'r> {
    /// What happened.
    pub change: Change,
    /// The chain's id.
    pub id: &'r str,
    /// As the old recording has it.
    pub old: Option<&'r Chain>,
    /// As the new recording has it.
    pub new: Option<&'r Chain>,
}

/// Both reports, chain by chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff<'r> {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Verdict of the old recording.
    pub old_verdict: Verdict,
    /// Verdict of the new recording.
    pub new_verdict: Verdict,
    /// What was read of the old recording, and what was not.
    pub old_inputs: &'r [InputInfo],
    /// The same of the new recording.
    pub new_inputs: &'r [InputInfo],
    /// New chains first, then grown, same and gone ones; each by the report's rank.
    pub chains: Vec<Entry<'r>>,
}

impl Diff<'_> {
    /// Whether nothing got worse: no chain is new, none has grown.
    pub fn is_clean(&self) -> bool {
        self.chains.iter().all(|entry| entry.change >= Change::Same)
    }

    /// Whether something new may lie in a part of the new recording that was not read. What the old one has
    /// lost can only make more chains new.
    pub fn is_incomplete(&self) -> bool {
        self.new_inputs
            .iter()
            .any(|input| !input.skipped.is_empty())
    }

    /// What was not read, in one sentence a recording.
    fn losses(&self) -> Vec<String> {
        let of = |which: &str, inputs: &[InputInfo]| {
            let lost = inputs.iter().filter(|input| !input.skipped.is_empty());
            lost.map(|input| {
                let parts: Vec<String> = input.skipped.iter().map(words::skipped).collect();
                format!(
                    "The {which} recording was not read whole: {}: {}.",
                    input.path,
                    parts.join("; ")
                )
            })
            .collect::<Vec<_>>()
        };
        [of("old", self.old_inputs), of("new", self.new_inputs)].concat()
    }
}

/// Compares two reports leak by leak: a leak is found by its id, an id of another chain of it, or its growing
/// container. Noise is compared like everything else.
pub fn diff<'r>(old: &'r Report, new: &'r Report) -> Diff<'r> {
    let find = |report: &'r Report, chain: &Chain| {
        let by_id = report.chains.iter().find(|c| c.id == chain.id);
        by_id.or_else(|| report.chains.iter().find(|c| c.is_finding(chain)))
    };
    let mut chains: Vec<Entry<'r>> = new
        .chains
        .iter()
        .map(|chain| {
            let before = find(old, chain);
            Entry {
                change: match before {
                    None => Change::New,
                    Some(before) if has_grown(before, chain) => Change::Grown,
                    Some(_) => Change::Same,
                },
                id: &chain.id,
                old: before,
                new: Some(chain),
            }
        })
        .collect();
    chains.extend(
        old.chains
            .iter()
            .filter(|chain| find(new, chain).is_none())
            .map(|chain| Entry {
                change: Change::Gone,
                id: &chain.id,
                old: Some(chain),
                new: None,
            }),
    );
    chains.sort_by_key(|entry| entry.change);
    Diff {
        schema: SCHEMA,
        old_verdict: old.verdict,
        new_verdict: new.verdict,
        old_inputs: &old.inputs,
        new_inputs: &new.inputs,
        chains,
    }
}

/// Rates are compared where both are known, since recordings differ in length; else instances.
#[allow(clippy::cast_precision_loss, reason = "a comparison of estimates")]
fn has_grown(old: &Chain, new: &Chain) -> bool {
    match (old.growth_bytes_per_hour, new.growth_bytes_per_hour) {
        (Some(old), Some(new)) => new >= old * GROWN_BY && new - old >= GROWN_RATE,
        _ => match (old.instances, new.instances) {
            (Some(old), Some(new)) => {
                new as f64 >= old as f64 * GROWN_BY && new.saturating_sub(old) >= GROWN_INSTANCES
            }
            _ => false,
        },
    }
}

/// Writes `diff` for a terminal.
pub fn write_text(diff: &Diff<'_>, out: &mut dyn Write) -> io::Result<()> {
    let bold = Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}", summary(diff))?;
    writeln!(
        out,
        "verdict: {} -> {}",
        diff.old_verdict.as_str(),
        diff.new_verdict.as_str()
    )?;
    for loss in diff.losses() {
        for line in fold(&terminal(&loss), "", "", WIDTH) {
            writeln!(out, "{line}")?;
        }
    }
    for entry in &diff.chains {
        let (word, style) = match entry.change {
            Change::New => ("new  ", AnsiColor::Red.on_default()),
            Change::Grown => ("grown", AnsiColor::Yellow.on_default()),
            Change::Same => ("same ", Style::new().dimmed()),
            Change::Gone => ("gone ", AnsiColor::Green.on_default()),
        };
        let text = sentence(entry);
        let text = terminal(&text);
        let lines = fold(&text, "", "", WIDTH - 19);
        for (at, line) in lines.iter().enumerate() {
            if at == 0 {
                writeln!(out, "{style}{word}{style:#}  [{}]  {line}", entry.id)?;
            } else {
                writeln!(out, "{:19}{line}", "")?;
            }
        }
    }
    Ok(())
}

/// Writes `diff` as Markdown.
pub fn write_markdown(diff: &Diff<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {}\n", summary(diff))?;
    writeln!(
        out,
        "Verdict: {} -> {}\n",
        diff.old_verdict.as_str(),
        diff.new_verdict.as_str()
    )?;
    for loss in diff.losses() {
        writeln!(out, "{}\n", markdown_text(&loss))?;
    }
    if diff.chains.is_empty() {
        return Ok(());
    }
    writeln!(out, "| change | chain | what |\n| --- | --- | --- |")?;
    for entry in &diff.chains {
        let word = match entry.change {
            Change::New => "**new**",
            Change::Grown => "**grown**",
            Change::Same => "same",
            Change::Gone => "gone",
        };
        let text = markdown_text(&sentence(entry));
        writeln!(out, "| {word} | `{}` | {text} |", entry.id)?;
    }
    Ok(())
}

/// Writes `diff` as JSON.
pub fn write_json(diff: &Diff<'_>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, diff)?;
    writeln!(out)
}

fn summary(diff: &Diff<'_>) -> String {
    let count = |change: Change| diff.chains.iter().filter(|e| e.change == change).count();
    format!(
        "{} new, {} grown, {} same, {} gone",
        count(Change::New),
        count(Change::Grown),
        count(Change::Same),
        count(Change::Gone)
    )
}

fn sentence(entry: &Entry<'_>) -> String {
    let Some(chain) = entry.new.or(entry.old) else {
        return String::new();
    };
    let mut out = words::held_by(chain);
    let figures = |chain: &Chain| {
        let mut parts = Vec::new();
        parts.extend(chain.growth_bytes_per_hour.map(units::rate_per_hour));
        parts.extend(
            chain
                .instances
                .map(|n| units::counted(n, "instance", "instances")),
        );
        parts.join(", ")
    };
    match (entry.old, entry.new) {
        (Some(old), Some(new)) => {
            let (before, after) = (figures(old), figures(new));
            if !before.is_empty() || !after.is_empty() {
                out.push_str(&format!(": {before} -> {after}"));
            }
        }
        _ => {
            let figures = figures(chain);
            if !figures.is_empty() {
                out.push_str(&format!(": {figures}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn changes(old: &Report, new: &Report) -> Vec<Change> {
        diff(old, new).chains.iter().map(|e| e.change).collect()
    }

    #[test]
    fn the_same_report_twice_is_clean() {
        let report = sample::leak();
        assert_eq!(changes(&report, &report), [Change::Same]);
        assert!(diff(&report, &report).is_clean());
    }

    #[test]
    fn a_fixed_leak_is_gone_and_clean_and_the_way_back_is_not() {
        let leak = sample::leak();
        let mut fixed = sample::leak();
        fixed.chains.clear();
        assert_eq!(changes(&leak, &fixed), [Change::Gone]);
        assert!(diff(&leak, &fixed).is_clean());
        assert_eq!(changes(&fixed, &leak), [Change::New]);
        assert!(!diff(&fixed, &leak).is_clean());
    }

    #[test]
    fn rates_are_compared_not_lengths_of_recordings() {
        let old = sample::leak();
        let mut longer = sample::leak();
        longer.chains[0].instances = Some(1_000_000);
        longer.chains[0].retained_sampled_bytes = Some(1 << 40);
        assert_eq!(changes(&old, &longer), [Change::Same]);
        let mut faster = sample::leak();
        faster.chains[0].growth_bytes_per_hour = Some(1.9e9 * 1.3);
        assert_eq!(changes(&old, &faster), [Change::Grown]);
    }

    #[test]
    fn without_rates_instances_decide() {
        let mut old = sample::leak();
        old.chains[0].growth_bytes_per_hour = None;
        let mut new = old.clone();
        new.chains[0].instances = Some(2214 * 2);
        assert_eq!(changes(&old, &new), [Change::Grown]);
    }

    #[test]
    fn a_diff_keeps_to_80_columns_whatever_the_names() {
        let report = sample::long_names();
        let mut text = Vec::new();
        let diff = diff(&report, &report);
        write_text(&diff, &mut anstream::StripStream::new(&mut text)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert!(
            text.split_whitespace()
                .collect::<String>()
                .contains(sample::LONG)
        );
    }

    #[test]
    fn a_diff_reads_top_down() {
        let old = sample::leak();
        let mut new = sample::leak();
        new.chains[0].id = "ffffffff".to_owned();
        let diff = diff(&old, &new);
        let mut text = Vec::new();
        write_text(&diff, &mut anstream::StripStream::new(&mut text)).unwrap();
        write_markdown(&diff, &mut text).unwrap();
        insta::assert_snapshot!(String::from_utf8(text).unwrap());
    }
}
