//! Other producers' events, byte by byte, and ours through the writer.

use jfr_format::schema::events as own;
use jfr_format::schema::{Bytes, Name, Nanos, Share};
use jfr_writer::{Clock, Options};

use super::handmade::{TypeOf, array, number, recording, text};
use crate::model::merge::merge;
use crate::model::{
    EdgeKind, NoChainState, Producer, Report, RootKind, SearchEnd, Strength, Verdict,
};
use crate::reader::Recording;

const START: i64 = 1_767_225_600_000_000_000;

fn report_of(bytes: Vec<u8>) -> Report {
    let recording = Recording::from_bytes("made.jfr", bytes).unwrap();
    merge(vec![super::read(&recording, &|_| {})])
}

/// The layout of the profiler's events: `chain` is leaf first, `edges[i]` leads into `chain[i]`.
const DATADOG: &[TypeOf] = &[
    TypeOf {
        id: 10,
        name: "long",
        event: false,
        fields: &[],
    },
    TypeOf {
        id: 11,
        name: "int",
        event: false,
        fields: &[],
    },
    TypeOf {
        id: 12,
        name: "java.lang.String",
        event: false,
        fields: &[],
    },
    TypeOf {
        id: 20,
        name: "java.lang.Class",
        event: false,
        fields: &[("name", 21, true, false)],
    },
    TypeOf {
        id: 21,
        name: "jdk.types.Symbol",
        event: false,
        fields: &[("string", 12, false, false)],
    },
    TypeOf {
        id: 100,
        name: "datadog.ReferenceChain",
        event: true,
        fields: &[
            ("startTime", 10, false, false),
            ("targetTag", 10, false, false),
            ("depth", 11, false, false),
            ("rootKind", 11, false, false),
            ("chain", 20, true, true),
            ("edges", 12, false, true),
        ],
    },
    TypeOf {
        id: 101,
        name: "datadog.ReferenceChainAbandoned",
        event: true,
        fields: &[
            ("startTime", 10, false, false),
            ("reason", 12, false, false),
            ("passesRun", 11, false, false),
            ("frontierSize", 11, false, false),
            ("hopCap", 11, false, false),
            ("budget", 11, false, false),
            ("ttlMs", 10, false, false),
            ("elapsedNanos", 10, false, false),
        ],
    },
];

fn datadog(root_kind: u64, classes: &[&str], edges: &[&str]) -> Vec<u8> {
    let symbols = classes
        .iter()
        .enumerate()
        .map(|(at, name)| (at as u64 + 1, text(name)))
        .collect();
    let constants = (1..=classes.len() as u64)
        .map(|key| (key, number(key)))
        .collect();
    let keys: Vec<_> = (1..=classes.len() as u64).map(number).collect();
    let labels: Vec<_> = edges.iter().map(|edge| text(edge)).collect();
    let chain = [
        number(100),
        number(1_000),
        number(3),
        number(2),
        number(root_kind),
        array(&keys),
        array(&labels),
    ]
    .concat();
    let abandoned = [
        number(101),
        number(5_000_000_000),
        text("FrontierCap"),
        number(17),
        number(65_536),
        number(200),
        number(1_000),
        number(60_000),
        number(4_000_000_000),
    ]
    .concat();
    recording(
        START,
        DATADOG,
        &[(20, constants), (21, symbols)],
        &[chain, abandoned],
    )
}

#[test]
fn a_datadog_chain_from_a_static_field_reads_like_ours() {
    let report = report_of(datadog(
        8,
        &[
            "com/acme/Order",
            "[Ljava/lang/Object;",
            "java/util/ArrayList",
            "com/acme/OrderCache",
        ],
        &["element", "elementData", "BY_CUSTOMER", "static_field"],
    ));
    let chain = &report.chains[0];
    assert_eq!(chain.producer, Producer::Datadog);
    assert_eq!(chain.root.kind, RootKind::StaticField);
    assert_eq!(chain.root.class.as_deref(), Some("com.acme.OrderCache"));
    assert_eq!(chain.root.field.as_deref(), Some("BY_CUSTOMER"));
    let hops: Vec<_> = chain
        .hops
        .iter()
        .map(|h| (h.class.as_str(), h.edge.kind))
        .collect();
    assert_eq!(
        hops,
        [
            ("java.util.ArrayList", EdgeKind::Static),
            ("java.lang.Object[]", EdgeKind::Field),
            ("com.acme.Order", EdgeKind::Array),
        ]
    );
    assert_eq!(chain.leaf, "com.acme.Order");
    assert_eq!(report.verdict, Verdict::Leak, "{}", report.reason);
    // The same leak told by another producer has the same signature.
    let ours = super::path_text::parse(
        "static-field com.acme.OrderCache.BY_CUSTOMER -> ::BY_CUSTOMER java.util.ArrayList \
         -> .elementData java.lang.Object[] -> [3] com.acme.Order",
    );
    let signature = crate::model::identity::signature_of(&chain.root, &ours);
    assert_eq!(chain.signature, signature.text);
}

