//! What a reader must get right, rule by rule.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod chunks;

use std::io::Write;

use chunks::*;
use jfr_chains_analyzer::reader::{DecodeError, EpochNanos, ReadError, Recording, Value};
use jfr_format::header::{self, Header, State};
use jfr_format::varint;

const EVENT: i64 = 100;
const NAME: i64 = 30;

/// A chunk whose events have a pooled `name` of the simple type `Name`.
fn named() -> ChunkSpec {
    ChunkSpec::new()
        .simple(NAME, "Name", field("text", STRING))
        .event_type(EVENT, "test.Named", &[pooled("name", NAME)])
}

fn key(key: i64) -> Bytes {
    Bytes::new().long(key)
}

fn text(text: &str) -> Bytes {
    Bytes::new().text(text)
}

#[test]
fn types_and_constants_belong_to_their_chunk() {
    let one = named()
        .event(EVENT, 0, key(7))
        .checkpoint(&[(NAME, &[(7, text("one"))])]);
    // The same ids and key mean something else in the next chunk.
    let two = ChunkSpec::new()
        .class(
            NAME,
            "Other",
            &[field("first", INT), field("second", STRING)],
        )
        .event_type(
            EVENT,
            "test.Other",
            &[field("number", INT), pooled("other", NAME)],
        )
        .event(EVENT, 0, Bytes::new().int(-5).long(7))
        .checkpoint(&[(NAME, &[(7, Bytes::new().int(3).text("two"))])]);
    let mut bytes = one.build();
    bytes.extend(two.build_with(|header| header.start_nanos += 1));
    let recording = open_bytes(bytes);
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"one\"))", "None"]);
    assert_eq!(shown(&recording, "number"), ["None", "Some(Int(-5))"]);
    assert_eq!(
        shown(&recording, "other.second"),
        ["None", "Some(Text(\"two\"))"]
    );
}

#[test]
fn each_chunk_has_its_own_clock() {
    let chunk = || named().event(EVENT, 3_000, key(0));
    let mut bytes = chunk().build();
    bytes.extend(chunk().build_with(|header| {
        header.start_nanos += 5_000_000_000;
        header.ticks_per_second = 1_000;
    }));
    let recording = open_bytes(bytes);
    let starts: Vec<_> = recording
        .chunks()
        .map(|chunk| chunk.events().next().unwrap().start().unwrap())
        .collect();
    assert_eq!(
        starts,
        [
            EpochNanos(START_NANOS + 3_000),
            EpochNanos(START_NANOS + 5_000_000_000 + 3_000_000_000)
        ]
    );
}

#[test]
fn key_zero_may_be_a_real_constant() {
    let chunk = named()
        .event(EVENT, 0, key(0))
        .checkpoint(&[(NAME, &[(0, text("zero"))])]);
    assert_eq!(
        shown(&open_bytes(chunk.build()), "name"),
        ["Some(Text(\"zero\"))"]
    );
}

#[test]
fn keys_are_64_bits_and_may_be_negative() {
    let large = i64::from_be_bytes([0x7a, 1, 2, 3, 4, 5, 6, 7]);
    let chunk = named()
        .event(EVENT, 0, key(-1))
        .event(EVENT, 0, key(large))
        .event(EVENT, 0, key(large & 0xffff_ffff))
        .checkpoint(&[(NAME, &[(-1, text("minus")), (large, text("large"))])]);
    let expected = [
        "Some(Text(\"minus\"))",
        "Some(Text(\"large\"))",
        "Some(Null)",
    ];
    assert_eq!(shown(&open_bytes(chunk.build()), "name"), expected);
}

#[test]
fn missing_keys_are_null() {
    let recording = open_bytes(named().event(EVENT, 0, key(4)).build());
    assert_eq!(shown(&recording, "name"), ["Some(Null)"]);
    let chunk = recording.chunk(0).unwrap();
    let event = chunk.events().next().unwrap();
    assert_eq!(event.key_at(1), Some(4));
    assert!(chunk.constant(NAME, 4).is_null());
}

