//! The bounded queue between allocation callbacks and the worker: many producers, one consumer, no lock.
//!
//! A record is a fixed number of words. Producers never wait: a full queue refuses the record and counts it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a record.
pub const WORDS: usize = 7;

/// One slot: its sequence number says whose turn it is (bounded queue after D. Vyukov).
#[derive(Debug)]
struct Slot {
    turn: AtomicU64,
    words: [AtomicU64; WORDS],
}

/// A bounded queue of fixed-size records.
#[derive(Debug)]
pub struct Queue {
    slots: Box<[Slot]>,
    mask: u64,
    head: AtomicU64,
    tail: AtomicU64,
    refused: AtomicU64,
}

impl Queue {
    /// A queue of `capacity` records, rounded up to a power of two, at least 2.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(2).next_power_of_two();
        let slots = (0..capacity as u64)
            .map(|turn| Slot {
                turn: AtomicU64::new(turn),
                words: Default::default(),
            })
            .collect();
        Self {
            slots,
            mask: capacity as u64 - 1,
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    fn slot(&self, position: u64) -> Option<&Slot> {
        // The mask keeps the index below the length, which is a power of two that fits usize.
        self.slots.get(usize::try_from(position & self.mask).ok()?)
    }

    /// Appends a record; false, and counted, when the queue is full.
    pub fn push(&self, record: [u64; WORDS]) -> bool {
        let mut position = self.tail.load(Ordering::Relaxed);
        loop {
            let Some(slot) = self.slot(position) else {
                return false;
            };
            let turn = slot.turn.load(Ordering::Acquire);
            if turn == position {
                let next = position.wrapping_add(1);
                match self.tail.compare_exchange_weak(
                    position,
                    next,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                ) {
                    Ok(_) => {
                        for (word, value) in slot.words.iter().zip(record) {
                            word.store(value, Ordering::Relaxed);
                        }
                        slot.turn.store(next, Ordering::Release);
                        return true;
                    }
                    Err(current) => position = current,
                }
            } else if turn < position {
                // The slot still holds a record of the round before: full.
                self.refused.fetch_add(1, Ordering::Relaxed);
                return false;
            } else {
                position = self.tail.load(Ordering::Relaxed);
            }
        }
    }

    /// Takes the oldest record; `None` when there is none. One consumer at a time.
    pub fn pop(&self) -> Option<[u64; WORDS]> {
        let position = self.head.load(Ordering::Relaxed);
        let slot = self.slot(position)?;
        let next = position.wrapping_add(1);
        if slot.turn.load(Ordering::Acquire) != next {
            return None;
        }
        let mut record = [0; WORDS];
        for (value, word) in record.iter_mut().zip(&slot.words) {
            *value = word.load(Ordering::Relaxed);
        }
        slot.turn
            .store(next.wrapping_add(self.mask), Ordering::Release);
        self.head.store(next, Ordering::Relaxed);
        Some(record)
    }

    /// Records refused so far because the queue was full.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_out_whole_and_in_order() {
        let queue = Queue::new(4);
        for n in 0..4 {
            assert!(queue.push([n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6]));
        }
        for n in 0..4 {
            assert_eq!(
                queue.pop(),
                Some([n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6])
            );
        }
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_full_queue_refuses_counts_and_recovers() {
        let queue = Queue::new(2);
        assert!(queue.push([1; WORDS]) && queue.push([2; WORDS]));
        assert!(!queue.push([3; WORDS]));
        assert_eq!(queue.refused(), 1);
        assert_eq!(queue.pop(), Some([1; WORDS]));
        assert!(queue.push([4; WORDS]));
        assert_eq!(
            (queue.pop(), queue.pop(), queue.pop()),
            (Some([2; WORDS]), Some([4; WORDS]), None)
        );
    }

    #[test]
    fn many_producers_lose_nothing_that_was_accepted() {
        const PRODUCERS: u64 = 4;
        const EACH: u64 = 20_000;
        let queue = Queue::new(64);
        let mut seen: [Vec<u64>; 4] = Default::default();
        let accepted: u64 = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..PRODUCERS)
                .map(|producer| {
                    let queue = &queue;
                    scope.spawn(move || {
                        (0..EACH)
                            .filter(|n| queue.push([producer, *n, producer ^ n, 0, 0, 0, 0]))
                            .count() as u64
                    })
                })
                .collect();
            let mut take = || {
                while let Some(record) = queue.pop() {
                    assert_eq!(record[2], record[0] ^ record[1], "torn record");
                    seen[usize::try_from(record[0]).unwrap()].push(record[1]);
                }
            };
            while !handles
                .iter()
                .all(std::thread::ScopedJoinHandle::is_finished)
            {
                take();
            }
            take();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap())
                .sum()
        });
        assert_eq!(seen.iter().map(Vec::len).sum::<usize>() as u64, accepted);
        assert_eq!(accepted + queue.refused(), PRODUCERS * EACH);
        assert!(
            seen.iter().all(|list| list.is_sorted()),
            "each producer's records keep their order"
        );
    }
}
