//! What the program and the JVM said, by time: milliseconds since 1970, so that all sources share a clock.

/// An interval in epoch milliseconds, both ends in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its first instant.
    pub from: f64,
    /// Its last instant.
    pub to: f64,
}

impl Window {
    /// Whether `at` lies in it.
    pub fn has(self, at: f64) -> bool {
        self.from <= at && at <= self.to
    }
}

/// One line of the program: the longest pause since the line before, and lookups so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// When, in epoch milliseconds.
    pub at: f64,
    /// Milliseconds.
    pub stall: f64,
    /// Lookups since the start.
    pub work: f64,
}

/// The program's lines `at MILLIS stall MICROS work N`.
pub fn said(stdout: &str) -> Vec<Said> {
    let line = |line: &str| -> Option<Said> {
        let mut words = line.split(' ');
        let mut number = |name: &str| -> Option<f64> {
            (words.next()? == name).then(|| words.next()?.parse().ok())?
        };
        Some(Said {
            at: number("at")?,
            stall: number("stall")? / 1_000.0,
            work: number("work")?,
        })
    };
    stdout.lines().filter_map(line).collect()
}

/// The longest pause that the program saw in a window, in milliseconds. A line tells of the 0.2 s before it, so lines
/// a little later count.
pub fn longest_stall(said: &[Said], window: Window) -> Option<f64> {
    let late = Window {
        from: window.from,
        to: window.to + 250.0,
    };
    said.iter()
        .filter(|line| late.has(line.at))
        .map(|line| line.stall)
        .max_by(f64::total_cmp)
}

/// Lookups a second in a window; `None` with fewer than two lines in it.
pub fn throughput(said: &[Said], window: Window) -> Option<f64> {
    let mut inside = said.iter().filter(|line| window.has(line.at));
    let first = inside.next()?;
    let last = inside.next_back()?;
    Some((last.work - first.work) / (last.at - first.at) * 1_000.0)
}

/// A stop of all threads.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Its end, in epoch milliseconds.
    pub at: f64,
    /// The JVM's name of the operation.
    pub name: String,
    /// Milliseconds, reaching it included.
    pub total: f64,
}

/// A pause of a collection.
#[derive(Clone, Debug, PartialEq)]
pub struct Pause {
    /// Its end, in epoch milliseconds.
    pub at: f64,
    /// Whether it compacted everything.
    pub full: bool,
    /// Milliseconds.
    pub length: f64,
}

/// Stops and pauses of a log of tags `safepoint`, `gc` and `gc+phases` with decoration `timemillis`.
pub fn log(text: &str) -> (Vec<Stop>, Vec<Pause>) {
    let (mut stops, mut pauses) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let Some((at, rest)) = stamped(line) else {
            continue;
        };
        if let Some(stop) = stop(at, rest) {
            stops.push(stop);
        } else if let Some(pause) = pause(at, rest) {
            pauses.push(pause);
        }
    }
    (stops, pauses)
}

/// `[1764500000000ms] text` as its parts.
fn stamped(line: &str) -> Option<(f64, &str)> {
    let (stamp, rest) = line.strip_prefix('[')?.split_once("ms]")?;
    Some((stamp.parse().ok()?, rest.trim_start()))
}

/// `Safepoint "HeapWalkOperation", ..., Total: 1234 ns`.
fn stop(at: f64, rest: &str) -> Option<Stop> {
    let (name, rest) = rest.strip_prefix("Safepoint \"")?.split_once('"')?;
    let (_, total) = rest.split_once("Total:")?;
    let nanos: f64 = total.trim_start().split(' ').next()?.parse().ok()?;
    Some(Stop {
        at,
        name: name.to_owned(),
        total: nanos / 1_000_000.0,
    })
}

/// `GC(7) Pause Young (Normal) ... 12.3ms`, `GC(7) y: Pause Mark Start 0.01ms`.
fn pause(at: f64, rest: &str) -> Option<Pause> {
    let (_, rest) = rest.strip_prefix("GC(")?.split_once(") ")?;
    let rest = rest.trim_start();
    let rest = match rest.split_once(": ") {
        Some((generation, rest)) if generation.len() <= 2 => rest,
        _ => rest,
    };
    let kind = rest.strip_prefix("Pause ")?;
    let length = rest.rsplit(' ').next()?.strip_suffix("ms")?.parse().ok()?;
    Some(Pause {
        at,
        full: kind.starts_with("Full"),
        length,
    })
}

/// Whether a stop belongs to a collection.
pub fn is_collection(name: &str) -> bool {
    [
        "G1",
        "ZMark",
        "ZRelocate",
        "ZOperation",
        "XMark",
        "XRelocate",
        "Shenandoah",
        "Parallel",
        "GenCollect",
        "CollectFor",
        "ICBuffer",
        "ZVerify",
    ]
    .iter()
    .any(|part| name.contains(part))
}

/// Median and longest of some lengths.
pub fn median_and_longest(mut lengths: Vec<f64>) -> Option<(f64, f64)> {
    lengths.sort_by(f64::total_cmp);
    let middle = lengths.get(lengths.len() / 2)?;
    Some((*middle, *lengths.last()?))
}

#[cfg(test)]
mod tests {
    use super::{Window, log, longest_stall, said, throughput};

    #[test]
    fn stalls_and_throughput_are_those_of_the_window() {
        let said = said(
            "ready 12\nat 1000 stall 500 work 10\nat 1200 stall 9000 work 30\nat 1400 stall 100 work 50\n",
        );
        let window = Window {
            from: 1000.0,
            to: 1400.0,
        };
        assert_eq!(said.len(), 3);
        assert_eq!(longest_stall(&said, window), Some(9.0));
        assert_eq!(throughput(&said, window), Some(100.0));
        let before = Window {
            from: 0.0,
            to: 999.0,
        };
        assert_eq!(throughput(&said, before), None);
    }

    #[test]
    fn stops_and_pauses_are_read_from_the_log() {
        let (stops, pauses) = log(
            "[1764500000001ms] Safepoint \"HeapWalkOperation\", Time since last: 5 ns, Reaching safepoint: 2 ns, At safepoint: 3 ns, Total: 2500000 ns\n\
             [1764500000002ms] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 90M->60M(1024M) 12.500ms\n\
             [1764500000003ms] GC(4) Pause Full (System.gc()) 90M->60M(1024M) 250.000ms\n\
             [1764500000004ms] GC(5) y: Pause Mark Start 0.010ms\n\
             [1764500000005ms] GC(5)   Pre Evacuate Collection Set: 0.1ms\n",
        );
        assert_eq!(stops.len(), 1);
        assert_eq!(stops[0].total, 2.5);
        let lengths: Vec<(bool, f64)> = pauses.iter().map(|p| (p.full, p.length)).collect();
        assert_eq!(lengths, [(false, 12.5), (true, 250.0), (false, 0.01)]);
    }
}
