//! Why a class has no chain: nothing strong leads to it, or nobody looked everywhere.

use serde::Serialize;

/// What the searches say of a class to which no chain was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NoChain {
    /// What follows from them.
    pub state: NoChainState,
    /// What the search did not look at, in the producer's words; empty when it looked everywhere.
    pub gaps: Vec<String>,
    /// The producer's number of the search that says so, the last one that looked for the class.
    pub search: Option<u64>,
}

/// What follows from the searches for a class without a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoChainState {
    /// A search followed everything from every root and met no instance.
    NoStrongPath,
    /// Instances were met, but no path to one held when it was read again; or the class joined late.
    PathLost,
    /// The search did not look everywhere.
    Incomplete,
    /// No search looked for it.
    NotSearched,
}

impl NoChain {
    /// Of a class that no search looked for.
    pub const fn not_searched() -> Self {
        Self {
            state: NoChainState::NotSearched,
            gaps: Vec::new(),
            search: None,
        }
    }

    /// Whether a search proved that no strong path leads to the class.
    pub fn is_proven(&self) -> bool {
        self.state == NoChainState::NoStrongPath
    }
}
