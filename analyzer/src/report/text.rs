//! The report for a terminal: 80 columns, the verdict first, then what to act on.
//!
//! Lines carry ANSI styles; the caller's stream keeps or strips them.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::fold::{WIDTH, fold};
use super::path::{self, Line, Part};
use super::safe::terminal;
use super::words::{self, FOOTER};
use super::{advice, stack, units};
use crate::gc::section::headline;
use crate::model::{Chain, Report, Verdict};

/// Column where the values of a finding begin.
const VALUE: usize = 13;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const ROOT: Style = AnsiColor::Cyan.on_default();
const FIELD: Style = AnsiColor::Yellow.on_default();

fn verdict_style(verdict: Verdict) -> Style {
    let color = match verdict {
        Verdict::Leak => AnsiColor::Red,
        Verdict::NoLeak => AnsiColor::Green,
        Verdict::Plateau | Verdict::NotHeap | Verdict::Unknown => AnsiColor::Yellow,
    };
    color.on_default().bold()
}

/// Writes `report` as text.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    head(report, out)?;
    let (signal, noise): (Vec<_>, Vec<_>) = report.chains.iter().partition(|c| c.noise.is_none());
    for (at, chain) in signal.iter().enumerate() {
        finding(report, chain, at + 1, out)?;
    }
    growing(report, out)?;
    noise_section(&noise, out)?;
    collections(report, out)?;
    searches(report, out)?;
    cost(report, out)?;
    agent(report, out)?;
    inputs(report, out)?;
    writeln!(out)?;
    prose(out, "", FOOTER, DIM)?;
    for unknown in words::unknowns(report) {
        prose(out, "- ", &unknown, DIM)?;
    }
    Ok(())
}

fn head(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let style = verdict_style(report.verdict);
    let word = words::verdict(report.verdict);
    let headline = words::headline(report);
    let indent = word.width() + 2;
    let pad = " ".repeat(indent);
    let text = terminal(&headline);
    let lines = fold(&text, &pad, &pad, WIDTH);
    for (at, line) in lines.iter().enumerate() {
        if at == 0 {
            let rest = line.get(indent..).unwrap_or_default();
            writeln!(out, "{style}{word}:{style:#} {BOLD}{rest}{BOLD:#}")?;
        } else {
            writeln!(out, "{BOLD}{line}{BOLD:#}")?;
        }
    }
    prose(out, "", &report.reason, Style::new())?;
    if let Some(oom) = words::projection(report) {
        prose(out, "", &oom, Style::new())?;
    }
    if let Some(heap) = words::heap(report) {
        prose(out, "", &heap, Style::new())?;
    }
    for jvm in &report.jvms {
        prose(out, "", &words::jvm(jvm), DIM)?;
    }
    for hint in &report.hints {
        prose(out, "Hint: ", hint, AnsiColor::Yellow.on_default())?;
    }
    Ok(())
}

fn finding(report: &Report, chain: &Chain, number: usize, out: &mut dyn Write) -> io::Result<()> {
    let leaf = terminal(&chain.leaf);
    let mark = format!("[{}]", chain.id);
    let title = format!("{number}. {leaf}");
    writeln!(out)?;
    // The mark stands at the right end of the last line that has room for it.
    let mut lines = fold(&title, "", "     ", WIDTH);
    if lines
        .last()
        .is_some_and(|line| line.width() + 1 + mark.width() > WIDTH)
    {
        lines.push(String::new());
    }
    let last = lines.len().saturating_sub(1);
    for (at, line) in lines.iter().enumerate() {
        write!(out, "{BOLD}{line}{BOLD:#}")?;
        if at == last {
            let gap = WIDTH.saturating_sub(line.width() + mark.width()).max(1);
            write!(out, "{}{DIM}{mark}{DIM:#}", " ".repeat(gap))?;
        }
        writeln!(out)?;
    }
    for (at, text) in words::grows(report, chain).iter().enumerate() {
        entry(out, if at == 0 { "Grows" } else { "" }, text)?;
    }
    allocation(out, chain.allocating_thread.as_deref(), &chain.stack)?;
    held_by(chain, out)?;
    for (at, text) in advice::for_chain(chain).iter().enumerate() {
        entry(out, if at == 0 { "Look at" } else { "" }, text)?;
    }
    Ok(())
}

fn allocation(
    out: &mut dyn Write,
    thread: Option<&str>,
    stack: &[crate::model::Frame],
) -> io::Result<()> {
    if let Some(thread) = thread {
        entry(out, "Allocated", &format!("by thread \"{thread}\""))?;
    }
    for (at, line) in stack::lines(stack).iter().enumerate() {
        let label = if at == 0 && thread.is_none() {
            "Allocated"
        } else {
            ""
        };
        let (text, style) = match line {
            stack::Line::Frame(text) => (text, Style::new()),
            stack::Line::Gap(text) => (text, DIM),
        };
        let [first, rest] = [VALUE, VALUE + 5].map(|columns| " ".repeat(columns));
        let folded = fold(&terminal(text), &first, &rest, WIDTH);
        for (at, line) in folded.iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            label_and_value(out, label, line, style)?;
            writeln!(out)?;
        }
    }
    Ok(())
}

fn held_by(chain: &Chain, out: &mut dyn Write) -> io::Result<()> {
    for line in path::lines(chain) {
        hop(out, &line)?;
    }
    let held = words::held(chain);
    if !held.is_empty() {
        entry(out, "", &held)?;
    }
    if let Some(note) = chain.strength.note() {
        entry(out, "", &format!("Note: {note}."))?;
    }
    Ok(())
}

