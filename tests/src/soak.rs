//! The agent in a JVM that never rests, for as long as one likes: recordings that start and stop, the agent loaded
//! and stopped in a loop, classes unloaded, threads churned.

use crate::{
    Child, Collector, Finished, Jdk, Running, agent_library, cli_binary, java_fixtures, scratch,
};
use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// For one command, one answer, the JVM's end, on a machine that has much else to do.
const LIMIT: Duration = Duration::from_secs(600);
/// How long a chain may take to be found at most; fourteen folds take 14 s at least.
const CHAIN_LIMIT: Duration = Duration::from_secs(900);
/// How long the agent stays with the JVM's recordings in one round.
const JOINED: Duration = Duration::from_secs(40);
/// Times that the agent is loaded with a file of its own and stopped, in one round.
const ATTACHES: u32 = 5;
/// Options under which a small leak is soon seen.
const OPTIONS: [&str; 3] = ["interval=16k", "live-ratio=1", "log=info"];
/// What may come on top between the first and the last quarter where malloc is counted: it moved by 0.3 MiB in an
/// hour, in which a leak of 5 KB in every start, or of 3 KB in every recording, would be over it.
const COUNTED_GROWTH_MAX_KB: i64 = 2 << 10;
/// Bytes of a block of the JVM beside its content: the tracker's header and foot (18), malloc's own (8), and what
/// rounding up to 16 adds on average.
const BLOCK_COST: i64 = 18 + 8 + 8;
/// The same where it is not: the JVM's own memory moves by many megabytes.
const GUESSED_GROWTH_MAX_KB: i64 = 48 << 10;

/// What to run.
#[derive(Debug, Clone)]
pub struct Soak {
    /// The JVM.
    pub jdk: Jdk,
    /// Its collector.
    pub collector: Collector,
    /// At least so long; one whole round in any case.
    pub length: Duration,
}

/// What came of it; every check of [`Soak::run`] has passed.
#[derive(Debug, Clone, Default)]
pub struct SoakReport {
    /// Rounds of joining, then attaching and stopping.
    pub rounds: u32,
    /// Times that the agent was loaded or started again.
    pub starts: u32,
    /// Recordings of the JVM that were started, stopped and read.
    pub recordings: usize,
    /// Chains that the agent said it had found; each is in a recording.
    pub chains: usize,
    /// Memory of the process that is not the JVM's, at each round's end, KiB.
    pub native_kb: Vec<i64>,
    /// Whether that is counted: what malloc has handed out, less what the JVM says it took of it. Else it is
    /// anonymous memory less what the JVM has committed.
    pub counted: bool,
}

impl SoakReport {
    /// Growth of that memory from the first quarter's lowest value to the last quarter's, KiB.
    pub fn growth_kb(&self) -> i64 {
        let quarter = self.native_kb.len().div_ceil(4);
        let lowest = |values: &[i64]| values.iter().min().copied().unwrap_or_default();
        let (first, last) = (
            self.native_kb.get(..quarter).unwrap_or_default(),
            self.native_kb
                .get(self.native_kb.len().saturating_sub(quarter)..)
                .unwrap_or_default(),
        );
        lowest(last) - lowest(first)
    }
}

/// A soak that runs.
struct Bath {
    java: Running,
    folder: tempfile::TempDir,
    agent: PathBuf,
    command: PathBuf,
    seen: BTreeSet<String>,
    read: usize,
    /// Event classes of the agent after the first round.
    event_classes: Option<usize>,
    report: SoakReport,
}

