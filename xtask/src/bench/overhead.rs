//! `cargo xtask bench overhead`: what an agent or a recording costs a program in which nothing leaks.
//!
//! One program (`bench.Requests`) with a fixed amount of work, one JVM for each run. A round is a run of every way, each
//! round in another order; what is compared is a way's run with the run without anything of the same round. The program
//! takes the time itself, without its start and warm-up; CPU time is that of the whole process.

mod share;

use super::measure::machine;
use crate::bench::{append, markdown};
use anyhow::Context as _;
use comfy_table::Table;
use jfr_chains_tests::{Child, Collector, Jdk, agent_argument_of, java_fixtures, scratch};
use serde_json::{Value, json};
use share::Share;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For one run of the program.
const LIMIT: Duration = Duration::from_secs(600);

/// Options of `bench overhead`.
#[derive(clap::Args)]
pub struct Options {
    /// Feature releases.
    #[arg(long, value_delimiter = ',', default_values_t = [17, 25])]
    jdk: Vec<u32>,
    /// g1, z, or any other collector.
    #[arg(long, value_delimiter = ',', default_values_t = ["g1".to_owned()])]
    collector: Vec<String>,
    /// Runs of every way.
    #[arg(long, default_value_t = 12)]
    rounds: usize,
    /// Requests of a run that are measured; a million take four seconds of CPU.
    #[arg(long, default_value_t = 2_000_000)]
    requests: u32,
    /// Appends each row to this file, one JSON object a line.
    #[arg(long)]
    records: Option<PathBuf>,
    /// Builds without optimisation: its figures say nothing.
    #[arg(long)]
    dev: bool,
}

/// What runs beside the program.
const WAYS: [Way; 5] = [
    Way::Nothing,
    Way::Ours("sampling only", ",chains=off"),
    Way::Ours("defaults", ""),
    Way::Jfr("default"),
    Way::Jfr("profile"),
];

#[derive(Clone, Copy)]
enum Way {
    Nothing,
    /// Our agent with a recording of its own: a name, further options.
    Ours(&'static str, &'static str),
    /// The JDK's recorder with these settings.
    Jfr(&'static str),
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Ours(name, _) => format!("our agent, {name}"),
            Self::Jfr(settings) => format!("JFR, settings={settings}"),
        }
    }
}

/// Seconds that one run took.
#[derive(Clone, Copy)]
struct Run {
    cpu: f64,
    wall: f64,
}

/// Runs everything and prints a table.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let built = crate::steps::build(options.dev)?;
    let mut rows = Vec::new();
    for &feature in &options.jdk {
        let jdk = Jdk::feature(feature).with_context(|| format!("no JDK {feature} found"))?;
        for name in &options.collector {
            let collector =
                Collector::from_name(name).with_context(|| format!("no collector {name}"))?;
            let machine = machine();
            let runs = rounds(options, &jdk, collector, &built.agent)?;
            for (way, row) in WAYS.iter().zip(&runs) {
                let nothing = runs.first().map(Vec::as_slice).unwrap_or_default();
                let row = record(&jdk, collector, *way, [row, nothing], &machine);
                if let Some(records) = &options.records {
                    append(records, &row)?;
                }
                rows.push(row);
            }
        }
    }
    writeln!(std::io::stdout().lock(), "{}", table(&rows))?;
    Ok(())
}

/// The runs of each way, in the order of the rounds.
fn rounds(
    options: &Options,
    jdk: &Jdk,
    collector: Collector,
    agent: &Path,
) -> anyhow::Result<Vec<Vec<Run>>> {
    let mut runs = vec![Vec::new(); WAYS.len()];
    for round in 0..options.rounds {
        let mut line = String::new();
        for nth in 0..WAYS.len() {
            // Forwards and backwards, from another one each time: no way always follows the same one.
            let nth = if round % 2 == 0 {
                nth
            } else {
                WAYS.len() - 1 - nth
            };
            let at = (nth + round / 2) % WAYS.len();
            if let (Some(way), Some(runs)) = (WAYS.get(at), runs.get_mut(at)) {
                let run = once(options, jdk, collector, *way, agent)
                    .with_context(|| format!("JDK {}, {}", jdk.release(), way.name()))?;
                line += &format!("  {} {:.2}", way.name(), run.cpu);
                runs.push(run);
            }
        }
        eprintln!(
            "JDK {} {}, round {}/{}, CPU s:{line}",
            jdk.release(),
            collector.name(),
            round + 1,
            options.rounds
        );
    }
    Ok(runs)
}

