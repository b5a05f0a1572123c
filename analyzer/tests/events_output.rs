//! What `events` and `summary` write for a recording made byte by byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod chunks;

use std::path::PathBuf;

use chunks::*;
use jfr_chains_analyzer::events::{EventsArgs, Format, run};
use jfr_chains_analyzer::summary::{self, Readable, SummaryArgs};

const THREAD: i64 = 30;
const CLASS: i64 = 31;
const SYMBOL: i64 = 32;

/// Two types, two threads, eight events, and a ninth that is cut off.
fn file() -> tempfile::NamedTempFile {
    let mut chunk = ChunkSpec::new()
        .simple(SYMBOL, "jdk.types.Symbol", field("string", STRING))
        .class(CLASS, "java.lang.Class", &[pooled("name", SYMBOL)])
        .class(
            THREAD,
            "java.lang.Thread",
            &[field("javaName", STRING), field("javaThreadId", LONG)],
        )
        .event_type(
            100,
            "test.Kept",
            &[
                pooled("eventThread", THREAD),
                pooled("kind", CLASS),
                field("text", STRING),
            ],
        )
        .event_type(101, "test.Other", &[field("number", INT)])
        .metadata()
        .checkpoint(&[
            (SYMBOL, &[(1, Bytes::new().text("[Ljava/util/Map;"))]),
            (CLASS, &[(1, Bytes::new().long(1))]),
            (
                THREAD,
                &[
                    (1, Bytes::new().text("main").long(1)),
                    (2, Bytes::new().text("other").long(2)),
                ],
            ),
        ]);
    // Not in the order of time.
    for second in [3, 1, 2, 0] {
        let thread = 1 + second % 2;
        let value = Bytes::new()
            .long(thread)
            .long(1)
            .text(&format!("say, {second}\u{1b}[2J"));
        chunk = chunk.event(100, second * 1_000_000_000, value);
        chunk = chunk.event(
            101,
            second,
            Bytes::new().int(i32::try_from(second).unwrap()),
        );
    }
    let bytes = chunk.event(101, 9, Bytes::new().int(9)).build();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes[..bytes.len() - 3]).unwrap();
    file
}

fn arguments(path: PathBuf, types: &[&str], format: Format) -> EventsArgs {
    EventsArgs {
        files: vec![path],
        types: types.iter().map(|name| (*name).to_owned()).collect(),
        from: None,
        to: None,
        thread: None,
        limit: None,
        stack_depth: 64,
        raw: false,
        format,
    }
}

fn written(args: &EventsArgs) -> (bool, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let readable = run(args, &mut out, &mut err).unwrap();
    (
        readable == Readable::All,
        String::from_utf8(out).unwrap(),
        String::from_utf8(err).unwrap(),
    )
}

#[test]
fn text_is_in_the_order_of_time_and_harmless_to_a_terminal() {
    let file = file();
    let (complete, out, err) =
        written(&arguments(file.path().into(), &["test.Kept"], Format::Text));
    assert!(complete);
    let first = "test.Kept {
  startTime = 2023-11-14T22:13:20.000000000Z
  eventThread = main
  kind = java.util.Map[]
  text = \"say, 0\\u{1b}[2J\"
}
";
    assert!(out.starts_with(first), "{out}");
    assert_eq!(out.matches("test.Kept {").count(), 4);
    assert!(!out.contains('\u{1b}'));
    assert!(
        err.contains("chunk 0, offset") && err.contains("the chunk is cut off"),
        "{err}"
    );
}

#[test]
fn json_says_type_place_time_fields_and_what_was_skipped() {
    let file = file();
    let (_, out, _) = written(&arguments(file.path().into(), &["Kept"], Format::Json));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["schema"], "jfr-chains/events/1");
    let events = json["events"].as_array().unwrap();
    assert_eq!(events.len(), 4);
    assert_eq!(events[3]["time"], "2023-11-14T22:13:23.000000000Z");
    assert_eq!(events[3]["fields"]["eventThread"], "other");
    assert_eq!(events[3]["fields"]["text"], "say, 3\u{1b}[2J");
    assert_eq!(json["skipped"].as_array().unwrap().len(), 2);
}

