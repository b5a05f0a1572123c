//! Where the constants of a chunk lie.

use rustc_hash::FxHashMap;

use super::cursor::Cursor;
use super::error::DecodeError;
use super::skip::skip_value;
use super::types::Types;

/// For each type and key, the offset of the constant's bytes in the chunk.
///
/// Only offsets are kept: a constant is decoded when somebody asks for it.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    by_type: FxHashMap<i64, FxHashMap<i64, usize>>,
    constants: usize,
}

/// What a checkpoint event holds besides its pools.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckpointHead {
    /// Offset in the chunk of the checkpoint before this one, relative to this one; 0 for the first.
    pub(crate) delta: i64,
    /// Which kind: 1 flush, 2 chunk header, 4 statics, 8 threads.
    pub(crate) mask: u8,
    pub(crate) pools: u64,
}

impl Pools {
    /// The offset in the chunk of a constant's first byte.
    pub(crate) fn find(&self, type_id: i64, key: i64) -> Option<usize> {
        self.by_type.get(&type_id)?.get(&key).copied()
    }

    /// Constants over all pools.
    pub(crate) fn len(&self) -> usize {
        self.constants
    }

    /// Keys and offsets of one type's constants, in the order of the bytes.
    pub(crate) fn of_type(&self, type_id: i64) -> Vec<(i64, usize)> {
        let pool = self.by_type.get(&type_id).into_iter().flatten();
        let mut keys: Vec<(i64, usize)> = pool.map(|(&key, &at)| (key, at)).collect();
        keys.sort_unstable_by_key(|&(_, at)| at);
        keys
    }

    /// Adds the constants of the checkpoint whose fields start at `body`.
    ///
    /// Returns why reading stopped early; what was read until then stays.
    /// A key that is there already keeps its value: checkpoints are added from the first of a
    /// chunk to the last, and readers of the JDK and of JMC let the first one win.
    /// Within one checkpoint the last one wins, as there.
    pub(crate) fn add(
        &mut self,
        types: &Types<'_>,
        chunk: &[u8],
        body: usize,
        end: usize,
    ) -> Result<(), PoolError> {
        let bytes = chunk.get(..end).unwrap_or(chunk);
        let mut cursor = Cursor::new(bytes, body);
        let head = checkpoint_head(&mut cursor).map_err(|why| PoolError::new(body, None, why))?;
        for _ in 0..head.pools {
            let pool_at = cursor.at();
            let fail = |at, type_id, why| PoolError::new(at, type_id, why);
            let type_id = cursor.long().map_err(|why| fail(pool_at, None, why))?;
            let count = cursor
                .count()
                .map_err(|why| fail(pool_at, Some(type_id), why))?;
            let index = *types.by_id.get(&type_id).ok_or(fail(
                pool_at,
                Some(type_id),
                DecodeError::UndeclaredType,
            ))?;
            let pool = self.by_type.entry(type_id).or_default();
            for _ in 0..count {
                let entry_at = cursor.at();
                let mut entry = || {
                    let key = cursor.long()?;
                    let at = cursor.at();
                    skip_value(types, index, &mut cursor)?;
                    Ok((key, at))
                };
                match entry() {
                    Ok((key, at)) => {
                        pool.entry(key)
                            .and_modify(|known| {
                                if (body..end).contains(known) {
                                    *known = at;
                                }
                            })
                            .or_insert_with(|| {
                                self.constants += 1;
                                at
                            });
                    }
                    Err(why) => {
                        return Err(fail(entry_at, Some(type_id), why));
                    }
                }
            }
        }
        if cursor.at() == end {
            Ok(())
        } else {
            Err(PoolError::new(cursor.at(), None, DecodeError::Slack))
        }
    }
}

/// Where in a checkpoint reading stopped, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolError {
    pub(crate) at: usize,
    pub(crate) type_id: Option<i64>,
    pub(crate) why: DecodeError,
}

impl PoolError {
    fn new(at: usize, type_id: Option<i64>, why: DecodeError) -> Self {
        Self { at, type_id, why }
    }
}

/// Reads what stands before the pools.
pub(crate) fn checkpoint_head(cursor: &mut Cursor<'_>) -> Result<CheckpointHead, DecodeError> {
    // Start and duration.
    cursor.skip_varints(2)?;
    let delta = cursor.long()?;
    let mask = cursor.byte()?;
    let pools = cursor.count()? as u64;
    Ok(CheckpointHead { delta, mask, pools })
}
