//! A metadata event in parts that can be written again.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::error::DecodeError;
use super::metadata::{MAX_ELEMENTS, strings};

/// Gets an attribute's name and value where the integer is the latter, and the integer's bytes.
pub(crate) type Visit<'v> = dyn FnMut(Option<(&str, &str)>, &[u8]) + 'v;

/// A metadata event's body cut into its parts, for writing it with other values.
#[derive(Debug)]
pub(crate) struct MetadataTokens<'a> {
    start: i64,
    duration: i64,
    strings: Vec<Cow<'a, str>>,
    string_bytes: &'a [u8],
    tree: &'a [u8],
}

impl<'a> MetadataTokens<'a> {
    /// Cuts a body; nothing is copied but strings that are not UTF-8.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(body, 0);
        let start = cursor.long()?;
        let duration = cursor.long()?;
        cursor.long()?;
        let count = cursor.count()?;
        let strings_at = cursor.at();
        let strings = strings(&mut cursor, count)?;
        let (before, tree) = body
            .split_at_checked(cursor.at())
            .ok_or(DecodeError::Truncated)?;
        Ok(Self {
            start,
            duration,
            strings,
            string_bytes: before.get(strings_at..).unwrap_or(&[]),
            tree,
        })
    }

    pub(crate) fn start(&self) -> i64 {
        self.start
    }

    pub(crate) fn duration(&self) -> i64 {
        self.duration
    }

    /// How many strings the table has.
    pub(crate) fn strings(&self) -> usize {
        self.strings.len()
    }

    /// The encoded strings, without their count.
    pub(crate) fn string_bytes(&self) -> &'a [u8] {
        self.string_bytes
    }

    /// The encoded element tree.
    pub(crate) fn tree(&self) -> &'a [u8] {
        self.tree
    }

    /// Calls `visit` for every integer of the tree with its bytes: for the value of an attribute
    /// with the attribute's name and value, for all else with empty ones.
    pub(crate) fn for_each_token(&self, visit: &mut Visit<'_>) -> Result<(), DecodeError> {
        let mut cursor = Cursor::new(self.tree, 0);
        let mut open: Vec<u64> = Vec::new();
        for _ in 0..MAX_ELEMENTS {
            self.plain(&mut cursor, visit)?;
            let attributes = self.plain(&mut cursor, visit)?;
            for _ in 0..attributes {
                let key = self.plain(&mut cursor, visit)?;
                let at = cursor.at();
                let value = cursor.varint()?;
                let raw = self.tree.get(at..cursor.at()).unwrap_or(&[]);
                visit(Some((self.string(key)?, self.string(value)?)), raw);
            }
            let children = self.plain(&mut cursor, visit)?;
            open.push(children);
            while open.last() == Some(&0) {
                open.pop();
            }
            match open.last_mut() {
                Some(left) => *left -= 1,
                None => return Ok(()),
            }
        }
        Err(DecodeError::CountTooLarge(MAX_ELEMENTS as u64))
    }

    fn plain(&self, cursor: &mut Cursor<'a>, visit: &mut Visit<'_>) -> Result<u64, DecodeError> {
        let at = cursor.at();
        let value = cursor.varint()?;
        visit(None, self.tree.get(at..cursor.at()).unwrap_or(&[]));
        Ok(value)
    }

    fn string(&self, index: u64) -> Result<&str, DecodeError> {
        let found = usize::try_from(index)
            .ok()
            .and_then(|index| self.strings.get(index));
        found
            .map(|string| &**string)
            .ok_or(DecodeError::MetadataString(index))
    }
}
