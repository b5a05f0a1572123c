//! Bounds-checked reading of one byte range.

use jfr_format::string::StringEncoding;

use super::error::DecodeError;
use super::text::Text;

/// The bit of each byte of a word that says whether the integer goes on.
const ENDS: u64 = 0x8080_8080_8080_8080;

/// The lower seven bits of each of eight bytes as one integer, the first byte lowest.
#[inline(always)]
fn joined(word: u64) -> u64 {
    let word = word & !ENDS;
    let word = (word & 0x007f_007f_007f_007f) | ((word & 0x7f00_7f00_7f00_7f00) >> 1);
    let word = (word & 0x0000_3fff_0000_3fff) | ((word & 0x3fff_0000_3fff_0000) >> 2);
    (word & 0x0fff_ffff) | ((word & 0x0fff_ffff_0000_0000) >> 4)
}

/// A position in a byte range. Every read either advances or fails; none gives a byte from past
/// the range's end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    /// What the range lies in, up to its end or further: an integer is loaded with what follows it.
    bytes: &'a [u8],
    at: usize,
    /// One past the last byte of the range.
    end: usize,
}

impl<'a> Cursor<'a> {
    /// Reads `bytes` from position `at`; a position past the end reads nothing.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        let end = bytes.len();
        Self { bytes, at, end }
    }

    /// Reads `bytes` from position `at` up to, not including, `end`.
    #[inline]
    pub(crate) fn within(bytes: &'a [u8], at: usize, end: usize) -> Self {
        let end = end.min(bytes.len());
        Self { bytes, at, end }
    }

    /// The next unread position, in the coordinates of the range given to [`Cursor::new`].
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Bytes left to read.
    pub(crate) fn remaining(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    /// One byte.
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        let byte = *self.bytes.get(self.at).ok_or(DecodeError::Truncated)?;
        self.advance(1)?;
        Ok(byte)
    }

    /// The next `len` bytes.
    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let start = self.at;
        let end = start.checked_add(len).ok_or(DecodeError::Truncated)?;
        let taken = self.bytes.get(start..end).ok_or(DecodeError::Truncated)?;
        self.advance(len)?;
        Ok(taken)
    }

    /// Moves on if the range reaches that far.
    #[inline(always)]
    fn advance(&mut self, len: usize) -> Result<(), DecodeError> {
        let at = self.at + len;
        if at > self.end {
            return Err(DecodeError::Truncated);
        }
        self.at = at;
        Ok(())
    }

    /// A variable-length integer: seven bits a byte, the ninth byte carries eight.
    #[inline(always)]
    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        let ahead = self.bytes.get(self.at..).unwrap_or(&[]);
        let Some(word) = ahead.first_chunk::<8>() else {
            return self.last_varint();
        };
        let word = u64::from_le_bytes(*word);
        if word & 0x80 == 0 {
            self.advance(1)?;
            return Ok(word & 0x7f);
        }
        let ends = !word & ENDS;
        if ends == 0 {
            return self.nine_bytes(word);
        }
        self.advance(ends.trailing_zeros() as usize / 8 + 1)?;
        // All bits below the first mark of an end.
        Ok(joined(word & (ends ^ (ends - 1))))
    }

    /// An integer whose first eight bytes are `word`: the ninth has no mark of an end.
    #[cold]
    fn nine_bytes(&mut self, word: u64) -> Result<u64, DecodeError> {
        let last = self.bytes.get(self.at + 8).ok_or(DecodeError::Truncated)?;
        self.advance(9)?;
        Ok(joined(word) | u64::from(*last) << 56)
    }

    /// A variable-length integer near the end of the bytes.
    #[cold]
    fn last_varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28, 35, 42, 49] {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        let last = self.byte()?;
        Ok(value | (u64::from(last) << 56))
    }

    /// A variable-length integer as the signed 64-bit value it stands for.
    #[inline]
    pub(crate) fn long(&mut self) -> Result<i64, DecodeError> {
        Ok(self.varint()?.cast_signed())
    }

    /// Skips `count` variable-length integers.
    #[inline]
    pub(crate) fn skip_varints(&mut self, count: u64) -> Result<(), DecodeError> {
        for _ in 0..count {
            self.varint()?;
        }
        Ok(())
    }

    /// A big-endian 32-bit float.
    #[inline]
    pub(crate) fn float(&mut self) -> Result<f32, DecodeError> {
        let bytes = self.take(4)?;
        let raw = <[u8; 4]>::try_from(bytes).map_err(|_| DecodeError::Truncated)?;
        Ok(f32::from_be_bytes(raw))
    }

    /// A big-endian 64-bit float.
    #[inline]
    pub(crate) fn double(&mut self) -> Result<f64, DecodeError> {
        let bytes = self.take(8)?;
        let raw = <[u8; 8]>::try_from(bytes).map_err(|_| DecodeError::Truncated)?;
        Ok(f64::from_be_bytes(raw))
    }

    /// A count of things that take at least one byte each, checked against what remains.
    #[inline]
    pub(crate) fn count(&mut self) -> Result<usize, DecodeError> {
        // Counts are 32-bit integers that producers may have sign-extended.
        let raw = self.varint()?;
        let count = usize::try_from(raw).map_err(|_| DecodeError::CountTooLarge(raw))?;
        if count > self.remaining() {
            return Err(DecodeError::CountTooLarge(raw));
        }
        Ok(count)
    }

    /// A string in any of the six encodings, without copying it.
    pub(crate) fn text(&mut self) -> Result<RawText<'a>, DecodeError> {
        let byte = self.byte()?;
        let encoding = StringEncoding::from_byte(byte).ok_or(DecodeError::StringEncoding(byte))?;
        Ok(match encoding {
            StringEncoding::Null => RawText::Null,
            StringEncoding::Empty => RawText::Here(Text::EMPTY),
            StringEncoding::Pool => RawText::Constant(self.long()?),
            StringEncoding::Utf8 => {
                let len = self.count()?;
                RawText::Here(Text::utf8(self.take(len)?))
            }
            StringEncoding::CharArray => {
                let chars = self.count()?;
                let start = self.at;
                // A character below 128 is one byte, which is its UTF-8 as well.
                let ahead = self.bytes.get(start..start + chars).unwrap_or(&[]);
                if ahead.is_ascii() {
                    return Ok(RawText::Here(Text::utf8(self.take(chars)?)));
                }
                self.skip_varints(chars as u64)?;
                let encoded = self.bytes.get(start..self.at);
                RawText::Here(Text::chars(encoded.ok_or(DecodeError::Truncated)?))
            }
            StringEncoding::Latin1 => {
                let len = self.count()?;
                RawText::Here(Text::latin1(self.take(len)?))
            }
        })
    }
}

