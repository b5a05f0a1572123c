//! The AgentStatus event and the text of a status answer.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use chain_core::record::CostBudget;
use jfr_format::schema::events::AgentStatus;
use jfr_format::schema::{Bytes, Name, Nanos};

use super::Worker;
use crate::gc;
use crate::handles::Tracked;
use crate::jvm::beans::GcReader;
use crate::jvm::env::{JvmError, Jvmti, Weak};
use crate::options::Options;
use crate::record;

/// What does not change while the agent works.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    jvm: String,
    collector: &'static str,
    epoch_source: String,
    engine: &'static str,
    options: String,
    /// (code, sentence) of what is missing in this JVM.
    pub(super) degradations: Vec<(&'static str, String)>,
}

impl Facts {
    pub(super) fn collect(
        jvmti: Jvmti,
        gc: &GcReader,
        options: &Options,
        beans_error: Option<JvmError>,
    ) -> Self {
        let property = |name| jvmti.system_property(name).unwrap_or_default();
        let collector = gc.collector();
        let mut degradations = Vec::new();
        let epoch_source = match beans_error {
            None => "collection counts".to_owned(),
            Some(error) => {
                let divisor = chain_core::collector::callback_divisor(collector);
                degradations.push((
                    "no-management",
                    format!(
                        "java.management is not in this JVM ({error}): epochs are GC callbacks divided by {divisor}, heap use is approximate"
                    ),
                ));
                format!("GC callbacks divided by {divisor}")
            }
        };
        if collector == chain_core::config::Collector::GenZgc {
            degradations.push((
                "generational-zgc",
                "generational ZGC clears weak references in major collections only: a signal needs 14 majors".to_owned(),
            ));
        }
        Self {
            jvm: format!(
                "{} {}",
                property(c"java.vm.name"),
                property(c"java.vm.version")
            )
            .trim()
            .to_owned(),
            collector: gc::name(collector),
            epoch_source,
            engine: "concurrent",
            options: describe(options),
            degradations,
        }
    }

    pub(super) fn summary(&self) -> String {
        format!(
            "{}, {} collector, epochs from {}",
            self.jvm, self.collector, self.epoch_source
        )
    }
}

/// The options in force, as they could be given.
fn describe(o: &Options) -> String {
    let mut text = format!(
        "track={},chains={},interval={},live-ratio={},depth={},walk={},pausetarget={}ms,stopcap={}ms,cpucap={}",
        match o.track {
            crate::options::Track::Generations => "generations",
            crate::options::Track::LiveHeap => "liveheap",
        },
        if o.chains { "on" } else { "off" },
        o.interval_bytes,
        o.live_ratio,
        o.depth_frames,
        match o.walk {
            crate::options::WalkEngine::Concurrent => "concurrent",
            crate::options::WalkEngine::Safepoint => "safepoint",
        },
        o.pause_target.as_millis(),
        o.stop_cap.as_millis(),
        o.cpu_cap_percent,
    );
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = write!(text, ",{name}={value}");
        }
    };
    add("memcap", o.memcap_bytes.map(|bytes| bytes.to_string()));
    add(
        "framecap",
        o.framecap_given.then(|| o.framecap_entries.to_string()),
    );
    add("hops", Some(o.hops.to_string()));
    add("budget", o.budget_edges.map(|edges| edges.to_string()));
    add(
        "firstpassbudget",
        o.first_pass_budget_edges.map(|edges| edges.to_string()),
    );
    add("ttl", o.ttl.map(|ttl| format!("{}ms", ttl.as_millis())));
    add(
        "painbudget",
        o.pain_budget_percent.map(|percent| percent.to_string()),
    );
    add(
        "duration",
        o.duration
            .map(|duration| format!("{}ms", duration.as_millis())),
    );
    add(
        "maxsize",
        o.file
            .as_ref()
            .map(|_| o.max_size_bytes.unwrap_or(0).to_string()),
    );
    add("file", o.file.clone());
    text
}

/// Both cost budgets, the window of heap-walk calls, and what was decided with them.
fn budgets(b: &CostBudget) -> String {
    format!(
        "budgets safepoint {:.0} ms ({:.1}% refill), cpu {:.0} ms ({:.1}% refill), stop window {} of {} ms, {} edges a pass, decision {}",
        b.safepoint_balance,
        b.safepoint_rate * 100.0,
        b.cpu_balance,
        b.cpu_rate * 100.0,
        b.stop_window.0 / 1_000,
        b.stop_cap.0,
        b.edge_budget,
        record::decision_name(b.decision)
    )
}

