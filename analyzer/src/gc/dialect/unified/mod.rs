//! Unified logs, JDK 9 and later: `-Xlog:gc*,gc+age=trace,gc+plab=debug,safepoint`.
//!
//! Lines of one collection carry its number, so other lines may come between them. A collection is
//! complete at its pause line; the CPU and safepoint lines that follow still belong to it, which is why
//! it is handed on only when the next one begins.

mod pause;
mod spaces;

use self::pause::{name, pause_kind, split_result, trailing_millis};
use self::spaces::{cpu, space};
use super::decoration::{self, Decorations};
use super::{AgeRows, LineParser, age_row, desired};
use crate::gc::diag::Problem;
use crate::gc::intake::Intake;
use crate::gc::num;
use crate::gc::record::{Collection, Collector, Kind, Nanos, Promoted, Stamp, Why};

/// Collections whose lines are still coming in; more than this means their ends are missing.
const MAX_OPEN: usize = 32;

/// Whether a line looks like unified logging.
pub fn recognises(line: &[u8]) -> bool {
    let (groups, message) = decoration::split(line);
    if groups.is_empty() {
        return number(message).is_some()
            || message.starts_with(b"Using ") && using(message).is_some();
    }
    let d = decoration::parse(groups);
    d.at != Stamp::default()
        || [
            &b"[info"[..],
            b"[debug",
            b"[trace",
            b"[warning",
            b"[error",
            b"[gc",
        ]
        .iter()
        .any(|level| num::find(groups, level).is_some())
}

/// `GC(12) rest`.
fn number(message: &[u8]) -> Option<(u64, &[u8])> {
    let (id, rest) = num::digits(num::after(message, b"GC(")?)?;
    Some((id, num::after(rest, b") ")?))
}

fn using(message: &[u8]) -> Option<Collector> {
    let name = num::after(message, b"Using ")?;
    [
        (&b"Serial"[..], Collector::Serial),
        (b"Concurrent Mark Sweep", Collector::ParNew),
        (b"Parallel", Collector::Parallel),
        (b"G1", Collector::G1),
        (b"The Z Garbage Collector", Collector::Zgc),
        (b"Shenandoah", Collector::Shenandoah),
    ]
    .into_iter()
    .find(|(prefix, _)| name == *prefix)
    .map(|(_, c)| c)
}

#[derive(Debug)]
struct Open {
    pid: Option<u64>,
    id: u64,
    record: Collection,
    rows: AgeRows,
    complete: bool,
    /// A cycle without a line of its own for its end (Shenandoah).
    cycle: bool,
}

/// The parser.
#[derive(Debug, Default)]
pub struct Unified {
    open: Vec<Open>,
    /// Where the last collection was found: lines of one collection mostly follow each other.
    hint: usize,
    seen_any: bool,
    /// Process numbers are printed: several JVMs may share the file.
    pids: bool,
}

impl LineParser for Unified {
    fn line(&mut self, line: &[u8], n: u64, out: &mut Intake) {
        let (groups, message) = decoration::split(line);
        if let Some((id, rest)) = number(message) {
            self.numbered(groups, id, rest, n, out);
        } else if message.starts_with(b"Safepoint \"") {
            self.safepoint(message);
        } else if let Some(collector) = using(message) {
            self.flush(true, out);
            out.jvm_starts(collector, n);
        } else {
            fact(message, out);
        }
    }

    fn end(&mut self, out: &mut Intake) {
        self.flush(true, out);
    }
}

/// Lines before the first collection.
fn fact(message: &[u8], out: &mut Intake) {
    if let Some(v) = num::after(message, b"Heap Region Size: ")
        .or_else(|| num::after(message, b"Heap region size: "))
        && let Some((bytes, _, _)) = num::size(v)
    {
        out.facts().region_bytes = Some(bytes);
    } else if let Some(v) = num::after(message, b"Version: ") {
        out.facts().version = Some(String::from_utf8_lossy(v).into_owned());
    } else if message == b"Pre-touch: Enabled" {
        out.facts().pretouch = Some(true);
    } else if message == b"Pre-touch: Disabled" {
        out.facts().pretouch = Some(false);
    }
}

