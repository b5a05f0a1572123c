//! A summary as text, JSON or CSV.

use std::io::{self, Write};

use super::{ChunkSummary, Format, Summary};
use crate::report::safe::terminal;

/// Writes a summary.
pub fn render(summary: &Summary, format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => text(summary, out),
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, summary)?;
            writeln!(out)
        }
        Format::Csv => csv(summary, out),
    }
}

fn csv(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "type,events,bytes")?;
    for (name, events) in &summary.events {
        let bytes = summary.bytes.get(name).copied().unwrap_or(0);
        writeln!(out, "{},{events},{bytes}", crate::events::csv_cell(name))?;
    }
    Ok(())
}

fn text(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    for chunks in summary.chunks.chunk_by(|a, b| a.path == b.path) {
        let path = chunks.first().map_or("", |chunk| &chunk.path);
        writeln!(out, "{}", terminal(path))?;
        writeln!(
            out,
            "{:>5} {:>11} {:>11} {:>9} ver {:24} lasts",
            "chunk", "offset", "bytes", "events", "begins"
        )?;
        for chunk in chunks {
            writeln!(out, "{}", chunk_line(chunk))?;
        }
        writeln!(out)?;
    }
    let names = summary.events.keys().map(|name| name.chars().count());
    let width = names.max().unwrap_or(0).max("event type".len());
    writeln!(
        out,
        "{:width$}  {:>12}  {:>14}",
        "event type", "events", "bytes"
    )?;
    let mut rows: Vec<(&String, u64)> = summary.events.iter().map(|(n, &e)| (n, e)).collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    for (name, events) in rows {
        let bytes = summary.bytes.get(name).copied().unwrap_or(0);
        let name = terminal(name);
        writeln!(out, "{name:width$}  {events:>12}  {bytes:>14}")?;
    }
    let bytes: u64 = summary.bytes.values().sum();
    writeln!(
        out,
        "{:width$}  {:>12}  {bytes:>14}",
        "total", summary.total
    )?;
    if !summary.skipped.is_empty() {
        writeln!(out, "\nskipped")?;
        for lost in &summary.skipped {
            writeln!(out, "  {}", terminal(&lost.to_string()))?;
        }
    }
    Ok(())
}

/// At most 80 columns for what a JVM writes.
fn chunk_line(chunk: &ChunkSummary) -> String {
    let state = match chunk.state {
        "finished" => None,
        other => Some(other.to_owned()),
    };
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    let lasted = chunk
        .duration_ns
        .map(|nanos| format!("{:.3} s", nanos as f64 / 1e9));
    let end: Vec<String> = state.into_iter().chain(lasted).collect();
    let milliseconds = chunk.start.len().saturating_sub("123456Z".len());
    format!(
        "{:>5} {:>11} {:>11} {:>9} {:3} {:24} {}",
        chunk.chunk,
        chunk.offset,
        chunk.bytes,
        chunk.events,
        chunk.version,
        format!("{}Z", chunk.start.get(..milliseconds).unwrap_or("")),
        if end.is_empty() {
            "unknown".to_owned()
        } else {
            end.join(" ")
        },
    )
}
