//! One program on one JVM, under one way.

use super::Row;
use super::log::{Window, log, said};
use anyhow::{Context as _, bail, ensure};
use jfr_chains_tests::{
    Child, Collector, Jdk, Running, agent_argument_of, java_fixtures, report, scratch,
};
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// For the heap to be filled.
const FILL: Duration = Duration::from_secs(180);
/// For one command of the JDK: a leak profiler's walk of the whole heap, a dump of gigabytes.
const COMMAND: Duration = Duration::from_secs(300);
/// No signal before this; looking costs the program a core for a moment.
const EARLIEST: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_secs(3);
/// After the heap stands, and before a command: what the program does by itself.
const SETTLE: Duration = Duration::from_secs(12);
/// Faster to its signal than the default; the search's own options are the defaults.
const OPTIONS: &str = "interval=32k,live-ratio=1";
/// The leak's holder: a static field of its own, or that of the whole live heap.
const HOLDERS: [(&str, &str); 2] = [
    ("bench.LiveHeap$Leak", "BY_DAY"),
    ("bench.LiveHeap$Live", "CUSTOMERS"),
];
/// What leaks.
const LEAKED: &str = "bench.LiveHeap$Leaked";

/// How the holder is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Our agent, `walk=concurrent`.
    Concurrent,
    /// Our agent, `walk=safepoint`.
    Safepoint,
    /// The JDK's leak profiler with paths, then a heap dump, without our agent.
    Jdk,
}

impl Way {
    /// `concurrent`, `safepoint` or `jdk`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "concurrent" => Some(Self::Concurrent),
            "safepoint" => Some(Self::Safepoint),
            "jdk" => Some(Self::Jdk),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Concurrent => "concurrent",
            Self::Safepoint => "safepoint",
            Self::Jdk => "jdk",
        }
    }
}

/// What to run.
pub struct Cell {
    /// The JVM.
    pub jdk: Jdk,
    /// Its collector.
    pub collector: Collector,
    /// Live objects.
    pub objects: u32,
    /// Parked threads.
    pub threads: u32,
    /// The way.
    pub way: Way,
    /// Whether one object among all holds the leak.
    pub deep: bool,
    /// Further options of the agent.
    pub options: String,
    /// Life of the program after its heap stands, at most.
    pub seconds: u32,
    /// The agent library.
    pub agent: PathBuf,
    /// The `jfr-chains` command.
    pub command: PathBuf,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "JDK {} {}, {} objects, {} threads, {}",
            self.jdk.release(),
            self.collector.name(),
            self.objects,
            self.threads,
            self.way.name()
        )
    }
}

impl Cell {
    /// Runs it; a row for each thing measured.
    pub fn run(&self) -> anyhow::Result<Vec<Row>> {
        let dir = scratch("bench-walk")?;
        let mut jvm = self.child(dir.path())?.start()?;
        let ready = jvm.wait_until(FILL, |jvm| jvm.stdout().contains("ready "));
        ensure!(ready, "the heap was not filled: {}", jvm.stderr());
        let started = Instant::now();
        self.collect(&jvm)?;
        let rows = if self.way == Way::Jdk {
            self.jdks_ways(&mut jvm, dir.path())
        } else {
            self.ours(&mut jvm, dir.path(), started)
                .map(|row| vec![row])
        };
        let stdout = jvm.stdout();
        jvm.terminate()?;
        jvm.finish(COMMAND)?;
        let (stops, pauses) = log(&std::fs::read_to_string(dir.path().join("jvm.log"))?);
        let mut rows = rows?;
        for row in &mut rows {
            row.said = said(&stdout);
            row.stops.clone_from(&stops);
            row.pauses.clone_from(&pauses);
        }
        Ok(rows)
    }

