//! The `jfrs` crate, a reader of somebody else's, takes our files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;

use jfr_chains_tests::scratch;
use jfr_format::schema;
use jfr_writer::{Options, Recording};
use jfrs::reader::JfrReader;
use jfrs::reader::event::Accessor;
use jfrs::reader::value_descriptor::{Primitive, ValueDescriptor};
use std::collections::BTreeMap;
use std::io::Cursor;
use support::{CLOCK, emit_all};

fn text(value: Option<Accessor<'_>>) -> Option<String> {
    match value?.value {
        ValueDescriptor::Primitive(Primitive::String(text)) => Some(text.to_string()),
        _ => None,
    }
}

#[test]
fn live_and_closed_files_of_several_chunks_are_read_in_full() {
    let dir = scratch("jfrs").unwrap();
    let file = dir.path().join("leak.jfr");
    let options = Options {
        chunk_size: 64 << 10,
        ..Options::default()
    };
    let mut recording = Recording::open(&file, CLOCK, CLOCK.ticks, options).unwrap();
    for time in 0..100 {
        emit_all(&mut recording, CLOCK.ticks + time * 10_000, 1);
        recording.flush(CLOCK.ticks + time * 10_000 + 100).unwrap();
    }
    let live = std::fs::read(&file).unwrap();
    recording.close(CLOCK.ticks + 10_000_000);
    let closed = std::fs::read(&file).unwrap();
    for bytes in [live, closed] {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let mut leaves = 0;
        for chunk in JfrReader::new(Cursor::new(bytes)).chunks() {
            let (mut reader, chunk) = chunk.unwrap();
            for event in reader.events(&chunk) {
                let event = event.unwrap();
                let name = event.class.name().to_owned();
                if name == "jdk.OldObjectSample" {
                    let leaf = event
                        .value()
                        .get_field("object")
                        .and_then(|object| object.get_field("type"));
                    let name = leaf.and_then(|class| class.get_field("name")?.get_field("string"));
                    leaves += u64::from(text(name).as_deref() == Some("com/acme/Order"));
                }
                *counts.entry(name).or_default() += 1;
            }
        }
        for schema in schema::all() {
            assert_eq!(
                counts.get(schema.name),
                Some(&100),
                "{} in {counts:?}",
                schema.name
            );
        }
        assert_eq!(leaves, 100);
    }
}
