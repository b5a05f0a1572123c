//! Workflow commands of GitHub Actions: annotations on the lines that allocate.

use std::io::{self, Write};
use std::path::PathBuf;

use super::{Level, Outcome, source};

/// Writes one annotation a finding, failures as errors.
pub fn write(outcome: &Outcome, roots: &[PathBuf], out: &mut dyn Write) -> io::Result<()> {
    for what in &outcome.unreadable {
        let message = data(what);
        writeln!(out, "::error title=jfr-chains: not read::{message}")?;
    }
    for damage in &outcome.damaged {
        let command = match outcome.damage {
            Level::Error => "error",
            Level::Note => "warning",
        };
        let message = data(&damage.message());
        writeln!(
            out,
            "::{command} title=jfr-chains: not read whole::{message}"
        )?;
    }
    if !outcome.analysed {
        let message = data(&outcome.reason);
        return writeln!(
            out,
            "::error title=jfr-chains: nothing was analysed::{message}"
        );
    }
    for finding in &outcome.findings {
        let command = match finding.level {
            Level::Error => "error",
            Level::Note => "notice",
        };
        let mut properties = String::new();
        if let Some(frame) = &finding.place {
            let path = source::uri(&source::path(frame, roots));
            properties.push_str(&format!("file={},", property(&path)));
            if let Some(line) = frame.line {
                properties.push_str(&format!("line={line},"));
            }
        }
        let title = format!("jfr-chains {}", finding.rule.as_str());
        properties.push_str(&format!("title={}", property(&title)));
        let text = if finding.level == Level::Error && !finding.path.is_empty() {
            format!("{}\n{}", finding.message, finding.path.trim_end())
        } else {
            finding.message.clone()
        };
        writeln!(out, "::{command} {properties}::{}", data(&text))?;
    }
    Ok(())
}

/// `text` as a command's message: nothing in it ends the line.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// `text` as a property's value: nothing in it ends the property either.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
