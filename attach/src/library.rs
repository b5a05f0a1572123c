//! Puts the agent library where a JVM can load it.

use crate::{Error, Jvm, process};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The path under which the JVM sees `library`.
///
/// A JVM that has an agent of ours keeps to that one: another file would be a second agent in one process. A JVM
/// with our own root folder and user gets the path itself. One in a container or of another user gets a copy in its `/tmp`, named after the
/// content, so that a second attach loads the very same file.
/// Errs when the copy cannot be written, or when a glibc library meets a JVM on musl.
pub fn place(jvm: &Jvm, library: &Path) -> Result<PathBuf, Error> {
    let failed = |path: &Path, cause| Error::Place {
        pid: jvm.pid,
        path: path.to_path_buf(),
        cause,
    };
    let library = library
        .canonicalize()
        .map_err(|cause| failed(library, cause))?;
    let bytes = std::fs::read(&library).map_err(|cause| failed(&library, cause))?;
    if jvm.on_musl && needs_glibc(&bytes) {
        return Err(Error::Musl {
            pid: jvm.pid,
            library,
        });
    }
    if !jvm.is_contained() && rustix::process::geteuid().as_raw() == jvm.uid() {
        return Ok(library);
    }
    let name = format!("jfr-chains-{:08x}.so", crc32fast::hash(&bytes));
    let seen = Path::new("/tmp").join(name);
    let here = jvm.inside(&seen);
    process::real_folder(&jvm.inside(Path::new("/tmp"))).map_err(|cause| failed(&here, cause))?;
    write_once(&here, &bytes, jvm).map_err(|cause| failed(&here, cause))?;
    Ok(seen)
}

/// Writes a file that is not there yet, whole or not at all, readable by the JVM's user.
fn write_once(path: &Path, bytes: &[u8], jvm: &Jvm) -> io::Result<()> {
    use std::os::unix::fs::{PermissionsExt as _, fchown};
    if std::fs::read(path).is_ok_and(|held| held == bytes) {
        return Ok(());
    }
    let fresh = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&fresh)?;
    let written = (|| {
        file.write_all(bytes)?;
        file.set_permissions(std::fs::Permissions::from_mode(0o755))?;
        if rustix::process::geteuid().as_raw() != jvm.uid() {
            fchown(&file, Some(jvm.status.uid), Some(jvm.status.gid))?;
        }
        std::fs::rename(&fresh, path)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&fresh);
    }
    written
}

/// Whether a library names symbol versions of glibc.
fn needs_glibc(bytes: &[u8]) -> bool {
    bytes.windows(8).any(|window| window == b"GLIBC_2.")
}

#[cfg(test)]
mod tests {
    use super::needs_glibc;

    #[test]
    fn a_glibc_library_is_known_by_its_symbol_versions() {
        assert!(needs_glibc(b"\x7fELF....GLIBC_2.17\0"));
        assert!(!needs_glibc(b"\x7fELF....libc.musl-x86_64.so.1\0"));
    }
}