impl Soak {
    /// Runs it; `said` hears a line a round. Errs when the JVM or a command fails, JNI is misused, a chain is missing
    /// in the recordings, a file cannot be read, or native memory grows.
    pub fn run(&self, mut said: impl FnMut(&str)) -> anyhow::Result<SoakReport> {
        let folder = scratch("soak")?;
        // Longer than any run: the JVM is ended by SIGTERM.
        let seconds = self.length.as_secs() + 3_600;
        let java = Child::java(&self.jdk)
            .args(self.collector.flags())
            .args(["-Xms160m", "-Xmx160m", "-XX:+AlwaysPreTouch"])
            .arg("-XX:NativeMemoryTracking=summary")
            .args(["-XX:TieredStopAtLevel=1", "-Xcheck:jni", "-cp"])
            .arg(java_fixtures()?.classes())
            .arg("soak.Soak")
            .arg(folder.path())
            .arg(seconds.to_string())
            // An error file of the JVM would be there.
            .current_dir(folder.path())
            // Fewer arenas: less noise in what is measured.
            .env("MALLOC_ARENA_MAX", "2")
            .start()?;
        let mut bath = Bath {
            java,
            folder,
            agent: agent_library()?,
            command: cli_binary()?,
            seen: BTreeSet::new(),
            read: 0,
            event_classes: None,
            report: SoakReport::default(),
        };
        let up = bath
            .java
            .wait_until(LIMIT, |java| java.stdout().contains("running"));
        ensure!(up, "the JVM did not start: {}", bath.java.stderr());
        let deadline = Instant::now() + self.length;
        loop {
            bath.round()?;
            said(&bath.line());
            if Instant::now() >= deadline && bath.report.rounds > 1 {
                break;
            }
        }
        bath.end()
    }
}

impl Bath {
    /// Joins the JVM's recordings until there is a chain, then comes and goes.
    fn round(&mut self) -> anyhow::Result<()> {
        self.start(&[])?;
        let until = Instant::now() + JOINED;
        let before = self.found().len();
        let waited = self.java.wait_until(CHAIN_LIMIT, |java| {
            found(&java.stderr()).len() > before && Instant::now() >= until
        });
        ensure!(waited, "no chain was found: {}", self.java.stderr());
        self.command("stop", &[])?;
        for turn in 0..ATTACHES {
            let file = self.folder.path().join(format!("own-{turn}.jfr"));
            self.start(&["--file", &file.to_string_lossy()])?;
            let status = self.command("status", &[])?;
            ensure!(status.stdout.contains("state tracking"), "{status}");
            self.command("stop", &[])?;
            let codes =
                self.values(std::slice::from_ref(&file), "jfrchains.AgentStatus", "code")?;
            ensure!(
                codes.contains("started") && codes.contains("stopped"),
                "{}: {codes:?}",
                file.display()
            );
            std::fs::remove_file(&file)?;
        }
        self.report.rounds += 1;
        self.read_recordings()?;
        self.same_event_classes()?;
        let native = self.native_kb()?;
        self.report.native_kb.push(native);
        Ok(())
    }

    /// The JVM never unloads an event class: a start must not bring others than the one before it.
    fn same_event_classes(&mut self) -> anyhow::Result<()> {
        let jvm = attach::Jvm::find(self.java.pid())?;
        let classes = attach::connect(&jvm, LIMIT)?.jcmd("VM.class_hierarchy")?;
        let count = classes.matches("jdk.jfr.DynamicEvent").count();
        let first = *self.event_classes.get_or_insert(count);
        ensure!(
            count > 0,
            "the agent's event classes are not among those of the JVM"
        );
        ensure!(
            count == first,
            "{count} event classes after {} rounds, {first} after the first",
            self.report.rounds
        );
        Ok(())
    }

    fn start(&mut self, options: &[&str]) -> anyhow::Result<()> {
        let agent = self.agent.to_string_lossy().into_owned();
        let mut arguments = vec!["--agent", &agent];
        arguments.extend(options);
        arguments.extend(OPTIONS.iter().flat_map(|option| ["--set", option]));
        self.command("start", &arguments)?;
        self.report.starts += 1;
        Ok(())
    }

    fn command(&self, name: &str, arguments: &[&str]) -> anyhow::Result<Finished> {
        let out = Child::new(&self.command)
            .arg(name)
            .arg(self.java.pid().to_string())
            .args(["--patience", "120s"])
            .args(arguments)
            .run(LIMIT)?;
        ensure!(out.ok(), "{out}\nthe JVM said: {}", self.java.stderr());
        Ok(out)
    }

