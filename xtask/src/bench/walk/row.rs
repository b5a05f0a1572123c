//! Measured rows: a record for the docs, a table for people.

use super::cell::Cell;
use super::log::{
    Pause, Said, Stop, Window, is_collection, longest_stall, median_and_longest, throughput,
};
use crate::bench::markdown;
use comfy_table::Table;
use serde_json::{Value, json};

/// What one way did and what it cost; milliseconds unless said.
#[derive(Debug)]
pub struct Row {
    /// `concurrent`, `safepoint`, `path-to-gc-roots` or `heap dump`.
    pub way: &'static str,
    /// Whether the chain to the leak was told; a heap dump tells none by itself.
    pub found: Option<bool>,
    /// From the leak signal (or the command) to the chain (or the file), in seconds.
    pub seconds: Option<f64>,
    /// From the start of the search (or the command) to its end.
    pub window: Option<Window>,
    /// Before it.
    pub quiet: Option<Window>,
    /// Bytes of native memory that the search held at most.
    pub native: Option<f64>,
    /// CPU seconds of the walking thread.
    pub cpu: Option<f64>,
    /// What the program said.
    pub said: Vec<Said>,
    /// Stops of the JVM.
    pub stops: Vec<Stop>,
    /// Pauses of its collections.
    pub pauses: Vec<Pause>,
}

impl Row {
    /// The record.
    pub fn json(&self, cell: &Cell, machine: &str) -> Value {
        let young = |window: Option<Window>| median_and_longest(self.lengths(window, false));
        let full = |window: Option<Window>| median_and_longest(self.lengths(window, true));
        let all = |from: Option<f64>, to: Option<f64>| {
            Some(Window {
                from: from?,
                to: to?,
            })
        };
        let before = all(Some(0.0), self.window.map(|window| window.from));
        let after = all(self.window.map(|window| window.from), Some(f64::MAX));
        let stops: Vec<&Stop> = self
            .stops
            .iter()
            .filter(|stop| self.window.is_some_and(|window| window.has(stop.at)))
            .filter(|stop| !is_collection(&stop.name))
            .collect();
        let mut names: Vec<&str> = stops.iter().map(|stop| stop.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let stall = |window: Option<Window>| longest_stall(&self.said, window?);
        let rate = |window: Option<Window>| throughput(&self.said, window?);
        let pair = |pair: Option<(f64, f64)>| {
            pair.map(
                |(middle, longest)| json!({"median": round(middle), "longest": round(longest)}),
            )
        };
        json!({
            "jdk": cell.jdk.version(),
            "collector": cell.collector.name(),
            "objects": cell.objects,
            "threads": cell.threads,
            "holder": if cell.deep { "one object among all" } else { "static field" },
            "way": self.way,
            "options": cell.options,
            "found": self.found,
            "signal_to_chain_s": self.seconds.map(round),
            "search_s": self.window.map(|window| round((window.to - window.from) / 1_000.0)),
            "walk_cpu_s": self.cpu.map(round),
            "longest_stall_ms": stall(self.window).map(round),
            "longest_stall_before_ms": stall(self.quiet).map(round),
            "stops": stops.len(),
            "stop_ms": self.window.map(|_| round(stops.iter().map(|stop| stop.total).sum::<f64>() + 0.0)),
            "longest_stop_ms": stops.iter().map(|stop| stop.total).max_by(f64::total_cmp).map(round),
            "stop_names": names,
            "throughput_share": rate(self.window).zip(rate(self.quiet)).map(|(during, before)| round(during / before)),
            "young_pauses_before_ms": pair(young(self.quiet)),
            "young_pauses_during_ms": pair(young(self.window)),
            "full_pauses_before_ms": pair(full(before)),
            "full_pauses_from_search_on_ms": pair(full(after)),
            "native_mib": self.native.map(|bytes| round(bytes / f64::from(1 << 20))),
            "machine": machine,
        })
    }

    fn lengths(&self, window: Option<Window>, full: bool) -> Vec<f64> {
        let inside = |pause: &&Pause| {
            pause.full == full && window.is_some_and(|window| window.has(pause.at))
        };
        self.pauses
            .iter()
            .filter(inside)
            .map(|pause| pause.length)
            .collect()
    }
}

fn round(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

/// A Markdown table of records.
pub fn table(rows: &[Value]) -> Table {
    let mut table = markdown(
        &[
            "JDK",
            "objects, threads",
            "holder",
            "way",
            "chain",
            "signal to chain, s",
            "longest stall, ms (before)",
            "stops: sum, longest ms",
            "throughput",
            "young pauses, median ms (before)",
            "full pause, ms (before)",
            "native MiB",
        ],
        5,
    );
    for row in rows {
        let number = |path: &str| row.pointer(path).and_then(Value::as_f64);
        let shown = |path: &str, digits: usize| {
            number(path).map_or("-".to_owned(), |number| format!("{number:.digits$}"))
        };
        let text = |path: &str| {
            row.pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let jdk = text("/jdk").split('.').next().unwrap_or_default();
        table.add_row([
            format!("{jdk} {}", text("/collector")),
            format!(
                "{:.0}M, {}",
                number("/objects").unwrap_or_default() / 1e6,
                shown("/threads", 0)
            ),
            text("/holder").to_owned(),
            format!("{} {}", text("/way"), text("/options"))
                .trim_end()
                .to_owned(),
            match row.pointer("/found").and_then(Value::as_bool) {
                Some(true) => "right",
                Some(false) => "none",
                None => "",
            }
            .to_owned(),
            shown("/signal_to_chain_s", 1),
            format!(
                "{} ({})",
                shown("/longest_stall_ms", 1),
                shown("/longest_stall_before_ms", 1)
            ),
            format!("{}, {}", shown("/stop_ms", 1), shown("/longest_stop_ms", 1)),
            number("/throughput_share")
                .map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
            format!(
                "{} ({})",
                shown("/young_pauses_during_ms/median", 2),
                shown("/young_pauses_before_ms/median", 2)
            ),
            format!(
                "{} ({})",
                shown("/full_pauses_from_search_on_ms/longest", 0),
                shown("/full_pauses_before_ms/longest", 0)
            ),
            shown("/native_mib", 1),
        ]);
    }
    table
}
