//! `cargo xtask matrix`: leak shapes by JDK and collector.

use crate::steps;
use anyhow::{Context as _, bail, ensure};
use comfy_table::{Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use jfr_chains_tests::{Cell, Collector, Jdk, Leak, Shape, library_leaks, shapes};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;

/// Options of `matrix`.
#[derive(clap::Args)]
pub struct Options {
    /// Ids of shapes (01 to 29, 30a to 30d; L1 to L7 are planted in libraries); default: all.
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
    /// Runs of each cell: all must tell a shape's leak by one identity.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Holds each true report against a heap dump of the same process.
    #[arg(long)]
    dump: bool,
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
    let results = Mutex::new(Results::default());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some(job) = queue.lock().ok().and_then(|mut queue| queue.pop_front()) {
                    let Told {
                        short,
                        failure,
                        leak,
                    } = told(&job);
                    let mut line = format!("{} {} {short}", job.shape.id, job.column);
                    if let Some(failure) = &failure {
                        line = format!("{line}: {failure}");
                    }
                    if bar.is_hidden() {
                        eprintln!("{line}");
                    } else {
                        bar.println(line);
                    }
                    bar.inc(1);
                    let row = format!("{} {}", job.shape.id, job.shape.what);
                    if let Ok(mut results) = results.lock() {
                        let failure = failure.map(|text| format!("{row}, {}: {text}", job.column));
                        let cell = (row.clone(), job.column);
                        if failure.is_some() || !results.wrong.contains(&cell) {
                            results.cells.insert(cell.clone(), short);
                        }
                        if let Some(failure) = failure {
                            results.failures.push(failure);
                            results.wrong.insert(cell);
                        }
                        if let Some(leak) = leak {
                            let known = results.leaks.entry(row).or_default();
                            known.containers = job.shape.containers;
                            *known.told.entry(leak).or_default() += 1;
                        }
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    let results = results.into_inner()?;
    print(&format!("{}\n", table(&results.cells)))?;
    if options.repeat > 1 {
        print(&format!("{}\n", signatures(&results.leaks)))?;
    }
    for failure in &results.failures {
        print(&format!("\n{failure}\n"))?;
    }
    ensure!(
        results.failures.is_empty(),
        "{} of {} cells are wrong",
        results.wrong.len(),
        results.cells.len()
    );
    for (row, known) in &results.leaks {
        ensure!(
            known.identities() <= known.containers,
            "{row} is told as {} leaks: {:#?}",
            known.identities(),
            known.told
        );
    }
    Ok(())
}

/// What came of the runs so far, by row and column where it belongs to a cell.
#[derive(Default)]
struct Results {
    cells: BTreeMap<(String, String), String>,
    wrong: BTreeSet<(String, String)>,
    failures: Vec<String>,
    leaks: BTreeMap<String, Known>,
}

/// What a row's true chains are known by, and how many runs told each.
#[derive(Default)]
struct Known {
    containers: usize,
    told: BTreeMap<Leak, u32>,
}

impl Known {
    fn identities(&self) -> usize {
        let identities: BTreeSet<&str> = self
            .told
            .keys()
            .map(|leak| leak.identity.as_str())
            .collect();
        identities.len()
    }
}

/// One line a shape: runs that told it, identities, and the ids of chains with how often each was told.
fn signatures(leaks: &BTreeMap<String, Known>) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["shape", "runs", "identities", "chains (id x runs)"]);
    for (row, known) in leaks {
        let runs: u32 = known.told.values().sum();
        let ids: Vec<String> = known
            .told
            .iter()
            .map(|(leak, runs)| format!("{} x {runs}", leak.id))
            .collect();
        table.add_row([
            row.clone(),
            runs.to_string(),
            known.identities().to_string(),
            ids.join(", "),
        ]);
    }
    table
}

fn jobs(options: &Options) -> anyhow::Result<Vec<Job>> {
    let built = steps::build(options.dev)?;
    let mut all = shapes()?;
    all.extend(library_leaks()?);
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
                dump: options.dump,
            };
            let column = format!("{feature} {}", collector.name());
            let fitting = all
                .iter()
                .filter(|shape| wanted(shape) && feature >= shape.jdk)
                .cloned();
            for shape in fitting {
                jobs.extend((0..options.repeat.max(1)).map(|_| Job {
                    shape: shape.clone(),
                    column: column.clone(),
                    cell: cell.clone(),
                }));
            }
        }
    }
    Ok(jobs)
}

/// What one run told.
struct Told {
    /// The table's text.
    short: String,
    /// The whole story of a failure.
    failure: Option<String>,
    /// The true chain.
    leak: Option<Leak>,
}

fn told(job: &Job) -> Told {
    let (short, failure, leak) = match job.shape.run(&job.cell) {
        Err(error) => ("error".to_owned(), Some(format!("{error:#}")), None),
        Ok(outcome) => match (outcome.truth, outcome.found_after) {
            (Ok(()), Some(after)) => (format!("{} s", after.as_secs()), None, outcome.leak),
            (Ok(()), None) => ("ok".to_owned(), None, outcome.leak),
            (Err(wrong), _) => ("WRONG".to_owned(), Some(wrong), None),
        },
    };
    Told {
        short,
        failure,
        leak,
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
