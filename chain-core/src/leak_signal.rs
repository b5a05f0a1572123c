//! The leak signal: classes whose survivors span ever more GC ages, and the threads behind them.

use crate::config::Improvements;
use crate::ids::{ClassId, ThreadId};
use crate::inline::InlineVec;
use crate::liveness::{ClassFold, FoldSummary};
use crate::plan::{MAX_CANDIDATES, MAX_THREADS};
use crate::record::CandidateState;
use crate::ring::Fit;
use crate::tick::{Bytes, Tick};
use crate::trend::ClassTrend;
use crate::tuning;

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
    ///
    /// A count that goes back was reset: rises that began before it are confirmed by the next one.
    pub fn set_old_collections(&mut self, old: u64) {
        if old < self.old_collections {
            for c in &mut self.classes {
                c.old_at_rise = c.old_at_rise.map(|at| at.min(old));
            }
        }
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
        c.push(now, fold, folds, old);
    }

    fn find_or_make(&mut self, fold: &ClassFold) -> Option<usize> {
        if let Some(i) = self.classes.iter().position(|c| c.class == fold.class) {
            return Some(i);
        }
        if fold.survivors == 0 {
            return None;
        }
        let new = ClassTrend::new(fold.class);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::liveness::ThreadFold;
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

    #[test]
    fn of_equal_bytes_the_faster_growth_ranks_first_and_of_equals_the_first_seen() {
        let order = |growths: [u32; 3]| {
            let mut s = signal();
            for n in 1..16 {
                let all = growths.iter().zip(1..).map(|(g, id)| ClassFold {
                    retained: Bytes(7),
                    ..class(id, n * g, 9)
                });
                fold(&mut s, all.collect());
            }
            s.select().iter().map(|c| c.class.0).collect::<Vec<_>>()
        };
        assert_eq!(order([1, 3, 2]), [2, 3, 1]);
        assert_eq!(order([2, 2, 2]), [1, 2, 3]);
    }

    #[test]
    fn a_candidate_is_confirmed_by_an_old_collection_after_its_rise_began() {
        let mut s = signal();
        s.set_old_collections(7);
        leak(&mut s, 1..16);
        let confirmed = |s: &LeakSignal| s.standing_of(ClassId(1)).unwrap().confirmed;
        assert!(!confirmed(&s));
        s.set_old_collections(8);
        assert!(confirmed(&s));
    }

    #[test]
    fn a_count_of_old_collections_that_goes_back_still_confirms() {
        let mut s = signal();
        s.set_old_collections(700);
        leak(&mut s, 1..16);
        s.set_old_collections(2);
        let confirmed = |s: &LeakSignal| s.standing_of(ClassId(1)).unwrap().confirmed;
        assert!(!confirmed(&s));
        s.set_old_collections(3);
        assert!(confirmed(&s));
    }
}