/// A string as found in the bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RawText<'a> {
    Null,
    Here(Text<'a>),
    /// A key in the pool of `java.lang.String`.
    Constant(i64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninth_varint_byte_carries_eight_bits() {
        let bytes = [0xff; 9];
        let mut cursor = Cursor::new(&bytes, 0);
        assert_eq!(cursor.long(), Ok(-1));
        assert_eq!(cursor.at(), 9);
    }

    #[test]
    fn padded_varints_read_as_their_value() {
        let mut cursor = Cursor::new(&[0x85, 0x80, 0x80, 0x00, 0x07], 0);
        assert_eq!(cursor.varint(), Ok(5));
        assert_eq!(cursor.varint(), Ok(7));
    }

    #[test]
    fn integers_of_every_length_read_the_same_with_and_without_room_behind_them() {
        for bits in 0..64 {
            for value in [1_u64 << bits, (1 << bits) - 1, u64::MAX << bits] {
                let mut bytes = Vec::new();
                let mut rest = value;
                while rest >= 0x80 && bytes.len() < 8 {
                    bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
                    rest >>= 7;
                }
                bytes.push(u8::try_from(rest).unwrap());
                let len = bytes.len();
                assert_eq!(Cursor::new(&bytes, 0).varint(), Ok(value));
                bytes.extend([0xa5; 9]);
                let mut cursor = Cursor::within(&bytes, 0, len);
                assert_eq!(cursor.varint(), Ok(value));
                assert_eq!((cursor.at(), cursor.remaining()), (len, 0));
                for end in 0..len {
                    let mut cut = Cursor::within(&bytes, 0, end);
                    assert_eq!(cut.varint(), Err(DecodeError::Truncated));
                    assert_eq!(cut.at(), 0, "{end} of {len}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_read_from_behind_the_range() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        let mut cursor = Cursor::within(&bytes, 0, 2);
        assert_eq!(cursor.count(), Ok(1));
        assert_eq!(cursor.take(2), Err(DecodeError::Truncated));
        assert_eq!(cursor.byte(), Ok(2));
        assert_eq!(cursor.byte(), Err(DecodeError::Truncated));
        assert_eq!(cursor.varint(), Err(DecodeError::Truncated));
        assert_eq!(Cursor::within(&bytes, 20, 40).remaining(), 0);
    }

    #[test]
    fn counts_are_capped_by_the_bytes_that_remain() {
        let mut cursor = Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x07, 1, 2], 0);
        assert_eq!(cursor.count(), Err(DecodeError::CountTooLarge(0x7fff_ffff)));
    }

    #[test]
    fn a_cut_varint_is_truncated_not_zero() {
        assert_eq!(
            Cursor::new(&[0x80], 0).varint(),
            Err(DecodeError::Truncated)
        );
    }
}
