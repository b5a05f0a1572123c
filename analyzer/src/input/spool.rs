//! Streams of any length in little memory.

use std::fs::File;
use std::io::{self, Read, Write};

use super::Bytes;
use super::map::Map;

/// Streams up to this many bytes stay in memory.
const IN_MEMORY: usize = 16 * 1024 * 1024;

/// Collects streams, in memory while they are short and else in an unnamed file.
#[derive(Debug, Default)]
pub(super) struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
}

impl Spool {
    /// Reads one stream to its end.
    pub(super) fn read(stream: impl Read) -> io::Result<Bytes> {
        let mut spool = Self::default();
        spool.fill(stream)?;
        spool.finish()
    }

    /// Appends a stream.
    pub(super) fn fill(&mut self, mut stream: impl Read) -> io::Result<()> {
        if self.file.is_none() {
            let room = IN_MEMORY.saturating_sub(self.memory.len()) as u64;
            stream.by_ref().take(room).read_to_end(&mut self.memory)?;
            if self.memory.len() < IN_MEMORY {
                return Ok(());
            }
            let mut file = tempfile::tempfile()?;
            file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            io::copy(&mut stream, file)?;
        }
        Ok(())
    }

    /// The bytes collected.
    pub(super) fn finish(self) -> io::Result<Bytes> {
        match self.file {
            Some(file) => Ok(Bytes::Mapped(Map::of(&file)?)),
            None => Ok(Bytes::Owned(self.memory)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_streams_are_kept_outside_memory() {
        let long = IN_MEMORY as u64 + 3;
        let bytes = Spool::read(io::repeat(7).take(long)).unwrap();
        assert!(matches!(bytes, Bytes::Mapped(_)));
        assert_eq!(bytes.as_slice().len() as u64, long);
        assert!(bytes.as_slice().iter().all(|&byte| byte == 7));
    }

    #[test]
    fn several_streams_follow_each_other() {
        let mut spool = Spool::default();
        spool.fill(&b"ab"[..]).unwrap();
        spool.fill(&b"c"[..]).unwrap();
        assert_eq!(spool.finish().unwrap().as_slice(), b"abc");
    }
}
