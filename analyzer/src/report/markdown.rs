//! The report as Markdown, for tickets and pull requests.

use std::io::{self, Write};

use super::path::{self, Part};
use super::safe::{markdown_code as code, markdown_text as text, terminal};
use super::words::{self, FOOTER};
use super::{advice, stack};
use crate::gc::section::headline;
use crate::model::{Chain, Report};

/// Writes `report` as GitHub-flavoured Markdown.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let headline = text(&words::headline(report));
    writeln!(out, "# {}: {headline}\n", words::verdict(report.verdict))?;
    writeln!(out, "{}\n", text(&report.reason))?;
    if let Some(projection) = words::projection(report) {
        writeln!(out, "{}\n", text(&projection))?;
    }
    for jvm in &report.jvms {
        writeln!(out, "- {}", text(&words::jvm(jvm)))?;
    }
    for hint in &report.hints {
        writeln!(out, "- **Hint:** {}", text(hint))?;
    }
    let (signal, noise): (Vec<_>, Vec<_>) = report.chains.iter().partition(|c| c.noise.is_none());
    for (at, chain) in signal.iter().enumerate() {
        finding(report, chain, at + 1, out)?;
    }
    watched(report, out)?;
    if !noise.is_empty() {
        writeln!(out, "\n## Probably warm-up or the JDK's own\n")?;
        for chain in noise {
            writeln!(
                out,
                "- {} held by {} (`{}`): {}",
                code(&chain.leaf),
                code(&chain.holder()),
                chain.id,
                chain.noise.map_or("", |noise| noise.reason)
            )?;
        }
    }
    collections(report, out)?;
    searches(report, out)?;
    writeln!(out, "\n## Read\n")?;
    for input in &report.inputs {
        writeln!(out, "- {}", text(&words::input(input)))?;
        for skipped in &input.skipped {
            writeln!(out, "  - skipped: {}", text(&words::skipped(skipped)))?;
        }
    }
    writeln!(out, "\n---\n\n{FOOTER}")?;
    for unknown in words::unknowns(report) {
        writeln!(out, "- {}", text(&unknown))?;
    }
    Ok(())
}

fn collections(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Some(gc) = &report.gc else {
        return Ok(());
    };
    writeln!(out, "\n## Garbage collection ({})\n", text(&gc.collector))?;
    if let Some(discount) = &gc.discount {
        writeln!(out, "{}\n", text(discount))?;
    }
    for finding in &gc.findings {
        writeln!(out, "- **{}**", text(&headline(finding)))?;
        for line in finding.story.iter().chain(&finding.advice) {
            writeln!(out, "  - {}", text(line))?;
        }
    }
    Ok(())
}

fn finding(report: &Report, chain: &Chain, number: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "\n## {number}. {} (`{}`)\n",
        code(&chain.leaf),
        chain.id
    )?;
    for grows in words::grows(report, chain) {
        writeln!(out, "- **Grows:** {}", text(&grows))?;
    }
    if let Some(thread) = &chain.allocating_thread {
        writeln!(out, "- **Allocated by thread** {}", code(thread))?;
    }
    let held = words::held(chain);
    if !held.is_empty() {
        writeln!(out, "- **Held:** {}", text(&held))?;
    }
    if let Some(note) = chain.strength.note() {
        writeln!(out, "- **Note:** {note}")?;
    }
    for look in advice::for_chain(chain) {
        writeln!(out, "- **Look at:** {}", text(&look))?;
    }
    writeln!(out, "\nHeld by\n\n{}", fenced(&path_text(chain)))?;
    if !chain.stack.is_empty() {
        let stack: String = chain
            .stack
            .iter()
            .map(|frame| {
                let line = frame.line.map_or_else(String::new, |l| format!(":{l}"));
                format!("at {}.{}{line}\n", stack::named(&frame.class), frame.method)
            })
            .collect();
        writeln!(out, "\nAllocated\n\n{}", fenced(&stack))?;
    }
    Ok(())
}

/// The chain as plain lines.
fn path_text(chain: &Chain) -> String {
    let mut out = String::new();
    for line in path::lines(chain) {
        let indent = if line.part == Part::Root { "" } else { "  " };
        out.push_str(indent);
        out.push_str(&line.object());
        if !line.edge.is_empty() {
            out.push(' ');
            out.push_str(&line.edge);
        }
        if let Some(note) = &line.note {
            out.push_str("  (");
            out.push_str(note);
            out.push(')');
        }
        out.push('\n');
    }
    out
}

/// `body` in a code fence that nothing inside can close.
fn fenced(body: &str) -> String {
    let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let mut out = format!("{fence}text\n");
    for line in body.lines() {
        out.push_str(&terminal(line));
        out.push('\n');
    }
    out.push_str(&fence);
    out
}

fn watched(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for (title, rest) in words::watched(report) {
        writeln!(out, "\n## {title}\n")?;
        for candidate in rest {
            writeln!(
                out,
                "- {}: {}",
                code(&candidate.class),
                text(&words::candidate(candidate))
            )?;
        }
    }
    Ok(())
}

fn searches(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## Searches and cost\n")?;
    if report.searches.is_empty() {
        writeln!(out, "- {}", text(&words::no_search(report)))?;
    }
    for (label, line) in words::searches(report) {
        writeln!(out, "- Search {label} {}", text(&line))?;
    }
    if !report.cost.refusals.is_empty() {
        writeln!(
            out,
            "- **Refused:** {}",
            text(&words::refusals(&report.cost.refusals))
        )?;
    }
    for (label, line) in words::cost(report) {
        writeln!(out, "- **{label}:** {}", text(&line))?;
    }
    for (label, line) in words::agent(report) {
        writeln!(out, "- **{label}:** {}", text(&line))?;
    }
    if let Some(heap) = words::heap(report) {
        writeln!(out, "- {}", text(&heap))?;
    }
    Ok(())
}
