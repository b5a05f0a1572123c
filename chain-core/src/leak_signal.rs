//! The leak signal: classes whose survivors span ever more GC ages, and the threads behind them.

use crate::config::Improvements;
use crate::ids::{ClassId, ThreadId};
use crate::inline::InlineVec;
use crate::liveness::{ClassFold, FoldSummary, ThreadFold};
use crate::plan::{MAX_CANDIDATES, MAX_THREADS};
use crate::record::CandidateState;
use crate::ring::{self, Fit, Ring};
use crate::tick::{Bytes, Tick};
use crate::tuning;

/// One followed thread of a class.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
struct ThreadTrend {
    thread: ThreadId,
    ages: Ring<u32, { tuning::THREAD_RING }>,
    survivors: u32,
    consecutive: u32,
    updated: u64,
}

/// One followed class.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
struct ClassTrend {
    class: ClassId,
    ages: Ring<u32, { tuning::CLASS_RING }>,
    survivors: Ring<(u32, u32), { tuning::CLASS_RING }>,
    retained: Ring<(Tick, Bytes), { tuning::CLASS_RING }>,
    consecutive: u32,
    threads: Vec<ThreadTrend>,
    updated: u64,
    /// Old collections when the present rise began.
    old_at_rise: Option<u64>,
}

/// A class that qualifies, with its evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Candidate {
    /// The class.
    pub class: ClassId,
    /// Its qualifying threads.
    pub threads: InlineVec<ThreadId, MAX_THREADS>,
    /// Allocated bytes its survivors stand for.
    pub retained: Bytes,
    /// Fitted growth in ages over the window.
    pub growth: f64,
}

/// At most five candidates, strongest first.
pub type Selection = InlineVec<Candidate, MAX_CANDIDATES>;

/// Where one class stands; see [`crate::record::LeakCandidate`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// The class.
    pub class: ClassId,
    /// Its state.
    pub state: CandidateState,
    /// Values in its ring.
    pub values: u32,
    /// Qualifying folds in a row.
    pub folds: u32,
    /// What the count must reach.
    pub folds_needed: u32,
    /// The fit of its window.
    pub fit: Option<(f64, f64)>,
    /// Survivors in the last fold.
    pub survivors: u32,
    /// Bytes they stand for.
    pub retained: Bytes,
    /// Fitted growth of these per hour.
    pub growth_per_hour: Option<f64>,
    /// Qualifying threads.
    pub threads: InlineVec<ThreadId, MAX_THREADS>,
    /// An old, mixed or full collection happened since the rise began.
    pub confirmed: bool,
}

/// Rings of the followed classes.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct LeakSignal {
    classes: Vec<ClassTrend>,
    folds: u64,
    floor_rising: bool,
    refused: u64,
    improvements: Improvements,
    selection: Selection,
    old_collections: u64,
}

impl LeakSignal {
    /// No class is followed yet.
    pub fn new(improvements: Improvements) -> LeakSignal {
        LeakSignal {
            classes: Vec::with_capacity(tuning::SIGNAL_CLASSES),
            folds: 0,
            floor_rising: false,
            refused: 0,
            improvements,
            selection: Selection::default(),
            old_collections: 0,
        }
    }

    /// Pushes one value per class of the fold and updates both consecutive counts.
    pub fn fold(&mut self, now: Tick, fold: &FoldSummary) {
        self.folds += 1;
        for class in &fold.classes {
            if class.survivors == 0 && !self.improvements.zero_push {
                continue;
            }
            self.push(now, class);
        }
        self.selection = self.choose();
    }

    /// The aggregate heap floor changes the bar, nothing else.
    pub fn set_floor_rising(&mut self, rising: bool) {
        if rising != self.floor_rising {
            self.floor_rising = rising;
            self.selection = self.choose();
        }
    }

    /// Old, mixed or full collections so far: what confirms survivors.
    pub fn set_old_collections(&mut self, old: u64) {
        self.old_collections = old;
    }

