//! The 68 bytes in front of every chunk, big-endian.

use thiserror::Error;

/// Bytes of a chunk header; the first event follows.
pub const LEN: usize = 68;

/// The first four bytes of a chunk.
pub const MAGIC: [u8; 4] = *b"FLR\0";

/// Where each field starts.
pub mod offset {
    /// u16.
    pub const MAJOR: usize = 4;
    /// u16.
    pub const MINOR: usize = 6;
    /// i64, bytes.
    pub const SIZE: usize = 8;
    /// i64, from the chunk's start.
    pub const CHECKPOINT: usize = 16;
    /// i64, from the chunk's start.
    pub const METADATA: usize = 24;
    /// i64, ns since the epoch.
    pub const START_NANOS: usize = 32;
    /// i64, ns.
    pub const DURATION_NANOS: usize = 40;
    /// i64, ticks.
    pub const START_TICKS: usize = 48;
    /// i64, ticks a second.
    pub const TICKS_PER_SECOND: usize = 56;
    /// u8, see [`super::State`].
    pub const STATE: usize = 64;
    /// u16, see [`super::flag`].
    pub const FLAGS: usize = 66;
}

/// The bits of the flags field.
pub mod flag {
    /// Integers are varints.
    pub const COMPRESSED_INTS: u16 = 1;
    /// The last chunk of its recording.
    pub const FINAL_CHUNK: u16 = 2;
}

/// What the state byte says about the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Complete; nothing will change.
    Finished,
    /// Being written; the number changes with each flush (1..=254).
    Live(u8),
    /// The header itself is being rewritten: read again later.
    Updating,
}

impl State {
    /// The state that a header's byte stands for.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        match byte {
            0 => Self::Finished,
            255 => Self::Updating,
            generation => Self::Live(generation),
        }
    }

    /// The byte in the header.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        match self {
            Self::Finished => 0,
            Self::Live(generation) => generation,
            Self::Updating => 255,
        }
    }
}

/// A chunk header, field by field, unchecked against the bytes that follow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Major format version: 1 and 2 are known.
    pub major: u16,
    /// Minor format version; readers ignore it.
    pub minor: u16,
    /// Bytes of the whole chunk, this header included.
    pub size: i64,
    /// Offset of the newest checkpoint event from the chunk's start; 0 when there is none.
    pub checkpoint: i64,
    /// Offset of the newest metadata event from the chunk's start.
    pub metadata: i64,
    /// Wall clock at the chunk's start, ns since the epoch.
    pub start_nanos: i64,
    /// Length of the chunk, ns; 0 while it is being written.
    pub duration_nanos: i64,
    /// Tick counter at the chunk's start.
    pub start_ticks: i64,
    /// Ticks in a second.
    pub ticks_per_second: i64,
    /// Whether the chunk is complete.
    pub state: State,
    /// Bits of [`flag`].
    pub flags: u16,
}

/// Why 68 bytes are no chunk header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// Fewer than [`LEN`] bytes.
    #[error("a chunk header has 68 bytes, only {0} are there")]
    Short(usize),
    /// The first four bytes differ from [`MAGIC`].
    #[error("no chunk starts here (bytes {0:02x?} instead of \"FLR\\0\")")]
    Magic([u8; 4]),
    /// A major version that is neither 1 nor 2.
    #[error("format version {0}.{1} is not readable; versions 1.x and 2.x are")]
    Version(u16, u16),
}

