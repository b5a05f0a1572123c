//! LZ4 frames, one after the other.

use std::io::{self, Cursor, Read};

use lz4_flex::frame::{Error, FrameDecoder};

/// The first bytes of a frame.
pub(super) const FRAME: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// The first bytes of a frame in the format before that one, which has no end mark.
pub(super) const LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

/// Whether bytes with this beginning are LZ4 frames. Frames of user data hold nothing of the stream.
pub(super) fn starts(magic: [u8; 4]) -> bool {
    magic == FRAME || magic == LEGACY || is_user_data(magic)
}

fn is_user_data(magic: [u8; 4]) -> bool {
    matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

/// The content of every frame of a stream; errs where one is cut off, damaged or something else.
pub(super) struct Frames<R: Read> {
    state: State<R>,
}

enum State<R: Read> {
    Between(Source<R>),
    Inside {
        decoder: Box<FrameDecoder<Source<R>>>,
        legacy: bool,
    },
    Done,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(stream: R) -> Self {
        let state = State::Between(Source::new(stream));
        Self { state }
    }

    /// What follows the last frame: the next one, or nothing at the end of the stream.
    fn between(mut source: Source<R>) -> io::Result<State<R>> {
        loop {
            let mut magic = [0; 4];
            match fill(&mut source.stream, &mut magic)? {
                0 => return Ok(State::Done),
                4 if is_user_data(magic) => {
                    let mut len = [0; 4];
                    source.stream.read_exact(&mut len).map_err(sentence)?;
                    let len = u64::from(u32::from_le_bytes(len));
                    io::copy(&mut source.stream.by_ref().take(len), &mut io::sink())?;
                }
                4 if starts(magic) => {
                    let decoder = Box::new(FrameDecoder::new(source.begin(magic)));
                    let legacy = magic == LEGACY;
                    return Ok(State::Inside { decoder, legacy });
                }
                _ => return Err(io::Error::other("no frame follows the last one")),
            }
        }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, State::Done) {
                State::Done => return Ok(0),
                State::Between(source) => self.state = Self::between(source)?,
                State::Inside {
                    mut decoder,
                    legacy,
                } => {
                    let read = decoder.read(buffer).map_err(sentence)?;
                    if read > 0 || buffer.is_empty() {
                        self.state = State::Inside { decoder, legacy };
                        return Ok(read);
                    }
                    let source = decoder.into_inner();
                    // The decoder takes a stream that ends between two blocks for a whole one.
                    if !legacy && source.ended {
                        return Err(sentence(io::ErrorKind::UnexpectedEof.into()));
                    }
                    self.state = State::Between(source);
                }
            }
        }
    }
}

/// The decoder's errors show the names of their variants.
fn sentence(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let said = match inner {
        None if error.kind() == io::ErrorKind::UnexpectedEof => "the stream is cut off".to_owned(),
        None => return error,
        Some(Error::BlockChecksumError | Error::ContentChecksumError) => {
            "the content does not have the checksum that the stream says".to_owned()
        }
        Some(other) => format!("damaged frame ({other})"),
    };
    io::Error::other(said)
}

/// Reads until the buffer is full or the stream ends.
pub(super) fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match stream.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// One frame for a decoder: the magic that was read before, then the stream.
struct Source<R> {
    magic: Cursor<[u8; 4]>,
    stream: R,
    /// Whether the decoder wanted more than the stream has. It reads no further than its frame.
    ended: bool,
}

impl<R: Read> Source<R> {
    fn new(stream: R) -> Self {
        Self {
            magic: Cursor::new([0; 4]),
            stream,
            ended: false,
        }
    }

    fn begin(self, magic: [u8; 4]) -> Self {
        Self {
            magic: Cursor::new(magic),
            ..Self::new(self.stream)
        }
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = self.magic.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            read = self.stream.read(buffer)?;
            self.ended |= read == 0;
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn frame(content: &[u8], checksum: bool) -> Vec<u8> {
        let info = lz4_flex::frame::FrameInfo::new().content_checksum(checksum);
        let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// What can be read of a stream, and whether it ended as it should.
    fn read(stream: &[u8]) -> (Vec<u8>, bool) {
        let mut content = Vec::new();
        let ended = Frames::new(stream).read_to_end(&mut content).is_ok();
        (content, ended)
    }

    #[test]
    fn frames_follow_each_other_and_those_of_user_data_are_passed_over() {
        let user = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let mut legacy = LEGACY.to_vec();
        let block = lz4_flex::block::compress(b"old ");
        legacy.extend(u32::try_from(block.len()).unwrap().to_le_bytes());
        legacy.extend(block);
        let stream = [
            &user[..],
            &frame(b"one ", false),
            &user[..],
            &frame(b"two ", true),
            &legacy,
        ];
        assert_eq!(read(&stream.concat()), (b"one two old ".to_vec(), true));
    }

    #[test]
    fn a_frame_cut_off_anywhere_is_no_whole_one() {
        let content: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        for checksum in [false, true] {
            let whole = frame(&content, checksum);
            assert_eq!(read(&whole), (content.clone(), true));
            let ends = (1..whole.len().min(40)).chain(whole.len() - 12..whole.len());
            for end in ends.chain((40..whole.len()).step_by(9_973)) {
                let (read, ended) = read(&whole[..end]);
                assert!(content.starts_with(&read));
                assert!(!ended, "{end} of {}", whole.len());
            }
            let behind = [&whole[..], b"garbage"].concat();
            assert_eq!(read(&behind), (content.clone(), false));
        }
    }
}
