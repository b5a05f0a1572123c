//! Where things are: workspace, target folder, shared corpus, cached JDKs.

use std::path::{Path, PathBuf};

/// The root of the workspace: the folder above this crate's.
pub fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// Cargo's target folder: `CARGO_TARGET_DIR`, else `target` in the workspace.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => workspace().join(dir),
        None => workspace().join("target"),
    }
}

/// The folder with the recordings and vectors that several checkouts share: `JFR_CHAINS_SHARED`, else
/// `shared` beside the workspace. `None` when it does not exist: skip what needs it and say so.
pub fn shared() -> Option<PathBuf> {
    let dir = match std::env::var_os("JFR_CHAINS_SHARED") {
        Some(dir) => PathBuf::from(dir),
        None => workspace().parent()?.join("shared"),
    };
    dir.is_dir().then_some(dir)
}

/// Where `cargo xtask test` unpacks the runtimes it installs, one folder each:
/// `$XDG_CACHE_HOME/jfr-chains/jdks`, else `~/.cache/jfr-chains/jdks`.
pub fn cached_jdks() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache
        .or_else(home)
        .unwrap_or_else(std::env::temp_dir)
        .join("jfr-chains")
        .join("jdks")
}

/// A fresh folder under the target folder, removed when the returned guard is dropped.
///
/// Set `JFR_CHAINS_KEEP=1` to keep such folders; the path is then printed.
pub fn scratch(name: &str) -> std::io::Result<tempfile::TempDir> {
    let base = target_dir().join("scratch");
    std::fs::create_dir_all(&base)?;
    let keep = std::env::var_os("JFR_CHAINS_KEEP").is_some_and(|value| value == "1");
    let dir = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .disable_cleanup(keep)
        .tempdir_in(base)?;
    if keep {
        eprintln!("kept: {}", dir.path().display());
    }
    Ok(dir)
}
