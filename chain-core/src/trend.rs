//! Trends: the values of one class and of its threads, and what counts as a rise, a plateau, turnover.

use crate::ids::{ClassId, ThreadId};
use crate::inline::InlineVec;
use crate::liveness::{ClassFold, ThreadFold};
use crate::plan::MAX_THREADS;
use crate::ring::{self, Fit, Ring};
use crate::tick::{Bytes, Tick};
use crate::tuning;

/// One followed thread of a class.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct ThreadTrend {
    thread: ThreadId,
    ages: Ring<u32, { tuning::THREAD_RING }>,
    survivors: u32,
    consecutive: u32,
    updated: u64,
}

/// One followed class.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct ClassTrend {
    pub class: ClassId,
    pub ages: Ring<u32, { tuning::CLASS_RING }>,
    pub survivors: Ring<(u32, u32), { tuning::CLASS_RING }>,
    pub retained: Ring<(Tick, Bytes), { tuning::CLASS_RING }>,
    pub consecutive: u32,
    pub threads: Vec<ThreadTrend>,
    pub updated: u64,
    /// Old collections when the present rise began.
    pub old_at_rise: Option<u64>,
}

impl ClassTrend {
    /// A class of which nothing is known yet.
    pub fn new(class: ClassId) -> ClassTrend {
        ClassTrend {
            class,
            ..ClassTrend::default()
        }
    }

    /// Takes the class's value of fold number `at`; `old` collections confirmed survivors so far.
    pub fn push(&mut self, now: Tick, fold: &ClassFold, at: u64, old: u64) {
        self.ages.push(fold.ages);
        self.survivors.push((fold.survivors, fold.died));
        if self.retained.last().is_some_and(|(last, _)| last > now) {
            // No line goes through values of two clocks.
            self.retained.clear();
        }
        self.retained.push((now, fold.retained));
        if fold.survivors > 0 {
            // A zero keeps no slot: a class that is gone is the first to make room.
            self.updated = at;
        }
        let rises = is_rising(self.ages.iter(), tuning::CLASS_FILL) == Some(true);
        self.consecutive = if rises {
            self.consecutive.saturating_add(1)
        } else {
            0
        };
        self.old_at_rise = rises.then(|| self.old_at_rise.unwrap_or(old));
        self.push_threads(&fold.threads, at);
    }

    pub fn fit(&self) -> Option<Fit> {
        ring::fit_indexed(self.ages.iter().map(f64::from))
    }

    pub fn growth_per_hour(&self) -> Option<f64> {
        let first = self.retained.first()?.0;
        let hours = |t: Tick| t.since(first).as_f64() / 3_600_000.0;
        let fit = ring::fit(self.retained.iter().map(|(t, b)| (hours(t), b.as_f64())))?;
        Some(fit.slope)
    }

    pub fn qualifying(&self, needed: u32) -> InlineVec<ThreadId, MAX_THREADS> {
        self.threads
            .iter()
            .filter(|t| t.consecutive >= needed)
            .map(|t| t.thread)
            .collect()
    }

    /// Flat for a full window of 30 folds, or turning over without growth in its recent half.
    pub fn is_plateau(&self) -> bool {
        let n = self.survivors.len();
        let full = n >= tuning::CLASS_RING && is_flat(self.survivors.iter());
        let half = self.survivors.iter().skip(n / 2);
        full || (n >= tuning::CLASS_FILL && only_turns_over(half))
    }

    fn push_threads(&mut self, folds: &[ThreadFold], at: u64) {
        for fold in folds {
            if let Some(t) = self.thread(fold.thread, at) {
                t.survivors = fold.survivors;
                t.ages.push(fold.ages);
                t.updated = at;
                let rises = is_rising(t.ages.iter(), tuning::THREAD_FILL) == Some(true);
                let qualifies = rises || fold.survivors >= tuning::THREAD_RETAINED;
                t.consecutive = if qualifies {
                    t.consecutive.saturating_add(1)
                } else {
                    0
                };
            }
        }
        // At most eight are named, and each of them has a slot by now: the others have nothing.
        for t in self.threads.iter_mut().filter(|t| t.updated != at) {
            t.consecutive = 0;
            t.survivors = 0;
            t.ages.push(0);
        }
    }

