//! Measured rows: a table for people, a JSON record for the docs.

use crate::bench::markdown;
use comfy_table::Table;
use serde_json::{Value, json};
use std::path::Path;

/// What one way of reading one recording took.
pub struct Row {
    /// Size of the recording in MB, as asked for.
    pub megabytes: u64,
    /// Bytes of the recording.
    pub bytes: u64,
    /// The way.
    pub way: String,
    /// Events that it counted, where it says.
    pub events: Option<u64>,
    /// Seconds of the whole process: wall.
    pub wall: f64,
    /// Seconds of the whole process: CPU.
    pub cpu: f64,
    /// Wall and CPU seconds of the reading alone, where the process itself takes them.
    pub reading: Option<(f64, f64)>,
    /// Bytes of private memory at most.
    pub private: Option<u64>,
}

impl Row {
    fn json(&self, machine: &str) -> Value {
        let round = |seconds: f64| (seconds * 1_000.0).round() / 1_000.0;
        json!({
            "megabytes": self.megabytes,
            "bytes": self.bytes,
            "way": self.way,
            "events": self.events,
            "process_wall_s": round(self.wall),
            "process_cpu_s": round(self.cpu),
            "reading_wall_s": self.reading.map(|(wall, _)| round(wall)),
            "reading_cpu_s": self.reading.map(|(_, cpu)| round(cpu)),
            "private_bytes": self.private,
            "machine": machine,
        })
    }
}

/// A Markdown table of rows of one recording.
pub fn table(rows: &[Row]) -> Table {
    let mut table = markdown(
        &[
            "way",
            "events",
            "reading, wall s",
            "reading, CPU s",
            "process, wall s",
            "process, CPU s",
            "private MiB",
        ],
        1,
    );
    for row in rows {
        let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let seconds = |value: Option<f64>| value.map_or(String::new(), |s| format!("{s:.2}"));
        table.add_row([
            row.way.clone(),
            number(row.events),
            seconds(row.reading.map(|(wall, _)| wall)),
            seconds(row.reading.map(|(_, cpu)| cpu)),
            format!("{:.2}", row.wall),
            format!("{:.2}", row.cpu),
            number(row.private.map(|bytes| bytes.div_ceil(1 << 20))),
        ]);
    }
    table
}

/// Puts rows into a record: they take the place of older ones of the same size and way.
pub fn record(path: &Path, rows: &[Row], machine: &str) -> anyhow::Result<()> {
    let mut kept: Vec<Value> = match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    kept.retain(|old| {
        !rows
            .iter()
            .any(|new| old["way"] == new.way && old["megabytes"] == new.megabytes)
    });
    kept.extend(rows.iter().map(|row| row.json(machine)));
    kept.sort_by_key(|row| row["megabytes"].as_u64());
    std::fs::write(path, serde_json::to_string_pretty(&kept)? + "\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Row, record};

    fn row(way: &str, wall: f64) -> Row {
        Row {
            megabytes: 10,
            bytes: 10_000_000,
            way: way.to_owned(),
            events: None,
            wall,
            cpu: wall,
            reading: None,
            private: None,
        }
    }

    #[test]
    fn a_new_measurement_replaces_the_old_one_of_the_same_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record.json");
        record(&path, &[row("decode", 1.0), row("jfrs", 3.0)], "here").unwrap();
        record(&path, &[row("decode", 0.5)], "here").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let rows: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        assert_eq!(rows.len(), 2);
        assert!(
            rows.iter()
                .any(|row| row["way"] == "decode" && row["process_wall_s"] == 0.5)
        );
    }
}
