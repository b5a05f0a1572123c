//! The result of a check for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{Finding, Level, Outcome, Rule};
use crate::report::fold::{WIDTH, fold};
use crate::report::safe::terminal;
use crate::report::units;

/// Writes the outcome: failures first, then what passes and why.
pub fn write(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let failed = outcome.errors().count() as u64;
    let (word, style, rest) = if !outcome.analysed {
        (
            "NOTHING ANALYSED",
            AnsiColor::Yellow,
            outcome.reason.clone(),
        )
    } else if failed > 0 {
        (
            "FAILED",
            AnsiColor::Red,
            units::counted(failed, "finding", "findings"),
        )
    } else if !outcome.unreadable.is_empty() {
        let unread = outcome.unreadable.len() as u64;
        let rest = units::counted(unread, "input was not read", "inputs were not read");
        ("INCOMPLETE", AnsiColor::Yellow, rest)
    } else if outcome.is_incomplete() {
        let damaged = outcome.damaged.len() as u64;
        let rest = format!(
            "no finding, but {}; with `damaged = \"note\"` in the policy this passes",
            units::counted(
                damaged,
                "recording was not read whole",
                "recordings were not read whole"
            )
        );
        ("INCOMPLETE", AnsiColor::Yellow, rest)
    } else {
        ("PASSED", AnsiColor::Green, outcome.reason.clone())
    };
    let style = style.on_default().bold();
    let rest = terminal(&rest);
    // Spaces where the word stands.
    let mark = " ".repeat(word.len() + 2);
    for (at, line) in fold(&rest, &mark, "      ", WIDTH).iter().enumerate() {
        match line.strip_prefix(&mark) {
            Some(line) if at == 0 => writeln!(out, "{style}{word}{style:#}: {line}")?,
            _ => writeln!(out, "{line}")?,
        }
    }
    for damage in &outcome.damaged {
        let (mark, style) = match outcome.damage {
            Level::Error => ("LOST", AnsiColor::Yellow.on_default()),
            Level::Note => ("note", Style::new().dimmed()),
        };
        marked(mark, style, &damage.message(), out)?;
    }
    for level in [Level::Error, Level::Note] {
        for finding in outcome.findings.iter().filter(|f| f.level == level) {
            let (mark, style) = match level {
                Level::Error => ("FAIL", AnsiColor::Red.on_default()),
                Level::Note => ("note", Style::new().dimmed()),
            };
            let id = finding
                .chain
                .as_ref()
                .map_or_else(String::new, |id| format!(" [{id}]"));
            let text = format!("{}{id}: {}", finding.rule.as_str(), finding.message);
            marked(mark, style, &text, out)?;
            if level == Level::Error {
                let hops = finding.path.lines().count();
                for (at, line) in finding.particulars().lines().enumerate() {
                    let indent = " ".repeat(if at == 0 || at >= hops { 8 } else { 10 });
                    let rest = format!("{indent}  ");
                    for line in fold(&terminal(line), &indent, &rest, WIDTH) {
                        writeln!(out, "{line}")?;
                    }
                }
            }
        }
    }
    let acceptable = |f: &&Finding| f.rule == Rule::UnknownChain;
    if let Some(id) = outcome
        .errors()
        .find(acceptable)
        .and_then(|f| f.chain.as_ref())
    {
        let text = format!(
            "Known, and to be lived with? Accept it, with a reason: jfr-chains baseline --only {id} \
             --reason TEXT -o leaks.toml FILE"
        );
        for line in fold(&text, "", "      ", WIDTH) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// `FAIL  text`, wrapped under itself.
fn marked(mark: &str, style: Style, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let text = terminal(text);
    for (at, line) in fold(&text, "", "", WIDTH - 6).iter().enumerate() {
        let mark = if at == 0 { mark } else { "" };
        writeln!(out, "{style}{mark:4}{style:#}  {line}")?;
    }
    Ok(())
}
