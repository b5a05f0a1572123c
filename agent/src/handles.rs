//! The worker's table of tracked objects: slot number -> weak reference and what is known of the sample.

use chain_core::{Bytes, ClassId, Epoch, SampleId, ThreadId, Tick, TraceId};

/// One tracked object.
#[derive(Debug)]
pub struct Tracked<W> {
    /// The object, weakly.
    pub weak: W,
    /// Its class.
    pub class: ClassId,
    /// The allocating thread.
    pub thread: ThreadId,
    /// Its allocation stack.
    pub trace: TraceId,
    /// Allocated bytes that it stands for.
    pub weight: Bytes,
    /// Epoch of its allocation.
    pub epoch: Epoch,
    /// When it was allocated.
    pub at: Tick,
    /// Its own size.
    pub size: Bytes,
}

/// Slots with reuse. Generic over the reference so that the rules can be tested without a JVM.
#[derive(Debug)]
pub struct Handles<W> {
    slots: Vec<Option<Tracked<W>>>,
    free: Vec<u32>,
}

/// Where most tracked bytes of a class were allocated, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The stack with most bytes.
    pub trace: TraceId,
    /// The thread with most bytes.
    pub thread: ThreadId,
    /// Epoch of the class's oldest tracked object.
    pub oldest: Epoch,
    /// When the oldest object of that stack was allocated.
    pub at: Tick,
    /// That object's size.
    pub size: Bytes,
}

impl<W> Default for Handles<W> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<W> Handles<W> {
    /// Stores a sample and names its slot; gives it back when every slot number is taken.
    ///
    /// # Errors
    /// The sample itself.
    pub fn insert(&mut self, tracked: Tracked<W>) -> Result<SampleId, Tracked<W>> {
        if let Some(slot) = self.free.pop() {
            if let Some(place) = usize::try_from(slot)
                .ok()
                .and_then(|index| self.slots.get_mut(index))
            {
                *place = Some(tracked);
            }
            return Ok(SampleId(slot));
        }
        match u32::try_from(self.slots.len()) {
            Ok(slot) if self.slots.try_reserve(1).is_ok() => {
                self.slots.push(Some(tracked));
                Ok(SampleId(slot))
            }
            _ => Err(tracked),
        }
    }

    /// Empties a slot; `None` when it is empty already.
    pub fn remove(&mut self, id: SampleId) -> Option<Tracked<W>> {
        let taken = self.slots.get_mut(usize::try_from(id.0).ok()?)?.take();
        if taken.is_some() {
            self.free.push(id.0);
        }
        taken
    }

    /// Everything tracked, by slot.
    pub fn iter(&self) -> impl Iterator<Item = (SampleId, &Tracked<W>)> {
        (0u32..)
            .zip(&self.slots)
            .filter_map(|(slot, tracked)| Some((SampleId(slot), tracked.as_ref()?)))
    }

    /// Empties every slot.
    pub fn drain(&mut self) -> impl Iterator<Item = Tracked<W>> + '_ {
        self.free.clear();
        self.slots.drain(..).flatten()
    }

    /// How many objects are tracked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Slots made so far, free ones included.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Whether nothing is tracked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the tracked objects of `class` come from, by the bytes they stand for; `None` without any. Objects
    /// older than a collection count before those that none has confirmed yet.
    #[must_use]
    pub fn origin(&self, class: ClassId, now: Epoch) -> Option<Origin> {
        let survivors = self.origin_of(class, |tracked| tracked.epoch < now);
        survivors.or_else(|| self.origin_of(class, |_| true))
    }

    fn origin_of(&self, class: ClassId, wanted: impl Fn(&Tracked<W>) -> bool) -> Option<Origin> {
        let mut traces = std::collections::BTreeMap::<TraceId, u64>::new();
        let mut threads = std::collections::BTreeMap::<ThreadId, u64>::new();
        let mut oldest: Option<Epoch> = None;
        for (_, tracked) in self
            .iter()
            .filter(|(_, tracked)| tracked.class == class && wanted(tracked))
        {
            *traces.entry(tracked.trace).or_default() += tracked.weight.0;
            *threads.entry(tracked.thread).or_default() += tracked.weight.0;
            oldest = Some(oldest.map_or(tracked.epoch, |epoch| epoch.min(tracked.epoch)));
        }
        // An unknown stack says nothing: it counts only when there is no other.
        let known = traces
            .iter()
            .filter(|(trace, _)| trace.0 != 0)
            .max_by_key(|(_, bytes)| **bytes);
        let trace = known.map_or(TraceId(0), |(trace, _)| *trace);
        let shown = self
            .iter()
            .map(|(_, tracked)| tracked)
            .filter(|tracked| tracked.class == class && tracked.trace == trace && wanted(tracked))
            .min_by_key(|tracked| tracked.at)?;
        Some(Origin {
            trace,
            at: shown.at,
            size: shown.size,
            thread: threads
                .iter()
                .max_by_key(|(_, bytes)| **bytes)
                .map(|(thread, _)| *thread)?,
            oldest: oldest?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(class: u32, thread: u64, trace: u32, weight: u64, epoch: u64) -> Tracked<u32> {
        Tracked {
            weak: class,
            class: ClassId(class),
            thread: ThreadId(thread),
            trace: TraceId(trace),
            weight: Bytes(weight),
            epoch: Epoch(epoch),
            at: Tick(epoch * 1_000),
            size: Bytes(24),
        }
    }

    #[test]
    fn a_slot_is_reused_once_it_was_removed_and_only_once() {
        let mut handles = Handles::default();
        let first = handles.insert(sample(1, 1, 1, 1, 1)).unwrap();
        let second = handles.insert(sample(2, 1, 1, 1, 1)).unwrap();
        assert!(handles.remove(first).is_some());
        assert!(handles.remove(first).is_none());
        assert_eq!(handles.len(), 1);
        assert_eq!(handles.insert(sample(3, 1, 1, 1, 1)).unwrap(), first);
        let third = handles.insert(sample(4, 1, 1, 1, 1)).unwrap();
        assert!(third != first && third != second);
        assert_eq!(handles.iter().count(), 3);
        assert_eq!(handles.drain().count(), 3);
        assert!(handles.is_empty());
    }

    #[test]
    fn the_origin_is_where_most_surviving_bytes_come_from() {
        let mut handles = Handles::default();
        for s in [
            sample(7, 1, 5, 10, 3),
            sample(7, 2, 6, 30, 4),
            sample(7, 2, 0, 99, 2),
            sample(8, 3, 9, 1000, 1),
        ] {
            handles.insert(s).unwrap();
        }
        handles.insert(sample(7, 4, 8, 5000, 10)).unwrap();
        let origin = handles.origin(ClassId(7), Epoch(10)).unwrap();
        assert_eq!(
            origin,
            Origin {
                trace: TraceId(6),
                thread: ThreadId(2),
                oldest: Epoch(2),
                // The object whose stack is shown, not the oldest of the class.
                at: Tick(4_000),
                size: Bytes(24),
            }
        );
        assert_eq!(handles.origin(ClassId(99), Epoch(10)), None);
    }
}
