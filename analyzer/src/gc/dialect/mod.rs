//! Log dialects: one file each. A dialect turns lines into `Collection`s and judges nothing.

pub mod decoration;
pub mod g1_8;
pub mod legacy;
pub mod parallel_8;
pub mod serial_cms_8;
pub mod unified;

use super::intake::Intake;
use super::num;
use super::record::Change;

/// A dialect that reads a log line by line.
pub trait LineParser {
    /// Takes one line without its terminator; `number` counts from 1.
    fn line(&mut self, line: &[u8], number: u64, out: &mut Intake);
    /// The input ended.
    fn end(&mut self, out: &mut Intake);
}

/// Which dialect a line belongs to, or `None` when it does not tell.
pub fn detect(line: &[u8]) -> Option<Box<dyn LineParser>> {
    if unified::recognises(line) {
        return Some(Box::new(unified::Unified::default()));
    }
    legacy::recognises(line).then(|| Box::new(legacy::Legacy::default()) as Box<dyn LineParser>)
}

/// `1K->2K(3K)` or `1K(4K)->2K(3K)`: the change, whether it is in KiB or finer, and the rest.
pub fn transition(s: &[u8]) -> Option<(Change, bool, &[u8])> {
    let (before, fine, rest) = num::size(num::trim(s))?;
    let (cap_before, rest) = capacity(rest);
    let (after, fine_after, rest) = num::size(num::after(rest, b"->")?)?;
    let (cap, rest) = capacity(rest);
    let change = Change {
        before,
        after,
        cap_before,
        cap,
    };
    Some((change, fine && fine_after, rest))
}

/// `(3K)` at the front of `s`.
fn capacity(s: &[u8]) -> (Option<u64>, &[u8]) {
    let parsed = num::after(s, b"(").and_then(|inner| {
        let (bytes, _, rest) = num::size(inner)?;
        Some((bytes, num::after(rest, b")")?))
    });
    match parsed {
        Some((bytes, rest)) => (Some(bytes), rest),
        None => (None, s),
    }
}

/// `Desired survivor size N bytes, new threshold T (max M)`: desired, threshold, maximum.
///
/// Thresholds beyond a byte (none is printed) make the line unreadable.
pub fn desired(s: &[u8]) -> Option<(u64, u8, u8)> {
    let (bytes, rest) = num::digits(num::after(s, b"Desired survivor size ")?)?;
    let (threshold, rest) = num::digits(num::after(rest, b" bytes, new threshold ")?)?;
    let rest = num::after(rest, b" (max ")?;
    let rest = num::after(rest, b"threshold ").unwrap_or(rest);
    let (max, rest) = num::digits(rest)?;
    num::after(rest, b")")?;
    Some((
        bytes,
        u8::try_from(threshold).ok()?,
        u8::try_from(max).ok()?,
    ))
}

/// `- age   3:    8408040 bytes,  364894624 total`: age, bytes, running total.
pub fn age_row(s: &[u8]) -> Option<(u8, u64, u64)> {
    let (age, rest) = num::digits(num::trim(num::after(s, b"- age")?))?;
    let (bytes, rest) = num::digits(num::trim(num::after(rest, b":")?))?;
    let (total, rest) = num::digits(num::trim(num::after(rest, b" bytes,")?))?;
    num::after(rest, b" total")?;
    Some((u8::try_from(age).ok()?, bytes, total))
}

/// An age table whose rows and running totals disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spoilt;

/// An age table being read; a row that contradicts the running total spoils it.
#[derive(Debug, Default, Clone, Copy)]
pub struct AgeRows {
    table: super::record::AgeTable,
    rows: u8,
    spoilt: bool,
}

impl AgeRows {
    /// Adds a row.
    pub fn add(&mut self, (age, bytes, total): (u8, u64, u64)) {
        let sum = self.table.total().checked_add(bytes);
        if sum != Some(total) || self.table.at(age) != 0 || !self.table.set(age, bytes) {
            self.spoilt = true;
        }
        self.rows = self.rows.saturating_add(1);
    }

    /// A row that could not be read.
    pub fn spoil(&mut self) {
        self.spoilt = true;
    }

    /// The table; `None` without rows, `Err` when spoilt.
    pub fn finish(self) -> Result<Option<super::record::AgeTable>, Spoilt> {
        match (self.spoilt, self.rows) {
            (true, _) => Err(Spoilt),
            (false, 0) => Ok(None),
            (false, _) => Ok(Some(self.table)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn desired_lines_of_both_generations_of_logging_are_read() {
        let old = b"Desired survivor size 214728704 bytes, new threshold 1 (max 15)";
        let new = b"Desired survivor size 4194304 bytes, new threshold 15 (max threshold 15)";
        assert_eq!(desired(old), Some((214_728_704, 1, 15)));
        assert_eq!(desired(new), Some((4_194_304, 15, 15)));
        assert_eq!(desired(b"Desired survivor size 41943"), None);
    }

    #[test]
    fn a_row_that_contradicts_the_running_total_spoils_the_table() {
        let mut rows = AgeRows::default();
        rows.add((1, 10, 10));
        rows.add((3, 5, 99));
        assert_eq!(rows.finish(), Err(Spoilt));
        let mut rows = AgeRows::default();
        rows.add((2, 10, 30));
        assert_eq!(rows.finish(), Err(Spoilt));
    }
}
