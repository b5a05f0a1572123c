//! JDK 7/8 with Serial or ParNew in front and Tenured or CMS behind.
//!
//! `[GC (Cause) stamp[ParNew ... : young, t secs] heap, t secs]`, where reference processing and the
//! tenuring distribution interleave behind `[ParNew`; a failed promotion or a refused young collection
//! adds `stamp[CMS ... (concurrent mode failure): old, t secs]` before the heap.

use super::legacy::{cause, first_transition, kind, seconds, stamp};
use crate::gc::num;
use crate::gc::record::{Collection, Collector, Kind, Nanos, RefTime, Stamp};

const REFS: [&str; 5] = [
    "SoftReference",
    "WeakReference",
    "FinalReference",
    "PhantomReference",
    "JNI Weak Reference",
];

/// Reads one entry, `[GC` first; `None` when its end is missing.
pub fn read(text: &str, at: &Stamp) -> Option<Collection> {
    let (collector, label) = if text.contains("[ParNew") {
        (Collector::ParNew, Some("[ParNew"))
    } else if text.contains("[DefNew") {
        (Collector::Serial, Some("[DefNew"))
    } else if text.contains("[CMS") {
        (Collector::ParNew, None)
    } else {
        (Collector::Serial, None)
    };
    let mut r = Collection::new(collector, kind(text));
    r.gc_cause = cause(text);
    let mut rest = text;
    if let Some(label) = label {
        let (_, young) = text.split_once(label)?;
        r.promotion_failed = young.contains("(promotion failed)");
        references(young, at, &mut r);
        let (change, _, tail) = first_transition(young)?;
        r.young = Some(change);
        rest = tail;
    }
    if let Some(old) = old_section(rest) {
        let (change, _, tail) = first_transition(old)?;
        r.old = Some(change);
        if r.kind == Kind::Young {
            // The young collection ended in one of the whole heap. Untouched young space means it was refused.
            r.refused = !r.promotion_failed && r.young.is_some_and(|y| y.before == y.after);
            r.kind = Kind::Full;
        }
        rest = tail;
    }
    let rest = rest.split_once(']')?.1;
    let (change, fine, tail) = first_transition(rest)?;
    r.heap = Some(change);
    r.heap_fine = fine;
    r.pause = Some(last_seconds(tail).or_else(|| seconds(tail))?);
    if r.kind == Kind::Young {
        // The line gives eden and one survivor space; the other one is not in it.
        r.survivor_cap = None;
    }
    Some(r)
}

/// Text from the old generation's label on, when the entry has one before the heap change.
fn old_section(rest: &str) -> Option<&str> {
    ["[Tenured", "[CMS"].iter().find_map(|label| {
        let at = rest.match_indices(label).map(|(at, _)| at).find(|at| {
            rest.get(at + label.len()..)
                .is_some_and(|t| !t.starts_with(" Perm") && !t.starts_with("-"))
        })?;
        rest.get(at + label.len()..)
    })
}

/// Of `, [CMS Perm : ...], 0.5668 secs] [Times: ...`: the last time before the CPU times.
fn last_seconds(tail: &str) -> Option<Nanos> {
    let head = tail.split("[Times:").next()?;
    let end = head.rfind(" secs]")?;
    let number = head.get(..end)?.rsplit(", ").next()?;
    num::decimal(number.trim().as_bytes()).map(|(secs, _)| Nanos::from_secs(secs))
}

/// `stamp[FinalReference, 10410 refs, 0.0103720 secs]`, and from the first stamp how long copying took.
fn references(young: &str, at: &Stamp, r: &mut Collection) {
    for kind in REFS {
        let Some((head, tail)) = young.split_once(&format!("[{kind}, ")) else {
            continue;
        };
        let Some(time) = seconds(tail) else { continue };
        if r.refs.is_empty() {
            r.copy_phase = trailing_stamp(head).and_then(|end| since(at, &end));
        }
        r.refs.push(RefTime { kind, time });
    }
}

/// The stamp `head` ends in.
fn trailing_stamp(head: &str) -> Option<Stamp> {
    // Stamps are short; try the longest first so that a date is not read as an uptime.
    let from = head.len().saturating_sub(48);
    (from..head.len())
        .filter(|at| head.is_char_boundary(*at))
        .find_map(|at| {
            let (stamp, rest) = stamp(head.get(at..)?.as_bytes())?;
            rest.is_empty().then_some(stamp)
        })
}

fn since(start: &Stamp, end: &Stamp) -> Option<Nanos> {
    if let (Some(a), Some(b)) = (start.wall, end.wall) {
        return u64::try_from(b - a).ok().map(Nanos);
    }
    let (a, b) = (start.uptime?, end.uptime?);
    b.0.checked_sub(a.0).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_young_collection_is_told_from_a_failed_one() {
        let refused = "[GC 84.1: [ParNew: 17024K->17024K(19136K), 0.0000 secs]84.1: [CMS84.2: \
            [CMS-concurrent-mark: 0.1/0.2 secs] [Times: user=0.1 sys=0.0, real=0.1 secs] \n \
            (concurrent mode failure): 103355K->96073K(107776K), 0.5 secs] 120379K->96073K(126912K), \
            [CMS Perm : 15591K->15585K(28412K)], 0.5669586 secs] [Times: user=0.57 sys=0.00, real=0.57 secs] ";
        let r = read(refused, &Stamp::default()).unwrap();
        assert!(r.refused && !r.promotion_failed);
        assert_eq!(r.kind, Kind::Full);
        assert_eq!(r.old.unwrap().after, 96_073 << 10);
        assert_eq!(r.heap.unwrap().before, 120_379 << 10);
        assert_eq!(r.pause, Some(Nanos(566_958_600)));
    }
}
