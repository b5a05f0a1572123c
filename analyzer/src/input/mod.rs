//! From a path to bytes: mapped files, standard input, compressed files.

mod compressed;
mod lz4;
mod map;
mod spool;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::reader::ReadError;
use map::Map;
use spool::Spool;

/// The bytes of one input, mapped where possible.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    bytes: Bytes,
    damage: Vec<Damage>,
}

/// A compressed stream that broke off, or was whole and is not what its checksum says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// How many decompressed bytes were there before.
    pub offset: u64,
    /// Which stream, and what its decoder said.
    pub what: String,
}

#[derive(Debug)]
pub(crate) enum Bytes {
    Owned(Vec<u8>),
    Mapped(Map),
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Mapped(map) => map.bytes(),
        }
    }
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// Regular files are mapped; pipes and devices are read; gzip, zip and LZ4 frames are
    /// recognised by their content and decompressed. Long streams go to an unnamed temporary file, so
    /// that memory stays small.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let io = |source| ReadError::Io {
            path: path.to_owned(),
            source,
        };
        let raw = if path.as_os_str() == "-" {
            Spool::read(io::stdin().lock()).map_err(io)?
        } else {
            let file = File::open(path).map_err(io)?;
            let metadata = file.metadata().map_err(io)?;
            if metadata.is_dir() {
                return Err(io(io::Error::from(io::ErrorKind::IsADirectory)));
            }
            if metadata.is_file() && metadata.len() > 0 {
                match Map::of(&file) {
                    Ok(map) => Bytes::Mapped(map),
                    Err(_) => Spool::read(file).map_err(io)?,
                }
            } else {
                Spool::read(file).map_err(io)?
            }
        };
        Self::of(path.to_owned(), raw)
    }

    /// Takes bytes from memory; compressed ones are decompressed as in [`Input::open`].
    pub fn from_bytes(name: PathBuf, bytes: Vec<u8>) -> Result<Self, ReadError> {
        Self::of(name, Bytes::Owned(bytes))
    }

    fn of(path: PathBuf, raw: Bytes) -> Result<Self, ReadError> {
        let opened = compressed::open(raw.as_slice()).map_err(|what| ReadError::Compressed {
            path: path.clone(),
            what,
        })?;
        let (bytes, damage) = match opened {
            Some(opened) => (opened.bytes, opened.damage),
            None => (raw, Vec::new()),
        };
        Ok(Self {
            path,
            bytes,
            damage,
        })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path can be opened again: a plain file, not a stream.
    pub(crate) fn is_file(&self) -> bool {
        self.path.as_os_str() != "-" && self.path.is_file()
    }

    /// What could not be decompressed, in the order of the stream; empty for plain files.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// The decompressed bytes, as far as there were any.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}
