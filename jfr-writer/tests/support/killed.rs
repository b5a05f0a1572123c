//! A writing process that is killed, and what it had acknowledged by then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Runs a writer until it has acknowledged `flushes` times, kills it; the last sequence that it acknowledged.
pub fn kill_after(mut writer: Command, flushes: u64) -> u64 {
    let mut child = writer.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let numbers = |line: std::io::Result<String>| line.ok()?.parse().ok();
    let mut lines = lines.map(numbers);
    let mut last = 0;
    let mut acknowledged = 0;
    while acknowledged < flushes {
        // A line of anything else is a test runner's.
        if let Some(sequence) = lines.next().expect("the writer ended") {
            last = sequence;
            acknowledged += 1;
        }
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    // What it said between our last look and its end counts too; a torn last line does not.
    for sequence in lines.flatten() {
        last = last.max(sequence);
    }
    last
}

/// Numbers without an end, the same in each run.
pub fn random() -> impl Iterator<Item = u64> {
    let next = |random: &u64| {
        let product = random.wrapping_mul(6_364_136_223_846_793_005);
        Some(product.wrapping_add(1))
    };
    std::iter::successors(Some(0x9e37_79b9_7f4a_7c15), next).skip(1)
}
