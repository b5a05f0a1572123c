//! The words of a pause line: its title, kind, cause, sizes and time.

use super::super::transition;
use crate::gc::num;
use crate::gc::record::{Change, Collection, Kind, Nanos};

/// Sets kind, title and the JVM's cause.
pub fn name(r: &mut Collection, kind: Kind, title: &[u8]) {
    let text = String::from_utf8_lossy(title);
    r.gc_cause = text
        .rsplit_once(" (")
        .map(|(head, last)| match last {
            l if l.starts_with("Evacuation Failure") => {
                head.rsplit_once(" (").map_or(head, |(_, c)| c)
            }
            l => l,
        })
        .map(|c| c.trim_end_matches(')').into());
    r.title = Some(text.into());
    r.kind = kind;
}

/// The kind of pause that a title names; `None` for pauses that collect nothing.
pub fn pause_kind(title: &[u8]) -> Option<Kind> {
    if let Some(rest) = num::after(title, b"Pause Young") {
        return Some(if num::find(rest, b"(Mixed)").is_some() {
            Kind::Mixed
        } else if num::find(rest, b"(Concurrent Start)").is_some()
            || num::find(rest, b"(Concurrent Mark Start)").is_some()
        {
            Kind::ConcurrentStart
        } else if num::find(rest, b"(Prepare Mixed)").is_some() {
            Kind::PrepareMixed
        } else {
            Kind::Young
        });
    }
    // JDK 9 and 10 G1 call two young pauses by other names.
    if title.starts_with(b"Pause Mixed") {
        return Some(Kind::Mixed);
    }
    if title.starts_with(b"Pause Initial Mark (G1")
        || title.starts_with(b"Pause Initial Mark (Meta")
    {
        return Some(Kind::ConcurrentStart);
    }
    title.starts_with(b"Pause Full").then_some(Kind::Full)
}

/// Splits `Title 64M->32M(1200M) 4.2ms` into title and result; a line without one is all title.
pub fn split_result(rest: &[u8]) -> (&[u8], Option<(Change, bool, Nanos)>) {
    let Some(arrow) = num::find(rest, b"->") else {
        return (rest, None);
    };
    let start = rest
        .get(..arrow)
        .and_then(|head| head.iter().rposition(|b| *b == b' '));
    let parsed = start.and_then(|start| {
        let (title, tail) = rest.split_at_checked(start)?;
        let (heap, fine, after) = transition(num::trim(tail))?;
        let (ms, unit) = num::decimal(num::trim(after))?;
        num::after(unit, b"ms")?;
        Some((title, (heap, fine, Nanos::from_millis(ms))))
    });
    match parsed {
        Some((title, result)) => (title, Some(result)),
        None => (rest, None),
    }
}

/// `Title 1.234ms`: where the number starts, and the time.
pub fn trailing_millis(rest: &[u8]) -> Option<(usize, Nanos)> {
    let start = rest.iter().rposition(|b| *b == b' ')? + 1;
    let (ms, unit) = num::decimal(rest.get(start..)?)?;
    (unit == b"ms").then(|| (start, Nanos::from_millis(ms)))
}
