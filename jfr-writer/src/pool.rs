//! The constant pools of a chunk, as bytes that wait for the next checkpoint.

use jfr_format::varint;

/// One pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Pool {
    Text,
    Symbol,
    Class,
    Package,
    Module,
    ClassLoader,
    Method,
    FrameType,
    StackTrace,
    ThreadGroup,
    Thread,
    RootSystem,
    RootType,
    GcRoot,
    Array,
    Field,
    OldObject,
    Reference,
}

impl Pool {
    pub(crate) const COUNT: usize = 18;

    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::Text,
        Self::Symbol,
        Self::Class,
        Self::Package,
        Self::Module,
        Self::ClassLoader,
        Self::Method,
        Self::FrameType,
        Self::StackTrace,
        Self::ThreadGroup,
        Self::Thread,
        Self::RootSystem,
        Self::RootType,
        Self::GcRoot,
        Self::Array,
        Self::Field,
        Self::OldObject,
        Self::Reference,
    ];

    pub(crate) const fn type_name(self) -> &'static str {
        match self {
            Self::Text => "java.lang.String",
            Self::Symbol => "jdk.types.Symbol",
            Self::Class => "java.lang.Class",
            Self::Package => "jdk.types.Package",
            Self::Module => "jdk.types.Module",
            Self::ClassLoader => "jdk.types.ClassLoader",
            Self::Method => "jdk.types.Method",
            Self::FrameType => "jdk.types.FrameType",
            Self::StackTrace => "jdk.types.StackTrace",
            Self::ThreadGroup => "jdk.types.ThreadGroup",
            Self::Thread => "java.lang.Thread",
            Self::RootSystem => "jdk.types.OldObjectRootSystem",
            Self::RootType => "jdk.types.OldObjectRootType",
            Self::GcRoot => "jdk.types.OldObjectGcRoot",
            Self::Array => "jdk.types.OldObjectArray",
            Self::Field => "jdk.types.OldObjectField",
            Self::OldObject => "jdk.types.OldObject",
            Self::Reference => "jdk.types.Reference",
        }
    }
}

/// Entries of one pool that wait, and the key that comes next.
///
/// Keys start at 1 and are never given twice in a process, whatever chunk they are in.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    last_key: u64,
    count: u64,
    bytes: Vec<u8>,
}

impl Pending {
    /// A key that no constant has had.
    pub(crate) fn fresh_key(&mut self) -> u64 {
        self.last_key += 1;
        self.last_key
    }

    /// The key that [`Pending::fresh_key`] gives next.
    pub(crate) const fn next_key(&self) -> u64 {
        self.last_key + 1
    }

    /// Adds a constant; `encode` appends its fields.
    pub(crate) fn put(&mut self, key: u64, encode: impl FnOnce(&mut Vec<u8>)) {
        varint::put_u64(&mut self.bytes, key);
        encode(&mut self.bytes);
        self.count += 1;
    }

    /// Where the pool stands, for [`Pending::roll_back`].
    pub(crate) const fn mark(&self) -> (u64, usize) {
        (self.count, self.bytes.len())
    }

    /// Forgets what was added since `mark`; keys given since stay given.
    pub(crate) fn roll_back(&mut self, mark: (u64, usize)) {
        self.count = mark.0;
        self.bytes.truncate(mark.1);
    }

    /// Appends the pool as a checkpoint holds it; nothing for an empty one, since count 0 is an error.
    pub(crate) fn write(&self, out: &mut Vec<u8>, type_id: u64) {
        if self.count > 0 {
            varint::put_u64(out, type_id);
            varint::put_u64(out, self.count);
            out.extend_from_slice(&self.bytes);
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) const fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_given_twice() {
        let mut pool = Pending::default();
        let mark = pool.mark();
        let first = pool.fresh_key();
        pool.put(first, |out| out.push(0));
        pool.roll_back(mark);
        assert!(pool.is_empty());
        pool.clear();
        assert_eq!(pool.fresh_key(), first + 1);
    }

    #[test]
    fn pools_stand_at_their_own_index() {
        for (at, pool) in Pool::ALL.into_iter().enumerate() {
            assert_eq!(pool as usize, at);
        }
    }
}