#[test]
fn a_type_that_is_not_there_is_said() {
    let file = file();
    let said = |types: &[&str]| written(&arguments(file.path().into(), types, Format::Json)).2;
    let err = said(&["Kept", "Kepd", "test.O*"]);
    assert_eq!(err.matches("no event type is named").count(), 1, "{err}");
    assert!(err.contains("named Kepd: jfr-chains summary"), "{err}");
    assert!(!said(&[]).contains("no event type"));
}

#[test]
fn csv_holds_one_type() {
    let file = file();
    let (_, out, _) = written(&arguments(file.path().into(), &["test.Other"], Format::Csv));
    assert!(
        out.starts_with("startTime,number\n2023-11-14T22:13:20.000000000Z,0\n"),
        "{out}"
    );
    let both = arguments(file.path().into(), &[], Format::Csv);
    let error = run(&both, &mut Vec::new(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("CSV holds one event type"));
    let (_, out, _) = written(&arguments(file.path().into(), &["test.Kept"], Format::Csv));
    assert!(
        out.lines()
            .nth(1)
            .unwrap()
            .ends_with("main,java.util.Map[],\"say, 0\u{1b}[2J\""),
        "{out}"
    );
}

#[test]
fn time_thread_and_limit_narrow_the_events() {
    let file = file();
    let count = |change: &dyn Fn(&mut EventsArgs)| {
        let mut args = arguments(file.path().into(), &["test.Kept"], Format::Text);
        change(&mut args);
        written(&args).1.matches("test.Kept {").count()
    };
    let at = |second: u32| Some(format!("2023-11-14T22:13:2{second}Z"));
    assert_eq!(count(&|args| args.from = at(1)), 3);
    assert_eq!(count(&|args| (args.from, args.to) = (at(1), at(3))), 2);
    assert_eq!(count(&|args| args.thread = Some("ma*".to_owned())), 2);
    assert_eq!(count(&|args| args.thread = Some("2".to_owned())), 2);
    assert_eq!(count(&|args| args.limit = Some(1)), 1);
    assert_eq!(count(&|args| args.types = vec!["*.Nothing".to_owned()]), 0);
}

#[test]
fn filters_that_no_event_can_pass_are_wrong_usage() {
    let file = file();
    let refused = |change: &dyn Fn(&mut EventsArgs)| {
        let mut args = arguments(file.path().into(), &[], Format::Text);
        change(&mut args);
        let error = run(&args, &mut Vec::new(), &mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        error.to_string()
    };
    let moment = || Some("2023-11-14T22:13:21Z".to_owned());
    let said = refused(&|args| (args.from, args.to) = (moment(), moment()));
    assert!(said.starts_with("--from is not before --to"), "{said}");
    assert!(refused(&|args| args.from = Some("now".to_owned())).starts_with("--from now: "));
    assert!(refused(&|args| args.types = vec![String::new()]).starts_with("--type: "));
}

#[test]
fn a_file_whose_events_have_no_types_is_unreadable() {
    let bytes = ChunkSpec::new().build();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes[..68]).unwrap();
    let (complete, _, err) = written(&arguments(file.path().into(), &[], Format::Text));
    assert!(!complete);
    assert!(err.contains("no chunk says what its events are"), "{err}");
}

#[test]
fn the_summary_counts_types_and_names_files_that_do_not_open() {
    let file = file();
    let args = |format| SummaryArgs {
        files: vec![file.path().into(), "no-such.jfr".into()],
        format,
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let readable = summary::run(&args(summary::Format::Csv), &mut out, &mut err).unwrap();
    assert_eq!(readable, Readable::Some);
    let out = String::from_utf8(out).unwrap();
    assert!(out.starts_with("type,events,bytes\ntest.Kept,4,"), "{out}");
    let err = String::from_utf8(err).unwrap();
    assert!(err.starts_with("no-such.jfr: "), "{err}");
    // A table has no place for what was lost.
    assert!(err.contains("chunk 0, offset") && err.contains("the chunk is cut off"));
    let mut out = Vec::new();
    summary::run(&args(summary::Format::Json), &mut out, &mut Vec::new()).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["schema"], "jfr-chains/summary/1");
    assert_eq!(json["total"], 8);
    assert_eq!(json["events"]["test.Other"], 4);
    assert_eq!(json["chunks"][0]["version"], "2.1");
    let unreadable = json["skipped"].as_array().unwrap().last().unwrap();
    assert_eq!(unreadable["path"], "no-such.jfr");
    let what = unreadable["what"].as_str().unwrap();
    assert!(what.starts_with("No such file"), "{what}");
}

#[test]
fn samples_of_a_thread_are_its_events() {
    let chunk = ChunkSpec::new()
        .class(THREAD, "java.lang.Thread", &[field("javaName", STRING)])
        .event_type(
            100,
            "jdk.ExecutionSample",
            &[pooled("sampledThread", THREAD)],
        )
        .event_type(
            101,
            "jdk.ThreadAllocationStatistics",
            &[pooled("thread", THREAD)],
        )
        .event_type(
            102,
            "jdk.ThreadStart",
            &[pooled("eventThread", THREAD), pooled("thread", THREAD)],
        )
        .metadata()
        .checkpoint(&[(
            THREAD,
            &[
                (1, Bytes::new().text("main")),
                (2, Bytes::new().text("other")),
            ],
        )])
        .event(100, 1, Bytes::new().long(1))
        .event(100, 2, Bytes::new().long(2))
        .event(101, 3, Bytes::new().long(1))
        .event(102, 4, Bytes::new().long(2).long(1));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), chunk.build()).unwrap();
    let mut args = arguments(file.path().into(), &[], Format::Text);
    args.thread = Some("main".to_owned());
    let out = written(&args).1;
    assert_eq!(out.matches(" {\n").count(), 2, "{out}");
    assert!(!out.contains("ThreadStart"), "{out}");
}

