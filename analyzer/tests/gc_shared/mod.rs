//! Finds the shared GC data and reads logs.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use jfr_chains_analyzer::gc::analysis::{Analysis, Builder};
use jfr_chains_analyzer::gc::{intake::Intake, lines};
use jfr_chains_analyzer::input::Input;

/// A folder of the shared data, or `None` after saying by name what is skipped.
pub fn shared(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("JFR_CHAINS_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let dir = root.join(folder);
    if dir.is_dir() {
        return Some(dir);
    }
    eprintln!("skipped: {folder} is not at {}", root.display());
    None
}

/// Reads one log file.
pub fn read_log(path: &Path) -> Intake {
    let mut intake = Intake::default();
    let file = std::fs::File::open(path).unwrap();
    lines::read(std::io::BufReader::new(file), &mut intake, &mut |_| {}).unwrap();
    intake
}

/// Analyses one file.
pub fn analyse(path: &Path) -> Analysis {
    let mut builder = Builder::default();
    builder
        .add(Input::open(path).unwrap(), &mut |_| {})
        .unwrap();
    builder.finish()
}

/// Analyses a log given as text.
pub fn analyse_text(log: &str) -> Analysis {
    let mut builder = Builder::default();
    let input = Input::from_bytes("test.log".into(), log.as_bytes().to_vec()).unwrap();
    builder.add(input, &mut |_| {}).unwrap();
    builder.finish()
}

/// Reads a log given as bytes, without judging it.
pub fn read_text(log: &[u8]) -> Intake {
    let mut intake = Intake::default();
    lines::read(log, &mut intake, &mut |_| {}).unwrap();
    intake
}
