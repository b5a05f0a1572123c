//! What allocation callbacks read: the admission set and the epoch, published by the worker through atomics.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use chain_core::admission::{AdmissionSet, Verdict};
use chain_core::inline::InlineVec;
use chain_core::input::AdmissionCounts;
use chain_core::plan::MAX_THREADS;
use chain_core::{Epoch, ThreadId};

/// The published half of the sampling decision, and what callbacks count.
#[derive(Debug, Default)]
pub struct Sampling {
    /// The callback does anything at all.
    on: AtomicBool,
    in_flight: AtomicU32,
    session: AtomicU64,
    enabled: AtomicBool,
    boost: AtomicBool,
    table_full: AtomicBool,
    ratio: AtomicU64,
    watched: [AtomicU64; MAX_THREADS],
    watched_count: AtomicU64,
    epoch: AtomicU64,
    callbacks_at_epoch: AtomicU64,
    callbacks_per_epoch: AtomicU64,
    interval: AtomicU64,
    depth: AtomicU32,
    /// Samples that the JVM took.
    pub seen: AtomicU64,
    /// Samples that were admitted and queued.
    pub queued: AtomicU64,
    /// Samples admitted by the urgent boost alone.
    pub boosted: AtomicU64,
    /// Samples that the boost would have admitted, had the table room.
    pub backed_off: AtomicU64,
    /// Admitted samples lost because a name, a reference or a place in the queue could not be had.
    pub lost: AtomicU64,
}