fn hop(out: &mut dyn Write, line: &Line) -> io::Result<()> {
    let holder = line.object();
    let holder = terminal(&holder);
    let edge = terminal(&line.edge);
    let (label, indent, style) = match line.part {
        Part::Root => ("Held by", VALUE, ROOT),
        Part::Hop => ("", VALUE + 2, Style::new()),
        Part::Gap => ("", VALUE + 2, DIM),
        Part::Leaf => ("", VALUE + 2, BOLD),
    };
    let [first, rest] = [indent, indent + 4].map(|columns| " ".repeat(columns));
    let lines = fold(&holder, &first, &rest, WIDTH);
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        let label = if at == 0 { label } else { "" };
        label_and_value(out, label, line, style)?;
    }
    if !edge.is_empty() {
        let end = lines.last().map_or(indent, |line| line.width());
        if end + 1 + edge.width() > WIDTH {
            write!(out, "\n{:width$}", "", width = indent + 2)?;
        } else {
            write!(out, " ")?;
        }
        write!(out, "{FIELD}{edge}{FIELD:#}")?;
    }
    writeln!(out)?;
    if let Some(note) = &line.note {
        let [first, rest] = [indent + 2, indent + 3].map(|columns| " ".repeat(columns));
        for line in fold(&format!("({})", terminal(note)), &first, &rest, WIDTH) {
            writeln!(out, "{DIM}{line}{DIM:#}")?;
        }
    }
    Ok(())
}

fn growing(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for (title, rest) in words::watched(report) {
        section(out, title)?;
        for candidate in rest.iter().take(10) {
            let class = terminal(&candidate.class);
            let style = if candidate.qualifying {
                BOLD
            } else {
                Style::new()
            };
            for line in fold(&class, "   ", "       ", WIDTH) {
                writeln!(out, "{style}{line}{style:#}")?;
            }
            prose(out, "      ", &words::candidate(candidate), Style::new())?;
        }
        if rest.len() > 10 {
            let more = units::count((rest.len() - 10) as u64);
            writeln!(out, "   {DIM}... {more} more, in the JSON{DIM:#}")?;
        }
    }
    Ok(())
}

fn noise_section(noise: &[&Chain], out: &mut dyn Write) -> io::Result<()> {
    if noise.is_empty() {
        return Ok(());
    }
    section(out, "Probably warm-up or the JDK's own (ranked last)")?;
    for chain in noise {
        let text = format!(
            "{} held by {} [{}]: {}",
            chain.leaf,
            chain.holder(),
            chain.id,
            chain.noise.map_or("", |noise| noise.reason)
        );
        prose(out, "   ", &text, DIM)?;
    }
    Ok(())
}

fn searches(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    section(out, "Searches")?;
    if report.searches.is_empty() {
        prose(out, "   ", &words::no_search(report), Style::new())?;
    }
    for (label, text) in words::searches(report) {
        entry(out, &label, &text)?;
    }
    if !report.cost.refusals.is_empty() {
        entry(out, "Refused", &words::refusals(&report.cost.refusals))?;
    }
    Ok(())
}

fn cost(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let lines = words::cost(report);
    if lines.is_empty() {
        return Ok(());
    }
    section(out, "Cost")?;
    for (label, text) in lines {
        entry(out, label, &text)?;
    }
    Ok(())
}

fn agent(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let lines = words::agent(report);
    if lines.is_empty() {
        return Ok(());
    }
    section(out, "Agent")?;
    for (label, text) in lines {
        entry(out, label, &text)?;
    }
    Ok(())
}

fn inputs(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    section(out, "Read")?;
    for input in &report.inputs {
        prose(out, "   ", &words::input(input), Style::new())?;
        for skipped in &input.skipped {
            let text = words::skipped(skipped);
            prose(
                out,
                "      skipped: ",
                &text,
                AnsiColor::Yellow.on_default(),
            )?;
        }
    }
    Ok(())
}

fn section(out: &mut dyn Write, title: &str) -> io::Result<()> {
    writeln!(out)?;
    writeln!(out, "{BOLD}{title}{BOLD:#}")
}

/// What garbage collection has to do with it.
fn collections(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Some(gc) = &report.gc else {
        return Ok(());
    };
    section(
        out,
        &format!("Garbage collection ({})", terminal(&gc.collector)),
    )?;
    if let Some(discount) = &gc.discount {
        prose(out, "   ", discount, AnsiColor::Yellow.on_default())?;
    }
    for finding in &gc.findings {
        prose(out, "   ", &headline(finding), BOLD)?;
        for line in &finding.story {
            prose(out, "     ", line, Style::new())?;
        }
        for line in &finding.advice {
            prose(out, "     > ", line, Style::new())?;
        }
    }
    prose(out, "   ", "jfr-chains gc FILE tells more.", DIM)
}

/// `   Label    text`, wrapped with a hanging indent.
fn entry(out: &mut dyn Write, label: &str, text: &str) -> io::Result<()> {
    let first = format!("   {label:<width$}", width = VALUE - 3);
    let text = terminal(text);
    let pad = " ".repeat(VALUE);
    for line in fold(&text, &first, &pad, WIDTH) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A line that begins with spaces, with `label` in their place.
fn label_and_value(out: &mut dyn Write, label: &str, line: &str, style: Style) -> io::Result<()> {
    let value = line.trim_start_matches(' ');
    let width = (line.len() - value.len()).saturating_sub(3);
    write!(out, "   {label:<width$}{style}{value}{style:#}")
}

fn prose(out: &mut dyn Write, indent: &str, text: &str, style: Style) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let text = terminal(text);
    let pad = " ".repeat(indent.width());
    for line in fold(&text, indent, &pad, WIDTH) {
        writeln!(out, "{style}{line}{style:#}")?;
    }
    Ok(())
}
