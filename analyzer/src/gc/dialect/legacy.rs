//! JDK 7 and 8 logs: puts entries back together and hands each to the dialect of its collector.
//!
//! An entry starts at a stamp followed by `[GC` or `[Full GC`, runs over several lines when the tenuring
//! distribution is printed, and may have anything printed in between by other threads.

use super::{AgeRows, LineParser, age_row, desired, g1_8, parallel_8, serial_cms_8};
use crate::gc::diag::Problem;
use crate::gc::intake::Intake;
use crate::gc::num;
use crate::gc::record::{Collection, Collector, Kind, Nanos, Promoted, Stamp, Why};

/// Longest entry kept, in bytes; TLAB printing can interleave tens of kilobytes.
const MAX_ENTRY: usize = 256 * 1024;

/// Whether a line looks like a JDK 7/8 GC log.
pub fn recognises(line: &[u8]) -> bool {
    start(line).is_some()
        || line.starts_with(b"CommandLine flags: ")
        || line.starts_with(b"Java HotSpot(TM)")
        || line.starts_with(b"OpenJDK ") && num::find(line, b" VM (").is_some()
        || line.starts_with(b"Desired survivor size ")
        || line.starts_with(b"Total time for which application threads were stopped")
        || stamp(line).is_some_and(|(_, rest)| {
            rest.starts_with(b"Total time for which")
                || rest.starts_with(b"Application time")
                || rest.starts_with(b"[CMS-concurrent")
        })
}

/// `2023-04-23T16:28:31.108+0800: 12.3: ` in any of its forms, and what follows.
pub fn stamp(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let mut at = Stamp::default();
    let mut rest = line;
    if let Some((ns, offset, tail)) = num::datetime(rest)
        && let Some(tail) = num::after(tail, b": ")
    {
        at.wall = Some(ns);
        at.offset_min = offset;
        rest = tail;
    }
    if let Some((secs, tail)) = num::decimal(rest)
        && let Some(tail) = num::after(tail, b": ")
        && num::digits(rest).is_some_and(|(_, t)| matches!(t.first(), Some(b'.' | b',')))
    {
        at.uptime = Some(Nanos::from_secs(secs));
        rest = tail;
    }
    (at != Stamp::default()).then_some((at, rest))
}

/// An entry's first line: its stamp and the text from `[GC` or `[Full GC`.
fn start(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let (at, rest) = match stamp(line) {
        Some(found) => found,
        None => (Stamp::default(), line),
    };
    (rest.starts_with(b"[GC") || rest.starts_with(b"[Full GC")).then_some((at, rest))
}

/// Where in `line`, past its front, another stamped `[GC` starts (a scavenge inside a remark).
fn nested_start(line: &[u8]) -> Option<usize> {
    let from = num::find(line, b"[YG occupancy")?;
    let tail = line.get(from..)?;
    let bracket = num::find(tail, b"]")? + 1;
    let nested = tail.get(bracket..)?;
    let (_, rest) = stamp(nested)?;
    rest.starts_with(b"[GC").then_some(from + bracket)
}

/// The last line of a concurrent CMS cycle, on a line of its own.
fn cycle_end(line: &[u8]) -> Option<Stamp> {
    let (at, rest) = stamp(line)?;
    rest.starts_with(b"[CMS-concurrent-reset: ").then_some(at)
}

#[derive(Debug, Default)]
struct Entry {
    at: Stamp,
    text: Vec<u8>,
    line: u64,
    rows: AgeRows,
    desired: Option<(u64, u8, u8)>,
    too_long: bool,
}

/// The parser.
#[derive(Debug, Default)]
pub struct Legacy {
    entry: Option<Entry>,
    /// Whether any entry started: before that, rows belong to one that is not here.
    started: bool,
    warned_inside: bool,
}

impl LineParser for Legacy {
    fn line(&mut self, line: &[u8], n: u64, out: &mut Intake) {
        if header(line, out) {
            self.abandon(out);
            return;
        }
        if let Some(at) = cycle_end(line) {
            let mut record = Collection::new(Collector::ParNew, Kind::ConcurrentOld);
            record.at = at;
            record.line = n;
            record.title = Some("CMS concurrent cycle".into());
            record.promoted = Promoted::NotComputable(Why::OldCollected);
            out.collection(record, None);
            return;
        }
        if let Some(at) = nested_start(line) {
            self.abandon(out);
            let (_, inner) = line.split_at_checked(at).unwrap_or((line, b""));
            self.line(inner, n, out);
            return;
        }
        if let Some((at, text)) = start(line) {
            // G1 prints its CPU times on a line of their own, so an entry may be complete by now.
            self.abandon(out);
            self.started = true;
            if is_phase(text) {
                return;
            }
            self.entry = Some(Entry {
                at,
                line: n,
                ..Entry::default()
            });
            self.append(text, out);
            return;
        }
        if line.starts_with(b"- age") || line.starts_with(b"Desired survivor") {
            self.table_line(line, n, out);
            return;
        }
        if self.entry.is_some() && !is_noise(line) {
            self.append(line, out);
        }
    }

