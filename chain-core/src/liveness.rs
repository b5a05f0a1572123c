//! The liveness table: tracked samples, their ages, and one summary a fold.

use std::collections::{BTreeMap, BTreeSet};

use crate::admission::Lottery;
use crate::ids::{ClassId, SampleId, ThreadId};
use crate::input::Sample;
use crate::tick::{Bytes, Epoch};
use crate::tuning;

/// One processed GC epoch range of the liveness table, reduced to what the leak signal reads.
///
/// `classes` holds, by retained sampled bytes descending, at most 256 classes with survivors, and
/// then an entry with zero survivors for each class the signal already follows and that has none.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct FoldSummary {
    /// The newest epoch of the range.
    pub epoch: Epoch,
    /// Epochs since the signal was armed.
    pub since_arming: u64,
    /// Per class.
    pub classes: Vec<ClassFold>,
    /// Entries of the table.
    pub tracked: u32,
    /// The table is full and dropped samples since the last fold.
    pub dropped: u64,
}

/// One class in one fold.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ClassFold {
    /// The class.
    pub class: ClassId,
    /// Distinct GC ages among its surviving tracked instances (age 0 has survived nothing).
    pub ages: u32,
    /// Surviving tracked instances.
    pub survivors: u32,
    /// Instances that had survived an earlier fold and died since.
    pub died: u32,
    /// Allocated bytes the survivors stand for.
    pub retained: Bytes,
    /// At most 8 allocating threads with survivors, most retained instances first.
    pub threads: Vec<ThreadFold>,
}

/// One allocating thread of a class in one fold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct ThreadFold {
    /// The thread.
    pub thread: ThreadId,
    /// Distinct GC ages among its survivors.
    pub ages: u32,
    /// Its surviving tracked instances.
    pub survivors: u32,
}

/// Ids above this are refused: the agent's slots are dense and bounded by the table.
const MAX_SLOT: u32 = 1 << 22;
const NO_SLOT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Tracked {
    sample: Sample,
    /// Reservoir priority; the largest goes first.
    priority: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    count: u32,
    weight: u64,
    /// Distinct sampling epochs with at least one instance.
    epochs: u32,
}

/// What became of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// Tracked.
    Tracked,
    /// The table is full: it waits for a sweep.
    Pending,
    /// Dropped and counted.
    Dropped,
}

/// Bounded table of tracked samples, with per-class counts kept up to date, so that a fold costs
/// classes and threads, not entries.
#[derive(Debug)]
pub struct Tracker {
    entries: Vec<Tracked>,
    slot_of: Vec<u32>,
    capacity: u64,
    max: u64,
    pending: Vec<Sample>,
    /// Per class and sampling epoch.
    by_epoch: BTreeMap<(ClassId, Epoch), (u32, u64)>,
    by_class: BTreeMap<ClassId, Totals>,
    by_thread_epoch: BTreeMap<(ClassId, ThreadId, Epoch), u32>,
    by_thread: BTreeMap<(ClassId, ThreadId), Totals>,
    died: BTreeMap<ClassId, u32>,
    last_fold: Option<Epoch>,
    last_sweep: Option<Epoch>,
    epoch: Epoch,
    /// Reservoir: byte bound, bytes held, and entries by priority.
    bytes_max: Option<u64>,
    bytes: u64,
    by_priority: BTreeSet<(u32, SampleId)>,
    lottery: Lottery,
    released: Vec<SampleId>,
    dropped: u64,
    reservoir_dropped: u64,
    dropped_since_fold: u64,
}

impl Tracker {
    /// An empty table that starts at `start` entries and doubles up to `max`; `bytes_max` bounds the
    /// sampled objects' own bytes by a reservoir (generational ZGC).
    pub fn new(start: u64, max: u64, bytes_max: Option<Bytes>) -> Tracker {
        Tracker {
            entries: Vec::new(),
            slot_of: Vec::new(),
            capacity: start.clamp(1, max.max(1)),
            max: max.max(1),
            pending: Vec::new(),
            by_epoch: BTreeMap::new(),
            by_class: BTreeMap::new(),
            by_thread_epoch: BTreeMap::new(),
            by_thread: BTreeMap::new(),
            died: BTreeMap::new(),
            last_fold: None,
            last_sweep: None,
            epoch: Epoch(0),
            bytes_max: bytes_max.map(|b| b.0),
            bytes: 0,
            by_priority: BTreeSet::new(),
            lottery: Lottery::new(0x5eed),
            released: Vec::new(),
            dropped: 0,
            reservoir_dropped: 0,
            dropped_since_fold: 0,
        }
    }

    /// The newest epoch that was read.
    pub fn set_epoch(&mut self, epoch: Epoch) {
        self.epoch = epoch;
    }

