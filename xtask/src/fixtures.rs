//! `cargo xtask fixtures`: compiled Java fixtures, recordings of them, and their manifest.

mod record;

use anyhow::{Context as _, ensure};
use jfr_chains_tests::{java_fixtures, workspace};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# Files of fixtures/ with size and CRC-32.
# Recipe: javac --release 11 for java/, --release 21 for java21/ (`cargo xtask fixtures` does it, classes go to
# target/fixtures/); cc -shared -fPIC with the JDK's include folder for native/. This list: `cargo xtask fixtures --bless`.
";

/// Options of `fixtures`.
#[derive(clap::Args)]
pub struct Options {
    /// Rewrites the manifest instead of checking it.
    #[arg(long)]
    bless: bool,
    /// Makes this recording of `fixtures/recordings` again, then stops; may be repeated. Takes as long as the
    /// program runs: about a minute each.
    #[arg(long, value_name = "FILE")]
    record: Vec<String>,
}

/// Compiles the fixtures, then checks `fixtures/MANIFEST` or writes it.
pub fn run(options: &Options) -> anyhow::Result<()> {
    if !options.record.is_empty() {
        return record::record(&options.record);
    }
    let compiled = java_fixtures()?;
    eprintln!("classes: {}", compiled.classes().display());
    if let Some(classes) = compiled.classes21() {
        eprintln!("classes for 21: {}", classes.display());
    }
    let path = workspace().join("fixtures/MANIFEST");
    let manifest = manifest(&workspace().join("fixtures"))?;
    if options.bless {
        std::fs::write(&path, manifest)?;
    } else {
        let held = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        ensure!(
            held == manifest,
            "fixtures/MANIFEST is stale: run `cargo xtask fixtures --bless`"
        );
    }
    Ok(())
}

/// One line a file: CRC-32, size, path; sorted by path.
fn manifest(root: &Path) -> anyhow::Result<String> {
    let mut files = Vec::new();
    collect(root, &mut files)?;
    files.sort();
    let mut text = HEAD.to_owned();
    for file in files {
        let name = file.strip_prefix(root)?;
        if name != Path::new("MANIFEST") {
            let bytes = std::fs::read(&file)?;
            writeln!(
                text,
                "{:08x} {:>7} {}",
                crc32fast::hash(&bytes),
                bytes.len(),
                name.display()
            )?;
        }
    }
    Ok(text)
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?
        } else {
            files.push(path)
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{manifest, workspace};

    #[test]
    fn the_manifest_lists_every_fixture_as_it_is() {
        let root = workspace().join("fixtures");
        let held = std::fs::read_to_string(root.join("MANIFEST")).unwrap();
        assert_eq!(
            held,
            manifest(&root).unwrap(),
            "run `cargo xtask fixtures --bless`"
        );
    }
}
