//! What the simulated application allocates, and how long it keeps it.

use crate::ids::ClassId;
use crate::sim::rng::Rng;

/// How long an object lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Life {
    /// Exponentially distributed, mean in ms: garbage, requests in flight.
    Short(f64),
    /// Evenly spread between two bounds in ms: sessions.
    Between(f64, f64),
    /// A cache of this many objects that evicts its oldest.
    Fifo(f64),
    /// A cache of this many objects that evicts at random.
    Random(f64),
    /// For ever.
    Leak,
    /// For ever until this instant (ms), when all of it is released and later ones die young.
    FixedAt(u64),
    /// A see-saw: of what is allocated in each period (ms) this share stays, the rest goes at its end.
    SeeSaw(u64, f64),
    /// Loaded until this instant (ms) and kept: classes, warm-up internals. Nothing later.
    Warmup(u64),
    /// For ever, allocated only between these instants (ms).
    Burst(u64, u64),
}

/// What becomes of one object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    /// It dies at this instant, ms.
    At(f64),
    /// It never dies.
    Never,
    /// It is not allocated at all.
    Unborn,
}

/// One allocation site.
#[derive(Clone, Debug)]
pub struct Mutator {
    /// Class of its objects.
    pub class: ClassId,
    /// Its threads allocate in turn.
    pub threads: Vec<u64>,
    /// Allocation rate, bytes per second, without subsampling.
    pub rate: f64,
    /// Size of one object.
    pub size: u64,
    /// Their life.
    pub life: Life,
    /// Shape whose instances these are.
    pub planted: Option<u32>,
    /// The rate has noise: a factor drawn anew each second from this range around 1.
    pub jitter: f64,
}

impl Mutator {
    /// Objects per second.
    pub fn objects_per_second(&self) -> f64 {
        self.rate / precise(self.size.max(1))
    }

    /// What becomes of an object allocated at `now` ms.
    pub fn fate(&self, now: f64, rng: &mut Rng) -> Fate {
        let per_ms = self.objects_per_second() / 1000.0;
        match self.life {
            Life::Short(mean) => Fate::At(now + rng.exponential(mean)),
            Life::Between(low, high) => Fate::At(now + low + (high - low) * rng.unit()),
            Life::Fifo(capacity) => Fate::At(now + capacity / per_ms),
            Life::Random(capacity) => Fate::At(now + rng.exponential(capacity / per_ms)),
            Life::Leak => Fate::Never,
            Life::FixedAt(at) if now < precise(at) => Fate::At(precise(at)),
            Life::FixedAt(_) => Fate::At(now + rng.exponential(50.0)),
            Life::SeeSaw(period, stays) => {
                let end = (now / precise(period)).floor() * precise(period) + precise(period);
                if rng.unit() >= stays {
                    Fate::At(end)
                } else {
                    Fate::Never
                }
            }
            Life::Warmup(until) => {
                if now < precise(until) {
                    Fate::Never
                } else {
                    Fate::Unborn
                }
            }
            Life::Burst(from, to) => {
                if now >= precise(from) && now < precise(to) {
                    Fate::Never
                } else {
                    Fate::Unborn
                }
            }
        }
    }

    /// Objects alive at `now` ms, on average.
    pub fn alive(&self, now: f64) -> f64 {
        let per_ms = self.objects_per_second() / 1000.0;
        match self.life {
            Life::Short(mean) => per_ms * mean,
            Life::Between(low, high) => per_ms * f64::midpoint(low, high).min(now),
            Life::Fifo(capacity) => capacity.min(per_ms * now),
            Life::Random(capacity) => capacity * (1.0 - (-per_ms * now / capacity).exp()),
            Life::Leak => per_ms * now,
            Life::FixedAt(at) if now < precise(at) => per_ms * now,
            Life::FixedAt(_) => per_ms * 50.0,
            Life::SeeSaw(period, stays) => {
                let into = now % precise(period);
                per_ms * ((now - into) * stays + into)
            }
            Life::Warmup(until) => per_ms * now.min(precise(until)),
            Life::Burst(from, to) => per_ms * (now.min(precise(to)) - precise(from)).max(0.0),
        }
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "simulated sizes and times stay far below 2^53"
)]
pub(crate) fn precise(n: u64) -> f64 {
    n as f64
}
