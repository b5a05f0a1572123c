//! JDK 7/8 G1: `[GC pause (cause) (young), t secs]`, then indented phases, then
//! `[Eden: 512.0M(512.0M)->0.0B(476.0M) Survivors: 0.0B->36.0M Heap: 518.9M(1200.0M)->43.8M(1200.0M)]`.
//!
//! The tenuring distribution is printed before the pause runs: the table is the previous collection's.

use super::legacy::{cause, seconds};
use crate::gc::record::{Change, Collection, Collector, Kind};

/// Reads one entry, `[GC pause` first; `None` when its end is missing.
pub fn read(text: &str) -> Option<Collection> {
    let title = text.split(" secs]").next().unwrap_or(text);
    let kind = if title.contains("(mixed)") {
        Kind::Mixed
    } else if title.contains("(initial-mark)") {
        Kind::ConcurrentStart
    } else {
        Kind::Young
    };
    let mut r = Collection::new(Collector::G1, kind);
    r.gc_cause = cause(text).filter(|c| !matches!(&**c, "young" | "mixed"));
    r.evacuation_failed =
        title.contains("(to-space exhausted)") || title.contains("(to-space overflow)");
    r.pause = Some(seconds(text)?);
    let (_, spaces) = text.split_once("[Eden: ")?;
    let eden = change(spaces)?;
    let (_, tail) = spaces.split_once("Survivors: ")?;
    let survivors = change(tail)?;
    let (_, tail) = tail.split_once("Heap: ")?;
    let heap = change(tail)?;
    r.young = Some(Change {
        before: eden.before + survivors.before,
        after: eden.after + survivors.after,
        cap_before: eden.cap_before.map(|c| c + survivors.before),
        cap: None,
    });
    r.survivor = Some(survivors);
    r.heap = Some(heap);
    r.heap_fine = false;
    Some(r)
}

fn change(s: &str) -> Option<Change> {
    let (change, _, _) = super::transition(s.as_bytes())?;
    Some(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_with_decimal_commas_are_read() {
        let text = "[GC pause (young)\n, 0,0854230 secs]\n   [Eden: 2486,0M(2486,0M)->0,0B(320,0M) \
            Survivors: 36,0M->36,0M Heap: 4982,3M(5704,0M)->2498,4M(5704,0M)]\n [Times: user=0,87]";
        let r = read(text).unwrap();
        assert_eq!(r.young.unwrap().before, 2522 << 20);
        assert_eq!(r.pause.unwrap().0, 85_423_000);
    }
}