#[test]
fn a_report_on_datadogs_events_reads_like_one_on_ours() {
    let report = report_of(datadog(
        8,
        &[
            "com/acme/Order",
            "[Ljava/lang/Object;",
            "java/util/ArrayList",
            "com/acme/OrderCache",
        ],
        &["element", "elementData", "BY_CUSTOMER", "static_field"],
    ));
    let mut out = Vec::new();
    crate::report::text::write(&report, &mut anstream::StripStream::new(&mut out)).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap());
}

#[test]
fn a_datadog_chain_from_a_native_root_keeps_every_class() {
    let report = report_of(datadog(
        21,
        &["[B", "com/acme/Buffer"],
        &["data", "jni_global"],
    ));
    let chain = &report.chains[0];
    assert_eq!(chain.root.kind, RootKind::JniGlobal);
    assert_eq!(chain.strength, Strength::Durable);
    let classes: Vec<_> = chain.hops.iter().map(|h| h.class.as_str()).collect();
    assert_eq!(classes, ["com.acme.Buffer", "byte[]"]);
    assert_eq!(chain.hops[1].edge.name.as_deref(), Some("data"));
}

#[test]
fn a_datadog_abandonment_is_a_search_with_its_figures() {
    let report = report_of(datadog(21, &["[B"], &["jni_global"]));
    let search = &report.searches[0];
    assert_eq!(search.producer, Producer::Datadog);
    assert_eq!(
        search.outcome,
        SearchEnd::Abandoned("FrontierCap".to_owned())
    );
    assert_eq!(search.passes, 17);
    assert_eq!(search.details["frontier"], "65536");
    assert_eq!(search.details["time limit"], "1 min");
    let (start, end) = (search.start.unwrap(), search.end.unwrap());
    assert_eq!(end.since(start), crate::model::Nanos(4_000_000_000));
}

/// A recording of ours with these events, through the writer.
fn written(emit: impl FnOnce(&mut jfr_writer::Recording)) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.jfr");
    let clock = Clock {
        epoch_nanos: START,
        ticks: 0,
        ticks_per_second: 1_000_000_000,
    };
    let options = Options {
        sync: false,
        ..Options::default()
    };
    let mut recording = jfr_writer::Recording::open(&path, clock, 0, options).unwrap();
    emit(&mut recording);
    let closed = recording.close(60_000_000_000);
    assert!(closed.error.is_none(), "{:?}", closed.error);
    report_of(std::fs::read(&path).unwrap())
}

fn candidate(class: &str, state: &str, values: i32) -> own::LeakCandidate {
    own::LeakCandidate {
        class_name: Name::from(class),
        state: Name::from(state),
        confirmed: true,
        values,
        values_needed: 10,
        folds: 2,
        folds_needed: 5,
        survivors: 40,
        retained_sampled_bytes: Bytes(1 << 20),
        ..own::LeakCandidate::default()
    }
}

fn status(epoch: i64) -> own::AgentStatus {
    own::AgentStatus {
        code: Name::of("periodic"),
        severity: Name::of("info"),
        version: Name::of("0.1.0"),
        epoch,
        ..own::AgentStatus::default()
    }
}

fn chain(path: &str, strength: &'static str) -> own::ReferenceChain {
    own::ReferenceChain {
        chain: 7,
        search: 1,
        root_kind: Name::of("static-field"),
        root_description: Name::of("com.acme.Cache.MAP"),
        candidate_name: Name::of("com.acme.V"),
        leaf_class: Name::of("com.acme.V"),
        strength: Name::of(strength),
        instances: 99,
        share: Some(Share(0.5)),
        retained_sampled_bytes: Bytes(1 << 20),
        growth_per_hour: Some(Bytes(1 << 30)),
        path: path.to_owned(),
        ..own::ReferenceChain::default()
    }
}

