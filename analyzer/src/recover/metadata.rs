//! A metadata event with another metadata id and, where ids clash, other type ids.

use jfr_format::{string, varint};

use super::ids::Renumbered;
use crate::reader::{DecodeError, MetadataTokens};

/// The body of a metadata event: what follows its type id.
///
/// The metadata id becomes a hash of the content, because readers of the JDK take metadata with the
/// id of the chunk before as the same.
pub(super) fn rewrite(body: &[u8], ids: &Renumbered) -> Result<Vec<u8>, DecodeError> {
    let tokens = MetadataTokens::read(body)?;
    let mut content = Vec::with_capacity(body.len() + 64 * ids.len());
    let mut added = Vec::new();
    let mut tree = Vec::with_capacity(tokens.tree().len());
    if ids.is_empty() {
        tree.extend_from_slice(tokens.tree());
    } else {
        let first_new = tokens.strings() as u64;
        let mut new_strings = 0_u64;
        tokens.for_each_token(&mut |attribute, raw| {
            let renumbered = attribute
                .filter(|(key, _)| matches!(*key, "id" | "class"))
                .and_then(|(_, value)| ids.get(&value.parse().ok()?));
            match renumbered {
                Some(id) => {
                    string::put(&mut added, Some(&id.to_string()));
                    varint::put_u64(&mut tree, first_new + new_strings);
                    new_strings += 1;
                }
                None => tree.extend_from_slice(raw),
            }
        })?;
        varint::put_u64(&mut content, first_new + new_strings);
    }
    if ids.is_empty() {
        varint::put_u64(&mut content, tokens.strings() as u64);
    }
    content.extend_from_slice(tokens.string_bytes());
    content.extend_from_slice(&added);
    content.extend_from_slice(&tree);
    let mut whole = Vec::with_capacity(content.len() + 32);
    varint::put_i64(&mut whole, tokens.start());
    varint::put_i64(&mut whole, tokens.duration());
    varint::put_u64(&mut whole, hash(&content));
    whole.extend_from_slice(&content);
    Ok(whole)
}

/// 63 bits that differ when the content does.
fn hash(content: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in content {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (hash >> 1) | 1
}
