//! The tools of JDK 17 and 25 take our files, alone and behind a JVM's own chunks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod support;
#[path = "support/tools.rs"]
mod tools;

use jfr_chains_tests::scratch;
use jfr_format::schema;
use jfr_writer::{Options, Recording};
use std::path::Path;
use support::{CLOCK, behind_a_jvms, emit_all};
use tools::{count, counts, jfr, judges};

/// A closed recording with each event type `times` times.
fn closed(path: &Path, times: i64) -> u64 {
    let mut recording = Recording::open(path, CLOCK, CLOCK.ticks, Options::default()).unwrap();
    let events = emit_all(&mut recording, CLOCK.ticks + 1_000, times);
    let closed = recording.close(CLOCK.ticks + 1_000_000_000);
    assert!(closed.error.is_none(), "{:?}", closed.error);
    assert_eq!(closed.counters.events_written, events);
    events
}

#[test]
fn summary_print_json_xml_and_metadata_accept_a_closed_file() {
    let dir = scratch("jdk_tools").unwrap();
    let file = dir.path().join("leak.jfr");
    closed(&file, 3);
    for jdk in judges("summary_print_json_xml_and_metadata_accept_a_closed_file") {
        let counts = counts(&jdk, &file);
        for schema in schema::all() {
            assert_eq!(
                counts
                    .iter()
                    .find(|(name, _)| name == schema.name)
                    .map(|c| c.1),
                Some(3),
                "{}",
                schema.name
            );
        }
        assert_eq!(count(&jdk, &file, "jdk.OldObjectSample"), 3);

        let metadata = jfr(&jdk, &["metadata"], &file);
        assert!(
            metadata.contains("@Category({\"Java Virtual Machine\", \"Reference Chains\"})"),
            "{metadata}"
        );
        assert!(metadata.contains("@Name(\"jfrchains.ReferenceChain\")"));

        let printed = jfr(&jdk, &["print"], &file);
        assert!(printed.contains("heapWalkCallTime = 0 s"), "{printed}");
        assert!(
            printed.contains("retainedSampledBytes = 50.0 MB"),
            "{printed}"
        );
        assert!(printed.contains("coverage = 25.00%"), "{printed}");
        assert!(
            printed.contains("age = 14") && printed.contains("containerUsed = N/A"),
            "{printed}"
        );
        assert!(
            printed.contains("candidateClass = com.acme.Order (classLoader = app)"),
            "{printed}"
        );
        assert!(
            printed.contains("allocatingThread = \"http-worker-1\" (javaThreadId = 42)"),
            "{printed}"
        );
        assert!(
            printed.contains("com.acme.OrderService.handle(String) line: 17"),
            "{printed}"
        );
        assert!(printed.contains(&support::path().to_text()));

        let json: serde_json::Value =
            serde_json::from_str(&jfr(&jdk, &["print", "--json"], &file)).unwrap();
        assert_eq!(
            json["recording"]["events"].as_array().unwrap().len(),
            3 * (schema::all().len() + 1)
        );
        assert!(jfr(&jdk, &["print", "--xml"], &file).contains("jfrchains.CoreInput"));
    }
}

