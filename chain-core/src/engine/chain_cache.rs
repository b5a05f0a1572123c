//! Which chains are known, which of them were written, and how one is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::chain::FoundChain;
use crate::ids::{ClassId, SearchId, ShortId};
use crate::inline::InlineVec;
use crate::leak_signal::LeakSignal;
use crate::record::ChainCommitted;
use crate::signature;
use crate::tick::{Bytes, Tick};
use crate::tuning;

/// A chain of the cache.
#[derive(Clone, Debug)]
struct Cached {
    found: Arc<FoundChain>,
    search: SearchId,
    first_seen: Tick,
    committed: bool,
    provisional: bool,
    coverage: Option<u16>,
}

/// Chains by signature, at most [`tuning::CHAIN_CACHE`].
#[derive(Debug, Default)]
pub(super) struct ChainCache {
    chains: BTreeMap<ShortId, Cached>,
    dropped: u64,
}

impl ChainCache {
    /// Keeps a chain, newest tally first; a full cache drops the newcomer and counts it.
    pub fn take(&mut self, now: Tick, search: SearchId, coverage: Option<u16>, found: FoundChain) {
        let key = found.signature;
        if let Some(old) = self.chains.get_mut(&key) {
            let verified = found.verified || old.found.verified;
            // A path that was re-read stays the one that is shown.
            if found.verified || !old.found.verified {
                old.found = Arc::new(FoundChain { verified, ..found });
            }
            old.search = search;
            old.coverage = coverage;
            return;
        }
        if self.chains.len() >= tuning::CHAIN_CACHE {
            self.dropped += 1;
            return;
        }
        let cached = Cached {
            found: Arc::new(found),
            search,
            first_seen: now,
            committed: false,
            provisional: true,
            coverage,
        };
        self.chains.insert(key, cached);
    }

    /// Marks the verified chains of `class` as written; those that are news are to be written now.
    pub fn commit(&mut self, class: ClassId, provisional: bool) -> Vec<ShortId> {
        let mut news = Vec::new();
        let of_class = |c: &Cached| c.found.candidate == class && c.found.verified;
        for (key, c) in self.chains.iter_mut().filter(|(_, c)| of_class(c)) {
            // What was written stays written: only news are emitted again.
            if !c.committed || (c.provisional && !provisional) {
                news.push(*key);
            }
            c.provisional = provisional && (c.provisional || !c.committed);
            c.committed = true;
        }
        news
    }

    /// How the chain `key` is told, with what the signal knows of its class.
    pub fn record(
        &self,
        key: ShortId,
        repeated: bool,
        signal: &LeakSignal,
    ) -> Option<ChainCommitted> {
        let c = self.chains.get(&key)?;
        let same_leak =
            |o: &&Cached| o.committed && signature::same_leak(&o.found.chain, &c.found.chain);
        let mut merged = InlineVec::default();
        let mut shown = &c.found;
        for other in self.chains.values().filter(same_leak) {
            let known = merged.iter().any(|k| *k == other.found.candidate);
            if !known {
                merged.push(other.found.candidate);
            }
            // The deepest member shows the application's class.
            if other.found.chain.hops.len() > shown.chain.hops.len() {
                shown = &other.found;
            }
        }
        let display_leaf = signature::display_leaf(&c.found.chain)
            .or_else(|| signature::display_leaf(&shown.chain));
        // One leak, one finding: the container nearest to the root names it.
        let identity = self
            .chains
            .values()
            .filter(same_leak)
            .min_by_key(|o| signature::identity_text(&o.found.chain).len())
            .map_or(c.found.identity, |o| o.found.identity);
        let standing = signal.standing_of(c.found.candidate);
        Some(ChainCommitted {
            search: c.search,
            merged,
            display_leaf,
            identity,
            strength: c.found.chain.strength,
            coverage: c.coverage,
            provisional: c.provisional,
            repeated,
            first_seen: c.first_seen,
            retained: standing.map_or(Bytes(0), |s| s.retained),
            growth_per_hour: standing.and_then(|s| s.growth_per_hour),
            found: c.found.clone(),
        })
    }

    /// Whether the chain was written.
    pub fn is_committed(&self, key: ShortId) -> bool {
        self.chains.get(&key).is_some_and(|c| c.committed)
    }

    /// Forgets a chain that no longer holds.
    pub fn remove(&mut self, key: ShortId) {
        self.chains.remove(&key);
    }

    /// Every chain, by signature.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FoundChain>> {
        self.chains.values().map(|c| &c.found)
    }

    /// Newcomers dropped at a full cache.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}
