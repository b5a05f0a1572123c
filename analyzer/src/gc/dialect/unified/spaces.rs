//! The detail lines of a collection: CPU times, spaces, regions, allocation buffers, thresholds.

use super::super::transition;
use crate::gc::intake::Intake;
use crate::gc::num;
use crate::gc::record::{Collection, Collector, Nanos, Promoted, RegionChange};

/// `User=0.01s Sys=0.08s Real=0.10s`.
pub fn cpu(rest: &[u8], r: &mut Collection) {
    let read =
        |key: &[u8]| num::decimal(num::past(rest, key)?).map(|(secs, _)| Nanos::from_secs(secs));
    r.user = read(b"User=");
    r.sys = read(b"Sys=");
    r.real = read(b"Real=");
}

/// Sizes of spaces and regions, allocation buffers, thresholds of the concurrent collectors.
pub fn space(rest: &[u8], r: &mut Collection, out: &mut Intake) {
    let Some(colon) = memchr::memchr(b':', rest) else {
        if num::after(rest, b"To-space exhausted").is_some() {
            r.evacuation_failed = true;
        } else if rest.starts_with(b"Promotion failed") || rest.starts_with(b"promotion failed") {
            note_promotion_failed(r);
        } else if let Some(t) = num::after(rest, b"New tenuring threshold ")
            && let Some((t, _)) = num::digits(t)
        {
            r.threshold_printed = u8::try_from(t).ok();
        }
        return;
    };
    let (label, tail) = rest.split_at_checked(colon).unwrap_or((rest, b""));
    let tail = tail.get(1..).unwrap_or_default();
    match label {
        b"DefNew" | b"ParNew" | b"PSYoungGen" => {
            if r.collector == Collector::Unknown {
                r.collector = match label {
                    b"DefNew" => Collector::Serial,
                    b"ParNew" => Collector::ParNew,
                    _ => Collector::Parallel,
                };
            }
            if let Some((change, _, _)) = transition(tail) {
                r.young = Some(change);
            }
            if let Some((change, _, _)) = num::past(tail, b"From:").and_then(transition) {
                r.survivor_cap = change.cap;
                r.survivor = Some(change);
            }
        }
        b"Tenured" | b"CMS" | b"ParOldGen" | b"PSOldGen" => {
            if let Some((change, _, _)) = transition(tail) {
                r.old = Some(change);
            }
        }
        b"Eden regions" | b"Survivor regions" | b"Old regions" | b"Humongous regions" => {
            if r.collector == Collector::Unknown {
                r.collector = Collector::G1;
            }
            let change = region_change(tail);
            match label.first() {
                Some(b'E') => r.regions.eden = change,
                Some(b'S') => r.regions.survivor = change,
                Some(b'O') => r.regions.old = change,
                _ => r.regions.humongous = change,
            }
        }
        b"Old PLAB allocation" => {
            let plab = r.plab.get_or_insert_default();
            plab.used = keyed(tail, b" used: ");
        }
        b"Old other allocation" => {
            let plab = r.plab.get_or_insert_default();
            plab.direct = keyed(tail, b" direct allocated: ");
            plab.failed = keyed(tail, b"failure used: ").unwrap_or(0);
            out.facts().saw_plab = true;
        }
        b"Y" | b"y" => {
            let tail = num::trim(tail);
            if let Some(t) = num::after(tail, b"Using tenuring threshold: ") {
                r.threshold_used = num::digits(t).and_then(|(t, _)| u8::try_from(t).ok());
            } else if let Some(columns) = num::after(tail, b"Promoted:") {
                // The last column is the end of relocation, in whole megabytes.
                let last = columns
                    .split(|b| *b == b' ')
                    .rfind(|w| w.first().is_some_and(u8::is_ascii_digit));
                if let Some((bytes, _, _)) = last.and_then(num::size) {
                    r.promoted = Promoted::Approximate(i64::try_from(bytes).unwrap_or(i64::MAX));
                }
            }
        }
        _ if label.starts_with(b"Promotion failed") => note_promotion_failed(r),
        _ => {}
    }
}

/// Shenandoah prints the words for single objects that simply stay young.
fn note_promotion_failed(r: &mut Collection) {
    r.promotion_failed |= r.collector != Collector::Shenandoah;
}

/// `60->0(52)`.
fn region_change(tail: &[u8]) -> Option<RegionChange> {
    let (before, rest) = num::digits(num::trim(tail))?;
    let (after, rest) = num::digits(num::after(rest, b"->")?)?;
    let limit = num::after(rest, b"(")
        .and_then(num::digits)
        .map(|(limit, _)| limit);
    Some(RegionChange {
        before,
        after,
        limit,
    })
}

fn keyed(tail: &[u8], key: &[u8]) -> Option<u64> {
    num::size(num::past(tail, key)?).map(|(bytes, _, _)| bytes)
}
