//! What a file holds: every event as it was, whatever happens to the disk, the name and the size.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "support/memory_disk.rs"]
mod memory_disk;
#[path = "support/strict.rs"]
mod strict;
mod support;

use jfr_format::schema::events::CoreInput;
use jfr_writer::{Notice, Options, Recording, WriteError};
use memory_disk::MemoryDisk;
use std::path::Path;
use support::{CLOCK, emit_all, one_of_each};

const PATH: &str = "/data/leak.jfr";

fn open(disk: &MemoryDisk, options: Options) -> Recording<MemoryDisk> {
    Recording::open_on(
        disk.clone(),
        Path::new(PATH),
        CLOCK,
        CLOCK.ticks,
        options,
        7,
    )
    .unwrap()
}

fn small() -> Options {
    Options {
        chunk_size: 64 << 10,
        ..Options::default()
    }
}

fn file(disk: &MemoryDisk) -> Vec<u8> {
    disk.state().at(Path::new(PATH)).expect("no file").clone()
}

fn input(sequence: i64) -> CoreInput {
    CoreInput {
        sequence,
        text: "x".repeat(200),
        ..CoreInput::default()
    }
}

fn sequences(bytes: &[u8]) -> Vec<i64> {
    let chunks = strict::read(bytes).unwrap();
    let events = chunks
        .iter()
        .flat_map(|chunk| chunk.events.iter().map(move |event| (chunk, event)));
    events
        .map(|(chunk, (_, fields))| match chunk.get(fields, "sequence") {
            strict::Val::Long(sequence) => *sequence,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn every_event_comes_back_as_it_was() {
    let disk = MemoryDisk::default();
    let mut recording = open(&disk, Options::default());
    emit_all(&mut recording, CLOCK.ticks, 1);
    recording.flush(CLOCK.ticks + 1).unwrap();
    for bytes in [file(&disk), {
        recording.close(CLOCK.ticks + 2);
        file(&disk)
    }] {
        let chunks = strict::read(&bytes).unwrap();
        let events = &chunks[0].events;
        let ours: Vec<_> = events
            .iter()
            .filter_map(|(name, fields)| chunks[0].ours(name, fields))
            .collect();
        assert_eq!(ours, one_of_each());
        assert_eq!(events.len(), ours.len() + 1);
    }
}

#[test]
fn a_closed_file_has_no_filler_and_says_that_it_is_final() {
    let disk = MemoryDisk::default();
    let mut recording = open(&disk, Options::default());
    emit_all(&mut recording, CLOCK.ticks, 1);
    recording.flush(CLOCK.ticks + 1).unwrap();
    assert_eq!(file(&disk).len() as u64, Options::default().chunk_size);
    recording.close(CLOCK.ticks + 7);
    let chunks = strict::read(&file(&disk)).unwrap();
    assert_eq!(chunks[0].header.flags, 3);
    assert_eq!(chunks[0].header.duration_nanos, 7);
    assert!(file(&disk).len() < 64 << 10, "{}", file(&disk).len());
}

#[test]
fn a_full_chunk_is_followed_by_one_that_stands_alone() {
    let disk = MemoryDisk::default();
    let mut recording = open(&disk, small());
    for time in 0..300 {
        emit_all(&mut recording, CLOCK.ticks + time * 1_000_000, 1);
        if time % 7 == 0 {
            recording
                .flush(CLOCK.ticks + time * 1_000_000 + 500)
                .unwrap();
        }
    }
    let closed = recording.close(CLOCK.ticks + 400_000_000);
    assert!(closed.error.is_none());
    let chunks = strict::read(&file(&disk)).unwrap();
    assert!(chunks.len() > 2 && closed.counters.chunks == chunks.len() as u64);
    assert_eq!(closed.counters.events_written, 300 * 15);
    assert!(strict::counts(&chunks).values().all(|count| *count == 300));
    assert_eq!(
        chunks
            .iter()
            .filter(|chunk| chunk.header.flags & 2 != 0)
            .count(),
        1
    );
}

#[test]
fn a_chunk_that_is_old_enough_is_closed() {
    let disk = MemoryDisk::default();
    let mut recording = open(
        &disk,
        Options {
            chunk_ticks: Some(1_000),
            ..Options::default()
        },
    );
    for sequence in 0..5 {
        recording.emit(CLOCK.ticks + sequence * 600, &input(sequence));
        recording.flush(CLOCK.ticks + sequence * 600).unwrap();
    }
    recording.close(CLOCK.ticks + 5_000);
    let chunks = strict::read(&file(&disk)).unwrap();
    assert_eq!(
        chunks
            .iter()
            .map(|chunk| chunk.events.len())
            .collect::<Vec<_>>(),
        [3, 2]
    );
}

#[test]
fn the_oldest_chunks_go_when_the_file_reaches_its_limit() {
    let disk = MemoryDisk::default();
    let mut recording = open(
        &disk,
        Options {
            max_size: Some(200 << 10),
            ..small()
        },
    );
    for sequence in 0..1_500 {
        recording.emit(CLOCK.ticks + sequence, &input(sequence));
        recording.flush(CLOCK.ticks + sequence).unwrap();
        if sequence % 50 == 0 {
            assert!(file(&disk).len() <= 200 << 10);
        }
    }
    assert!(recording.counters().chunks_dropped > 0);
    assert_eq!(
        recording.take_notices(),
        [Notice::ChunksDropped(PATH.into())]
    );
    recording.close(CLOCK.ticks + 1_500);
    let kept = sequences(&file(&disk));
    assert_eq!(*kept.last().unwrap(), 1_499);
    assert!(
        kept.windows(2).all(|pair| pair[1] == pair[0] + 1),
        "a gap in {kept:?}"
    );
}

#[test]
fn an_event_longer_than_a_chunk_gets_a_chunk_of_its_size() {
    let disk = MemoryDisk::default();
    let mut recording = open(
        &disk,
        Options {
            chunk_size: 1 << 10,
            ..Options::default()
        },
    );
    for sequence in 0..3 {
        let text = "y".repeat(60_000);
        recording.emit(
            CLOCK.ticks + sequence,
            &CoreInput {
                sequence,
                text,
                ..CoreInput::default()
            },
        );
    }
    assert!(recording.close(CLOCK.ticks + 5).error.is_none());
    assert_eq!(sequences(&file(&disk)), [0, 1, 2]);
}

#[test]
fn a_full_disk_keeps_events_in_memory_and_says_so_once() {
    let disk = MemoryDisk::default();
    let mut recording = open(&disk, Options::default());
    recording.emit(CLOCK.ticks, &input(0));
    recording.flush(CLOCK.ticks).unwrap();
    disk.set_space(Some(100));
    for sequence in 1..4 {
        recording.emit(CLOCK.ticks + sequence, &input(sequence));
        let error = recording.flush(CLOCK.ticks + sequence).unwrap_err();
        assert!(matches!(error, WriteError::DiskFull { .. }), "{error}");
        assert_eq!(sequences(&file(&disk)), [0]);
    }
    assert_eq!(recording.take_notices().len(), 1);
    disk.set_space(None);
    recording.flush(CLOCK.ticks + 9).unwrap();
    assert_eq!(sequences(&file(&disk)), [0, 1, 2, 3]);
    assert_eq!(
        recording.take_notices(),
        [Notice::WritingAgain(PATH.into())]
    );
}

#[test]
fn a_disk_that_is_full_when_a_chunk_ends_costs_nothing_that_fits_memory() {
    let disk = MemoryDisk::default();
    let mut recording = open(&disk, small());
    recording.emit(CLOCK.ticks, &input(0));
    recording.flush(CLOCK.ticks).unwrap();
    disk.set_space(Some(0));
    for sequence in 1..1_000 {
        assert!(recording.emit(CLOCK.ticks + sequence, &input(sequence)));
        if sequence % 100 == 0 {
            assert!(recording.flush(CLOCK.ticks + sequence).is_err());
            assert_eq!(sequences(&file(&disk)), [0]);
        }
    }
    let counters = recording.counters();
    assert_eq!((counters.events_written, counters.events_pending), (1, 999));
    disk.set_space(None);
    recording.flush(CLOCK.ticks + 1_000).unwrap();
    assert_eq!(sequences(&file(&disk)), (0..1_000).collect::<Vec<_>>());
    let closed = recording.close(CLOCK.ticks + 1_001);
    let counters = closed.counters;
    assert_eq!(
        (counters.events_written, counters.events_dropped),
        (1_000, 0)
    );
    assert_eq!(sequences(&file(&disk)), (0..1_000).collect::<Vec<_>>());
}

#[test]
fn what_waits_for_an_ended_chunk_counts_as_memory() {
    let disk = MemoryDisk::default();
    let options = Options {
        memory_cap: 100 << 10,
        ..small()
    };
    let mut recording = open(&disk, options);
    disk.set_space(Some(0));
    let taken = (0..3_000)
        .filter(|sequence| recording.emit(CLOCK.ticks + sequence, &input(*sequence)))
        .count();
    // Each takes a little more than 200 bytes.
    assert!((300..500).contains(&taken), "{taken}");
    disk.set_space(None);
    recording.flush(CLOCK.ticks + 3_000).unwrap();
    assert!(recording.emit(CLOCK.ticks + 3_001, &input(3_001)));
    assert!(recording.close(CLOCK.ticks + 4_000).error.is_none());
    assert_eq!(sequences(&file(&disk)).len(), taken + 1);
}

#[test]
fn a_lost_name_is_said_once_and_when_the_file_is_there_again() {
    let disk = MemoryDisk::default();
    let mut recording = open(&disk, Options::default());
    recording.emit(CLOCK.ticks, &input(0));
    recording.flush(CLOCK.ticks).unwrap();
    for (foreign, lost) in [(false, "file-deleted"), (true, "file-replaced")] {
        let path = recording.path().to_path_buf();
        disk.delete(&path);
        if foreign {
            disk.foreign(&path, false);
        }
        disk.set_read_only(true);
        for _ in 0..3 {
            recording.emit(CLOCK.ticks, &input(1));
            assert!(recording.flush(CLOCK.ticks + 1).is_err());
            assert_eq!(recording.path(), path);
        }
        disk.set_read_only(false);
        recording.flush(CLOCK.ticks + 2).unwrap();
        let codes: Vec<_> = recording.take_notices().iter().map(Notice::code).collect();
        assert_eq!(codes, ["file-not-writing", lost, "file-writing-again"]);
        assert_eq!(recording.path() != path, foreign);
    }
    let actual = recording.path().to_path_buf();
    recording.close(CLOCK.ticks + 3);
    assert_eq!(file(&disk), b"foreign");
    assert_eq!(sequences(disk.state().at(&actual).unwrap()).len(), 7);
}

#[test]
fn memory_is_bounded_while_nothing_can_be_written() {
    let disk = MemoryDisk::default();
    let mut recording = open(
        &disk,
        Options {
            memory_cap: 10_000,
            ..Options::default()
        },
    );
    disk.set_read_only(true);
    let taken = (0..1_000)
        .filter(|sequence| recording.emit(CLOCK.ticks, &input(*sequence)))
        .count();
    assert!(recording.flush(CLOCK.ticks).is_err());
    assert!((10..100).contains(&taken));
    assert_eq!(recording.counters().events_dropped, 1_000 - taken as u64);
    disk.set_read_only(false);
    let closed = recording.close(CLOCK.ticks + 1);
    assert_eq!(closed.counters.events_written, taken as u64);
    assert_eq!(sequences(&file(&disk)).len(), taken);
}

#[test]
fn a_close_that_cannot_copy_leaves_the_file_readable() {
    let disk = MemoryDisk::default();
    let mut recording = open(&disk, Options::default());
    recording.emit(CLOCK.ticks, &input(0));
    recording.flush(CLOCK.ticks).unwrap();
    disk.set_space(Some(1_000));
    let closed = recording.close(CLOCK.ticks + 1);
    assert!(matches!(closed.error, Some(WriteError::DiskFull { .. })));
    assert_eq!(sequences(&file(&disk)), [0]);
    assert_eq!(disk.state().names.len(), 1, "a temporary file is left");
}

#[test]
fn a_file_that_another_process_writes_is_left_alone() {
    let disk = MemoryDisk::default();
    disk.foreign(Path::new(PATH), true);
    let mut recording = open(&disk, Options::default());
    assert_ne!(recording.path(), Path::new(PATH));
    assert!(matches!(
        &recording.take_notices()[..],
        [Notice::Suffixed { .. }]
    ));
    assert_eq!(file(&disk), b"foreign");
}

#[test]
fn a_file_that_nobody_writes_is_replaced() {
    let disk = MemoryDisk::default();
    disk.foreign(Path::new(PATH), false);
    let mut recording = open(&disk, Options::default());
    assert_eq!(recording.path(), Path::new(PATH));
    assert!(recording.take_notices().is_empty());
    strict::read(&file(&disk)).unwrap();
}

#[test]
fn a_second_recording_in_the_same_process_gets_a_suffix() {
    let disk = MemoryDisk::default();
    let first = open(&disk, Options::default());
    let second = open(&disk, Options::default());
    assert_ne!(first.path(), second.path());
}

#[test]
fn a_deleted_file_is_written_anew_with_everything() {
    let disk = MemoryDisk::default();
    let mut recording = open(&disk, small());
    for sequence in 0..400 {
        recording.emit(CLOCK.ticks + sequence, &input(sequence));
        if sequence % 90 == 89 {
            disk.delete(Path::new(PATH));
            recording.flush(CLOCK.ticks + sequence).unwrap();
            assert_eq!(sequences(&file(&disk)).len() as i64, sequence + 1);
        }
    }
    assert!(
        recording
            .take_notices()
            .contains(&Notice::Deleted(PATH.into()))
    );
    recording.close(CLOCK.ticks + 500);
    assert_eq!(sequences(&file(&disk)), (0..400).collect::<Vec<_>>());
}

#[test]
fn a_replaced_file_is_left_alone_and_the_recording_goes_on_beside_it() {
    let disk = MemoryDisk::default();
    let mut recording = open(&disk, Options::default());
    recording.emit(CLOCK.ticks, &input(0));
    recording.flush(CLOCK.ticks).unwrap();
    disk.delete(Path::new(PATH));
    disk.foreign(Path::new(PATH), false);
    recording.emit(CLOCK.ticks + 1, &input(1));
    recording.flush(CLOCK.ticks + 1).unwrap();
    let path = recording.path().to_path_buf();
    assert_ne!(path, Path::new(PATH));
    recording.close(CLOCK.ticks + 2);
    assert_eq!(file(&disk), b"foreign");
    assert_eq!(sequences(disk.state().at(&path).unwrap()), [0, 1]);
}

#[test]
fn a_clock_that_stands_still_gives_every_chunk_its_own_start() {
    let disk = MemoryDisk::default();
    let mut recording = open(
        &disk,
        Options {
            chunk_size: 1 << 10,
            ..Options::default()
        },
    );
    for sequence in 0..5 {
        let text = "y".repeat(30_000);
        recording.emit(
            CLOCK.ticks,
            &CoreInput {
                sequence,
                text,
                ..CoreInput::default()
            },
        );
        recording.flush(CLOCK.ticks).unwrap();
    }
    recording.close(CLOCK.ticks);
    assert_eq!(
        strict::read(&file(&disk)).unwrap().len(),
        6,
        "the first one is empty"
    );
}

#[test]
fn a_chunk_starts_no_later_than_its_first_event() {
    let disk = MemoryDisk::default();
    let mut recording = open(
        &disk,
        Options {
            chunk_ticks: Some(1),
            ..Options::default()
        },
    );
    for sequence in 1..4 {
        recording.emit(CLOCK.ticks + sequence * 100, &input(sequence));
        recording.emit(CLOCK.ticks + sequence * 100 + 50, &input(sequence));
        recording.flush(CLOCK.ticks + sequence * 100 + 90).unwrap();
    }
    recording.close(CLOCK.ticks + 500);
    let chunks = strict::read(&file(&disk)).unwrap();
    assert_eq!(chunks.len(), 3);
    for chunk in &chunks {
        for (_, fields) in &chunk.events {
            let strict::Val::Long(start) = chunk.get(fields, "startTime") else {
                panic!("no start")
            };
            assert!(*start >= chunk.header.start_ticks);
        }
    }
}
