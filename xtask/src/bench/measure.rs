//! What a process took from start to end: wall, CPU and private memory.

use anyhow::bail;
use jfr_chains_tests::{Child, Finished};
use std::time::Duration;

/// A process that ended well.
pub struct Taken {
    /// All it wrote.
    pub done: Finished,
    /// Seconds from its start to its end.
    pub wall: f64,
    /// Seconds of CPU, user and system, of all its threads.
    pub cpu: f64,
    /// Most bytes of private memory (`RssAnon`) that it was seen with, every 20 ms.
    pub private: Option<u64>,
}

/// What `report` ends with when a recording has nothing to report on: it was read all the same.
const NOTHING_ANALYSED: i32 = 3;

/// Runs a process to its end; errs when it fails or takes longer than `limit`.
pub fn measure(child: Child, limit: Duration) -> anyhow::Result<Taken> {
    let before = children_cpu();
    let mut running = child.start()?;
    let mut private = None;
    // Ends early with the process, which then has no status any more.
    let _ = running.wait_until(limit, |running| {
        private = private.max(rss_anon(running.pid()));
        false
    });
    let done = running.finish(Duration::ZERO)?;
    if !done.ok() && done.code() != Some(NOTHING_ANALYSED) {
        bail!("{done}");
    }
    Ok(Taken {
        wall: done.elapsed.as_secs_f64(),
        cpu: children_cpu() - before,
        private,
        done,
    })
}

/// Bytes of private memory that a process has now.
fn rss_anon(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
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

/// The machine in a few words: cores, processor, load.
pub fn machine() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, model)| model);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = load.split(' ').next().unwrap_or("unknown");
    format!("{cores} cores of {model}, load {load} before")
}

#[cfg(test)]
mod tests {
    use super::measure;
    use jfr_chains_tests::Child;
    use std::time::Duration;

    #[test]
    fn a_process_that_fails_is_no_measurement() {
        assert!(measure(Child::new("false"), Duration::from_secs(30)).is_err());
        let taken = measure(Child::new("true"), Duration::from_secs(30)).unwrap();
        assert!(taken.wall > 0.0 && taken.cpu >= 0.0);
    }
}
