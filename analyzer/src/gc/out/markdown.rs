//! Markdown for tickets.

use std::io::{self, Write};

use super::{table, text, units};
use crate::gc::analysis::{Analysis, Judged};
use crate::gc::findings::Finding;
use crate::report::safe::{markdown_code, markdown_text};

/// Writes the diagnosis.
pub fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# Garbage collection: promotion and tenuring\n")?;
    if analysis.is_empty() {
        writeln!(out, "No collection was found.")?;
    }
    for (n, judged) in analysis.jvms.iter().enumerate() {
        writeln!(
            out,
            "## {}\n",
            markdown_text(&text::head(analysis, judged, n))
        )?;
        section(judged, "###", out)?;
    }
    let mut any = false;
    for d in analysis.diagnostics.iter() {
        if !any {
            writeln!(out, "## While reading\n")?;
            any = true;
        }
        let path = analysis
            .sources
            .get(d.input)
            .map_or("", |s| s.path.as_str());
        writeln!(
            out,
            "- {}: {}",
            markdown_code(path),
            markdown_text(&d.to_string())
        )?;
    }
    Ok(())
}

/// Findings, collections and limits of one JVM, under headings of level `hashes`.
pub fn section(judged: &Judged, hashes: &str, out: &mut dyn Write) -> io::Result<()> {
    if judged.findings.is_empty() {
        writeln!(
            out,
            "Nothing to report: no premature promotion, no failure.\n"
        )?;
    }
    for f in &judged.findings {
        finding(f, hashes, out)?;
    }
    writeln!(out, "{hashes} Collections\n")?;
    writeln!(out, "| {} |", table::HEADS.join(" | "))?;
    writeln!(out, "|{}|", ["---"; table::HEADS.len()].join("|"))?;
    for at in table::notable(judged) {
        if let Some(r) = judged.jvm.collections.get(at) {
            writeln!(
                out,
                "| {} |",
                table::cells(r).map(|c| markdown_text(&c)).join(" | ")
            )?;
        }
    }
    writeln!(out)?;
    let limits = table::limits(judged);
    if !limits.is_empty() {
        writeln!(out, "{hashes} What this input cannot tell\n")?;
        for limit in limits {
            writeln!(out, "- {limit}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn finding(f: &Finding, hashes: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{hashes} {} ({}): {}\n",
        f.id.name(),
        f.severity.name(),
        f.id.title()
    )?;
    for (n, sentence) in (1..).zip(&f.story) {
        writeln!(out, "{n}. {}", markdown_text(sentence))?;
    }
    writeln!(out)?;
    for a in &f.advice {
        let expect = a.expect.map_or_else(String::new, |e| {
            format!(
                "; desired {}, survivor {}, eden {}",
                units::bytes(e.desired),
                units::bytes(e.survivor),
                units::signed_percent(e.eden_change)
            )
        });
        writeln!(
            out,
            "- **{}** {}: {}{expect}. Cost: {}.",
            a.option,
            markdown_code(&a.argument()),
            a.why,
            a.cost
        )?;
    }
    for avoid in &f.avoid {
        writeln!(out, "- Not: {avoid}")?;
    }
    if !f.advice.is_empty() || !f.avoid.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}
