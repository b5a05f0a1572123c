//! A recording with every event type, as the tests judge it.
#![allow(dead_code, reason = "each test binary uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Child, Jdk};
use jfr_format::entity::{
    ClassInfo, FrameInfo, FrameKind, LoaderInfo, MethodInfo, StackInfo, ThreadInfo,
};
use jfr_format::header::Header;
use jfr_format::path::{ChainPath, Edge, Link, Root, RootKind};
use jfr_format::schema::events::{
    AgentStatus, CoreInput, CostBudget, GateRefusals, HeapFloor, Hop, LeakCandidate, OomProjection,
    ReferenceChain, SearchAbandoned, SearchCompleted, SearchPass, SearchStarted, UrgencyLatch,
};
use jfr_format::schema::{AnyEvent, Bytes, EpochMillis, Name, Nanos, Share};
use jfr_writer::disk::Disk;
use jfr_writer::{ChainSample, Clock, Options, Recording};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// 2023-11-14T22:13:20Z at tick 5,000,000,000, ns ticks.
pub const CLOCK: Clock = Clock {
    epoch_nanos: 1_700_000_000_000_000_000,
    ticks: 5_000_000_000,
    ticks_per_second: 1_000_000_000,
};

pub fn class(name: &str) -> Arc<ClassInfo> {
    let loader = LoaderInfo {
        class_name: "jdk.internal.loader.ClassLoaders$AppClassLoader".into(),
        name: Some("app".into()),
    };
    let loader = name.starts_with("com.acme").then(|| Arc::new(loader));
    let module = name.starts_with("java.").then(|| "java.base".to_owned());
    Arc::new(ClassInfo {
        modifiers: 1,
        loader,
        module,
        ..ClassInfo::named(name)
    })
}

pub fn thread() -> Arc<ThreadInfo> {
    Arc::new(ThreadInfo {
        os_name: Some("http-1".into()),
        os_thread_id: 4711,
        java_name: Some("http-worker-1".into()),
        java_thread_id: 42,
        group: Some("main".into()),
        ..ThreadInfo::default()
    })
}

pub fn stack() -> Arc<StackInfo> {
    let frame = |class_name: &str, name: &str, line| FrameInfo {
        method: Arc::new(MethodInfo {
            class: class(class_name),
            name: name.into(),
            descriptor: "(Ljava/lang/String;)V".into(),
            modifiers: 1,
            hidden: false,
        }),
        line,
        bytecode_index: line,
        kind: FrameKind::JitCompiled,
    };
    Arc::new(StackInfo {
        frames: vec![
            frame("com.acme.OrderService", "handle", Some(17)),
            frame("com.acme.Server", "run", None),
        ],
        truncated: true,
    })
}

/// The leak of the order service: eight hops, a run and a static field.
pub fn path() -> ChainPath {
    let link = |edge, name: &str| Link {
        edge,
        class: class(name),
        run: 1,
        size: (name == "java.util.HashMap").then_some(57),
        fan_out: None,
    };
    let field = |name: &str| Edge::Field { name: name.into() };
    ChainPath {
        root: Root {
            kind: RootKind::StaticField,
            description: "com.acme.OrderCache.BY_CUSTOMER".into(),
        },
        links: vec![
            link(
                Edge::Static {
                    name: "BY_CUSTOMER".into(),
                },
                "java.util.HashMap",
            ),
            link(field("table"), "[Ljava.util.HashMap$Node;"),
            link(
                Edge::Array {
                    index: Some(17),
                    length: Some(64),
                },
                "java.util.HashMap$Node",
            ),
            Link {
                run: 3,
                ..link(field("next"), "java.util.HashMap$Node")
            },
            link(field("value"), "java.util.ArrayList"),
            link(field("elementData"), "[Ljava.lang.Object;"),
            link(
                Edge::Array {
                    index: Some(3),
                    length: Some(10),
                },
                "com.acme.Order",
            ),
        ],
    }
}

pub fn chain_event(chain: i64) -> ReferenceChain {
    let path = path();
    ReferenceChain {
        chain,
        search: 1,
        signature: Name::of("0a1b2c3d"),
        identity: Name::of("99887766"),
        root_kind: Name::of("static-field"),
        root_description: Name::of("com.acme.OrderCache.BY_CUSTOMER"),
        candidate_class: Some(class("com.acme.Order")),
        candidate_name: Name::of("com.acme.Order"),
        leaf_class: Name::of("com.acme.Order"),
        allocating_thread: Some(thread()),
        thread_name: Name::of("http-worker-1"),
        allocation_stack_trace: Some(stack()),
        strength: Name::of("durable"),
        depth: 7,
        total_hops: 9,
        container_hop: Some(5),
        age: Some(14),
        instances: 64,
        share: Some(Share(1.0)),
        coverage: Some(Share(0.25)),
        retained_sampled_bytes: Bytes(52_428_800),
        growth_per_hour: Some(Bytes(1 << 30)),
        confirmed: true,
        first_seen: EpochMillis(1_700_000_000_123),
        path: path.to_text(),
        ..ReferenceChain::default()
    }
}

pub fn sample() -> ChainSample {
    ChainSample {
        thread: Some(thread()),
        stack: Some(stack()),
        allocation_ticks: CLOCK.ticks + 1_000,
        object_size: 24,
        heap_used: 100 << 20,
        array_length: None,
    }
}

