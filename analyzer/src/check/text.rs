//! The result of a check for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use textwrap::Options;

use super::{Level, Outcome};
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
    } else {
        ("PASSED", AnsiColor::Green, outcome.reason.clone())
    };
    let style = style.on_default().bold();
    writeln!(out, "{style}{word}{style:#}: {}", terminal(&rest))?;
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
            let text = terminal(&text);
            let lines = textwrap::wrap(
                &text,
                Options::new(74)
                    .break_words(false)
                    .word_splitter(textwrap::WordSplitter::NoHyphenation),
            );
            for (at, line) in lines.iter().enumerate() {
                let mark = if at == 0 { mark } else { "" };
                writeln!(out, "{style}{mark:4}{style:#}  {line}")?;
            }
            if level == Level::Error {
                for (at, line) in finding.path.lines().enumerate() {
                    let indent = if at == 0 { 8 } else { 10 };
                    writeln!(out, "{:indent$}{}", "", terminal(line))?;
                }
            }
        }
    }
    Ok(())
}
