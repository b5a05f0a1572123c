//! Strings as they lie in the file.

use std::borrow::Cow;
use std::fmt;

use jfr_format::varint;

use super::cursor::Cursor;

/// A string still in its encoded form; decoding it is the caller's choice.
///
/// `Display` and [`Text::to_str`] decode; comparing with `==` against a `str` does not allocate
/// for the common encodings.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    bytes: &'a [u8],
    encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Latin1,
    /// UTF-16 code units, each a variable-length integer.
    Chars,
}

impl<'a> Text<'a> {
    pub(crate) const EMPTY: Text<'static> = Text {
        bytes: &[],
        encoding: Encoding::Utf8,
    };

    pub(crate) fn utf8(bytes: &'a [u8]) -> Self {
        let encoding = Encoding::Utf8;
        Self { bytes, encoding }
    }

    pub(crate) fn latin1(bytes: &'a [u8]) -> Self {
        let encoding = Encoding::Latin1;
        Self { bytes, encoding }
    }

    pub(crate) fn chars(bytes: &'a [u8]) -> Self {
        let encoding = Encoding::Chars;
        Self { bytes, encoding }
    }

    /// The string, borrowed where the encoding allows it.
    ///
    /// Invalid UTF-8 and lone surrogates become U+FFFD.
    pub fn to_str(&self) -> Cow<'a, str> {
        match self.encoding {
            Encoding::Utf8 => match std::str::from_utf8(self.bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(self.bytes),
            },
            Encoding::Latin1 => match std::str::from_utf8(self.bytes) {
                Ok(text) if self.bytes.is_ascii() => Cow::Borrowed(text),
                _ => Cow::Owned(self.bytes.iter().map(|&b| char::from(b)).collect()),
            },
            Encoding::Chars => {
                let units = self.units();
                let decoded = char::decode_utf16(units)
                    .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
                Cow::Owned(decoded.collect())
            }
        }
    }

    /// Whether the string has no characters.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn units(&self) -> impl Iterator<Item = u16> + use<'a> {
        let mut cursor = Cursor::new(self.bytes, 0);
        std::iter::from_fn(move || Some(varint::to_char_unit(cursor.varint().ok()?)))
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        match self.encoding {
            Encoding::Utf8 => self.bytes == other.as_bytes(),
            Encoding::Latin1 | Encoding::Chars => self.to_str() == other,
        }
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.encoding == other.encoding && self.bytes == other.bytes)
            || self.to_str() == other.to_str()
    }
}

impl Eq for Text<'_> {}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_str())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.to_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_and_ascii_latin1_are_borrowed() {
        assert!(matches!(
            Text::utf8(b"heap").to_str(),
            Cow::Borrowed("heap")
        ));
        assert!(matches!(
            Text::latin1(b"heap").to_str(),
            Cow::Borrowed("heap")
        ));
    }

    #[test]
    fn latin1_bytes_are_code_points() {
        assert_eq!(Text::latin1(&[0xe9, b'x']), "éx");
    }

    #[test]
    fn char_arrays_join_surrogate_pairs() {
        // U+1F600 = D83D DE00, each unit a three-byte integer.
        let bytes = [0xbd, 0xb0, 0x03, 0x80, 0xbc, 0x03, b'!'];
        assert_eq!(Text::chars(&bytes), "😀!");
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        assert_eq!(Text::chars(&[0xbd, 0xb0, 0x03]), "\u{fffd}");
    }
}
