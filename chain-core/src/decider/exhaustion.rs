//! Heap and container usage, the projection to exhaustion, and what follows from it.

use crate::input::{ContainerReading, GcReading};
use crate::oom::{self, Boost, Latch, Ramp, Usage};
use crate::tick::{Bytes, Millis, Tick};
use crate::tuning::{self, Tuned};

/// Usage samples, their projection, latch and boost.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Exhaustion {
    pub usage: Usage,
    pub container: Usage,
    pub container_now: Option<ContainerReading>,
    pub container_max: Option<Bytes>,
    pub new_floor: Option<Bytes>,
    pub floor_rising: bool,
    pub heap_seconds: Option<f64>,
    pub container_seconds: Option<f64>,
    pub seconds: Option<f64>,
    pub burn_in: bool,
    pub ramp: bool,
    pub latch: Latch,
    pub boost: Boost,
}

impl Exhaustion {
    /// One usage sample a new epoch, heap and container alike.
    pub fn sample(&mut self, now: Tick, reading: GcReading) {
        let goes_back = |u: &Usage| u.last().is_some_and(|(at, _)| at > now);
        if goes_back(&self.usage) || goes_back(&self.container) {
            // No line goes through samples of two clocks: a falling heap would seem to rise.
            self.usage.clear();
            self.container.clear();
        }
        if let Some(used) = reading.used_after_gc {
            self.usage.push((now, used));
            self.new_floor = Some(used);
        }
        if let Some(container) = self.container_now.take() {
            self.container_max = container.max;
            if container.max.is_some() {
                self.container.push((now, container.used));
            }
        }
        self.floor_rising = oom::floor_rises(&self.usage) == Some(true);
    }

    /// One check of projection, latch and boost; the ramp that follows from it, if any. `active` is
    /// the time since the signal's first activation, `max` the heap's limit.
    pub fn check(
        &mut self,
        active: Option<Millis>,
        armed: bool,
        max: Option<Bytes>,
        tuned: &Tuned,
    ) -> Option<Ramp> {
        self.burn_in = active.is_none_or(|d| d < Millis(tuning::BURN_IN));
        let usable = armed && !self.burn_in && self.usage.len() >= tuning::FLOOR_FILL;
        (self.heap_seconds, self.container_seconds) = (None, None);
        if let Some(max) = max.filter(|_| usable) {
            self.heap_seconds = oom::seconds_to(&self.usage, max);
            self.container_seconds = self
                .container_max
                .and_then(|m| oom::seconds_to(&self.container, m));
        }
        self.seconds = oom::shorter(self.heap_seconds, self.container_seconds);
        self.latch.check(self.seconds);
        let last_floor = self.usage.last().map(|u| u.1);
        self.boost
            .check(self.seconds, self.new_floor.take(), last_floor);
        let ramp = oom::ramp(self.seconds, tuned.pause_target, tuned.budget);
        self.ramp = ramp.is_some();
        ramp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(used_mib: u64) -> GcReading {
        GcReading {
            used_after_gc: Some(Bytes::mib(used_mib)),
            ..GcReading::default()
        }
    }

    fn check(x: &mut Exhaustion) -> Option<f64> {
        let tuned = Tuned::of(&crate::config::Config::default());
        let active = Some(Millis(tuning::BURN_IN));
        x.check(active, true, Some(Bytes::mib(512)), &tuned);
        x.seconds
    }

    #[test]
    fn a_falling_heap_gets_no_projection_when_the_clock_goes_back() {
        let mut x = Exhaustion::default();
        for n in 0..20 {
            x.sample(Tick(600_000 + n * 1_000), reading(400 - n));
        }
        assert_eq!(check(&mut x), None);
        for n in 0..20 {
            // 40 s back: the smaller samples are now the earlier ones.
            x.sample(Tick(580_000 + n * 1_000), reading(380 - n));
            assert_eq!(check(&mut x), None, "{n}");
        }
        assert_eq!(x.usage.len(), 20);
    }

    #[test]
    fn a_failed_container_reading_is_skipped_and_no_boundary_is_none() {
        let mut x = Exhaustion::default();
        let container = |used, max| {
            Some(ContainerReading {
                used: Bytes::mib(used),
                max,
            })
        };
        for n in 0..30 {
            // Every third reading fails: nothing was handed in.
            x.container_now = if n % 3 == 0 {
                None
            } else {
                container(100 + n, Some(Bytes::mib(200)))
            };
            x.sample(Tick(n * 1_000), reading(100));
        }
        assert_eq!(x.container.len(), 20);
        assert!(
            (check(&mut x).unwrap() - 71.0).abs() < 1.0,
            "{:?}",
            x.seconds
        );
        x.container_now = container(130, None);
        x.sample(Tick(30_000), reading(100));
        assert_eq!(check(&mut x), None);
    }

    #[test]
    fn nothing_is_projected_during_burn_in_or_unarmed() {
        let mut x = Exhaustion::default();
        for n in 0..20 {
            x.sample(Tick(n * 1_000), reading(100 + n));
        }
        let tuned = Tuned::of(&crate::config::Config::default());
        for (active, armed, projected) in [
            (None, true, false),
            (Some(Millis(tuning::BURN_IN - 1)), true, false),
            (Some(Millis(tuning::BURN_IN)), false, false),
            (Some(Millis(tuning::BURN_IN)), true, true),
        ] {
            x.check(active, armed, Some(Bytes::mib(512)), &tuned);
            assert_eq!(x.seconds.is_some(), projected, "{active:?} {armed}");
        }
    }

    #[test]
    fn samples_of_one_instant_are_kept_and_the_floor_is_told() {
        let mut x = Exhaustion::default();
        for n in 0..20 {
            x.sample(Tick(n / 2 * 1_000), reading(100 + 5 * n));
            assert_eq!(x.floor_rising, n >= 9, "{n}");
        }
        assert_eq!(x.usage.len(), 20);
    }
}