const PATH: &str = "static-field com.acme.Cache.MAP -> ::MAP java.util.HashMap -> .table \
                    java.util.HashMap$Node[] -> [1] java.util.HashMap$Node -> .value com.acme.V";

#[test]
fn the_text_of_a_path_suffices_when_its_hops_are_gone() {
    let report = written(|recording| {
        recording.emit(1, &status(20));
        recording.emit(2, &candidate("com.acme.V", "qualified", 30));
        recording.emit(3, &chain(PATH, "durable"));
    });
    assert_eq!(report.verdict, Verdict::Leak, "{}", report.reason);
    let chain = &report.chains[0];
    assert_eq!(chain.hops.len(), 4);
    assert_eq!(chain.share, Some(0.5));
    assert!(report.candidates[0].chains.contains(&chain.id));
}

/// What an agent says that is loaded at epoch 129 and has seen 42 more after so long.
fn loaded_late(after: i64) -> Report {
    let at = |code: &'static str, state: &'static str, epoch, samples| own::AgentStatus {
        code: Name::of(code),
        state: Some(Name::of(state)),
        samples,
        ..status(epoch)
    };
    written(|recording| {
        recording.emit(1, &at("started", "idle", 129, 0));
        recording.emit(1 + after, &at("periodic", "tracking", 171, 900));
    })
}

#[test]
fn collections_from_before_the_agent_was_loaded_clear_nobody() {
    const SECOND: i64 = 1_000_000_000;
    let early = loaded_late(3 * SECOND);
    assert_eq!(early.verdict, Verdict::Unknown, "{}", early.reason);
    let told = "no class has a value yet after 42 collection cycles within 3 s";
    assert!(early.reason.contains(told), "{}", early.reason);
    let later = loaded_late(50 * SECOND);
    assert_eq!(later.verdict, Verdict::NoLeak, "{}", later.reason);
}

#[test]
fn an_agent_that_refused_to_start_has_analysed_nothing() {
    let refused = own::AgentStatus {
        code: Name::of("options-refused"),
        severity: Name::of("error"),
        state: Some(Name::of("idle")),
        message: "option depth=\"900\" is wrong".to_owned(),
        ..status(0)
    };
    let report = written(|recording| {
        recording.emit(1, &refused);
    });
    assert!(!report.is_analysed());
    assert_eq!(report.verdict, Verdict::Unknown);
    assert_eq!(
        report.reason,
        "The agent did not work in this JVM: option depth=\"900\" is wrong."
    );
}

#[test]
fn noise_is_ranked_last_and_told_with_its_reason() {
    let report = written(|recording| {
        recording.emit(1, &status(20));
        recording.emit(2, &chain(PATH, "durable"));
        let mut warm_up = chain(
            "static-field java.lang.invoke.MethodType.INTERN -> ::INTERN java.util.HashMap -> .table \
             java.util.HashMap$Node[] -> [1] java.lang.invoke.MethodType",
            "durable",
        );
        warm_up.chain = 8;
        warm_up.root_description = Name::of("java.lang.invoke.MethodType.INTERN");
        warm_up.candidate_name = Name::of("java.lang.invoke.MethodType");
        warm_up.leaf_class = Name::of("java.lang.invoke.MethodType");
        warm_up.retained_sampled_bytes = Bytes(1 << 40);
        recording.emit(3, &warm_up);
    });
    let leaves: Vec<&str> = report.chains.iter().map(|c| c.leaf.as_str()).collect();
    assert_eq!(leaves, ["com.acme.V", "java.lang.invoke.MethodType"]);
    let mut out = Vec::new();
    crate::report::text::write(&report, &mut anstream::StripStream::new(&mut out)).unwrap();
    let text = String::from_utf8(out).unwrap();
    let (_, last) = text.split_once("Probably warm-up").unwrap();
    assert!(
        last.contains("java.lang.invoke.MethodType held by"),
        "{text}"
    );
}

#[test]
fn a_chain_that_is_recorded_again_is_one_chain() {
    let report = written(|recording| {
        recording.emit(1, &status(20));
        for at in [2, 60, 90] {
            let mut again = chain(PATH, "durable");
            again.instances = 100 + at;
            recording.emit(at, &again);
        }
    });
    assert_eq!(report.chains.len(), 1);
    assert_eq!(report.chains[0].sightings, 3);
    assert_eq!(
        report.chains[0].instances,
        Some(190),
        "the newest figures count"
    );
}

