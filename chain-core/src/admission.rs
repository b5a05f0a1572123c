//! Which sampled allocations are tracked: decided on application threads, before anything is resolved.
//!
//! The agent publishes an [`AdmissionSet`] through atomics (thread slots first, then the count with
//! release; the flags relaxed) and calls [`AdmissionSet::admit`] in the sampling callback with the
//! sample's weight, a draw from [`Lottery`] and the thread's [`Carry`].

use crate::ids::ThreadId;
use crate::inline::InlineVec;
use crate::plan::MAX_THREADS;
use crate::tick::Bytes;

/// All that the decision reads; small, copyable, without a pointer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct AdmissionSet {
    /// Counts changes; a reader that sees another number reads again.
    pub version: u64,
    /// Samples are wanted at all (the signal is or may become armed).
    pub enabled: bool,
    /// Admit when the draw is below this: the live ratio, scaled to 2^32.
    pub ratio: u64,
    /// Threads whose samples bypass the live ratio; empty = none.
    pub watched: InlineVec<ThreadId, MAX_THREADS>,
    /// Near exhaustion every sample bypasses it.
    pub boost: bool,
    /// The table is full: the boost falls back to watched threads and ratio.
    pub table_full: bool,
}

/// Why a sample was admitted, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By the urgent boost alone.
    Boost(Bytes),
    /// Its thread is watched.
    Watched(Bytes),
    /// By the live ratio.
    Ratio(Bytes),
    /// Not tracked: the boost would have admitted it, but the table is full. The weight is carried.
    BackedOff,
    /// Not tracked; its weight is carried to the thread's next admitted sample.
    Rejected,
}

impl Verdict {
    /// The weight the tracked sample stands for, carry included.
    pub fn weight(self) -> Option<Bytes> {
        match self {
            Verdict::Boost(w) | Verdict::Watched(w) | Verdict::Ratio(w) => Some(w),
            Verdict::BackedOff | Verdict::Rejected => None,
        }
    }
}

/// Weight of rejected samples, carried to the next admitted one so that byte estimates stay
/// unbiased. Keep one per thread (or per stripe); dropping one loses its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carry(pub u64);

/// A small generator for draws; one per thread, any non-zero seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lottery(u64);

impl Lottery {
    /// Seeds it; 0 is replaced.
    pub fn new(seed: u64) -> Lottery {
        Lottery(if seed == 0 {
            0x9e37_79b9_7f4a_7c15
        } else {
            seed
        })
    }

