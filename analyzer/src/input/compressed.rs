//! gzip, zip and LZ4 frames, recognised by their first bytes.

use std::io::{self, Cursor, Read};

use super::Bytes;
use super::spool::Spool;

/// A stream that claims more than this is not a recording but a bomb.
const MAX_DECOMPRESSED: u64 = 64 * 1024 * 1024 * 1024;

/// Decompresses what is compressed; `None` for anything else.
///
/// A stream that breaks off gives what came before the break.
pub(super) fn open(raw: &[u8]) -> Result<Option<Bytes>, String> {
    match raw {
        [0x1f, 0x8b, ..] => {
            let stream = flate2::read::MultiGzDecoder::new(raw);
            decompressed("gzip", stream).map(Some)
        }
        [0x04, 0x22, 0x4d, 0x18, ..] => {
            let stream = lz4_flex::frame::FrameDecoder::new(raw);
            decompressed("LZ4", stream).map(Some)
        }
        [b'P', b'K', 3, 4, ..] => zip(raw).map(Some),
        _ => Ok(None),
    }
}

fn decompressed(format: &str, stream: impl Read) -> Result<Bytes, String> {
    let mut spool = Spool::default();
    decompress(&mut spool, format, stream)?;
    spool.finish().map_err(|error| format!("{format}: {error}"))
}

fn decompress(spool: &mut Spool, format: &str, stream: impl Read) -> Result<(), String> {
    let mut partial = Partial {
        stream: stream.take(MAX_DECOMPRESSED),
        read: 0,
        error: None,
    };
    spool
        .fill(&mut partial)
        .map_err(|error| format!("{format}: {error}"))?;
    match partial.error {
        Some(error) if partial.read == 0 => Err(format!("not readable as {format}: {error}")),
        _ => Ok(()),
    }
}

/// All members one after the other: each is a recording or a part of one.
fn zip(raw: &[u8]) -> Result<Bytes, String> {
    let fail = |error: &dyn std::fmt::Display| format!("not readable as zip: {error}");
    let mut archive = zip::ZipArchive::new(Cursor::new(raw)).map_err(|error| fail(&error))?;
    let mut spool = Spool::default();
    for index in 0..archive.len() {
        let member = archive.by_index(index).map_err(|error| fail(&error))?;
        if member.is_file() {
            decompress(&mut spool, "zip", member)?;
        }
    }
    spool.finish().map_err(|error| fail(&error))
}

/// Ends the stream where the decoder fails, and keeps why.
struct Partial<R> {
    stream: R,
    read: u64,
    error: Option<io::Error>,
}

impl<R: Read> Read for Partial<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.error.is_some() {
            return Ok(0);
        }
        match self.stream.read(buffer) {
            Ok(len) => {
                self.read += len as u64;
                Ok(len)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.error = Some(error);
                Ok(0)
            }
        }
    }
}