    /// Paths of chains that the agent says it has found.
    fn found(&self) -> Vec<String> {
        found(&self.java.stderr())
    }

    /// Takes the chains of the recordings that are complete; the files go.
    fn read_recordings(&mut self) -> anyhow::Result<()> {
        let said = self.java.stdout();
        let complete: Vec<PathBuf> = said
            .lines()
            .filter_map(|line| line.strip_prefix("recorded "))
            .skip(self.read)
            .map(PathBuf::from)
            .collect();
        self.read += complete.len();
        self.report.recordings = self.read;
        if complete.is_empty() {
            return Ok(());
        }
        let paths = self.values(&complete, "jfrchains.ReferenceChain", "path")?;
        self.seen.extend(paths);
        for file in &complete {
            std::fs::remove_file(file).with_context(|| file.display().to_string())?;
        }
        Ok(())
    }

    /// The values of a text field in all events of a type.
    fn values(
        &self,
        files: &[PathBuf],
        event: &str,
        field: &str,
    ) -> anyhow::Result<BTreeSet<String>> {
        let out = Child::new(&self.command)
            .args(["events", "--format", "json", "--type", event])
            .args(files)
            .run(LIMIT)?;
        // Three: no event of the type, which is an answer here.
        ensure!(matches!(out.code(), Some(0 | 3)), "{out}");
        if out.stdout.is_empty() {
            return Ok(BTreeSet::new());
        }
        let json: Value = serde_json::from_str(&out.stdout).with_context(|| out.to_string())?;
        let events = json.get("events").and_then(Value::as_array);
        let text = |event: &Value| Some(event.get("fields")?.get(field)?.as_str()?.to_owned());
        Ok(events.into_iter().flatten().filter_map(text).collect())
    }

    /// Memory that the JVM does not account for.
    fn native_kb(&mut self) -> anyhow::Result<i64> {
        let pid = self.java.pid();
        let jvm = attach::Jvm::find(pid)?;
        let mut listener = attach::connect(&jvm, LIMIT)?;
        let tracked = listener.jcmd("VM.native_memory summary")?;
        // Not every release has it.
        let heap = listener.jcmd("System.native_heap_info").ok();
        if let Some(in_use) = heap.as_deref().and_then(malloc_in_use_kb) {
            self.report.counted = true;
            let of_the_jvm = accounted_kb(&tracked).context(tracked.clone())?;
            return Ok(in_use - of_the_jvm);
        }
        let path = format!("/proc/{pid}/status");
        let status = std::fs::read_to_string(&path).context(path)?;
        let anonymous = number_after(&status, "RssAnon:").context("no RssAnon in status")?;
        let committed = number_after(&tracked, "committed=").context(tracked.clone())?;
        Ok(anonymous - committed)
    }

    fn line(&self) -> String {
        format!(
            "round {}: {} starts, {} recordings, {} chains, {} KiB outside of the JVM's memory",
            self.report.rounds,
            self.report.starts,
            self.report.recordings,
            self.found().len(),
            self.report.native_kb.last().copied().unwrap_or_default()
        )
    }

