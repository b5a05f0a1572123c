//! Seeds for the fuzz targets: small recordings that use every part of the format.
//!
//! With `JFR_CHAINS_SEEDS` set to a folder they are written there, a folder for each target.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod chunks;

use std::io::{Cursor, Write as _};

use chunks::*;

/// The same bytes in each form that opens as it is.
fn compressed(bytes: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(bytes).unwrap();
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("leak.jfr", options).unwrap();
    zip.write_all(bytes).unwrap();
    [
        ("gzip", gzip.finish().unwrap()),
        ("lz4", lz4.finish().unwrap()),
        ("zip", zip.finish().unwrap().into_inner()),
    ]
}

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let rich = || {
        ChunkSpec::new()
            .simple(30, "jdk.types.Symbol", field("string", STRING))
            .class(31, "java.lang.Class", &[pooled("name", 30)])
            .class(
                32,
                "jdk.types.Method",
                &[
                    pooled("type", 31),
                    pooled("name", 30),
                    pooled("descriptor", 30),
                ],
            )
            .class(
                33,
                "jdk.types.StackFrame",
                &[pooled("method", 32), field("lineNumber", INT)],
            )
            .class(
                34,
                "jdk.types.StackTrace",
                &[field("truncated", BOOLEAN), array("frames", 33)],
            )
            .event_type(
                40,
                "test.All",
                &[
                    field("text", STRING),
                    pooled("stackTrace", 34),
                    field("float", FLOAT),
                    field("double", DOUBLE),
                    array("longs", LONG),
                ],
            )
            .metadata()
            .event(
                40,
                1,
                Bytes::new()
                    .text("x")
                    .long(1)
                    .raw(&[0; 12])
                    .long(2)
                    .long(7)
                    .long(-1),
            )
            .checkpoint(&[
                (
                    30,
                    &[
                        (1, Bytes::new().text("name")),
                        (2, Bytes::new().raw(&[4, 2, 1, 2])),
                    ],
                ),
                (31, &[(1, Bytes::new().long(1))]),
                (32, &[(1, Bytes::new().long(1).long(1).long(2))]),
                (34, &[(1, Bytes::new().raw(&[0]).long(1).long(1).int(5))]),
            ])
            .event(
                40,
                2,
                Bytes::new().raw(&[2, 5]).long(9).raw(&[0; 12]).long(0),
            )
            .checkpoint(&[(STRING, &[(5, Bytes::new().raw(&[5, 1, 0xe9]))])])
    };
    let mut two = rich().build();
    two.extend(rich().build_with(|header| header.start_nanos += 1));
    let live = rich().build_with(|header| {
        header.state = jfr_format::header::State::Live(2);
        header.size = 300;
    });
    let unusable = rich().build_with(|header| {
        header.size = 0;
        header.metadata = 0;
    });
    let clockless = rich().build_with(|header| header.ticks_per_second = 0);
    let mut seeds = vec![
        ("one", rich().build()),
        ("two", two),
        ("live", live),
        ("unusable", unusable),
        ("clockless", clockless),
    ];
    seeds.extend(compressed(&rich().build()));
    seeds
}

#[test]
fn every_seed_holds_events_and_constants() {
    for (name, bytes) in seeds() {
        let recording = open_bytes(bytes);
        for chunk in recording.chunks() {
            assert_eq!(chunk.event_count(), 2, "{name}");
            assert!(chunk.constant_count() >= 6, "{name}");
            assert!(chunk.events().all(|event| event.verify().is_ok()), "{name}");
        }
    }
}

#[test]
fn seeds_are_written_where_they_are_asked_for() {
    let scratch = tempfile::tempdir().unwrap();
    let asked = std::env::var_os("JFR_CHAINS_SEEDS").map(std::path::PathBuf::from);
    let root = asked.unwrap_or_else(|| scratch.path().to_owned());
    for (name, bytes) in seeds() {
        for target in ["reader", "recover"] {
            std::fs::create_dir_all(root.join(target)).unwrap();
            std::fs::write(root.join(target).join(name), &bytes).unwrap();
        }
        let recording = open_bytes(bytes.clone());
        let header = recording.chunk(0).unwrap();
        let plain = bytes.starts_with(b"FLR");
        if let (true, Ok(at)) = (plain, usize::try_from(header.header().metadata)) {
            std::fs::create_dir_all(root.join("metadata")).unwrap();
            // Behind the padded size and the type id.
            let body = bytes.get(at + 5..).unwrap_or_default();
            std::fs::write(root.join("metadata").join(name), body).unwrap();
        }
    }
    let options = [
        "file=leak-%p.jfr,duration=5m",
        "track=liveheap,interval=64k",
        "config=x\nwalk=safepoint",
    ];
    std::fs::create_dir_all(root.join("options")).unwrap();
    for (number, text) in options.iter().enumerate() {
        std::fs::write(root.join("options").join(number.to_string()), text).unwrap();
    }
    assert!(root.join("reader/two").is_file());
}