    fn thread(&mut self, thread: ThreadId, at: u64) -> Option<&mut ThreadTrend> {
        let index = match self.threads.iter().position(|t| t.thread == thread) {
            Some(i) => i,
            None if self.threads.len() < tuning::THREADS_PER_CLASS => {
                self.threads.push(ThreadTrend {
                    thread,
                    ..ThreadTrend::default()
                });
                self.threads.len() - 1
            }
            None => {
                let i = (0..self.threads.len())
                    .min_by_key(|i| self.threads.get(*i).map(|t| t.updated))?;
                let slot = self.threads.get_mut(i).filter(|t| t.updated < at)?;
                *slot = ThreadTrend {
                    thread,
                    ..ThreadTrend::default()
                };
                i
            }
        };
        self.threads.get_mut(index)
    }
}

/// Whether fitted growth over the whole window counts as a rise.
///
/// `ages` holds distinct GC ages, oldest first. `None` below `fill` values: unknown, not flat.
/// The rise need not be monotonic.
pub fn is_rising(ages: impl ExactSizeIterator<Item = u32> + Clone, fill: usize) -> Option<bool> {
    if ages.len() < fill {
        return None;
    }
    let fit = ring::fit_indexed(ages.map(f64::from))?;
    Some(fit.rises_by(tuning::RISE_SHARE, tuning::RISE_MIN))
}

/// Whether a population of (survivors, died since the fold before) shows no growth at all, or only
/// what its turnover explains.
pub fn is_flat(population: impl ExactSizeIterator<Item = (u32, u32)> + Clone) -> bool {
    let fit = ring::fit_indexed(population.clone().map(|(n, _)| f64::from(n)));
    fit.is_none_or(|f| f.rise() < tuning::RISE_MIN) || only_turns_over(population)
}

