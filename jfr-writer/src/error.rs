//! What can go wrong with a file. The recording itself always stays usable.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a recording could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder does not exist.
    #[error("folder {0} does not exist")]
    NoFolder(PathBuf),
    /// The path names a folder, a device or the like.
    #[error("{0} is no regular file")]
    NoFile(PathBuf),
    /// The file or its temporary neighbour could not be made.
    #[error("cannot write {path}: {source}")]
    Create {
        /// The recording's path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Every name with a suffix is written by a living process too.
    #[error("{0} and its suffixed names are written by other processes")]
    Busy(PathBuf),
}

/// Why events are in memory only, for now.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// No space is left; events are kept up to the memory cap and written when there is some.
    #[error("no space left for {path}: {pending} bytes are kept in memory")]
    DiskFull {
        /// The recording's path.
        path: PathBuf,
        /// Bytes that wait.
        pending: usize,
    },
    /// The system refused a write.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The recording's path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl WriteError {
    pub(crate) fn new(path: &std::path::Path, pending: usize, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path, pending }
            }
            _ => Self::Io { path, source },
        }
    }
}
