//! gzip, zip and LZ4, whole and broken.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod chunks;

use std::io::{Cursor, Write as _};

use chunks::*;
use jfr_chains_analyzer::reader::Recording;
use zip::write::SimpleFileOptions;

const EVENT: i64 = 100;

/// A chunk whose only event says `number`; the padding is hard to compress.
fn chunk(number: i32) -> Vec<u8> {
    let mut seed = u64::from(number.unsigned_abs()) | 1;
    let mut padding = String::new();
    while padding.len() < 5_000 {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        padding.push_str(&format!("{seed:x}"));
    }
    ChunkSpec::new()
        .event_type(
            EVENT,
            "test.Numbered",
            &[field("number", INT), field("padding", STRING)],
        )
        .metadata()
        .event(EVENT, 0, Bytes::new().int(number).text(&padding))
        .build_with(|header| header.start_nanos += i64::from(number))
}

/// What [`shown`] gives for chunks of these numbers.
fn numbers(of: &[i32]) -> Vec<String> {
    of.iter().map(|of| format!("Some(Int({of}))")).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn gzip_zip_and_lz4_open_as_they_are() {
    let plain = chunk(1);
    for compressed in [gzip(&plain), lz4(&plain), zip(&[("a.jfr", &plain)])] {
        assert!(!compressed.starts_with(b"FLR"));
        let recording = open_bytes(compressed);
        assert_eq!(shown(&recording, "number"), numbers(&[1]));
        assert!(skipped(&recording).is_empty());
    }
}

#[test]
fn every_member_and_every_frame_is_read() {
    let parts = [chunk(1), chunk(2), chunk(3)];
    let [a, b, c] = &parts;
    let gzips = parts.each_ref().map(|part| gzip(part)).concat();
    let frames = parts.each_ref().map(|part| lz4(part)).concat();
    let archive = zip(&[("a.jfr", a), ("folder/b.jfr", b), ("c.jfr", c)]);
    // A build server keeps what it is given in an archive of its own.
    let nested = zip(&[("a.jfr.gz", &gzip(a)), ("b.jfr.lz4", &lz4(b)), ("c.jfr", c)]);
    for compressed in [gzips, frames, archive, nested] {
        let recording = open_bytes(compressed);
        assert_eq!(shown(&recording, "number"), numbers(&[1, 2, 3]));
        assert!(skipped(&recording).is_empty());
    }
}

#[test]
fn a_stream_cut_between_two_chunks_is_not_taken_for_a_whole_one() {
    let (a, b) = (chunk(1), chunk(2));
    let boundary = a.len();
    for (name, first, second) in [("gzip", gzip(&a), gzip(&b)), ("LZ4", lz4(&a), lz4(&b))] {
        for kept in [3, 9, 40] {
            let recording = open_bytes([&first[..], &second[..kept]].concat());
            assert_eq!(shown(&recording, "number"), numbers(&[1]));
            let said = skipped(&recording);
            assert!(
                said[0].starts_with(&format!("offset {boundary}: {name}: ")),
                "{said:?}"
            );
        }
    }
}

#[test]
fn a_checksum_that_does_not_match_is_said_and_everything_is_read() {
    let mut compressed = gzip(&chunk(1));
    let checksum = compressed.len() - 6;
    compressed[checksum] ^= 0xff;
    let recording = open_bytes(compressed);
    assert_eq!(shown(&recording, "number"), numbers(&[1]));
    let said = skipped(&recording);
    assert!(said[0].contains("checksum"), "{said:?}");
}

#[test]
fn members_that_do_not_decompress_cost_themselves() {
    let (a, b, c) = (chunk(1), chunk(2), chunk(3));
    let whole = zip(&[("a.jfr", &a), ("b.jfr", &b), ("c.jfr", &c)]);
    let flipped = |name: &[u8]| {
        let mut bytes = whole.clone();
        let at = memchr::memmem::find(&bytes, name).unwrap() + name.len();
        // A deflate block of a kind that does not exist.
        bytes[at] = 0xff;
        open_bytes(bytes)
    };
    let recording = flipped(b"a.jfr");
    assert_eq!(shown(&recording, "number"), numbers(&[2, 3]));
    let said = skipped(&recording);
    assert!(
        said[0].starts_with("offset 0: zip member a.jfr: "),
        "{said:?}"
    );
    let recording = flipped(b"b.jfr");
    assert_eq!(shown(&recording, "number"), numbers(&[1, 3]));
    let said = skipped(&recording);
    let wanted = format!("offset {}: zip member b.jfr: ", a.len());
    assert!(said[0].starts_with(&wanted), "{said:?}");
}

#[test]
fn an_archive_without_its_end_gives_the_members_before() {
    let (a, b) = (chunk(1), chunk(2));
    let whole = zip(&[("a.jfr", &a), ("b.jfr", &b)]);
    let directory = memchr::memmem::rfind(&whole, b"PK\x01\x02").unwrap();
    let recording = open_bytes(&whole[..directory]);
    assert_eq!(shown(&recording, "number"), numbers(&[1, 2]));
    assert!(skipped(&recording)[0].contains(": zip: "));
    let second = memchr::memmem::rfind(&whole[..directory], b"PK\x03\x04").unwrap();
    let recording = open_bytes(&whole[..second + 20]);
    assert_eq!(shown(&recording, "number"), numbers(&[1]));
    let said = skipped(&recording);
    assert!(
        said[0].starts_with(&format!("offset {}: zip: ", a.len())),
        "{said:?}"
    );
}

#[test]
fn a_compressed_file_cut_off_gives_what_came_before() {
    let mut chunk = ChunkSpec::new()
        .event_type(EVENT, "test.Numbered", &[field("number", LONG)])
        .metadata();
    for at in 0..20_000 {
        chunk = chunk.event(EVENT, at, Bytes::new().long(at * 7_919));
    }
    let compressed = gzip(&chunk.build());
    let recording = open_bytes(&compressed[..compressed.len() / 2]);
    let events = recording.chunk(0).unwrap().event_count();
    assert!((1_000..20_000).contains(&events), "{events}");
    let said = skipped(&recording);
    assert!(
        said.iter().any(|said| said.contains(": gzip: ")),
        "{said:?}"
    );
    let nothing = Recording::from_bytes("cut.gz", compressed[..8].to_vec()).unwrap_err();
    assert!(nothing.to_string().contains("gzip"), "{nothing}");
}
