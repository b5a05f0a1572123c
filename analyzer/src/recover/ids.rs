//! Type ids that do not clash between chunks.
//!
//! Readers of the JDK keep types and constants of one chunk by id while they read the next. In a file
//! put together from several processes one id means two types there, and reading ends.

use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

use crate::reader::{Chunk, Type};

/// The ids that chunks written so far gave to types.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// Hash of the name and fields of each type.
    types: FxHashMap<i64, u64>,
    /// Hash of each constant without keys of the chunk written last, by new type id and key.
    constants: FxHashMap<(i64, i64), u64>,
    largest: i64,
}

/// New ids of one chunk's types; empty where the chunk keeps its own.
pub(super) type Renumbered = FxHashMap<i64, i64>;

impl Ids {
    /// Decides whether a chunk keeps its ids, and remembers what they mean.
    pub(super) fn of(&mut self, chunk: &Chunk<'_>) -> Renumbered {
        let constants = flat_constants(chunk);
        let mut renumbered = Renumbered::default();
        if self.clashes(chunk, &constants) {
            for declared in chunk.types().iter() {
                self.largest += 1;
                renumbered.insert(declared.id(), self.largest);
            }
        }
        let new = |id| renumbered.get(&id).copied().unwrap_or(id);
        for declared in chunk.types().iter() {
            self.types.insert(new(declared.id()), shape(declared));
            self.largest = self.largest.max(new(declared.id()));
        }
        self.constants = constants
            .into_iter()
            .map(|((id, key), hash)| ((new(id), key), hash))
            .collect();
        renumbered
    }

    fn clashes(&self, chunk: &Chunk<'_>, constants: &FxHashMap<(i64, i64), u64>) -> bool {
        let types = chunk.types().iter().any(|declared| {
            let known = self.types.get(&declared.id());
            known.is_some_and(|&known| known != shape(declared))
        });
        types
            || constants.iter().any(|(at, hash)| {
                let known = self.constants.get(at);
                known.is_some_and(|known| known != hash)
            })
    }
}

/// Name and field names: what makes an id the same type.
fn shape(declared: &Type<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    declared.name().hash(&mut hasher);
    for field in declared.fields() {
        (field.name(), field.is_pooled(), field.is_array()).hash(&mut hasher);
    }
    hasher.finish()
}

/// Constants that refer to no others: their bytes alone say whether they are the same.
fn flat_constants(chunk: &Chunk<'_>) -> FxHashMap<(i64, i64), u64> {
    let mut hashes = FxHashMap::default();
    for declared in chunk.types().iter() {
        let fields = declared.fields();
        if fields.len() != 1 || fields.iter().any(|field| field.is_pooled()) {
            continue;
        }
        for (key, bytes) in chunk.pool(declared.id()) {
            let mut hasher = FxHasher::default();
            bytes.hash(&mut hasher);
            hashes.insert((declared.id(), key), hasher.finish());
        }
    }
    hashes
}