/// Whether deaths come near arrivals and explain the rise.
///
/// Such a count drifts like a sum of as many coin tosses as there were arrivals and deaths; it grows
/// when it gained more than that. A leak has no deaths to speak of: any fitted rise is one.
pub fn only_turns_over(population: impl ExactSizeIterator<Item = (u32, u32)> + Clone) -> bool {
    let mut previous: Option<u32> = None;
    let (mut arrivals, mut deaths) = (0.0, 0.0);
    for (now, died) in population.clone() {
        if let Some(before) = previous {
            let arrived = f64::from(now) - f64::from(before) + f64::from(died);
            arrivals += arrived.max(0.0);
            deaths += f64::from(died);
        }
        previous = Some(now);
    }
    let Some(fit) = ring::fit_indexed(population.map(|(n, _)| f64::from(n))) else {
        return false;
    };
    let turns_over = deaths * tuning::TURNOVER >= arrivals;
    let drift = tuning::PLATEAU_SIGMA * (arrivals + deaths).sqrt();
    turns_over && fit.rise() < drift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rise_is_fifteen_percent_of_the_fitted_start_and_one_at_least() {
        let rising = |v: &[u32]| is_rising(v.iter().copied(), 10);
        assert_eq!(
            rising(&[100, 101, 103, 105, 107, 108, 110, 112, 113, 115]),
            Some(true)
        );
        assert_eq!(
            rising(&[100, 101, 103, 104, 106, 107, 109, 110, 112, 113]),
            Some(false)
        );
        assert_eq!(rising(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]), Some(false));
        assert_eq!(rising(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 1]), Some(true));
        assert_eq!(rising(&[1; 9]), None);
    }

    #[test]
    fn the_rise_need_not_be_monotonic() {
        assert_eq!(
            is_rising([1, 5, 2, 6, 3, 7, 4, 8, 5, 9].into_iter(), 10),
            Some(true)
        );
    }

    #[test]
    fn a_population_that_only_turns_over_is_flat() {
        let flat = |v: Vec<(u32, u32)>| is_flat(v.into_iter());
        assert!(flat((0..30).map(|i| (100 + (i * 7) % 5, 10)).collect()));
        assert!(flat((0..30).map(|_| (5, 0)).collect()));
        assert!(flat((0..30).map(|i| (100 - i, 1)).collect()));
        assert!(!flat((0..30).map(|i| (10 + i, 0)).collect()), "a leak");
        assert!(
            !flat((0..7).map(|i| (2 + i / 2, 0)).collect()),
            "a slow one"
        );
        assert!(
            !flat((0..30).map(|i| (100 + 4 * i, 10)).collect()),
            "a leak within churn"
        );
        assert!(
            flat((0..30).map(|i| (100 + 2 * i, 20)).collect()),
            "drift that churn explains"
        );
    }

    fn thread(id: u64, ages: u32, survivors: u32) -> ThreadFold {
        ThreadFold {
            thread: ThreadId(id),
            ages,
            survivors,
        }
    }

    fn push(t: &mut ClassTrend, at: u64, threads: Vec<ThreadFold>) {
        let fold = ClassFold {
            class: ClassId(1),
            ages: 1,
            survivors: 9,
            threads,
            ..ClassFold::default()
        };
        t.push(Tick(at * 1000), &fold, at, 0);
    }

    fn followed(t: &ClassTrend) -> Vec<u64> {
        t.threads.iter().map(|t| t.thread.0).collect()
    }

    #[test]
    fn eight_threads_a_class_least_recently_updated_goes_first() {
        let mut t = ClassTrend::new(ClassId(1));
        push(&mut t, 1, (0..8).map(|n| thread(n, 1, 1)).collect());
        assert_eq!(followed(&t), [0, 1, 2, 3, 4, 5, 6, 7]);
        push(
            &mut t,
            2,
            (0..8)
                .filter(|n| *n != 3)
                .map(|n| thread(n, 1, 1))
                .collect(),
        );
        push(&mut t, 3, vec![thread(9, 1, 1)]);
        assert_eq!(followed(&t), [0, 1, 2, 9, 4, 5, 6, 7]);
        assert_eq!(
            t.threads[3].ages.len(),
            1,
            "a newcomer starts with its own values"
        );
    }

    #[test]
    fn a_ninth_thread_of_one_fold_is_refused_instead_of_thrashing() {
        let mut t = ClassTrend::new(ClassId(1));
        for at in 1..4 {
            push(&mut t, at, (0..9).map(|n| thread(n, 1, 1)).collect());
        }
        assert_eq!(followed(&t), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(t.threads.iter().all(|t| t.ages.len() == 3));
    }

    #[test]
    fn an_absent_thread_is_a_zero() {
        let mut t = ClassTrend::new(ClassId(1));
        push(&mut t, 1, vec![thread(1, 5, 9), thread(2, 5, 9)]);
        assert_eq!(t.threads[0].consecutive, 1);
        push(&mut t, 2, (2..9).map(|n| thread(n, 1, 1)).collect());
        let first = |t: &ClassTrend| t.threads[0].ages.iter().collect::<Vec<_>>();
        assert_eq!(first(&t), [5, 0]);
        assert_eq!((t.threads[0].consecutive, t.threads[0].survivors), (0, 0));
        push(&mut t, 3, vec![thread(1, 6, 9)]);
        assert_eq!(first(&t), [5, 0, 6]);
    }

    #[test]
    fn a_thread_counts_its_qualifying_folds_in_a_row() {
        let mut t = ClassTrend::new(ClassId(1));
        for at in 1..=5 {
            assert!(t.qualifying(5).is_empty());
            push(&mut t, at, vec![thread(1, 1, 8)]);
        }
        assert_eq!(t.qualifying(5).as_slice(), [ThreadId(1)]);
        push(&mut t, 6, vec![thread(1, 1, 7)]);
        assert!(t.qualifying(1).is_empty());
    }

    #[test]
    fn retained_bytes_of_two_clocks_are_not_fitted_together() {
        let mut t = ClassTrend::new(ClassId(1));
        let put = |t: &mut ClassTrend, at: u64, mib| {
            let fold = ClassFold {
                retained: Bytes::mib(mib),
                survivors: 1,
                ..ClassFold::default()
            };
            t.push(Tick(at), &fold, at, 0);
        };
        for n in 0..10 {
            put(&mut t, 3_600_000 + n * 1_000, 100 - n);
        }
        put(&mut t, 1_000, 50);
        assert_eq!(t.growth_per_hour(), None);
        put(&mut t, 2_000, 51);
        assert!(t.growth_per_hour().unwrap() > 0.0);
        assert_eq!(t.retained.len(), 2);
    }

    #[test]
    fn turnover_asks_for_half_as_many_deaths_as_arrivals_and_a_rise_below_its_drift() {
        // Per fold: `arrived` come, `died` go.
        let turns = |arrived: u32, died: u32| {
            let n = |i: u32| 100 + i * arrived - i * died;
            only_turns_over(
                (0..30)
                    .map(|i| (n(i), died))
                    .collect::<Vec<_>>()
                    .into_iter(),
            )
        };
        assert!(turns(10, 10));
        // 29 folds of 20 arrivals and 10 deaths: a rise of 290 against 2.5 sigma of 870 tosses, 74.
        assert!(!turns(20, 10), "growth beyond its drift");
        assert!(!turns(3, 1), "too few deaths, and growth");
        // 29 x (11 + 10): 609 tosses, 2.5 sigma = 61.7; the rise is 29.
        assert!(turns(11, 10));
        // Deaths exactly half of the arrivals still turn over: 2 arrive, 1 dies, for 4 folds.
        let few = [(10, 0), (11, 1), (12, 1), (13, 1)];
        assert!(only_turns_over(few.into_iter()));
        let fewer = [(10, 0), (12, 1), (14, 1), (16, 0)];
        assert!(!only_turns_over(fewer.into_iter()));
    }

    #[test]
    fn a_plateau_needs_ten_values_and_its_recent_half_decides_until_the_window_is_full() {
        let plateau = |population: &[(u32, u32)]| {
            let mut t = ClassTrend::new(ClassId(1));
            for (n, (survivors, died)) in population.iter().enumerate() {
                let fold = ClassFold {
                    survivors: *survivors,
                    died: *died,
                    ..ClassFold::default()
                };
                t.push(Tick(n as u64), &fold, n as u64, 0);
            }
            t.is_plateau()
        };
        let turns_over = |n: usize| vec![(400, 20); n];
        assert!(!plateau(&turns_over(9)), "too few to tell");
        assert!(plateau(&turns_over(10)));
        // A cache that filled in its first half: only the second half is asked.
        let fills: Vec<(u32, u32)> = (0..10).map(|n| (n * 50, 0)).chain(turns_over(10)).collect();
        assert!(plateau(&fills));
        let grows_now: Vec<(u32, u32)> = turns_over(10)
            .into_iter()
            .chain((0..10).map(|n| (410 + n * 40, 5)))
            .collect();
        assert!(!plateau(&grows_now));
        // Nothing comes and nothing goes: flat, once the window is full and not before.
        assert!(!plateau(&[(5, 0); 29]));
        assert!(plateau(&[(5, 0); 30]));
    }

    #[test]
    fn a_rise_of_one_is_no_plateau_and_turnover_is_counted_from_what_arrived() {
        let flat = |v: &[(u32, u32)]| is_flat(v.iter().copied());
        assert!(!flat(&[(0, 0), (1, 0)]));
        assert!(flat(&[(1, 0), (1, 0)]));
        // Five arrive, two die: not half of them.
        assert!(!only_turns_over([(10, 0), (11, 1), (13, 1)].into_iter()));
        assert!(!only_turns_over([(10, 0), (12, 1), (14, 1)].into_iter()));
    }

    #[test]
    fn values_of_one_instant_are_kept() {
        let mut t = ClassTrend::new(ClassId(1));
        for at in 0..3 {
            t.push(Tick(5), &ClassFold::default(), at, 0);
        }
        assert_eq!(t.retained.len(), 3);
    }
}