#[test]
fn a_class_that_is_only_softly_held_is_no_leak() {
    let report = written(|recording| {
        recording.emit(1, &status(20));
        recording.emit(2, &candidate("com.acme.V", "qualified", 30));
        recording.emit(3, &chain(PATH, "soft"));
    });
    assert_eq!(report.verdict, Verdict::NoLeak);
    assert!(report.reason.contains("soft or weak"), "{}", report.reason);
}

/// A class that keeps growing, and a search for it that ended as `ended` says.
fn searched_in_vain(ended: own::SearchAbandoned, confirmed: bool) -> Report {
    written(|recording| {
        recording.emit(1, &status(40));
        let growing = own::LeakCandidate {
            confirmed,
            ..candidate("com.acme.V", "qualified", 30)
        };
        recording.emit(2, &growing);
        let started = own::SearchStarted {
            search: 3,
            candidates: "com.acme.V, com.acme.W".to_owned(),
            ..own::SearchStarted::default()
        };
        recording.emit(3, &started);
        recording.emit(4, &ended);
    })
}

fn complete() -> own::SearchAbandoned {
    own::SearchAbandoned {
        search: 3,
        reason: Name::of("CandidateLost"),
        without_chain: Some("com.acme.V".to_owned()),
        unreached: Some("com.acme.V".to_owned()),
        ..own::SearchAbandoned::default()
    }
}

#[test]
fn a_complete_search_that_met_no_instance_proves_that_there_is_no_strong_path() {
    let report = searched_in_vain(complete(), true);
    let why = report.candidates[0].no_chain.as_ref().unwrap();
    assert!(why.is_proven() && why.search == Some(3), "{why:?}");
    assert_eq!(report.verdict, Verdict::Leak, "{}", report.reason);
    let headline = crate::report::words::headline(&report);
    assert!(
        headline.starts_with("com.acme.V keeps growing; no strong path: "),
        "{headline}"
    );
    // As long as nothing tells it from promoted garbage it is no leak.
    let report = searched_in_vain(complete(), false);
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.reason);
    let headline = crate::report::words::headline(&report);
    assert!(headline.contains("no strong path: "), "{headline}");
}

#[test]
fn a_search_that_was_cut_proves_nothing_and_says_what_it_left_out() {
    let mut cut = complete();
    cut.gaps = Some(Name::of("memory-cap, roots-skipped"));
    let mut lost = complete();
    lost.unreached = None;
    let mut older = complete();
    (older.unreached, older.without_chain) = (None, None);
    for (ended, state, gaps) in [
        (
            cut,
            NoChainState::Incomplete,
            &["memory-cap", "roots-skipped"][..],
        ),
        (lost, NoChainState::PathLost, &[]),
        (older, NoChainState::Incomplete, &["not-told"]),
    ] {
        let report = searched_in_vain(ended, true);
        let why = report.candidates[0].no_chain.as_ref().unwrap();
        assert_eq!(
            (why.state, &why.gaps[..]),
            (
                state,
                &gaps.iter().map(|g| (*g).to_owned()).collect::<Vec<_>>()[..]
            )
        );
        let headline = crate::report::words::headline(&report);
        assert!(!headline.contains("no strong path"), "{headline}");
        assert_eq!(report.verdict, Verdict::Leak, "{}", report.reason);
    }
}

#[test]
fn a_class_with_a_chain_has_no_reason_for_having_none() {
    let report = written(|recording| {
        recording.emit(1, &status(20));
        recording.emit(2, &candidate("com.acme.V", "qualified", 30));
        recording.emit(3, &candidate("com.acme.W", "qualified", 30));
        recording.emit(4, &chain(PATH, "durable"));
    });
    let why = |class: &str| {
        let all = report.candidates.iter();
        let of_class = all.filter(|c| c.class == class);
        of_class
            .map(|c| c.no_chain.as_ref().map(|why| why.state))
            .next()
    };
    assert_eq!(why("com.acme.V"), Some(None));
    assert_eq!(why("com.acme.W"), Some(Some(NoChainState::NotSearched)));
}

#[test]
fn what_grew_and_stopped_is_a_plateau() {
    let report = written(|recording| {
        recording.emit(1, &status(20));
        recording.emit(2, &candidate("com.acme.V", "qualified", 30));
        recording.emit(3, &chain(PATH, "durable"));
        recording.emit(4, &candidate("com.acme.V", "plateau", 30));
    });
    assert_eq!(report.verdict, Verdict::Plateau, "{}", report.reason);
}