/// One of every type of ours.
pub fn one_of_each() -> Vec<AnyEvent> {
    let candidate = LeakCandidate {
        class: Some(class("com.acme.Order")),
        class_name: Name::of("com.acme.Order"),
        progress: "7 of 10 values, 2 of 5 folds".into(),
        thread: Some(thread()),
        earliest_signal: Some(Nanos::from_millis(360_000)),
        fitted_start: Some(2.5),
        ..LeakCandidate::default()
    };
    let hop = Hop {
        chain: 1,
        class: Some(class("[I")),
        class_name: Name::of("int[]"),
        ..Hop::default()
    };
    let status = AgentStatus {
        code: Name::of("started"),
        message: "äöü \u{1F600} \"quoted\"".into(),
        ..AgentStatus::default()
    };
    vec![
        chain_event(1).into(),
        hop.into(),
        SearchStarted::default().into(),
        SearchPass {
            search: 1,
            pass: 2,
            coverage: Some(Share(0.5)),
            ..SearchPass::default()
        }
        .into(),
        SearchCompleted::default().into(),
        SearchAbandoned {
            reason: Name::of("Ttl"),
            ..SearchAbandoned::default()
        }
        .into(),
        CostBudget {
            search: None,
            cadence: Nanos::from_millis(1_000),
            ..CostBudget::default()
        }
        .into(),
        GateRefusals {
            no_candidate: 12,
            ..GateRefusals::default()
        }
        .into(),
        candidate.into(),
        HeapFloor {
            used: Some(Bytes(1 << 20)),
            ..HeapFloor::default()
        }
        .into(),
        OomProjection::default().into(),
        UrgencyLatch::default().into(),
        status.into(),
        CoreInput {
            sequence: 1,
            kind: Name::of("fold"),
            text: "{\"a\":1}".into(),
            ..CoreInput::default()
        }
        .into(),
    ]
}

/// Emits one of each type and the chain as the JVM's sample, `times` times from `ticks` on; how many events.
pub fn emit_all<D: Disk>(recording: &mut Recording<D>, ticks: i64, times: i64) -> u64 {
    let mut events = 0;
    for time in 0..times {
        for (at, event) in one_of_each().iter().enumerate() {
            assert!(recording.emit_any(ticks + time * 1_000_000 + at as i64, event));
            events += 1;
        }
        assert!(recording.emit_chain(ticks + time * 1_000_000, &path(), &sample()));
        events += 1;
    }
    events
}

/// The classes that the leaks of [`write_two_processes`] are of, in the file's order.
pub const TWO_LEAKS: [&str; 2] = ["com.acme.Order", "com.other.Invoice"];

/// The files of two processes, one behind the other: their keys are the same and mean different things.
pub fn write_two_processes(file: &Path) {
    let mut both = Vec::new();
    for (leak, start) in TWO_LEAKS.into_iter().zip([0, 10_000_000_000]) {
        let start = CLOCK.ticks + start;
        let own = file.with_extension("own");
        let mut recording = Recording::open(&own, CLOCK, start, Options::default()).unwrap();
        let event = ReferenceChain {
            candidate_class: Some(class(leak)),
            candidate_name: Name::of(leak),
            ..chain_event(1)
        };
        let mut path = path();
        path.links.last_mut().unwrap().class = class(leak);
        assert!(recording.emit(start + 1_000, &event));
        assert!(recording.emit_chain(start + 1_000, &path, &sample()));
        assert!(recording.close(start + 1_000_000).error.is_none());
        both.extend(std::fs::read(&own).unwrap());
        std::fs::remove_file(&own).unwrap();
    }
    std::fs::write(file, both).unwrap();
}

/// A closed recording with a chain of 22:13:25.005, three seconds and three ms after the allocation of its object, as
/// ticks of any speed.
pub fn write_at(file: &Path, ticks_per_second: i64) {
    let clock = Clock {
        ticks: 0,
        ticks_per_second,
        ..CLOCK
    };
    let at = |millis: i64| millis * ticks_per_second / 1_000;
    let mut recording = Recording::open(file, clock, 0, Options::default()).unwrap();
    let sample = ChainSample {
        allocation_ticks: at(2_002),
        ..sample()
    };
    assert!(recording.emit_chain(at(5_005), &path(), &sample));
    assert!(recording.emit(at(5_005), &chain_event(1)));
    assert!(recording.close(at(6_000)).error.is_none());
}

/// Has a JVM record itself into `jvm.jfr` of that folder and puts a chunk of ours with that many of every event behind
/// it, by the JVM's clock: the path of the former, the bytes of both.
pub fn behind_a_jvms(jdk: &Jdk, folder: &Path, events: i64) -> (PathBuf, Vec<u8>) {
    let jvm = folder.join("jvm.jfr");
    let run = Child::java(jdk)
        .arg(format!(
            "-XX:StartFlightRecording=filename={},settings=profile",
            jvm.display()
        ))
        .arg("--version")
        .run(Duration::from_secs(120))
        .unwrap();
    assert!(run.ok(), "{run}");
    let mut both = std::fs::read(&jvm).unwrap();
    let header = Header::parse(&both).unwrap();
    let clock = Clock::of_header(&header);
    let start = clock.ticks_at(header.start_nanos + header.duration_nanos);
    let own = folder.join("own.jfr");
    let options = Options {
        object_size: jdk.release() > 17,
        ..Options::default()
    };
    let mut recording = Recording::open(&own, clock, start, options).unwrap();
    emit_all(&mut recording, start + 1_000, events);
    assert!(recording.close(start + 1_000_000_000).error.is_none());
    both.extend(std::fs::read(&own).unwrap());
    (jvm, both)
}
