//! How far a class is from the signal.

use chain_core::record::{CandidateState, LeakCandidate as Candidate};
use jfr_format::schema::Name;
use jfr_format::schema::events::LeakCandidate;

use super::text::{progress, state_name};
use super::{Lookup, Mapper, bytes, growth, int, long, millis};

impl Mapper<'_> {
    pub(super) fn leak_candidate(&mut self, c: &Candidate, lookup: &impl Lookup) -> LeakCandidate {
        if c.state == CandidateState::Qualified {
            self.candidates.insert(c.class, !c.unconfirmed);
        } else {
            self.candidates.remove(&c.class);
        }
        let origin = lookup.origin(c.class);
        let threads: Vec<String> = c
            .threads
            .iter()
            .map(|thread| self.names.threads.name(*thread).as_ref().to_owned())
            .collect();
        let first = c
            .threads
            .as_slice()
            .first()
            .copied()
            .or(origin.map(|origin| origin.thread));
        LeakCandidate {
            class: self.class(c.class),
            class_name: self.class_name(c.class).into(),
            state: Name::of(state_name(c.state)),
            progress: progress(c),
            confirmed: !c.unconfirmed,
            epoch: long(c.epoch.0),
            values: int(c.values.into()),
            values_needed: int(c.values_needed.into()),
            folds: int(c.folds.into()),
            folds_needed: int(c.folds_needed.into()),
            earliest_signal: c.earliest.map(millis),
            fitted_start: c.fitted_start,
            fitted_end: c.fitted_end,
            threads: int(c.threads.len() as u64),
            thread: first.and_then(|thread| self.thread(thread)),
            thread_names: threads.join(", ").into(),
            survivors: i64::from(c.survivors),
            retained_sampled_bytes: bytes(c.retained),
            growth_per_hour: c.growth_per_hour.map(growth),
            allocation_stack_trace: origin.and_then(|origin| self.trace(origin.trace)),
        }
    }
}