#[test]
fn before_ten_values_the_answer_is_unknown_with_the_progress() {
    let report = written(|recording| {
        recording.emit(1, &status(9));
        recording.emit(2, &candidate("com.acme.V", "filling", 7));
    });
    assert_eq!(report.verdict, Verdict::Unknown);
    assert!(
        report.reason.contains("7 of 10 values"),
        "{}",
        report.reason
    );
    let words = report.candidates[0].progress_words().unwrap();
    assert_eq!(words, "7 of 10 values, 2 of 5 folds");
}

#[test]
fn many_collections_do_not_make_up_for_the_values_that_are_missing() {
    let report = written(|recording| {
        recording.emit(1, &status(40));
        recording.emit(2, &candidate("com.acme.V", "filling", 9));
        recording.emit(3, &candidate("[B", "filling", 9));
    });
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.reason);
}

#[test]
fn a_class_on_the_way_to_its_first_signal_is_not_yet_judged() {
    let after = |values| {
        written(|recording| {
            recording.emit(1, &status(40));
            recording.emit(2, &candidate("com.acme.V", "rising", values));
        })
    };
    assert_eq!(after(13).verdict, Verdict::Unknown);
    assert_eq!(after(14).verdict, Verdict::NoLeak);
}

#[test]
fn no_leak_says_how_many_classes_came_too_late_to_be_judged() {
    let report = written(|recording| {
        recording.emit(1, &status(40));
        recording.emit(2, &candidate("com.acme.V", "flat", 30));
        recording.emit(3, &candidate("com.acme.Late", "filling", 3));
    });
    assert_eq!(report.verdict, Verdict::NoLeak, "{}", report.reason);
    let late = "For 1 of them it is too early to say.";
    assert!(report.reason.ends_with(late), "{}", report.reason);
}

#[test]
fn watched_long_enough_and_nothing_grows_is_no_leak() {
    let report = written(|recording| {
        recording.emit(1, &status(40));
        recording.emit(2, &candidate("com.acme.V", "flat", 30));
    });
    assert_eq!(report.verdict, Verdict::NoLeak, "{}", report.reason);
}

#[test]
fn a_rising_floor_without_a_candidate_is_said_and_is_no_leak_of_a_class() {
    let report = written(|recording| {
        recording.emit(1, &status(40));
        recording.emit(2, &candidate("com.acme.V", "flat", 30));
        for n in 0..30 {
            let floor = own::HeapFloor {
                used: Some(Bytes((50 + n) << 20)),
                max: Some(Bytes(256 << 20)),
                rising: true,
                ..own::HeapFloor::default()
            };
            recording.emit(3 + n, &floor);
        }
    });
    assert_eq!(report.verdict, Verdict::Unknown);
    assert!(
        report.reason.contains("no chain can be had"),
        "{}",
        report.reason
    );
}

#[test]
fn refusals_are_cumulative_and_named_like_the_gates() {
    let report = written(|recording| {
        recording.emit(1, &status(40));
        for (at, refused) in [(2, 3), (3, 8)] {
            let gates = own::GateRefusals {
                no_candidate: refused,
                ..own::GateRefusals::default()
            };
            recording.emit(at, &gates);
        }
    });
    assert_eq!(report.cost.refusals["no-candidate"], 8);
    assert_eq!(
        report.cost.refusals.len(),
        1,
        "gates that never refused are left out"
    );
}

#[test]
fn totals_of_a_search_survive_missing_passes() {
    let report = written(|recording| {
        recording.emit(1, &status(40));
        let done = own::SearchCompleted {
            search: 4,
            outcome: Name::of("completed"),
            passes: 12,
            elapsed: Nanos(2_000_000_000),
            heap_walk_call_time: Nanos(3_000_000),
            manual_walk_time: Nanos(700_000_000),
            resolved: 1,
            ..own::SearchCompleted::default()
        };
        recording.emit(5_000_000_000, &done);
    });
    assert_eq!(report.searches.len(), 1);
    assert_eq!(report.cost.passes, 12);
    assert_eq!(
        report.cost.heap_walk_call_ns,
        crate::model::Nanos(3_000_000)
    );
    assert_eq!(report.searches[0].outcome, SearchEnd::Completed);
}