#[test]
fn a_field_that_only_later_events_of_a_table_have_is_named() {
    let chunk = |fields: &[FieldSpec], value: Bytes| {
        ChunkSpec::new()
            .event_type(100, "test.Grown", fields)
            .metadata()
            .event(100, 1, value)
    };
    let old = chunk(&[field("a", INT)], Bytes::new().int(1)).build();
    let new = chunk(
        &[field("b", INT), field("a", INT)],
        Bytes::new().int(2).int(3),
    );
    let new = new.build_with(|header| header.start_nanos += 1);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [old, new].concat()).unwrap();
    let (complete, out, err) = written(&arguments(file.path().into(), &[], Format::Csv));
    assert!(complete);
    let cells: Vec<&str> = out
        .lines()
        .filter_map(|line| line.rsplit(',').next())
        .collect();
    assert_eq!(cells, ["a", "1", "3"]);
    assert!(err.contains("test.Grown.b has no column"), "{err}");
}

#[test]
fn constants_in_circles_end_the_event_and_not_only_the_memory() {
    const NODE: i64 = 40;
    let chunk = ChunkSpec::new()
        .class(
            NODE,
            "test.Node",
            &[pooled("left", NODE), pooled("right", NODE)],
        )
        .class(THREAD, "test.Fan", &[(("nodes"), NODE, true, true)])
        .event_type(
            100,
            "test.Tree",
            &[pooled("node", NODE), pooled("fan", THREAD)],
        )
        .metadata()
        .checkpoint(&[
            (NODE, &[(1, Bytes::new().long(1).long(1))]),
            (THREAD, &[(1, Bytes::new().int(100).raw(&[1; 100]))]),
        ])
        .event(100, 1, Bytes::new().long(1).long(1));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), chunk.build()).unwrap();
    for (format, raw) in [
        (Format::Json, false),
        (Format::Json, true),
        (Format::Text, false),
        (Format::Csv, false),
    ] {
        let mut args = arguments(file.path().into(), &[], format);
        args.raw = raw;
        let (complete, out, err) = written(&args);
        assert!(complete);
        assert!(out.len() < 32 << 20, "{} bytes", out.len());
        if format == Format::Json {
            let what = "a part of this test.Tree: it holds 65536 structures or more";
            assert!(err.contains(what), "{err}");
        }
    }
}
