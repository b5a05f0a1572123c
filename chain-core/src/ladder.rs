//! Terminal states of a search: a ladder, first match wins.

use crate::record::{Outcome, Reason};
use crate::tick::Millis;
use crate::tuning;

/// What the ladder looks at after a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The frontier's cap was hit.
    pub frontier_cap_hit: bool,
    /// Root-enumeration JVMTI errors in a row.
    pub root_errors: u32,
    /// Nothing is left to expand.
    pub drained: bool,
    /// Something was cut and will not be looked at again.
    pub truncated: bool,
    /// Roots, statics and threads were all enumerated (or the roots skipped, and said).
    pub roots_complete: bool,
    /// Those without a resolved chain.
    pub unresolved: u32,
    /// Those without any chain.
    pub lost: u32,
    /// Time to live; zero = off.
    pub ttl: Millis,
    /// Time since the TTL's start; `None` while it has not begun.
    pub elapsed: Option<Millis>,
    /// The OOM latch.
    pub urgent: bool,
    /// Stalled passes that count against ordinary progress.
    pub stalled: u32,
    /// Stalled passes in a row, held by nothing.
    pub stalled_raw: u32,
    /// Passes in a row without candidate progress.
    pub without_progress: u32,
    /// Searches in a row that ended stuck.
    pub stuck_searches: u32,
    /// NoProgress and CandidateLost have names of their own.
    pub distinct_reasons: bool,
}