#[test]
fn the_same_pool_may_come_again() {
    let chunk = named()
        .event(EVENT, 0, key(1))
        .checkpoint(&[(NAME, &[(1, text("a"))]), (NAME, &[(2, text("b"))])])
        .event(EVENT, 0, key(2))
        .event(EVENT, 0, key(3))
        .checkpoint(&[(NAME, &[(3, text("c"))])]);
    let expected = [
        "Some(Text(\"a\"))",
        "Some(Text(\"b\"))",
        "Some(Text(\"c\"))",
    ];
    let recording = open_bytes(chunk.build());
    assert_eq!(shown(&recording, "name"), expected);
    assert_eq!(recording.chunk(0).unwrap().constant_count(), 3);
}

#[test]
fn of_duplicate_keys_the_first_checkpoint_counts_and_in_it_the_last_entry() {
    // The JDK reads checkpoints from the last to the first and overwrites; so does JMC.
    let chunk = named()
        .event(EVENT, 0, key(1))
        .checkpoint(&[(NAME, &[(1, text("early")), (1, text("early, last"))])])
        .checkpoint(&[(NAME, &[(1, text("late"))])]);
    assert_eq!(
        shown(&open_bytes(chunk.build()), "name"),
        ["Some(Text(\"early, last\"))"]
    );
}

#[test]
fn of_duplicate_type_ids_the_last_declaration_counts() {
    let chunk = ChunkSpec::new()
        .class(NAME, "First", &[field("number", INT)])
        .class(NAME, "Second", &[field("text", STRING)])
        .event_type(EVENT, "test.Inline", &[field("inner", NAME)])
        .event(EVENT, 0, text("x"));
    assert_eq!(
        shown(&open_bytes(chunk.build()), "inner.text"),
        ["Some(Text(\"x\"))"]
    );
}

#[test]
fn every_string_encoding_is_read_in_events() {
    let event = |encoded: &[u8]| Bytes::new().raw(encoded);
    let chunk = ChunkSpec::new()
        .event_type(EVENT, "test.Text", &[field("text", STRING)])
        .event(EVENT, 0, event(&[0]))
        .event(EVENT, 0, event(&[1]))
        .event(EVENT, 0, event(&[2, 9]))
        .event(EVENT, 0, event(&[2, 8]))
        .event(EVENT, 0, event(&[3, 2, 0xc3, 0xa9]))
        .event(EVENT, 0, event(&[4, 2, b'h', 0xe9, 0x01]))
        .event(EVENT, 0, event(&[5, 2, b'h', 0xe9]))
        .event(EVENT, 0, event(&[6]))
        .checkpoint(&[(STRING, &[(9, text("pooled"))])]);
    let expected = [
        "Some(Null)",
        "Some(Text(\"\"))",
        "Some(Text(\"pooled\"))",
        "Some(Null)",
        "Some(Text(\"é\"))",
        "Some(Text(\"hé\"))",
        "Some(Text(\"hé\"))",
        "None",
    ];
    assert_eq!(shown(&open_bytes(chunk.build()), "text"), expected);
}

#[test]
fn string_constants_that_point_at_themselves_are_null() {
    let chunk = ChunkSpec::new()
        .event_type(EVENT, "test.Text", &[field("text", STRING)])
        .event(EVENT, 0, Bytes::new().raw(&[2, 9]))
        .checkpoint(&[(STRING, &[(9, Bytes::new().raw(&[2, 9]))])]);
    assert_eq!(shown(&open_bytes(chunk.build()), "text"), ["Some(Null)"]);
}

#[test]
fn metadata_strings_may_be_arrays_of_characters() {
    let mut chunk = named()
        .event(EVENT, 0, key(1))
        .checkpoint(&[(NAME, &[(1, text("n"))])]);
    chunk.char_strings = true;
    let recording = open_bytes(chunk.build());
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"n\"))"]);
    assert_eq!(recording.chunk(0).unwrap().gmt_offset_millis(), 3_600_000);
}

#[test]
fn unknown_types_are_passed_over_by_their_size() {
    let chunk = named()
        .raw_event(4_711, &[0xff; 300])
        .event(EVENT, 0, key(1))
        .checkpoint(&[(NAME, &[(1, text("found"))])]);
    let recording = open_bytes(chunk.build());
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"found\"))"]);
    let lost = skipped(&recording);
    assert_eq!(
        lost,
        [
            "chunk 0, offset 68: 1 events (306 bytes) of types that the metadata does not declare: 4711"
        ]
    );
}

