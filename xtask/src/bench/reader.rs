//! `cargo xtask bench reader`: our reader beside crate `jfrs`, the JDK's tools and JMC's loader.
//!
//! Each way of reading is a process of its own.

use super::measure::{Taken, machine, measure};
use super::rows::{Row, record, table};
use super::{recordings, rows};
use anyhow::{Context as _, bail, ensure};
use jfr_chains_tests::{Child, Jdk, target_dir, workspace};
use serde_json::Value;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Ways that the bench program of the analyzer has.
const IN_PROCESS: [&str; 5] = ["decode", "resolve", "parallel", "summary", "jfrs"];
/// All ways.
const WAYS: [&str; 11] = [
    "decode",
    "resolve",
    "parallel",
    "summary",
    "jfrs",
    "jmc",
    "jvm-start",
    "jfr-summary",
    "jfr-print-json",
    "our-summary",
    "our-report",
];

/// Options of `bench reader`.
#[derive(clap::Args)]
pub struct Options {
    /// Sizes of the recordings in MB.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 1000])]
    megabytes: Vec<u64>,
    /// Cargo profile of our side; the figures of `dev` say nothing about speed.
    #[arg(long, default_value = "bench")]
    profile: String,
    /// Ways of reading; all by default. `jfr-print-json` takes minutes for a gigabyte.
    #[arg(long, value_delimiter = ',', value_parser = WAYS, default_values_t = WAYS.map(str::to_owned))]
    ways: Vec<String>,
    /// Heap of JMC's loader, which keeps every event.
    #[arg(long, default_value = "10g")]
    jmc_heap: String,
    /// Longest run of one way on one recording in seconds; a way that takes longer gives no figures.
    #[arg(long, default_value_t = 900)]
    limit: u64,
    /// Puts the figures into this JSON record.
    #[arg(long)]
    record: Option<PathBuf>,
    /// Builds and makes recordings, measures nothing: the recordings are kept for the next run.
    #[arg(long)]
    prepare: bool,
    /// Keeps the recordings.
    #[arg(long)]
    keep: bool,
}

