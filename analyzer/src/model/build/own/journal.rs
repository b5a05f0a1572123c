//! Heap use after collections out of the core's journal: every collection that the core was told of.
//!
//! `jfrchains.HeapFloor` is written with a projection only, too rarely for a picture.

use jfr_format::schema::events as own;
use serde::Deserialize;

use super::super::source::nanos;
use super::before;
use crate::model::{EpochNanos, FloorPoint, Nanos};

/// One line of a journal, as far as it is about a collection.
#[derive(Deserialize)]
struct Line {
    /// Engine time in milliseconds.
    t: u64,
    fact: Fact,
}

#[derive(Deserialize)]
struct Fact {
    gc: Collection,
}

#[derive(Deserialize)]
struct Collection {
    used_after_gc: Option<u64>,
    max_heap: Option<u64>,
}

/// The collections in `input`, which was recorded `at`; lines of another form are passed over.
pub fn floor(input: &own::CoreInput, at: EpochNanos) -> impl Iterator<Item = FloorPoint> {
    let told = nanos(input.at);
    input
        .text
        .lines()
        .filter(|line| line.contains("\"gc\":{"))
        .filter_map(move |line| {
            let line: Line = serde_json::from_str(line).ok()?;
            let ago = told.0.saturating_sub(line.t.saturating_mul(1_000_000));
            Some(FloorPoint {
                time: before(at, Nanos(ago)),
                used_bytes: line.fact.gc.used_after_gc?,
                max_bytes: line.fact.gc.max_heap,
                jvm: 0,
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_of_a_journal_have_their_own_time_and_other_lines_are_passed_over() {
        let input = own::CoreInput {
            at: jfr_format::schema::Nanos(5_000_000_000),
            text: "{\"t\":4000,\"fact\":{\"gc\":{\"epoch\":1,\"used_after_gc\":7,\"max_heap\":9}}}\n\
                   {\"t\":4500,\"fact\":\"swept\"}\n{\"t\":4600,\"fact\":{\"gc\":{\"used_after_gc\":null}}}\n\
                   {\"gc\":{ cut"
                .to_owned(),
            ..own::CoreInput::default()
        };
        let points: Vec<FloorPoint> = floor(&input, EpochNanos::new(100_000_000_000)).collect();
        assert_eq!(
            points,
            [FloorPoint {
                time: EpochNanos::new(99_000_000_000),
                used_bytes: 7,
                max_bytes: Some(9),
                jvm: 0
            }]
        );
    }
}
