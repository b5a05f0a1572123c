//! Numbers as people read them: one way to say bytes, spans, rates, counts and shares.

use crate::model::{EpochNanos, Nanos};

/// `2026-03-04 05:06:07 UTC`.
pub fn clock(at: EpochNanos) -> String {
    let text = at.to_string();
    match text.get(..19) {
        Some(seconds) if text.ends_with('Z') => format!("{} UTC", seconds.replace('T', " ")),
        _ => text,
    }
}

/// `41.3 MiB`, `512 B`; binary units, three significant digits.
#[allow(clippy::cast_precision_loss, reason = "a size for people")]
pub fn bytes(size: u64) -> String {
    scaled_bytes(size as f64)
}

/// `+41.3 MiB/h`; the sign is always there.
pub fn rate_per_hour(bytes_per_hour: f64) -> String {
    let sign = if bytes_per_hour < 0.0 { '-' } else { '+' };
    format!("{sign}{}/h", scaled_bytes(bytes_per_hour.abs()))
}

fn scaled_bytes(size: f64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = size;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or("B");
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" {
        format!("{value:.0} B")
    } else {
        format!("{} {unit}", three_digits(value))
    }
}

/// Three significant digits without an exponent.
fn three_digits(value: f64) -> String {
    if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// `2 h 5 min`, `3 min 20 s`, `12.5 s`, `1.20 ms`, `800 ns`.
pub fn span(span: Nanos) -> String {
    let seconds = span.seconds();
    let whole = span.0 / 1_000_000_000;
    match span.0 {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{} ns", span.0),
        1_000..1_000_000 => format!("{} us", trimmed(seconds * 1e6)),
        1_000_000..1_000_000_000 => format!("{} ms", trimmed(seconds * 1e3)),
        1_000_000_000..60_000_000_000 => format!("{} s", trimmed(seconds)),
        60_000_000_000..3_600_000_000_000 => two_units(whole / 60, "min", whole % 60, "s"),
        3_600_000_000_000..172_800_000_000_000 => {
            two_units(whole / 3600, "h", whole % 3600 / 60, "min")
        }
        _ => two_units(whole / 86_400, "d", whole % 86_400 / 3600, "h"),
    }
}

/// Three significant digits, without a fraction of zeros.
fn trimmed(value: f64) -> String {
    let text = three_digits(value);
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|b| b == b'0') => whole.to_owned(),
        _ => text,
    }
}

fn two_units(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

/// A span that is given in seconds, for projections; negative counts as zero.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturating float to integer is what is wanted"
)]
pub fn seconds(seconds: f64) -> String {
    span(Nanos((seconds.max(0.0) * 1e9) as u64))
}

/// `2,214`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 chunk`, `2 chunks`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `97%`; never rounds to 100% or 0% what is not.
pub fn percent(part: f64) -> String {
    let value = part * 100.0;
    if value >= 100.0 {
        "100%".to_owned()
    } else if value > 99.0 {
        format!("{:.1}%", value.min(99.9))
    } else if value <= 0.0 {
        "0%".to_owned()
    } else if value < 1.0 {
        "under 1%".to_owned()
    } else {
        format!("{value:.0}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_keep_three_digits_and_binary_units() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(43_306_189), "41.3 MiB");
        assert_eq!(bytes(u64::MAX), "16384 PiB");
        assert_eq!(rate_per_hour(-1536.0), "-1.50 KiB/h");
    }

    #[test]
    fn spans_use_the_two_units_a_person_would() {
        assert_eq!(span(Nanos(0)), "0 s");
        assert_eq!(span(Nanos(999)), "999 ns");
        assert_eq!(span(Nanos(1_200_000)), "1.20 ms");
        assert_eq!(span(Nanos(12_500_000_000)), "12.5 s");
        assert_eq!(span(Nanos(4_000_000_000)), "4 s");
        assert_eq!(span(Nanos(200_000_000_000)), "3 min 20 s");
        assert_eq!(span(Nanos(7_500_000_000_000)), "2 h 5 min");
        assert_eq!(span(Nanos(u64::MAX)), "213503 d 23 h");
    }

    #[test]
    fn a_share_below_all_is_not_called_all() {
        assert_eq!(percent(1.0), "100%");
        assert_eq!(percent(0.9999), "99.9%");
        assert_eq!(percent(0.0001), "under 1%");
        assert_eq!(percent(0.0), "0%");
        assert_eq!(percent(0.425), "42%");
    }

    #[test]
    fn clock_times_stop_at_seconds_and_name_their_zone() {
        let at = EpochNanos::new(1_700_000_000_123_456_789);
        assert_eq!(clock(at), "2023-11-14 22:13:20 UTC");
    }

    #[test]
    fn counts_have_thousands_separators() {
        assert_eq!(count(1), "1");
        assert_eq!(count(2214), "2,214");
        assert_eq!(count(1_000_000), "1,000,000");
    }
}