#[test]
fn bytes_left_over_inside_an_event_are_legal() {
    let padded = Bytes::new().long(1).raw(&[9; 5]);
    let chunk = named()
        .event(EVENT, 0, padded)
        .checkpoint(&[(NAME, &[(1, text("n"))])]);
    let recording = open_bytes(chunk.build());
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"n\"))"]);
    assert!(skipped(&recording).is_empty());
}

#[test]
fn checkpoints_over_two_to_the_28_bytes_are_read_with_their_old_padding() {
    let string_bytes = 1 << 28;
    let chunk = named().event(EVENT, 0, key(1)).metadata();
    let at = chunk.at();
    let mut head = Bytes::new()
        .long(1)
        .long(1_000)
        .long(0)
        .long(0)
        .raw(&[0])
        .long(2);
    head = head.long(NAME).long(1).long(1).text("after");
    head = head
        .long(STRING)
        .long(1)
        .long(5)
        .raw(&[5])
        .long(string_bytes);
    let size = 4 + head.0.len() + usize::try_from(string_bytes).unwrap();
    let mut bytes = chunk.build_with(|header| {
        header.size = i64::try_from(at + size).unwrap();
        header.checkpoint = i64::try_from(at).unwrap();
    });
    // As an old JVM wrote it: four bytes, the last with eight bits.
    for shift in [0, 7, 14] {
        bytes.push(u8::try_from(size >> shift & 0x7f).unwrap() | 0x80);
    }
    bytes.push(u8::try_from(size >> 21).unwrap());
    bytes.extend(head.0);
    // Untouched zeros: no memory is behind them.
    let mut whole = vec![0; at + size];
    whole[..bytes.len()].copy_from_slice(&bytes);
    let recording = open_bytes(whole);
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"after\"))"]);
    assert!(skipped(&recording).is_empty());
}

#[test]
fn types_inside_themselves_end_the_value_and_not_the_reader() {
    let chunk = ChunkSpec::new()
        .class(NAME, "Loop", &[field("again", NAME), field("number", INT)])
        .class(31, "Nothing", &[field("again", 31)])
        .event_type(EVENT, "test.Loop", &[field("loop", NAME)])
        .event_type(
            EVENT + 1,
            "test.Nothing",
            &[array("none", 31), field("number", INT)],
        )
        .event(EVENT, 0, Bytes::new().raw(&[1; 100]))
        .event(EVENT + 1, 0, Bytes::new().long(3).int(5).raw(&[0; 3]));
    let recording = open_bytes(chunk.build());
    let chunk = recording.chunk(0).unwrap();
    let events: Vec<_> = chunk.events().collect();
    assert_eq!(events[0].verify(), Err(DecodeError::TooDeep));
    assert_eq!(events[0].get("startTime").unwrap().as_i64(), Some(1_000));
    assert_eq!(events[1].get("none").unwrap().as_array().unwrap().len(), 3);
    assert_eq!(events[1].i64("number"), Some(5));
}

#[test]
fn constants_in_a_circle_are_followed_one_step_at_a_time() {
    let chunk = ChunkSpec::new()
        .class(NAME, "Node", &[pooled("next", NAME), field("number", INT)])
        .event_type(EVENT, "test.Node", &[pooled("node", NAME)])
        .event(EVENT, 0, key(1))
        .checkpoint(&[(
            NAME,
            &[
                (1, Bytes::new().long(2).int(10)),
                (2, Bytes::new().long(1).int(20)),
            ],
        )]);
    let recording = open_bytes(chunk.build());
    let chunk = recording.chunk(0).unwrap();
    let event = chunk.events().next().unwrap();
    let mut node = event.get_struct("node").unwrap();
    for step in 0..10_000 {
        assert_eq!(
            node.i64("number"),
            Some(if step % 2 == 0 { 10 } else { 20 })
        );
        node = node.get_struct("next").unwrap();
    }
    assert_eq!(node.key(), Some(1));
    // Showing it ends as well.
    assert!(format!("{node:?}").contains("Node"));
}