#[test]
fn ticks_of_a_millisecond_print_as_those_of_a_nanosecond() {
    let dir = scratch("jdk_ticks").unwrap();
    let files = [1_000_000_000, 1_000].map(|ticks_per_second| {
        let file = dir.path().join(format!("{ticks_per_second}.jfr"));
        support::write_at(&file, ticks_per_second);
        file
    });
    for jdk in judges("ticks_of_a_millisecond_print_as_those_of_a_nanosecond") {
        let printed = files.each_ref().map(|file| jfr(&jdk, &["print"], file));
        assert_eq!(printed[0], printed[1]);
        let json = jfr(&jdk, &["print", "--json"], &files[1]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let sample = &json["recording"]["events"][0]["values"];
        let start = sample["startTime"].as_str().unwrap();
        assert!(start.contains(":25.005"), "{start}");
        assert_eq!(sample["objectAge"], "PT3.003S", "{sample}");
    }
}

#[test]
fn print_shows_the_chain_hop_by_hop() {
    let dir = scratch("jdk_chain").unwrap();
    let file = dir.path().join("leak.jfr");
    closed(&file, 1);
    for jdk in judges("print_shows_the_chain_hop_by_hop") {
        let printed = jfr(&jdk, &["print", "--events", "OldObjectSample"], &file);
        let hops: Vec<&str> = printed
            .lines()
            .map(str::trim)
            .skip_while(|line| !line.starts_with("object = "))
            .skip(1)
            .take_while(|line| *line != "]")
            .collect();
        assert_eq!(
            hops,
            [
                "com.acme.Order",
                "[3] : java.lang.Object[10]",
                "elementData : java.util.ArrayList",
                "value : java.util.HashMap$Node",
                "...",
                "next : java.util.HashMap$Node",
                "[17] : java.util.HashMap$Node[64]",
                "table : java.util.HashMap",
                "BY_CUSTOMER : java.lang.Class Class Name: com.acme.OrderCache",
            ],
            "{printed}"
        );
        assert!(
            printed.contains("description = \"static-field com.acme.OrderCache.BY_CUSTOMER\""),
            "{printed}"
        );
    }
}

#[test]
fn the_leak_views_list_the_leaking_class() {
    let dir = scratch("jdk_view").unwrap();
    let file = dir.path().join("leak.jfr");
    closed(&file, 1);
    for jdk in judges("the_leak_views_list_the_leaking_class") {
        if jdk.release() < 21 {
            continue;
        }
        let by_class = jfr(&jdk, &["view", "memory-leaks-by-class"], &file);
        assert!(by_class.contains("com.acme.Order"), "{by_class}");
        let by_site = jfr(&jdk, &["view", "memory-leaks-by-site"], &file);
        assert!(by_site.contains("OrderService.handle"), "{by_site}");
        let chains = jfr(&jdk, &["view", "jfrchains.ReferenceChain"], &file);
        assert!(
            chains.contains("Reference Chain") && chains.contains("true"),
            "{chains}"
        );
    }
}

#[test]
fn a_recording_without_events_is_accepted() {
    let dir = scratch("jdk_empty").unwrap();
    let file = dir.path().join("empty.jfr");
    let recording = Recording::open(&file, CLOCK, CLOCK.ticks, Options::default()).unwrap();
    for jdk in judges("a_recording_without_events_is_accepted") {
        let ours = |name: &str| name.starts_with(schema::NAMESPACE);
        assert!(
            counts(&jdk, &file)
                .iter()
                .all(|(name, count)| *count == 0 || !ours(name))
        );
        jfr(&jdk, &["print"], &file);
    }
    assert!(recording.close(CLOCK.ticks + 5).error.is_none());
    for jdk in judges("a_recording_without_events_is_accepted") {
        jfr(&jdk, &["print"], &file);
    }
}

#[test]
fn files_of_two_processes_behind_each_other_keep_their_own_constants() {
    let dir = scratch("jdk_two").unwrap();
    let file = dir.path().join("both.jfr");
    support::write_two_processes(&file);
    for jdk in judges("files_of_two_processes_behind_each_other_keep_their_own_constants") {
        let json: serde_json::Value =
            serde_json::from_str(&jfr(&jdk, &["print", "--json"], &file)).unwrap();
        let events = json["recording"]["events"].as_array().unwrap();
        let of = |name: &'static str| events.iter().filter(move |event| event["type"] == name);
        let names: Vec<_> = of("jfrchains.ReferenceChain")
            .map(|event| &event["values"]["candidateName"])
            .collect();
        assert_eq!(names, support::TWO_LEAKS, "JDK {}", jdk.release());
        let leaves: Vec<_> = of("jdk.OldObjectSample")
            .map(|event| event["values"]["object"]["type"]["name"].as_str().unwrap())
            .collect();
        let wanted = support::TWO_LEAKS.map(|name| name.replace('.', "/"));
        assert_eq!(leaves, wanted, "JDK {}", jdk.release());
    }
}

#[test]
fn a_chunk_behind_a_jvms_own_is_read_with_the_jvms_clock() {
    for jdk in judges("a_chunk_behind_a_jvms_own_is_read_with_the_jvms_clock") {
        let dir = scratch("jdk_appended").unwrap();
        let (jvm, both) = behind_a_jvms(&jdk, dir.path(), 2);
        let before = counts(&jdk, &jvm);
        let file = dir.path().join("both.jfr");
        std::fs::write(&file, both).unwrap();

        for judge in judges("a_chunk_behind_a_jvms_own_is_read_with_the_jvms_clock") {
            assert_eq!(count(&judge, &file, "jfrchains.ReferenceChain"), 2);
            assert_eq!(count(&judge, &file, "jdk.OldObjectSample"), 2);
            let old = before
                .iter()
                .find(|(name, _)| name == "jdk.JVMInformation")
                .unwrap()
                .1;
            assert_eq!(count(&judge, &file, "jdk.JVMInformation"), old);
            let args = ["print", "--json", "--events", "jfrchains.ReferenceChain"];
            let json: serde_json::Value = serde_json::from_str(&jfr(&judge, &args, &file)).unwrap();
            let event = &json["recording"]["events"][0]["values"];
            assert_eq!(event["candidateClass"]["name"], "com/acme/Order", "{event}");
            assert_eq!(event["allocatingThread"]["javaName"], "http-worker-1");
            jfr(&judge, &["print"], &file);
        }
    }
}
