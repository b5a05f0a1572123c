//! Chunks that are done, and the writes and copies that carry them from file to file.

use crate::chunk::Step;
use crate::disk::DiskFile;
use jfr_format::header;
use std::io;

/// A chunk that takes no more events, as it lies in the present file and as a copy shall have it.
pub(crate) struct Done {
    /// In the present file.
    pub(crate) at: u64,
    /// Bytes of it that count.
    pub(crate) used: u64,
    /// Another header and an end, where the present file still has the filler.
    pub(crate) compact: Option<(Box<[u8; header::LEN]>, Vec<u8>)>,
    /// Events that are in that end only, since they could not be written.
    pub(crate) waiting: u64,
}

impl Done {
    pub(crate) fn len(&self) -> u64 {
        self.used
            + self
                .compact
                .as_ref()
                .map_or(0, |(_, tail)| tail.len() as u64)
    }

    /// Bytes that hold [`Done::waiting`] events.
    pub(crate) fn waiting_len(&self) -> usize {
        let end = self.compact.as_ref().filter(|_| self.waiting > 0);
        end.map_or(0, |(_, end)| end.len())
    }
}

/// Makes the writes one after the other, each on the device before the next where that is asked for; how many bytes.
pub(crate) fn make<F: DiskFile>(file: &mut F, steps: &[Step], sync: bool) -> io::Result<u64> {
    let mut written = 0;
    for step in steps {
        file.write_at(step.at, &step.bytes)?;
        written += step.bytes.len() as u64;
        if step.sync && sync {
            file.sync()?;
        }
    }
    Ok(written)
}

/// Copies the chunks that are done, each in its compact form; how many bytes they are.
pub(crate) fn copy_done<F: DiskFile>(
    from: Option<&F>,
    done: &[Done],
    to: &mut F,
) -> io::Result<u64> {
    let mut at = 0;
    for done in done {
        if let Some(from) = from {
            copy(from, done.at, to, at, done.used)?;
        }
        if let Some((head, tail)) = &done.compact {
            to.write_at(at, head.as_slice())?;
            to.write_at(at + done.used, tail)?;
        }
        at += done.len();
    }
    Ok(at)
}

/// Copies `len` bytes between files.
pub(crate) fn copy<F: DiskFile>(
    from: &F,
    at: u64,
    to: &mut F,
    offset: u64,
    len: u64,
) -> io::Result<()> {
    const PIECE: u64 = 1 << 18;
    let mut buffer = vec![0; usize::try_from(len.min(PIECE)).unwrap_or(0)];
    let mut copied = 0;
    while copied < len {
        let size = usize::try_from((len - copied).min(PIECE)).unwrap_or(0);
        let Some(piece) = buffer.get_mut(..size) else {
            break;
        };
        from.read_at(at + copied, piece)?;
        to.write_at(offset + copied, piece)?;
        copied += size as u64;
    }
    Ok(())
}
