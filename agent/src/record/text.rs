//! Names of the core's states in events, and sentences.

use chain_core::Millis;
use chain_core::input::Refusal;
use chain_core::record::{CandidateState, Decision, LeakCandidate};
use chain_core::walk::RootOutcome;

/// A candidate's state.
#[must_use]
pub fn state_name(state: CandidateState) -> &'static str {
    match state {
        CandidateState::Filling => "filling",
        CandidateState::Flat => "flat",
        CandidateState::Rising => "rising",
        CandidateState::NoThread => "no-thread",
        CandidateState::Plateau => "plateau",
        CandidateState::Outranked => "outranked",
        CandidateState::Qualified => "qualified",
        CandidateState::Gone => "gone",
    }
}

/// What the engine decided.
#[must_use]
pub fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Idle => "idle",
        Decision::Sweep => "sweep",
        Decision::Run => "run",
        Decision::RunRoots => "run-roots",
        Decision::Release => "release",
        Decision::Reverify => "reverify",
        Decision::GateRefused => "gate-refused",
        Decision::Spacing => "spacing",
        Decision::CpuDebt => "cpu-debt",
        Decision::CpuCap => "cpu-cap",
        Decision::Backoff => "backoff",
        Decision::StopWindow => "stop-window",
        Decision::RootInterval => "root-interval",
        Decision::Cadence => "cadence",
        Decision::Stopped => "stopped",
    }
}

/// How root enumeration ended.
pub(super) fn root_outcome_name(outcome: RootOutcome) -> &'static str {
    match outcome {
        RootOutcome::NotRun => "not-run",
        RootOutcome::CompleteAtSystemClass => "complete-at-system-class",
        RootOutcome::CompleteAtEnd => "complete-at-end",
        RootOutcome::Truncated => "truncated",
        RootOutcome::Error => "error",
        RootOutcome::Skipped => "skipped",
    }
}

/// Why sampling is not to be had, as a sentence.
#[must_use]
pub fn refusal_text(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::HeldByAnotherAgent => {
            "another agent in this JVM holds the allocation sampler, which only one can have (a profiler in allocation mode, or a second copy of this library); this agent stays idle"
        }
        Refusal::NotOffered => "this JVM offers no allocation sampler; the agent stays idle",
        Refusal::Error => "the JVM refused to start the allocation sampler; the agent stays idle",
    }
}

/// `7 of 10 values, 2 of 5 folds, earliest signal in about 6 min`.
#[must_use]
pub fn progress(candidate: &LeakCandidate) -> String {
    let LeakCandidate {
        values,
        values_needed,
        folds,
        folds_needed,
        ..
    } = candidate;
    let mut text = format!("{values} of {values_needed} values, {folds} of {folds_needed} folds");
    if let Some(earliest) = candidate.earliest {
        text.push_str(", earliest signal in about ");
        text.push_str(&about(earliest));
    }
    text
}

fn about(span: Millis) -> String {
    let seconds = span.0.div_ceil(1_000);
    match seconds {
        0..=90 => format!("{seconds} s"),
        91..=5_400 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3_600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_how_far_a_class_is_from_the_signal() {
        let mut candidate = LeakCandidate {
            values: 7,
            values_needed: 10,
            folds: 2,
            folds_needed: 5,
            earliest: Some(Millis(340_000)),
            ..LeakCandidate::default()
        };
        assert_eq!(
            progress(&candidate),
            "7 of 10 values, 2 of 5 folds, earliest signal in about 6 min"
        );
        candidate.earliest = None;
        assert_eq!(progress(&candidate), "7 of 10 values, 2 of 5 folds");
    }

    #[test]
    fn spans_are_told_in_the_unit_that_fits() {
        assert_eq!(about(Millis(89_001)), "90 s");
        assert_eq!(about(Millis(91_000)), "2 min");
        assert_eq!(about(Millis(7_200_000)), "2 h");
    }
}
