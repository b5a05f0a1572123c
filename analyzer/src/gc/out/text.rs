//! Text for terminals.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{table, units};
use crate::gc::analysis::{Analysis, Judged};
use crate::gc::findings::{Advice, Finding, Severity};
use crate::report::safe::terminal;
use crate::report::units::counted;

/// Columns of running text.
const WIDTH: usize = 100;

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
    writeln!(
        out,
        "{bold}{}{bold:#}",
        terminal(&head(analysis, judged, n))
    )?;
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
    writeln!(
        out,
        "{style}{} {}{style:#} {}{times}",
        f.severity.name().to_uppercase(),
        f.id.name(),
        f.id.title()
    )?;
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
    writeln!(out, "  {letter}  {bold}{}{bold:#}", typed.join(" "))?;
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

fn rows(judged: &Judged, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<[String; 10]> = table::notable(judged)
        .into_iter()
        .filter_map(|at| judged.jvm.collections.get(at).map(table::cells))
        .collect();
    let mut widths = table::HEADS.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::from(" ");
        for (width, cell) in widths.iter().zip(cells) {
            text += &format!(" {cell:<width$} ");
        }
        text.trim_end().to_owned()
    };
    writeln!(out, "{}", line(&mut table::HEADS.iter().copied()))?;
    for row in &rows {
        writeln!(out, "{}", line(&mut row.iter().map(String::as_str)))?;
    }
    let hidden = judged.jvm.collections.len() - rows.len();
    if hidden > 0 {
        writeln!(out, "  and {} more", units::grouped(hidden as u64))?;
    }
    Ok(())
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
        writeln!(out, "  {}", terminal(&format!("{path}: {d}")))?;
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
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(rest);
    for line in textwrap::wrap(text, options) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
