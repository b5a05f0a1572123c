//! Reports made by hand for the renderers' tests: a leak, and one whose every name is hostile.

use crate::model::{
    AgePoint, AgentStatus, Candidate, Chain, Cost, Edge, EdgeKind, EpochNanos, FloorPoint, Frame,
    Hop, InputInfo, Jvm, Nanos, Oom, PassPoint, Producer, Progress, Report, Root, RootKind, Search,
    SearchEnd, Skipped, Strength, Verdict,
};

const START: i64 = 1_767_225_600_000_000_000;

fn at(seconds: i64) -> EpochNanos {
    EpochNanos::new(START + seconds * 1_000_000_000)
}

fn hop(class: &str, kind: EdgeKind, name: Option<&str>, run: u64) -> Hop {
    Hop {
        class: class.to_owned(),
        edge: Edge {
            kind,
            name: name.map(str::to_owned),
            index: (kind == EdgeKind::Array).then_some(17),
        },
        run,
        size: match class {
            "java.util.HashMap" => Some(120_331),
            "java.util.HashMap$Node[]" => Some(262_144),
            _ => None,
        },
    }
}

fn order_chain() -> Chain {
    Chain {
        id: "1a2b3c4d".to_owned(),
        signature: "static-field com.acme.shop.OrderCache.BY_CUSTOMER".to_owned(),
        root: Root {
            kind: RootKind::StaticField,
            text: "static field com.acme.shop.OrderCache.BY_CUSTOMER".to_owned(),
            class: Some("com.acme.shop.OrderCache".to_owned()),
            field: Some("BY_CUSTOMER".to_owned()),
            thread: None,
        },
        hops: vec![
            hop(
                "java.util.HashMap",
                EdgeKind::Static,
                Some("BY_CUSTOMER"),
                1,
            ),
            hop(
                "java.util.HashMap$Node[]",
                EdgeKind::Field,
                Some("table"),
                1,
            ),
            hop("java.util.HashMap$Node", EdgeKind::Array, None, 1),
            hop("java.util.HashMap$Node", EdgeKind::Field, Some("next"), 3),
            hop("java.util.ArrayList", EdgeKind::Field, Some("value"), 1),
            hop(
                "java.lang.Object[]",
                EdgeKind::Field,
                Some("elementData"),
                1,
            ),
            hop("com.acme.shop.Order", EdgeKind::Array, None, 1),
        ],
        leaf: "com.acme.shop.Order".to_owned(),
        strength: Strength::Durable,
        instances: Some(2214),
        share: Some(0.998),
        coverage: Some(1.0),
        retained_sampled_bytes: Some(43_306_189),
        growth_bytes_per_hour: Some(1.9e9),
        allocating_thread: Some("http-worker-3".to_owned()),
        stack: vec![
            Frame {
                class: "java.util.ArrayList".to_owned(),
                method: "add".to_owned(),
                line: Some(454),
            },
            Frame {
                class: "com.acme.shop.OrderHandler".to_owned(),
                method: "handle".to_owned(),
                line: Some(42),
            },
            Frame {
                class: "com.acme.shop.Server".to_owned(),
                method: "run".to_owned(),
                line: None,
            },
        ],
        first_seen: Some(at(31)),
        last_seen: Some(at(91)),
        producer: Producer::JfrChains,
        age_epochs: Some(28),
        container_hop: Some(2),
        confirmed: Some(false),
        provisional: false,
        aliases: Vec::new(),
        also_held: vec!["byte[]".to_owned()],
        identity: None,
        candidate_class: Some("com.acme.shop.Order".to_owned()),
        sightings: 2,
        seen_in: vec![0],
        noise: None,
    }
}

fn ages(count: u32) -> Vec<AgePoint> {
    (0..count)
        .map(|i| AgePoint {
            time: at(i64::from(i) * 4),
            ages: f64::from(i),
        })
        .collect()
}

