//! Path signatures of one search: a tree of (class, edge) steps with array indices erased and runs collapsed.
//!
//! Every seen object has one, so instances can be counted per path without keeping a path per instance. An
//! object that hangs on another of its own class (`Node.next`, a tree's `left`) has its referrer's signature;
//! longer periods collapse at their third repetition. So a list of ten million nodes needs one signature.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use chain_core::chain::Strength;

use super::nodes::{Edge, RootId};

/// A path signature of this search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SigId(pub u32);

/// The step that a signature adds to its parent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// What a root (or a group of roots that read alike) refers to.
    Root(RootId),
    /// A field, by its place in the referrer class's list.
    Field(u32),
    /// Any element of an array.
    Element,
    /// The class of an object.
    Class,
    /// Beyond the bounds on signatures: the class is known, the way there is not told apart.
    Folded,
}

#[derive(Debug, Clone, Copy)]
struct Sig {
    parent: Option<SigId>,
    class: u32,
    step: Step,
    depth: u16,
    strength: Strength,
    objects: u32,
}

/// Longest period that collapses.
const MAX_PERIOD: usize = 4;
/// Signatures of one search; beyond it there is one for each class.
const MAX_SIGS: usize = 1 << 18;
/// Longest signature; beyond it there is one for each class.
const MAX_DEPTH: u16 = 400;

/// The signatures of one search.
#[derive(Debug, Default)]
pub struct Sigs {
    all: Vec<Sig>,
    index: HashMap<(u32, u32, u64), SigId, BuildHasherDefault<Mix>>,
}

/// Multiplicative hashing of small integer keys: no attacker chooses them.
#[derive(Debug, Default, Clone, Copy)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517C_C1B7_2722_0A95);
    }
}

impl Step {
    fn key(self) -> u64 {
        match self {
            Self::Root(root) => 1 << 32 | u64::from(root.0),
            Self::Field(field) => 2 << 32 | u64::from(field),
            Self::Element => 3 << 32,
            Self::Class => 4 << 32,
            Self::Folded => 5 << 32,
        }
    }

    /// The step of an edge out of an object; `array` says whether the referrer is an array.
    #[must_use]
    pub fn of(edge: Edge, array: bool) -> Self {
        match edge.index() {
            None => Self::Class,
            Some(_) if array => Self::Element,
            Some(index) => Self::Field(index),
        }
    }
}

impl Sigs {
    fn get(&self, id: SigId) -> Option<&Sig> {
        self.all.get(id.0 as usize)
    }

