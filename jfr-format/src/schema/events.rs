//! The event types. A new figure of a decision is one line here and nowhere else.
//!
//! Terms are those of the specification: epoch, fold, pass, search, heap-walk-call time (time
//! around heap-walk calls, no measurement of application pauses) and manual-walk time (a pass's
//! wall time minus that, no measurement of CPU).

use super::declare::declare_events;
use super::event_enum::declare_any_event;
use super::{
    Bytes, EpochMillis, Event, EventSchema, FieldSink, FieldSource, FieldSpec, FieldType, Name,
    Nanos, Share,
};
use crate::entity::{ClassInfo, StackInfo, ThreadInfo};
use std::sync::Arc;

declare_events! {
    ReferenceChain, "Reference Chain", "An observed path from a GC root to an object of a leak candidate" {
        chain: i64 = "chain", "Chain", "Number of the chain within the process; the same when it is recorded again";
        search: i64 = "search", "Search", "Number of the search that found it";
        signature: Name = "signature", "Signature", "Fingerprint of the path without indices: the same in another run";
        identity: Name = "identity", "Identity", "Fingerprint up to the growing container: one leak, one identity";
        root_kind: Name = "rootKind", "Root Kind", "Where the GC root lives";
        root_description: Name = "rootDescription", "Root Description", "The GC root in words";
        candidate_class: Option<Arc<ClassInfo>> = "candidateClass", "Candidate Class", "Class whose growth started the search";
        candidate_name: Name = "candidateName", "Candidate Name", "Name of that class";
        merged: Name = "merged", "Merged Candidates", "Candidate classes of the same identity, comma-separated";
        leaf_class: Name = "leafClass", "Leaf Class", "First application class below the growing container";
        allocating_thread: Option<Arc<ThreadInfo>> = "allocatingThread", "Allocating Thread", "Thread that allocated the sampled object";
        thread_name: Name = "threadName", "Thread Name", "Name of that thread";
        allocation_stack_trace: Option<Arc<StackInfo>> = "allocationStackTrace", "Allocation Stack Trace", "Where the sampled object was allocated";
        strength: Name = "strength", "Strength", "What holds it: durable, transient, housekeeping, soft or weak";
        depth: i32 = "depth", "Depth", "Hops, each run of the same class and edge counted once";
        total_hops: i64 = "totalHops", "Total Hops", "Hops, runs counted in full";
        container_hop: Option<i32> = "containerHop", "Container Hop", "Index of the hop that is the growing container, from the root";
        age: Option<i32> = "age", "Age", "Age of the sampled object in epochs";
        instances: i64 = "instances", "Instances", "Instances reached along paths of this signature";
        share: Option<Share> = "share", "Share", "Share of the candidate's reached instances that this signature holds";
        coverage: Option<Share> = "coverage", "Coverage", "Share of the heap that the search looked at, estimated";
        retained_sampled_bytes: Bytes = "retainedSampledBytes", "Retained Sampled Bytes", "Estimated bytes of the candidate's surviving samples";
        growth_per_hour: Option<Bytes> = "growthPerHour", "Growth per Hour", "Fitted growth of the retained sampled bytes in an hour";
        confirmed: bool = "confirmed", "Confirmed", "Whether a collection that clears old garbage ran since the candidate qualified";
        provisional: bool = "provisional", "Provisional", "Whether a stronger chain may still replace it";
        repeated: bool = "repeated", "Repeated", "Whether it was recorded before and has now been verified again";
        first_seen: EpochMillis = "firstSeen", "First Seen", "When the chain was first recorded";
        path: String = "path", "Path", "The whole chain as text, root first";
    }

    Hop, "Reference Chain Hop", "One hop of a reference chain" {
        chain: i64 = "chain", "Chain", "Number of the chain within the process";
        index: i32 = "index", "Index", "Position from the root, starting at 0";
        class: Option<Arc<ClassInfo>> = "referentClass", "Class", "Class of the object that this hop reaches";
        class_name: Name = "className", "Class Name", "Name of that class";
        edge_kind: Name = "edgeKind", "Edge Kind", "How the referrer holds it: field, array, static ...";
        edge_name: Option<Name> = "edgeName", "Edge Name", "Name of the field";
        array_index: Option<i32> = "arrayIndex", "Array Index", "Index in the holding array";
        array_size: Option<i32> = "arraySize", "Array Size", "Length of the holding array";
        size: Option<i32> = "size", "Size", "Length of an array, or elements of a collection of the JDK that counts them, when the chain was read";
        run: i32 = "run", "Run", "Consecutive hops of this class and edge that this one stands for";
        fan_out: Option<i32> = "fanOut", "Fan-Out", "Distinct referents that it led to over the instances; above 1 it grows";
    }

    SearchStarted, "Reference Chain Search Started", "A search began" {
        search: i64 = "search", "Search", "Number of the search";
        engine: Name = "engine", "Engine", "Walk engine: concurrent or safepoint";
        candidates: String = "candidates", "Candidates", "Candidate classes, comma-separated";
        urgent: bool = "urgent", "Urgent", "Whether the urgent latch was set";
    }

    SearchPass, "Reference Chain Search Pass", "One slice of walking and its cost" {
        search: i64 = "search", "Search", "Number of the search";
        pass: i32 = "pass", "Pass", "Number of the pass in the search";
        engine: Name = "engine", "Engine", "Walk engine: concurrent or safepoint";
        heap_walk_call_time: Nanos = "heapWalkCallTime", "Heap-Walk-Call Time", "Time around heap-walk calls; no measurement of application pauses";
        manual_walk_time: Nanos = "manualWalkTime", "Manual-Walk Time", "Wall time minus heap-walk-call time; no measurement of CPU";
        thread_cpu_time: Nanos = "threadCpuTime", "Thread CPU Time", "CPU time of the walking thread";
        edge_budget: i64 = "edgeBudget", "Edge Budget", "Admissions that the pass was allowed";
        edges: i64 = "edges", "Edges", "References read";
        new_objects: i64 = "newObjects", "New Objects", "Objects visited for the first time";
        visited_objects: Option<i64> = "visitedObjects", "Visited Objects", "Objects visited by the search so far";
        frontier_entries: i64 = "frontierEntries", "Frontier Entries", "Admitted and not yet expanded after the pass";
        frontier_dead: Option<i64> = "frontierDead", "Dead Frontier Entries", "Entries dropped because their object was collected";
        evicted: Option<i64> = "evicted", "Evicted", "Entries or subtrees dropped at the memory cap";
        memory: Bytes = "memory", "Memory", "Native memory held by the search";
        root_outcome: Name = "rootOutcome", "Root Enumeration", "How root enumeration ended, or not-run";
        root_time: Option<Nanos> = "rootTime", "Root Enumeration Time", "Elapsed time of the root enumeration";
        statics_complete: bool = "staticsComplete", "Statics Complete", "Whether all static fields were looked at";
        threads_complete: bool = "threadsComplete", "Threads Complete", "Whether all thread objects were looked at";
        ending: Name = "ending", "Ending", "What ended the pass: drained, truncated, aborted or budget";
        unresolved: i32 = "unresolved", "Unresolved", "Candidates without a resolved chain";
        candidate_progress: bool = "candidateProgress", "Candidate Progress", "Whether a candidate was added, found or resolved";
        stalled: bool = "stalled", "Stalled", "Whether the pass visited no new object";
        stalled_passes: i32 = "stalledPasses", "Stalled Passes", "Stalled passes in a row";
        coverage: Option<Share> = "coverage", "Coverage", "Share of the heap looked at so far, estimated";
    }

    SearchCompleted, "Reference Chain Search Completed", "A search that came to its end or was stopped with its recording" {
        search: i64 = "search", "Search", "Number of the search";
        outcome: Name = "outcome", "Outcome", "completed or stopped";
        passes: i32 = "passes", "Passes", "Passes made";
        elapsed: Nanos = "elapsed", "Elapsed", "From the search's start to its end";
        heap_walk_call_time: Nanos = "heapWalkCallTime", "Heap-Walk-Call Time", "Sum over its passes; no measurement of application pauses";
        manual_walk_time: Nanos = "manualWalkTime", "Manual-Walk Time", "Sum over its passes; no measurement of CPU";
        thread_cpu_time: Nanos = "threadCpuTime", "Thread CPU Time", "CPU time of the walking threads";
        visited_objects: i64 = "visitedObjects", "Visited Objects", "Objects visited";
        edges: i64 = "edges", "Edges", "References read";
        resolved: i32 = "resolved", "Resolved", "Candidates with a resolved chain";
        unresolved: i32 = "unresolved", "Unresolved", "Candidates without one";
        coverage: Option<Share> = "coverage", "Coverage", "Share of the heap that was looked at, estimated";
        partial: bool = "partial", "Partial", "Whether something was evicted, truncated or skipped";
        without_chain: Option<String> = "withoutChain", "Candidates Without Chain", "Candidate classes to which no path was found, comma-separated";
        unreached: Option<String> = "unreached", "Unreached Candidates", "Those of which no instance was met though they were looked for from the start; without a gap no strong path leads to them";
        gaps: Option<Name> = "gaps", "Gaps", "What was not looked at, comma-separated: memory-cap, frontier-cap, truncated, roots-skipped, roots-incomplete, not-drained";
    }

    SearchAbandoned, "Reference Chain Search Abandoned", "A search that was given up, with the figures that explain it" {
        search: i64 = "search", "Search", "Number of the search";
        reason: Name = "reason", "Reason", "Which rule ended it";
        detail: Option<String> = "detail", "Detail", "The reason in words";
        passes: i32 = "passes", "Passes", "Passes made";
        elapsed: Nanos = "elapsed", "Elapsed", "From the search's start to its end";
        heap_walk_call_time: Nanos = "heapWalkCallTime", "Heap-Walk-Call Time", "Sum over its passes; no measurement of application pauses";
        manual_walk_time: Nanos = "manualWalkTime", "Manual-Walk Time", "Sum over its passes; no measurement of CPU";
        thread_cpu_time: Nanos = "threadCpuTime", "Thread CPU Time", "CPU time of the walking threads";
        visited_objects: i64 = "visitedObjects", "Visited Objects", "Objects visited";
        edges: i64 = "edges", "Edges", "References read";
        resolved: i32 = "resolved", "Resolved", "Candidates with a resolved chain";
        unresolved: i32 = "unresolved", "Unresolved", "Candidates without one";
        coverage: Option<Share> = "coverage", "Coverage", "Share of the heap that was looked at, estimated";
        partial: bool = "partial", "Partial", "Whether something was evicted, truncated or skipped";
        without_chain: Option<String> = "withoutChain", "Candidates Without Chain", "Candidate classes to which no path was found, comma-separated";
        unreached: Option<String> = "unreached", "Unreached Candidates", "Those of which no instance was met though they were looked for from the start; without a gap no strong path leads to them";
        gaps: Option<Name> = "gaps", "Gaps", "What was not looked at, comma-separated: memory-cap, frontier-cap, truncated, roots-skipped, roots-incomplete, not-drained";
        urgent: bool = "urgent", "Urgent", "Whether the urgent latch was set";
        ttl: Option<Nanos> = "ttl", "Time to Live", "Configured or computed limit, none when off";
        frontier_entries: Option<i64> = "frontierEntries", "Frontier Entries", "Admitted and not yet expanded after the last pass";
        frontier_cap: Option<i64> = "frontierCap", "Frontier Cap", "Most entries allowed";
        memory: Option<Bytes> = "memory", "Memory", "Native memory held after the last pass";
        memory_cap: Option<Bytes> = "memoryCap", "Memory Cap", "Most native memory allowed";
        root_outcome: Option<Name> = "rootOutcome", "Root Enumeration", "How the last root enumeration ended";
        stalled_passes: Option<i32> = "stalledPasses", "Stalled Passes", "Stalled passes in a row at the end";
    }

    CostBudget, "Reference Chain Cost Budget", "A scheduling decision with its inputs; a budget paces, it is no guaranteed quota" {
        search: Option<i64> = "search", "Search", "Number of the running search";
        decision: Name = "decision", "Decision", "What the engine decided";
        wait: Option<Nanos> = "wait", "Wait", "How long the decision holds if nothing else happens";
        heap_walk_call_time: Nanos = "heapWalkCallTime", "Heap-Walk-Call Time", "Of the last pass; no measurement of application pauses";
        manual_walk_time: Nanos = "manualWalkTime", "Manual-Walk Time", "Of the last pass; no measurement of CPU";
        edge_budget: i64 = "edgeBudget", "Effective Edge Budget", "Admissions that the controller allows a pass";
        edge_budget_ceiling: i64 = "edgeBudgetCeiling", "Edge Budget Ceiling", "Base plus borrowed";
        borrowed: i64 = "borrowed", "Borrowed", "Admissions borrowed on top of the base";
        pause_target: Nanos = "pauseTarget", "Pause Target", "The controller's target for the heap-walk-call time of a pass";
        cadence: Nanos = "cadence", "Cadence", "Effective cadence";
        safepoint_balance: Nanos = "safepointBalance", "Safepoint-Cost Balance", "Debt of the safepoint-cost budget";
        safepoint_refill: Share = "safepointRefill", "Safepoint-Cost Refill", "Rate at which that debt drains, of elapsed time";
        cpu_balance: Nanos = "cpuBalance", "CPU-Cost Balance", "Debt of the CPU-cost budget";
        cpu_refill: Share = "cpuRefill", "CPU-Cost Refill", "Rate at which that debt drains, of elapsed time";
        stop_window: Nanos = "stopWindow", "Heap-Walk-Call Time in Window", "Heap-walk-call time in the sliding window";
        stop_cap: Nanos = "stopCap", "Heap-Walk-Call Cap", "Cap of that window";
        unresolved: i32 = "unresolved", "Unresolved", "Candidates without a resolved chain";
        backoff_multiplier: i32 = "backoffMultiplier", "Backoff Multiplier", "Candidate backoff";
        backoff_average: Nanos = "backoffAverage", "Backoff Average", "Moving average of candidate pass durations";
        projection: Option<Nanos> = "projection", "Projection", "Projected time to exhaustion; none proves nothing";
        urgent: bool = "urgent", "Urgent", "Whether the urgent latch is set";
    }

    GateRefusals, "Reference Chain Gate Refusals", "How often each gate has refused since the process started" {
        safepoint_debt: i64 = "safepointDebt", "Safepoint-Cost Debt", "New search: the safepoint-cost debt had not drained";
        root_interval: i64 = "rootInterval", "Root Enumeration Interval", "New search: the interval between root enumerations was not over";
        not_armed: i64 = "notArmed", "Signal Not Armed", "New search: the leak signal was not armed";
        no_candidate: i64 = "noCandidate", "No Candidate", "New search: no class qualified";
        spacing: i64 = "spacing", "Spacing", "Running search: minimum spacing since the previous pass";
        cpu_debt: i64 = "cpuDebt", "CPU-Cost Debt", "Running search: the CPU-cost debt had not drained";
        cpu_cap: i64 = "cpuCap", "CPU Cap", "Running search: its share of a core was used up";
        backoff: i64 = "backoff", "Backoff", "Running search: candidate backoff";
        stop_window: i64 = "stopWindow", "Stop-Time Window", "A pass with a heap-walk call: the sliding window was full";
    }

    LeakCandidate, "Leak Candidate", "How far a class is from the leak signal" {
        class: Option<Arc<ClassInfo>> = "candidateClass", "Class", "The class";
        class_name: Name = "className", "Class Name", "Name of the class";
        state: Name = "state", "State", "filling, flat, rising, no-thread, plateau, outranked, qualified or gone";
        progress: String = "progress", "Progress", "The state in words, such as 7 of 10 values, 2 of 5 folds";
        confirmed: bool = "confirmed", "Confirmed", "Whether a collection that clears old garbage ran since it qualified";
        epoch: i64 = "epoch", "Epoch", "Epoch of the last fold";
        values: i32 = "values", "Values", "Values in the window";
        values_needed: i32 = "valuesNeeded", "Values Needed", "Values that the signal needs";
        folds: i32 = "folds", "Qualifying Folds", "Qualifying folds in a row";
        folds_needed: i32 = "foldsNeeded", "Folds Needed", "Qualifying folds in a row that the signal needs";
        earliest_signal: Option<Nanos> = "earliestSignal", "Earliest Signal In", "Time until it can qualify at the present pace";
        fitted_start: Option<f64> = "fittedStart", "Fitted Start", "Distinct GC ages, fitted, at the window's start";
        fitted_end: Option<f64> = "fittedEnd", "Fitted End", "Distinct GC ages, fitted, at the window's end";
        threads: i32 = "threads", "Qualifying Threads", "Allocating threads that qualify";
        thread: Option<Arc<ThreadInfo>> = "allocatingThread", "Allocating Thread", "First qualifying thread";
        thread_names: Name = "threadNames", "Thread Names", "Names of the qualifying threads, comma-separated";
        survivors: i64 = "survivors", "Survivors", "Surviving tracked instances";
        retained_sampled_bytes: Bytes = "retainedSampledBytes", "Retained Sampled Bytes", "Estimated bytes of the surviving samples";
        growth_per_hour: Option<Bytes> = "growthPerHour", "Growth per Hour", "Fitted growth of the retained sampled bytes in an hour";
        allocation_stack_trace: Option<Arc<StackInfo>> = "allocationStackTrace", "Allocation Stack Trace", "Where a surviving instance was allocated";
    }

    HeapFloor, "Heap Floor", "Heap use after a collection and its trend" {
        epoch: Option<i64> = "epoch", "Epoch", "Epoch of the collection";
        used: Option<Bytes> = "used", "Used After GC", "Heap use after the collection";
        approximate: bool = "approximate", "Approximate", "Whether the figure was taken later, from total minus free";
        max: Option<Bytes> = "max", "Maximum Heap", "Limit of the heap";
        samples: i32 = "samples", "Samples", "Samples in the window";
        rising: bool = "rising", "Rising", "Whether the floor rises";
        container_used: Option<Bytes> = "containerUsed", "Container Used", "Memory use of the container";
        container_limit: Option<Bytes> = "containerLimit", "Container Limit", "Memory limit of the container";
    }

    OomProjection, "Out-of-Memory Projection", "Projected time to exhaustion, and what it changes" {
        projection: Option<Nanos> = "projection", "Projection", "The shorter valid projection; none proves nothing";
        heap_projection: Option<Nanos> = "heapProjection", "Heap Projection", "Until the heap is exhausted";
        container_projection: Option<Nanos> = "containerProjection", "Container Projection", "Until the container's memory is exhausted";
        samples: i32 = "samples", "Samples", "Usage samples in the window";
        burn_in: bool = "burnIn", "Burn-in", "Whether projections are withheld because the signal is young";
        ramp: bool = "ramp", "Ramp", "Whether the out-of-memory ramp is active";
        urgent: bool = "urgent", "Urgent", "Whether the urgent latch is set";
        boost: bool = "boost", "Admission Boost", "Whether sampled allocations bypass the live ratio";
        no_candidate: bool = "noCandidate", "No Candidate", "The floor rises and no class qualifies: no chain can be had";
    }

    UrgencyLatch, "Urgency Latch", "The urgent latch was set or cleared" {
        latched: bool = "latched", "Latched", "Whether it is set now";
        projection: Option<Nanos> = "projection", "Projection", "The projection that decided";
    }

    AgentStatus, "Agent Status", "Configuration, degradations and counters of the agent" {
        code: Name = "code", "Code", "Name of what is reported: started, periodic, stopped, or one degradation";
        severity: Name = "severity", "Severity", "info, warning or error";
        message: String = "message", "Message", "One sentence for people";
        version: Name = "version", "Version", "Version of the agent";
        options: Option<Name> = "options", "Options", "Effective options";
        jvm: Option<Name> = "jvm", "JVM", "Name and version of the JVM";
        collector: Option<Name> = "collector", "Collector", "Garbage collector";
        epoch_source: Option<Name> = "epochSource", "Epoch Source", "Where epochs come from: collection counts, or callbacks and their divisor";
        engine: Option<Name> = "engine", "Engine", "Walk engine in use";
        state: Option<Name> = "state", "State", "idle, tracking, searching or stopped";
        uptime: Nanos = "uptime", "Uptime", "Since the agent started";
        epoch: i64 = "epoch", "Epoch", "Newest epoch";
        gc_callbacks: i64 = "gcCallbacks", "GC Callbacks", "GC callbacks seen; a callback is not a cycle";
        samples: i64 = "samples", "Samples", "Sampled allocations seen";
        samples_rejected: i64 = "samplesRejected", "Samples Not Tracked", "Samples that the live ratio left out; their weight is carried on";
        queue_dropped: i64 = "queueDropped", "Queue Drops", "Samples lost to a full queue";
        table_entries: i64 = "tableEntries", "Table Entries", "Tracked samples now";
        table_capacity: i64 = "tableCapacity", "Table Capacity", "Most samples that can be tracked";
        table_dropped: i64 = "tableDropped", "Table Drops", "Samples lost to a full liveness table";
        reservoir_dropped: i64 = "reservoirDropped", "Reservoir Drops", "Samples given up to the reservoir";
        classes_dropped: i64 = "classesDropped", "Class Drops", "Classes refused or evicted at a full signal table";
        searches: i64 = "searches", "Searches", "Searches started";
        chains: i64 = "chains", "Chains", "Chains recorded";
        chains_dropped: i64 = "chainsDropped", "Chain Drops", "Chains lost to a full cache";
        abandonments_dropped: i64 = "abandonmentsDropped", "Abandonment Drops", "Abandonments lost to a full queue";
        records_dropped: i64 = "recordsDropped", "Record Drops", "Records lost to a full queue";
        journal_dropped: i64 = "journalDropped", "Journal Drops", "Core inputs lost to a full queue: such a recording cannot be replayed";
        events_written: i64 = "eventsWritten", "Events Written", "Events written or committed";
        events_dropped: i64 = "eventsDropped", "Event Drops", "Events that could not be written";
        bytes_written: Bytes = "bytesWritten", "Bytes Written", "Bytes of the agent's own file";
        tag_release_failures: i64 = "tagReleaseFailures", "Tag Release Failures", "Tags whose release had to be tried again";
        urgent_boost_backed_off: i64 = "urgentBoostBackedOff", "Boost Backed Off", "Urgent boosts that a full table turned back to the ordinary rules";
        urgent_boost_admits: i64 = "urgentBoostAdmits", "Boost Admits", "Samples that the urgent boost alone admitted";
        urgent_no_candidate: i64 = "urgentNoCandidate", "Urgent Without Candidate", "Urgent evaluations that found no qualifying class";
        native_memory: Option<Bytes> = "nativeMemory", "Native Memory", "Bytes that the agent accounts for";
    }

    CoreInput, "Core Input", "One input of the decision core, for replay" {
        sequence: i64 = "sequence", "Sequence", "Number of the input, without gaps";
        at: Nanos = "at", "Engine Time", "The time that the core was given";
        kind: Name = "kind", "Kind", "Kind of the input";
        text: String = "text", "Text", "The input as one line of JSON";
    }
}
