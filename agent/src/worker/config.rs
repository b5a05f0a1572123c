//! The core's configuration from the agent's options and the machine.

use chain_core::config::{Config, Machine, Track as CoreTrack, WalkEngine as CoreEngine};
use chain_core::input::Refusal;
use chain_core::{Bytes, Millis};

use crate::jvm::beans::GcReader;
use crate::jvm::env::raw_jvmti::jvmtiError;
use crate::jvm::env::{Jni, JvmError, Jvmti};
use crate::jvm::walk::Recognise;
use crate::options::{Options, Track, Visited, WalkEngine};

/// The core's configuration; what the user left unset stays unset, since the core tunes it.
pub(super) fn core_config(options: &Options, machine: Machine) -> Config {
    let millis = |duration: std::time::Duration| {
        Millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    };
    Config {
        track: match options.track {
            Track::Generations => CoreTrack::Generations,
            Track::LiveHeap => CoreTrack::LiveHeap,
        },
        chains: Some(options.chains),
        interval: Some(Bytes(options.interval_bytes.into())),
        live_ratio: Some(options.live_ratio),
        walk: match options.walk {
            WalkEngine::Concurrent => CoreEngine::Concurrent,
            WalkEngine::Safepoint => CoreEngine::Safepoint,
        },
        memcap: options.memcap_bytes.map(Bytes),
        framecap: options
            .framecap_given
            .then(|| options.framecap_entries.into()),
        hops: Some(options.hops),
        budget: options.budget_edges.map(u64::from),
        first_pass_budget: options.first_pass_budget_edges.map(u64::from),
        ttl: options.ttl.map(millis),
        pause_target: Some(millis(options.pause_target)),
        pain_budget: options.pain_budget_percent,
        stop_cap: Some(millis(options.stop_cap)),
        cpu_cap: Some(options.cpu_cap_percent.into()),
        machine,
        ..Config::default()
    }
}

/// How the concurrent engine recognises what it has seen. Hashes were the better choice on every JDK and collector
/// that was measured: see `docs/walk.md`.
pub(super) fn recognise(visited: Visited) -> Recognise {
    match visited {
        Visited::Auto | Visited::Hash => Recognise::Hash,
        Visited::Tags => Recognise::Tags,
    }
}

/// What unset options are tuned to.
pub(super) fn machine(jvmti: Jvmti, gc: &GcReader, jni: &Jni<'_>) -> Machine {
    Machine {
        max_heap: gc.max_heap(jni),
        cpus: jvmti.processors().unwrap_or(1).max(1),
        collector: gc.collector(),
        jdk: jvmti.version().map_or(0, |(major, _)| major),
        gc_beans: gc.has_beans(),
    }
}

/// Why the sampler could not be started.
pub(super) fn refusal(error: JvmError) -> Refusal {
    match error.jvmti_code() {
        Some(code) if code == jvmtiError::NOT_AVAILABLE => Refusal::HeldByAnotherAgent,
        Some(_) => Refusal::Error,
        None => Refusal::NotOffered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unset_options_stay_unset_for_the_core_to_tune() {
        let config = core_config(&Options::default(), Machine::default());
        assert_eq!(
            (config.budget, config.ttl, config.memcap, config.framecap),
            (None, None, None, None)
        );
        assert_eq!(config.pain_budget, None);
        assert_eq!(config.interval, Some(Bytes(524_287)));
        assert_eq!(config.chains, Some(true));
    }

    #[test]
    fn an_exclusive_capability_that_is_gone_means_another_agent_has_it() {
        assert_eq!(
            refusal(JvmError::Jvmti(
                "AddCapabilities",
                jvmtiError::NOT_AVAILABLE
            )),
            Refusal::HeldByAnotherAgent
        );
        assert_eq!(
            refusal(JvmError::Jvmti("AddCapabilities", jvmtiError::INTERNAL)),
            Refusal::Error
        );
        assert_eq!(
            refusal(JvmError::Missing("SetHeapSamplingInterval")),
            Refusal::NotOffered
        );
    }
}