/// Runs every way on every size and prints a table for each. Errs at the end when a way failed:
/// what the others took is printed and recorded all the same.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let jdk = Jdk::feature(25).filter(Jdk::has_compiler);
    let jdk = jdk.context("bench reader needs a full JDK 25")?;
    let dir = target_dir().join("bench-reader");
    let base = recordings::base(&jdk, &dir)?;
    let programs = Programs {
        bench: built(&options.profile, ["--bench", "reader"])?,
        command: built(&options.profile, ["--bin", "jfr-chains"])?,
        jmc: jmc_jars()?,
        jmc_heap: options.jmc_heap.clone(),
        jdk,
        limit: Duration::from_secs(options.limit),
    };
    let mut failed = Vec::new();
    for &megabytes in &options.megabytes {
        let file = dir.join(format!("{megabytes}000000.jfr"));
        if !file.is_file() {
            recordings::repeated(&base, &dir, megabytes * 1_000_000)?;
        }
        if options.prepare {
            continue;
        }
        let bytes = file.metadata()?.len();
        let machine = machine();
        let mut measured = Vec::new();
        for way in &options.ways {
            match programs.row(way, &file) {
                Ok(mut row) => {
                    (row.megabytes, row.bytes) = (megabytes, bytes);
                    measured.push(row);
                }
                Err(error) => failed.push(format!("{way} of {megabytes} MB: {error:#}")),
            }
        }
        let table = table(&measured);
        writeln!(io::stdout(), "{bytes} bytes, {machine}\n\n{table}\n")?;
        if let Some(path) = &options.record {
            record(path, &measured, &machine)?;
        }
        if !options.keep {
            std::fs::remove_file(&file)?;
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// What runs the ways.
struct Programs {
    bench: PathBuf,
    command: PathBuf,
    jmc: PathBuf,
    jmc_heap: String,
    jdk: Jdk,
    limit: Duration,
}

impl Programs {
    fn row(&self, way: &str, file: &Path) -> anyhow::Result<rows::Row> {
        if IN_PROCESS.contains(&way) {
            let taken = measure(Child::new(&self.bench).arg(way).arg(file), self.limit)?;
            return self_timed(way, &taken);
        }
        let jfr = || self.jdk.tool("jfr").context("no jfr tool");
        // Gigabytes of JSON are for nobody to keep; the shell becomes the tool.
        let unseen = |tool: PathBuf| {
            Child::new("sh")
                .args(["-c", "exec \"$0\" \"$@\" >/dev/null"])
                .arg(tool)
        };
        let child = match way {
            "jmc" => {
                let taken = measure(self.jmc(file), self.limit)?;
                return self_timed(way, &taken);
            }
            // What every start of the tool costs before it reads anything.
            "jvm-start" => Child::new(jfr()?).arg("version"),
            "jfr-summary" => Child::new(jfr()?).arg("summary").arg(file),
            "jfr-print-json" => unseen(jfr()?).args(["print", "--json"]).arg(file),
            "our-summary" => Child::new(&self.command).arg("summary").arg(file),
            "our-report" => Child::new(&self.command).arg("report").arg(file),
            other => bail!("{other} is no way to read"),
        };
        Ok(row(way, &measure(child, self.limit)?, None, None))
    }

    fn jmc(&self, file: &Path) -> Child {
        Child::java(&self.jdk)
            .arg(format!("-Xmx{}", self.jmc_heap))
            .arg("-cp")
            .arg(format!("{}/*", self.jmc.display()))
            .arg(workspace().join("benches/reader/JmcLoad.java"))
            .arg(file)
    }
}

fn row(way: &str, taken: &Taken, events: Option<u64>, reading: Option<(f64, f64)>) -> Row {
    Row {
        megabytes: 0,
        bytes: 0,
        way: way.to_owned(),
        events,
        wall: taken.wall,
        cpu: taken.cpu,
        reading,
        private: taken.private,
    }
}

/// Of a program that prints its own figures as one line of JSON.
fn self_timed(way: &str, taken: &Taken) -> anyhow::Result<Row> {
    let line = taken.done.stdout.lines().find(|line| line.starts_with('{'));
    let json: Value = serde_json::from_str(line.with_context(|| taken.done.to_string())?)?;
    let figure = |name: &str| json.get(name).and_then(Value::as_f64).context("no figure");
    let reading = Some((figure("wall_s")?, figure("cpu_s")?));
    let mut row = row(
        way,
        taken,
        json.get("events").and_then(Value::as_u64),
        reading,
    );
    // A short run ends between two looks from outside; our own allocator saw every byte.
    row.private = row
        .private
        .max(json.get("private_bytes").and_then(Value::as_u64));
    Ok(row)
}

/// Builds one target of the analyzer, `--bench` or `--bin` and its name, and gives its path.
fn built(profile: &str, target: [&str; 2]) -> anyhow::Result<PathBuf> {
    let out = crate::steps::output(
        Command::new(crate::steps::cargo())
            .args(["build", "--quiet", "--profile", profile])
            .args(["--package", "jfr-chains-analyzer", "--message-format=json"])
            .args(target),
    )?;
    let artifact = |line: &str| -> Option<PathBuf> {
        let message: Value = serde_json::from_str(line).ok()?;
        // A bench brings the package's commands with it.
        let of = message.get("target")?.get("name")? == target[1];
        of.then_some(message.get("executable")?.as_str()?.into())
    };
    out.lines()
        .filter_map(artifact)
        .next_back()
        .context("cargo names no executable")
}

/// The loader's jars, fetched by Maven where the writer's tests keep them too.
fn jmc_jars() -> anyhow::Result<PathBuf> {
    let jars = target_dir().join("jmc-9.0.0");
    if !jars.join("flightrecorder-9.0.0.jar").is_file() {
        let mut maven = Command::new("mvn");
        maven
            .args(["-q", "-B", "dependency:copy-dependencies", "-f"])
            .arg(workspace().join("jfr-writer/tests/java/jmc/pom.xml"))
            .arg(format!("-DoutputDirectory={}", jars.display()));
        crate::steps::run(&mut maven)?;
    }
    Ok(jars)
}
