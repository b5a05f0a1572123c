//! The young collections of a JVM as a series, with what several findings ask of it.

use crate::gc::intake::Jvm;
use crate::gc::record::{Collection, Nanos};
use crate::gc::rules::sizing::{self, Need, Young};

/// A promotion counts from this share of the young generation on: 1/50.
/// Provisional: the governing case promotes 9.9 %, the vectors' smallest bulk promotion 6 %.
const MATERIAL_PARTS: u64 = 50;
/// A pause is long when it exceeds the median of the others this many times.
/// Source: the specification, PROMO-01.
const LONG_FACTOR: u64 = 3;

/// The series.
pub struct Series<'a> {
    /// The JVM.
    pub jvm: &'a Jvm,
    /// Positions of its young collections.
    pub young: Vec<usize>,
    pauses: Vec<u64>,
}

impl<'a> Series<'a> {
    /// Builds it.
    pub fn of(jvm: &'a Jvm) -> Self {
        let young: Vec<usize> = jvm
            .collections
            .iter()
            .enumerate()
            .filter(|(_, r)| r.kind.is_young())
            .map(|(at, _)| at)
            .collect();
        let mut pauses: Vec<u64> = jvm
            .collections
            .iter()
            .filter(|r| r.kind.is_young())
            .filter_map(|r| r.pause.map(|p| p.0))
            .collect();
        pauses.sort_unstable();
        Self { jvm, young, pauses }
    }

    /// The record at a position.
    pub fn get(&self, at: usize) -> Option<&'a Collection> {
        self.jvm.collections.get(at)
    }

    /// Young records with their positions.
    pub fn records(&self) -> impl Iterator<Item = (usize, &'a Collection)> + '_ {
        self.young
            .iter()
            .filter_map(|at| Some((*at, self.get(*at)?)))
    }

    /// The young record before the one at `at`.
    pub fn before(&self, at: usize) -> Option<&'a Collection> {
        let nth = self.young.binary_search(&at).ok()?.checked_sub(1)?;
        self.get(*self.young.get(nth)?)
    }

    /// Median of the young pauses other than `own`; `None` without others.
    pub fn median_of_others(&self, own: Option<Nanos>) -> Option<Nanos> {
        let skip = own.and_then(|p| self.pauses.binary_search(&p.0).ok());
        let rest = self.pauses.len() - usize::from(skip.is_some());
        let nth = |n: usize| {
            let n = n + usize::from(skip.is_some_and(|s| n >= s));
            self.pauses.get(n).copied()
        };
        let high = nth(rest / 2)?;
        if rest == 0 {
            return None;
        }
        if rest % 2 == 1 {
            return Some(Nanos(high));
        }
        let low = nth(rest / 2 - 1)?;
        Some(Nanos(low / 2 + high / 2))
    }

    /// Whether a pause is far beyond the others.
    pub fn is_long(&self, pause: Option<Nanos>) -> bool {
        pause
            .zip(self.median_of_others(pause))
            .is_some_and(|(own, median)| own.0 > median.0.saturating_mul(LONG_FACTOR))
    }

    /// Whether `bytes` promoted matter against the young generation of `r`.
    pub fn material(r: &Collection, bytes: u64) -> bool {
        match r.young_capacity() {
            Some(young) => bytes >= young / MATERIAL_PARTS && bytes > 0,
            None => bytes >= 1024 * 1024,
        }
    }

    /// The young layout at `at`, or at the last collection that shows one.
    pub fn layout(&self, at: usize) -> Option<Young> {
        let flags = &self.jvm.facts.flags;
        let of =
            |r: &Collection| sizing::layout(r, flags.survivor_ratio, flags.target_survivor_ratio);
        self.get(at).and_then(of).or_else(|| {
            self.records()
                .filter(|(n, _)| *n <= at)
                .filter_map(|(_, r)| of(r))
                .last()
        })
    }

    /// The layout with G1's smallest young target up to `at`: sizing must hold in the warm-up.
    pub fn warm_up_layout(&self, at: usize) -> Option<Young> {
        let layout = self.layout(at)?;
        let flags = &self.jvm.facts.flags;
        self.records()
            .filter(|(n, _)| *n <= at)
            .filter_map(|(_, r)| {
                sizing::layout(r, flags.survivor_ratio, flags.target_survivor_ratio)
            })
            .min_by_key(|l| l.bytes)
            .filter(|l| layout.collector == crate::gc::record::Collector::G1 && l.bytes > 0)
            .or(Some(layout))
    }

    /// What should have stayed young: the table the collection at `at` started from, what overflowed
    /// before it, and the waste seen around it.
    pub fn need(&self, at: usize) -> Option<Need> {
        let r = self.get(at)?;
        let before = self.before(at);
        let overflowed = before
            .filter(|b| b.cause == crate::gc::record::Cause::Overflow)
            .and_then(|b| b.promoted.bytes())
            .unwrap_or(0);
        let waste = [before, Some(r)]
            .into_iter()
            .flatten()
            .filter(|r| !r.collector.has_age_table() || r.collector.has_survivor_spaces())
            .filter_map(Collection::survivor_waste)
            .filter_map(|w| u64::try_from(w).ok())
            .max()
            .unwrap_or(0);
        Some(Need {
            survivors: r.ages_before?.total().saturating_add(overflowed),
            waste,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::{Collector, Kind};

    fn jvm(pauses: &[u64]) -> Jvm {
        let mut jvm = Jvm::default();
        for p in pauses {
            let mut r = Collection::new(Collector::Serial, Kind::Young);
            r.pause = Some(Nanos(*p));
            jvm.collections.push(r);
        }
        jvm
    }

    #[test]
    fn the_median_leaves_the_judged_pause_out() {
        let jvm = jvm(&[144, 1511, 32]);
        let s = Series::of(&jvm);
        assert_eq!(s.median_of_others(Some(Nanos(1511))), Some(Nanos(88)));
        assert!(s.is_long(Some(Nanos(1511))));
        assert!(!s.is_long(Some(Nanos(144))));
    }

    #[test]
    fn one_pause_alone_is_not_long() {
        let jvm = jvm(&[1511]);
        assert!(!Series::of(&jvm).is_long(Some(Nanos(1511))));
    }
}
