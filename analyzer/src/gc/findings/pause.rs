//! PAUSE-01: the pause waited for CPU, which no GC flag cures.

use super::series::Series;
use super::{Fact, Finding, Id, Severity};
use crate::gc::record::{Collection, Kind, Nanos};

/// Shorter pauses are not judged: CPU times come in steps of 10 ms.
const FLOOR: Nanos = Nanos(100_000_000);
/// A pause is starved when it lasts this many times its CPU time.
const FACTOR: u64 = 2;

/// PAUSE-01.
pub fn starved(s: &Series<'_>) -> Option<Finding> {
    let starved = |r: &Collection| {
        let real = r.real.filter(|real| *real >= FLOOR)?;
        let cpu = r.cpu()?;
        (real.0 > cpu.0.saturating_mul(FACTOR)).then_some((real, cpu))
    };
    let stops = |r: &Collection| !matches!(r.kind, Kind::ConcurrentOld | Kind::ConcurrentYoung);
    let hits: Vec<(usize, (Nanos, Nanos))> = s
        .jvm
        .collections
        .iter()
        .enumerate()
        .filter(|(_, r)| stops(r))
        .filter_map(|(at, r)| Some((at, starved(r)?)))
        .collect();
    let (at, (real, cpu)) = *hits.iter().max_by_key(|(_, (real, cpu))| real.0 - cpu.0)?;
    let mut f = Finding::new(Id::Pause01, Severity::Warn);
    f.at = Some(at);
    f.count = hits.len() as u64;
    f.evidence = vec![
        ("real", Fact::Time(real)),
        ("cpu", Fact::Time(cpu)),
        (
            "cpu_ratio",
            Fact::Number(cpu.0 as f64 / real.0.max(1) as f64),
        ),
    ];
    f.story = vec![
        format!(
            "Why: the pause took {real}, but its threads ran only {cpu} in all: they waited for a core, for \
             memory being swapped, or for a limit of the container."
        ),
        "What it is not: GC tuning; look at CPU limits, neighbours and swapping first.".to_owned(),
    ];
    Some(f)
}
