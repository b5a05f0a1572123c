//! `cargo xtask bench NAME`: measurements beside the peers, with records for the docs.

mod measure;
mod overhead;
mod reader;
mod recordings;
mod rows;
mod walk;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;

/// Options of `bench`.
#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Which {
    /// Measures what our agent and JFR cost a program in which nothing leaks.
    Overhead(overhead::Options),
    /// Times our reader beside its peers on recordings of a real JVM.
    Reader(reader::Options),
    /// Measures what finding a leak's holder costs a program, beside the JDK's own ways.
    Walk(walk::Options),
}

/// Runs one bench; the figures go to stdout.
pub fn run(options: &Options) -> anyhow::Result<()> {
    match &options.which {
        Which::Overhead(options) => overhead::run(options),
        Which::Reader(options) => reader::run(options),
        Which::Walk(options) => walk::run(options),
    }
}

/// An empty Markdown table with these columns; all behind the first `left` hold numbers.
fn markdown(columns: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(columns);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Adds a row to a file of records, one JSON object a line.
fn append(records: &Path, row: &Value) -> anyhow::Result<()> {
    let mut file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(records)?;
    Ok(writeln!(file, "{row}")?)
}