    /// Qualifying folds in a row that are asked for now.
    pub fn folds_needed(&self) -> u32 {
        if self.floor_rising {
            tuning::HYSTERESIS_FLOOR
        } else {
            tuning::HYSTERESIS
        }
    }

    /// The qualifying classes, at most five, strongest first; made anew by every fold.
    pub fn select(&self) -> &Selection {
        &self.selection
    }

    fn choose(&self) -> Selection {
        let mut best = Selection::default();
        let mut taken: InlineVec<ClassId, MAX_CANDIDATES> = InlineVec::default();
        while best.len() < MAX_CANDIDATES {
            let next = self
                .classes
                .iter()
                .filter(|c| !taken.as_slice().contains(&c.class))
                .filter(|c| self.state(c) == CandidateState::Qualified)
                .map(|c| self.candidate(c))
                .reduce(|a, b| if self.outranks(&b, &a) { b } else { a });
            match next {
                Some(c) => {
                    taken.push(c.class);
                    best.push(c);
                }
                None => break,
            }
        }
        best
    }

    /// Where every followed class stands.
    pub fn standings(&self) -> impl Iterator<Item = Standing> + '_ {
        self.classes.iter().map(move |c| {
            let mut state = self.state(c);
            let among = self.selection.iter().any(|s| s.class == c.class);
            if state == CandidateState::Qualified && !among {
                state = CandidateState::Outranked;
            }
            self.standing(c, state)
        })
    }

    /// Where one class stands.
    pub fn standing_of(&self, class: ClassId) -> Option<Standing> {
        let c = self.classes.iter().find(|c| c.class == class)?;
        Some(self.standing(c, self.state(c)))
    }

    /// The classes followed.
    pub fn followed(&self) -> impl Iterator<Item = ClassId> + '_ {
        self.classes.iter().map(|c| c.class)
    }

    /// Folds so far.
    pub fn folds(&self) -> u64 {
        self.folds
    }

    /// Classes that found no room since every followed one was updated in the same fold.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn push(&mut self, now: Tick, fold: &ClassFold) {
        let Some(index) = self.find_or_make(fold) else {
            self.refused += 1;
            return;
        };
        let (folds, old) = (self.folds, self.old_collections);
        let Some(c) = self.classes.get_mut(index) else {
            return;
        };
        c.ages.push(fold.ages);
        c.survivors.push((fold.survivors, fold.died));
        c.retained.push((now, fold.retained));
        if fold.survivors > 0 {
            // A zero keeps no slot: a class that is gone is the first to make room.
            c.updated = folds;
        }
        let rises = is_rising(c.ages.iter(), tuning::CLASS_FILL) == Some(true);
        c.consecutive = if rises {
            c.consecutive.saturating_add(1)
        } else {
            0
        };
        c.old_at_rise = rises.then(|| c.old_at_rise.unwrap_or(old));
        c.push_threads(&fold.threads, folds);
    }

    fn find_or_make(&mut self, fold: &ClassFold) -> Option<usize> {
        if let Some(i) = self.classes.iter().position(|c| c.class == fold.class) {
            return Some(i);
        }
        if fold.survivors == 0 {
            return None;
        }
        let new = ClassTrend {
            class: fold.class,
            ..ClassTrend::default()
        };
        if self.classes.len() < tuning::SIGNAL_CLASSES {
            self.classes.push(new);
            return Some(self.classes.len() - 1);
        }
        let oldest =
            (0..self.classes.len()).min_by_key(|i| self.classes.get(*i).map(|c| c.updated))?;
        let slot = self
            .classes
            .get_mut(oldest)
            .filter(|c| c.updated < self.folds)?;
        *slot = new;
        Some(oldest)
    }

    fn state(&self, c: &ClassTrend) -> CandidateState {
        let needed = self.folds_needed();
        if c.ages.len() < tuning::CLASS_FILL {
            CandidateState::Filling
        } else if c.consecutive == 0 {
            CandidateState::Flat
        } else if c.consecutive < needed {
            CandidateState::Rising
        } else if self.improvements.plateau_guard && c.is_plateau() {
            CandidateState::Plateau
        } else if c.qualifying(needed).is_empty() {
            CandidateState::NoThread
        } else {
            CandidateState::Qualified
        }
    }

    fn candidate(&self, c: &ClassTrend) -> Candidate {
        Candidate {
            class: c.class,
            threads: c.qualifying(self.folds_needed()),
            retained: c.retained.last().map_or(Bytes(0), |r| r.1),
            growth: c.fit().map_or(0.0, Fit::rise),
        }
    }

    fn outranks(&self, a: &Candidate, b: &Candidate) -> bool {
        if self.improvements.rank_by_bytes && a.retained != b.retained {
            return a.retained > b.retained;
        }
        a.growth > b.growth
    }

    fn standing(&self, c: &ClassTrend, state: CandidateState) -> Standing {
        Standing {
            class: c.class,
            state,
            values: u32::try_from(c.ages.len()).unwrap_or(u32::MAX),
            folds: c.consecutive,
            folds_needed: self.folds_needed(),
            fit: c.fit().map(|f| (f.start, f.end)),
            survivors: c.survivors.last().map_or(0, |s| s.0),
            retained: c.retained.last().map_or(Bytes(0), |r| r.1),
            growth_per_hour: c.growth_per_hour(),
            threads: c.qualifying(self.folds_needed()),
            confirmed: c.old_at_rise.is_some_and(|old| self.old_collections > old),
        }
    }
}