    /// Takes a sample. At a full table it waits for one sweep, if an epoch since the last one could
    /// have killed something; otherwise the table grows, or the sample is dropped and counted.
    pub fn add(&mut self, sample: Sample) -> Admitted {
        if sample.id.0 >= MAX_SLOT || self.slot(sample.id).is_some() {
            self.drop_sample(sample.id);
            return Admitted::Dropped;
        }
        if !self.is_full() {
            return self.insert(sample);
        }
        if self.last_sweep == Some(self.epoch) {
            return self.grow_or_drop(sample);
        }
        if self.pending.len() < tuning::PENDING_SAMPLES {
            self.pending.push(sample);
            return Admitted::Pending;
        }
        self.drop_sample(sample.id);
        Admitted::Dropped
    }

    /// Whether samples wait for a sweep.
    pub fn wants_sweep(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes the outcome of a sweep: the dead leave, waiting samples get one more try.
    pub fn swept(&mut self, dead: &[SampleId]) {
        self.last_sweep = Some(self.epoch);
        for id in dead {
            if let Some(sample) = self.remove(*id) {
                if self.last_fold.is_some_and(|f| sample.epoch < f) {
                    let died = self.died.entry(sample.class).or_default();
                    *died = died.saturating_add(1);
                }
                self.released.push(*id);
            }
        }
        let gone: BTreeSet<SampleId> = dead.iter().copied().collect();
        for sample in std::mem::take(&mut self.pending) {
            if gone.contains(&sample.id) {
                self.released.push(sample.id);
            } else if self.is_full() {
                self.grow_or_drop(sample);
            } else {
                self.insert(sample);
            }
        }
    }

    /// One summary of the table at the newest epoch. `followed` are the classes the signal follows:
    /// those without survivors get an entry with zeros.
    pub fn fold(&mut self, since_arming: u64, followed: &[ClassId]) -> FoldSummary {
        let epoch = self.epoch;
        let mut classes: Vec<ClassFold> = self
            .by_class
            .iter()
            .map(|(class, totals)| self.class_fold(*class, *totals, epoch))
            .filter(|c| c.survivors > 0)
            .collect();
        classes.sort_by_key(|c| (std::cmp::Reverse(c.retained), c.class));
        classes.truncate(tuning::SIGNAL_CLASSES);
        for class in &mut classes {
            class.threads = self.thread_folds(class.class, epoch);
        }
        for class in followed {
            let survives = self.survivors(*class, epoch) > 0;
            if !survives {
                let died = self.died.get(class).copied().unwrap_or(0);
                classes.push(ClassFold {
                    class: *class,
                    died,
                    ..ClassFold::default()
                });
            }
        }
        self.died.clear();
        self.last_fold = Some(epoch);
        FoldSummary {
            epoch,
            since_arming,
            classes,
            tracked: u32::try_from(self.entries.len()).unwrap_or(u32::MAX),
            dropped: std::mem::take(&mut self.dropped_since_fold),
        }
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is tracked.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// No further sample fits, whatever is swept: the boost falls back to the ordinary rules.
    pub fn at_limit(&self) -> bool {
        self.entries.len() as u64 >= self.max
    }

    /// Slots given back since the last call.
    pub fn take_released(&mut self) -> std::vec::Drain<'_, SampleId> {
        self.released.drain(..)
    }

    /// Samples dropped at a full table, and given up to the reservoir.
    pub fn drops(&self) -> (u64, u64) {
        (self.dropped, self.reservoir_dropped)
    }

    fn is_full(&self) -> bool {
        self.entries.len() as u64 >= self.capacity
    }

    fn grow_or_drop(&mut self, sample: Sample) -> Admitted {
        if self.capacity < self.max {
            self.capacity = (self.capacity * 2).min(self.max);
            return self.insert(sample);
        }
        self.drop_sample(sample.id);
        Admitted::Dropped
    }

    fn drop_sample(&mut self, id: SampleId) {
        self.dropped += 1;
        self.dropped_since_fold += 1;
        self.released.push(id);
    }

    fn slot(&self, id: SampleId) -> Option<usize> {
        self.slot_of
            .get(id.0 as usize)
            .filter(|s| **s != NO_SLOT)
            .map(|s| *s as usize)
    }

    fn insert(&mut self, sample: Sample) -> Admitted {
        let priority = self.lottery.draw();
        if let Some(max) = self.bytes_max {
            // The largest priorities leave until the rest fits: a uniform choice over the stream.
            let mut bytes = self.bytes.saturating_add(sample.object.0);
            while bytes > max {
                match self.by_priority.last().copied() {
                    Some((p, id)) if (p, id) > (priority, sample.id) => {
                        if let Some(gone) = self.remove(id) {
                            bytes = bytes.saturating_sub(gone.object.0);
                            self.reservoir_dropped += 1;
                            self.released.push(id);
                        }
                    }
                    _ => {
                        self.reservoir_dropped += 1;
                        self.released.push(sample.id);
                        return Admitted::Dropped;
                    }
                }
            }
            self.bytes = bytes;
            self.by_priority.insert((priority, sample.id));
        }
        let index = sample.id.0 as usize;
        if self.slot_of.len() <= index {
            self.slot_of.resize(index + 1, NO_SLOT);
        }
        if let Some(slot) = self.slot_of.get_mut(index) {
            *slot = u32::try_from(self.entries.len()).unwrap_or(NO_SLOT);
        }
        self.entries.push(Tracked { sample, priority });
        self.count(sample, true);
        Admitted::Tracked
    }

    fn remove(&mut self, id: SampleId) -> Option<Sample> {
        let at = self.slot(id)?;
        let gone = *self.entries.get(at)?;
        self.entries.swap_remove(at);
        if let Some(slot) = self.slot_of.get_mut(id.0 as usize) {
            *slot = NO_SLOT;
        }
        if let Some(moved) = self.entries.get(at)
            && let Some(slot) = self.slot_of.get_mut(moved.sample.id.0 as usize)
        {
            *slot = u32::try_from(at).unwrap_or(NO_SLOT);
        }
        if self.bytes_max.is_some() {
            self.by_priority.remove(&(gone.priority, id));
            self.bytes = self.bytes.saturating_sub(gone.sample.object.0);
        }
        self.count(gone.sample, false);
        Some(gone.sample)
    }

    fn count(&mut self, s: Sample, up: bool) {
        let new_epoch = bump(&mut self.by_epoch, (s.class, s.epoch), s.weight.0, up);
        let class = self.by_class.entry(s.class).or_default();
        class.apply(s.weight.0, new_epoch, up);
        if class.count == 0 {
            self.by_class.remove(&s.class);
        }
        let per_epoch = self
            .by_thread_epoch
            .entry((s.class, s.thread, s.epoch))
            .or_default();
        *per_epoch = if up {
            *per_epoch + 1
        } else {
            per_epoch.saturating_sub(1)
        };
        let edge = if up { *per_epoch == 1 } else { *per_epoch == 0 };
        if *per_epoch == 0 {
            self.by_thread_epoch.remove(&(s.class, s.thread, s.epoch));
        }
        let thread = self.by_thread.entry((s.class, s.thread)).or_default();
        thread.apply(s.weight.0, edge, up);
        if thread.count == 0 {
            self.by_thread.remove(&(s.class, s.thread));
        }
    }

    fn survivors(&self, class: ClassId, epoch: Epoch) -> u32 {
        self.by_class
            .get(&class)
            .map_or(0, |t| t.count - self.young(class, epoch).1)
    }

    /// Epochs, instances and weight that have not survived a collection yet (age 0, or sampled
    /// after the counters were read).
    fn young(&self, class: ClassId, epoch: Epoch) -> (u32, u32, u64) {
        let range = (class, epoch)..=(class, Epoch(u64::MAX));
        self.by_epoch
            .range(range)
            .fold((0, 0, 0), |(e, n, w), (_, (count, weight))| {
                (e + 1, n + count, w + weight)
            })
    }

    fn class_fold(&self, class: ClassId, totals: Totals, epoch: Epoch) -> ClassFold {
        let (epochs, count, weight) = self.young(class, epoch);
        ClassFold {
            class,
            ages: totals.epochs - epochs,
            survivors: totals.count - count,
            died: self.died.get(&class).copied().unwrap_or(0),
            retained: Bytes(totals.weight - weight),
            threads: Vec::new(),
        }
    }

    fn thread_folds(&self, class: ClassId, epoch: Epoch) -> Vec<ThreadFold> {
        let range = (class, ThreadId(0))..=(class, ThreadId(u64::MAX));
        let mut threads: Vec<ThreadFold> = self
            .by_thread
            .range(range)
            .map(|((_, thread), totals)| {
                let young = (class, *thread, epoch)..=(class, *thread, Epoch(u64::MAX));
                let (epochs, count) = self
                    .by_thread_epoch
                    .range(young)
                    .fold((0, 0), |(e, n), (_, count)| (e + 1, n + count));
                ThreadFold {
                    thread: *thread,
                    ages: totals.epochs - epochs,
                    survivors: totals.count - count,
                }
            })
            .filter(|t| t.survivors > 0)
            .collect();
        threads.sort_by_key(|t| (std::cmp::Reverse(t.survivors), t.thread));
        threads.truncate(tuning::THREADS_PER_CLASS);
        threads
    }
}

impl Totals {
    fn apply(&mut self, weight: u64, epoch_edge: bool, up: bool) {
        if up {
            self.count += 1;
            self.weight = self.weight.saturating_add(weight);
            self.epochs += u32::from(epoch_edge);
        } else {
            self.count = self.count.saturating_sub(1);
            self.weight = self.weight.saturating_sub(weight);
            self.epochs = self.epochs.saturating_sub(u32::from(epoch_edge));
        }
    }
}

/// Counts one instance up or down; whether the key appeared or vanished.
fn bump(
    map: &mut BTreeMap<(ClassId, Epoch), (u32, u64)>,
    key: (ClassId, Epoch),
    weight: u64,
    up: bool,
) -> bool {
    let slot = map.entry(key).or_default();
    if up {
        *slot = (slot.0 + 1, slot.1.saturating_add(weight));
        return slot.0 == 1;
    }
    *slot = (slot.0.saturating_sub(1), slot.1.saturating_sub(weight));
    let gone = slot.0 == 0;
    if gone {
        map.remove(&key);
    }
    gone
}

#[cfg(test)]
mod tests;
