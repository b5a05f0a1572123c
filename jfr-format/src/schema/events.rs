//! The event types. A new figure of a decision is one line here and nowhere else.
//!
//! Terms are those of the specification: epoch, fold, pass, search, heap-walk-call time (time
//! around heap-walk calls, no measurement of application pauses) and manual-walk time (a pass's
//! wall time minus that, no measurement of CPU).

use super::declare::declare_events;
use super::event_enum::declare_any_event;
use super::{
    Bytes, EpochMillis, Event, EventSchema, FieldSink, FieldSource, FieldSpec, FieldType, Nanos,
    Share,
};
use crate::entity::{ClassInfo, StackInfo, ThreadInfo};
use std::sync::Arc;

declare_events! {
    ReferenceChain, "Reference Chain", "An observed path from a GC root to an object of a leak candidate" {
        chain: i64 = "chain", "Chain", "Number of the chain within the process; the same when it is recorded again";
        search: i64 = "search", "Search", "Number of the search that found it";
        signature: String = "signature", "Signature", "Fingerprint without indices: the same leak in another run has the same one";
        root_kind: String = "rootKind", "Root Kind", "Where the GC root lives";
        root_description: Option<String> = "rootDescription", "Root Description", "The GC root in words";
        candidate_class: Option<Arc<ClassInfo>> = "candidateClass", "Candidate Class", "Class whose growth started the search";
        leaf_class: Option<Arc<ClassInfo>> = "leafClass", "Leaf Class", "First application class below the growing container";
        allocating_thread: Option<Arc<ThreadInfo>> = "allocatingThread", "Allocating Thread", "Thread that allocated the sampled object";
        allocation_stack_trace: Option<Arc<StackInfo>> = "allocationStackTrace", "Allocation Stack Trace", "Where the sampled object was allocated";
        strength: String = "strength", "Strength", "Weakest reference on the path: strong, soft, weak, or transient for a passing root";
        depth: i32 = "depth", "Depth", "Hops, each run of the same class and edge counted once";
        total_hops: i64 = "totalHops", "Total Hops", "Hops, runs counted in full";
        container_hop: Option<i32> = "containerHop", "Container Hop", "Index of the hop that is the growing container, from the root";
        age: i32 = "age", "Age", "Age of the sampled object in epochs";
        instances: i64 = "instances", "Instances", "Instances reached along paths of this signature";
        share: Option<Share> = "share", "Share", "Share of the candidate's reached instances that this signature holds";
        coverage: Option<Share> = "coverage", "Coverage", "Share of the heap that the search looked at, estimated";
        retained_sampled_bytes: Bytes = "retainedSampledBytes", "Retained Sampled Bytes", "Estimated bytes of the candidate's surviving samples";
        growth_per_hour: Option<Bytes> = "growthPerHour", "Growth per Hour", "Fitted growth of the retained sampled bytes in an hour";
        confirmed: bool = "confirmed", "Confirmed", "Whether a collection that clears old garbage ran since the candidate qualified";
        provisional: bool = "provisional", "Provisional", "Whether a stronger chain may still replace it";
        recorded_before: bool = "recordedBefore", "Recorded Before", "Whether this is a repetition of a chain that was verified again";
        first_seen: EpochMillis = "firstSeen", "First Seen", "When the chain was found";
        last_verified: EpochMillis = "lastVerified", "Last Verified", "When its references were last read again";
        path: String = "path", "Path", "The whole chain as text, root first";
    }

    Hop, "Reference Chain Hop", "One hop of a reference chain" {
        chain: i64 = "chain", "Chain", "Number of the chain within the process";
        index: i32 = "index", "Index", "Position from the root, starting at 0";
        class: Option<Arc<ClassInfo>> = "referentClass", "Class", "Class of the object that this hop reaches";
        class_name: String = "className", "Class Name", "Name of that class";
        edge_kind: String = "edgeKind", "Edge Kind", "How the holder refers to it: field, array, static ...";
        edge_name: Option<String> = "edgeName", "Edge Name", "Name of the field";
        array_index: Option<i32> = "arrayIndex", "Array Index", "Index in the holding array";
        array_size: Option<i32> = "arraySize", "Array Size", "Length of the holding array";
        run: i32 = "run", "Run", "Consecutive hops of this class and edge that this one stands for";
    }

    SearchPass, "Reference Chain Search Pass", "One slice of walking, with the controller's inputs and decision" {
        search: i64 = "search", "Search", "Number of the search";
        pass: i32 = "pass", "Pass", "Number of the pass in the search, starting at 1";
        engine: String = "engine", "Engine", "Walk engine: concurrent or safepoint";
        phase: String = "phase", "Phase", "What the pass walked: statics, threads, roots, expansion ...";
        root_enumeration: bool = "rootEnumeration", "Root Enumeration", "Whether the pass enumerated the GC roots";
        roots_complete: bool = "rootsComplete", "Roots Complete", "Whether all roots have been enumerated";
        outcome: String = "outcome", "Outcome", "How the pass ended: drained, budget, deadline, aborted, error";
        wall_time: Nanos = "wallTime", "Wall Time", "From the pass's start to its end";
        heap_walk_call_time: Nanos = "heapWalkCallTime", "Heap-Walk-Call Time", "Time around heap-walk calls; no measurement of application pauses";
        manual_walk_time: Nanos = "manualWalkTime", "Manual-Walk Time", "Wall time minus heap-walk-call time; no measurement of CPU";
        thread_cpu_time: Option<Nanos> = "threadCpuTime", "Thread CPU Time", "CPU time of the walking thread";
        edges: i64 = "edges", "Edges", "References looked at";
        admitted: i64 = "admitted", "Admitted", "Objects admitted to the frontier";
        new_objects: i64 = "newObjects", "New Objects", "Objects visited for the first time";
        visited_objects: i64 = "visitedObjects", "Visited Objects", "Objects visited by the search so far";
        frontier_entries: i64 = "frontierEntries", "Frontier Entries", "Admitted and not yet expanded after the pass";
        frontier_dead: i64 = "frontierDead", "Dead Frontier Entries", "Entries dropped because their object was collected";
        memory: Bytes = "memory", "Memory", "Native memory of visited set and frontier";
        base_edge_budget: i64 = "baseEdgeBudget", "Base Edge Budget", "Configured admissions of a pass";
        edge_budget_ceiling: i64 = "edgeBudgetCeiling", "Edge Budget Ceiling", "Base plus borrowed";
        edge_budget: i64 = "edgeBudget", "Effective Edge Budget", "Admissions that the controller allowed";
        next_edge_budget: i64 = "nextEdgeBudget", "Next Edge Budget", "Admissions that the controller allows after this pass";
        pause_target: Nanos = "pauseTarget", "Pause Target", "The controller's target for the heap-walk-call time";
        controller_fed: bool = "controllerFed", "Controller Fed", "Whether the pass moved the controller";
        controller_error: Option<f64> = "controllerError", "Controller Error", "Target minus measured, ms";
        controller_integral: Option<f64> = "controllerIntegral", "Controller Integral", "Integral term, ms";
        controller_derivative: Option<f64> = "controllerDerivative", "Controller Derivative", "Filtered derivative term, ms";
        controller_signal: Option<f64> = "controllerSignal", "Controller Signal", "Change of the edge budget before clamping, edges";
        comfortable_passes: i32 = "comfortablePasses", "Comfortable Passes", "Consecutive passes at half the target or less";
        borrowed: i64 = "borrowed", "Borrowed", "Admissions borrowed on top of the base";
        cadence: Nanos = "cadence", "Cadence", "Effective cadence before the pass";
        next_cadence: Nanos = "nextCadence", "Next Cadence", "Effective cadence after the pass";
        candidate_progress: bool = "candidateProgress", "Candidate Progress", "Whether a candidate was found or resolved";
        candidates: i32 = "candidates", "Candidates", "Watched candidates";
        unresolved: i32 = "unresolved", "Unresolved", "Candidates that are not resolved after the pass";
        backoff_multiplier: i32 = "backoffMultiplier", "Backoff Multiplier", "Candidate backoff after the pass";
        backoff_average: Nanos = "backoffAverage", "Backoff Average", "Moving average of candidate pass durations";
        stalled_passes: i32 = "stalledPasses", "Stalled Passes", "Consecutive passes without frontier growth or new objects";
    }

    SearchCompleted, "Reference Chain Search Completed", "A search that ended by itself" {
        search: i64 = "search", "Search", "Number of the search";
        reason: String = "reason", "Reason", "Why it is complete: resolved or drained";
        passes: i32 = "passes", "Passes", "Passes made";
        elapsed: Nanos = "elapsed", "Elapsed", "From the search's start to its end";
        heap_walk_call_time: Nanos = "heapWalkCallTime", "Heap-Walk-Call Time", "Sum over its passes; no measurement of application pauses";
        manual_walk_time: Nanos = "manualWalkTime", "Manual-Walk Time", "Sum over its passes; no measurement of CPU";
        thread_cpu_time: Option<Nanos> = "threadCpuTime", "Thread CPU Time", "CPU time of the walking threads";
        root_attempts: i32 = "rootAttempts", "Root Enumerations", "Root enumerations tried";
        candidates: i32 = "candidates", "Candidates", "Watched candidates";
        resolved: i32 = "resolved", "Resolved", "Candidates with a resolved chain";
        chains: i32 = "chains", "Chains", "Chains recorded";
        visited_objects: i64 = "visitedObjects", "Visited Objects", "Objects visited";
        edges: i64 = "edges", "Edges", "References looked at";
        peak_memory: Bytes = "peakMemory", "Peak Memory", "Most native memory of visited set and frontier";
        coverage: Option<Share> = "coverage", "Coverage", "Share of the heap that was looked at, estimated";
        tag_release_failures: i64 = "tagReleaseFailures", "Tag Release Failures", "Tags whose release had to be tried again";
    }

    SearchAbandoned, "Reference Chain Search Abandoned", "A search that was given up, with the figures that explain it" {
        search: i64 = "search", "Search", "Number of the search";
        reason: String = "reason", "Reason", "Which rule ended it";
        detail: Option<String> = "detail", "Detail", "The reason in words";
        passes: i32 = "passes", "Passes", "Passes made";
        elapsed: Nanos = "elapsed", "Elapsed", "From the search's start to its end";
        ttl: Option<Nanos> = "ttl", "Time to Live", "Configured or computed limit, none when off";
        ttl_elapsed: Option<Nanos> = "ttlElapsed", "Time Lived", "Time that counted against it";
        urgent: bool = "urgent", "Urgent", "Whether the urgent latch was set";
        roots_complete: bool = "rootsComplete", "Roots Complete", "Whether all roots were enumerated";
        root_attempts: i32 = "rootAttempts", "Root Enumerations", "Root enumerations tried";
        root_errors: i32 = "rootErrors", "Root Enumeration Errors", "Consecutive root enumerations that failed";
        last_error: Option<i32> = "lastError", "Last Error", "Last JVMTI error code";
        passes_without_growth: i32 = "passesWithoutGrowth", "Passes Without Growth", "Consecutive passes without frontier growth";
        stalled_passes: i32 = "stalledPasses", "Stalled Passes", "Consecutive stalled passes";
        passes_without_progress: i32 = "passesWithoutProgress", "Passes Without Progress", "Consecutive passes without candidate progress";
        stuck_searches: i32 = "stuckSearches", "Stuck Searches", "Consecutive searches that ended stuck";
        candidates: i32 = "candidates", "Candidates", "Watched candidates";
        resolved: i32 = "resolved", "Resolved", "Candidates with a resolved chain";
        unresolved: i32 = "unresolved", "Unresolved", "Candidates without one";
        frontier_entries: i64 = "frontierEntries", "Frontier Entries", "Admitted and not yet expanded";
        frontier_cap: Option<i64> = "frontierCap", "Frontier Cap", "Most entries allowed";
        memory: Bytes = "memory", "Memory", "Native memory of visited set and frontier";
        memory_cap: Option<Bytes> = "memoryCap", "Memory Cap", "Most memory allowed";
        visited_objects: i64 = "visitedObjects", "Visited Objects", "Objects visited";
        edges: i64 = "edges", "Edges", "References looked at";
        heap_walk_call_time: Nanos = "heapWalkCallTime", "Heap-Walk-Call Time", "Sum over its passes; no measurement of application pauses";
        manual_walk_time: Nanos = "manualWalkTime", "Manual-Walk Time", "Sum over its passes; no measurement of CPU";
        thread_cpu_time: Option<Nanos> = "threadCpuTime", "Thread CPU Time", "CPU time of the walking threads";
        edge_budget: i64 = "edgeBudget", "Effective Edge Budget", "Admissions allowed a pass at the end";
        cadence: Nanos = "cadence", "Cadence", "Effective cadence at the end";
        coverage: Option<Share> = "coverage", "Coverage", "Share of the heap that was looked at, estimated";
        tag_release_failures: i64 = "tagReleaseFailures", "Tag Release Failures", "Tags whose release had to be tried again";
    }

    CostBudget, "Reference Chain Cost Budget", "A scheduling decision with its inputs; a budget paces, it is no guaranteed quota" {
        search: Option<i64> = "search", "Search", "Number of the running search";
        subject: String = "subject", "Subject", "What was decided: start of a search or a pass of a running one";
        decision: String = "decision", "Decision", "What came out: run, start, wait or refuse";
        gate: Option<String> = "gate", "Gate", "The rule that refused or delayed";
        wait: Option<Nanos> = "wait", "Wait", "Until the decision is looked at again";
        safepoint_balance: Nanos = "safepointBalance", "Safepoint-Cost Balance", "Debt of the safepoint-cost budget";
        safepoint_refill: Share = "safepointRefill", "Safepoint-Cost Refill", "Rate at which that debt drains, of elapsed time";
        cpu_balance: Nanos = "cpuBalance", "CPU-Cost Balance", "Debt of the CPU-cost budget";
        cpu_refill: Share = "cpuRefill", "CPU-Cost Refill", "Rate at which that debt drains, of elapsed time";
        charged: Option<Nanos> = "charged", "Charged", "Cost charged since the last decision";
        stop_window: Nanos = "stopWindow", "Heap-Walk-Call Time in Window", "Heap-walk-call time in the sliding window";
        stop_cap: Nanos = "stopCap", "Heap-Walk-Call Cap", "Cap of that window";
        cpu_cap: Option<Share> = "cpuCap", "CPU Cap", "Share of one core that a search may use";
        cpu_share: Option<Share> = "cpuShare", "CPU Share", "Share of one core that the search has used";
        cadence: Nanos = "cadence", "Cadence", "Effective cadence";
        spacing: Nanos = "spacing", "Spacing", "Required since the previous pass ended";
        since_pass_end: Option<Nanos> = "sincePassEnd", "Since Last Pass", "Elapsed since the previous pass ended";
        backoff_multiplier: i32 = "backoffMultiplier", "Backoff Multiplier", "Candidate backoff";
        backoff_average: Nanos = "backoffAverage", "Backoff Average", "Moving average of candidate pass durations";
        edge_budget: i64 = "edgeBudget", "Effective Edge Budget", "Admissions that the controller allows";
        unresolved: i32 = "unresolved", "Unresolved", "Candidates that are not resolved";
        root_interval: Nanos = "rootInterval", "Root Enumeration Interval", "Required since the previous root enumeration ended";
        since_root_end: Option<Nanos> = "sinceRootEnd", "Since Last Root Enumeration", "Elapsed since it ended";
        signal_armed: bool = "signalArmed", "Signal Armed", "Whether the leak signal is armed";
        qualifying_classes: i32 = "qualifyingClasses", "Qualifying Classes", "Classes that candidate selection returned";
        ramp: bool = "ramp", "Ramp", "Whether the out-of-memory ramp is active";
        urgent: bool = "urgent", "Urgent", "Whether the urgent latch is set";
    }

    GateRefusals, "Reference Chain Gate Refusals", "How often one gate has refused, by name" {
        gate: String = "gate", "Gate", "Name of the gate";
        refusals: i64 = "refusals", "Refusals", "Refusals since the agent started";
        since_last: i64 = "sinceLast", "Since Last", "Refusals since the previous event of this gate";
        last_refusal: Option<EpochMillis> = "lastRefusal", "Last Refusal", "When it refused last";
    }

    LeakCandidate, "Leak Candidate", "How far a class is from the leak signal" {
        class: Option<Arc<ClassInfo>> = "candidateClass", "Class", "The class";
        class_name: String = "className", "Class Name", "Name of the class";
        state: String = "state", "State", "collecting, flat, rising, candidate or gone";
        progress: String = "progress", "Progress", "The state in words, such as 7 of 10 values, 2 of 5 folds";
        rank: Option<i32> = "rank", "Rank", "Rank among the candidates, starting at 1";
        selected: bool = "selected", "Selected", "Whether a search looks for it";
        confirmed: bool = "confirmed", "Confirmed", "Whether a collection that clears old garbage ran since it qualified";
        epoch: i64 = "epoch", "Epoch", "Last epoch of the fold";
        ages: i32 = "ages", "Distinct Ages", "Distinct GC ages among its surviving samples: the newest value";
        values: i32 = "values", "Values", "Values in the window";
        values_needed: i32 = "valuesNeeded", "Values Needed", "Values that the signal needs";
        fitted_start: Option<f64> = "fittedStart", "Fitted Start", "Least-squares fit at the window's start, ages";
        fitted_end: Option<f64> = "fittedEnd", "Fitted End", "Least-squares fit at the window's end, ages";
        required_rise: Option<f64> = "requiredRise", "Required Rise", "Rise over the window that qualifies, ages";
        folds: i32 = "folds", "Qualifying Folds", "Consecutive qualifying folds";
        folds_needed: i32 = "foldsNeeded", "Folds Needed", "Consecutive folds that the signal needs";
        heap_floor_rising: bool = "heapFloorRising", "Heap Floor Rising", "Whether the aggregate floor lowered the bar";
        threads: i32 = "threads", "Qualifying Threads", "Allocating threads that qualify";
        thread: Option<Arc<ThreadInfo>> = "allocatingThread", "Allocating Thread", "The thread that holds most of its samples";
        retained_samples: i64 = "retainedSamples", "Retained Samples", "Surviving tracked instances";
        retained_sampled_bytes: Bytes = "retainedSampledBytes", "Retained Sampled Bytes", "Estimated bytes of the surviving samples";
        growth_per_hour: Option<Bytes> = "growthPerHour", "Growth per Hour", "Fitted growth of the retained sampled bytes in an hour";
        earliest_signal: Option<Nanos> = "earliestSignal", "Earliest Signal In", "Time until it can qualify at the present pace";
    }

    HeapFloor, "Heap Floor", "Heap use after a collection and its trend" {
        epoch: i64 = "epoch", "Epoch", "Epoch of the collection";
        used: Bytes = "used", "Used After GC", "Heap use after the collection";
        approximate: bool = "approximate", "Approximate", "Whether the figure was taken later, from total minus free";
        max: Option<Bytes> = "max", "Maximum Heap", "Limit of the heap";
        samples: i32 = "samples", "Samples", "Samples in the window";
        fitted_start: Option<Bytes> = "fittedStart", "Fitted Start", "Least-squares fit at the window's start";
        fitted_end: Option<Bytes> = "fittedEnd", "Fitted End", "Least-squares fit at the window's end";
        floor: Option<Bytes> = "floor", "Floor", "Least use in the window";
        recent_floor: Option<Bytes> = "recentFloor", "Recent Floor", "Least use in the window's second half";
        rising: bool = "rising", "Rising", "Whether the floor rises";
        container_used: Option<Bytes> = "containerUsed", "Container Used", "Memory use of the container";
        container_limit: Option<Bytes> = "containerLimit", "Container Limit", "Memory limit of the container";
    }

    OomProjection, "Out-of-Memory Projection", "Projected time to exhaustion, and what it changes" {
        projection: Option<Nanos> = "projection", "Projection", "The shorter valid projection; none proves nothing";
        heap_projection: Option<Nanos> = "heapProjection", "Heap Projection", "Until the heap is exhausted";
        container_projection: Option<Nanos> = "containerProjection", "Container Projection", "Until the container's memory is exhausted";
        heap_slope: Option<f64> = "heapSlope", "Heap Slope", "Bytes a second over the full window";
        heap_recent_slope: Option<f64> = "heapRecentSlope", "Recent Heap Slope", "Bytes a second over the recent half";
        samples: i32 = "samples", "Samples", "Usage samples in the window";
        burn_in_left: Option<Nanos> = "burnInLeft", "Burn-in Left", "Until projections are made at all";
        ramp: Option<Share> = "ramp", "Ramp", "Position on the ramp, 0 at its start, 1 at exhaustion; none outside";
        pause_target: Nanos = "pauseTarget", "Pause Target", "The controller's target on the ramp";
        base_edge_budget: i64 = "baseEdgeBudget", "Base Edge Budget", "Admissions of a pass on the ramp";
        cadence: Nanos = "cadence", "Cadence", "Cadence on the ramp";
        boost: bool = "boost", "Admission Boost", "Whether sampled allocations bypass the live ratio";
        high_water: Option<Bytes> = "highWater", "High-Water Mark", "Highest heap floor of the episode";
        urgent: bool = "urgent", "Urgent", "Whether the urgent latch is set";
        urgent_clear_checks: i32 = "urgentClearChecks", "Clear Checks", "Consecutive checks towards clearing the latch";
        urgent_boost_backed_off: i64 = "urgentBoostBackedOff", "Boost Backed Off", "Times the boost waited for evidence";
        urgent_boost_admits: i64 = "urgentBoostAdmits", "Boost Admits", "Samples that the boost admitted";
        urgent_no_candidate: i64 = "urgentNoCandidate", "Urgent Without Candidate", "Urgent evaluations that found no qualifying class";
    }

    UrgencyLatch, "Urgency Latch", "The urgent latch was set or cleared" {
        latched: bool = "latched", "Latched", "Whether it is set now";
        projection: Option<Nanos> = "projection", "Projection", "The projection that decided";
        clear_checks: i32 = "clearChecks", "Clear Checks", "Consecutive checks that cleared it";
        held: Option<Nanos> = "held", "Held", "How long it was set";
    }

    AgentStatus, "Agent Status", "Configuration, degradations and counters of the agent" {
        code: String = "code", "Code", "Name of what is reported: started, periodic, stopped, or one degradation";
        severity: String = "severity", "Severity", "info, warning or error";
        message: String = "message", "Message", "One sentence for people";
        version: String = "version", "Version", "Version of the agent";
        options: Option<String> = "options", "Options", "Effective options";
        jvm: Option<String> = "jvm", "JVM", "Name and version of the JVM";
        collector: Option<String> = "collector", "Collector", "Garbage collector";
        engine: Option<String> = "engine", "Engine", "Walk engine in use";
        state: Option<String> = "state", "State", "idle, tracking, searching, stopped";
        uptime: Nanos = "uptime", "Uptime", "Since the agent started";
        epoch: i64 = "epoch", "Epoch", "Epochs seen";
        gc_callbacks: i64 = "gcCallbacks", "GC Callbacks", "GC callbacks seen; a callback is not a cycle";
        folds: i64 = "folds", "Folds", "Epoch ranges processed";
        samples: i64 = "samples", "Samples", "Sampled allocations seen";
        samples_tracked: i64 = "samplesTracked", "Samples Tracked", "Samples admitted to the table";
        samples_dropped: i64 = "samplesDropped", "Samples Dropped", "Samples lost to a full queue";
        table_entries: i64 = "tableEntries", "Table Entries", "Tracked samples now";
        table_capacity: i64 = "tableCapacity", "Table Capacity", "Most samples that can be tracked";
        table_dropped: i64 = "tableDropped", "Table Drops", "Samples lost to a full table";
        searches: i64 = "searches", "Searches", "Searches started";
        chains: i64 = "chains", "Chains", "Chains recorded";
        chains_cached: i32 = "chainsCached", "Chains Cached", "Chains kept for later recordings";
        chains_dropped: i64 = "chainsDropped", "Chains Dropped", "Chains lost to a full cache";
        abandonments_dropped: i64 = "abandonmentsDropped", "Abandonments Dropped", "Abandonments lost to a full queue";
        events_written: i64 = "eventsWritten", "Events Written", "Events written or committed";
        events_dropped: i64 = "eventsDropped", "Events Dropped", "Events that could not be written";
        bytes_written: Bytes = "bytesWritten", "Bytes Written", "Bytes of the agent's own file";
        tag_release_failures: i64 = "tagReleaseFailures", "Tag Release Failures", "Tags whose release had to be tried again";
        urgent_boost_backed_off: i64 = "urgentBoostBackedOff", "Boost Backed Off", "Times the admission boost waited for evidence";
        urgent_boost_admits: i64 = "urgentBoostAdmits", "Boost Admits", "Samples that the admission boost admitted";
        urgent_no_candidate: i64 = "urgentNoCandidate", "Urgent Without Candidate", "Urgent evaluations that found no qualifying class";
        native_memory: Option<Bytes> = "nativeMemory", "Native Memory", "Bytes that the agent accounts for";
    }

    CoreInput, "Core Input", "One input of the decision core, for replay" {
        sequence: i64 = "sequence", "Sequence", "Number of the input, without gaps";
        at: Nanos = "at", "Engine Time", "The time that the core was given, since its start";
        kind: String = "kind", "Kind", "Kind of the input";
        text: String = "text", "Text", "The input as one line of JSON";
    }
}