/// A callback that is inside; leaving is dropping it.
#[derive(Debug)]
pub struct InFlight<'a>(&'a Sampling);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Sampling {
    /// Enters a callback; `None` when callbacks are off. Cheap enough for every sample.
    pub fn enter(&self) -> Option<InFlight<'_>> {
        // Counted before the switch is read: whoever switches off and then sees 0 knows that nobody is inside.
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        let flight = InFlight(self);
        self.on.load(Ordering::SeqCst).then_some(flight)
    }

    /// Whether no callback is inside.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.in_flight.load(Ordering::SeqCst) == 0
    }

    /// Which session this is, from 1: a thread's id belongs to one session.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.session.load(Ordering::Relaxed)
    }

    /// Lets callbacks work, with this sampling interval (bytes) and stack depth (frames).
    pub fn switch_on(&self, interval_bytes: u32, depth_frames: u16) {
        self.interval
            .store(interval_bytes.into(), Ordering::Relaxed);
        self.depth.store(depth_frames.into(), Ordering::Relaxed);
        self.session.fetch_add(1, Ordering::Relaxed);
        self.on.store(true, Ordering::SeqCst);
    }

    /// Makes callbacks return at once.
    pub fn switch_off(&self) {
        self.on.store(false, Ordering::SeqCst);
    }

    /// Most frames of an allocation stack.
    #[must_use]
    pub fn depth(&self) -> usize {
        usize::try_from(self.depth.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Publishes the admission set: thread slots first, then their count with release.
    pub fn publish(&self, set: &AdmissionSet) {
        self.watched_count.store(0, Ordering::Release);
        for (slot, thread) in self.watched.iter().zip(set.watched.iter()) {
            slot.store(thread.0, Ordering::Relaxed);
        }
        self.watched_count
            .store(set.watched.len() as u64, Ordering::Release);
        self.ratio.store(set.ratio, Ordering::Relaxed);
        self.boost.store(set.boost, Ordering::Relaxed);
        self.table_full.store(set.table_full, Ordering::Relaxed);
        self.enabled.store(set.enabled, Ordering::Relaxed);
    }

    /// What callbacks counted that the core reports.
    #[must_use]
    pub fn counts(&self) -> AdmissionCounts {
        AdmissionCounts {
            boost_admits: self.boosted.load(Ordering::Relaxed),
            boost_backed_off: self.backed_off.load(Ordering::Relaxed),
        }
    }

    /// Counts a verdict that the core wants to know of.
    pub fn count(&self, verdict: Verdict) {
        match verdict {
            Verdict::Boost(_) => self.boosted.fetch_add(1, Ordering::Relaxed),
            Verdict::BackedOff => self.backed_off.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    /// The admission set as a callback sees it.
    #[must_use]
    pub fn admission(&self) -> AdmissionSet {
        let count = self.watched_count.load(Ordering::Acquire);
        let watched: InlineVec<ThreadId, MAX_THREADS> = self
            .watched
            .iter()
            .take(usize::try_from(count).unwrap_or(0))
            .map(|slot| ThreadId(slot.load(Ordering::Relaxed)))
            .collect();
        AdmissionSet {
            version: 0,
            enabled: self.enabled.load(Ordering::Relaxed),
            ratio: self.ratio.load(Ordering::Relaxed),
            watched,
            boost: self.boost.load(Ordering::Relaxed),
            table_full: self.table_full.load(Ordering::Relaxed),
        }
    }

    /// Publishes the worker's reading: `epoch` cycles when `callbacks` pauses had ended, and how many pauses make a
    /// cycle from here on (0: none does, only the reading moves the epoch).
    pub fn publish_epoch(&self, epoch: Epoch, callbacks: u64, callbacks_per_epoch: u64) {
        self.callbacks_per_epoch
            .store(callbacks_per_epoch, Ordering::Relaxed);
        self.callbacks_at_epoch.store(callbacks, Ordering::Relaxed);
        self.epoch.store(epoch.0, Ordering::Release);
    }

    /// The epoch now: the last reading, advanced by the pauses that have ended since.
    ///
    /// The worker reads the beans at its own pace; without this estimate samples of several cycles would share an
    /// age. An estimate that runs ahead only delays a sample's first age.
    #[must_use]
    pub fn epoch_now(&self, callbacks: u64) -> Epoch {
        let epoch = self.epoch.load(Ordering::Acquire);
        let since = callbacks.saturating_sub(self.callbacks_at_epoch.load(Ordering::Relaxed));
        let per_epoch = self.callbacks_per_epoch.load(Ordering::Relaxed);
        Epoch(epoch.saturating_add(since.checked_div(per_epoch).unwrap_or(0)))
    }

    /// The allocated bytes that one sample of an object of `size` bytes stands for.
    ///
    /// The JVM samples with a geometric distribution of the given mean: an object is taken with probability
    /// 1 - exp(-size / interval), so its inverse weighs it without bias.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "positive, far below 2^53; float casts saturate"
    )]
    pub fn weight(&self, size: u64) -> u64 {
        let interval = self.interval.load(Ordering::Relaxed);
        if interval == 0 || size == 0 {
            return size;
        }
        let taken = -f64::exp_m1(-(size as f64) / interval as f64);
        (size as f64 / taken).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_what_a_callback_sees() {
        let sampling = Sampling::default();
        let set = AdmissionSet {
            version: 0,
            enabled: true,
            ratio: 77,
            watched: [ThreadId(3), ThreadId(9)].into_iter().collect(),
            boost: true,
            table_full: true,
        };
        sampling.publish(&set);
        assert_eq!(sampling.admission(), set);
        sampling.publish(&AdmissionSet::default());
        assert_eq!(sampling.admission(), AdmissionSet::default());
    }

    #[test]
    fn a_callback_that_entered_before_the_switch_is_seen_inside() {
        let sampling = Sampling::default();
        assert!(sampling.enter().is_none() && sampling.is_quiet());
        sampling.switch_on(1_024, 1);
        let inside = sampling.enter();
        sampling.switch_off();
        assert!(inside.is_some() && !sampling.is_quiet());
        drop(inside);
        assert!(sampling.enter().is_none() && sampling.is_quiet());
    }

    #[test]
    fn the_epoch_advances_between_readings_by_whole_cycles() {
        let sampling = Sampling::default();
        sampling.publish_epoch(Epoch(10), 30, 3);
        assert_eq!(sampling.epoch_now(30), Epoch(10));
        assert_eq!(sampling.epoch_now(35), Epoch(11));
        assert_eq!(sampling.epoch_now(36), Epoch(12));
        sampling.publish_epoch(Epoch(10), 30, 0);
        assert_eq!(
            sampling.epoch_now(99),
            Epoch(10),
            "young pauses age nothing that only a major clears"
        );
    }

    #[test]
    fn a_small_object_stands_for_the_interval_and_a_large_one_for_itself() {
        let sampling = Sampling::default();
        sampling.switch_on(524_288, 64);
        assert!((524_288..=524_320).contains(&sampling.weight(16)));
        assert_eq!(sampling.weight(64 << 20), 64 << 20);
        sampling.switch_on(0, 0);
        assert_eq!(sampling.weight(100), 100);
    }
}
