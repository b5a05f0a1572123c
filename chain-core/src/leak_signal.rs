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
mod tests;