#[test]
fn the_header_points_at_the_newest_of_several_metadata_events() {
    let chunk = named()
        .metadata()
        .event_type(EVENT + 1, "test.Late", &[field("number", INT)])
        .event(EVENT + 1, 0, Bytes::new().int(9))
        .metadata();
    let recording = open_bytes(chunk.build());
    assert_eq!(shown(&recording, "number"), ["Some(Int(9))"]);
}

#[test]
fn an_unusable_header_is_made_up_for_by_a_scan() {
    let chunk = || {
        named()
            .event(EVENT, 0, key(1))
            .checkpoint(&[(NAME, &[(1, text("scanned"))])])
            .metadata()
            .event(EVENT, 0, key(1))
    };
    let expected = ["Some(Text(\"scanned\"))", "Some(Text(\"scanned\"))"];
    for wrong in [0, 1, 70, 1 << 40, -5] {
        let recording = open_bytes(chunk().build_with(|header| {
            header.metadata = wrong;
            header.checkpoint = wrong;
        }));
        assert_eq!(shown(&recording, "name"), expected, "offsets of {wrong}");
        assert_eq!(skipped(&recording).len(), 1, "offsets of {wrong}");
    }
    for size in [0, 1, 60, 1 << 30, i64::MAX] {
        let recording = open_bytes(chunk().build_with(|header| header.size = size));
        assert_eq!(shown(&recording, "name"), expected, "size of {size}");
        assert_eq!(skipped(&recording).len(), 1, "size of {size}");
    }
}

#[test]
fn a_header_without_a_clock_costs_the_times_and_not_the_events() {
    let chunk = || {
        named()
            .metadata()
            .event(EVENT, 0, key(1))
            .checkpoint(&[(NAME, &[(1, text("n"))])])
    };
    let wrong: [fn(&mut Header); 4] = [
        |header| header.start_nanos = 0,
        |header| header.start_nanos = i64::MIN,
        |header| header.ticks_per_second = 0,
        |header| (header.ticks_per_second, header.start_nanos) = (-1, -1),
    ];
    for change in wrong {
        let damaged = chunk().build_with(change);
        let whole = chunk().build_with(|header| header.start_nanos += 1);
        let bytes = [damaged.clone(), whole.clone(), damaged].concat();
        let recording = open_bytes(bytes);
        assert_eq!(shown(&recording, "name"), ["Some(Text(\"n\"))"; 3]);
        let said = skipped(&recording);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("chunk 0, offset 0: the header has no clock"));
        assert!(said[1].contains("chunk 2, "), "{said:?}");
    }
}

#[test]
fn minor_versions_are_ignored() {
    for minor in [0, 7, 100, u16::MAX] {
        let chunk = || {
            named()
                .event(EVENT, 0, key(1))
                .checkpoint(&[(NAME, &[(1, text("n"))])])
        };
        let first = chunk().build_with(|header| header.minor = minor);
        let second = chunk().build_with(|header| {
            header.minor = minor;
            header.start_nanos += 1;
        });
        let recording = open_bytes([first, second].concat());
        assert_eq!(shown(&recording, "name").len(), 2, "{minor}");
        assert!(skipped(&recording).is_empty());
    }
}

#[test]
fn a_header_that_is_being_rewritten_is_salvaged() {
    let chunk = named()
        .event(EVENT, 0, key(1))
        .checkpoint(&[(NAME, &[(1, text("n"))])]);
    let bytes = chunk.build_with(|header| {
        header.state = State::Updating;
        header.size = 4_000;
    });
    assert_eq!(shown(&open_bytes(bytes), "name"), ["Some(Text(\"n\"))"]);
}

#[test]
fn a_header_that_settles_while_we_look_is_read_again() {
    let chunk = named()
        .event(EVENT, 0, key(1))
        .checkpoint(&[(NAME, &[(1, text("n"))])]);
    let whole = chunk.build();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut updating = whole.clone();
    updating[header::offset::STATE] = 255;
    updating[header::offset::SIZE..header::offset::CHECKPOINT].fill(0);
    file.write_all(&updating).unwrap();
    let path = file.path().to_owned();
    let mut seen = 0;
    let recording = Recording::open_while(&path, &mut || {
        seen += 1;
        std::fs::write(&path, &whole).unwrap();
        true
    });
    let recording = recording.unwrap();
    assert_eq!(seen, 1);
    assert!(skipped(&recording).is_empty());
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"n\"))"]);
}

