//! Rules of the house: who may depend on whom, where unsafe code may be, which licences come in.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Child, workspace};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Allowed edges between our crates; the crates that are not listed may use any.
const EDGES: [(&str, &[&str]); 6] = [
    ("chain-core", &[]),
    ("jfr-format", &[]),
    ("attach", &[]),
    ("jfr-writer", &["jfr-format"]),
    (
        "jfr-chains-analyzer",
        &["attach", "chain-core", "jfr-format", "jfr-writer"],
    ),
    (
        "jfr-chains-agent",
        &["chain-core", "jfr-format", "jfr-writer"],
    ),
];

/// The only places for unsafe code: a folder, and one block of the analyzer (the memory map).
const UNSAFE_FOLDER: &str = "agent/src/jvm/";
/// The walk's test probe, which makes a JVM inside its own process; it is in nothing that ships.
const UNSAFE_PROBE: &str = "agent/examples/walk_probe.rs";
const UNSAFE_BLOCKS_OF_THE_ANALYZER: usize = 1;

fn metadata(arguments: &[&str]) -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let out = Child::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(arguments)
        .current_dir(workspace())
        .run(Duration::from_secs(300))
        .unwrap();
    assert!(out.ok(), "{out}");
    serde_json::from_str(&out.stdout).unwrap()
}

fn packages(metadata: &Value) -> &Vec<Value> {
    metadata["packages"].as_array().unwrap()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap()
}

#[test]
fn our_crates_depend_on_each_other_only_along_the_drawn_arrows() {
    let metadata = metadata(&["--no-deps"]);
    let ours: BTreeSet<&str> = packages(&metadata).iter().map(name).collect();
    let allowed: BTreeMap<&str, &[&str]> = EDGES.into_iter().collect();
    assert!(
        allowed.keys().all(|krate| ours.contains(krate)),
        "a crate of the table is gone: {ours:?}"
    );
    let mut wrong = Vec::new();
    for package in packages(&metadata) {
        let Some(may) = allowed.get(name(package)) else {
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            let target = name(dependency);
            let for_tests = dependency["kind"] == "dev" && target == "jfr-chains-tests";
            if ours.contains(target)
                && !may.contains(&target)
                && !for_tests
                && target != name(package)
            {
                wrong.push(format!("{} -> {target}", name(package)));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "edges that ARCHITECTURE.md does not draw: {wrong:?}"
    );
}

fn rust_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                rust_files(&path, files);
            }
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
}

/// Our Rust files, as paths below the workspace.
fn sources() -> Vec<String> {
    let mut files = Vec::new();
    rust_files(&workspace(), &mut files);
    let below = |path: PathBuf| {
        path.strip_prefix(workspace())
            .unwrap()
            .to_string_lossy()
            .into_owned()
    };
    files.into_iter().map(below).collect()
}

/// How often the keyword stands in the code, outside comments, strings and lint names.
fn count_unsafe(source: &str) -> usize {
    let code = |line: &str| {
        let line = line.replace("\\\"", "");
        let line = line.split("//").next().unwrap_or_default();
        line.split('"').step_by(2).collect::<Vec<_>>().join(" ")
    };
    let words = |line: String| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|w| *w == "unsafe")
            .count()
    };
    source.lines().map(code).map(words).sum()
}

#[test]
fn unsafe_code_stays_in_its_rooms() {
    assert_eq!(count_unsafe("unsafe { x() } // unsafe"), 1);
    assert_eq!(
        count_unsafe("#![forbid(unsafe_code)] let s = \"unsafe\";"),
        0
    );
    let mut wrong = Vec::new();
    let mut analyzer = 0;
    for file in sources() {
        let count = count_unsafe(&std::fs::read_to_string(workspace().join(&file)).unwrap());
        if count == 0 || file.starts_with(UNSAFE_FOLDER) || file == UNSAFE_PROBE {
            continue;
        }
        if file.starts_with("analyzer/src/") {
            analyzer += count;
        } else {
            wrong.push(file);
        }
    }
    assert!(
        wrong.is_empty(),
        "unsafe code outside {UNSAFE_FOLDER}: {wrong:?}"
    );
    assert!(
        analyzer <= UNSAFE_BLOCKS_OF_THE_ANALYZER,
        "the analyzer has {analyzer} unsafe blocks"
    );
}

#[test]
fn every_crate_root_forbids_unsafe_code_but_two() {
    let metadata = metadata(&["--no-deps"]);
    for package in packages(&metadata) {
        let denied_only = matches!(name(package), "jfr-chains-agent" | "jfr-chains-analyzer");
        for target in package["targets"].as_array().unwrap() {
            let kinds = target["kind"].as_array().unwrap();
            if !kinds
                .iter()
                .any(|kind| ["lib", "cdylib", "bin"].contains(&kind.as_str().unwrap()))
            {
                continue;
            }
            let path = target["src_path"].as_str().unwrap();
            let source = std::fs::read_to_string(path).unwrap();
            let forbidden = source.contains("#![forbid(unsafe_code)]");
            let denied = source.contains("#![deny(unsafe_code)]");
            assert!(
                forbidden || (denied_only && (denied || kinds.iter().any(|k| k == "bin"))),
                "{path}"
            );
        }
    }
}

/// The licences that deny.toml allows.
fn allowed_licences() -> Vec<spdx::Licensee> {
    let text = std::fs::read_to_string(workspace().join("deny.toml")).unwrap();
    let deny: toml::Table = text.parse().unwrap();
    let allow = deny["licenses"]["allow"].as_array().unwrap();
    allow
        .iter()
        .map(|name| spdx::Licensee::parse(name.as_str().unwrap()).unwrap())
        .collect()
}

#[test]
fn every_dependency_has_a_licence_that_deny_toml_allows() {
    let allowed = allowed_licences();
    let metadata = metadata(&["--all-features"]);
    let mut wrong = Vec::new();
    for package in packages(&metadata) {
        let licence = package["license"].as_str().unwrap_or_default();
        let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
        let fits = expression.is_ok_and(|expression| {
            expression
                .evaluate(|required| allowed.iter().any(|licensee| licensee.satisfies(required)))
        });
        if !fits {
            wrong.push(format!(
                "{} {}: {licence:?}",
                name(package),
                package["version"]
            ));
        }
    }
    assert!(wrong.is_empty(), "licences outside deny.toml: {wrong:#?}");
    assert!(
        packages(&metadata).len() > 20,
        "cargo metadata lists the dependencies"
    );
}

#[test]
fn every_dependency_comes_from_the_registry_or_the_workspace() {
    for package in packages(&metadata(&[])) {
        let source = package["source"].as_str();
        assert!(
            source.is_none_or(|source| source.starts_with("registry+")),
            "{} {source:?}",
            name(package)
        );
    }
}