impl Unified {
    fn numbered(&mut self, groups: &[u8], id: u64, rest: &[u8], n: u64, out: &mut Intake) {
        // Most lines of a verbose log are of no interest; decide on the first byte, then read decorations.
        let interesting = matches!(
            rest.first(),
            Some(
                b'P' | b'D'
                    | b'-'
                    | b'A'
                    | b'E'
                    | b'S'
                    | b'O'
                    | b'H'
                    | b'T'
                    | b'U'
                    | b'C'
                    | b'Y'
                    | b'y'
                    | b'N'
                    | b'M'
                    | b'G'
                    | b' '
                    | b't'
            )
        );
        if !interesting || rest.starts_with(b"  ") && !rest.starts_with(b"   - age") {
            return;
        }
        let d = if rest.starts_with(b"Pause ")
            || rest.starts_with(b"Concurrent ")
            || rest.starts_with(b"M")
            || rest.starts_with(b"Garbage")
            || self.pids
        {
            decoration::parse(groups)
        } else {
            Decorations::default()
        };
        match rest {
            _ if rest.starts_with(b"Pause ") => self.pause(d, id, rest, n, out),
            _ if rest.starts_with(b"Concurrent ") => self.concurrent(d, id, rest, n, out),
            _ if rest.starts_with(b"Minor Collection (")
                || rest.starts_with(b"Major Collection (")
                || rest.starts_with(b"Garbage Collection (") =>
            {
                self.zgc(d, id, rest, n, out);
            }
            _ => self.detail(d.pid, id, rest, n, out),
        }
    }

    /// `Pause Young (Normal) (G1 Evacuation Pause)` begins; with `64M->32M(1200M) 4.2ms` behind it ends.
    fn pause(&mut self, d: Decorations, id: u64, rest: &[u8], n: u64, out: &mut Intake) {
        let (title, result) = split_result(rest);
        let Some(kind) = pause_kind(title) else {
            self.other_pause(d, id, title, result, n, out);
            return;
        };
        let Some((heap, fine, pause)) = result else {
            self.begin(d, id, kind, title, n, out);
            return;
        };
        let at = match self.find(d.pid, id) {
            Some(at) => at,
            None => {
                self.flush(false, out);
                self.push(d, id, kind, title, n, out);
                self.open.len().saturating_sub(1)
            }
        };
        if let Some(open) = self.open.get_mut(at) {
            let r = &mut open.record;
            name(r, kind, title);
            r.heap = Some(heap);
            r.heap_fine = fine;
            r.pause = Some(pause);
            r.evacuation_failed |= num::find(title, b"Evacuation Failure").is_some();
            open.complete = true;
            open.cycle = false;
        }
        self.seen_any = true;
    }

    fn begin(
        &mut self,
        d: Decorations,
        id: u64,
        kind: Kind,
        title: &[u8],
        n: u64,
        out: &mut Intake,
    ) {
        self.flush(false, out);
        if let Some(at) = self.find(d.pid, id) {
            // The number is in use: its first holder never ended, or another JVM writes here too.
            let lost = self.open.remove(at);
            out.problem(
                Problem::Truncated,
                lost.record.line,
                format!("collection {id} never ended"),
            );
        }
        self.push(d, id, kind, title, n, out);
    }

    fn push(
        &mut self,
        d: Decorations,
        id: u64,
        kind: Kind,
        title: &[u8],
        n: u64,
        out: &mut Intake,
    ) {
        if self.open.len() >= MAX_OPEN {
            let lost = self.open.remove(0);
            out.problem(
                Problem::Truncated,
                lost.record.line,
                format!("collection {} never ended", lost.id),
            );
        }
        self.pids |= d.pid.is_some();
        let mut record = Collection::new(out.facts().collector, kind);
        record.gc_id = Some(id);
        record.line = n;
        record.at = d.at;
        name(&mut record, kind, title);
        self.open.push(Open {
            pid: d.pid,
            id,
            record,
            rows: AgeRows::default(),
            complete: false,
            cycle: false,
        });
    }

