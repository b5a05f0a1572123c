//! Values of options: sizes, times, numbers, words. `None` means "not such a value or out of range".

use std::time::Duration;

/// A size in bytes within `min..=max`: a whole number, with k, m or g for powers of 1,024.
pub(super) fn size(text: &str, min: u64, max: u64) -> Option<u64> {
    let (number, unit) = split_unit(text);
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1 << 10,
        "m" | "mb" => 1 << 20,
        "g" | "gb" => 1 << 30,
        _ => return None,
    };
    let bytes = digits(number)?.checked_mul(scale)?;
    (min..=max).contains(&bytes).then_some(bytes)
}

/// A time: a whole number with ms, s, m or h; a bare 0 needs no unit.
pub(super) fn time(text: &str) -> Option<Duration> {
    let (number, unit) = split_unit(text);
    let count = digits(number)?;
    let millis = match unit.to_ascii_lowercase().as_str() {
        "" if count == 0 => 0,
        "ms" => count,
        "s" => count.checked_mul(1_000)?,
        "m" => count.checked_mul(60_000)?,
        "h" => count.checked_mul(3_600_000)?,
        _ => return None,
    };
    Some(Duration::from_millis(millis))
}

/// A whole number within `min..=max`.
pub(super) fn whole<T: TryFrom<u64>>(text: &str, min: u64, max: u64) -> Option<T> {
    let number = digits(text)?;
    (min..=max)
        .contains(&number)
        .then_some(number)
        .and_then(|n| T::try_from(n).ok())
}

/// A decimal number within `min..=max`.
pub(super) fn ratio(text: &str, min: f64, max: f64) -> Option<f64> {
    // Only plain decimals: no sign, exponent, "inf" or "nan".
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    (min..=max).contains(&number).then_some(number)
}

/// A percentage within `min..=max`, with or without its sign.
pub(super) fn percent(text: &str, min: f64, max: f64) -> Option<f64> {
    ratio(text.strip_suffix('%').unwrap_or(text), min, max)
}

/// `on` or `off`.
pub(super) fn flag(text: &str) -> Option<bool> {
    one_of(text, &[("on", true), ("off", false)])
}

/// One of a list of words.
pub(super) fn one_of<T: Copy>(text: &str, known: &[(&str, T)]) -> Option<T> {
    known
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value)
}

fn split_unit(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

fn digits(text: &str) -> Option<u64> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}