/// A leak with everything that a report can show.
pub fn leak() -> Report {
    Report {
        inputs: vec![InputInfo {
            path: "leak.jfr".to_owned(),
            chunks: 2,
            events: 1234,
            skipped: vec![Skipped {
                chunk: Some(1),
                offset: 68_000,
                what: "the chunk ends 12 bytes before its size".to_owned(),
            }],
            start: Some(at(0)),
            end: Some(at(124)),
            jvm: Some(0),
        }],
        jvms: vec![Jvm {
            name: Some("OpenJDK 64-Bit Server VM".to_owned()),
            version: Some("OpenJDK 64-Bit Server VM (17.0.12+7) for linux-amd64 JRE".to_owned()),
            pid: Some(4242),
            started: Some(at(-1)),
            java_arguments: Some("com.acme.shop.Main".to_owned()),
            collector: Some("G1".to_owned()),
            max_heap_bytes: Some(256 << 20),
        }],
        verdict: Verdict::Leak,
        reason: "1 class keeps growing over 30 values and a chain to it was verified.".to_owned(),
        candidates: vec![
            Candidate {
                discounted: None,
                class: "com.acme.shop.Order".to_owned(),
                qualifying: true,
                ever_qualified: true,
                state: Some("qualified".to_owned()),
                confirmed: Some(false),
                values: Some(Progress { have: 30, need: 10 }),
                folds: Some(Progress { have: 9, need: 5 }),
                ages: Some(28.0),
                fitted_growth: Some(21.5),
                instances: Some(81),
                retained_sampled_bytes: Some(43_306_189),
                growth_bytes_per_hour: Some(1.9e9),
                earliest_signal_ns: None,
                thread: Some("http-worker-3".to_owned()),
                stack: Vec::new(),
                chains: vec!["1a2b3c4d".to_owned()],
                no_chain: None,
                noise: None,
                series: ages(30),
            },
            Candidate {
                discounted: None,
                class: "com.acme.shop.Session".to_owned(),
                qualifying: false,
                ever_qualified: false,
                state: Some("filling".to_owned()),
                confirmed: None,
                values: Some(Progress { have: 7, need: 10 }),
                folds: Some(Progress { have: 2, need: 5 }),
                ages: Some(7.0),
                fitted_growth: Some(3.0),
                instances: Some(9),
                retained_sampled_bytes: Some(4_718_592),
                growth_bytes_per_hour: None,
                earliest_signal_ns: Some(Nanos(360_000_000_000)),
                thread: None,
                stack: Vec::new(),
                chains: Vec::new(),
                no_chain: None,
                noise: None,
                series: ages(7),
            },
        ],
        chains: vec![order_chain()],
        searches: vec![
            Search {
                id: Some(1),
                producer: Producer::JfrChains,
                input: 0,
                start: Some(at(20)),
                end: Some(at(24)),
                outcome: SearchEnd::Abandoned("NoProgress".to_owned()),
                passes: 30,
                visited: Some(88_214),
                heap_walk_call_ns: Nanos(0),
                manual_walk_ns: Nanos(412_000_000),
                worst_pass_ns: Nanos(0),
                coverage: Some(0.41),
                details: [("frontier".to_owned(), "12".to_owned())].into(),
            },
            Search {
                id: Some(2),
                producer: Producer::JfrChains,
                input: 0,
                start: Some(at(30)),
                end: Some(at(31)),
                outcome: SearchEnd::Completed,
                passes: 4,
                visited: Some(412_000),
                heap_walk_call_ns: Nanos(1_400_000),
                manual_walk_ns: Nanos(380_000_000),
                worst_pass_ns: Nanos(1_400_000),
                coverage: Some(1.0),
                details: std::collections::BTreeMap::new(),
            },
        ],
        cost: Cost {
            heap_walk_call_ns: Nanos(1_400_000),
            manual_walk_ns: Nanos(792_000_000),
            passes: 34,
            worst_pass_ns: Nanos(1_400_000),
            refusals: [
                ("no-candidate".to_owned(), 18),
                ("safepoint-debt".to_owned(), 1),
            ]
            .into(),
            safepoint_balance_ns: Some(Nanos(0)),
            cpu_balance_ns: Some(Nanos(12_000_000)),
            edge_budget: Some(100_000),
            cadence_ns: Some(Nanos(1_000_000_000)),
            backoff_multiplier: Some(1),
            unresolved_candidates: Some(0),
            series: Vec::new(),
        },
        oom: Oom {
            seconds_to_oom: Some(412.0),
            urgent: Some(false),
            why_not: None,
        },
        agent: Some(AgentStatus {
            version: Some("0.1.0".to_owned()),
            engine: Some("concurrent".to_owned()),
            epoch_source: None,
            epochs: Some(31),
            samples: Some(2048),
            state: Some("active".to_owned()),
            configuration: Some("file=leak.jfr,interval=512k".to_owned()),
            degradations: vec!["GC counts come from callbacks: no java.management".to_owned()],
            drops: [("samples".to_owned(), 3), ("stacks".to_owned(), 0)].into(),
        }),
        heap_floor: (0..30)
            .map(|i| FloorPoint {
                time: at(i * 4),
                used_bytes: (40 + 5 * u64::try_from(i).unwrap()) << 20,
                max_bytes: Some(256 << 20),
                jvm: 0,
            })
            .collect(),
        passes: vec![PassPoint {
            time: at(30),
            wall: Nanos(200_000_000),
            heap_walk_call: Nanos(1_400_000),
        }],
        hints: Vec::new(),
        gc: None,
    }
}