    /// Remark, cleanup and the pauses of concurrent collectors.
    fn other_pause(
        &mut self,
        d: Decorations,
        id: u64,
        title: &[u8],
        result: Option<(crate::gc::record::Change, bool, Nanos)>,
        n: u64,
        out: &mut Intake,
    ) {
        if out.facts().collector != Collector::Shenandoah {
            return;
        }
        let at = self.cycle(d, id, title, n, out);
        let time = result
            .map(|r| r.2)
            .or_else(|| trailing_millis(title).map(|t| t.1));
        if let (Some(time), Some(open)) = (time, self.open.get_mut(at)) {
            let sum = open.record.pause.unwrap_or_default().0;
            open.record.pause = Some(Nanos(sum.saturating_add(time.0)));
        }
    }

    /// The open cycle `id` of a collector that prints no line for the whole.
    fn cycle(&mut self, d: Decorations, id: u64, title: &[u8], n: u64, out: &mut Intake) -> usize {
        if let Some(at) = self.find(d.pid, id) {
            return at;
        }
        let kind = if num::find(title, b"(Young)").is_some() {
            Kind::ConcurrentYoung
        } else {
            Kind::ConcurrentOld
        };
        self.flush(false, out);
        // Cycles end where the next begins.
        for open in self.open.iter_mut().filter(|o| o.cycle) {
            open.complete = true;
        }
        self.flush(false, out);
        self.push(d, id, kind, b"Concurrent cycle", n, out);
        if let Some(open) = self.open.last_mut() {
            open.cycle = true;
        }
        self.seen_any = true;
        self.open.len().saturating_sub(1)
    }

    fn concurrent(&mut self, d: Decorations, id: u64, rest: &[u8], n: u64, out: &mut Intake) {
        match out.facts().collector {
            Collector::Shenandoah => {
                let at = self.cycle(d, id, rest, n, out);
                if rest.starts_with(b"Concurrent cleanup")
                    && let (_, Some((heap, _, _))) = split_result(rest)
                    && let Some(open) = self.open.get_mut(at)
                {
                    open.record.heap = Some(heap);
                }
            }
            collector => {
                // G1 and CMS: the cycle is complete at these lines.
                let ends = rest.starts_with(b"Concurrent Cycle ")
                    || rest.starts_with(b"Concurrent Mark Cycle ")
                    || collector == Collector::ParNew && rest.starts_with(b"Concurrent Reset ");
                if !ends || trailing_millis(rest).is_none() {
                    return;
                }
                let mut record = Collection::new(collector, Kind::ConcurrentOld);
                record.gc_id = Some(id);
                record.line = n;
                record.at = d.at;
                record.title = Some("Concurrent Cycle".into());
                record.promoted = Promoted::NotComputable(Why::OldCollected);
                self.flush(false, out);
                out.collection(record, None);
            }
        }
    }

    fn zgc(&mut self, d: Decorations, id: u64, rest: &[u8], n: u64, out: &mut Intake) {
        let minor = rest.starts_with(b"Minor");
        let kind = if minor {
            Kind::ConcurrentYoung
        } else {
            Kind::ConcurrentOld
        };
        let title_end = num::find(rest, b")").map_or(rest.len(), |p| p + 1);
        let (title, tail) = rest.split_at_checked(title_end).unwrap_or((rest, b""));
        // `32M(12%)->54M(21%) 0.031s`
        let result = (|| {
            let (before, _, r) = num::size(num::trim(tail))?;
            let r = num::past(r, b"->")?;
            let (after, _, _) = num::size(r)?;
            Some((before, after))
        })();
        let Some((before, after)) = result else {
            self.begin(d, id, kind, title, n, out);
            return;
        };
        if self.find(d.pid, id).is_none() {
            self.flush(false, out);
            self.push(d, id, kind, title, n, out);
        }
        if let Some(at) = self.find(d.pid, id)
            && let Some(open) = self.open.get_mut(at)
        {
            open.record.heap = Some(crate::gc::record::Change {
                before,
                after,
                ..Default::default()
            });
            open.complete = true;
            self.seen_any = true;
        }
    }