impl ClassTrend {
    fn fit(&self) -> Option<Fit> {
        ring::fit_indexed(self.ages.iter().map(f64::from))
    }

    fn growth_per_hour(&self) -> Option<f64> {
        let first = self.retained.first()?.0;
        let hours = |t: Tick| t.since(first).as_f64() / 3_600_000.0;
        let fit = ring::fit(self.retained.iter().map(|(t, b)| (hours(t), b.as_f64())))?;
        Some(fit.slope)
    }

    fn qualifying(&self, needed: u32) -> InlineVec<ThreadId, MAX_THREADS> {
        self.threads
            .iter()
            .filter(|t| t.consecutive >= needed)
            .map(|t| t.thread)
            .collect()
    }

    /// Flat for a full window of 30 folds, or turning over without growth in its recent half.
    fn is_plateau(&self) -> bool {
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
        // Beyond eight threads absence is unknown; below, it is a zero.
        let known = folds.len() < tuning::THREADS_PER_CLASS;
        for t in self.threads.iter_mut().filter(|t| t.updated != at) {
            t.consecutive = 0;
            t.survivors = 0;
            if known {
                t.ages.push(0);
            }
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
    use crate::tick::Epoch;

    fn signal() -> LeakSignal {
        LeakSignal::new(Improvements::default())
    }

    fn class(class: u32, ages: u32, survivors: u32) -> ClassFold {
        ClassFold {
            class: ClassId(class),
            ages,
            survivors,
            retained: Bytes(u64::from(survivors) * 5_000_000),
            threads: vec![ThreadFold {
                thread: ThreadId(1),
                ages,
                survivors,
            }],
            ..ClassFold::default()
        }
    }

    fn fold(s: &mut LeakSignal, classes: Vec<ClassFold>) {
        let n = s.folds();
        s.fold(
            Tick(n * 1000),
            &FoldSummary {
                epoch: Epoch(n),
                classes,
                ..FoldSummary::default()
            },
        );
    }

    fn leak(s: &mut LeakSignal, folds: std::ops::Range<u32>) {
        for n in folds {
            fold(s, vec![class(1, n, n * 3)]);
        }
    }

    #[test]
    fn ten_values_then_five_qualifying_folds_make_a_candidate() {
        let mut s = signal();
        leak(&mut s, 1..10);
        assert_eq!(
            s.standing_of(ClassId(1)).unwrap().state,
            CandidateState::Filling
        );
        leak(&mut s, 10..14);
        let standing = s.standing_of(ClassId(1)).unwrap();
        assert_eq!(
            (standing.state, standing.values, standing.folds),
            (CandidateState::Rising, 13, 4)
        );
        assert!(s.select().is_empty());
        leak(&mut s, 14..15);
        assert_eq!(s.select().as_slice()[0].class, ClassId(1));
        assert_eq!(s.select().as_slice()[0].threads.as_slice(), [ThreadId(1)]);
    }

    #[test]
    fn three_folds_suffice_while_the_heap_floor_rises() {
        let mut s = signal();
        s.set_floor_rising(true);
        leak(&mut s, 1..12);
        assert!(s.select().is_empty());
        leak(&mut s, 12..13);
        assert_eq!(s.select().len(), 1);
        s.set_floor_rising(false);
        assert!(s.select().is_empty());
    }

    #[test]
    fn a_failed_fold_resets_the_count() {
        let mut s = signal();
        leak(&mut s, 1..20);
        assert_eq!(s.select().len(), 1);
        for _ in 0..12 {
            fold(&mut s, vec![class(1, 0, 0)]);
        }
        let standing = s.standing_of(ClassId(1)).unwrap();
        assert_eq!((standing.folds, s.select().len()), (0, 0));
    }

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
    fn a_zero_is_pushed_for_a_class_without_survivors() {
        let run = |zero_push| {
            let mut s = LeakSignal::new(Improvements {
                zero_push,
                ..Improvements::default()
            });
            leak(&mut s, 1..20);
            for _ in 0..30 {
                fold(&mut s, vec![class(1, 0, 0)]);
            }
            s.select().len()
        };
        assert_eq!(run(true), 0);
        assert_eq!(run(false), 1, "silence keeps a finished leak on the list");
    }

    #[test]
    fn one_allocating_thread_must_qualify() {
        let mut s = signal();
        for n in 1..20 {
            let mut c = class(1, n, n);
            // Each fold another thread with one instance: none has a trend or eight retained.
            c.threads = vec![ThreadFold {
                thread: ThreadId(u64::from(n)),
                ages: 1,
                survivors: 1,
            }];
            fold(&mut s, vec![c]);
        }
        assert_eq!(
            s.standing_of(ClassId(1)).unwrap().state,
            CandidateState::NoThread
        );
        assert!(s.select().is_empty());
    }

    #[test]
    fn eight_retained_instances_qualify_a_thread_without_a_trend() {
        let mut s = signal();
        for n in 1..15 {
            let mut c = class(1, n, n * 9);
            c.threads = vec![
                ThreadFold {
                    thread: ThreadId(5),
                    ages: 4,
                    survivors: 8,
                },
                ThreadFold {
                    thread: ThreadId(6),
                    ages: 4,
                    survivors: 7,
                },
            ];
            fold(&mut s, vec![c]);
        }
        assert_eq!(s.select().as_slice()[0].threads.as_slice(), [ThreadId(5)]);
    }

    #[test]
    fn a_threads_own_trend_needs_six_values() {
        let mut s = signal();
        for n in 1..16 {
            let mut c = class(1, n, n * 9);
            c.threads = vec![ThreadFold {
                thread: ThreadId(5),
                ages: n / 2,
                survivors: 7,
            }];
            fold(&mut s, vec![c]);
        }
        assert_eq!(s.select().as_slice()[0].threads.as_slice(), [ThreadId(5)]);
    }

    #[test]
    fn at_most_five_candidates_by_retained_bytes_then_growth() {
        let run = |rank_by_bytes| {
            let mut s = LeakSignal::new(Improvements {
                rank_by_bytes,
                ..Improvements::default()
            });
            for n in 1..16 {
                // Class 9 grows fastest in ages and holds next to nothing (warm-up internals).
                let mut warm = class(9, n * 3, n * 3);
                warm.retained = Bytes(1_000);
                warm.threads[0].survivors = 8;
                let mut all: Vec<ClassFold> = (1..=6).map(|c| class(c, n, n * c)).collect();
                all.push(warm);
                fold(&mut s, all);
            }
            s.select().iter().map(|c| c.class.0).collect::<Vec<_>>()
        };
        assert_eq!(run(true), [6, 5, 4, 3, 2]);
        assert_eq!(
            run(false)[0],
            9,
            "growth alone puts warm-up internals first"
        );
    }

    #[test]
    fn an_outranked_class_is_told_so() {
        let mut s = signal();
        for n in 1..16 {
            fold(&mut s, (1..=6).map(|c| class(c, n, n * c)).collect());
        }
        let states: Vec<_> = s.standings().map(|x| x.state).collect();
        assert_eq!(
            states
                .iter()
                .filter(|x| **x == CandidateState::Qualified)
                .count(),
            5
        );
        assert_eq!(states[0], CandidateState::Outranked);
    }

    #[test]
    fn two_hundred_fifty_six_classes_least_recently_updated_goes_first() {
        let mut s = signal();
        fold(&mut s, (0..256).map(|c| class(c, 1, 1)).collect());
        fold(&mut s, (1..256).map(|c| class(c, 1, 1)).collect());
        fold(&mut s, vec![class(999, 1, 1)]);
        assert_eq!(s.followed().count(), 256);
        assert!(s.standing_of(ClassId(0)).is_none() && s.standing_of(ClassId(999)).is_some());
    }

    #[test]
    fn a_class_beyond_a_full_fold_is_refused_instead_of_thrashing() {
        let mut s = signal();
        for _ in 0..12 {
            fold(&mut s, (0..300).map(|c| class(c, 1, 1)).collect());
        }
        assert_eq!(s.standing_of(ClassId(0)).unwrap().values, 12);
        assert!(s.refused() > 0);
    }

    #[test]
    fn a_zero_does_not_keep_a_class_in_the_table() {
        let mut s = signal();
        fold(&mut s, (0..256).map(|c| class(c, 1, 1)).collect());
        let zero_at_100 = |c| class(c, u32::from(c != 100), u32::from(c != 100));
        fold(&mut s, (0..256).map(zero_at_100).collect());
        fold(&mut s, vec![class(999, 1, 1)]);
        assert!(s.standing_of(ClassId(100)).is_none());
        assert!(s.standing_of(ClassId(0)).is_some());
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

    #[test]
    fn a_plateau_is_no_candidate_and_a_leak_after_it_is_one() {
        let mut s = signal();
        let run = |s: &mut LeakSignal, folds: u32, survivors: &dyn Fn(u32) -> (u32, u32)| {
            for n in 0..folds {
                // Ages that rise by chance, as noise does.
                let (alive, died) = survivors(n);
                let mut c = class(1, n + 1, alive);
                c.died = died;
                fold(s, vec![c]);
            }
            s.standing_of(ClassId(1)).unwrap().state
        };
        assert_eq!(
            run(&mut s, 20, &|n| (40 + n % 3, 8)),
            CandidateState::Plateau
        );
        assert!(s.select().is_empty());
        assert_eq!(
            run(&mut s, 40, &|n| (40 + 9 * n, 8)),
            CandidateState::Qualified
        );
    }

    #[test]
    fn growth_per_hour_is_fitted_over_retained_bytes() {
        let mut s = signal();
        leak(&mut s, 1..12);
        let growth = s.standing_of(ClassId(1)).unwrap().growth_per_hour.unwrap();
        assert!(
            (growth - 15_000_000.0 * 3600.0).abs() < 1e-3 * growth,
            "{growth}"
        );
    }
}
