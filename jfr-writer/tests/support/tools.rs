//! The JDK's own tools as judges.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Child, Jdk, skip};
use std::path::Path;
use std::time::Duration;

/// The JDKs that judge: 17 and 25, each named when it is missing.
pub fn judges(test: &str) -> Vec<Jdk> {
    let mut judges = Vec::new();
    for feature in [17, 25] {
        match Jdk::feature(feature).filter(|jdk| jdk.tool("jfr").is_some()) {
            Some(jdk) => judges.push(jdk),
            None => skip(test, &format!("JDK {feature} with its jfr tool")),
        }
    }
    judges
}

/// What `jfr ARGS FILE` prints; it must end with success and say nothing on stderr.
pub fn jfr(jdk: &Jdk, args: &[&str], file: &Path) -> String {
    let out = Child::new(jdk.tool("jfr").unwrap())
        .args(args)
        .arg(file)
        .run(Duration::from_secs(120))
        .unwrap();
    assert!(
        out.ok(),
        "jfr {args:?} {} of JDK {}: {out}",
        file.display(),
        jdk.release()
    );
    assert!(
        out.stderr.is_empty() && !out.stdout.contains("\tat "),
        "{out}"
    );
    out.stdout
}

/// Counts by type of `jfr summary`.
pub fn counts(jdk: &Jdk, file: &Path) -> Vec<(String, u64)> {
    jfr(jdk, &["summary"], file)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, count) = (words.next()?, words.next()?.parse().ok()?);
            (words.count() == 1 && name.contains('.')).then(|| (name.to_owned(), count))
        })
        .collect()
}

/// The count of one type.
pub fn count(jdk: &Jdk, file: &Path, name: &str) -> u64 {
    counts(jdk, file)
        .into_iter()
        .find(|(known, _)| known == name)
        .map_or(0, |(_, count)| count)
}

/// Has one JVM read and print every file of `folder` in full; (file name, verdict) with the event counts as
/// `ok LENGTH {type=count,...}` or `ERROR ...`.
pub fn judge_folder(jdk: &Jdk, folder: &Path) -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Judge.java");
    let verdicts = folder.with_extension(format!("verdicts-{}", jdk.release()));
    let out = Child::java(jdk)
        .arg(source)
        .arg(folder)
        .arg(&verdicts)
        .run(Duration::from_secs(540))
        .unwrap();
    assert!(out.ok(), "{out}");
    std::fs::read_to_string(verdicts)
        .unwrap()
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, verdict)| (name.to_owned(), verdict.to_owned()))
        .collect()
}

/// The count of one type in a verdict.
pub fn judged(verdict: &str, name: &str) -> u64 {
    assert!(verdict.starts_with("ok "), "{verdict}");
    let (_, counts) = verdict.split_once('{').unwrap();
    counts
        .trim_end_matches('}')
        .split(',')
        .filter_map(|pair| pair.split_once('='))
        .find(|(known, _)| *known == name)
        .map_or(0, |(_, count)| count.parse().unwrap())
}
