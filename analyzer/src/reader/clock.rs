//! A chunk's ticks as time.

use jfr_format::header::Header;

use super::types::Unit;

/// Nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpochNanos(pub i64);

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub i64);

/// Converts ticks of one chunk. Chunks have clocks of their own, even within one recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    header: Header,
}

impl Clock {
    /// The clock that a chunk's header describes.
    pub fn new(header: Header) -> Self {
        Self { header }
    }

    /// The moment of a tick count. Saturates at the ends of the `i64` range.
    pub fn time(&self, ticks: i64) -> EpochNanos {
        EpochNanos(self.header.nanos_at(ticks))
    }

    /// The length of a number of ticks. Saturates at the ends of the `i64` range.
    pub fn span(&self, ticks: i64) -> Nanos {
        Nanos(self.header.span_nanos(ticks))
    }

    /// A timestamp field's value as a moment; `None` when the unit is not one of a moment.
    pub fn timestamp(&self, raw: i64, unit: Unit) -> Option<EpochNanos> {
        match unit {
            Unit::EpochTicks => Some(self.time(raw)),
            Unit::EpochMillis => Some(EpochNanos(raw.saturating_mul(1_000_000))),
            _ => None,
        }
    }

    /// A timespan field's value as a length; `None` when the unit is not one of a length.
    pub fn timespan(&self, raw: i64, unit: Unit) -> Option<Nanos> {
        let factor = match unit {
            Unit::SpanTicks => return Some(self.span(raw)),
            Unit::SpanNanos => 1,
            Unit::SpanMicros => 1_000,
            Unit::SpanMillis => 1_000_000,
            Unit::SpanSeconds => 1_000_000_000,
            _ => return None,
        };
        Some(Nanos(raw.saturating_mul(factor)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jfr_format::header::State;

    fn clock(ticks_per_second: i64) -> Clock {
        Clock::new(Header {
            major: 2,
            minor: 1,
            size: 68,
            checkpoint: 0,
            metadata: 0,
            start_nanos: 1_000,
            duration_nanos: 0,
            start_ticks: 500,
            ticks_per_second,
            state: State::Finished,
            flags: 1,
        })
    }

    #[test]
    fn ticks_convert_with_the_chunks_own_frequency() {
        let clock = clock(2_000_000_000);
        assert_eq!(clock.time(500), EpochNanos(1_000));
        assert_eq!(clock.time(502), EpochNanos(1_001));
        assert_eq!(clock.time(498), EpochNanos(999));
        assert_eq!(clock.span(2_000_000_000), Nanos(1_000_000_000));
    }

    #[test]
    fn units_decide_how_a_number_is_time() {
        let clock = clock(1_000);
        assert_eq!(clock.timespan(3, Unit::SpanMicros), Some(Nanos(3_000)));
        assert_eq!(clock.timespan(3, Unit::SpanTicks), Some(Nanos(3_000_000)));
        assert_eq!(
            clock.timestamp(2, Unit::EpochMillis),
            Some(EpochNanos(2_000_000))
        );
        assert_eq!(clock.timestamp(2, Unit::Bytes), None);
    }

    #[test]
    fn absurd_values_saturate() {
        let clock = clock(1);
        assert_eq!(clock.time(i64::MAX), EpochNanos(i64::MAX));
        assert_eq!(
            clock.timespan(i64::MIN, Unit::SpanSeconds),
            Some(Nanos(i64::MIN))
        );
    }
}
