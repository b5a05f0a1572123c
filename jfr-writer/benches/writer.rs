//! Events and chains a second of CPU time, without waiting for the device.

use cpu_time::ProcessTime;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jfr_format::entity::ClassInfo;
use jfr_format::path::{ChainPath, Edge, Link, Root};
use jfr_format::schema::Nanos;
use jfr_format::schema::events::{GateRefusals, SearchPass};
use jfr_writer::{ChainSample, Clock, Options, Recording};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const CLOCK: Clock = Clock {
    epoch_nanos: 1_700_000_000_000_000_000,
    ticks: 0,
    ticks_per_second: 1_000_000_000,
};

/// Events between two flushes.
const BATCH: i64 = 10_000;

/// CPU time of the process: what others do on the machine is not in it.
struct Cpu;

impl Measurement for Cpu {
    type Intermediate = ProcessTime;
    type Value = Duration;

    fn start(&self) -> ProcessTime {
        ProcessTime::now()
    }

    fn end(&self, start: ProcessTime) -> Duration {
        start.elapsed()
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn open(folder: &tempfile::TempDir) -> Option<Recording> {
    let options = Options {
        sync: false,
        max_size: Some(64 << 20),
        ..Options::default()
    };
    Recording::open(&folder.path().join("bench.jfr"), CLOCK, 0, options).ok()
}

fn chain() -> ChainPath {
    let link = |at: u32| Link {
        edge: Edge::Field {
            name: format!("field{at}"),
        },
        class: Arc::new(ClassInfo::named(format!("com.acme.Class{at}"))),
        run: 1,
        size: None,
        fan_out: None,
    };
    ChainPath {
        root: Root::default(),
        links: (0..10).map(link).collect(),
    }
}

fn writer(criterion: &mut Criterion<Cpu>) {
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    let mut group = criterion.benchmark_group("writer");
    group
        .throughput(Throughput::Elements(BATCH.unsigned_abs()))
        .measurement_time(Duration::from_secs(5));

    let mut run = |name: &str, emit: &mut dyn FnMut(&mut Recording, i64)| {
        let Some(mut recording) = open(&folder) else {
            return;
        };
        let mut now = 0;
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || (),
                |()| {
                    for _ in 0..BATCH {
                        now += 1;
                        emit(&mut recording, now);
                    }
                    black_box(recording.flush(now)).is_ok()
                },
                BatchSize::PerIteration,
            );
        });
        recording.close(now);
    };

    let refusals = GateRefusals {
        no_candidate: 3,
        ..GateRefusals::default()
    };
    run("small event", &mut |recording, now| {
        black_box(recording.emit(now, &refusals));
    });
    let pass = SearchPass {
        search: 1,
        heap_walk_call_time: Nanos(1_000),
        ..SearchPass::default()
    };
    run("search pass", &mut |recording, now| {
        black_box(recording.emit(now, &pass));
    });
    let mut chain = chain();
    run("ten-hop chain", &mut |recording, now| {
        if let Some(link) = chain.links.first_mut() {
            link.run = u32::try_from(now & 0xffff).unwrap_or(1);
        }
        black_box(recording.emit_chain(now, &chain, &ChainSample::default()));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(Cpu);
    targets = writer
}
criterion_main!(benches);
