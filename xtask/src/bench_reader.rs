//! `cargo xtask bench-reader`: our reader beside crate `jfrs` and the JDK's tools on one recording.
//!
//! The recording is made by a real JVM (`benches/reader/Load.java`) and repeated to the wanted size:
//! a file of many chunks. Each way of reading is a process of its own.

use anyhow::{Context as _, bail, ensure};
use comfy_table::{Table, presets};
use jfr_chains_tests::{Child, Finished, Jdk, target_dir, workspace};
use serde_json::Value;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest run of one way.
const LIMIT: Duration = Duration::from_secs(900);

/// What makes a JVM record much: allocations with stacks, parks, events of its own.
const RECORDING: &str = "settings=profile,maxchunksize=12M,jdk.ObjectAllocationInNewTLAB#enabled=true,\
jdk.ObjectAllocationOutsideTLAB#enabled=true,jdk.ThreadPark#threshold=0ns";

/// Options of `bench-reader`.
#[derive(clap::Args)]
pub struct Options {
    /// Sizes of the recordings in MB.
    #[arg(long, value_delimiter = ',', default_values_t = [10, 100, 1000])]
    megabytes: Vec<u64>,
    /// Cargo profile of our side; the figures of `dev` say nothing about speed.
    #[arg(long, default_value = "bench")]
    profile: String,
    /// Leaves out `jfr print --json`, which takes minutes for a gigabyte.
    #[arg(long)]
    no_print: bool,
}

/// What one way of reading took; seconds and bytes.
struct Taken {
    way: String,
    events: Option<u64>,
    wall: f64,
    cpu: f64,
    private: Option<u64>,
}

/// Runs every way on every size and prints a table for each.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let jdk = Jdk::feature(25).filter(Jdk::has_compiler);
    let jdk = jdk.context("bench-reader needs a full JDK 25")?;
    let dir = target_dir().join("bench-reader");
    std::fs::create_dir_all(&dir)?;
    let base = recording(&jdk, &dir)?;
    for &megabytes in &options.megabytes {
        let file = repeated(&base, &dir, megabytes * 1_000_000)?;
        let mut rows = Vec::new();
        for way in ["decode", "resolve", "parallel", "summary", "jfrs"] {
            rows.push(ours(&options.profile, way, &file)?);
        }
        rows.push(tool(&jdk, &["summary"], &file)?);
        if !options.no_print {
            rows.push(tool(&jdk, &["print", "--json"], &file)?);
        }
        let bytes = file.metadata()?.len();
        eprintln!("{bytes} bytes, {}", machine());
        eprintln!("{}", table(&rows));
        std::fs::remove_file(&file)?;
    }
    Ok(())
}

/// The recording of one run of the load program, made once.
fn recording(jdk: &Jdk, dir: &Path) -> anyhow::Result<PathBuf> {
    let made = dir.join("load.jfr");
    if made.is_file() {
        return Ok(made);
    }
    let javac = jdk.tool("javac").context("no javac")?;
    let source = workspace().join("benches/reader/Load.java");
    ok(Child::new(javac)
        .arg("-d")
        .arg(dir)
        .arg(source)
        .run(LIMIT)?)?;
    let part = dir.join("part.jfr");
    let java = Child::java(jdk)
        .args([
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TLABSize=8k",
            "-XX:-ResizeTLAB",
        ])
        .arg(format!(
            "-XX:StartFlightRecording:filename={},{RECORDING}",
            part.display()
        ))
        .arg("-cp")
        .arg(dir)
        .args(["Load", "560000"]);
    ok(java.run(LIMIT)?)?;
    std::fs::rename(part, &made)?;
    Ok(made)
}

/// Chunks of `base`, again and again, up to about `bytes`: files one after the other are one recording.
fn repeated(base: &Path, dir: &Path, bytes: u64) -> anyhow::Result<PathBuf> {
    let path = dir.join(format!("{bytes}.jfr"));
    let mut out = io::BufWriter::new(File::create(&path)?);
    let whole = std::fs::read(base)?;
    let chunks = chunk_ends(&whole)?;
    let mut written = 0;
    while written < bytes {
        for chunk in chunks.windows(2) {
            let &[start, end] = chunk else { continue };
            let chunk = whole.get(start..end).context("a chunk beyond its file")?;
            io::Write::write_all(&mut out, chunk)?;
            written += chunk.len() as u64;
            if written >= bytes {
                break;
            }
        }
    }
    io::Write::flush(&mut out)?;
    Ok(path)
}

/// Where chunks begin and the last one ends, by the sizes in their headers.
fn chunk_ends(file: &[u8]) -> anyhow::Result<Vec<usize>> {
    let mut ends = vec![0];
    let mut at = 0;
    while at < file.len() {
        let size = file
            .get(at + 8..at + 16)
            .and_then(|raw| raw.try_into().ok());
        let size = usize::try_from(u64::from_be_bytes(size.context("half a header")?))?;
        ensure!(size > 0 && at + size <= file.len(), "no chunk at {at}");
        at += size;
        ends.push(at);
    }
    Ok(ends)
}

fn ours(profile: &str, way: &str, file: &Path) -> anyhow::Result<Taken> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let run = Child::new(cargo)
        .args(["bench", "--quiet", "--profile", profile])
        .args([
            "--package",
            "jfr-chains-analyzer",
            "--bench",
            "reader",
            "--",
            way,
        ])
        .arg(file)
        .current_dir(workspace());
    let done = ok(run.run(LIMIT)?)?;
    let line = done.stdout.lines().find(|line| line.starts_with('{'));
    let json: Value = serde_json::from_str(line.with_context(|| format!("{way}: {done}"))?)?;
    let figure = |name: &str| json.get(name).and_then(Value::as_f64).context("no figure");
    Ok(Taken {
        way: way.to_owned(),
        events: json.get("events").and_then(Value::as_u64),
        wall: figure("wall_s")?,
        cpu: figure("cpu_s")?,
        private: json.get("private_bytes").and_then(Value::as_u64),
    })
}

/// A JDK tool, the start of its JVM included.
fn tool(jdk: &Jdk, arguments: &[&str], file: &Path) -> anyhow::Result<Taken> {
    let tool = jdk.tool("jfr").context("no jfr tool")?;
    let before = children_cpu();
    let run = Child::new(tool).args(arguments).arg(file).run(LIMIT)?;
    let done = ok(run)?;
    Ok(Taken {
        way: format!("jfr {}", arguments.join(" ")),
        events: None,
        wall: done.elapsed.as_secs_f64(),
        cpu: children_cpu() - before,
        private: None,
    })
}

fn ok(done: Finished) -> anyhow::Result<Finished> {
    if done.ok() {
        return Ok(done);
    }
    bail!("{done}")
}

/// Seconds of CPU that this process's ended children took.
fn children_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let ticks = |at| {
        fields
            .split_whitespace()
            .nth(at)
            .and_then(|ticks| ticks.parse::<f64>().ok())
    };
    // Fields 16 and 17 of the line; two stand before the parenthesis.
    (ticks(13).unwrap_or(0.0) + ticks(14).unwrap_or(0.0)) / 100.0
}

fn machine() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "{cores} cores, load {}",
        load.split(' ').next().unwrap_or("unknown")
    )
}

fn table(rows: &[Taken]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["way", "events", "wall s", "CPU s", "private MiB"]);
    for row in rows {
        let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        table.add_row([
            row.way.clone(),
            number(row.events),
            format!("{:.2}", row.wall),
            format!("{:.2}", row.cpu),
            number(row.private.map(|bytes| bytes.div_ceil(1 << 20))),
        ]);
    }
    table
}