    /// The next draw (xorshift64*, upper half).
    #[allow(clippy::cast_possible_truncation, reason = "a u64 shifted by 32 fits")]
    pub fn draw(&mut self) -> u32 {
        let mut x = self.0;
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0 = x;
        (x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }
}

impl AdmissionSet {
    /// The live ratio, clamped to 0.01..=1, as a threshold for 32-bit draws.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0.01..=1, so at most 2^32"
    )]
    pub fn scale_ratio(ratio: f64) -> u64 {
        let clamped = if ratio.is_nan() {
            crate::tuning::LIVE_RATIO
        } else {
            ratio.clamp(0.01, 1.0)
        };
        (clamped * 4_294_967_296.0) as u64
    }

    /// Decides about one sample of `thread` with weight `weight`; `draw` is uniform over `u32`.
    pub fn admit(&self, thread: ThreadId, weight: Bytes, draw: u32, carry: &mut Carry) -> Verdict {
        if !self.enabled {
            return Verdict::Rejected;
        }
        let total = Bytes(carry.0.saturating_add(weight.0));
        let verdict = if self.watched.as_slice().contains(&thread) {
            Verdict::Watched(total)
        } else if u64::from(draw) < self.ratio {
            Verdict::Ratio(total)
        } else if self.boost && !self.table_full {
            Verdict::Boost(total)
        } else if self.boost {
            Verdict::BackedOff
        } else {
            Verdict::Rejected
        };
        carry.0 = if verdict.weight().is_some() {
            0
        } else {
            total.0
        };
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> AdmissionSet {
        AdmissionSet {
            enabled: true,
            ratio: AdmissionSet::scale_ratio(0.1),
            ..Default::default()
        }
    }

    #[test]
    fn rejected_weight_is_carried_to_the_next_admitted_sample() {
        let (s, mut carry) = (set(), Carry::default());
        assert_eq!(
            s.admit(ThreadId(1), Bytes(10), u32::MAX, &mut carry),
            Verdict::Rejected
        );
        assert_eq!(
            s.admit(ThreadId(1), Bytes(10), u32::MAX, &mut carry),
            Verdict::Rejected
        );
        assert_eq!(
            s.admit(ThreadId(1), Bytes(5), 0, &mut carry),
            Verdict::Ratio(Bytes(25))
        );
        assert_eq!(carry, Carry(0));
    }

    #[test]
    fn byte_estimates_stay_unbiased_under_subsampling() {
        let (s, mut carry, mut lottery) = (set(), Carry::default(), Lottery::new(7));
        let (mut seen, mut total) = (0, 0);
        for _ in 0..100_000 {
            total += 512;
            if let Some(w) = s
                .admit(ThreadId(1), Bytes(512), lottery.draw(), &mut carry)
                .weight()
            {
                seen += w.0;
            }
        }
        assert_eq!(seen + carry.0, total);
    }

    #[test]
    fn live_ratio_is_clamped() {
        assert_eq!(
            AdmissionSet::scale_ratio(0.0),
            AdmissionSet::scale_ratio(0.01)
        );
        assert_eq!(AdmissionSet::scale_ratio(7.0), 1 << 32);
        assert_eq!(
            AdmissionSet::scale_ratio(f64::NAN),
            AdmissionSet::scale_ratio(0.1)
        );
    }

    #[test]
    fn live_ratio_one_admits_every_draw() {
        let s = AdmissionSet {
            ratio: AdmissionSet::scale_ratio(1.0),
            ..set()
        };
        let mut c = Carry::default();
        assert_eq!(
            s.admit(ThreadId(1), Bytes(1), u32::MAX, &mut c),
            Verdict::Ratio(Bytes(1))
        );
    }

    #[test]
    fn watched_threads_bypass_the_live_ratio() {
        let s = AdmissionSet {
            watched: [ThreadId(3)].into_iter().collect(),
            ..set()
        };
        let mut c = Carry::default();
        assert_eq!(
            s.admit(ThreadId(3), Bytes(1), u32::MAX, &mut c),
            Verdict::Watched(Bytes(1))
        );
        assert_eq!(
            s.admit(ThreadId(4), Bytes(1), u32::MAX, &mut c),
            Verdict::Rejected
        );
    }

    #[test]
    fn boost_bypasses_the_live_ratio_until_the_table_is_full() {
        let mut s = AdmissionSet {
            boost: true,
            ..set()
        };
        let mut c = Carry::default();
        assert_eq!(
            s.admit(ThreadId(1), Bytes(1), u32::MAX, &mut c),
            Verdict::Boost(Bytes(1))
        );
        s.table_full = true;
        assert_eq!(
            s.admit(ThreadId(1), Bytes(1), u32::MAX, &mut c),
            Verdict::BackedOff
        );
        s.watched.push(ThreadId(1));
        assert_eq!(
            s.admit(ThreadId(1), Bytes(1), u32::MAX, &mut c),
            Verdict::Watched(Bytes(2))
        );
    }

    #[test]
    fn nothing_is_admitted_or_carried_while_disabled() {
        let mut c = Carry::default();
        assert_eq!(
            AdmissionSet::default().admit(ThreadId(1), Bytes(9), 0, &mut c),
            Verdict::Rejected
        );
        assert_eq!(c, Carry(0));
    }

    #[test]
    fn draws_follow_the_seed_and_spread_evenly() {
        let mut l = Lottery::new(1);
        let first: Vec<u32> = (0..4).map(|_| l.draw()).collect();
        assert_eq!(
            first,
            [1_206_177_355, 2_882_512_552, 3_117_485_455, 1_303_648_416]
        );
        let mut buckets = [0; 16];
        for _ in 0..16_000 {
            buckets[(l.draw() >> 28) as usize] += 1;
        }
        assert!(
            buckets.iter().all(|n| (850..1_150).contains(n)),
            "{buckets:?}"
        );
        assert_eq!(Lottery::new(0), Lottery::new(0x9e37_79b9_7f4a_7c15));
    }

    #[test]
    fn a_draw_at_the_ratio_is_rejected_and_one_below_is_not() {
        let set = AdmissionSet {
            enabled: true,
            ratio: 100,
            ..AdmissionSet::default()
        };
        let admit = |draw| set.admit(ThreadId(1), Bytes(1), draw, &mut Carry::default());
        assert_eq!(admit(100), Verdict::Rejected);
        assert_eq!(admit(99), Verdict::Ratio(Bytes(1)));
    }
}
