//! JDK Mission Control's core loader as a judge.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use crate::maven;
use jfr_chains_tests::{Child, Jdk, skip};
use std::path::Path;
use std::time::Duration;

/// What a judge says of each file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// How many events of each type.
    Counts,
    /// Every field and value, and every chain hop by hop, too.
    Values,
}

/// What the loader says of every file of `folder`, read by one JVM: blocks of lines in the files' order. `None` (and
/// said) where the loader or a JDK is missing.
pub fn judge(test: &str, folder: &Path, detail: Detail) -> Option<Vec<Vec<String>>> {
    let Some(jdk) = Jdk::feature(17)
        .or_else(|| Jdk::feature(25))
        .filter(Jdk::has_compiler)
    else {
        skip(test, "JDK 17 or 25");
        return None;
    };
    let reader = "JDK Mission Control's core loader";
    let jars = maven::jars(test, reader, "jmc", "flightrecorder-9.0.0.jar")?;
    let verdicts = folder.with_extension("jmc");
    let out = Child::java(&jdk)
        .arg("-cp")
        .arg(format!("{}/*", jars.display()))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/jmc/JmcJudge.java"))
        .arg(folder)
        .arg(&verdicts)
        .args((detail == Detail::Counts).then_some("counts"))
        .run(Duration::from_secs(300))
        .unwrap();
    assert!(out.ok(), "{out}");
    for warning in out
        .stderr
        .lines()
        .filter(|line| line.starts_with("WARNING") || line.starts_with("SEVERE"))
    {
        // Fillers are of a type that is no event; the loader skips them and says so. It also knows less of
        // a thread than JDK 21 and later write.
        let known = warning.ends_with("was not declared")
            || warning.contains("'virtual' in reader for 'thread'");
        assert!(known, "{out}");
    }
    let text = std::fs::read_to_string(&verdicts).unwrap();
    let lines = |block: &str| block.lines().skip(1).map(str::to_owned).collect();
    Some(text.split("FILE|").skip(1).map(lines).collect())
}

/// The events of one type in a file's block.
pub fn count(lines: &[String], name: &str) -> u64 {
    let found = lines
        .iter()
        .find_map(|line| line.strip_prefix(&format!("TYPE|{name}|")));
    found.map_or(0, |rest| rest.rsplit('|').next().unwrap().parse().unwrap())
}
