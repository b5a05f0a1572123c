//! The one mapped file.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// A read-only mapping of a whole file.
#[derive(Debug)]
pub(crate) struct Map(Mmap);

impl Map {
    /// Maps the file as long as it is now.
    #[allow(unsafe_code, reason = "mapping a file is unsafe by nature")]
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: the mapping is private to this process and never written through. Should
        // another process write into the file, the bytes seen are stale or new, both of which the
        // reader treats as untrusted bytes with bounds it checks at every read. Should another
        // process shorten the file, which a JVM does when it dumps into one that is there, the
        // system ends this process at the first byte that is gone: nothing wrong is read.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
