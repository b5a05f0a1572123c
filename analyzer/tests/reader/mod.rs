//! What the reader's tests share.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::path::{Path, PathBuf};

/// The shared recordings: the folder that `JFR_CHAINS_SHARED` names, by default `../shared`.
pub struct Corpus {
    root: PathBuf,
    index: String,
}

/// One line of the corpus's index.
pub struct Entry {
    pub name: String,
    pub path: PathBuf,
    /// Events by the JDK 17's `jfr summary`; `None` where it fails.
    pub events: Option<u64>,
    /// Whether JDK 25's `jfr print` reads the file.
    pub prints: bool,
}

/// The corpus, or `None` with a line that says so.
pub fn corpus() -> Option<Corpus> {
    let root = std::env::var_os("JFR_CHAINS_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let root = root.join("corpus");
    match std::fs::read_to_string(root.join("INDEX.tsv")) {
        Ok(index) => Some(Corpus { root, index }),
        Err(error) => {
            eprintln!("skipped: no corpus at {} ({error})", root.display());
            None
        }
    }
}

impl Corpus {
    /// The recordings, damaged ones included.
    pub fn entries(&self) -> Vec<Entry> {
        self.index
            .lines()
            .skip(1)
            .filter_map(|line| {
                let columns: Vec<&str> = line.split('\t').collect();
                let name = *columns.first()?;
                name.ends_with(".jfr").then(|| Entry {
                    name: name.to_owned(),
                    path: self.root.join(name),
                    events: columns.get(4).and_then(|events| events.parse().ok()),
                    prints: columns.get(5).is_some_and(|prints| *prints == "ok"),
                })
            })
            .collect()
    }

    /// One recording by its name in the index.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}