#[test]
fn live_chunks_are_read_past_their_last_flush() {
    let chunk = named()
        .metadata()
        .event(EVENT, 0, key(1))
        .checkpoint(&[(NAME, &[(1, text("flushed"))])]);
    let flushed = i64::try_from(chunk.at()).unwrap();
    let bytes = chunk.event(EVENT, 5, key(1)).build_with(|header| {
        header.state = State::Live(3);
        header.size = flushed;
        header.duration_nanos = 0;
    });
    let recording = open_bytes(bytes);
    assert_eq!(shown(&recording, "name").len(), 2);
    assert!(skipped(&recording).is_empty());
}

#[test]
fn truncation_anywhere_keeps_what_came_before() {
    let mut chunk = named().metadata().checkpoint(&[(NAME, &[(1, text("n"))])]);
    let mut boundaries = vec![chunk.at()];
    for _ in 0..5 {
        chunk = chunk.event(EVENT, 0, key(1));
        boundaries.push(chunk.at());
    }
    let bytes = chunk.build();
    for cut in boundaries[0]..bytes.len() {
        let recording = open_bytes(&bytes[..cut]);
        let whole = boundaries.iter().filter(|&&end| end <= cut).count() - 1;
        assert_eq!(shown(&recording, "name").len(), whole, "cut at {cut}");
        assert!(!skipped(&recording).is_empty(), "cut at {cut}");
    }
}

#[test]
fn garbage_around_and_between_chunks_is_named_and_passed_over() {
    let chunk = |start| {
        let chunk = named()
            .event(EVENT, 0, key(1))
            .checkpoint(&[(NAME, &[(1, text("n"))])]);
        chunk.build_with(|header| header.start_nanos += start)
    };
    let mut bytes = b"FLR\0 is how a chunk begins, but this is none; FLR".to_vec();
    let leading = bytes.len();
    bytes.extend(chunk(0));
    let middle = bytes.len();
    bytes.extend([0; 33]);
    bytes.extend(chunk(1));
    let trailing = bytes.len();
    bytes.extend(b"FLR\0");
    let recording = open_bytes(bytes);
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"n\"))"; 2]);
    let expected = [
        format!("offset 0: {leading} bytes that are no chunk"),
        format!("offset {middle}: 33 bytes that are no chunk"),
        format!("offset {trailing}: 4 bytes that are no chunk"),
    ];
    assert_eq!(skipped(&recording), expected);
}

#[test]
fn a_copy_of_the_header_inside_its_chunk_does_not_end_it() {
    const HEADERS: i64 = 40;
    let first = ChunkSpec::new()
        .class(HEADERS, "jdk.types.ChunkHeader", &[array("payload", BYTE)])
        .event_type(EVENT, "test.Number", &[field("number", INT)])
        .metadata()
        .event(EVENT, 0, Bytes::new().int(1));
    // As a flush does: the copy is the last thing in its checkpoint, and its size ends there.
    let mut copy = first.header;
    copy.state = State::Live(1);
    copy.metadata = 68;
    let checkpoint_head = encode_event(1, &[]).len() + 20;
    let mut size = first.at() + checkpoint_head + header::LEN;
    let mut with_copy = None;
    for _ in 0..3 {
        copy.size = i64::try_from(size).unwrap();
        let payload = Bytes::new().long(68).raw(&copy.to_bytes());
        let first = ChunkSpec::new()
            .class(HEADERS, "jdk.types.ChunkHeader", &[array("payload", BYTE)])
            .event_type(EVENT, "test.Number", &[field("number", INT)])
            .metadata()
            .event(EVENT, 0, Bytes::new().int(1))
            .checkpoint(&[(HEADERS, &[(0, payload)])]);
        size = first.at();
        with_copy = Some(first);
    }
    let bytes = with_copy
        .unwrap()
        .event(EVENT, 0, Bytes::new().int(2))
        .build();
    // Cut off, so that the end must be searched for.
    let recording = open_bytes(&bytes[..bytes.len() - 1]);
    assert_eq!(recording.chunk_count(), 1);
    // And with the header itself destroyed, the copy says where the chunk began.
    let mut headless = bytes;
    headless[..header::LEN].fill(0xee);
    let recording = open_bytes(headless);
    assert_eq!(
        shown(&recording, "number"),
        ["Some(Int(1))", "Some(Int(2))"]
    );
    assert_eq!(recording.chunk(0).unwrap().offset(), 0);
}

