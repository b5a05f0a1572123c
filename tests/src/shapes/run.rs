//! One shape on one JVM: run it until the report tells the truth, or its time is over.

use super::{Shape, shown};
use crate::{Child, Collector, Dump, Finished, Jdk, scratch};
use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Agent options of every shape: each allocation of some 16 KB is sampled and tracked.
const OPTIONS: &str = "interval=16k,live-ratio=1";
/// No signal can exist before this: fourteen folds of at least a second.
const EARLIEST: Duration = Duration::from_secs(12);
/// Between two looks at the recording.
const LOOK: Duration = Duration::from_secs(4);
/// For the JVM to start, and to end after its time or SIGTERM.
const MARGIN: Duration = Duration::from_secs(60);
/// The program lives on while its heap is dumped.
const DUMP_SECONDS: u32 = 120;
const REPORT_LIMIT: Duration = Duration::from_secs(60);

/// What to run and with what.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The JVM.
    pub jdk: Jdk,
    /// Its collector.
    pub collector: Collector,
    /// The agent library.
    pub agent: PathBuf,
    /// The `jfr-chains` command.
    pub command: PathBuf,
    /// How long the program runs at most.
    pub seconds: u32,
    /// Whether a true report is held against a heap dump of the same process: every hop must be in it.
    pub dump: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether the report tells the truth, else what is wrong.
    pub truth: Result<(), String>,
    /// From the start of the JVM to the first true report; `None` for controls and failures.
    pub found_after: Option<Duration>,
    /// The chain that tells it in the last report.
    pub leak: Option<Leak>,
    /// The last report.
    pub report: Value,
}

/// What a chain is known by in other runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leak {
    /// The leak's identity: up to the growing container, whatever leaf was sampled.
    pub identity: String,
    /// The chain's own id.
    pub id: String,
    /// Its signature in words.
    pub signature: String,
}

impl Leak {
    fn of(chain: &Value) -> Self {
        let text = |key| chain[key].as_str().unwrap_or_default().to_owned();
        Self {
            identity: text("identity"),
            id: text("id"),
            signature: text("signature"),
        }
    }
}

impl Shape {
    /// Runs it. A leak ends the run as soon as the report is true; a control runs its whole time. Errs when
    /// something other than the finding is wrong: the JVM fails or warns, no recording, no report.
    pub fn run(&self, cell: &Cell) -> anyhow::Result<Outcome> {
        let dump = cell.dump && !self.paths.is_empty();
        let dir = scratch(&format!("shape-{}", self.id))?;
        let recording = dir.path().join("shape.jfr");
        let child = self.child(
            &cell.jdk,
            cell.collector,
            &cell.agent,
            &recording,
            OPTIONS,
            cell.seconds + if dump { DUMP_SECONDS } else { 0 },
        )?;
        let mut limit = Duration::from_secs(u64::from(cell.seconds));
        if !dump {
            limit += MARGIN;
        }
        let (started, mut looked, mut found) = (Instant::now(), Instant::now(), None);
        let mut running = child.start()?;
        running.wait_until(limit, |_| {
            if self.control || started.elapsed() < EARLIEST || looked.elapsed() < LOOK {
                return false;
            }
            looked = Instant::now();
            let told = report(&cell.command, &recording).ok();
            found = told
                .filter(|report| self.check(report).is_ok())
                .map(|report| (started.elapsed(), report));
            found.is_some()
        });
        let mut confirmed = Ok(());
        if let Some((_, report)) = found.as_ref().filter(|_| dump) {
            let dump = Dump::of(&running, &dir.path().join("shape.hprof"))?;
            confirmed = self.confirm(report, &dump);
        }
        if found.is_some() || dump {
            running.terminate()?;
        }
        let found_after = found.map(|(after, _)| after);
        let ended = running.finish(MARGIN)?;
        healthy(&ended, found_after.is_some() || dump)?;
        let report = report(&cell.command, &recording)?;
        let truth = if self.control && unconfirmed(&report, cell.collector) {
            Ok(())
        } else {
            self.check(&report)
        };
        let chains = report.get("chains").and_then(Value::as_array);
        let mut chains = chains.into_iter().flatten();
        let told = chains.find(|chain| self.fits(chain));
        let sizes = told.map_or(Ok(()), sized);
        let leak = told.map(Leak::of);
        Ok(Outcome {
            truth: truth.and(confirmed).and(sizes),
            found_after,
            leak,
            report,
        })
    }

