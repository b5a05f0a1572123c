//! JDK 7/8 Parallel: `[GC (Cause) [PSYoungGen: young] heap, t secs]` and
//! `[Full GC (Cause) [PSYoungGen: young] [ParOldGen: old] heap [Metaspace: meta], t secs]`.

use super::legacy::{cause, first_transition, kind};
use crate::gc::num;
use crate::gc::record::{Collection, Collector, Nanos};

/// Reads one entry, `[GC` first; `None` when its end is missing.
pub fn read(text: &str) -> Option<Collection> {
    let mut r = Collection::new(Collector::Parallel, kind(text));
    r.gc_cause = cause(text);
    // `[GC-- [PSYoungGen` marks a promotion that failed.
    r.promotion_failed =
        text.starts_with("[GC--") || text.contains(")-- [") || text.contains(" -- [");
    let (_, young) = text.split_once("[PSYoungGen")?;
    let (change, _, mut rest) = first_transition(young)?;
    r.young = Some(change);
    for label in ["[ParOldGen", "[PSOldGen"] {
        if let Some((_, old)) = rest.split_once(label) {
            let (change, _, tail) = first_transition(old)?;
            r.old = Some(change);
            rest = tail;
        }
    }
    let (change, fine, tail) = first_transition(rest)?;
    r.heap = Some(change);
    r.heap_fine = fine;
    let head = tail.split("[Times:").next()?;
    let end = head.rfind(" secs]")?;
    let number = head.get(..end)?.rsplit(", ").next()?;
    r.pause = num::decimal(number.trim().as_bytes()).map(|(secs, _)| Nanos::from_secs(secs));
    r.pause?;
    Some(r)
}
