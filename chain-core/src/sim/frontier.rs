//! The frontier: admitted objects that are not expanded yet, bounded, most promising first.

use std::collections::VecDeque;

use crate::ids::ClassId;
use crate::sim::paths::NodeId;
use crate::tick::Bytes;

/// Where leaks live, most likely first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Held by a static field of an application class.
    ApplicationStatic,
    /// A candidate's allocating thread and what it holds directly.
    CandidateThread,
    /// Collections, maps, their tables and large arrays.
    Container,
    /// Other threads and thread-locals.
    Thread,
    /// Application objects.
    Application,
    /// Everything else.
    Other,
}

const TIERS: usize = 6;
/// Every this many pops the oldest entry of the fullest tier is taken, so that no tier starves.
const ROTATION: u32 = 8;

/// One object to expand. `H` is the walk's handle (a weak reference, an index, a tag).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<H> {
    /// The walk's handle.
    pub handle: H,
    /// How it was reached.
    pub node: NodeId,
    /// Its class.
    pub class: ClassId,
    /// First array element that is not expanded yet; a large array is one entry with a cursor.
    pub cursor: u32,
}

/// A bounded multi-tier queue.
#[derive(Debug)]
pub struct Frontier<H> {
    tiers: [VecDeque<Entry<H>>; TIERS],
    cap: usize,
    len: usize,
    pops: u32,
    dropped: u64,
}

impl<H> Frontier<H> {
    /// A frontier of at most `cap` entries.
    pub fn new(cap: usize) -> Frontier<H> {
        Frontier {
            tiers: Default::default(),
            cap: cap.max(1),
            len: 0,
            pops: 0,
            dropped: 0,
        }
    }

    /// Admits an entry. At the cap the newest entry of the least promising tier makes room (it is
    /// the one farthest from the roots) and is returned, so that its handle can be released; the
    /// new entry itself comes back when nothing is less promising.
    pub fn push(&mut self, tier: Tier, entry: Entry<H>) -> Option<Entry<H>> {
        let mut evicted = None;
        if self.len >= self.cap {
            self.dropped += 1;
            let last = (0..TIERS)
                .rev()
                .find(|t| self.tiers.get(*t).is_some_and(|q| !q.is_empty()));
            match last {
                Some(t) if t > tier as usize => evicted = self.take_back(t),
                _ => return Some(entry),
            }
        }
        if let Some(queue) = self.tiers.get_mut(tier as usize) {
            queue.push_back(entry);
            self.len += 1;
        }
        evicted
    }

    /// Puts back an entry that was popped and is not finished (an array with its cursor), at the
    /// end of its tier; it never evicts, since its room was its own.
    pub fn put_back(&mut self, tier: Tier, entry: Entry<H>) {
        if let Some(queue) = self.tiers.get_mut(tier as usize) {
            queue.push_back(entry);
            self.len += 1;
        }
    }

    /// The next entry to expand and its tier.
    pub fn pop(&mut self) -> Option<(Tier, Entry<H>)> {
        self.pops = self.pops.wrapping_add(1);
        let pick = if self.pops.is_multiple_of(ROTATION) {
            (0..TIERS).max_by_key(|t| self.tiers.get(*t).map_or(0, VecDeque::len))
        } else {
            (0..TIERS).find(|t| self.tiers.get(*t).is_some_and(|q| !q.is_empty()))
        }?;
        let entry = self.tiers.get_mut(pick)?.pop_front()?;
        self.len -= 1;
        Some((tier_at(pick), entry))
    }

    /// Takes the newest entries of the least promising tiers, to stay within memory.
    pub fn evict(&mut self, count: usize) -> Vec<Entry<H>> {
        let mut out = Vec::new();
        for t in (0..TIERS).rev() {
            while out.len() < count {
                match self.take_back(t) {
                    Some(e) => out.push(e),
                    None => break,
                }
            }
        }
        self.dropped += out.len() as u64;
        out
    }

