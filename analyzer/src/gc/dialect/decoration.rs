//! The bracketed groups before a unified-logging message, present, absent or partial.

use crate::gc::num;
use crate::gc::record::{Nanos, Stamp};

/// What the groups say that matters here.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Decorations {
    /// When the line was written.
    pub at: Stamp,
    /// Process, only where both pid and tid are printed: a lone number may be either.
    pub pid: Option<u64>,
}

/// Splits a line into its leading groups and the message.
///
/// Groups touch each other and the message follows one space; a line without groups is all message.
pub fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while line.get(at) == Some(&b'[') {
        let Some(close) = line.get(at..).and_then(|rest| memchr::memchr(b']', rest)) else {
            break;
        };
        at += close + 1;
    }
    let (groups, rest) = line.split_at_checked(at).unwrap_or((line, b""));
    (groups, num::after(rest, b" ").unwrap_or(rest))
}

/// Reads the groups; unknown ones are passed over.
pub fn parse(mut groups: &[u8]) -> Decorations {
    let mut out = Decorations::default();
    let mut lone: Option<u64> = None;
    while let Some(inner) = num::after(groups, b"[") {
        let end = memchr::memchr(b']', inner).unwrap_or(inner.len());
        let (group, rest) = inner.split_at_checked(end).unwrap_or((inner, b""));
        group_into(num::trim(group), &mut out, &mut lone);
        groups = rest.get(1..).unwrap_or_default();
    }
    out
}

fn group_into(group: &[u8], out: &mut Decorations, lone: &mut Option<u64>) {
    if !group.first().is_some_and(u8::is_ascii_digit) {
        return;
    }
    if let Some((ns, offset, b"")) = num::datetime(group) {
        out.at.wall = out.at.wall.or(Some(ns));
        out.at.offset_min = out.at.offset_min.or(offset);
        return;
    }
    let Some((value, unit)) = num::decimal(group) else {
        return;
    };
    // Epoch milliseconds and nanoseconds share their units with uptime; nobody's JVM is up for 30 years.
    const EPOCH_SECS: f64 = 9.5e8;
    match unit {
        b"s" => out.at.uptime = Some(Nanos::from_secs(value)),
        b"ms" if value / 1e3 > EPOCH_SECS => wall(out, group, 1_000_000),
        b"ms" => uptime(out, Nanos::from_millis(value)),
        b"ns" if value / 1e9 > EPOCH_SECS => wall(out, group, 1),
        b"ns" => uptime(out, Nanos::from_secs(value / 1e9)),
        b"" => match lone.take() {
            None => *lone = num::digits(group).map(|d| d.0),
            Some(pid) => out.pid = Some(pid),
        },
        _ => {}
    }
}

fn uptime(out: &mut Decorations, at: Nanos) {
    out.at.uptime = out.at.uptime.or(Some(at));
}

/// Whole units only: an epoch in nanoseconds does not fit a float.
fn wall(out: &mut Decorations, group: &[u8], unit_ns: i64) {
    let ns = num::digits(group)
        .and_then(|(units, _)| i64::try_from(units).ok())
        .and_then(|units| units.checked_mul(unit_ns));
    out.at.wall = out.at.wall.or(ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_may_be_present_absent_or_partial() {
        let line = b"[2026-11-30T06:33:50.251+0000][0.010s][info][gc] Using G1";
        let (groups, msg) = split(line);
        assert_eq!(msg, b"Using G1");
        let d = parse(groups);
        assert_eq!(d.at.uptime, Some(Nanos(10_000_000)));
        assert_eq!(d.at.offset_min, Some(0));
        assert_eq!(
            split(b"GC(0) Age table:"),
            (&b""[..], &b"GC(0) Age table:"[..])
        );
        let (groups, msg) = split(b"[info ][gc,heap     ] GC(0) Eden regions: 60->0(52)");
        assert_eq!(msg, b"GC(0) Eden regions: 60->0(52)");
        assert_eq!(parse(groups), Decorations::default());
    }

    #[test]
    fn a_lone_number_is_not_a_process() {
        assert_eq!(parse(b"[0.1s][4242][info]").pid, None);
        assert_eq!(parse(b"[0.1s][4242][4243][info]").pid, Some(4242));
    }

    #[test]
    fn epoch_milliseconds_are_not_uptime() {
        let d = parse(b"[1668080249443ms][17ms]");
        assert_eq!(d.at.uptime, Some(Nanos(17_000_000)));
        assert_eq!(d.at.wall, Some(1_668_080_249_443_000_000));
    }
}
