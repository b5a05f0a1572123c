//! Text for terminals.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use unicode_width::UnicodeWidthStr;

use super::{table, units};
use crate::gc::analysis::{Analysis, Judged};
use crate::gc::findings::{Advice, Finding, Severity};
use crate::report::fold::{WIDTH, fold};
use crate::report::safe::terminal;
use crate::report::units::counted;

/// Writes the diagnosis.
pub fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    if analysis.is_empty() {
        writeln!(out, "No collection was found.")?;
    }
    for (n, judged) in analysis.jvms.iter().enumerate() {
        if n > 0 {
            writeln!(out)?;
        }
        jvm(analysis, judged, n, out)?;
    }
    diagnostics(analysis, out)
}

fn jvm(analysis: &Analysis, judged: &Judged, n: usize, out: &mut dyn Write) -> io::Result<()> {
    let bold = Style::new().bold();
    for line in fold(&terminal(&head(analysis, judged, n)), "", "  ", WIDTH) {
        writeln!(out, "{bold}{line}{bold:#}")?;
    }
    if judged.findings.is_empty() {
        writeln!(
            out,
            "\nNothing to report: no premature promotion, no failure."
        )?;
    }
    for finding in &judged.findings {
        writeln!(out)?;
        write_finding(finding, judged, out)?;
    }
    writeln!(out, "\n{bold}Collections{bold:#}")?;
    rows(judged, out)?;
    let limits = table::limits(judged);
    if !limits.is_empty() {
        writeln!(out, "\n{bold}What this input cannot tell{bold:#}")?;
        for limit in limits {
            wrapped(&format!("- {limit}"), "  ", "    ", out)?;
        }
    }
    Ok(())
}

/// One line about a JVM: collector, counts, where it was read from.
pub fn head(analysis: &Analysis, judged: &Judged, n: usize) -> String {
    let t = &judged.jvm.totals;
    let mut text = String::new();
    if analysis.jvms.len() > 1 {
        text = format!("JVM {}: ", n + 1);
    }
    text += &format!(
        "{}, {}",
        judged.jvm.facts.collector.name(),
        counted(t.young, "young collection", "young collections")
    );
    if t.full > 0 {
        text += &format!(", {} full", units::grouped(t.full));
    }
    if t.cycles > 0 {
        text += ", ";
        text += &counted(t.cycles, "concurrent cycle", "concurrent cycles");
    }
    let mut inputs: Vec<usize> = judged.jvm.collections.iter().map(|r| r.input).collect();
    inputs.dedup();
    let paths: Vec<&str> = inputs
        .iter()
        .take(3)
        .filter_map(|at| analysis.sources.get(*at).map(|s| s.path.as_str()))
        .collect();
    if !paths.is_empty() {
        text += &format!(
            " ({}{})",
            paths.join(", "),
            if inputs.len() > 3 { ", ..." } else { "" }
        );
    }
    text
}

fn write_finding(f: &Finding, judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    let color = match f.severity {
        Severity::Critical => AnsiColor::Red,
        Severity::Warn => AnsiColor::Yellow,
        Severity::Info => AnsiColor::Cyan,
    };
    let style = Style::new().bold().fg_color(Some(color.into()));
    let at =
        f.at.and_then(|at| judged.jvm.collections.get(at))
            .map(|r| format!(" at {}", table::time(r)))
            .unwrap_or_default();
    let times = if f.count > 1 && at.is_empty() {
        format!(" ({} times)", units::grouped(f.count))
    } else if f.count > 1 {
        format!(" ({} times, worst{at})", units::grouped(f.count))
    } else if at.is_empty() {
        String::new()
    } else {
        format!(" ({})", at.trim_start())
    };
    let mark = format!("{} {}", f.severity.name().to_uppercase(), f.id.name());
    let title = format!("{mark} {}{times}", f.id.title());
    for (n, line) in fold(&title, "", "  ", WIDTH).iter().enumerate() {
        match line.strip_prefix(&mark) {
            Some(rest) if n == 0 => writeln!(out, "{style}{mark}{style:#}{rest}")?,
            _ => writeln!(out, "{line}")?,
        }
    }
    for (n, sentence) in (1..).zip(&f.story) {
        wrapped(&format!("{n}. {sentence}"), "  ", "     ", out)?;
    }
    for group in f.advice.chunk_by(|a, b| a.option == b.option) {
        write_advice(group, out)?;
    }
    for avoid in &f.avoid {
        wrapped(&format!("Not: {avoid}"), "  ", "       ", out)?;
    }
    Ok(())
}