    fn end(&mut self, out: &mut Intake) {
        self.abandon(out);
    }
}

/// Pauses of CMS cycles: they stop the world but collect nothing.
fn is_phase(text: &[u8]) -> bool {
    num::find(text, b"CMS-initial-mark").is_some()
        || num::find(text, b"[YG occupancy").is_some()
        || num::find(text, b"CMS-remark").is_some()
        || text.starts_with(b"[GC remark")
        || text.starts_with(b"[GC cleanup")
        || text.starts_with(b"[GC concurrent")
}

/// Lines that other threads print between the lines of an entry.
fn is_noise(line: &[u8]) -> bool {
    line.starts_with(b"TLAB")
        || line.starts_with(b"Total time for which")
        || stamp(line).is_some_and(|(_, rest)| {
            rest.starts_with(b"Total time for which")
                || rest.starts_with(b"Application time")
                || rest.starts_with(b"[CMS-concurrent")
                || rest.starts_with(b"[GC concurrent")
        })
}

/// The three lines a JDK 7/8 log starts with; true when the line is one.
fn header(line: &[u8], out: &mut Intake) -> bool {
    if let Some(flags) = num::after(line, b"CommandLine flags: ") {
        for flag in flags.split(|b| *b == b' ') {
            out.facts().flags.read(flag);
        }
        return true;
    }
    let version = line.starts_with(b"Java HotSpot(TM)")
        || line.starts_with(b"OpenJDK ") && num::find(line, b" VM (").is_some();
    if version {
        out.header(String::from_utf8_lossy(line).into_owned());
    }
    version || line.starts_with(b"Memory: ")
}

impl Legacy {
    fn table_line(&mut self, line: &[u8], n: u64, out: &mut Intake) {
        let Some(entry) = self.entry.as_mut() else {
            if !self.started && !self.warned_inside {
                self.warned_inside = true;
                out.problem(
                    Problem::StartsInside,
                    n,
                    "an age table without the start of its collection".to_owned(),
                );
            }
            return;
        };
        if line.starts_with(b"- age") {
            out.facts().saw_ages = true;
            match age_row(line) {
                Some(row) => entry.rows.add(row),
                None => entry.rows.spoil(),
            }
        } else if let Some(found) = desired(line) {
            entry.desired = Some(found);
            out.facts().saw_desired = true;
        }
    }

    fn append(&mut self, line: &[u8], out: &mut Intake) {
        let Some(entry) = self.entry.as_mut() else {
            return;
        };
        if entry.text.len().saturating_add(line.len()) > MAX_ENTRY {
            if !entry.too_long {
                out.problem(
                    Problem::LineTooLong,
                    entry.line,
                    format!("an entry longer than {MAX_ENTRY} bytes"),
                );
            }
            entry.too_long = true;
            return;
        }
        entry.text.extend_from_slice(line);
        entry.text.push(b'\n');
        if ends_entry(&entry.text, line) {
            self.abandon(out);
        }
    }

    /// Ends the open entry: reads it, or says why not.
    fn abandon(&mut self, out: &mut Intake) {
        let Some(entry) = self.entry.take() else {
            return;
        };
        match read(&entry) {
            Some(mut record) => {
                record.at = entry.at;
                record.line = entry.line;
                if record.kind.is_young() {
                    self.table(&entry, &mut record, out);
                }
                out.collection(record, None);
            }
            None => out.problem(
                Problem::Truncated,
                entry.line,
                "an entry without its end; it is not counted".to_owned(),
            ),
        }
    }

    fn table(&self, entry: &Entry, record: &mut Collection, out: &mut Intake) {
        if let Some((bytes, threshold, max)) = entry.desired {
            record.desired = Some(bytes);
            record.threshold_printed = Some(threshold);
            record.max_threshold = Some(max);
        }
        let table = match entry.rows.finish() {
            // A printed distribution without rows is an empty one, where rows are printed at all.
            Ok(table) => table.or_else(|| {
                (entry.desired.is_some() && record.collector.has_age_table()).then(Default::default)
            }),
            Err(_) => {
                out.problem(
                    Problem::AgeTableInconsistent,
                    entry.line,
                    "the age table's rows and running totals disagree; it is not used".to_owned(),
                );
                None
            }
        };
        if record.collector == Collector::G1 {
            record.ages_before = table;
        } else {
            record.ages = table;
        }
    }
}

/// Whether the entry is complete with this line.
fn ends_entry(text: &[u8], line: &[u8]) -> bool {
    if text.starts_with(b"[GC pause") {
        return num::find(line, b"[Times:").is_some();
    }
    // A concurrent phase may end, CPU times and all, inside the entry: only the brackets tell.
    let last = line.trim_ascii_end();
    num::find(text, b"->").is_some()
        && (last.ends_with(b" secs]") || num::find(line, b"[Times:").is_some())
        && open_brackets(text) == 0
}

