//! Bounds-checked reading of one byte range.

use jfr_format::string::StringEncoding;

use super::error::DecodeError;
use super::text::Text;

/// A position in a byte range. Every read either advances or fails; none reads past the range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Reads `bytes` from position `at`; a position past the end reads nothing.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The next unread position, in the coordinates of the range given to [`Cursor::new`].
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Bytes left to read.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    /// One byte.
    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, DecodeError> {
        let byte = *self.bytes.get(self.at).ok_or(DecodeError::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    /// The next `len` bytes.
    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(len).ok_or(DecodeError::Truncated)?;
        let taken = self.bytes.get(self.at..end).ok_or(DecodeError::Truncated)?;
        self.at = end;
        Ok(taken)
    }

    /// A variable-length integer: seven bits a byte, the ninth byte carries eight.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, DecodeError> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        self.varint_rest(first)
    }

    #[inline]
    fn varint_rest(&mut self, first: u8) -> Result<u64, DecodeError> {
        let ahead = self.bytes.get(self.at..).unwrap_or(&[]);
        let Some(ahead) = ahead.first_chunk::<8>() else {
            return self.last_varint(first);
        };
        let mut value = u64::from(first & 0x7f);
        let (mut shift, mut taken) = (7, 0);
        for &byte in ahead {
            taken += 1;
            // The ninth byte has no mark of an end.
            if byte < 0x80 || taken == 8 {
                self.at += taken;
                return Ok(value | u64::from(byte) << shift);
            }
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        Ok(value)
    }

    /// The same near the end of the bytes.
    fn last_varint(&mut self, first: u8) -> Result<u64, DecodeError> {
        let mut value = u64::from(first & 0x7f);
        for shift in [7, 14, 21, 28, 35, 42, 49] {
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