    fn end(mut self) -> anyhow::Result<SoakReport> {
        let found = self.found();
        self.report.chains = found.len();
        let missing = |seen: &BTreeSet<String>| -> Vec<String> {
            found
                .iter()
                .filter(|path| !seen.contains(*path))
                .cloned()
                .collect()
        };
        // The last chains are in a recording that still runs: each takes three seconds.
        let deadline = Instant::now() + LIMIT;
        while !missing(&self.seen).is_empty() && Instant::now() < deadline {
            let read = self.read;
            let more = |java: &Running| java.stdout().matches("recorded ").count() > read;
            self.java.wait_until(LIMIT, more);
            self.read_recordings()?;
        }
        let left = missing(&self.seen);
        ensure!(left.is_empty(), "found, yet in no recording: {left:#?}");
        self.java.terminate()?;
        let folder = self.folder.path().to_path_buf();
        let ended = self.java.finish(LIMIT)?;
        ensure!(ended.code() == Some(143), "{ended}");
        for word in [
            "WARNING in native",
            "FATAL ERROR",
            "panicked",
            "internal error",
        ] {
            if ended.stdout.contains(word) || ended.stderr.contains(word) {
                bail!("{word}: {ended}");
            }
        }
        ensure!(!crashed(&folder), "the JVM left an error file");
        let growth = self.report.growth_kb();
        let most = if self.report.counted {
            COUNTED_GROWTH_MAX_KB
        } else {
            GUESSED_GROWTH_MAX_KB
        };
        ensure!(
            growth <= most,
            "native memory grew by {growth} KiB: {:?}",
            self.report.native_kb
        );
        Ok(self.report)
    }
}

/// KiB that glibc's malloc has handed out, from its own XML: what it holds less what is free in it, and mappings.
fn malloc_in_use_kb(xml: &str) -> Option<i64> {
    let totals = xml.rsplit_once("</heap>")?.1;
    let size = |line: &str| {
        let line = totals.lines().find(|l| l.contains(line))?;
        number_after(line, "size=\"")
    };
    let held = size("<system type=\"current\"")? + size("<total type=\"mmap\"")?;
    let free = size("<total type=\"fast\"")? + size("<total type=\"rest\"")?;
    Some((held - free) / 1024)
}

/// KiB of malloc that the JVM accounts for, with what each of its blocks costs beside its content.
fn accounted_kb(tracked: &str) -> Option<i64> {
    let blocks = number_after(tracked.split_once("malloc: ")?.1, "#")?;
    Some(number_after(tracked, "malloc: ")? + blocks * BLOCK_COST / 1024)
}

/// The first number behind `word`.
fn number_after(text: &str, word: &str) -> Option<i64> {
    let rest = text.split_once(word)?.1.trim_start();
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Paths in the agent's `chain found` lines.
fn found(stderr: &str) -> Vec<String> {
    let path = |line: &str| Some(line.split_once("chain found: ")?.1.to_owned());
    stderr.lines().filter_map(path).collect()
}

fn crashed(folder: &Path) -> bool {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    names
        .map(|entry| entry.file_name())
        .any(|name| name.to_string_lossy().starts_with("hs_err"))
}

#[cfg(test)]
mod tests {
    use super::{SoakReport, accounted_kb, malloc_in_use_kb, number_after};

    #[test]
    fn malloc_tells_what_it_has_handed_out() {
        let xml = "<malloc><heap nr=\"0\">\n<system type=\"current\" size=\"9\"/>\n</heap>\n\
                   <total type=\"fast\" count=\"9\" size=\"1024\"/>\n<total type=\"rest\" count=\"1\" size=\"2048\"/>\n\
                   <total type=\"mmap\" count=\"7\" size=\"4096\"/>\n<system type=\"current\" size=\"10240\"/>\n</malloc>";
        assert_eq!(malloc_in_use_kb(xml), Some(11));
        assert_eq!(malloc_in_use_kb("Unknown diagnostic command"), None);
        let total = "Total: reserved=1434024KB\n  malloc: 7643KB #6380, peak=35630KB #21071";
        assert_eq!(number_after(total, "malloc: "), Some(7643));
        assert_eq!(accounted_kb(total), Some(7643 + 6380 * 34 / 1024));
        assert_eq!(accounted_kb("malloc=7643KB #6380"), None);
    }

    #[test]
    fn growth_compares_the_first_quarter_with_the_last() {
        let report = |native_kb: &[i64]| SoakReport {
            native_kb: native_kb.to_vec(),
            ..SoakReport::default()
        };
        assert_eq!(
            report(&[100, 90, 300, 120, 115, 95, 97, 140]).growth_kb(),
            7
        );
        assert_eq!(report(&[100, 200]).growth_kb(), 100);
        assert_eq!(report(&[]).growth_kb(), 0);
    }
}
