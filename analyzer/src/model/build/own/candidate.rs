//! Watched classes: what the newest event of a class says.

use jfr_format::schema::events as own;

use super::super::series::Series;
use super::super::source::{self, bytes, count, nanos};
use super::{per_hour, thread_name};
use crate::model::{AgePoint, Candidate, Progress};

/// The newest event of a class, and what earlier ones add to it.
#[derive(Debug, Default, Clone)]
pub struct CandidateFacts {
    pub(super) last: own::LeakCandidate,
    pub(super) ever_qualified: bool,
    pub(super) ages: Series<AgePoint>,
}

/// Whether the class met the bar of the signal, chosen or not.
pub fn qualifies(candidate: &own::LeakCandidate) -> bool {
    matches!(&*candidate.state, "qualified" | "outranked")
}

/// The class as the report has it.
pub fn own_candidate(class: String, facts: CandidateFacts) -> Candidate {
    let last = facts.last;
    let noise = crate::model::noise::of_class(&class);
    Candidate {
        discounted: None,
        class,
        qualifying: qualifies(&last),
        ever_qualified: facts.ever_qualified,
        state: Some(last.state.to_string()).filter(|state| !state.is_empty()),
        confirmed: Some(last.confirmed),
        values: Some(Progress {
            have: count(last.values),
            need: count(last.values_needed),
        }),
        folds: Some(Progress {
            have: count(last.folds),
            need: count(last.folds_needed),
        }),
        ages: last.fitted_end,
        fitted_growth: last
            .fitted_end
            .zip(last.fitted_start)
            .map(|(end, start)| end - start),
        instances: Some(count(last.survivors)),
        retained_sampled_bytes: Some(bytes(last.retained_sampled_bytes)),
        growth_bytes_per_hour: last.growth_per_hour.map(per_hour),
        earliest_signal_ns: last.earliest_signal.map(nanos),
        thread: thread_name(&last.thread_names, last.thread.as_deref()),
        stack: source::own_frames(last.allocation_stack_trace.as_deref()),
        chains: Vec::new(),
        no_chain: None,
        noise,
        series: facts.ages.into_vec(),
    }
}