    /// Keeps the entries for which `keep` says so (weak handles that died go) and counts the rest.
    pub fn retain(&mut self, mut keep: impl FnMut(&Entry<H>) -> bool) -> u64 {
        let before = self.len;
        for queue in &mut self.tiers {
            queue.retain(|e| keep(e));
        }
        self.len = self.tiers.iter().map(VecDeque::len).sum();
        (before - self.len) as u64
    }

    /// Takes everything, to release the handles.
    pub fn drain(&mut self) -> impl Iterator<Item = Entry<H>> + '_ {
        self.len = 0;
        self.tiers.iter_mut().flat_map(|q| q.drain(..))
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is left to expand.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Entries refused or evicted at the cap or by [`Frontier::evict`] so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Native bytes held, handles' referents not included.
    pub fn bytes(&self) -> Bytes {
        let slots: usize = self.tiers.iter().map(VecDeque::capacity).sum();
        Bytes((slots * size_of::<Entry<H>>()) as u64)
    }

    fn take_back(&mut self, tier: usize) -> Option<Entry<H>> {
        let entry = self.tiers.get_mut(tier)?.pop_back()?;
        self.len -= 1;
        Some(entry)
    }
}

fn tier_at(index: usize) -> Tier {
    match index {
        0 => Tier::ApplicationStatic,
        1 => Tier::CandidateThread,
        2 => Tier::Container,
        3 => Tier::Thread,
        4 => Tier::Application,
        _ => Tier::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(handle: u32) -> Entry<u32> {
        Entry {
            handle,
            node: NodeId(handle),
            class: ClassId(0),
            cursor: 0,
        }
    }

    #[test]
    fn application_statics_come_first_then_candidate_threads_then_containers() {
        let mut f = Frontier::new(10);
        for (t, i) in [
            Tier::Other,
            Tier::Container,
            Tier::CandidateThread,
            Tier::ApplicationStatic,
        ]
        .into_iter()
        .zip(0u32..)
        {
            assert!(f.push(t, entry(i)).is_none());
        }
        let order: Vec<u32> = std::iter::from_fn(|| f.pop())
            .map(|(_, e)| e.handle)
            .collect();
        assert_eq!(order, [3, 2, 1, 0]);
    }

    #[test]
    fn no_tier_starves() {
        let mut f = Frontier::new(10_000);
        for i in 0..100 {
            f.push(Tier::Other, entry(i));
        }
        let mut others = 0;
        for i in 0..200 {
            f.push(Tier::Container, entry(1000 + i));
            let (tier, _) = f.pop().unwrap();
            others += u32::from(tier == Tier::Other);
        }
        assert!(others >= 20, "{others}");
    }

    #[test]
    fn at_the_cap_the_least_promising_entry_makes_room() {
        let mut f = Frontier::new(2);
        f.push(Tier::Other, entry(1));
        f.push(Tier::Container, entry(2));
        assert_eq!(f.push(Tier::Container, entry(3)).unwrap().handle, 1);
        assert_eq!(f.push(Tier::Other, entry(4)).unwrap().handle, 4);
        assert_eq!(f.push(Tier::Container, entry(5)).unwrap().handle, 5);
        assert_eq!((f.len(), f.dropped()), (2, 3));
    }

    #[test]
    fn dead_entries_are_dropped_and_counted() {
        let mut f = Frontier::new(100);
        for i in 0..10 {
            f.push(Tier::Application, entry(i));
        }
        assert_eq!(f.retain(|e| e.handle % 2 == 0), 5);
        assert_eq!(f.len(), 5);
        assert_eq!(f.evict(2).len(), 2);
        assert_eq!(f.drain().count(), 3);
        assert!(f.is_empty() && f.pop().is_none());
    }

    #[test]
    fn a_large_array_is_one_entry_with_a_cursor() {
        let mut f = Frontier::new(1);
        f.push(Tier::Container, entry(1));
        let mut seen = 0;
        while let Some((tier, mut e)) = f.pop() {
            let end = (e.cursor + 1000).min(2_000_000);
            seen += end - e.cursor;
            e.cursor = end;
            if end < 2_000_000 {
                f.put_back(tier, e);
            }
            assert!(f.len() <= 1);
        }
        assert_eq!(seen, 2_000_000);
    }
}
