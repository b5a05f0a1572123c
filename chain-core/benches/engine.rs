//! Cost of a fold over a full liveness table, of a sweep's bookkeeping, and of a poll.
//!
//! Recorded with `cargo bench -p chain-core` on two shared cores of an x86_64 virtual machine, load 1 to 3: a fold over
//! 262,144 entries 2.3 ms (the goal is 5 ms), a poll 34 ns (5 us). That a poll allocates nothing is a test of its own.
#![allow(missing_docs, reason = "criterion's macros")]

use std::hint::black_box;

use chain_core::config::Config;
use chain_core::input::Sample;
use chain_core::liveness::Tracker;
use chain_core::{Bytes, ClassId, Engine, Epoch, Input, SampleId, ThreadId, Tick};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

fn full_table() -> Tracker {
    let mut tracker = Tracker::new(262_144, 262_144, None);
    for id in 0..262_144u32 {
        tracker.add(Sample {
            id: SampleId(id),
            class: ClassId(id % 500),
            thread: ThreadId(u64::from(id % 37)),
            object: Bytes(64),
            weight: Bytes(524_287),
            epoch: Epoch(u64::from(id / 100)),
            ..Sample::default()
        });
    }
    tracker.set_epoch(Epoch(3_000));
    tracker
}

fn folds(c: &mut Criterion) {
    let mut tracker = full_table();
    c.bench_function("fold over 262,144 entries", |b| {
        b.iter(|| black_box(tracker.fold(3_000, &[])))
    });
    let dead: Vec<SampleId> = (0..10_000).map(SampleId).collect();
    c.bench_function("10,000 deaths of 262,144 entries", |b| {
        b.iter_batched_ref(
            full_table,
            |t| t.swept(black_box(&dead)),
            BatchSize::LargeInput,
        );
    });
}

fn polls(c: &mut Criterion) {
    let mut engine = Engine::new(Config::default());
    engine.handle(Tick(0), Input::SamplingStarted);
    engine.handle(Tick(0), Input::RecordingStarted);
    let mut now = 0;
    c.bench_function("poll", |b| {
        b.iter(|| {
            now += 1_000;
            let action = engine.poll(Tick(now));
            engine.drain_journal_quietly();
            black_box(action)
        });
        engine.drain().for_each(drop);
    });
}

criterion_group!(engine, folds, polls);
criterion_main!(engine);