    /// Native bytes held, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<Sig>() + self.index.capacity() * 32
    }

    /// The class at the end of a signature.
    #[must_use]
    pub fn class(&self, id: SigId) -> u32 {
        self.get(id).map_or(u32::MAX, |sig| sig.class)
    }

    /// Steps from the root, runs collapsed, the root's own included.
    #[must_use]
    pub fn depth(&self, id: SigId) -> u16 {
        self.get(id).map_or(0, |sig| sig.depth)
    }

    /// Objects that carry the signature.
    #[must_use]
    pub fn objects(&self, id: SigId) -> u32 {
        self.get(id).map_or(0, |sig| sig.objects)
    }

    /// The signature before the last step.
    #[must_use]
    pub fn parent(&self, id: SigId) -> Option<SigId> {
        self.get(id)?.parent
    }

    /// The last step.
    #[must_use]
    pub fn step(&self, id: SigId) -> Option<Step> {
        self.get(id).map(|sig| sig.step)
    }

    /// The weakest of the root and the edges on the way.
    #[must_use]
    pub fn strength(&self, id: SigId) -> Strength {
        self.get(id).map_or(Strength::Weak, |sig| sig.strength)
    }

    /// Counts one object less: it hangs elsewhere now.
    pub fn uncount(&mut self, id: SigId) {
        if let Some(sig) = self.all.get_mut(id.0 as usize) {
            sig.objects = sig.objects.saturating_sub(1);
        }
    }

    /// A mark for every signature, by its number.
    pub fn marked(&self, mark: impl Fn(&Self, SigId) -> bool) -> Vec<bool> {
        (0..self.all.len())
            .map(|at| u32::try_from(at).is_ok_and(|at| mark(self, SigId(at))))
            .collect()
    }

    /// Counts one more object.
    pub fn count(&mut self, id: SigId) {
        if let Some(sig) = self.all.get_mut(id.0 as usize) {
            sig.objects = sig.objects.saturating_add(1);
        }
    }

    /// The signature of what a root refers to.
    pub fn root(&mut self, root: RootId, class: u32, strength: Strength) -> SigId {
        self.intern(None, class, Step::Root(root), strength)
            .unwrap_or_else(|| self.folded(class, strength))
    }

    /// The signature of an object of `class` reached from one with signature `parent` over an edge of strength `edge`.
    pub fn child(&mut self, parent: SigId, class: u32, step: Step, edge: Strength) -> SigId {
        let strength = self.strength(parent).max(edge);
        let weakens = strength > self.strength(parent);
        if matches!(step, Step::Field(_)) && self.class(parent) == class && !weakens {
            return parent;
        }
        if self.depth(parent) >= MAX_DEPTH {
            return self.folded(class, strength);
        }
        if !weakens && let Some(earlier) = self.third_repetition(parent, class, step) {
            return earlier;
        }
        self.intern(Some(parent), class, step, strength)
            .unwrap_or_else(|| self.folded(class, strength))
    }

    /// The signature that stands for every way to a class beyond the bounds. An object's signature always has the
    /// object's class: reading fields relies on it.
    fn folded(&mut self, class: u32, strength: Strength) -> SigId {
        let key = (u32::MAX, class, Step::Folded.key() | strength as u64);
        if let Some(id) = self.index.get(&key) {
            return *id;
        }
        let id = SigId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(Sig {
            parent: None,
            class,
            step: Step::Folded,
            depth: MAX_DEPTH,
            strength,
            objects: 0,
        });
        self.index.insert(key, id);
        id
    }

    fn intern(
        &mut self,
        parent: Option<SigId>,
        class: u32,
        step: Step,
        strength: Strength,
    ) -> Option<SigId> {
        let key = (parent.map_or(u32::MAX, |p| p.0), class, step.key());
        if let Some(id) = self.index.get(&key) {
            return Some(*id);
        }
        if self.all.len() >= MAX_SIGS {
            return None;
        }
        let id = SigId(u32::try_from(self.all.len()).ok()?);
        let depth = parent.map_or(0, |p| self.depth(p)) + 1;
        self.all.push(Sig {
            parent,
            class,
            step,
            depth,
            strength,
            objects: 0,
        });
        self.index.insert(key, id);
        Some(id)
    }

    /// When the steps up to and with this one repeat a period for the third time: the signature that closed the
    /// second time.
    fn third_repetition(&self, parent: SigId, class: u32, step: Step) -> Option<SigId> {
        let mut tail = [(SigId(0), 0_u32, Step::Element); MAX_PERIOD * 2];
        let mut filled = 0;
        let mut at = Some(parent);
        while let (Some(id), Some(slot)) = (at, tail.get_mut(filled)) {
            let sig = self.get(id)?;
            *slot = (id, sig.class, sig.step);
            filled += 1;
            at = sig.parent;
        }
        let tail = tail.get(..filled)?;
        for period in 2..=MAX_PERIOD {
            // tail[0] is the last step so far; the new one would be "tail[-1]".
            let &(earlier, c, s) = tail.get(period - 1)?;
            let &(_, c2, s2) = tail.get(2 * period - 1)?;
            let repeats = (c, s) == (class, step)
                && (c2, s2) == (class, step)
                && (0..period - 1).all(|i| match (tail.get(i), tail.get(i + period)) {
                    (Some(a), Some(b)) => (a.1, a.2) == (b.1, b.2),
                    _ => false,
                });
            if repeats {
                return Some(earlier);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DURABLE: Strength = Strength::Durable;

    #[test]
    fn a_list_of_any_length_has_one_signature() {
        let mut sigs = Sigs::default();
        let head = sigs.root(RootId(0), 1, DURABLE);
        let mut at = head;
        for _ in 0..1000 {
            at = sigs.child(at, 1, Step::Field(0), DURABLE);
        }
        assert_eq!(at, head);
    }

    #[test]
    fn array_indices_are_erased_and_fields_are_not() {
        let mut sigs = Sigs::default();
        let root = sigs.root(RootId(0), 1, DURABLE);
        let a = sigs.child(root, 2, Step::of(Edge::slot(5), true), DURABLE);
        let b = sigs.child(root, 2, Step::of(Edge::slot(6), true), DURABLE);
        let c = sigs.child(root, 2, Step::of(Edge::slot(6), false), DURABLE);
        assert_eq!(a, b);
        assert_ne!(a, c);
    }

    #[test]
    fn a_period_of_two_collapses_at_its_third_repetition() {
        let mut sigs = Sigs::default();
        let mut at = sigs.root(RootId(0), 1, DURABLE);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..500 {
            at = sigs.child(at, 2, Step::Field(0), DURABLE);
            seen.insert(at);
            at = sigs.child(at, 1, Step::Field(1), DURABLE);
            seen.insert(at);
        }
        assert!(seen.len() <= 5, "{} signatures", seen.len());
    }

    #[test]
    fn two_roots_are_two_signatures() {
        let mut sigs = Sigs::default();
        assert_ne!(
            sigs.root(RootId(0), 1, DURABLE),
            sigs.root(RootId(1), 1, DURABLE)
        );
        assert_eq!(
            sigs.root(RootId(0), 1, DURABLE),
            sigs.root(RootId(0), 1, DURABLE)
        );
    }

    #[test]
    fn the_weakest_edge_decides_from_there_on() {
        let mut sigs = Sigs::default();
        let root = sigs.root(RootId(0), 1, DURABLE);
        let soft = sigs.child(root, 2, Step::Field(0), Strength::Soft);
        let below = sigs.child(soft, 3, Step::Field(0), DURABLE);
        assert_eq!(sigs.strength(below), Strength::Soft);
        assert_eq!(sigs.strength(root), DURABLE);
    }

    #[test]
    fn a_signature_has_the_class_of_its_object_beyond_every_bound() {
        let mut sigs = Sigs::default();
        let root = sigs.root(RootId(0), 1, DURABLE);
        let mut deep = root;
        for class in 0..3 * u32::from(MAX_DEPTH) {
            deep = sigs.child(deep, class, Step::Field(0), DURABLE);
            assert_eq!(sigs.class(deep), class);
        }
        for class in 0..u32::try_from(MAX_SIGS).unwrap() {
            let sig = sigs.child(root, class, Step::Field(1), DURABLE);
            assert_eq!(sigs.class(sig), class);
            let soft = sigs.child(sig, class, Step::Field(1), Strength::Soft);
            assert_eq!(
                (sigs.class(soft), sigs.strength(soft)),
                (class, Strength::Soft)
            );
        }
    }
}