fn once(
    options: &Options,
    jdk: &Jdk,
    collector: Collector,
    way: Way,
    agent: &Path,
) -> anyhow::Result<Run> {
    let dir = scratch("bench-overhead")?;
    let file = dir.path().join("run.jfr");
    let java = Child::java(jdk)
        .args(collector.flags())
        .args(["-Xms512m", "-Xmx512m"]);
    let java = match way {
        Way::Nothing => java,
        Way::Ours(_, further) => java.arg(agent_argument_of(
            agent,
            &format!("file={}{further}", file.display()),
        )),
        Way::Jfr(settings) => java.arg(format!(
            "-XX:StartFlightRecording:settings={settings},filename={}",
            file.display()
        )),
    };
    let done = java
        .arg("-cp")
        .arg(java_fixtures()?.classes())
        .arg("bench.Requests")
        .arg(format!("requests={}", options.requests))
        .run(LIMIT)?;
    anyhow::ensure!(done.ok(), "{done}");
    if !matches!(way, Way::Nothing) {
        let written = file.metadata().map_or(0, |file| file.len());
        anyhow::ensure!(written > 0, "{} wrote no recording", way.name());
    }
    said(&done.stdout).with_context(|| done.to_string())
}

/// What the program says of itself at its end.
fn said(stdout: &str) -> Option<Run> {
    let line = stdout.lines().find(|line| line.starts_with("requests "))?;
    let seconds = |name: &str| {
        let mut words = line.split(' ').skip_while(|word| *word != name).skip(1);
        Some(words.next()?.parse::<f64>().ok()? / 1_000.0)
    };
    Some(Run {
        cpu: seconds("cpu")?,
        wall: seconds("wall")?,
    })
}

fn record(
    jdk: &Jdk,
    collector: Collector,
    way: Way,
    [runs, nothing]: [&[Run]; 2],
    machine: &str,
) -> Value {
    let share = |of: fn(&Run) -> f64| {
        let ratios = runs
            .iter()
            .zip(nothing)
            .map(|(run, nothing)| of(nothing) / of(run));
        Share::of(ratios.collect()).map(|share| share.json())
    };
    let median = |of: fn(&Run) -> f64| share::median(runs.iter().map(of).collect());
    json!({
        "jdk": jdk.version(),
        "collector": collector.name(),
        "way": way.name(),
        "rounds": runs.len(),
        "cpu_s": median(|run| run.cpu),
        "wall_s": median(|run| run.wall),
        "work_per_cpu": share(|run| run.cpu),
        "work_per_wall": share(|run| run.wall),
        "machine": machine,
    })
}

fn table(rows: &[Value]) -> Table {
    let mut table = markdown(
        &[
            "JDK",
            "beside the program",
            "CPU, s",
            "wall, s",
            "work in the same CPU time",
            "work in the same wall time",
        ],
        2,
    );
    for row in rows {
        let text = |path: &str| {
            row.pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let number = |path: &str| row.pointer(path).and_then(Value::as_f64);
        let seconds = |path: &str| number(path).map_or("-".to_owned(), |s| format!("{s:.2}"));
        let share = |path: &str| {
            let percent = |key: &str| Some(100.0 * number(&format!("{path}/{key}"))?);
            let Some(median) = percent("median") else {
                return "-".to_owned();
            };
            match percent("from").zip(percent("to")) {
                Some((from, to)) => format!("{median:.1} % ({from:.1} to {to:.1})"),
                None => format!("{median:.1} %"),
            }
        };
        let jdk = text("/jdk").split('.').next().unwrap_or_default();
        table.add_row([
            format!("{jdk} {}", text("/collector")),
            text("/way").to_owned(),
            seconds("/cpu_s"),
            seconds("/wall_s"),
            share("/work_per_cpu"),
            share("/work_per_wall"),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn the_programs_line_is_read() {
        let run = said("warm\nrequests 1000000 cpu 4530 wall 6562 sum 9\n").unwrap();
        assert_eq!((run.cpu, run.wall), (4.53, 6.562));
        assert!(said("requests 1 cpu x wall 2 sum 3").is_none());
    }
}
