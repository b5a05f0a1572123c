//! Classes that need no new search for a while: what was found holds, or was looked for in vain lately.

use crate::ids::{ClassId, ShortId};
use crate::tick::{Millis, Tick};
use crate::tuning;

#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
struct Entry {
    class: ClassId,
    since: Tick,
    cooldown: Millis,
    /// Its chain, when it has one; a chain that no longer holds unsettles the class.
    chain: Option<ShortId>,
    /// Searches in a row that brought no chain.
    losses: u32,
}

/// The settled classes, bounded by what the signal follows.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(transparent)
)]
pub(crate) struct Settled {
    entries: Vec<Entry>,
}

impl Default for Settled {
    fn default() -> Settled {
        Settled {
            entries: Vec::with_capacity(tuning::SIGNAL_CLASSES),
        }
    }
}

impl Settled {
    /// Whether `class` needs no search at `now`.
    pub fn holds(&self, now: Tick, class: ClassId) -> bool {
        self.entries
            .iter()
            .any(|e| e.class == class && now.since(e.since) < e.cooldown)
    }

    /// A search found the certain chain of `class`.
    pub fn resolve(&mut self, now: Tick, class: ClassId, chain: ShortId) {
        self.put(Entry {
            class,
            since: now,
            cooldown: Millis(tuning::RESOLVED_COOLDOWN),
            chain: Some(chain),
            losses: 0,
        });
    }

    /// A search brought no certain chain for `class`: the next one waits, twice as long each time.
    pub fn lose(&mut self, now: Tick, class: ClassId) {
        let losses = self
            .entries
            .iter()
            .find(|e| e.class == class)
            .map_or(0, |e| e.losses);
        let shift = losses.min(tuning::LOST_COOLDOWN_SHIFT_MAX);
        self.put(Entry {
            class,
            since: now,
            cooldown: Millis(tuning::LOST_COOLDOWN << shift),
            chain: None,
            losses: losses.saturating_add(1),
        });
    }

    /// A chain no longer holds: its class may be searched again at once.
    pub fn unsettle(&mut self, dead: ShortId) {
        self.entries.retain(|e| e.chain != Some(dead));
    }

    /// After a clock that went backwards no cooldown is longer than at first.
    pub fn rebase(&mut self, now: Tick) {
        for e in &mut self.entries {
            e.since = e.since.min(now);
        }
    }

    fn put(&mut self, entry: Entry) {
        self.entries.retain(|e| e.class != entry.class);
        if self.entries.len() >= tuning::SIGNAL_CLASSES {
            self.entries.remove(0);
        }
        self.entries.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_class_waits_a_minute_doubling_to_thirty_two() {
        let mut s = Settled::default();
        let mut now = Tick(5);
        for minutes in [1, 2, 4, 8, 16, 32, 32] {
            s.lose(now, ClassId(1));
            let over = now.after(Millis(minutes * 60_000));
            assert!(s.holds(over.before(Millis(1)), ClassId(1)));
            assert!(!s.holds(over, ClassId(1)), "{minutes} min");
            now = over;
        }
        assert!(!s.holds(now, ClassId(2)));
        s.resolve(now, ClassId(1), ShortId(9));
        s.lose(now, ClassId(1));
        assert!(
            !s.holds(now.after(Millis(60_000)), ClassId(1)),
            "starts anew"
        );
    }

    #[test]
    fn a_resolved_class_is_settled_while_its_chain_holds_half_an_hour_at_most() {
        let mut s = Settled::default();
        s.resolve(Tick(0), ClassId(1), ShortId(9));
        assert!(s.holds(Tick(1_799_999), ClassId(1)));
        assert!(!s.holds(Tick(1_800_000), ClassId(1)));
        s.unsettle(ShortId(8));
        assert!(s.holds(Tick(1), ClassId(1)));
        s.unsettle(ShortId(9));
        assert!(!s.holds(Tick(1), ClassId(1)));
    }

    #[test]
    fn a_clock_that_goes_back_lengthens_no_cooldown() {
        let mut s = Settled::default();
        s.lose(Tick(10_000_000), ClassId(1));
        s.rebase(Tick(100));
        assert!(s.holds(Tick(60_099), ClassId(1)) && !s.holds(Tick(60_100), ClassId(1)));
    }

    #[test]
    fn no_more_classes_are_settled_than_are_followed() {
        let mut s = Settled::default();
        for class in 0..300 {
            s.lose(Tick(0), ClassId(class));
        }
        assert_eq!(s.entries.len(), 256);
        assert!(!s.holds(Tick(1), ClassId(43)) && s.holds(Tick(1), ClassId(44)));
    }
}
