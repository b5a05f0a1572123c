//! `cargo xtask bench walk`: what finding a leak's holder costs the program, beside what the JDK offers.
//!
//! One program (`bench.LiveHeap`) for every cell: a live heap of a stated size, parked threads, one leak, a thread that
//! only reads the clock, a thread that only works. A cell is a JVM of its own; our engines get one each, the JDK's leak
//! profiler and heap dump share one without our agent. What the program saw comes from its own lines, stops and
//! collections from the JVM's log, the search from the recording.

mod cell;
mod log;
mod row;

use crate::bench::append;
use crate::bench::measure::machine;
use anyhow::Context as _;
use cell::{Cell, Way};
use jfr_chains_tests::{Collector, Jdk};
use row::Row;
use std::io::Write as _;
use std::path::PathBuf;

/// Options of `bench walk`.
#[derive(clap::Args)]
pub struct Options {
    /// Feature releases.
    #[arg(long, value_delimiter = ',', default_values_t = [17, 25])]
    jdk: Vec<u32>,
    /// g1, z, or any other collector.
    #[arg(long, value_delimiter = ',', default_values_t = ["g1".to_owned(), "z".to_owned()])]
    collector: Vec<String>,
    /// Live objects.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000_000, 10_000_000])]
    objects: Vec<u32>,
    /// Parked threads of 50 frames.
    #[arg(long, value_delimiter = ',', default_values_t = [50, 500])]
    threads: Vec<u32>,
    /// concurrent, safepoint, jdk (the JDK's leak profiler, then a heap dump).
    #[arg(long, value_delimiter = ',', default_values_t = ["concurrent".to_owned(), "safepoint".to_owned(), "jdk".to_owned()])]
    way: Vec<String>,
    /// One object among all holds the leak, not a static field of its own: the walk has to get there.
    #[arg(long)]
    deep: bool,
    /// Further options of the agent, `memcap=200m` for one.
    #[arg(long, default_value = "")]
    options: String,
    /// Longest life of a program after its heap stands.
    #[arg(long, default_value_t = 120)]
    seconds: u32,
    /// Appends each row to this file, one JSON object a line.
    #[arg(long)]
    records: Option<PathBuf>,
    /// Prints the table of a file of records and measures nothing.
    #[arg(long)]
    table: Option<PathBuf>,
    /// Builds without optimisation: its figures say nothing.
    #[arg(long)]
    dev: bool,
}

/// Runs the cells one after the other and prints a table.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if let Some(records) = &options.table {
        let text =
            std::fs::read_to_string(records).with_context(|| records.display().to_string())?;
        let rows: Vec<serde_json::Value> = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        return print(&format!("{}\n", row::table(&rows)));
    }
    let cells = cells(options)?;
    let mut rows = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        eprintln!("{}/{} {cell}", number + 1, cells.len());
        let machine = machine();
        for row in cell.run().with_context(|| cell.to_string())? {
            let row = row.json(cell, &machine);
            eprintln!("  {row}");
            if let Some(records) = &options.records {
                append(records, &row)?;
            }
            rows.push(row);
        }
    }
    print(&format!("{}\n", row::table(&rows)))
}

fn cells(options: &Options) -> anyhow::Result<Vec<Cell>> {
    let built = crate::steps::build(options.dev)?;
    let mut cells = Vec::new();
    for &feature in &options.jdk {
        let jdk = Jdk::feature(feature).with_context(|| format!("no JDK {feature} found"))?;
        for name in &options.collector {
            let collector =
                Collector::from_name(name).with_context(|| format!("no collector {name}"))?;
            for &objects in &options.objects {
                for &threads in &options.threads {
                    for way in &options.way {
                        cells.push(Cell {
                            jdk: jdk.clone(),
                            collector,
                            objects,
                            threads,
                            way: Way::from_name(way).with_context(|| format!("no way {way}"))?,
                            seconds: options.seconds,
                            deep: options.deep,
                            options: options.options.clone(),
                            agent: built.agent.clone(),
                            command: built.command.clone(),
                        });
                    }
                }
            }
        }
    }
    Ok(cells)
}

fn print(text: &str) -> anyhow::Result<()> {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}
