//! The agent library: built in and unpacked when needed, or beside the executable.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The agent of a release build; `None` in others, since cargo cannot put a library into a program that it builds
/// at the same time.
#[cfg(embedded_agent)]
const EMBEDDED: Option<&[u8]> = Some(include_bytes!(env!("JFR_CHAINS_AGENT_SO")));
#[cfg(not(embedded_agent))]
const EMBEDDED: Option<&[u8]> = None;

/// Names that it has beside the executable: as shipped, as built.
const NAMES: [&str; 2] = ["libjfr_chains.so", "libjfr_chains_agent.so"];

/// The agent library as a file: `given`, else the built-in one unpacked to the cache folder, else the one beside the
/// executable. Errs with what to build when there is none.
pub fn locate(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(path) = given {
        return path
            .canonicalize()
            .with_context(|| path.display().to_string());
    }
    if let Some(bytes) = EMBEDDED {
        return unpack(bytes, &cache_folder())
            .context("cannot unpack the agent; give --agent FILE");
    }
    let executable = std::env::current_exe()?;
    let folder = executable.parent().unwrap_or(Path::new("."));
    match NAMES
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.is_file())
    {
        Some(path) => Ok(path),
        None => bail!(
            "this build has no agent inside, and {} has none either: run `cargo build -p jfr-chains-agent` in the \
             source tree, or `cargo xtask dist` for a command with the agent inside, or give --agent FILE",
            folder.display()
        ),
    }
}

/// `$XDG_CACHE_HOME/jfr-chains`, else `~/.cache/jfr-chains`, else one in the temporary folder.
fn cache_folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from);
    let home = || {
        std::env::var_os("HOME")
            .filter(|dir| !dir.is_empty())
            .map(|home| PathBuf::from(home).join(".cache"))
    };
    cache
        .or_else(home)
        .unwrap_or_else(std::env::temp_dir)
        .join("jfr-chains")
}

/// Writes `bytes` under a name made of their CRC, unless they are there: a JVM that has the file mapped never sees it
/// change.
fn unpack(bytes: &[u8], cache: &Path) -> io::Result<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(cache)?;
    let path = cache.join(format!("libjfr_chains-{:08x}.so", crc32fast::hash(bytes)));
    if fs::read(&path).is_ok_and(|held| held == bytes) {
        return Ok(path);
    }
    let mut fresh = tempfile::NamedTempFile::new_in(cache)?;
    io::Write::write_all(&mut fresh, bytes)?;
    fresh
        .as_file()
        .set_permissions(fs::Permissions::from_mode(0o755))?;
    fresh.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::{locate, unpack};

    #[test]
    fn unpacking_twice_leaves_the_file_that_a_jvm_may_have_mapped() {
        use std::os::unix::fs::MetadataExt;
        let cache = tempfile::tempdir().unwrap();
        let first = unpack(b"agent", &cache.path().join("new")).unwrap();
        let inode = std::fs::metadata(&first).unwrap().ino();
        let second = unpack(b"agent", &cache.path().join("new")).unwrap();
        assert_eq!(
            (second.clone(), std::fs::metadata(&second).unwrap().ino()),
            (first.clone(), inode)
        );
        assert_ne!(
            unpack(b"other agent", &cache.path().join("new")).unwrap(),
            first
        );
    }

    #[test]
    fn a_damaged_copy_is_replaced() {
        let cache = tempfile::tempdir().unwrap();
        let path = unpack(b"agent", cache.path()).unwrap();
        std::fs::write(&path, b"half").unwrap();
        assert_eq!(
            std::fs::read(unpack(b"agent", cache.path()).unwrap()).unwrap(),
            b"agent"
        );
    }

    #[test]
    fn a_given_library_that_does_not_exist_is_named() {
        let error = locate(Some(std::path::Path::new("/no/such/agent.so"))).unwrap_err();
        assert!(format!("{error:#}").contains("/no/such/agent.so"));
    }
}
