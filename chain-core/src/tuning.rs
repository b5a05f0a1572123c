//! Every threshold of search-control with unit, source and status; [`TABLE`] lists them all.
//!
//! Status: *specified* = given by the specification; *reference* = a value that the reference
//! implementation is known to use; *provisional* = ours, to be measured.

use crate::config::{Config, WalkEngine};
use crate::tick::{Bytes, Millis};

/// One row of [`TABLE`].
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name of the constant.
    pub name: &'static str,
    /// Its value, printed.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Section of search-control.
    pub section: &'static str,
    /// Where the value comes from.
    pub status: &'static str,
}

macro_rules! tuning {
    ($($(#[$doc:meta])+ $name:ident: $ty:ty = $value:expr, $unit:literal, $section:literal, $status:literal;)+) => {
        $($(#[$doc])+ pub const $name: $ty = $value;)+
        /// Every constant above, in order.
        #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "printed only")]
        pub const TABLE: &[Row] = &[$(Row {
            name: stringify!($name),
            value: $name as f64,
            unit: $unit,
            section: $section,
            status: $status,
        }),+];
    };
}

tuning! {
    /// Allocation sampling interval when the user sets none.
    SAMPLING_INTERVAL: u64 = 524_287, "bytes", "2", "reference";
    /// Share of samples that is tracked when the user sets none.
    LIVE_RATIO: f64 = 0.1, "share", "2", "reference";
    /// Least live ratio.
    LIVE_RATIO_MIN: f64 = 0.01, "share", "2", "reference";
    /// Most entries of the liveness table.
    TABLE_MAX: u64 = 262_144, "entries", "2", "reference";
    /// Entries the liveness table starts with.
    TABLE_START: u64 = 2_048, "entries", "2", "reference";
    /// Sampled-object bytes that are tracked at most on generational ZGC.
    RESERVOIR_BYTES: u64 = 16 * 1024 * 1024, "bytes", "2", "specified";
    /// Samples that wait for a sweep at a full table; further ones are dropped.
    PENDING_SAMPLES: usize = 256, "entries", "2", "provisional";
    /// A sweep follows a new epoch by this at most.
    SWEEP_DELAY: u64 = 1_000, "ms", "2", "specified";
    /// The reference's sweep period, used when the improvement is off.
    SWEEP_PERIOD_REFERENCE: u64 = 30_000, "ms", "2", "reference";
    /// Epochs since arming per epoch of push stride.
    STRIDE_DIVISOR: u64 = 100, "epochs", "2", "specified";
    /// Signal values are pushed this far apart at most, when there was a new epoch.
    PUSH_MAX_GAP: u64 = 300_000, "ms", "2", "specified";

    /// That gap grows to the time since arming divided by this: with 5 min alone a steady leak would
    /// outgrow its bar after 19 hours.
    PUSH_GAP_DIVISOR: u64 = 200, "gaps", "2", "provisional";

    /// Classes followed by the signal.
    SIGNAL_CLASSES: usize = 256, "classes", "3", "specified";
    /// Values in a class's ring.
    CLASS_RING: usize = 30, "values", "3", "specified";
    /// Least values for a qualifying fold.
    CLASS_FILL: usize = 10, "values", "3", "specified";
    /// Least fitted rise over the window, relative to the fitted start.
    RISE_SHARE: f64 = 0.15, "share", "3", "specified";
    /// Least fitted rise over the window, absolute.
    RISE_MIN: f64 = 1.0, "ages", "3", "specified";
    /// Qualifying folds in a row.
    HYSTERESIS: u32 = 5, "folds", "3", "specified";
    /// The same while the aggregate heap floor rises.
    HYSTERESIS_FLOOR: u32 = 3, "folds", "3", "specified";
    /// Values in a thread's ring.
    THREAD_RING: usize = 16, "values", "3", "reference";
    /// Least values of a thread's own trend.
    THREAD_FILL: usize = 6, "values", "3", "reference";
    /// Threads followed per class.
    THREADS_PER_CLASS: usize = 8, "threads", "3", "reference";
    /// Retained tracked instances in a fold that qualify a thread without a trend.
    THREAD_RETAINED: u32 = 8, "instances", "3", "reference";
    /// Post-GC usage samples kept.
    FLOOR_RING: usize = 30, "samples", "3", "reference";
    /// Least usage samples for floor and projection.
    FLOOR_FILL: usize = 10, "samples", "3", "reference";
    /// Least fitted rise of the floor, relative.
    FLOOR_RISE_SHARE: f64 = 0.02, "share", "3", "reference";
    /// Least fitted rise of the floor, absolute.
    FLOOR_RISE_MIN: u64 = 1024 * 1024, "bytes", "3", "reference";
    /// Least rise of the second half's minimum over the whole minimum, relative.
    FLOOR_MIN_SHARE: f64 = 0.01, "share", "3", "reference";
    /// The same, absolute.
    FLOOR_MIN_RISE: u64 = 512 * 1024, "bytes", "3", "reference";
    /// LeakCandidate progress events are this far apart at least.
    PROGRESS_PERIOD: u64 = 10_000, "ms", "3", "provisional";
    /// Classes in one round of progress events.
    PROGRESS_CLASSES: usize = 10, "classes", "3", "provisional";
    /// Deaths this many times of which reach the arrivals make a population turn over.
    TURNOVER: f64 = 2.0, "times", "14", "provisional";
    /// Standard deviations of turnover by which a population must have grown to be no plateau.
    PLATEAU_SIGMA: f64 = 2.5, "sigma", "14", "provisional";

    /// Least spacing of passes without the ramp.
    SPACING_FLOOR: u64 = 100, "ms", "5", "specified";
    /// Cap of the backoff multiplier.
    BACKOFF_CAP: u32 = 16, "times", "5", "reference";
    /// Weight of the old value in the EMA of candidate passes.
    BACKOFF_EMA_OLD: f64 = 0.8, "share", "5", "reference";

    /// Refill of both cost budgets on one CPU.
    REFILL: f64 = 0.01, "ms/ms", "6", "reference";
    /// Most refill that tuning by CPUs gives.
    REFILL_TUNED_MAX: f64 = 0.05, "ms/ms", "12", "reference";
    /// Factor on the CPU refill while candidates are unresolved.
    UNRESOLVED_REFILL_FACTOR: f64 = 100.0, "times", "6", "specified";
    /// Heap-walk-call time allowed in the window.
    STOP_CAP: u64 = 500, "ms", "6", "specified";
    /// The sliding window of the stop-time cap.
    STOP_WINDOW: u64 = 60_000, "ms", "6", "specified";

    /// The pause controller's target when the user sets none.
    PAUSE_TARGET: u64 = 50, "ms", "12", "specified";
    /// Proportional gain.
    PID_KP: f64 = 10.0, "edges/ms", "7", "reference";
    /// Integral gain.
    PID_KI: f64 = 1.0, "edges/ms", "7", "reference";
    /// Derivative gain.
    PID_KD: f64 = 2.0, "edges/ms", "7", "reference";
    /// Low-pass weight of the newest derivative.
    PID_ALPHA: f64 = 0.673, "share", "7", "reference";
    /// Clamp of the integral of the error.
    PID_INTEGRAL_MAX: f64 = 1_000.0, "ms", "7", "provisional";
    /// Least edge budget.
    EDGES_MIN: u64 = 2_000, "edges", "7", "specified";
    /// Least cadence.
    CADENCE_MIN: u64 = 10, "ms", "7", "specified";
    /// Most cadence.
    CADENCE_MAX: u64 = 4_000, "ms", "7", "specified";
    /// Cadence at start, and without a running search.
    CADENCE_START: u64 = 1_000, "ms", "7", "specified";
    /// Comfortable passes in a row until the grant grows.
    BORROW_AFTER: u32 = 5, "passes", "7", "specified";
    /// Share of the target that is comfortable.
    COMFORT: f64 = 0.5, "share", "7", "specified";
    /// Part of the base that a comfortable pass adds.
    BORROW_STEP_DIVISOR: u64 = 4, "of base", "7", "specified";
    /// Total ceiling in multiples of the base.
    BORROW_CEILING: u64 = 4, "times", "7", "specified";

    /// Least wait after a root enumeration ended.
    ROOT_WAIT_MIN: u64 = 2_000, "ms", "8", "specified";
    /// Most wait after a root enumeration ended.
    ROOT_WAIT_MAX: u64 = 30_000, "ms", "8", "specified";
    /// Wait in multiples of the enumeration's duration.
    ROOT_WAIT_FACTOR: u64 = 20, "times", "8", "specified";

    /// No projection for this long after the signal's first activation.
    BURN_IN: u64 = 300_000, "ms", "9", "specified";
    /// Least samples of the recent half's regression.
    RECENT_HALF_MIN: usize = 5, "samples", "9", "specified";
    /// The ramp starts below this projection.
    RAMP_SECONDS: f64 = 1_800.0, "s", "9", "specified";
    /// Pause target at the end of the ramp.
    RAMP_TARGET: f64 = 100.0, "ms", "9", "specified";
    /// Factor on the base edge budget in the ramp.
    RAMP_EDGES_FACTOR: u64 = 4, "times", "9", "specified";
    /// Most base edge budget in the ramp.
    RAMP_EDGES_MAX: u64 = 1_000_000, "edges", "9", "specified";
    /// Base of the ramp's cadence.
    RAMP_CADENCE_BASE: f64 = 0.01, "share", "9", "specified";
    /// Below this the boost needs no evidence, and the urgent latch sets.
    URGENT_SECONDS: f64 = 300.0, "s", "9", "specified";
    /// At or above this a check counts towards clearing the latch.
    CALM_SECONDS: f64 = 600.0, "s", "9", "specified";
    /// Calm checks in a row that clear the latch.
    CALM_CHECKS: u32 = 5, "checks", "9", "specified";
    /// OomProjection events are this far apart at least, transitions apart.
    OOM_PERIOD: u64 = 60_000, "ms", "9", "provisional";

    /// Root-enumeration errors in a row that end a search.
    ROOT_ERRORS: u32 = 3, "errors", "10", "specified";
    /// Stalled passes that end a search.
    STALLED_PASSES: u32 = 30, "passes", "10", "specified";
    /// Most doublings of the patience of ladder 7.
    STUCK_SHIFT_MAX: u32 = 8, "doublings", "10", "specified";
    /// Instances tallied by signature after which a durable, verified chain counts as resolved.
    RESOLVED_INSTANCES: u32 = 64, "instances", "10", "specified";
    /// The same where the chain ends at a plain value, such as a string, which any program has by hundreds in tables of
    /// names and settings.
    RESOLVED_VALUES: u32 = 1_024, "instances", "10", "provisional";
    /// First cooldown of a class whose search brought no chain; doubles each time.
    LOST_COOLDOWN: u64 = 60_000, "ms", "4", "provisional";
    /// Most doublings of that cooldown.
    LOST_COOLDOWN_SHIFT_MAX: u32 = 5, "doublings", "4", "provisional";
    /// A resolved class that still qualifies is searched again after this.
    RESOLVED_COOLDOWN: u64 = 1_800_000, "ms", "4", "provisional";
    /// Wait between retries of a tag release.
    RELEASE_RETRY: u64 = 1_000, "ms", "10", "provisional";
    /// Tag releases tried after a stop request.
    RELEASE_TRIES_AT_STOP: u32 = 3, "tries", "10", "provisional";

    /// Cached chains.
    CHAIN_CACHE: usize = 128, "chains", "11", "reference";
    /// Cached chains are re-verified and re-emitted at this period while a recording runs.
    REVERIFY_PERIOD: u64 = 60_000, "ms", "11", "specified";
    /// Abandonments queued.
    ABANDONMENT_QUEUE: usize = 16, "records", "11", "reference";
    /// Other records queued.
    RECORD_QUEUE: usize = 1_024, "records", "11", "provisional";
    /// Journal entries queued.
    JOURNAL_QUEUE: usize = 1_024, "entries", "11", "provisional";
    /// CostBudget events are this far apart at least, those of passes apart.
    COST_PERIOD: u64 = 10_000, "ms", "11", "provisional";

    /// Heap to which unset options are scaled.
    REFERENCE_HEAP_MIB: f64 = 512.0, "MiB", "12", "reference";
    /// Least tuned edge budget.
    BUDGET_MIN: u64 = 1_000, "edges", "12", "reference";
    /// Least tuned time to live.
    TTL_MIN: u64 = 60_000, "ms", "12", "reference";
    /// Most tuned time to live.
    TTL_MAX: u64 = 1_800_000, "ms", "12", "reference";
    /// Frontier entries at the least edge budget.
    FRAMECAP: u64 = 65_536, "entries", "12", "specified";
    /// Most frontier entries.
    FRAMECAP_MAX: u64 = 65_536_000, "entries", "12", "specified";
    /// Root pass budget in multiples of the edge budget.
    FIRST_PASS_FACTOR: u64 = 10, "times", "12", "specified";
    /// Longest chain, runs collapsed.
    HOPS: u32 = 200, "hops", "12", "specified";

    /// Base edge budget of the concurrent engine.
    CONCURRENT_EDGES: u64 = 100_000, "edges", "13", "specified";
    /// Thread CPU time at which a concurrent pass ends.
    CONCURRENT_PASS_CPU: u64 = 200, "ms", "13", "specified";
    /// Elapsed time at which a concurrent pass ends on a busy machine.
    CONCURRENT_PASS_WALL: u64 = 1_000, "ms", "13", "provisional";
    /// Share of one core for a concurrent search.
    CPU_CAP: f64 = 0.5, "share", "13", "specified";
    /// Least memcap.
    MEMCAP_MIN: u64 = 64 * 1024 * 1024, "bytes", "13", "specified";
    /// memcap as a share of the max heap: what it is at least in a heap of many gigabytes.
    MEMCAP_SHARE: f64 = 0.02, "share", "13", "specified";
    /// memcap as a share of the max heap up to [`MEMCAP_OBJECTS_MAX`]: a heap of 3 GiB holds 10 million objects.
    MEMCAP_OBJECTS_SHARE: f64 = 0.0625, "share", "13", "provisional";
    /// Most memcap by that share: the goal at 10 million objects.
    MEMCAP_OBJECTS_MAX: u64 = 200 * 1024 * 1024, "bytes", "13", "specified";
    /// TTL is at least this many estimated walk times.
    TTL_WALKS: u64 = 4, "times", "13", "specified";
    /// Heap bytes an edge stands for in the estimate of a walk (100 bytes an object, 2.4 edges each).
    BYTES_PER_EDGE: u64 = 42, "bytes", "13", "provisional";
    /// Edges a second in the estimate of a walk.
    EDGES_PER_SECOND: u64 = 1_000_000, "edges/s", "13", "specified";
}

/// The options in force: what the user set, the rest tuned to the machine (section 12).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Tuned {
    /// Sampling interval.
    pub interval: Bytes,
    /// Live ratio, clamped.
    pub live_ratio: f64,
    /// Most entries of the liveness table.
    pub table_max: u64,
    /// Base edge budget.
    pub budget: u64,
    /// Edge budget of a root pass.
    pub first_pass_budget: u64,
    /// Time to live; zero = off.
    pub ttl: Millis,
    /// The controller's target.
    pub pause_target: Millis,
    /// Refill of both budgets, ms per ms.
    pub refill: f64,
    /// Stop-time cap of the sliding window.
    pub stop_cap: Millis,
    /// Share of one core for searches.
    pub cpu_cap: f64,
    /// Native bytes of a search.
    pub memcap: Bytes,
    /// Frontier entries.
    pub framecap: u64,
    /// Longest chain.
    pub hops: u32,
    /// Searches are on.
    pub chains: bool,
    /// Section 13's rules apply.
    pub concurrent: bool,
}

/// Bytes for a search's visited set and frontier when none is set.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate; a heap is far below 2^53 bytes"
)]
fn memcap(max_heap: Bytes) -> Bytes {
    let share = |of: f64| (max_heap.as_f64() * of) as u64;
    let objects = share(MEMCAP_OBJECTS_SHARE).clamp(MEMCAP_MIN, MEMCAP_OBJECTS_MAX);
    Bytes(objects.max(share(MEMCAP_SHARE)))
}

impl Tuned {
    /// Tunes `config` to its machine.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "float casts saturate; the inputs are far below 2^53"
    )]
    pub fn of(config: &Config) -> Tuned {
        let max_heap = config.machine.max_heap.unwrap_or(Bytes::mib(512));
        let heap_mib = max_heap.as_f64() / (1024.0 * 1024.0);
        let heap = heap_mib / REFERENCE_HEAP_MIB;
        let concurrent =
            config.walk == WalkEngine::Concurrent && config.improvements.concurrent_rules;
        let by_heap = ((1000.0 * heap.sqrt()) as u64).max(BUDGET_MIN);
        let budget = config.budget.unwrap_or(if concurrent {
            CONCURRENT_EDGES
        } else {
            by_heap
        });
        let interval = Bytes(config.interval.map_or(SAMPLING_INTERVAL, |b| b.0.max(1)));
        let ttl_tuned = Millis::from_f64(60_000.0 * heap);
        let framecap =
            FRAMECAP.saturating_mul(by_heap.max(config.budget.unwrap_or(by_heap))) / 1000;
        let cpus = f64::from(config.machine.cpus.max(1));
        let refill_tuned = (REFILL * (1.0 + (cpus - 1.0) / 4.0)).min(REFILL_TUNED_MAX);
        Tuned {
            interval,
            live_ratio: config
                .live_ratio
                .unwrap_or(LIVE_RATIO)
                .clamp(LIVE_RATIO_MIN, 1.0),
            table_max: (max_heap.0 / interval.0).clamp(1, TABLE_MAX),
            budget: budget.max(1),
            first_pass_budget: config
                .first_pass_budget
                .unwrap_or(budget.saturating_mul(FIRST_PASS_FACTOR)),
            ttl: config
                .ttl
                .unwrap_or(Millis(ttl_tuned.0.clamp(TTL_MIN, TTL_MAX))),
            pause_target: config.pause_target.unwrap_or(Millis(PAUSE_TARGET)),
            refill: config
                .pain_budget
                .map_or(refill_tuned, |p| p / 100.0)
                .clamp(0.0, 1.0),
            stop_cap: config.stop_cap.unwrap_or(Millis(STOP_CAP)),
            cpu_cap: config
                .cpu_cap
                .map_or(CPU_CAP, |p| p / 100.0)
                .clamp(0.01, 1.0),
            memcap: config.memcap.unwrap_or_else(|| memcap(max_heap)),
            framecap: config.framecap.unwrap_or(framecap.min(FRAMECAP_MAX)),
            hops: config.hops.unwrap_or(HOPS),
            chains: config.chains.unwrap_or(true),
            concurrent,
        }
    }

    /// The entries the liveness table starts with.
    pub fn table_start(&self) -> u64 {
        TABLE_START.min(self.table_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Improvements, Machine};

    fn tuned(heap: u64, cpus: u32, walk: WalkEngine) -> Tuned {
        Tuned::of(&Config {
            machine: Machine {
                max_heap: Some(Bytes::mib(heap)),
                cpus,
                ..Machine::default()
            },
            walk,
            ..Config::default()
        })
    }

    #[test]
    fn every_constant_has_unit_source_and_status() {
        let mut text = String::new();
        for r in TABLE {
            text += &format!(
                "{:26} {:>12} {:9} section {:3} {}\n",
                r.name, r.value, r.unit, r.section, r.status
            );
        }
        insta::assert_snapshot!("tuning_table", text);
    }

    #[test]
    fn unset_options_are_tuned_to_the_machine() {
        let small = tuned(128, 1, WalkEngine::Safepoint);
        assert_eq!(
            (small.budget, small.ttl, small.framecap),
            (1_000, Millis(60_000), 65_536)
        );
        assert!((small.refill - 0.01).abs() < 1e-12);
        let big = tuned(8192, 9, WalkEngine::Safepoint);
        assert_eq!((big.budget, big.ttl), (4_000, Millis(960_000)));
        assert_eq!((big.first_pass_budget, big.framecap), (40_000, 262_144));
        assert!((big.refill - 0.03).abs() < 1e-12);
        let huge = tuned(512 * 1024, 64, WalkEngine::Safepoint);
        assert_eq!(huge.ttl, Millis(1_800_000));
        assert!((huge.refill - 0.05).abs() < 1e-12);
    }

    #[test]
    fn the_concurrent_engine_has_its_own_base_budget_and_memcap() {
        let t = tuned(512, 1, WalkEngine::Concurrent);
        assert_eq!((t.budget, t.memcap), (100_000, Bytes::mib(64)));
        assert_eq!(
            tuned(20_480, 1, WalkEngine::Concurrent).memcap,
            Bytes(429_496_729)
        );
        let plain = Tuned::of(&Config {
            improvements: Improvements {
                concurrent_rules: false,
                ..Improvements::default()
            },
            ..Config::default()
        });
        assert_eq!(plain.budget, 1_000);
    }

    #[test]
    fn memcap_follows_the_heap_between_the_goals_for_1_and_10_million_objects() {
        let of = |mib| tuned(mib, 1, WalkEngine::Concurrent).memcap;
        assert_eq!(of(256), Bytes::mib(64));
        assert_eq!(of(1_024), Bytes::mib(64));
        assert_eq!(of(3_072), Bytes::mib(192));
        assert_eq!(of(4_096), Bytes::mib(200));
        assert_eq!(of(10_240), Bytes(214_748_364), "2 %");
    }

    #[test]
    fn the_liveness_table_is_bounded_by_heap_and_interval() {
        assert_eq!(tuned(256, 1, WalkEngine::Concurrent).table_max, 512);
        assert_eq!(tuned(256, 1, WalkEngine::Concurrent).table_start(), 512);
        assert_eq!(tuned(1 << 20, 1, WalkEngine::Concurrent).table_max, 262_144);
        assert_eq!(
            tuned(1 << 20, 1, WalkEngine::Concurrent).table_start(),
            2_048
        );
    }

    #[test]
    fn set_options_win() {
        let t = Tuned::of(&Config {
            budget: Some(5),
            ttl: Some(Millis(0)),
            pause_target: Some(Millis(7)),
            pain_budget: Some(2.0),
            stop_cap: Some(Millis(9)),
            cpu_cap: Some(25.0),
            memcap: Some(Bytes(8)),
            framecap: Some(3),
            hops: Some(4),
            chains: Some(false),
            live_ratio: Some(0.5),
            interval: Some(Bytes(1024)),
            first_pass_budget: Some(11),
            ..Config::default()
        });
        assert_eq!(
            (t.budget, t.ttl, t.pause_target, t.stop_cap),
            (5, Millis(0), Millis(7), Millis(9))
        );
        assert_eq!(
            (t.memcap, t.framecap, t.hops, t.chains),
            (Bytes(8), 3, 4, false)
        );
        assert_eq!((t.interval, t.first_pass_budget), (Bytes(1024), 11));
        assert!((t.refill - 0.02).abs() < 1e-12 && (t.cpu_cap - 0.25).abs() < 1e-12);
        assert!((t.live_ratio - 0.5).abs() < 1e-12);
    }
}
