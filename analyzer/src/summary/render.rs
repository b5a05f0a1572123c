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
    for chunk in &summary.chunks {
        writeln!(out, "{}", chunk_line(chunk))?;
    }
    writeln!(out)?;
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

fn chunk_line(chunk: &ChunkSummary) -> String {
    let lasted = match chunk.duration_ns {
        #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
        Some(nanos) => format!("{:.3} s", nanos as f64 / 1e9),
        None => "unknown duration".to_owned(),
    };
    format!(
        "{}: chunk {} at {}: {} events, {} bytes, version {}, {}, {}, {lasted}",
        terminal(&chunk.path),
        chunk.chunk,
        chunk.offset,
        chunk.events,
        chunk.bytes,
        chunk.version,
        chunk.state,
        chunk.start,
    )
}