fn long(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Worker {
    fn state(&self) -> &'static str {
        if self.sampler != super::Sampler::On {
            "idle"
        } else if self.counters.searching {
            "searching"
        } else {
            "tracking"
        }
    }

    pub(super) fn status_event(
        &self,
        code: &'static str,
        severity: &'static str,
        message: &str,
    ) -> AgentStatus {
        let sampling = &self.agent.sampling;
        let (seen, queued, lost) = (
            sampling.seen.load(Ordering::Relaxed),
            sampling.queued.load(Ordering::Relaxed),
            sampling.lost.load(Ordering::Relaxed),
        );
        let drops = &self.counters.core;
        let file = self
            .session
            .file
            .as_ref()
            .map(crate::output::FileOutput::counters)
            .unwrap_or_default();
        let joined = self
            .recordings
            .as_ref()
            .map(crate::recordings::Recordings::counters)
            .unwrap_or_default();
        AgentStatus {
            code: Name::of(code),
            severity: Name::of(severity),
            message: message.to_owned(),
            version: Name::of(env!("CARGO_PKG_VERSION")),
            options: Some(self.facts.options.clone().into()),
            jvm: Some(self.facts.jvm.clone().into()),
            collector: Some(Name::of(self.facts.collector)),
            epoch_source: Some(self.facts.epoch_source.clone().into()),
            engine: Some(Name::of(self.facts.engine)),
            state: Some(Name::of(if code == "stopped" {
                "stopped"
            } else {
                self.state()
            })),
            uptime: Nanos(
                i64::try_from(self.agent.origin.elapsed().as_nanos()).unwrap_or(i64::MAX),
            ),
            epoch: long(self.epoch.0),
            gc_callbacks: long(self.callbacks()),
            samples: long(seen),
            samples_rejected: long(seen.saturating_sub(queued).saturating_sub(lost)),
            queue_dropped: long(lost),
            table_entries: long(self.handles.len() as u64),
            table_capacity: long(self.engine.tuned().table_max),
            table_dropped: long(drops.samples),
            reservoir_dropped: long(drops.reservoir),
            classes_dropped: long(drops.classes),
            searches: long(self.mapper.searches),
            chains: long(self.mapper.chains_recorded),
            chains_dropped: long(drops.chains),
            abandonments_dropped: long(drops.abandonments),
            records_dropped: long(drops.records),
            journal_dropped: long(drops.journal),
            events_written: long(file.events_written.saturating_add(joined.committed)),
            events_dropped: long(file.events_dropped.saturating_add(joined.dropped)),
            bytes_written: Bytes::from(file.bytes_written),
            tag_release_failures: long(drops.tag_release_failures),
            urgent_boost_backed_off: long(drops.urgent_boost_backed_off),
            urgent_boost_admits: long(drops.urgent_boost_admits),
            urgent_no_candidate: long(drops.urgent_no_candidate),
            native_memory: Some(Bytes::from(self.native_bytes())),
        }
    }

    /// Bytes that the agent can account for: handles, the queue, and the search after its last pass.
    fn native_bytes(&self) -> u64 {
        let slot = size_of::<Option<Tracked<Weak>>>() as u64;
        let queue = crate::agent::QUEUE_PLACES as u64 * (crate::queue::WORDS as u64 + 1) * 8;
        let search = self.mapper.search_bytes();
        (self.handles.slots() as u64)
            .saturating_mul(slot)
            .saturating_add(queue)
            .saturating_add(search)
    }

    /// The answer to a status question: one fact a line.
    pub(super) fn status_text(&self) -> String {
        let status = self.status_event("periodic", "info", "");
        let mut text = String::new();
        let _ = writeln!(
            text,
            "state {}, epoch {}, {} samples, {} tracked, {} searches, {} chains",
            status.state.as_deref().unwrap_or("unknown"),
            status.epoch,
            status.samples,
            status.table_entries,
            status.searches,
            status.chains
        );
        let _ = writeln!(text, "jvm {}", self.facts.summary());
        let _ = writeln!(text, "options {}", self.facts.options);
        for (_, sentence) in &self.facts.degradations {
            let _ = writeln!(text, "degraded {sentence}");
        }
        if let Some(file) = &self.session.file {
            let _ = writeln!(text, "file {}", file.path().display());
        }
        let refusals = &self.counters.refusals;
        let _ = writeln!(
            text,
            "gates safepoint-debt {} root-interval {} not-armed {} no-candidate {} spacing {} cpu-debt {} cpu-cap {} backoff {} stop-window {}",
            refusals.safepoint_debt,
            refusals.root_interval,
            refusals.not_armed,
            refusals.no_candidate,
            refusals.spacing,
            refusals.cpu_debt,
            refusals.cpu_cap,
            refusals.backoff,
            refusals.stop_window
        );
        let budgets = self.counters.budget.as_ref().map(budgets);
        let untouched = || "budgets untouched: nothing was decided yet".to_owned();
        let _ = writeln!(text, "{}", budgets.unwrap_or_else(untouched));
        let _ = writeln!(
            text,
            "dropped queue {} table {} classes {} chains {} records {}",
            status.queue_dropped,
            status.table_dropped,
            status.classes_dropped,
            status.chains_dropped,
            status.records_dropped
        );
        for candidate in self.counters.candidates.values() {
            let _ = writeln!(text, "class {candidate}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chain_core::{Micros, Millis};

    #[test]
    fn budgets_are_told_in_one_line() {
        let budget = CostBudget {
            safepoint_balance: 120.4,
            safepoint_rate: 0.01,
            cpu_balance: -3.0,
            cpu_rate: 0.02,
            stop_window: Micros(12_500),
            stop_cap: Millis(500),
            edge_budget: 1_000,
            ..CostBudget::default()
        };
        assert_eq!(
            budgets(&budget),
            "budgets safepoint 120 ms (1.0% refill), cpu -3 ms (2.0% refill), stop window 12 of 500 ms, 1000 edges a pass, decision idle"
        );
    }
}
