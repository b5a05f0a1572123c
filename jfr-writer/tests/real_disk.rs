//! What the tests of `file` ask of a disk in memory, of a real one: a full file system, a read-only one, files and
//! folders that go away under the recording.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

#[path = "support/strict.rs"]
mod strict;
mod support;

use jfr_chains_tests::{Child, scratch, skip};
use jfr_format::schema::events::CoreInput;
use jfr_writer::{Notice, OpenError, Options, Recording, WriteError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::CLOCK;

/// Where a file system of its own is mounted, in the process that a test starts for that.
const OWN_MOUNT: &str = "JFR_CHAINS_TEST_MOUNT";

const LIMIT: Duration = Duration::from_secs(60);

fn open(path: &Path) -> Recording {
    let options = Options {
        chunk_size: 64 << 10,
        ..Options::default()
    };
    Recording::open(path, CLOCK, CLOCK.ticks, options).unwrap()
}

fn emit(recording: &mut Recording, sequences: std::ops::Range<i64>) {
    for sequence in sequences {
        let input = CoreInput {
            sequence,
            text: "x".repeat(200),
            ..CoreInput::default()
        };
        assert!(recording.emit(CLOCK.ticks + sequence, &input));
    }
}

/// How many events the file has; they are the first ones, without a gap.
fn events(path: &Path) -> i64 {
    let chunks = strict::read(&std::fs::read(path).unwrap()).unwrap();
    let mut next = 0;
    for chunk in &chunks {
        for (_, fields) in &chunk.events {
            assert_eq!(chunk.get(fields, "sequence"), &strict::Val::Long(next));
            next += 1;
        }
    }
    next
}

fn codes(recording: &mut Recording) -> Vec<&'static str> {
    recording.take_notices().iter().map(Notice::code).collect()
}

#[test]
fn a_deleted_file_is_written_anew_from_the_open_one() {
    let dir = scratch("disk_deleted").unwrap();
    let path = dir.path().join("leak.jfr");
    let mut recording = open(&path);
    emit(&mut recording, 0..400);
    recording.flush(CLOCK.ticks + 400).unwrap();
    std::fs::remove_file(&path).unwrap();
    emit(&mut recording, 400..450);
    recording.flush(CLOCK.ticks + 450).unwrap();
    assert_eq!(codes(&mut recording), ["file-deleted"]);
    assert_eq!(events(&path), 450);
    assert!(recording.close(CLOCK.ticks + 500).error.is_none());
    assert_eq!(events(&path), 450);
}

#[test]
fn a_file_that_takes_the_name_is_left_alone() {
    let dir = scratch("disk_replaced").unwrap();
    let path = dir.path().join("leak.jfr");
    let mut recording = open(&path);
    emit(&mut recording, 0..10);
    recording.flush(CLOCK.ticks + 10).unwrap();
    let other = dir.path().join("other");
    std::fs::write(&other, "another's").unwrap();
    std::fs::rename(&other, &path).unwrap();
    emit(&mut recording, 10..20);
    recording.flush(CLOCK.ticks + 20).unwrap();
    assert_eq!(codes(&mut recording), ["file-replaced"]);
    let actual = recording.path().to_path_buf();
    assert_ne!(actual, path);
    assert!(recording.close(CLOCK.ticks + 500).error.is_none());
    assert_eq!(events(&actual), 20);
    assert_eq!(std::fs::read(&path).unwrap(), b"another's");
}

