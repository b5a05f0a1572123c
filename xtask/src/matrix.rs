//! `cargo xtask matrix`: leak shapes by JDK and collector.

use crate::steps;
use anyhow::{Context as _, bail, ensure};
use comfy_table::{Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use jfr_chains_tests::{Cell, Collector, Jdk, Shape, shapes};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

/// Options of `matrix`.
#[derive(clap::Args)]
pub struct Options {
    /// Ids of shapes (01 to 29, 30a to 30d); default: all.
    #[arg(long, value_delimiter = ',')]
    shape: Vec<String>,
    /// Feature releases; default: 11, 17, 21 and 25, as far as found.
    #[arg(long, value_delimiter = ',', default_values_t = [11, 17, 21, 25])]
    jdk: Vec<u32>,
    /// g1, parallel, serial, z, shenandoah; default: all that a JDK has.
    #[arg(long, value_delimiter = ',')]
    collector: Vec<String>,
    /// How long a program runs at most.
    #[arg(long, default_value_t = 40)]
    seconds: u32,
    /// JVMs at once.
    #[arg(long, default_value_t = 4)]
    jobs: usize,
    /// Builds without optimisation.
    #[arg(long)]
    dev: bool,
}

/// One run of the table.
struct Job {
    shape: Shape,
    column: String,
    cell: Cell,
}

/// Runs the matrix and prints it; errs when a cell is not as it should be.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let jobs = jobs(options)?;
    let bar = ProgressBar::new(jobs.len().try_into()?);
    bar.set_style(ProgressStyle::with_template("{elapsed} {pos}/{len} {msg}")?);
    let queue = Mutex::new(VecDeque::from(jobs));
    let results: Mutex<BTreeMap<(String, String), String>> = Mutex::default();
    let failures: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some(job) = queue.lock().ok().and_then(|mut queue| queue.pop_front()) {
                    let (short, failure) = result(&job);
                    let line = format!("{} {} {short}", job.shape.id, job.column);
                    if bar.is_hidden() {
                        eprintln!("{line}");
                    } else {
                        bar.println(line);
                    }
                    bar.inc(1);
                    let row = format!("{} {}", job.shape.id, job.shape.what);
                    if let (Ok(mut results), Ok(mut failures)) = (results.lock(), failures.lock()) {
                        failures
                            .extend(failure.map(|text| format!("{row}, {}: {text}", job.column)));
                        results.insert((row, job.column), short);
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    let (results, failures) = (results.into_inner()?, failures.into_inner()?);
    print(&format!("{}\n", table(&results)))?;
    for failure in &failures {
        print(&format!("\n{failure}\n"))?;
    }
    ensure!(
        failures.is_empty(),
        "{} of {} cells are wrong",
        failures.len(),
        results.len()
    );
    Ok(())
}

fn jobs(options: &Options) -> anyhow::Result<Vec<Job>> {
    let built = steps::build(options.dev)?;
    let all = shapes()?;
    let wanted = |shape: &Shape| options.shape.is_empty() || options.shape.contains(&shape.id);
    if let Some(unknown) = options
        .shape
        .iter()
        .find(|id| all.iter().all(|shape| shape.id != **id))
    {
        bail!("no shape {unknown}");
    }
    let named: Vec<Collector> = options
        .collector
        .iter()
        .map(|name| Collector::from_name(name).with_context(|| format!("no collector {name}")))
        .collect::<anyhow::Result<_>>()?;
    let collectors = if named.is_empty() {
        Collector::ALL.to_vec()
    } else {
        named
    };
    let mut jobs = Vec::new();
    for &feature in &options.jdk {
        let Some(jdk) = Jdk::feature(feature) else {
            eprintln!("skipped: no JDK {feature} found");
            continue;
        };
        for collector in collectors
            .iter()
            .copied()
            .filter(|&collector| jdk.supports(collector))
        {
            let cell = Cell {
                jdk: jdk.clone(),
                collector,
                agent: built.agent.clone(),
                command: built.command.clone(),
                seconds: options.seconds,
            };
            let column = format!("{feature} {}", collector.name());
            let fitting = all
                .iter()
                .filter(|shape| wanted(shape) && feature >= shape.jdk)
                .cloned();
            jobs.extend(fitting.map(|shape| Job {
                shape,
                column: column.clone(),
                cell: cell.clone(),
            }));
        }
    }
    Ok(jobs)
}

/// The table's text, and the whole story of a failure.
fn result(job: &Job) -> (String, Option<String>) {
    match job.shape.run(&job.cell) {
        Err(error) => ("error".to_owned(), Some(format!("{error:#}"))),
        Ok(outcome) => match (outcome.truth, outcome.found_after) {
            (Ok(()), Some(after)) => (format!("{} s", after.as_secs()), None),
            (Ok(()), None) => ("ok".to_owned(), None),
            (Err(wrong), _) => ("WRONG".to_owned(), Some(wrong)),
        },
    }
}

/// Rows are shapes, columns JDK and collector; empty cells did not run.
fn table(results: &BTreeMap<(String, String), String>) -> Table {
    let mut columns: Vec<&String> = results.keys().map(|(_, column)| column).collect();
    columns.sort();
    columns.dedup();
    let mut rows: Vec<&String> = results.keys().map(|(row, _)| row).collect();
    rows.dedup();
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(std::iter::once("shape").chain(columns.iter().map(|column| column.as_str())));
    for row in rows {
        let cell = |column: &&String| {
            results
                .get(&(row.clone(), (*column).clone()))
                .cloned()
                .unwrap_or_default()
        };
        table.add_row(std::iter::once(row.clone()).chain(columns.iter().map(cell)));
    }
    table
}

fn print(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::table;
    use std::collections::BTreeMap;

    #[test]
    fn the_table_has_a_row_a_shape_and_a_column_a_jvm() {
        let cell = |row: &str, column: &str, text: &str| {
            ((row.to_owned(), column.to_owned()), text.to_owned())
        };
        let results = BTreeMap::from([
            cell("01 map", "17 g1", "15 s"),
            cell("02 bus", "25 z", "WRONG"),
        ]);
        let text = table(&results).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "| shape  | 17 g1 | 25 z  |");
        assert_eq!(lines[2], "| 01 map | 15 s  |       |");
        assert_eq!(lines[3], "| 02 bus |       | WRONG |");
    }
}