#[test]
fn a_chunk_cut_off_before_itself_ends_where_it_begins_again() {
    let mut chunk = named().metadata().checkpoint(&[(NAME, &[(1, text("n"))])]);
    for at in 0..20 {
        chunk = chunk.event(EVENT, at, key(1));
    }
    let whole = chunk.build();
    let cut = whole.len() - 30;
    let other = named().build_with(|header| header.start_nanos += 1);
    for behind in [Vec::new(), other] {
        let recording = open_bytes([&whole[..cut], &whole, &behind].concat());
        let events: Vec<u64> = recording
            .chunks()
            .map(|chunk| chunk.event_count())
            .collect();
        assert_eq!(events[1], 20);
        assert!((10..20).contains(&events[0]), "{events:?}");
        let said = skipped(&recording);
        let wanted = format!("chunk 0, offset {cut}: the chunk is cut off: {cut} of ");
        assert!(said[0].starts_with(&wanted), "{said:?}");
    }
}

#[test]
fn a_placeholder_size_of_a_gibibyte_means_to_the_end() {
    let chunk = named()
        .event(EVENT, 0, key(1))
        .checkpoint(&[(NAME, &[(1, text("n"))])]);
    let recording = open_bytes(chunk.build_with(|header| header.size = 1 << 30));
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"n\"))"]);
    assert!(skipped(&recording)[0].contains("the chunk was never finished"));
}

#[test]
fn empty_pools_are_no_error() {
    let chunk = named()
        .event(EVENT, 0, key(1))
        .checkpoint(&[(STRING, &[]), (NAME, &[(1, text("after"))])]);
    let recording = open_bytes(chunk.build());
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"after\"))"]);
    assert!(skipped(&recording).is_empty());
}

#[test]
fn a_pool_of_an_undeclared_type_loses_the_rest_of_its_checkpoint_only() {
    let chunk = named()
        .event(EVENT, 0, key(1))
        .event(EVENT, 0, key(2))
        .checkpoint(&[
            (NAME, &[(1, text("kept"))]),
            (999, &[(1, text("?"))]),
            (NAME, &[(2, text("lost"))]),
        ]);
    let recording = open_bytes(chunk.build());
    assert_eq!(
        shown(&recording, "name"),
        ["Some(Text(\"kept\"))", "Some(Null)"]
    );
    assert_eq!(skipped(&recording).len(), 1);
}

#[test]
fn integers_of_fixed_width_are_noticed_and_a_wrong_flag_is_not_believed() {
    let written = || {
        ChunkSpec::new()
            .event_type(200, "test.Event", &[field("value", INT)])
            .metadata()
            .event(200, 1, Bytes::new().int(7))
    };
    // The flag alone: everything is there in the usual layout.
    let recording = open_bytes(written().build_with(|header| header.flags &= !1));
    let chunk = recording.chunk(0).unwrap();
    assert_eq!(chunk.event_count(), 1);
    assert_eq!(chunk.skipped().count(), 0);
    // Four bytes of size, eight of type id, and so on: no event is made up from them.
    let header = written().build_with(|header| {
        header.flags &= !1;
        header.metadata = 68;
        header.size = 68 + 44;
    });
    let mut fixed = header[..68].to_vec();
    fixed.extend(44_u32.to_be_bytes());
    fixed.extend([0; 40]);
    let recording = open_bytes(fixed);
    let chunk = recording.chunk(0).unwrap();
    assert_eq!(chunk.events().count(), 0);
    let said: Vec<String> = chunk.skipped().map(ToString::to_string).collect();
    assert!(said[0].contains("integers have a fixed width"), "{said:?}");
}