impl Header {
    /// Reads the header at the start of `bytes`; nothing but magic and major version is checked.
    ///
    /// # Errors
    /// [`HeaderError`] when the bytes are too few, start otherwise, or name a foreign version.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let Some(raw) = bytes.first_chunk::<LEN>() else {
            return Err(HeaderError::Short(bytes.len()));
        };
        let magic = take::<4>(raw, 0);
        if magic != MAGIC {
            return Err(HeaderError::Magic(magic));
        }
        let short = |at| u16::from_be_bytes(take(raw, at));
        let long = |at| i64::from_be_bytes(take(raw, at));
        let (major, minor) = (short(offset::MAJOR), short(offset::MINOR));
        if !(1..=2).contains(&major) {
            return Err(HeaderError::Version(major, minor));
        }
        let [state] = take(raw, offset::STATE);
        Ok(Self {
            major,
            minor,
            size: long(offset::SIZE),
            checkpoint: long(offset::CHECKPOINT),
            metadata: long(offset::METADATA),
            start_nanos: long(offset::START_NANOS),
            duration_nanos: long(offset::DURATION_NANOS),
            start_ticks: long(offset::START_TICKS),
            ticks_per_second: long(offset::TICKS_PER_SECOND),
            state: State::from_byte(state),
            flags: short(offset::FLAGS),
        })
    }

    /// The 68 bytes.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; LEN] {
        let mut out = Vec::with_capacity(LEN);
        out.extend(MAGIC);
        out.extend(self.major.to_be_bytes());
        out.extend(self.minor.to_be_bytes());
        for long in [
            self.size,
            self.checkpoint,
            self.metadata,
            self.start_nanos,
            self.duration_nanos,
            self.start_ticks,
            self.ticks_per_second,
        ] {
            out.extend(long.to_be_bytes());
        }
        out.extend([self.state.to_byte(), 0]);
        out.extend(self.flags.to_be_bytes());
        let mut bytes = [0_u8; LEN];
        bytes.copy_from_slice(&out);
        bytes
    }

    /// Whether integers are varints; false in a few old recordings with fixed-width ones.
    #[must_use]
    pub const fn has_compressed_ints(&self) -> bool {
        self.flags & flag::COMPRESSED_INTS != 0
    }

    /// Wall-clock time of `ticks` in ns since the epoch, by this chunk's own clock.
    ///
    /// Saturates instead of overflowing; a frequency below 1 counts as ns ticks.
    #[must_use]
    pub fn nanos_at(&self, ticks: i64) -> i64 {
        self.start_nanos
            .saturating_add(self.span_nanos(ticks.saturating_sub(self.start_ticks)))
    }

    /// Length of `ticks` in ns, by this chunk's frequency.
    #[must_use]
    pub fn span_nanos(&self, ticks: i64) -> i64 {
        let frequency = i128::from(self.ticks_per_second.max(1));
        let frequency = if self.ticks_per_second < 1 {
            1_000_000_000
        } else {
            frequency
        };
        let nanos = i128::from(ticks) * 1_000_000_000 / frequency;
        i64::try_from(nanos).unwrap_or(if ticks < 0 { i64::MIN } else { i64::MAX })
    }
}

fn take<const N: usize>(raw: &[u8; LEN], at: usize) -> [u8; N] {
    raw.get(at..)
        .and_then(|rest| rest.first_chunk::<N>())
        .copied()
        .unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Header {
        Header {
            major: 2,
            minor: 1,
            size: 318,
            checkpoint: 200,
            metadata: 68,
            start_nanos: 1_700_000_000_000_000_000,
            duration_nanos: 5,
            start_ticks: 1_000,
            ticks_per_second: 500_000_000,
            state: State::Finished,
            flags: 3,
        }
    }

    #[test]
    fn a_header_reads_back_field_by_field() {
        assert_eq!(Header::parse(&sample().to_bytes()), Ok(sample()));
    }

    #[test]
    fn foreign_bytes_are_named() {
        assert_eq!(Header::parse(&[0; 10]), Err(HeaderError::Short(10)));
        assert_eq!(Header::parse(&[7; 68]), Err(HeaderError::Magic([7; 4])));
        let old = Header {
            major: 0,
            minor: 9,
            ..sample()
        };
        assert_eq!(
            Header::parse(&old.to_bytes()),
            Err(HeaderError::Version(0, 9))
        );
    }

    #[test]
    fn ticks_become_time_by_the_chunks_own_frequency() {
        assert_eq!(sample().nanos_at(1_000), sample().start_nanos);
        assert_eq!(sample().nanos_at(1_001), sample().start_nanos + 2);
        assert_eq!(sample().nanos_at(999), sample().start_nanos - 2);
    }

    proptest! {
        #[test]
        fn no_clock_values_overflow(start: i64, ticks: i64, start_ticks: i64, frequency: i64) {
            let header = Header { start_nanos: start, start_ticks, ticks_per_second: frequency, ..sample() };
            _ = header.nanos_at(ticks);
        }

        #[test]
        fn every_state_byte_reads_back(byte: u8) {
            prop_assert_eq!(State::from_byte(byte).to_byte(), byte);
        }
    }
}
