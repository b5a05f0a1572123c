//! The tick domain of a recording.

use jfr_format::header::Header;

/// One instant in both clocks, and the speed of ticks.
///
/// Every chunk of a file must share one domain: the JDK 25 tools apply the first chunk's clock to
/// all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Wall clock at the instant, ns since the epoch.
    pub epoch_nanos: i64,
    /// Tick counter at the same instant.
    pub ticks: i64,
    /// Ticks in a second; at least 1.
    pub ticks_per_second: i64,
}

impl Clock {
    /// The domain of a chunk that somebody else wrote, for chunks that follow it in its file.
    #[must_use]
    pub const fn of_header(header: &Header) -> Self {
        Self {
            epoch_nanos: header.start_nanos,
            ticks: header.start_ticks,
            ticks_per_second: header.ticks_per_second,
        }
    }

    /// Wall clock at `ticks`, ns since the epoch; saturates.
    #[must_use]
    pub fn nanos_at(&self, ticks: i64) -> i64 {
        self.epoch_nanos
            .saturating_add(self.span_nanos(ticks.saturating_sub(self.ticks)))
    }

    /// Length of `ticks`, ns; saturates.
    #[must_use]
    pub fn span_nanos(&self, ticks: i64) -> i64 {
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(self.ticks_per_second.max(1));
        i64::try_from(nanos).unwrap_or(if ticks < 0 { i64::MIN } else { i64::MAX })
    }

    /// Ticks in `nanos`; saturates.
    #[must_use]
    pub fn span_ticks(&self, nanos: i64) -> i64 {
        let ticks = i128::from(nanos) * i128::from(self.ticks_per_second.max(1)) / 1_000_000_000;
        i64::try_from(ticks).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
    }

    /// The tick at wall clock `nanos`; saturates.
    #[must_use]
    pub fn ticks_at(&self, nanos: i64) -> i64 {
        self.ticks
            .saturating_add(self.span_ticks(nanos.saturating_sub(self.epoch_nanos)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_and_its_wall_clock_agree_both_ways() {
        let clock = Clock {
            epoch_nanos: 5_000,
            ticks: 100,
            ticks_per_second: 500_000_000,
        };
        assert_eq!(clock.nanos_at(101), 5_002);
        assert_eq!(clock.nanos_at(99), 4_998);
        assert_eq!(clock.ticks_at(5_002), 101);
        assert_eq!(clock.ticks_at(4_998), 99);
    }

    #[test]
    fn extreme_values_saturate() {
        let clock = Clock {
            epoch_nanos: i64::MAX,
            ticks: i64::MIN,
            ticks_per_second: 0,
        };
        assert_eq!(clock.nanos_at(i64::MAX), i64::MAX);
        assert_eq!(clock.ticks_at(i64::MIN), i64::MIN);
    }
}
