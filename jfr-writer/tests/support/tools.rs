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