/// Opening less closing brackets: zero when an entry is whole.
fn open_brackets(text: &[u8]) -> i64 {
    text.iter().fold(0, |depth, b| match b {
        b'[' => depth + 1,
        b']' => depth - 1,
        _ => depth,
    })
}

fn read(entry: &Entry) -> Option<Collection> {
    let text = String::from_utf8_lossy(&entry.text);
    let mut record = if text.starts_with("[GC pause") {
        g1_8::read(&text)
    } else if text.contains("[PSYoungGen")
        || text.contains("[ParOldGen")
        || text.contains("[PSOldGen")
    {
        parallel_8::read(&text)
    } else if ["[ParNew", "[DefNew", "[Tenured", "[CMS"]
        .iter()
        .any(|label| text.contains(label))
    {
        serial_cms_8::read(&text, &entry.at)
    } else {
        plain(&text)
    }?;
    times(&text, &mut record);
    Some(record)
}

/// `[GC (Cause) 1K->2K(3K), 0.1 secs]` and G1's `[Full GC (Cause) 1M->2M(3M), 0.1 secs]`: no generations.
fn plain(text: &str) -> Option<Collection> {
    let kind = kind(text);
    let collector =
        if text.contains("[Eden: ") || text.starts_with("[Full GC") && !text.contains('K') {
            Collector::G1
        } else {
            Collector::Unknown
        };
    let mut r = Collection::new(collector, kind);
    r.gc_cause = cause(text);
    heap(text, text, &mut r)?;
    Some(r)
}

/// Full or young, by how the entry starts.
pub fn kind(text: &str) -> Kind {
    if text.starts_with("[Full GC") {
        Kind::Full
    } else {
        Kind::Young
    }
}

/// The cause in the parentheses behind `[GC` or `[Full GC`.
pub fn cause(text: &str) -> Option<Box<str>> {
    let rest = text
        .strip_prefix("[Full GC")
        .or_else(|| text.strip_prefix("[GC pause"))
        .or_else(|| text.strip_prefix("[GC"))?
        .trim_start();
    let rest = rest.strip_prefix("--").unwrap_or(rest).trim_start();
    let inner = rest.strip_prefix('(')?;
    // `System.gc()` has parentheses of its own.
    let mut depth = 1;
    let end = inner.char_indices().find_map(|(at, c)| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        (depth == 0).then_some(at)
    })?;
    inner.get(..end).map(Into::into)
}

/// Reads the heap change in `from` (the one that no label precedes) and the pause behind it.
pub fn heap(from: &str, text: &str, r: &mut Collection) -> Option<()> {
    let (change, fine, rest) = first_transition(from)?;
    r.heap = Some(change);
    r.heap_fine = fine;
    r.pause = seconds(rest).or_else(|| seconds(text));
    Some(())
}

/// The first `1K->2K(3K)` of `text` and what follows it.
pub fn first_transition(text: &str) -> Option<(crate::gc::record::Change, bool, &str)> {
    let arrow = text.find("->")?;
    let head = text.get(..arrow)?;
    let start = head
        .rfind(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | 'K' | 'M' | 'G' | 'B')))
        .map_or(0, |at| at + 1);
    let tail = text.get(start..)?;
    // A capacity before the arrow ends in `)`, so walk back over it too.
    let tail = if head.ends_with(')') {
        let open = head.rfind('(')?;
        let start = head
            .get(..open)?
            .rfind(|c: char| {
                !(c.is_ascii_digit() || matches!(c, '.' | ',' | 'K' | 'M' | 'G' | 'B'))
            })
            .map_or(0, |at| at + 1);
        text.get(start..)?
    } else {
        tail
    };
    let (change, fine, rest) = super::transition(tail.as_bytes())?;
    Some((change, fine, text.get(text.len() - rest.len()..)?))
}

/// The last `, 0.1 secs]` in front of the CPU times.
pub fn seconds(text: &str) -> Option<Nanos> {
    let head = text.split("[Times:").next()?;
    let end = head.find(" secs]")?;
    let number = head.get(..end)?.rsplit(", ").next()?;
    num::decimal(number.trim().as_bytes()).map(|(secs, _)| Nanos::from_secs(secs))
}

/// `[Times: user=1.46 sys=0.09, real=0.15 secs]`.
fn times(text: &str, r: &mut Collection) {
    let Some((_, tail)) = text.rsplit_once("[Times:") else {
        return;
    };
    let read = |key: &str| {
        let (_, value) = tail.split_once(key)?;
        num::decimal(value.as_bytes()).map(|(secs, _)| Nanos::from_secs(secs))
    };
    r.user = read("user=");
    r.sys = read("sys=");
    r.real = read("real=");
}