#[test]
fn chunks_of_version_1_have_event_types_of_their_own_names() {
    let mut chunk = ChunkSpec::new();
    chunk.event_super = "com.oracle.jfr.Event";
    let chunk = chunk
        .event_type(EVENT, "com.oracle.jdk.CPULoad", &[field("number", INT)])
        .event(EVENT, 0, Bytes::new().int(4));
    let recording = open_bytes(chunk.build_with(|header| (header.major, header.minor) = (1, 0)));
    assert_eq!(shown(&recording, "number"), ["Some(Int(4))"]);
}

#[test]
fn version_0_9_and_future_versions_are_refused_by_name() {
    for (major, minor, said) in [(0, 9, "Oracle JDK 7 or 8"), (3, 0, "version 3.0")] {
        let bytes = named().build_with(|header| (header.major, header.minor) = (major, minor));
        let error = Recording::from_bytes("old.jfr", bytes).unwrap_err();
        assert!(matches!(error, ReadError::Version { .. }));
        assert!(error.to_string().contains(said), "{error}");
        assert!(
            error.to_string().starts_with("old.jfr: chunk at offset 0"),
            "{error}"
        );
    }
    // A readable chunk behind it is read.
    let mut bytes = named().build_with(|header| header.major = 3);
    bytes.extend(
        named()
            .event(EVENT, 0, key(0))
            .build_with(|header| header.start_nanos += 1),
    );
    let recording = open_bytes(bytes);
    assert_eq!(shown(&recording, "name").len(), 1);
    assert!(skipped(&recording)[0].contains("format version 3.1"));
}

#[test]
fn files_that_are_no_recording_say_so() {
    let empty = Recording::from_bytes("e.jfr", Vec::new()).unwrap_err();
    assert_eq!(empty.to_string(), "e.jfr: the file is empty");
    let text = Recording::from_bytes("t.jfr", b"hello".to_vec()).unwrap_err();
    assert_eq!(
        text.to_string(),
        "t.jfr: not a flight recording: no chunk header in 5 bytes"
    );
}

#[test]
fn counts_beyond_the_bytes_that_remain_are_refused_before_anything_is_allocated() {
    let huge = 0x7fff_ffff_i64;
    let chunk = ChunkSpec::new()
        .event_type(EVENT, "test.Array", &[array("numbers", INT)])
        .event(EVENT, 0, Bytes::new().long(huge))
        .event(EVENT, 0, Bytes::new().long(-1))
        .checkpoint(&[]);
    // Metadata with as many strings, or elements, as it likes.
    for body in [
        Bytes::new().long(0).long(0).long(1).long(huge),
        Bytes::new()
            .long(0)
            .long(0)
            .long(1)
            .long(1)
            .text("x")
            .long(0)
            .long(huge),
    ] {
        let recording = open_bytes(named().raw_event(0, &body.0).build());
        assert!(recording.chunk(0).unwrap().types().by_id(EVENT).is_some());
    }
    let recording = open_bytes(chunk.build());
    assert_eq!(shown(&recording, "numbers"), ["None", "None"]);
    // A checkpoint that announces more constants than bytes.
    let mut lies = Bytes::new().long(1_000).long(0).long(0).raw(&[0]).long(1);
    lies = lies.long(NAME).long(huge).long(1).text("first");
    let recording = open_bytes(
        named()
            .event(EVENT, 0, key(1))
            .raw_event(1, &lies.0)
            .build(),
    );
    assert_eq!(shown(&recording, "name"), ["Some(Null)"]);
    assert!(skipped(&recording)[0].contains("a count of 2147483647 does not fit"));
}

#[test]
fn an_event_of_size_zero_does_not_stop_the_reader() {
    let chunk = named()
        .event(EVENT, 0, key(1))
        .raw(&[0; 9])
        .event(EVENT, 0, key(1))
        .event(EVENT, 0, key(1))
        .checkpoint(&[(NAME, &[(1, text("n"))])]);
    let recording = open_bytes(chunk.build());
    assert_eq!(shown(&recording, "name"), ["Some(Text(\"n\"))"; 3]);
    assert!(skipped(&recording)[0].contains("9 bytes: an event of size zero"));
}

