//! Which objects a search has seen: fingerprints of class and identity hash, no reference kept.

use crate::ids::ClassId;
use crate::tick::Bytes;

/// The answer to "have I seen this object?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// First time; it is remembered now.
    New,
    /// Seen, or (about 1 in 2,000 within a class of 5 million, without a discriminator) a hash twin.
    Seen,
    /// Not remembered: growing would exceed the cap.
    Full,
}

/// An open-addressed set of 64-bit keys with a byte cap; it grows by doubling at 3/4 load.
#[derive(Debug)]
pub struct VisitedSet {
    slots: Vec<u64>,
    len: usize,
    cap: Bytes,
}

const START: usize = 1024;

impl VisitedSet {
    /// An empty set that never holds more than `cap` bytes (but 8 KiB at least). While it doubles,
    /// old and new table exist together; `cap` covers that too.
    pub fn new(cap: Bytes) -> VisitedSet {
        VisitedSet {
            slots: vec![0; START],
            len: 0,
            cap,
        }
    }

    /// The key of an object: its class, its 31-bit identity hash, and whatever else stays the same
    /// for its life and tells twins apart (an array's length; 0 for others).
    pub fn key(class: ClassId, identity_hash: u32, discriminator: u32) -> u64 {
        let mut k = (u64::from(class.0) << 32) | u64::from(identity_hash);
        k ^= u64::from(discriminator).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        k ^= k >> 33;
        k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
        k ^= k >> 33;
        k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        k ^= k >> 33;
        k.max(1)
    }

    /// Remembers `key` (non-zero, from [`VisitedSet::key`]).
    pub fn insert(&mut self, key: u64) -> Visit {
        if (self.len + 1) * 4 > self.slots.len() * 3 && !self.grow() {
            return if self.contains(key) {
                Visit::Seen
            } else {
                Visit::Full
            };
        }
        let index = self.find(key);
        match self.slots.get_mut(index) {
            Some(slot) if *slot == 0 => {
                *slot = key;
                self.len += 1;
                Visit::New
            }
            _ => Visit::Seen,
        }
    }

    /// Whether `key` is remembered.
    pub fn contains(&self, key: u64) -> bool {
        self.slots.get(self.find(key)) == Some(&key)
    }

    /// Forgets `key`, so that the object is looked at again (a container that grew, a suspected twin).
    pub fn remove(&mut self, key: u64) -> bool {
        let mut hole = self.find(key);
        if self.slots.get(hole) != Some(&key) {
            return false;
        }
        let mask = self.slots.len() - 1;
        let mut next = (hole + 1) & mask;
        while let Some(&moved) = self.slots.get(next).filter(|k| **k != 0) {
            // A key may fill the hole when its home lies cyclically at or before it.
            if (next.wrapping_sub(Self::home(moved, mask)) & mask)
                >= (next.wrapping_sub(hole) & mask)
            {
                self.set(hole, moved);
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.set(hole, 0);
        self.len -= 1;
        true
    }

    /// Objects remembered.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Native bytes held.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.slots.len() as u64 * 8)
    }

    /// Forgets everything and gives the memory back.
    pub fn clear(&mut self) {
        *self = VisitedSet::new(self.cap);
    }

    fn home(key: u64, mask: usize) -> usize {
        #[allow(clippy::cast_possible_truncation, reason = "masked right after")]
        let k = key as usize;
        k & mask
    }

    /// The slot of `key`, or the free one where it belongs; load below 3/4 keeps one free.
    fn find(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut i = Self::home(key, mask);
        while self.slots.get(i).is_some_and(|k| *k != 0 && *k != key) {
            i = (i + 1) & mask;
        }
        i
    }

    fn set(&mut self, index: usize, key: u64) {
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = key;
        }
    }

    fn grow(&mut self) -> bool {
        let wanted = self.slots.len() * 2;
        let peak = (wanted + self.slots.len()) as u64 * 8;
        let mut bigger = Vec::new();
        if peak > self.cap.0 || bigger.try_reserve_exact(wanted).is_err() {
            return false;
        }
        bigger.resize(wanted, 0);
        let old = std::mem::replace(&mut self.slots, bigger);
        for key in old.into_iter().filter(|k| *k != 0) {
            let index = self.find(key);
            self.set(index, key);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn an_object_is_new_once() {
        let mut v = VisitedSet::new(Bytes::mib(64));
        for h in 0..100_000 {
            assert_eq!(v.insert(VisitedSet::key(ClassId(7), h, 0)), Visit::New);
        }
        for h in 0..100_000 {
            assert_eq!(v.insert(VisitedSet::key(ClassId(7), h, 0)), Visit::Seen);
        }
        assert_eq!(v.len(), 100_000);
    }

    #[test]
    fn class_and_discriminator_tell_hash_twins_apart() {
        let keys: BTreeSet<u64> = [(1, 5, 0), (2, 5, 0), (1, 5, 16), (1, 6, 0)]
            .map(|(c, h, d)| VisitedSet::key(ClassId(c), h, d))
            .into();
        assert_eq!(keys.len(), 4);
    }

    #[test]
    fn at_the_cap_it_refuses_and_still_knows_what_it_has() {
        let mut v = VisitedSet::new(Bytes::kib(48));
        let mut stored = 0;
        for h in 0..10_000 {
            match v.insert(VisitedSet::key(ClassId(1), h, 0)) {
                Visit::New => stored += 1,
                other => assert_eq!(other, Visit::Full),
            }
        }
        assert!((1_000..=3_072).contains(&stored), "{stored}");
        assert!(v.bytes() <= Bytes::kib(48));
        assert_eq!(v.insert(VisitedSet::key(ClassId(1), 0, 0)), Visit::Seen);
    }

    #[test]
    fn removal_keeps_every_other_key_findable() {
        let mut v = VisitedSet::new(Bytes::mib(1));
        let keys: Vec<u64> = (0..700)
            .map(|h| VisitedSet::key(ClassId(3), h, 0))
            .collect();
        for k in &keys {
            v.insert(*k);
        }
        for (i, k) in keys.iter().enumerate() {
            assert!(v.remove(*k));
            assert!(!v.remove(*k));
            for other in keys.iter().skip(i + 1) {
                assert!(v.contains(*other));
            }
        }
        assert!(v.is_empty());
    }
}
