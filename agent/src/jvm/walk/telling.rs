//! Which of a search's paths are told as chains, and how they are kept for re-reading.

use chain_core::PassPlan;
use chain_core::chain::{Chain, FoundChain, RootKind};
use chain_core::signature;

use super::Host;
use super::contents::contents;
use super::kept::{Kept, KeptRoot};
use super::nodes::NodeId;
use super::observe::{Observed, keep, observe, rank, tell, tell_contents, tell_through_loader};
use super::roots::Root;
use super::search::Search;
use super::tally::Ranked;
use super::walker::Walker;
use crate::jvm::env::{Jni, Obj};

/// Chains told per candidate.
const CHAINS: usize = 3;
/// Longest chain of a plan that sets none.
const HOPS: usize = 200;
/// Failed attempts to re-read a path before it is given up.
const MAX_BROKEN: u32 = 8;
/// Chains kept for re-reading.
const KEPT: usize = 128;

impl<H: Host> Walker<H> {
    /// Re-reads and tells the best paths of every candidate whose count grew noticeably since they were told.
    pub(super) fn tell_chains(
        &mut self,
        jni: &Jni<'_>,
        plan: &PassPlan,
        over: bool,
    ) -> Vec<FoundChain> {
        let mut told = Vec::new();
        let Some(mut search) = self.search.take() else {
            return told;
        };
        for place in 0..search.targets.len() {
            if search.tallies.get(place).is_some_and(|t| t.is_news(over)) {
                self.tell_candidate(jni, plan, &mut search, place, over, &mut told);
            }
        }
        self.search = Some(search);
        told
    }

    fn tell_candidate(
        &mut self,
        jni: &Jni<'_>,
        plan: &PassPlan,
        search: &mut Search,
        place: usize,
        over: bool,
        told: &mut Vec<FoundChain>,
    ) {
        let (Some(class), Some(tally)) = (
            search.targets.get(place).copied(),
            search.tallies.get(place),
        ) else {
            return;
        };
        let reached = tally.reached;
        let ranked = tally.ranked(|sig| rank(search, &self.catalogue, sig));
        let mut best: Option<Ranked> = None;
        let mut count = 0;
        for path in &ranked {
            if count >= CHAINS || !path.worth_telling(best.as_ref(), over, reached) {
                continue;
            }
            let Some(found) = self.tell_path(jni, plan, search, place, path) else {
                continue;
            };
            count += 1;
            best = best.or(Some(*path));
            told.push(FoundChain {
                candidate: class,
                verified: true,
                instances: path.instances,
                reached,
                ..found
            });
        }
        if count > 0
            && let Some(tally) = search.tallies.get_mut(place)
        {
            tally.told = reached;
        }
    }

    /// Tells one path by the first of its examples that still holds.
    fn tell_path(
        &mut self,
        jni: &Jni<'_>,
        plan: &PassPlan,
        search: &mut Search,
        place: usize,
        path: &Ranked,
    ) -> Option<FoundChain> {
        let known = search.tallies.get(place)?.paths.get(&path.sig)?;
        if known.broken > MAX_BROKEN {
            return None;
        }
        let handle = known.handle;
        let mut examples = known.examples.clone();
        if examples.len() > 1 {
            // The second instance shows the edge on which a list goes on.
            examples.swap(0, 1);
        }
        let found = examples
            .into_iter()
            .find_map(|node| self.tell_one(jni, plan, search, node, handle));
        let known = search.tallies.get_mut(place)?.paths.get_mut(&path.sig)?;
        match &found {
            Some(found) => known.handle = found.leaf,
            None => known.broken += 1,
        }
        found
    }

    fn tell_one(
        &mut self,
        jni: &Jni<'_>,
        plan: &PassPlan,
        search: &Search,
        node: NodeId,
        handle: Option<u64>,
    ) -> Option<FoundChain> {
        let observed = observe(search, &mut self.catalogue, jni, node, self.abort)?;
        let hops = if plan.hops == 0 {
            HOPS
        } else {
            plan.hops as usize
        };
        let found = tell(search, &self.catalogue, &observed, hops).and_then(|chain| {
            let through = self.through_loader(jni, search, &observed, &chain, hops);
            let chain = through.unwrap_or(chain);
            let leaf = self.keep(jni, search, &observed, handle)?;
            let class = search.class_of(node)?;
            let contents = contents(&mut self.catalogue, jni, &observed.leaf, class);
            let further = tell_contents(&self.catalogue, &chain, &contents);
            let (signature, identity) = (signature::signature(&chain), signature::identity(&chain));
            let same_leak = signature::identity(&further) == identity;
            Some(FoundChain {
                signature,
                identity,
                chain: if same_leak { further } else { chain },
                leaf: Some(leaf),
                ..FoundChain::default()
            })
        });
        jni.delete(observed.leaf);
        found
    }

    /// The chain through what holds the loader of its root's class, when that class is one of a deployment among several
    /// and the loader was reached from a root of its own.
    fn through_loader(
        &mut self,
        jni: &Jni<'_>,
        search: &Search,
        observed: &Observed<'_>,
        chain: &Chain,
        hops: usize,
    ) -> Option<Chain> {
        let Root::Static { class, .. } = search.roots.get(observed.root)? else {
            return None;
        };
        if !self.catalogue.is_redeployed(*class) {
            return None;
        }
        let loader = self.catalogue.custom_loader(jni, *class)?;
        let told = self.loader_chain(jni, search, &loader, hops);
        jni.delete(loader);
        Some(tell_through_loader(told?, chain))
    }

    /// The chain to a loader; `None` when it was not seen, or only as a root.
    fn loader_chain(
        &mut self,
        jni: &Jni<'_>,
        search: &Search,
        loader: &Obj<'_>,
        hops: usize,
    ) -> Option<Chain> {
        let class = self.catalogue.class_of(jni, loader)?;
        let node = search.find(self.jvmti, class, loader)?;
        let observed = observe(search, &mut self.catalogue, jni, node, self.abort)?;
        let same = jni.same(&observed.leaf, loader);
        let rooted = matches!(
            search.roots.get(observed.root),
            Some(Root::Seen {
                kind: RootKind::ClassLoader,
                ..
            })
        );
        let chain = (same && !rooted).then(|| tell(search, &self.catalogue, &observed, hops));
        jni.delete(observed.leaf);
        chain.flatten()
    }

    /// Keeps an observed path for re-reading, in place of what `handle` names.
    fn keep(
        &mut self,
        jni: &Jni<'_>,
        search: &Search,
        observed: &Observed<'_>,
        handle: Option<u64>,
    ) -> Option<u64> {
        let root = match search.roots.get(observed.root)? {
            Root::Static { class, field, .. } => KeptRoot::Static(*class, *field),
            _ => {
                let object = search.roots.read(jni, &self.catalogue, observed.root)?;
                let weak = jni.new_weak(&object);
                jni.delete(object);
                KeptRoot::Object(weak?)
            }
        };
        let leaf = jni.new_weak(&observed.leaf)?;
        let old = self
            .kept
            .iter()
            .position(|kept| Some(kept.handle) == handle);
        let handle = handle.unwrap_or(self.next_handle);
        self.next_handle = self.next_handle.max(handle + 1);
        self.kept.push_back(Kept {
            handle,
            leaf,
            root,
            steps: keep(search, &self.catalogue, observed),
        });
        let over = match old {
            Some(at) => self.kept.remove(at),
            None if self.kept.len() > KEPT => self.kept.pop_front(),
            None => None,
        };
        if let Some(over) = over {
            over.free(jni);
        }
        Some(handle)
    }
}
