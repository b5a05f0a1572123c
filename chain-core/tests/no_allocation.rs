//! After set-up a poll allocates nothing, whatever it decides.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::alloc::System;

use chain_core::config::Config;
use chain_core::input::{GcReading, Sample};
use chain_core::{
    Action, Bytes, ClassId, Engine, Epoch, Input, PassReport, ReleaseReport, SampleId, Tick,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn poll_allocates_nothing_after_set_up() {
    let mut engine = Engine::new(Config::default());
    engine.handle(Tick(0), Input::SamplingStarted);
    engine.handle(Tick(0), Input::RecordingStarted);
    let (mut kinds, mut polls, mut sample) = ([0u32; 4], 0, 0);
    for second in 1..400u64 {
        let now = Tick(second * 1000);
        for _ in 0..3 {
            sample += 1;
            let s = Sample {
                id: SampleId(sample),
                class: ClassId(1),
                weight: Bytes(1),
                epoch: Epoch(second - 1),
                ..Sample::default()
            };
            engine.handle(now, Input::Sample(s));
        }
        let used = Some(Bytes::mib(100 + second));
        let gc = GcReading {
            epoch: Epoch(second),
            used_after_gc: used,
            max_heap: Some(Bytes::mib(600)),
            ..GcReading::default()
        };
        engine.handle(now, Input::Gc(gc));
        for _ in 0..20 {
            let region = Region::new(ALLOCATOR);
            let action = engine.poll(now);
            let change = region.change();
            assert_eq!(
                (change.allocations, change.reallocations),
                (0, 0),
                "{action:?}"
            );
            polls += 1;
            match action {
                Action::Sweep => {
                    kinds[0] += 1;
                    engine.handle(now, Input::Swept { dead: Vec::new() });
                }
                Action::RunPass(plan) => {
                    kinds[1] += 1;
                    let report = PassReport {
                        search: plan.search,
                        pass: plan.pass,
                        drained: true,
                        statics_complete: true,
                        threads_complete: true,
                        ..PassReport::default()
                    };
                    engine.handle(now, Input::Pass(report));
                }
                Action::ReleaseTags(search) => {
                    kinds[2] += 1;
                    engine.handle(
                        now,
                        Input::Released(ReleaseReport {
                            search,
                            complete: true,
                            ..ReleaseReport::default()
                        }),
                    );
                }
                _ => {
                    kinds[3] += 1;
                    break;
                }
            }
        }
        engine.drain().for_each(drop);
        engine.drain_journal_quietly();
    }
    assert!(
        polls > 400 && kinds[0] > 100 && kinds[1] > 0 && kinds[3] > 300,
        "{kinds:?}"
    );
}