/// The terminal state that follows from `p`, or none: the search goes on.
pub fn outcome(p: &Progress) -> Option<Outcome> {
    let abandoned = |r| Some(Outcome::Abandoned(r));
    if p.frontier_cap_hit {
        return abandoned(Reason::FrontierCap);
    }
    if p.root_errors >= tuning::ROOT_ERRORS {
        return abandoned(Reason::RootEnumerationError);
    }
    if p.drained && !p.truncated && p.roots_complete {
        let lost = Outcome::Abandoned(Reason::CandidateLost);
        return Some(if p.lost > 0 && p.distinct_reasons {
            lost
        } else {
            Outcome::Completed
        });
    }
    if p.ttl.0 > 0 && p.roots_complete && p.elapsed.is_some_and(|e| e >= p.ttl) {
        return abandoned(Reason::Ttl);
    }
    if p.stalled >= tuning::STALLED_PASSES && !p.urgent && p.roots_complete {
        return abandoned(if p.distinct_reasons {
            Reason::NoProgress
        } else {
            Reason::CanaryStuck
        });
    }
    if p.unresolved == 0 {
        return Some(Outcome::Completed);
    }
    let patience = tuning::STALLED_PASSES << p.stuck_searches.min(tuning::STUCK_SHIFT_MAX);
    if p.stalled_raw >= tuning::STALLED_PASSES && p.without_progress >= patience {
        return abandoned(Reason::CanaryStuck);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Progress {
        Progress {
            unresolved: 1,
            lost: 1,
            distinct_reasons: true,
            ttl: Millis(60_000),
            ..Progress::default()
        }
    }

    fn abandoned(p: Progress) -> Reason {
        match outcome(&p) {
            Some(Outcome::Abandoned(r)) => r,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_search_in_progress_goes_on() {
        assert_eq!(outcome(&running()), None);
    }

    #[test]
    fn frontier_cap_wins_over_everything() {
        let p = Progress {
            frontier_cap_hit: true,
            root_errors: 3,
            drained: true,
            unresolved: 0,
            ..running()
        };
        assert_eq!(abandoned(p), Reason::FrontierCap);
    }

    #[test]
    fn three_root_errors_in_a_row_abandon() {
        assert_eq!(
            outcome(&Progress {
                root_errors: 2,
                ..running()
            }),
            None
        );
        assert_eq!(
            abandoned(Progress {
                root_errors: 3,
                unresolved: 0,
                ..running()
            }),
            Reason::RootEnumerationError
        );
    }

    #[test]
    fn drained_without_a_watched_class_completes() {
        let p = Progress {
            drained: true,
            roots_complete: true,
            unresolved: 0,
            lost: 0,
            ..running()
        };
        assert_eq!(outcome(&p), Some(Outcome::Completed));
        // Nothing to look for is all resolved, drained or not.
        assert_eq!(
            outcome(&Progress {
                drained: false,
                ..p
            }),
            Some(Outcome::Completed)
        );
    }

    #[test]
    fn a_watched_class_without_a_chain_is_lost_when_all_was_looked_at() {
        let p = Progress {
            drained: true,
            roots_complete: true,
            ..running()
        };
        assert_eq!(abandoned(p), Reason::CandidateLost);
        assert_eq!(
            outcome(&Progress {
                distinct_reasons: false,
                ..p
            }),
            Some(Outcome::Completed)
        );
        assert_eq!(
            outcome(&Progress {
                truncated: true,
                ..p
            }),
            None
        );
    }

    #[test]
    fn ttl_is_deferred_while_root_enumeration_is_incomplete() {
        let p = Progress {
            elapsed: Some(Millis(60_000)),
            ..running()
        };
        assert_eq!(outcome(&p), None);
        assert_eq!(
            abandoned(Progress {
                roots_complete: true,
                ..p
            }),
            Reason::Ttl
        );
        assert_eq!(
            outcome(&Progress {
                roots_complete: true,
                elapsed: Some(Millis(59_999)),
                ..p
            }),
            None
        );
        assert_eq!(
            outcome(&Progress {
                roots_complete: true,
                ttl: Millis(0),
                ..p
            }),
            None
        );
        assert_eq!(
            outcome(&Progress {
                roots_complete: true,
                elapsed: None,
                ..p
            }),
            None
        );
    }

    #[test]
    fn thirty_passes_without_growth_abandon_unless_urgent_or_roots_incomplete() {
        let p = Progress {
            stalled: 30,
            roots_complete: true,
            ..running()
        };
        assert_eq!(abandoned(p), Reason::NoProgress);
        assert_eq!(
            abandoned(Progress {
                distinct_reasons: false,
                ..p
            }),
            Reason::CanaryStuck
        );
        assert_eq!(outcome(&Progress { stalled: 29, ..p }), None);
        assert_eq!(outcome(&Progress { urgent: true, ..p }), None);
        assert_eq!(
            outcome(&Progress {
                roots_complete: false,
                ..p
            }),
            None
        );
    }

    #[test]
    fn all_resolved_completes_after_ttl_and_no_progress_had_their_say() {
        let p = Progress {
            unresolved: 0,
            ..running()
        };
        assert_eq!(outcome(&p), Some(Outcome::Completed));
        assert_eq!(
            abandoned(Progress {
                stalled: 30,
                roots_complete: true,
                ..p
            }),
            Reason::NoProgress
        );
    }

    #[test]
    fn a_stuck_canary_has_thirty_passes_doubled_by_each_stuck_search() {
        let p = Progress {
            stalled_raw: 30,
            without_progress: 30,
            ..running()
        };
        assert_eq!(abandoned(p), Reason::CanaryStuck);
        assert_eq!(
            outcome(&Progress {
                stalled_raw: 29,
                ..p
            }),
            None
        );
        assert_eq!(
            outcome(&Progress {
                without_progress: 29,
                ..p
            }),
            None
        );
        assert_eq!(
            outcome(&Progress {
                stuck_searches: 1,
                without_progress: 59,
                ..p
            }),
            None
        );
        assert_eq!(
            abandoned(Progress {
                stuck_searches: 1,
                without_progress: 60,
                ..p
            }),
            Reason::CanaryStuck
        );
        let most = 30 << 8;
        assert_eq!(
            abandoned(Progress {
                stuck_searches: 99,
                without_progress: most,
                ..p
            }),
            Reason::CanaryStuck
        );
        assert_eq!(
            outcome(&Progress {
                stuck_searches: 99,
                without_progress: most - 1,
                ..p
            }),
            None
        );
    }

    #[test]
    fn the_stuck_canary_fires_when_incomplete_roots_or_urgency_suppress_no_progress() {
        let p = Progress {
            stalled: 30,
            stalled_raw: 30,
            without_progress: 30,
            urgent: true,
            ..running()
        };
        assert_eq!(abandoned(p), Reason::CanaryStuck);
    }
}
