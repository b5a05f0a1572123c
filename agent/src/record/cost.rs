//! Budgets, gates, heap floor and projection.

use chain_core::gate::GateRefusals as Refusals;
use chain_core::input::ContainerReading;
use chain_core::record::{CostBudget as Budget, OomStatus};
use chain_core::{Epoch, Tick};
use jfr_format::schema::Name;
use jfr_format::schema::events::{
    CostBudget, GateRefusals, HeapFloor, OomProjection, UrgencyLatch,
};

use super::text::decision_name;
use super::{bytes, int, long, micros, millis, millis_f64, rate, seconds};

pub(super) fn cost_budget(b: &Budget, at: Tick) -> CostBudget {
    CostBudget {
        search: b.search.map(|search| search.0.into()),
        decision: Name::of(decision_name(b.decision)),
        wait: b.wait_until.map(|until| millis(until.since(at))),
        heap_walk_call_time: micros(b.heap_walk),
        manual_walk_time: micros(b.manual_walk),
        edge_budget: long(b.edge_budget),
        edge_budget_ceiling: long(b.edge_ceiling),
        borrowed: long(b.borrowed),
        pause_target: millis(b.pause_target),
        cadence: millis(b.cadence),
        safepoint_balance: millis_f64(b.safepoint_balance),
        safepoint_refill: rate(b.safepoint_rate),
        cpu_balance: millis_f64(b.cpu_balance),
        cpu_refill: rate(b.cpu_rate),
        stop_window: micros(b.stop_window),
        stop_cap: millis(b.stop_cap),
        unresolved: int(b.unresolved.into()),
        backoff_multiplier: int(b.backoff.into()),
        backoff_average: millis_f64(b.backoff_ema),
        projection: b.seconds_to_oom.map(seconds),
        urgent: b.latched,
    }
}

pub(super) fn gate_refusals(r: &Refusals) -> GateRefusals {
    GateRefusals {
        safepoint_debt: long(r.safepoint_debt),
        root_interval: long(r.root_interval),
        not_armed: long(r.not_armed),
        no_candidate: long(r.no_candidate),
        spacing: long(r.spacing),
        cpu_debt: long(r.cpu_debt),
        cpu_cap: long(r.cpu_cap),
        backoff: long(r.backoff),
        stop_window: long(r.stop_window),
    }
}

pub(super) fn heap_floor(
    o: &OomStatus,
    epoch: Epoch,
    container: Option<ContainerReading>,
) -> HeapFloor {
    HeapFloor {
        epoch: Some(long(epoch.0)),
        used: o.used.map(bytes),
        approximate: o.approximate,
        max: o.max_heap.map(bytes),
        samples: int(o.samples.into()),
        rising: o.floor_rising,
        container_used: container.map(|reading| bytes(reading.used)),
        container_limit: container.and_then(|reading| reading.max).map(bytes),
    }
}

pub(super) fn oom_projection(o: &OomStatus) -> OomProjection {
    OomProjection {
        projection: o.seconds.map(seconds),
        heap_projection: o.heap_seconds.map(seconds),
        container_projection: o.container_seconds.map(seconds),
        samples: int(o.samples.into()),
        burn_in: o.burn_in,
        ramp: o.ramp,
        urgent: o.latched,
        boost: o.boost,
        no_candidate: o.no_candidate,
    }
}

pub(super) fn urgency_latch(o: &OomStatus) -> UrgencyLatch {
    UrgencyLatch {
        latched: o.latched,
        projection: o.seconds.map(seconds),
    }
}