    fn child(&self, dir: &Path) -> anyhow::Result<Child> {
        let heap = if self.objects > 2_000_000 { "3g" } else { "1g" };
        let mut java = Child::java(&self.jdk)
            .args(self.collector.flags())
            .args([format!("-Xms{heap}"), format!("-Xmx{heap}")])
            .arg(format!(
                "-Xlog:safepoint,gc,gc+phases:file={}:timemillis",
                dir.join("jvm.log").display()
            ));
        // A collection every second or two, as a busy service has: the signal is counted in collections.
        java = match self.collector {
            Collector::Z if self.jdk.release() >= 23 => {
                java.args(["-XX:ZCollectionIntervalMajor=1.5"])
            }
            Collector::Z => java.arg("-XX:ZCollectionInterval=1.5"),
            _ => java.arg("-Xmn48m"),
        };
        java = if self.way == Way::Jdk {
            java.arg("-XX:StartFlightRecording:name=leak,settings=profile")
        } else {
            java.arg(agent_argument_of(
                &self.agent,
                &format!(
                    "file={},walk={},{OPTIONS}{}{}",
                    self.recording(dir).display(),
                    self.way.name(),
                    if self.options.is_empty() { "" } else { "," },
                    self.options
                ),
            ))
        };
        Ok(java
            .arg("-cp")
            .arg(java_fixtures()?.classes())
            .arg("bench.LiveHeap")
            .args([
                format!("objects={}", self.objects),
                format!("threads={}", self.threads),
                format!("seconds={}", self.seconds + 600),
                "leak=2000".to_owned(),
                format!("deep={}", u8::from(self.deep)),
            ]))
    }

    fn recording(&self, dir: &Path) -> PathBuf {
        dir.join("ours.jfr")
    }

    /// A full collection, for its pause.
    fn collect(&self, jvm: &Running) -> anyhow::Result<()> {
        if self.collector != Collector::Z {
            self.jcmd(jvm, &["GC.run"])?;
        }
        Ok(())
    }

    fn jcmd(&self, jvm: &Running, arguments: &[&str]) -> anyhow::Result<Window> {
        let jcmd = self.jdk.tool("jcmd").context("no jcmd")?;
        let from = now();
        let out = Child::new(jcmd)
            .arg("-J-Dsun.tools.attach.attachTimeout=60000")
            .arg(jvm.pid().to_string())
            .args(arguments)
            .run(COMMAND)?;
        ensure!(out.ok(), "{out}");
        Ok(Window { from, to: now() })
    }

    /// Waits for the agent's chain; then one full collection, for the pause of a heap whose objects were hashed.
    fn ours(&self, jvm: &mut Running, dir: &Path, started: Instant) -> anyhow::Result<Row> {
        let recording = self.recording(dir);
        let settled = now() + 2_000.0;
        let mut looked = Instant::now();
        let limit = Duration::from_secs(self.seconds.into());
        let found = jvm.wait_until(limit, |_| {
            if started.elapsed() < EARLIEST || looked.elapsed() < LOOK {
                return false;
            }
            looked = Instant::now();
            report(&self.command, &recording).is_ok_and(|report| holder(&report).is_some())
        });
        self.collect(jvm)?;
        let told = report(&self.command, &recording)?;
        let events = self.events(&recording)?;
        let times = |kind: &str| {
            events
                .iter()
                .filter(|event| is(event, kind))
                .filter_map(time)
                .collect::<Vec<f64>>()
        };
        let begun = times("SearchStarted").first().copied();
        let mut ended = times("SearchCompleted");
        ended.extend(times("SearchAbandoned"));
        let chain =
            holder(&told).and_then(|chain| epoch_millis(chain.get("first_seen")?.as_str()?));
        let end = ended.into_iter().chain(chain).max_by(f64::total_cmp);
        let passes = || events.iter().filter(|event| is(event, "SearchPass"));
        let figure = |event: &Value, key: &str| event.get("fields")?.get(key)?.as_f64();
        Ok(Row {
            way: self.way.name(),
            found: Some(found),
            seconds: begun
                .zip(chain)
                .map(|(begun, chain)| (chain - begun) / 1_000.0),
            window: begun.map(|from| Window {
                from,
                to: end.unwrap_or_else(now),
            }),
            quiet: begun.map(|to| Window { from: settled, to }),
            native: passes()
                .filter_map(|pass| figure(pass, "memory"))
                .max_by(f64::total_cmp),
            cpu: Some(
                passes()
                    .filter_map(|pass| figure(pass, "threadCpuTime"))
                    .sum::<f64>()
                    / 1e9,
            ),
            said: Vec::new(),
            stops: Vec::new(),
            pauses: Vec::new(),
        })
    }