#[test]
fn a_size_that_leads_astray_costs_one_event() {
    let chunk = named().event(EVENT, 0, key(1));
    let damaged = chunk.at();
    let mut chunk = chunk;
    for _ in 0..10 {
        chunk = chunk.event(EVENT, 0, key(1));
    }
    let mut bytes = chunk.checkpoint(&[(NAME, &[(1, text("n"))])]).build();
    bytes[damaged..damaged + 4].copy_from_slice(&varint::padded::<4>(37).unwrap());
    let recording = open_bytes(bytes);
    let found = shown(&recording, "name").len();
    assert!(found >= 9, "{found}: {:?}", skipped(&recording));
}

#[test]
fn fields_of_every_primitive_type_are_read() {
    let fields = [
        field("boolean", BOOLEAN),
        field("byte", BYTE),
        field("char", CHAR),
        field("short", SHORT),
        field("int", INT),
        field("long", LONG),
        field("float", FLOAT),
        field("double", DOUBLE),
    ];
    let values = Bytes::new()
        .raw(&[1, 0x80])
        .long(0x20ac)
        .long(0xffff)
        .int(i32::MIN)
        .long(i64::MIN)
        .raw(&1.5_f32.to_be_bytes())
        .raw(&(-2.5_f64).to_be_bytes());
    let chunk = ChunkSpec::new()
        .event_type(EVENT, "test.All", &fields)
        .event(EVENT, 0, values);
    let recording = open_bytes(chunk.build());
    let chunk = recording.chunk(0).unwrap();
    let event = chunk.events().next().unwrap();
    let read: Vec<String> = event
        .fields()
        .skip(1)
        .map(|(_, value)| format!("{:?}", value.unwrap()))
        .collect();
    let expected = [
        "Boolean(true)",
        "Byte(-128)",
        "Char(8364)",
        "Short(-1)",
        "Int(-2147483648)",
        "Long(-9223372036854775808)",
        "Float(1.5)",
        "Double(-2.5)",
    ];
    assert_eq!(read, expected);
    assert!(matches!(event.at(99), Ok(Value::Null)));
}

#[test]
fn fields_of_an_undeclared_type_end_the_event_and_not_the_chunk() {
    let chunk = ChunkSpec::new()
        .event_type(EVENT, "test.Odd", &[field("odd", 9_999)])
        .event_type(EVENT + 1, "test.Even", &[field("number", INT)])
        .event(EVENT, 0, Bytes::new().int(1))
        .event(EVENT + 1, 0, Bytes::new().int(2));
    let recording = open_bytes(chunk.build());
    let chunk = recording.chunk(0).unwrap();
    let events: Vec<_> = chunk.events().collect();
    assert_eq!(events[0].verify(), Err(DecodeError::UndeclaredType));
    assert_eq!(events[1].i64("number"), Some(2));
}

#[test]
fn events_of_some_types_are_all_of_theirs_and_no_others() {
    let bytes = ChunkSpec::new()
        .event_type(200, "test.Wanted", &[field("value", INT)])
        .event_type(201, "test.Other", &[])
        .metadata()
        .event(200, 1, Bytes::new().int(7))
        .event(201, 2, Bytes::new())
        .event(200, 3, Bytes::new().int(8))
        .event(201, 4, Bytes::new())
        .build();
    let recording = open_bytes(bytes);
    let chunk = recording.chunk(0).unwrap();
    let wanted = chunk.events_of(|declared| declared.name() == "test.Wanted");
    let values: Vec<i64> = wanted.filter_map(|event| event.i64("value")).collect();
    assert_eq!(values, [7, 8]);
    assert_eq!(chunk.events_of(|_| false).count(), 0);
}

#[test]
fn chunks_are_read_in_parallel_in_the_order_of_the_file() {
    let mut bytes = Vec::new();
    for number in 0..20 {
        let chunk = ChunkSpec::new()
            .event_type(EVENT, "test.Number", &[field("number", INT)])
            .event(EVENT, 0, Bytes::new().int(number));
        bytes.extend(chunk.build_with(|header| header.start_nanos += i64::from(number)));
    }
    let recording = open_bytes(bytes);
    let numbers = recording.map_chunks(|chunk| chunk.events().next().unwrap().i64("number"));
    assert_eq!(numbers, (0..20).map(Some).collect::<Vec<_>>());
    let mut visited = 0;
    assert!(recording.visit(|_| visited += 1).is_empty());
    assert_eq!(visited, 20);
}
