//! The example's reader: what it prints for a recorded minute, and for the lines of the documentation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use chain_core::sim::trace::{demo, trace};

fn traced(input: &str) -> String {
    let mut out = Vec::new();
    trace(input.as_bytes(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_recorded_minute_is_decided_as_it_was() {
    let mut journal = Vec::new();
    demo(&mut journal).unwrap();
    let out = traced(&String::from_utf8(journal).unwrap());
    assert!(
        !out.lines().any(|l| l.starts_with('!')),
        "no answer differs"
    );
    for expected in [
        "\"decision\":\"run\"",
        "\"decision\":\"release\"",
        "search_started",
        "search_ended",
    ] {
        assert!(out.contains(expected), "no {expected}\n{out}");
    }
}

#[test]
fn an_answer_that_differs_is_marked() {
    let line = r#"{"t":1000,"poll":{"decision":"run","edges":7}}"#;
    let out = traced(line);
    assert!(out.starts_with("! "), "{out}");
    assert!(out.contains("\"replayed\""), "{out}");
}

#[test]
fn a_line_that_is_none_is_named() {
    let mut out = Vec::new();
    let error = trace("# a comment\n\n{\"t\":1}\n".as_bytes(), &mut out).unwrap_err();
    assert!(error.to_string().starts_with("line 3: "), "{error}");
}

#[test]
fn an_option_that_does_not_exist_is_named_not_passed_over() {
    let refused = |config: &str| {
        let line = format!("{{\"t\":0,\"config\":{config}}}\n");
        trace(line.as_bytes(), &mut Vec::new()).map_err(|error| error.to_string())
    };
    assert_eq!(
        refused(r#"{"cpucap":5}"#),
        Err("line 1: cpucap: no such option".to_owned())
    );
    assert_eq!(refused(r#"{"cpu_cap":5}"#), Ok(()));
    assert_eq!(refused("{}"), Ok(()));
}

/// The documentation's input and output are what the reader really takes and prints.
#[test]
fn the_documented_trace_is_what_is_printed() {
    let page = include_str!("../../docs/core-trace.md");
    let mut blocks = page.split("```").skip(1).step_by(2);
    let block = |b: Option<&'static str>| b.unwrap().split_once('\n').unwrap().1;
    let (input, output) = (blocks.next(), blocks.next());
    let printed = traced(block(input));
    let actions: Vec<&str> = printed
        .lines()
        .filter(|l| l.contains("\"action\""))
        .collect();
    assert_eq!(actions.join("\n"), block(output).trim());
}
