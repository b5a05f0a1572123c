//! Where output goes: closed pipes, links, pipes and devices, folders that are not there; and that what was not
//! read is said by every command, once, and safely.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/recordings")
}

fn recording(name: &str) -> String {
    fixtures().join(name).to_str().unwrap().to_owned()
}

fn run_in(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_jfr-chains"))
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The exit code when nobody reads standard output and nothing else is wrong.
fn code_with_closed_pipe(args: &[&str]) -> i32 {
    let output = with_closed_pipe(args);
    assert_eq!(stderr(&output), "", "{args:?}");
    output.status.code().unwrap()
}

fn with_closed_pipe(args: &[&str]) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Command::new(env!("CARGO_BIN_EXE_jfr-chains"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap()
}

#[test]
fn a_verdict_survives_a_reader_that_has_enough() {
    let leak = recording("orders-leak.jfr");
    let healthy = recording("orders-healthy.jfr");
    let dir = tempfile::tempdir().unwrap();
    let [junit, sarif, log] = ["leaks.xml", "leaks.sarif", "gc.log"]
        .map(|name| dir.path().join(name).to_str().unwrap().to_owned());
    // Two collections of a JDK 8 JVM; the second fails to promote.
    std::fs::write(
        &log,
        "1.000: [GC1.000: [ParNew: 100K->10K(200K), 0.0100000 secs] 100K->10K(1000K), 0.0100000 secs]\n\
         2.000: [GC2.000: [ParNew (promotion failed): 200K->200K(200K), 0.5000000 secs] 900K->900K(1000K), 0.5000000 secs]\n",
    )
    .unwrap();
    assert_eq!(
        code_with_closed_pipe(&["check", &leak, "--junit", &junit, "--sarif", &sarif]),
        1
    );
    assert!(
        std::fs::read_to_string(&junit)
            .unwrap()
            .contains("d27875f1")
    );
    assert!(
        std::fs::read_to_string(&sarif)
            .unwrap()
            .contains("d27875f1")
    );
    assert_eq!(code_with_closed_pipe(&["check", "--github", &healthy]), 0);
    assert_eq!(code_with_closed_pipe(&["diff", &healthy, &leak]), 1);
    assert_eq!(
        code_with_closed_pipe(&["gc", "--fail-on", "critical", &log]),
        1
    );
    assert_eq!(
        code_with_closed_pipe(&["report", &recording("jdk-no-paths.jfr")]),
        3
    );
    for args in [
        ["report", &leak],
        ["events", &leak],
        ["summary", &leak],
        ["baseline", &leak],
    ] {
        assert_eq!(code_with_closed_pipe(&args), 0, "{args:?}");
    }
    for command in ["events", "summary", "report"] {
        let args = [command, "nosuch.jfr", &leak];
        assert_eq!(with_closed_pipe(&args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn a_check_of_inputs_that_were_not_read_says_so_to_the_build_server() {
    let dir = tempfile::tempdir().unwrap();
    let healthy = recording("orders-healthy.jfr");
    for inputs in [&["nosuch.jfr"][..], &["nosuch.jfr", &healthy]] {
        let args = [&["check", "--junit", "leaks.xml"], inputs].concat();
        let output = run_in(dir.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let junit = std::fs::read_to_string(dir.path().join("leaks.xml")).unwrap();
        assert!(junit.contains("nosuch.jfr: No such file"), "{junit}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("PASSED"));
        std::fs::remove_file(dir.path().join("leaks.xml")).unwrap();
    }
}

#[test]
fn a_pipe_is_written_to_and_stays_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let leak = recording("orders-leak.jfr");
    for args in [["report", &leak], ["recover", &leak], ["summary", &leak]] {
        let copy = dir.path().join("copy");
        let mut reader = Command::new("cat")
            .arg(&fifo)
            .stdout(std::fs::File::create(&copy).unwrap())
            .spawn()
            .unwrap();
        let output = run_in(dir.path(), &[args[0], args[1], "-o", "fifo"]);
        let kind = std::fs::symlink_metadata(&fifo).unwrap().file_type();
        if !kind.is_fifo() {
            reader.kill().unwrap();
        }
        reader.wait().unwrap();
        assert!(kind.is_fifo(), "{args:?} replaced the pipe");
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        assert!(std::fs::metadata(&copy).unwrap().len() > 500, "{args:?}");
        assert!(!dir.path().join("fifo.part").exists());
    }
}

#[test]
fn a_link_is_followed_and_the_input_may_be_the_output() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real.jfr");
    let link = dir.path().join("link.jfr");
    std::fs::copy(recording("orders-leak.jfr"), &real).unwrap();
    std::os::unix::fs::symlink("real.jfr", &link).unwrap();
    let output = run_in(dir.path(), &["recover", "real.jfr", "-o", "link.jfr"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    let output = run_in(dir.path(), &["check", "real.jfr"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_file_that_is_there_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    for command in ["report", "summary", "recover", "export", "replay"] {
        std::fs::write(dir.path().join("old"), "old").unwrap();
        std::os::unix::fs::symlink("old", dir.path().join("link")).unwrap();
        for out in ["old", "link"] {
            let leak = recording("orders-leak.jfr");
            let output = run_in(dir.path(), &[command, &leak, "-o", out]);
            assert!(output.status.success(), "{command}: {}", stderr(&output));
            let written = std::fs::read(dir.path().join("old")).unwrap();
            assert_ne!(written, b"old", "{command} {out}");
        }
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            2,
            "{command}"
        );
        std::fs::remove_file(dir.path().join("link")).unwrap();
    }
}

#[test]
fn an_output_that_cannot_be_made_is_named_and_the_input_is_not_blamed() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    let leak = recording("orders-leak.jfr");
    for command in [
        "report", "baseline", "summary", "events", "recover", "export", "replay",
    ] {
        for out in ["nowhere/out", "folder"] {
            let output = run_in(dir.path(), &[command, &leak, "-o", out]);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{command} {out}: {said}");
            let named = out.split('/').next().unwrap();
            assert!(said.contains(named), "{command} {out}: {said}");
            assert!(!said.contains("salvaged"), "{command} {out}: {said}");
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_missing_input_is_said_once() {
    let dir = tempfile::tempdir().unwrap();
    for command in [
        "report", "check", "baseline", "summary", "events", "recover", "export", "replay", "gc",
    ] {
        let out: &[&str] = match command {
            "recover" | "export" => &["-o", "out.jfr"],
            _ => &[],
        };
        for input in ["nosuch.jfr", "."] {
            let output = run_in(dir.path(), &[&[command, input], out].concat());
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{command} {input}: {said}");
            assert_eq!(said.lines().count(), 1, "{command} {input}: {said}");
            assert!(said.starts_with("jfr-chains: "), "{command}: {said}");
            let cause = if input == "." {
                "is a directory"
            } else {
                "No such file"
            };
            assert_eq!(said.matches(cause).count(), 1, "{command} {input}: {said}");
        }
    }
}

#[test]
fn what_was_not_read_is_said_by_chunk_and_offset_whatever_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(recording("orders-healthy.jfr")).unwrap();
    let cut = whole.len() * 6 / 10;
    std::fs::write(dir.path().join("cut.jfr"), &whole[..cut]).unwrap();
    for args in [
        &["check", "cut.jfr"][..],
        &["baseline", "cut.jfr"],
        &["diff", "cut.jfr", &recording("orders-leak.jfr")],
        &["export", "cut.jfr", "-o", "out.jfr"],
        &["recover", "cut.jfr", "-o", "out.jfr"],
        &["replay", "cut.jfr"],
        &["summary", "cut.jfr"],
        &["events", "cut.jfr"],
    ] {
        let output = run_in(dir.path(), args);
        let wanted = format!("cut.jfr: chunk 0, offset {cut}: the chunk is cut off");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        // Said in text of 80 columns, some of them wrap it.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.matches(&wanted).count(), 1, "{args:?}: {said}");
    }
    // A whole recording has nothing to say on standard error.
    let output = run_in(dir.path(), &["check", &recording("orders-healthy.jfr")]);
    assert_eq!(stderr(&output), "");
}

#[test]
fn no_file_name_reaches_the_terminal_as_an_escape_sequence() {
    let dir = tempfile::tempdir().unwrap();
    let name = "a\u{1b}[31mb.jfr";
    std::fs::write(dir.path().join(name), b"no recording").unwrap();
    let missing = "c\u{1b}[2Jd.jfr";
    for input in [name, missing] {
        for command in [
            "report", "check", "summary", "events", "gc", "replay", "recover", "export",
        ] {
            let args: &[&str] = match command {
                "recover" | "export" => &[command, input, "-o", "out.jfr"],
                _ => &[command, input],
            };
            let output = run_in(dir.path(), args);
            let said = [output.stdout, output.stderr].concat();
            assert!(
                !said.contains(&0x1b),
                "{command}: {:?}",
                String::from_utf8_lossy(&said)
            );
        }
    }
    std::fs::copy(recording("orders-leak.jfr"), dir.path().join(name)).unwrap();
    for command in ["recover", "export"] {
        let output = run_in(dir.path(), &[command, name, "-o", "out\u{1b}[31m.jfr"]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("out\\u{1b}[31m.jfr"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn a_check_keeps_to_80_columns() {
    for name in [
        "finalizer.jfr",
        "walk-cancelled.jfr",
        "jdk-no-paths.jfr",
        "soft-cache.jfr",
    ] {
        let output = run_in(&fixtures(), &["check", name]);
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            // A single name may be longer.
            let words = line
                .split_whitespace()
                .filter(|word| *word != "FAIL")
                .count();
            assert!(line.chars().count() <= 80 || words == 1, "{name}: {line}");
        }
    }
}

#[test]
fn a_replay_takes_one_start_of_an_agent_after_the_other() {
    // Two starts, one after the other, each counted from 1; in any order of the files.
    for files in [
        ["orders-leak.jfr", "two-leaks.jfr"],
        ["two-leaks.jfr", "orders-leak.jfr"],
    ] {
        let output = run_in(&fixtures(), &[&["replay"], &files[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, "272 decisions replayed, 0 decided otherwise\n");
    }
    // The same events twice are the same events.
    let output = run_in(
        &fixtures(),
        &["replay", "orders-leak.jfr", "orders-leak.jfr"],
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "121 decisions replayed, 0 decided otherwise\n");
}

#[test]
fn no_output_takes_the_place_of_its_input() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("leak.jfr");
    std::fs::copy(recording("orders-leak.jfr"), &path).unwrap();
    let link = dir.path().join("link.jfr");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let before = std::fs::read(&path).unwrap();
    for args in [
        &["report", "leak.jfr", "-o", "leak.jfr"][..],
        &["report", "leak.jfr", "-o", "./leak.jfr"],
        &["report", "link.jfr", "-o", "leak.jfr"],
        &["summary", "leak.jfr", "-o", "link.jfr"],
        &["events", "leak.jfr", "-o", "leak.jfr"],
        &["gc", "leak.jfr", "-o", "leak.jfr"],
        &["replay", "leak.jfr", "-o", "leak.jfr"],
        &["diff", "leak.jfr", "leak.jfr", "-o", "leak.jfr"],
        &["baseline", "leak.jfr", "-o", "leak.jfr"],
        &["check", "leak.jfr", "--junit", "leak.jfr"],
        &["check", "leak.jfr", "--sarif", "leak.jfr"],
    ] {
        let output = run_in(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = stderr(&output);
        assert!(said.contains("is the input"), "{args:?}: {said}");
        assert!(std::fs::read(&path).unwrap() == before, "{args:?}");
    }
}

#[test]
fn every_complaint_says_who_complains() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(recording("orders-leak.jfr")).unwrap();
    std::fs::write(dir.path().join("cut.jfr"), &whole[..whole.len() / 2]).unwrap();
    for args in [
        &["summary", "no-such.jfr", "cut.jfr", "--format", "csv"][..],
        &["events", "no-such.jfr", "cut.jfr", "--type", "no.Such"],
        &["events", "cut.jfr", "--from", "yesterday"],
        &["events", "cut.jfr", "--format", "csv"],
        &["recover", "cut.jfr", "-o", "out.jfr"],
        &["check", "no-such.jfr", "cut.jfr"],
        &["gc", "no-such.jfr", "cut.jfr"],
    ] {
        let said = stderr(&run_in(dir.path(), args));
        assert!(!said.is_empty(), "{args:?}");
        for line in said.lines() {
            assert!(line.starts_with("jfr-chains: "), "{args:?}: {line}");
        }
    }
}

#[test]
fn an_output_keeps_its_content_when_there_is_nothing_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    let leak = recording("orders-leak.jfr");
    for args in [
        &["summary", "no-such.jfr"][..],
        &["summary", "no-such.jfr", "--format", "json"],
        &["events", "no-such.jfr", "--format", "json"],
        &["events", &leak, "--from", "yesterday"],
        &["events", &leak, "--format", "csv"],
    ] {
        std::fs::write(&kept, "kept").unwrap();
        let output = run_in(dir.path(), &[args, &["-o", "kept"]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "kept", "{args:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_summary_keeps_to_80_columns() {
    let dir = tempfile::tempdir().unwrap();
    let [leak, healthy] = ["orders-leak.jfr", "orders-healthy.jfr"].map(recording);
    std::fs::copy(&leak, dir.path().join("leak.jfr")).unwrap();
    std::fs::copy(&healthy, dir.path().join("healthy.jfr")).unwrap();
    let output = run_in(dir.path(), &["summary", "leak.jfr", "healthy.jfr"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    // A heading for each file, a line for each of its chunks.
    let first = text.lines().nth(2).unwrap();
    assert!(text.starts_with("leak.jfr\nchunk "), "{text}");
    assert!(text.contains("\n\nhealthy.jfr\nchunk "), "{text}");
    assert!(first.starts_with("    0           0 "), "{first}");
    assert!(first.contains("Z ") && first.ends_with(" s"), "{first}");
}
