//! How a string is written: one byte that names the encoding, then its bytes.

use crate::varint;

/// The byte in front of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum StringEncoding {
    /// No string: null.
    Null = 0,
    /// The empty string; nothing follows.
    Empty = 1,
    /// A key into the pool of `java.lang.String` follows.
    Pool = 2,
    /// A length in bytes and that many bytes of UTF-8 follow.
    Utf8 = 3,
    /// A length in chars and that many varints, one UTF-16 unit each, follow.
    CharArray = 4,
    /// A length in bytes and that many bytes of ISO 8859-1 follow.
    Latin1 = 5,
}

impl StringEncoding {
    /// The encoding that `byte` names, `None` for an unknown one.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Null),
            1 => Some(Self::Empty),
            2 => Some(Self::Pool),
            3 => Some(Self::Utf8),
            4 => Some(Self::CharArray),
            5 => Some(Self::Latin1),
            _ => None,
        }
    }
}

/// Appends `text` as UTF-8, or as null or empty.
pub fn put(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        None => out.push(StringEncoding::Null as u8),
        Some("") => out.push(StringEncoding::Empty as u8),
        Some(text) => {
            out.push(StringEncoding::Utf8 as u8);
            varint::put_u64(out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
    }
}

/// Appends a reference to constant `key` of the `java.lang.String` pool.
pub fn put_pooled(out: &mut Vec<u8>, key: u64) {
    out.push(StringEncoding::Pool as u8);
    varint::put_u64(out, key);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_empty_are_one_byte() {
        let mut out = Vec::new();
        put(&mut out, None);
        put(&mut out, Some(""));
        put(&mut out, Some("é"));
        put_pooled(&mut out, 300);
        assert_eq!(out, [0, 1, 3, 2, 0xc3, 0xa9, 2, 0xac, 2]);
    }

    #[test]
    fn every_known_byte_names_itself() {
        for byte in 0..=5_u8 {
            assert_eq!(StringEncoding::from_byte(byte).map(|e| e as u8), Some(byte));
        }
        assert_eq!(StringEncoding::from_byte(6), None);
    }
}
