//! Keeps a search within its memory: seen objects that lead to nothing of interest are folded into fingerprints.
//!
//! What stays are the ways to the frontier, to what waits for another look, and to the examples of tallied paths: all
//! that is ever read again. The leaf-ward rest only needs to be recognised. The half of the memory that the
//! fingerprints take is set aside when they are needed first.

use chain_core::chain::Strength;

use super::catalogue::Catalogue;
use super::fingerprints::Fingerprints;
use super::library::RefKind;
use super::nodes::{NodeId, Renumbering};
use super::pass::Pass;
use super::search::Search;

/// Objects that may be recorded between two looks at the memory.
const MARGIN: usize = 4_096;
/// Edges to read before folding is tried again after it freed little.
const SPACING: u64 = 1 << 20;

impl Pass<'_, '_> {
    /// Folds when the memory is nearly full.
    pub(super) fn fold_if_full(&mut self) {
        if self.search.visited.tags().is_some()
            || self.search.edges + self.edges < self.search.fold_from
        {
            return;
        }
        let limit = match self.search.folded.bytes() {
            0 => self.limits.memory / 2,
            _ => self.room(),
        };
        if self.search.nodes.has_room_for(MARGIN, limit) {
            return;
        }
        if self.search.folded.bytes() == 0 {
            match Fingerprints::within(self.limits.memory / 2) {
                Some(prints) => self.search.folded = prints,
                None => return,
            }
        }
        let before = self.search.nodes.count();
        if self.fold().is_none() || self.search.nodes.count() > before / 4 * 3 {
            self.search.fold_from = self.search.edges + self.edges + SPACING;
        }
    }

    /// Folds; `None` when there is no memory to do so.
    fn fold(&mut self) -> Option<()> {
        let mut marks = self.search.nodes.marks()?;
        for node in self.frontier.nodes() {
            self.search.nodes.mark_path(&mut marks, node);
        }
        mark(self.search, self.catalogue, &mut marks);
        let folded = &mut self.search.folded;
        self.search.nodes.mark_beyond(&mut marks, folded.room());
        let sigs = &self.search.sigs;
        let numbers = self.search.nodes.retain(
            marks,
            |sig| sigs.class(sig),
            |class, hash| folded.insert(class, hash),
        );
        self.frontier.renumber(&numbers);
        renumber(self.search, &numbers);
        Some(())
    }
}

/// Marks what is kept besides the frontier.
fn mark(search: &Search, catalogue: &Catalogue, marks: &mut [u32]) {
    let examples = search
        .tallies
        .iter()
        .flat_map(|tally| tally.paths.values())
        .flat_map(|path| path.examples.iter().copied());
    let waiting = search.parked.iter().chain(&search.near).map(|p| p.node);
    let threads = search.threads.iter().map(|(_, node)| *node);
    let deferred = search.deferred.iter().map(|d| d.from);
    let again = search.again.iter().chain(&search.referents).copied();
    for node in examples
        .chain(waiting)
        .chain(threads)
        .chain(deferred)
        .chain(again)
    {
        search.nodes.mark_path(marks, node);
    }
    for node in search.nodes.ids() {
        // Objects that a stronger way may still be found to, and references to read in the last resort.
        let weak = search.nodes.sig(node).is_some_and(|sig| {
            let strength = search.sigs.strength(sig);
            !matches!(strength, Strength::Durable | Strength::Transient)
        });
        let class = search.class_of(node).and_then(|class| catalogue.get(class));
        let reads = class.is_some_and(|c| !matches!(c.reference, None | Some(RefKind::Phantom)));
        if weak || reads {
            search.nodes.mark_path(marks, node);
        }
    }
}

fn renumber(search: &mut Search, numbers: &Renumbering) {
    let new = |node: &mut NodeId| *node = numbers.of(*node);
    let paths = search.tallies.iter_mut().flat_map(|t| t.paths.values_mut());
    for path in paths {
        path.examples.iter_mut().for_each(new);
    }
    for parked in search.parked.iter_mut().chain(&mut search.near) {
        new(&mut parked.node);
    }
    search.threads.iter_mut().for_each(|(_, node)| new(node));
    search.deferred.iter_mut().for_each(|d| new(&mut d.from));
    search.again.iter_mut().for_each(new);
    search.referents.iter_mut().for_each(new);
}
