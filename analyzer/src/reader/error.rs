//! What can be wrong with a recording.

use std::path::PathBuf;

/// Why a value could not be read from its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The value runs past the end of its event, pool or chunk.
    #[error("the value runs past the end of its event")]
    Truncated,
    /// A count that the bytes that remain cannot hold.
    #[error("a count of {0} does not fit in the bytes that remain")]
    CountTooLarge(u64),
    /// A string encoding that the format does not have.
    #[error("string encoding {0} does not exist")]
    StringEncoding(u8),
    /// Inline structures inside each other beyond any real type.
    #[error("structures nest too deep")]
    TooDeep,
    /// A field whose type the metadata does not declare.
    #[error("the field's type is not declared")]
    UndeclaredType,
    /// Bytes are left over where the content must fill its event.
    #[error("the content ends before its event does")]
    Slack,
    /// An element of the metadata tree that is not where it belongs.
    #[error("the metadata refers to string {0}, which does not exist")]
    MetadataString(u64),
}

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is nothing in the file.
    #[error("{path}: the file is empty", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// No chunk was found.
    #[error("{path}: not a flight recording: no chunk header in {len} bytes", path = path.display())]
    NoChunk {
        /// The file.
        path: PathBuf,
        /// Its length after decompression.
        len: u64,
    },
    /// Only chunks of a version that this reader does not know.
    #[error(
        "{path}: chunk at offset {offset} has format version {major}.{minor}{hint}; versions 1.x (JDK 9 and 10) and 2.x (JDK 11 and later) can be read",
        path = path.display(), hint = version_hint(*major)
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Where the chunk starts.
        offset: u64,
        /// Major version of the header.
        major: u16,
        /// Minor version of the header.
        minor: u16,
    },
    /// A compressed file that does not decompress.
    #[error("{path}: {what}", path = path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        what: String,
    },
}

pub(crate) fn version_hint(major: u16) -> &'static str {
    if major == 0 {
        " (written by Oracle JDK 7 or 8, or an async-profiler before 2.0)"
    } else {
        ""
    }
}

/// Something that was not read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Index of the chunk in the file, from 0; `None` between chunks.
    pub chunk: Option<usize>,
    /// Where it starts, in bytes from the start of the (decompressed) file.
    pub offset: u64,
    /// One sentence: what it was, why it was skipped and how much of it.
    pub what: String,
}

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.chunk {
            Some(chunk) => write!(f, "chunk {chunk}, offset {}: {}", self.offset, self.what),
            None => write!(f, "offset {}: {}", self.offset, self.what),
        }
    }
}
