//! The shared recordings and what the JDK's tools make of them.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::path::PathBuf;

/// The recordings of the corpus.
pub struct Corpus {
    root: PathBuf,
    index: String,
}

/// One line of the corpus's index.
pub struct Entry {
    /// Path in the corpus, such as `jfr/one.jfr`.
    pub name: String,
    pub path: PathBuf,
    /// Events by the JDK 17's `jfr summary`; `None` where it fails.
    pub events: Option<u64>,
    /// Whether JDK 25's `jfr print` reads the file.
    pub prints: bool,
}

/// The corpus; `None`, and a line that says so, when it is not here.
pub fn corpus(test: &str) -> Option<Corpus> {
    let root = jfr_chains_tests::shared().map(|shared| shared.join("corpus"));
    let index = root
        .as_ref()
        .and_then(|root| std::fs::read_to_string(root.join("INDEX.tsv")).ok());
    match (root, index) {
        (Some(root), Some(index)) => Some(Corpus { root, index }),
        _ => {
            jfr_chains_tests::skip(test, "the shared corpus");
            None
        }
    }
}

impl Corpus {
    /// The recordings, damaged ones included.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |line: &str| {
            let columns: Vec<&str> = line.split('\t').collect();
            let name = *columns.first()?;
            name.ends_with(".jfr").then(|| Entry {
                name: name.to_owned(),
                path: self.root.join(name),
                events: columns.get(4).and_then(|events| events.parse().ok()),
                prints: columns.get(5).is_some_and(|prints| *prints == "ok"),
            })
        };
        self.index.lines().skip(1).filter_map(entry).collect()
    }

    /// One recording by its name in the index.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}
