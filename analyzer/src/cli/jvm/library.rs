//! The agent library: built in and unpacked when needed, or beside the executable; one for each C library.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Which C library a JVM runs on; the agent must be built for the same one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Libc {
    /// The GNU one, of most distributions.
    Glibc,
    /// That of Alpine.
    Musl,
}

/// The agents of a release build; `None` in others, since cargo cannot put a library into a program that it builds
/// at the same time.
#[cfg(embedded_agent)]
const GLIBC: Option<&[u8]> = Some(include_bytes!(env!("JFR_CHAINS_AGENT_SO")));
#[cfg(not(embedded_agent))]
const GLIBC: Option<&[u8]> = None;
#[cfg(embedded_musl_agent)]
const MUSL: Option<&[u8]> = Some(include_bytes!(env!("JFR_CHAINS_AGENT_MUSL_SO")));
#[cfg(not(embedded_musl_agent))]
const MUSL: Option<&[u8]> = None;

impl Libc {
    /// That of a JVM.
    pub fn of(jvm: &attach::Jvm) -> Self {
        if jvm.is_on_musl() {
            Self::Musl
        } else {
            Self::Glibc
        }
    }

    /// That of this machine, for a JVM that is yet to be started: musl where only its loader is.
    pub fn here() -> Self {
        let loaders = fs::read_dir("/lib").into_iter().flatten().flatten();
        let mut names = loaders.map(|entry| entry.file_name());
        let musl = names.any(|name| name.to_string_lossy().starts_with("ld-musl-"));
        let glibc = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
        if musl && !glibc.iter().any(|loader| Path::new(loader).exists()) {
            Self::Musl
        } else {
            Self::Glibc
        }
    }

    fn embedded(self) -> Option<&'static [u8]> {
        match self {
            Self::Glibc => GLIBC,
            Self::Musl => MUSL,
        }
    }

    /// Names of the library beside the executable: as shipped, as built here (for the C library of this build).
    fn names(self) -> &'static [&'static str] {
        let built_here = cfg!(target_env = "musl") == (self == Self::Musl);
        match (self, built_here) {
            (Self::Glibc, true) => &["libjfr_chains.so", "libjfr_chains_agent.so"],
            (Self::Glibc, false) => &["libjfr_chains.so"],
            (Self::Musl, true) => &["libjfr_chains-musl.so", "libjfr_chains_agent.so"],
            (Self::Musl, false) => &["libjfr_chains-musl.so"],
        }
    }

    /// The command that makes a library for it.
    fn advice(self) -> &'static str {
        match self {
            Self::Glibc => {
                "run `cargo build --release -p jfr-chains-agent` in the source tree and give --agent \
                 target/release/libjfr_chains_agent.so, or run `cargo xtask dist` for a command with the agent inside"
            }
            Self::Musl => {
                "the JVM runs on musl libc (Alpine): `cargo xtask dist` in the source tree makes a command with that \
                 agent inside"
            }
        }
    }
}

/// The agent library as a file: `given`, else the built-in one for that C library unpacked to the cache folder, else
/// the one beside the executable. Errs with what to build when there is none.
pub fn locate(given: Option<&Path>, libc: Libc) -> anyhow::Result<PathBuf> {
    if let Some(path) = given {
        return path
            .canonicalize()
            .with_context(|| path.display().to_string());
    }
    if let Some(bytes) = libc.embedded() {
        return unpack(bytes, &cache_folder())
            .context("cannot unpack the agent; give --agent FILE");
    }
    let executable = std::env::current_exe()?;
    let folder = executable.parent().unwrap_or(Path::new("."));
    let beside = libc.names().iter().map(|name| folder.join(name));
    match beside.into_iter().find(|path| path.is_file()) {
        Some(path) => Ok(path),
        None => bail!(
            "this build has no agent for that JVM inside, and none lies beside it in {}: {}",
            folder.display(),
            libc.advice()
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
    use super::{Libc, locate, unpack};

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
        let given = std::path::Path::new("/no/such/agent.so");
        let error = locate(Some(given), Libc::Glibc).unwrap_err();
        assert!(format!("{error:#}").contains("/no/such/agent.so"));
    }
    #[test]
    fn a_build_without_the_agent_for_musl_says_how_to_get_it() {
        if super::MUSL.is_none() {
            let error = locate(None, Libc::Musl).unwrap_err().to_string();
            assert!(error.contains("cargo xtask dist"), "{error}");
        }
    }
}
