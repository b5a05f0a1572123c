//! Numbers as GC logs print them.

use super::record::{KIB, MIB};

/// Leading decimal digits of `s` and the rest; `None` without a digit or on overflow.
pub fn digits(s: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0u64;
    let mut at = 0;
    while let Some(d) = s.get(at).filter(|b| b.is_ascii_digit()) {
        value = value.checked_mul(10)?.checked_add(u64::from(d - b'0'))?;
        at += 1;
    }
    (at > 0).then(|| (value, s.get(at..).unwrap_or_default()))
}

/// Leading spaces dropped.
pub fn trim(mut s: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] = s {
        s = rest;
    }
    s
}

/// A number with an optional fraction after a point or a comma, and the rest.
///
/// A comma counts only when a digit follows, so `12, 3` stops after 12.
pub fn decimal(s: &[u8]) -> Option<(f64, &[u8])> {
    let (whole, rest) = digits(s)?;
    if let [b'.' | b',', tail @ ..] = rest
        && tail.first().is_some_and(u8::is_ascii_digit)
    {
        let end = tail
            .iter()
            .position(|b| !b.is_ascii_digit())
            .unwrap_or(tail.len());
        let fraction = tail
            .get(..end)
            .unwrap_or_default()
            .iter()
            .rev()
            .fold(0.0, |acc, d| (acc + f64::from(d - b'0')) / 10.0);
        return Some((whole as f64 + fraction, tail.get(end..).unwrap_or_default()));
    }
    Some((whole as f64, rest))
}

/// A size with its unit (`409M`, `512.0K`, `0.0B`, `335141K`) in bytes, whether it is in KiB or finer
/// without rounding, and the rest. A bare number is bytes.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are non-negative and floats saturate on conversion"
)]
pub fn size(s: &[u8]) -> Option<(u64, bool, &[u8])> {
    let (value, rest) = decimal(s)?;
    let (unit, fine, rest) = match rest {
        [b'B', rest @ ..] => (1, true, rest),
        [b'K', rest @ ..] => (KIB, true, rest),
        [b'M', rest @ ..] => (MIB, false, rest),
        [b'G', rest @ ..] => (1024 * MIB, false, rest),
        [b'T', rest @ ..] => (1024 * 1024 * MIB, false, rest),
        _ => (1, true, rest),
    };
    let bytes = value * unit as f64;
    Some((bytes.round() as u64, fine, rest))
}

/// `prefix` dropped from `s`, or `None`.
pub fn after<'a>(s: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    s.strip_prefix(prefix)
}

/// What follows the first `needle` in `s`.
pub fn past<'a>(s: &'a [u8], needle: &[u8]) -> Option<&'a [u8]> {
    let at = find(s, needle)?;
    s.get(at + needle.len()..)
}

/// Where `needle` first occurs in `s`.
pub fn find(s: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(s, needle)
}

/// Days from 1970-01-01 to a civil date (proleptic Gregorian).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y - era * 400;
    let doy = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    era * 146_097 + doe - 719_468
}

/// A timestamp like `2023-04-23T16:28:31.108+0800` as (nanoseconds since 1970 UTC, minutes east of UTC,
/// rest); a comma before the milliseconds and a missing offset are accepted.
pub fn datetime(s: &[u8]) -> Option<(i64, Option<i16>, &[u8])> {
    let (year, rest) = digits(s).filter(|(y, _)| (1970..=9999).contains(y))?;
    let (month, rest) = digits(after(rest, b"-")?).filter(|(m, _)| (1..=12).contains(m))?;
    let (day, rest) = digits(after(rest, b"-")?).filter(|(d, _)| (1..=31).contains(d))?;
    let (hour, rest) = digits(after(rest, b"T")?).filter(|(h, _)| *h < 24)?;
    let (minute, rest) = digits(after(rest, b":")?).filter(|(m, _)| *m < 60)?;
    let (second, rest) = decimal(after(rest, b":")?).filter(|(s, _)| *s < 61.0)?;
    let (offset, rest) = match rest {
        [sign @ (b'+' | b'-'), a, b, c, d, rest @ ..]
            if [a, b, c, d].iter().all(|x| x.is_ascii_digit()) =>
        {
            let n = |x: &u8| i16::from(x - b'0');
            let minutes = (n(a) * 10 + n(b)) * 60 + n(c) * 10 + n(d);
            (Some(if *sign == b'-' { -minutes } else { minutes }), rest)
        }
        [b'Z', rest @ ..] => (Some(0), rest),
        _ => (None, rest),
    };
    let day_count = days(
        i64::try_from(year).ok()?,
        i64::try_from(month).ok()?,
        i64::try_from(day).ok()?,
    );
    let seconds = day_count * 86_400 + i64::try_from(hour * 3600 + minute * 60).ok()?
        - i64::from(offset.unwrap_or(0)) * 60;
    #[allow(clippy::cast_possible_truncation, reason = "below 61e9")]
    let fraction = (second * 1e3).round() as i64 * 1_000_000;
    Some((seconds * 1_000_000_000 + fraction, offset, rest))
}

/// A wall-clock instant in RFC 3339 with nanoseconds, in its own offset.
pub fn rfc3339(ns: i64, offset_min: Option<i16>) -> String {
    let offset = i64::from(offset_min.unwrap_or(0));
    let local = ns.saturating_add(offset * 60 * 1_000_000_000);
    let secs = local.div_euclid(1_000_000_000);
    let nanos = local.rem_euclid(1_000_000_000);
    let (day, sod) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    let z = day + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let d = doy - (153 * mp + 2) / 5 + 1;
    let m = if mp < 10 { mp + 3 } else { mp - 9 };
    let y = yoe + era * 400 + i64::from(m <= 2);
    let zone = if offset == 0 {
        "Z".to_owned()
    } else {
        let sign = if offset < 0 { '-' } else { '+' };
        format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60)
    };
    format!(
        "{y:04}-{m:02}-{d:02}T{:02}:{:02}:{:02}.{nanos:09}{zone}",
        sod / 3600,
        sod / 60 % 60,
        sod % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_carry_units_and_say_whether_they_are_fine() {
        assert_eq!(size(b"409M->"), Some((409 << 20, false, &b"->"[..])));
        assert_eq!(size(b"518,9M("), Some((544_106_086, false, &b"("[..])));
        assert_eq!(size(b"0.0B"), Some((0, true, &b""[..])));
        assert_eq!(size(b"335141K"), Some((335_141 << 10, true, &b""[..])));
        assert_eq!(size(b"K"), None);
    }

    #[test]
    fn a_decimal_comma_needs_a_digit_behind_it() {
        assert_eq!(decimal(b"0,25 s").map(|d| d.0), Some(0.25));
        assert_eq!(decimal(b"12, 3").map(|d| d.0), Some(12.0));
    }

    #[test]
    fn timestamps_round_trip_with_their_offset() {
        let (ns, off, rest) = datetime(b"2023-04-23T16:28:31.108+0800: x").unwrap();
        assert_eq!(rest, b": x");
        assert_eq!(rfc3339(ns, off), "2023-04-23T16:28:31.108000000+08:00");
        assert_eq!(rfc3339(ns, None), "2023-04-23T08:28:31.108000000Z");
        let (ns, off, _) = datetime(b"2014-06-18T11:24:16,819+0200").unwrap();
        assert_eq!(rfc3339(ns, off), "2014-06-18T11:24:16.819000000+02:00");
        assert_eq!(datetime(b"2014-06-16T0,959: "), None);
    }
}