/// Advice of one letter: what to type on one line, then why and what it costs, each said once.
fn write_advice(group: &[Advice], out: &mut dyn Write) -> io::Result<()> {
    let bold = Style::new().bold();
    let typed: Vec<String> = group.iter().map(Advice::argument).collect();
    let letter = group.first().map_or(' ', |a| a.option);
    let first = format!("  {letter}  ");
    for (n, line) in fold(&typed.join(" "), &first, "     ", WIDTH)
        .iter()
        .enumerate()
    {
        let flags = line.get(first.len()..).unwrap_or_default();
        let first = if n == 0 { first.as_str() } else { "     " };
        writeln!(out, "{first}{bold}{flags}{bold:#}")?;
    }
    let mut said: Vec<String> = Vec::new();
    for a in group {
        let mut why = a.why.clone();
        if let Some(e) = a.expect {
            why += &format!(
                "; desired {} ({} B), survivor {}, eden {}",
                units::bytes(e.desired),
                units::grouped(e.desired),
                units::bytes(e.survivor),
                units::signed_percent(e.eden_change)
            );
        }
        for text in [why, format!("cost: {}", a.cost)] {
            if !said.contains(&text) {
                wrapped(&text, "       ", "       ", out)?;
                said.push(text);
            }
        }
    }
    Ok(())
}

/// The notable collections: one line each as far as columns go, and below it what has no column.
fn rows(judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<table::Row> = table::notable(judged)
        .into_iter()
        .filter_map(|at| judged.jvm.collections.get(at).map(table::row))
        .collect();
    let mut widths = table::NARROW.map(str::width);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.width());
        }
    }
    // Columns from the right that have no room go below.
    let mut shown = widths.len();
    let total = |shown: usize| {
        widths
            .iter()
            .take(shown)
            .map(|width| width + 2)
            .sum::<usize>()
    };
    while total(shown) > WIDTH && shown > 1 {
        shown -= 1;
    }
    let line = |cells: &[&str]| {
        let mut text = String::new();
        for (width, cell) in widths.iter().zip(cells).take(shown) {
            text += &format!("  {cell}{:pad$}", "", pad = width - cell.width());
        }
        text.trim_end().to_owned()
    };
    let mut date = "";
    writeln!(out, "{}", line(&table::NARROW))?;
    for row in &rows {
        if let Some(day) = row.date.as_deref().filter(|day| *day != date) {
            writeln!(out, "  {day}")?;
            date = day;
        }
        let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
        writeln!(out, "{}", line(&cells))?;
        let below = table::NARROW.iter().zip(&cells).skip(shown);
        let below = below.map(|(head, cell)| format!("{head} {cell}"));
        let [cause, ages] = row.more.clone();
        let said: Vec<String> = cause.into_iter().chain(below).chain(ages).collect();
        let indent = " ".repeat(widths.first().map_or(0, |width| width + 4));
        for line in joined(&said, WIDTH.saturating_sub(indent.len())) {
            wrapped(&line, &indent, &format!("{indent}  "), out)?;
        }
    }
    let hidden = judged.jvm.collections.len() - rows.len();
    if hidden > 0 {
        writeln!(out, "  and {} more", units::grouped(hidden as u64))?;
    }
    Ok(())
}

/// `parts` with semicolons between them, in lines that end between parts where one has no room.
fn joined(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.width() + 2 + part.width() <= width => {
                line.push_str("; ");
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

fn diagnostics(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let bold = Style::new().bold();
    let mut any = false;
    for d in analysis.diagnostics.iter() {
        if !any {
            writeln!(out, "\n{bold}While reading{bold:#}")?;
            any = true;
        }
        let path = analysis
            .sources
            .get(d.input)
            .map_or("", |s| s.path.as_str());
        wrapped(&terminal(&format!("{path}: {d}")), "  ", "    ", out)?;
    }
    if analysis.diagnostics.more() > 0 {
        writeln!(
            out,
            "  and {} more of the same",
            analysis.diagnostics.more()
        )?;
    }
    Ok(())
}

fn wrapped(text: &str, first: &str, rest: &str, out: &mut dyn Write) -> io::Result<()> {
    for line in fold(text, first, rest, WIDTH) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
