//! Why a class has no chain, in words.

use crate::model::{NoChain, NoChainState};

/// What it means that nothing strong leads to a class which keeps growing.
pub const NO_STRONG_PATH: &str = "no strong path: a search of the whole heap, from all roots, met no instance; what \
    is left is garbage that no collection has cleared yet, or is held only by what no root enumeration shows, such as \
    a local of an unmounted virtual thread";

/// Why no chain to a class is told: `no strong path: ...` where that is proven, else what kept the search from it.
pub fn no_chain(why: &NoChain) -> String {
    match why.state {
        NoChainState::NoStrongPath => NO_STRONG_PATH.to_owned(),
        NoChainState::PathLost => {
            "no chain was found: instances were met, or the class joined the search late, but no \
            path to one held when it was read again"
                .to_owned()
        }
        NoChainState::NotSearched => "no chain was found: no search has looked for it".to_owned(),
        NoChainState::Incomplete => {
            let gaps: Vec<&str> = why.gaps.iter().map(|gap| meaning(gap)).collect();
            format!(
                "no chain was found, and the search was not complete: {}",
                gaps.join("; ")
            )
        }
    }
}

/// What each gap means; words of other versions as they are.
fn meaning(gap: &str) -> &str {
    match gap {
        "memory-cap" => "its memory (memcap) did not suffice for this heap",
        "frontier-cap" => "the frontier reached its bound (framecap)",
        "truncated" => "something was cut off",
        "roots-skipped" => {
            "locals of frames and JNI references were not looked at, since the stop would have been above stopcap"
        }
        "roots-incomplete" => "not all roots were enumerated",
        "not-drained" => "it ended before it had followed all that it saw",
        "still-running" => "it was still running at the end of the recording",
        "not-told" => "the recording does not tell what it looked at",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(state: NoChainState, gaps: &[&str]) -> NoChain {
        NoChain {
            state,
            gaps: gaps.iter().map(|gap| (*gap).to_owned()).collect(),
            search: Some(1),
        }
    }

    #[test]
    fn only_a_complete_search_proves_that_there_is_no_strong_path() {
        let told = no_chain(&why(NoChainState::NoStrongPath, &[]));
        assert!(told.starts_with("no strong path: "), "{told}");
        assert!(told.contains("unmounted virtual thread"), "{told}");
        for (state, gaps) in [
            (NoChainState::PathLost, &[][..]),
            (NoChainState::NotSearched, &[]),
            (NoChainState::Incomplete, &["memory-cap"]),
        ] {
            let told = no_chain(&why(state, gaps));
            assert!(!told.contains("no strong path"), "{told}");
        }
    }

    #[test]
    fn a_search_that_left_something_out_says_what_and_why() {
        let told = no_chain(&why(
            NoChainState::Incomplete,
            &["memory-cap", "roots-skipped", "a-new-one"],
        ));
        for part in ["memcap", "above stopcap", "; a-new-one"] {
            assert!(told.contains(part), "{told}");
        }
    }
}
