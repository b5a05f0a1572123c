//! gzip, zip and LZ4 frames, recognised by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::spool::Spool;
use super::{Bytes, Damage, lz4};

/// A stream that claims more than this is not a recording but a bomb.
const MAX_DECOMPRESSED: u64 = 64 * 1024 * 1024 * 1024;

/// The bytes of a compressed input, and what of it could not be decompressed.
pub(super) struct Opened {
    pub(super) bytes: Bytes,
    pub(super) damage: Vec<Damage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Gzip,
    Lz4,
    Zip,
}

impl Format {
    fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [b'P', b'K', 3, 4, ..] => Some(Self::Zip),
            _ => lz4::starts(*start.first_chunk()?).then_some(Self::Lz4),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Lz4 => "LZ4",
            Self::Zip => "zip",
        }
    }
}

/// Decompresses what is compressed; `None` for anything else.
///
/// A stream that breaks off gives what came before the break, and says where it was.
pub(super) fn open(raw: &[u8]) -> Result<Option<Opened>, String> {
    let Some(format) = Format::of(raw) else {
        return Ok(None);
    };
    let mut into = Into::default();
    let failed = |error: io::Error| format!("{}: {error}", format.name());
    match format {
        Format::Gzip => into.gzip(raw),
        Format::Lz4 => into.lz4(raw),
        Format::Zip => into.zip(raw),
    }
    .map_err(failed)?;
    if into.len == 0
        && let Some(damage) = into.damage.first()
    {
        return Err(format!("not readable: {}", damage.what));
    }
    Ok(Some(Opened {
        bytes: into.spool.finish().map_err(failed)?,
        damage: into.damage,
    }))
}

/// What was decompressed so far. Only the spool's own errors are errors.
#[derive(Default)]
struct Into {
    spool: Spool,
    len: u64,
    damage: Vec<Damage>,
}

impl Into {
    fn gzip(&mut self, stream: impl BufRead) -> io::Result<()> {
        self.stream("gzip", flate2::bufread::MultiGzDecoder::new(stream))
    }

    fn lz4(&mut self, stream: impl Read) -> io::Result<()> {
        self.stream("LZ4", lz4::Frames::new(stream))
    }

    fn stream(&mut self, name: &str, stream: impl Read) -> io::Result<()> {
        let mut partial = Partial {
            stream: stream.take(MAX_DECOMPRESSED),
            read: 0,
            error: None,
        };
        self.spool.fill(&mut partial)?;
        self.len += partial.read;
        if let Some(error) = partial.error {
            self.lost(format!("{name}: {error}"));
        } else if partial.stream.limit() == 0 {
            self.lost(format!("{name}: more than {MAX_DECOMPRESSED} bytes"));
        }
        Ok(())
    }

    fn lost(&mut self, what: String) {
        self.damage.push(Damage {
            offset: self.len,
            what,
        });
    }

    /// All members one after the other: each is a recording or a part of one.
    fn zip(&mut self, raw: &[u8]) -> io::Result<()> {
        let mut archive = match zip::ZipArchive::new(Cursor::new(raw)) {
            Ok(archive) => archive,
            Err(error) => return self.zip_without_directory(raw, &error),
        };
        for index in 0..archive.len() {
            let name = match archive.name_for_index(index) {
                Some(Ok(name)) => name.into_owned(),
                _ => format!("number {index}"),
            };
            match archive.by_index(index) {
                Ok(member) if !member.is_file() => {}
                Ok(member) => self.member(&name, member)?,
                Err(error) => self.lost(format!("zip member {name}: {error}")),
            }
        }
        Ok(())
    }

    /// The members that can be read one behind the other: the directory is at an archive's end.
    fn zip_without_directory(&mut self, raw: &[u8], why: &zip::result::ZipError) -> io::Result<()> {
        let mut rest = raw;
        loop {
            match zip::read::read_zipfile_from_stream(&mut rest) {
                Ok(Some(member)) => {
                    let name = match member.name() {
                        Ok(name) => name.into_owned(),
                        Err(_) => "?".to_owned(),
                    };
                    self.member(&name, member)?;
                }
                Ok(None) | Err(_) => {
                    self.lost(format!("zip: {why}"));
                    return Ok(());
                }
            }
        }
    }

    /// A member, which may be compressed once more: an archive of `leak.jfr.gz`.
    fn member(&mut self, name: &str, member: impl Read) -> io::Result<()> {
        let name = format!("zip member {name}");
        let mut head = [0; 4];
        let mut member = BufReader::new(member);
        let len = match lz4::fill(&mut member, &mut head) {
            Ok(len) => len,
            Err(error) => {
                self.lost(format!("{name}: {error}"));
                return Ok(());
            }
        };
        let head = head.get(..len).unwrap_or(&[]);
        let whole = head.chain(member);
        match Format::of(head) {
            Some(Format::Gzip) => self.stream(&name, flate2::bufread::MultiGzDecoder::new(whole)),
            Some(Format::Lz4) => self.stream(&name, lz4::Frames::new(whole)),
            Some(Format::Zip) | None => self.stream(&name, whole),
        }
    }
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