    /// Lines inside a collection.
    fn detail(&mut self, pid: Option<u64>, id: u64, rest: &[u8], n: u64, out: &mut Intake) {
        let Some(at) = self.find(pid, id) else {
            if !self.seen_any
                && self.open.is_empty()
                && (rest.starts_with(b"- age") || rest.starts_with(b"User="))
            {
                self.seen_any = true;
                out.problem(
                    Problem::StartsInside,
                    n,
                    format!("the file starts inside collection {id}"),
                );
            }
            return;
        };
        let Some(open) = self.open.get_mut(at) else {
            return;
        };
        let r = &mut open.record;
        if rest.starts_with(b"- age") {
            match age_row(rest) {
                Some(row) => open.rows.add(row),
                None => open.rows.spoil(),
            }
        } else if rest.starts_with(b"Desired") {
            if let Some((bytes, threshold, max)) = desired(rest) {
                r.desired = Some(bytes);
                r.threshold_printed = Some(threshold);
                r.max_threshold = Some(max);
                out.facts().saw_desired = true;
            }
        } else if rest.starts_with(b"Age table") {
            out.facts().saw_ages = true;
        } else if rest.starts_with(b"User=") {
            cpu(rest, r);
        } else {
            space(rest, r, out);
        }
    }

    fn safepoint(&mut self, message: &[u8]) {
        let Some(open) = self.open.iter_mut().rev().find(|o| o.complete) else {
            return;
        };
        let at = |key: &[u8]| {
            let (ns, _) = num::digits(num::past(message, key)?)?;
            Some(Nanos(ns))
        };
        // Other safepoints end up between collections; only one that lasts as long can have held it.
        let long_enough = at(b"At safepoint: ")
            .zip(open.record.pause)
            .is_some_and(|(held, pause)| held.0.saturating_add(1_000_000) >= pause.0);
        if long_enough && open.record.safepoint_total.is_none() {
            open.record.safepoint_total = at(b"Total: ");
            open.record.ttsp = at(b"Reaching safepoint: ");
        }
    }

    fn find(&mut self, pid: Option<u64>, id: u64) -> Option<usize> {
        let same = |o: &Open| o.id == id && (pid.is_none() || o.pid == pid);
        if self.open.get(self.hint).is_some_and(same) {
            return Some(self.hint);
        }
        let at = self.open.iter().rposition(same)?;
        self.hint = at;
        Some(at)
    }

    /// Hands on complete collections; at the end of the input the others are reported and dropped.
    fn flush(&mut self, end: bool, out: &mut Intake) {
        let mut at = 0;
        while at < self.open.len() {
            if !self.open.get(at).is_some_and(|o| o.complete || end) {
                at += 1;
                continue;
            }
            let open = self.open.remove(at);
            if !open.complete && !open.cycle {
                out.problem(
                    Problem::Truncated,
                    open.record.line,
                    format!("the input ends inside collection {}", open.id),
                );
                continue;
            }
            let mut record = open.record;
            match open.rows.finish() {
                Ok(table) => {
                    record.ages = table.or_else(|| {
                        // A table without rows is an empty table where tables are printed at all.
                        (out.facts().saw_ages && record.kind.is_young()).then(Default::default)
                    });
                }
                Err(_) => out.problem(
                    Problem::AgeTableInconsistent,
                    record.line,
                    format!("age table of collection {} is not used", open.id),
                ),
            }
            out.collection(record, open.pid);
        }
    }
}
