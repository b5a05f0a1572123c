//! Objects that need no longer be known by more than having been seen: 5 bytes each.
//!
//! A fingerprint stands for a class and an identity hash. Two objects that share both are one here: about one in two
//! thousand of a class with five million instances, so what is behind a fingerprint was *most probably* seen.

/// A set of fingerprints whose memory is fixed from the start.
#[derive(Debug, Default)]
pub struct Fingerprints {
    /// Open addressing, 0 = free.
    slots: Vec<u32>,
    len: usize,
}

impl Fingerprints {
    /// The largest set that fits in `bytes`; `None` when the process has no memory for it.
    #[must_use]
    pub fn within(bytes: usize) -> Option<Self> {
        let slots = (bytes / size_of::<u32>()).checked_ilog2()?;
        let count = 1_usize << slots;
        let mut slots = Vec::new();
        slots.try_reserve_exact(count).ok()?;
        slots.resize(count, 0);
        Some(Self { slots, len: 0 })
    }

    /// Native bytes held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u32>()
    }

    /// How many more fit: four fifths of the places are used.
    #[must_use]
    pub fn room(&self) -> usize {
        (self.slots.len() / 5 * 4).saturating_sub(self.len)
    }

    /// Adds an object; nothing happens without [`Self::room`].
    pub fn insert(&mut self, class: u32, hash: u32) {
        if self.room() == 0 {
            return;
        }
        let (mut at, print) = self.place(class, hash);
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == print {
                return;
            }
            if *slot == 0 {
                *slot = print;
                self.len += 1;
                return;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// Whether an object like this one was added.
    #[must_use]
    pub fn contains(&self, class: u32, hash: u32) -> bool {
        if self.len == 0 {
            return false;
        }
        let (mut at, print) = self.place(class, hash);
        loop {
            match self.slots.get(at) {
                None | Some(0) => return false,
                Some(slot) if *slot == print => return true,
                Some(_) => at = (at + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// The first place to look at and the fingerprint, of different bits.
    fn place(&self, class: u32, hash: u32) -> (usize, u32) {
        let mut key = (u64::from(class) << 32) | u64::from(hash);
        key = (key ^ (key >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        key = (key ^ (key >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        key ^= key >> 31;
        let print = u32::try_from(key & u64::from(u32::MAX)).unwrap_or(0).max(1);
        let at = usize::try_from(key >> 32).unwrap_or(0) & self.slots.len().wrapping_sub(1);
        (at, print)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_and_little_else() {
        let mut prints = Fingerprints::within(1 << 20).unwrap();
        assert_eq!(prints.bytes(), 1 << 20);
        let room = u32::try_from(prints.room()).unwrap();
        for hash in 0..room {
            prints.insert(hash % 3, hash);
        }
        assert!((0..room).all(|hash| prints.contains(hash % 3, hash)));
        let wrong = (0..room).filter(|hash| prints.contains(7, *hash)).count();
        assert!(wrong < 10, "{wrong}");
    }

    #[test]
    fn a_full_set_takes_nothing_more_and_still_answers() {
        let mut prints = Fingerprints::within(64).unwrap();
        for hash in 0..100 {
            prints.insert(1, hash);
        }
        assert_eq!(prints.room(), 0);
        assert!(prints.contains(1, 0) && !prints.contains(1, 99));
    }

    #[test]
    fn an_empty_set_holds_nothing() {
        assert!(!Fingerprints::default().contains(1, 1));
        assert!(Fingerprints::within(3).is_none());
    }
}