/// A class of 104 characters, as frameworks name them.
pub const LONG: &str = "com.acme.enterprise.shop.orders.persistence.interceptors.support.\
    TransactionalOrderRepositoryFactoryBean$Entry";

/// The leak again, with names as frameworks make them.
pub fn long_names() -> Report {
    let mut report = leak();
    let chain = &mut report.chains[0];
    chain.leaf = LONG.to_owned();
    chain.root.class = Some(LONG.to_owned());
    chain.root.text = format!("static field {LONG}.CACHED_ORDERS_BY_CUSTOMER_AND_DATE");
    for hop in &mut chain.hops {
        hop.class = LONG.to_owned();
        hop.edge.name = hop
            .edge
            .name
            .as_ref()
            .map(|_| "accessOrderedEntriesByKey".to_owned());
    }
    for frame in &mut chain.stack {
        frame.class = LONG.to_owned();
        frame.method = "createOrderInTheScopeOfTheCurrentTransaction".to_owned();
    }
    for candidate in &mut report.candidates {
        candidate.class = LONG.to_owned();
    }
    report
}

/// The leak again, but every name was chosen by an attacker.
pub fn hostile() -> Report {
    let mut report = leak();
    let evil = "<script>alert(1)</script>`|\x1b[2J\u{202e}\n</td>\"'{{7*7}}";
    let chain = &mut report.chains[0];
    chain.leaf = evil.to_owned();
    chain.allocating_thread = Some(evil.to_owned());
    chain.root.class = Some(evil.to_owned());
    chain.root.field = Some(evil.to_owned());
    chain.root.text = evil.to_owned();
    for hop in &mut chain.hops {
        hop.class = evil.to_owned();
        hop.edge.name = Some(evil.to_owned());
    }
    for frame in &mut chain.stack {
        frame.class = evil.to_owned();
        frame.method = evil.to_owned();
    }
    for candidate in &mut report.candidates {
        candidate.class = evil.to_owned();
        candidate.thread = Some(evil.to_owned());
    }
    report.inputs[0].path = evil.to_owned();
    report.inputs[0].skipped[0].what = evil.to_owned();
    report.jvms[0].java_arguments = Some(evil.to_owned());
    report.searches[0].outcome = SearchEnd::Abandoned(evil.to_owned());
    report.cost.refusals = [(evil.to_owned(), 1)].into();
    report.hints = vec![evil.to_owned()];
    report.reason = evil.to_owned();
    if let Some(agent) = &mut report.agent {
        agent.state = Some(evil.to_owned());
        agent.degradations = vec![evil.to_owned()];
    }
    report
}