    fn events(&self, recording: &Path) -> anyhow::Result<Vec<Value>> {
        let out = Child::new(&self.command)
            .args(["events", "--format", "json", "--type"])
            .arg("SearchStarted,SearchPass,SearchCompleted,SearchAbandoned")
            .arg(recording)
            .run(COMMAND)?;
        ensure!(out.ok(), "{out}");
        let document: Value = serde_json::from_str(&out.stdout)?;
        let Some(events) = document.get("events").and_then(Value::as_array) else {
            bail!("no events in {document}");
        };
        Ok(events.clone())
    }

    /// The JDK's leak profiler with paths, then a heap dump.
    fn jdks_ways(&self, jvm: &mut Running, dir: &Path) -> anyhow::Result<Vec<Row>> {
        let row = |way, found, quiet, window: Window| Row {
            way,
            found,
            seconds: Some((window.to - window.from) / 1_000.0),
            window: Some(window),
            quiet: Some(quiet),
            native: None,
            cpu: None,
            said: Vec::new(),
            stops: Vec::new(),
            pauses: Vec::new(),
        };
        let file = dir.join("jdk.jfr");
        let name = format!("filename={}", file.display());
        // The leak profiler samples few objects: it gets as long as our signal takes at least.
        let mut quiet = settle(jvm, SETTLE + EARLIEST);
        let window = self.jcmd(
            jvm,
            &["JFR.dump", "name=leak", &name, "path-to-gc-roots=true"],
        )?;
        let told = report(&self.command, &file)?;
        let mut rows = vec![row(
            "path-to-gc-roots",
            Some(holder(&told).is_some()),
            quiet,
            window,
        )];
        quiet = settle(jvm, SETTLE);
        let dump = dir.join("heap.hprof");
        let window = self.jcmd(jvm, &["GC.heap_dump", &dump.display().to_string()])?;
        rows.push(row("heap dump", None, quiet, window));
        Ok(rows)
    }
}

/// Lets the program run; the window of that.
fn settle(jvm: &mut Running, length: Duration) -> Window {
    let from = now();
    jvm.wait_until(length, |_| false);
    Window { from, to: now() }
}

/// The chain that names the leak's holder.
fn holder(report: &Value) -> Option<&Value> {
    let is_it = |chain: &&Value| {
        let root = |key: &str| {
            chain
                .pointer(&format!("/root/{key}"))
                .and_then(Value::as_str)
        };
        let held = HOLDERS
            .iter()
            .any(|(class, field)| root("class") == Some(class) && root("field") == Some(field));
        let hops = chain.get("hops").and_then(Value::as_array);
        let leaked = |hop: &Value| hop.get("class").and_then(Value::as_str) == Some(LEAKED);
        held && hops.is_some_and(|hops| hops.iter().any(leaked))
    };
    report.get("chains")?.as_array()?.iter().find(is_it)
}

fn is(event: &Value, kind: &str) -> bool {
    event
        .get("type")
        .and_then(Value::as_str)
        .is_some_and(|name| name.rsplit('.').next() == Some(kind))
}

fn time(event: &Value) -> Option<f64> {
    epoch_millis(event.get("time")?.as_str()?)
}

fn epoch_millis(text: &str) -> Option<f64> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(at.as_duration().as_secs_f64() * 1_000.0)
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64() * 1_000.0)
}
