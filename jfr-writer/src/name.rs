//! Names of files: which one is free, and what stands in for one that is not.

use crate::disk::{Disk, DiskFile};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Suffixes that are tried.
const MOST_SUFFIXES: u32 = 100;

/// A name that no living process writes, with the locked file that has it now, if one does.
pub(crate) type Claim<F> = (PathBuf, Option<F>);

/// `path`, or the first suffixed name that is free; `None` when all are taken.
pub(crate) fn claim<D: Disk>(disk: &mut D, path: &Path) -> io::Result<Option<Claim<D::File>>> {
    for candidate in std::iter::once(path.to_path_buf()).chain(suffixed(path)) {
        // A file that was replaced between open and lock is looked at again.
        for _ in 0..3 {
            let Some(mut file) = disk.open(&candidate)? else {
                return Ok(Some((candidate, None)));
            };
            if !file.try_lock()? {
                break;
            }
            if disk.id_at(&candidate)? == Some(file.id()?) {
                return Ok(Some((candidate, Some(file))));
            }
        }
    }
    Ok(None)
}

/// The first suffixed name that no file has.
pub(crate) fn beside<D: Disk>(disk: &D, path: &Path) -> io::Result<Option<PathBuf>> {
    for candidate in suffixed(path) {
        if disk.id_at(&candidate)?.is_none() {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// An empty locked file beside `path`, to be renamed when it is complete.
pub(crate) fn temporary<D: Disk>(disk: &mut D, path: &Path) -> io::Result<(PathBuf, D::File)> {
    let own = format!(".{}.tmp", std::process::id());
    for suffix in [".tmp", &own] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let name = PathBuf::from(name);
        let mut file = disk.create(&name)?;
        if file.try_lock()? && disk.id_at(&name)? == Some(file.id()?) {
            file.set_len(0)?;
            return Ok((name, file));
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

/// `leak-4711.jfr`, `leak-4711-2.jfr` ... for `leak.jfr` in process 4711.
fn suffixed(path: &Path) -> impl Iterator<Item = PathBuf> {
    let stem = path.file_stem().unwrap_or_default().to_owned();
    let extension = path.extension().map(ToOwned::to_owned);
    let path = path.to_path_buf();
    (1..=MOST_SUFFIXES).map(move |number| {
        let mut name: OsString = stem.clone();
        name.push(format!("-{}", std::process::id()));
        if number > 1 {
            name.push(format!("-{number}"));
        }
        if let Some(extension) = &extension {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_stands_before_the_extension() {
        let pid = std::process::id();
        let names: Vec<PathBuf> = suffixed(Path::new("/tmp/leak.jfr")).take(2).collect();
        assert_eq!(names[0], PathBuf::from(format!("/tmp/leak-{pid}.jfr")));
        assert_eq!(names[1], PathBuf::from(format!("/tmp/leak-{pid}-2.jfr")));
        let bare = suffixed(Path::new("leak")).next().unwrap();
        assert_eq!(bare, PathBuf::from(format!("leak-{pid}")));
    }
}