    /// Whether the dump has every hop of the chains that tell this shape, and denies them with another last class.
    fn confirm(&self, report: &Value, dump: &Dump) -> Result<(), String> {
        let chains = report["chains"].as_array().into_iter().flatten();
        for chain in chains.filter(|chain| self.fits(chain)) {
            dump.confirm(chain)
                .map_err(|why| format!("the heap dump denies {}: {why}", shown(chain)))?;
            let mut untrue = chain.clone();
            let hops = untrue.pointer_mut("/hops").and_then(Value::as_array_mut);
            if let Some(hop) = hops.and_then(|hops| hops.last_mut()?.as_object_mut()) {
                hop.insert("class".to_owned(), "no.such.Class".into());
            }
            if dump.confirm(&untrue).is_ok() {
                return Err(format!("the heap dump confirms even {}", shown(&untrue)));
            }
        }
        Ok(())
    }
}

/// Whether every array of a chain has its length and every collection that counts its elements in a plain field its
/// size.
fn sized(chain: &Value) -> Result<(), String> {
    const COUNTING: [&str; 3] = [
        "java.util.HashMap",
        "java.util.ArrayList",
        "java.util.WeakHashMap",
    ];
    let hops = chain["hops"].as_array().into_iter().flatten();
    let mut due = hops.filter(|hop| {
        let class = hop["class"].as_str().unwrap_or_default();
        hop["run"] == 1 && (class.ends_with("[]") || COUNTING.contains(&class))
    });
    match due.find(|hop| hop.get("size").and_then(Value::as_u64).is_none()) {
        Some(hop) => Err(format!("without a size: {hop}")),
        None => Ok(()),
    }
}

/// Whether a leak is told with the reservation that search-control, section 1, asks for: young collections of Serial
/// and Parallel leave promoted garbage alone, so without a full one nothing tells overwritten slots from held ones.
fn unconfirmed(report: &Value, collector: Collector) -> bool {
    let said = report["reason"].as_str().unwrap_or_default();
    matches!(collector, Collector::Serial | Collector::Parallel)
        && report["verdict"] == "leak"
        && said.contains("Unconfirmed: no old, mixed or full collection has run")
}

/// `jfr-chains report --format json`; errs when it cannot be read or is no JSON.
pub fn report(command: &Path, recording: &Path) -> anyhow::Result<Value> {
    let out = Child::new(command)
        .args(["report", "--format", "json"])
        .arg(recording)
        .run(REPORT_LIMIT)?;
    ensure!(matches!(out.code(), Some(0 | 1 | 3)), "{out}");
    serde_json::from_str(&out.stdout).with_context(|| out.to_string())
}

/// The JVM ended as it should, without a warning about our native code.
fn healthy(ended: &Finished, terminated: bool) -> anyhow::Result<()> {
    const SIGTERM_CODE: i32 = 143;
    let expected = ended.code() == Some(0) || (terminated && ended.code() == Some(SIGTERM_CODE));
    ensure!(expected && !ended.timed_out, "{ended}");
    for alarm in [
        "WARNING in native method",
        "FATAL ERROR in native method",
        "# A fatal error",
    ] {
        ensure!(
            !ended.stdout.contains(alarm) && !ended.stderr.contains(alarm),
            "{ended}"
        );
    }
    Ok(())
}