#[test]
fn a_folder_that_is_gone_is_said_once_and_used_again_when_it_is_back() {
    let dir = scratch("disk_folder").unwrap();
    let folder = dir.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("leak.jfr");
    let mut recording = open(&path);
    emit(&mut recording, 0..10);
    recording.flush(CLOCK.ticks + 10).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    for sequence in 10..13 {
        emit(&mut recording, sequence..sequence + 1);
        let error = recording.flush(CLOCK.ticks + sequence).unwrap_err();
        assert!(matches!(error, WriteError::Io { .. }), "{error}");
    }
    std::fs::create_dir(&folder).unwrap();
    recording.flush(CLOCK.ticks + 20).unwrap();
    let said = ["file-not-writing", "file-deleted", "file-writing-again"];
    assert_eq!(codes(&mut recording), said);
    assert_eq!(events(&path), 13);
    assert!(recording.close(CLOCK.ticks + 500).error.is_none());
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// Has `test` run again in a process with a file system of `size` of its own, which `test` finds by [`own_mount`].
fn in_a_mount(test: &str, size: &str) {
    let dir = scratch("disk_mount").unwrap();
    let ways = [&["--mount"][..], &["--map-root-user", "--mount"]];
    let inner = format!("mount -t tmpfs -o size={size} tmpfs \"${OWN_MOUNT}\" && exec \"$@\"");
    let command = |way: &[&str]| {
        Child::new("unshare")
            .args(way)
            .args(["sh", "-c", &inner, "sh"])
            .env(OWN_MOUNT, dir.path())
    };
    let works = |way: &&&[&str]| {
        command(way)
            .arg("true")
            .run(LIMIT)
            .is_ok_and(|out| out.ok())
    };
    let Some(way) = ways.iter().find(works) else {
        return skip(test, "unshare with a mount of its own");
    };
    let out = command(way)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .run(LIMIT)
        .unwrap();
    assert!(out.ok() && out.stdout.contains("1 passed"), "{out}");
}

fn own_mount() -> Option<PathBuf> {
    std::env::var_os(OWN_MOUNT).map(PathBuf::from)
}

#[test]
fn a_full_file_system_costs_nothing_that_fits_memory() {
    let Some(mount) = own_mount() else {
        return in_a_mount("a_full_file_system_costs_nothing_that_fits_memory", "400k");
    };
    let path = mount.join("leak.jfr");
    let mut recording = open(&path);
    emit(&mut recording, 0..10);
    recording.flush(CLOCK.ticks + 10).unwrap();
    let ballast = mount.join("ballast");
    let filled = std::fs::write(&ballast, vec![1; 1 << 20]).unwrap_err();
    assert_eq!(filled.kind(), std::io::ErrorKind::StorageFull);
    // The rest of the page in use can still be had; then nothing can, and a chunk ends.
    let mut acknowledged = 10;
    for sequence in (10..500).step_by(10) {
        emit(&mut recording, sequence..sequence + 10);
        match recording.flush(CLOCK.ticks + sequence) {
            Ok(()) => acknowledged = sequence + 10,
            Err(error) => assert!(matches!(error, WriteError::DiskFull { .. }), "{error}"),
        }
        assert!(events(&path) >= acknowledged);
    }
    std::fs::remove_file(&ballast).unwrap();
    recording.flush(CLOCK.ticks + 600).unwrap();
    assert_eq!(events(&path), 500);
    let said = ["file-not-writing", "file-writing-again"];
    assert_eq!(codes(&mut recording), said);
    assert_eq!(recording.counters().events_dropped, 0);
    assert!(recording.close(CLOCK.ticks + 700).error.is_none());
    assert_eq!(events(&path), 500);
}

#[test]
fn a_read_only_file_system_is_named() {
    let Some(mount) = own_mount() else {
        return in_a_mount("a_read_only_file_system_is_named", "1m");
    };
    let remount = |how: &str| {
        let out = Child::new("mount")
            .args(["-o", &format!("remount,{how}")])
            .arg(&mount)
            .run(LIMIT);
        assert!(out.unwrap().ok());
    };
    remount("ro");
    let path = mount.join("leak.jfr");
    let opened = Recording::open(&path, CLOCK, CLOCK.ticks, Options::default());
    let error = opened.err().unwrap();
    assert!(matches!(error, OpenError::Create { .. }), "{error}");
    assert!(
        error.to_string().contains("Read-only file system"),
        "{error}"
    );
    remount("rw");
    let mut recording = open(&path);
    emit(&mut recording, 0..3);
    assert!(recording.close(CLOCK.ticks + 10).error.is_none());
    assert_eq!(events(&path), 3);
}
