//! Identities the agent hands in. The core compares and counts them; it never resolves one.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        pub struct $name(pub $repr);
    };
}

id!(
    /// A class, dense from the agent's interner; the same id for the life of the process.
    ClassId(u32)
);
id!(
    /// An allocating thread. The agent gives each Java thread one id for its life; virtual threads
    /// share their carrier's, since a thread per request would never show a trend of its own.
    ThreadId(u64)
);
id!(
    /// A slot of the agent's weak-handle table: the agent chooses it and may reuse it once the
    /// engine has given it back through [`Engine::take_released`](crate::Engine::take_released).
    SampleId(u32)
);
id!(
    /// An interned allocation stack.
    TraceId(u32)
);
id!(
    /// A search, counted from 1 in a process.
    SearchId(u32)
);
id!(
    /// Short id of a chain signature or leak identity: printed as 8 hex digits.
    ShortId(u32)
);

impl std::fmt::Display for ShortId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}
