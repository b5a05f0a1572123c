//! Every row of the specification table points to something that exists.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

const TABLE: &str = include_str!("../src/specification.md");

/// Whether `src/<module>.rs` declares `name`.
fn declares(source: &str, name: &str) -> bool {
    ["fn", "struct", "enum", "const", "trait", "type"]
        .iter()
        .flat_map(|keyword| [" ", "<", "(", ":", "\n"].map(|end| format!("{keyword} {name}{end}")))
        .any(|declaration| source.contains(&declaration))
        || source.contains(&format!("    {name}: "))
}

fn rows() -> Vec<Vec<&'static str>> {
    TABLE
        .lines()
        .filter(|l| l.starts_with("| ") && !l.starts_with("| section"))
        .map(|l| l.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect()
}

#[test]
fn every_row_points_to_an_item_that_exists() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut items = 0;
    for row in rows() {
        assert_eq!(row.len(), 3, "{row:?}");
        let links: Vec<&str> = row[2]
            .split("[`")
            .skip(1)
            .map(|l| l.split("`]").next().unwrap())
            .collect();
        assert!(!links.is_empty(), "{row:?} points to nothing");
        for link in links {
            let mut parts = link.split("::");
            let module = parts.next().unwrap();
            let source = std::fs::read_to_string(root.join(format!("{module}.rs")));
            let source = source.unwrap_or_else(|e| panic!("{link}: {e}"));
            for name in parts {
                assert!(declares(&source, name), "{link}: no {name} in {module}.rs");
                items += 1;
            }
        }
    }
    assert!(items > 80, "{items}");
}

#[test]
fn every_section_has_rows() {
    let sections: BTreeSet<u32> = rows().iter().map(|r| r[0].parse().unwrap()).collect();
    assert_eq!(sections, (1..=15).collect());
}

#[test]
fn every_improvement_has_its_demonstration() {
    let tests = include_str!("section_14.rs");
    let named = |line: &'static str| line.strip_prefix("- section ")?.split('`').nth(1);
    let names: Vec<&str> = TABLE.lines().filter_map(named).collect();
    let switches = include_str!("../src/config.rs");
    let improvements = switches
        .split_once("pub struct Improvements {")
        .and_then(|(_, rest)| rest.split_once("\n}"))
        .map_or(0, |(fields, _)| fields.matches(": bool,").count());
    assert_eq!(names.len(), improvements, "one for each switch: {names:?}");
    for name in names {
        assert!(tests.contains(&format!("fn {name}()")), "no test {name}");
    }
}
