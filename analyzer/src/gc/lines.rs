//! Feeds a log to its dialect, line by line, in bounded memory.

use std::io::{self, BufRead};

use super::diag::Problem;
use super::dialect::{self, LineParser};
use super::intake::Intake;

/// Longest line handed on whole, in bytes; the rest of a longer one is skipped.
const MAX_LINE: usize = 1024 * 1024;
/// Lines looked at before a file counts as no GC log. Application output often comes first.
const DETECT_LINES: u64 = 200_000;

/// Reads `input` to its end; `progress` hears the bytes taken so far.
///
/// Returns false when nothing in it looks like a GC log.
pub fn read(
    mut input: impl BufRead,
    out: &mut Intake,
    progress: &mut dyn FnMut(u64),
) -> io::Result<bool> {
    let mut feed = Feed::default();
    let mut carry: Vec<u8> = Vec::new();
    let mut skipping = false;
    let mut bytes = 0u64;
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        let taken = buffer.len();
        let mut rest = buffer;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let (line, tail) = rest.split_at_checked(at).unwrap_or((rest, b""));
            rest = tail.get(1..).unwrap_or_default();
            if skipping {
                skipping = false;
                feed.number += 1;
            } else if carry.is_empty() {
                feed.line(line, out);
            } else {
                carry.extend_from_slice(line);
                feed.line(&carry, out);
                carry.clear();
            }
        }
        if !skipping {
            carry.extend_from_slice(rest);
        }
        if carry.len() > MAX_LINE {
            out.problem(
                Problem::LineTooLong,
                feed.number + 1,
                format!("a line longer than {MAX_LINE} bytes"),
            );
            carry.clear();
            carry.shrink_to(64 * 1024);
            skipping = true;
        }
        input.consume(taken);
        bytes += taken as u64;
        progress(bytes);
        if feed.hopeless() {
            break;
        }
    }
    if !carry.is_empty() && !skipping {
        feed.line(&carry, out);
    }
    if let Some(parser) = feed.parser.as_mut() {
        parser.end(out);
    }
    Ok(feed.parser.is_some())
}

#[derive(Default)]
struct Feed {
    parser: Option<Box<dyn LineParser>>,
    number: u64,
}

impl Feed {
    fn line(&mut self, line: &[u8], out: &mut Intake) {
        self.number += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.parser.is_none() {
            self.parser = dialect::detect(line);
        }
        if let Some(parser) = self.parser.as_mut() {
            parser.line(line, self.number, out);
        }
    }

    fn hopeless(&self) -> bool {
        self.parser.is_none() && self.number > DETECT_LINES
    }
}
