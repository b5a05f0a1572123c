//! `datadog.ReferenceChain` and `datadog.ReferenceChainAbandoned`.
//!
//! A chain event has `chain` (classes, leaf first), `edges` (text, `edges[i]` is what leads into
//! `chain[i]`: a field's name or the kind of the edge), `rootKind`, `depth` and `targetTag`. The
//! last class of a chain rooted in a static field is the class that declares it.

use std::collections::BTreeMap;

use super::source::{class_name, java_name, text};
use crate::model::identity::field_edge_kind;
use crate::model::{
    Chain, Edge, EdgeKind, EpochNanos, Hop, Nanos, Producer, Root, RootKind, Search, SearchEnd,
};
use crate::reader::{Event, Value};

/// JVMTI's numbers for kinds of references that can be roots, and the word used for each.
const JVMTI_ROOTS: &[(i64, &str, RootKind)] = &[
    (8, "static_field", RootKind::StaticField),
    (21, "jni_global", RootKind::JniGlobal),
    (22, "system_class", RootKind::System),
    (23, "monitor", RootKind::Monitor),
    (24, "stack_local", RootKind::StackLocal),
    (25, "jni_local", RootKind::JniLocal),
    (26, "thread", RootKind::Thread),
    (27, "other", RootKind::System),
];

/// Words for edges that are no field's name.
const EDGE_WORDS: &[(&str, EdgeKind)] = &[
    ("element", EdgeKind::Array),
    ("array_element", EdgeKind::Array),
    ("class", EdgeKind::Class),
    ("class_loader", EdgeKind::Class),
    ("signers", EdgeKind::Class),
    ("protection_domain", EdgeKind::Class),
    ("interface", EdgeKind::Class),
    ("superclass", EdgeKind::Class),
    ("constant_pool", EdgeKind::Class),
    ("field", EdgeKind::Unknown),
    ("static_field", EdgeKind::Unknown),
    ("unknown", EdgeKind::Unknown),
];

/// The chain of one `datadog.ReferenceChain`; `None` when it names no class.
pub fn chain(event: &Event<'_>, at: EpochNanos) -> Option<Chain> {
    let classes: Vec<String> = elements(event, "chain")
        .map(|value| match value {
            Value::Struct(class) => class_name(&class).unwrap_or_else(|| "unknown".to_owned()),
            other => other.as_text().map_or_else(
                || "unknown".to_owned(),
                |name| java_name(&name.to_str()).into_owned(),
            ),
        })
        .collect();
    if classes.is_empty() {
        return None;
    }
    let labels: Vec<String> = elements(event, "edges")
        .map(|value| {
            value
                .as_text()
                .map_or_else(String::new, |label| label.to_str().into_owned())
        })
        .collect();
    let kind = root_kind(event);
    let mut pairs: Vec<(String, String)> = classes
        .into_iter()
        .enumerate()
        .map(|(at, class)| (class, labels.get(at).cloned().unwrap_or_default()))
        .collect();
    pairs.reverse();
    let mut root = Root {
        kind,
        text: String::new(),
        class: None,
        field: None,
        thread: None,
    };
    if kind == RootKind::StaticField && pairs.len() > 1 {
        let (declaring, _) = pairs.remove(0);
        root.class = Some(declaring);
        root.field = pairs
            .first()
            .map(|(_, label)| label.clone())
            .filter(|label| edge_word(label).is_none() && !label.is_empty());
    }
    let mut hops: Vec<Hop> = Vec::with_capacity(pairs.len());
    for (position, (class, label)) in pairs.into_iter().enumerate() {
        let holder = hops.last().map(|hop| hop.class.as_str());
        let edge = match (position, kind) {
            (0, RootKind::StaticField) => Edge {
                kind: EdgeKind::Static,
                name: root.field.clone(),
                index: None,
            },
            (0, _) => Edge {
                kind: EdgeKind::Root,
                name: None,
                index: None,
            },
            _ => edge(&label, holder.unwrap_or("")),
        };
        hops.push(Hop {
            class,
            edge,
            run: 1,
            size: None,
        });
    }
    let mut chain = Chain::of_path(Producer::Datadog, root, hops, None);
    chain.instances = Some(1);
    chain.first_seen = Some(at);
    chain.last_seen = Some(at);
    Some(chain)
}

fn elements<'c>(event: &Event<'c>, name: &str) -> impl Iterator<Item = Value<'c>> {
    event
        .get(name)
        .and_then(|value| value.as_array())
        .into_iter()
        .flat_map(|array| array.iter())
}

/// The root kind, which was a number in some versions and a word in others.
fn root_kind(event: &Event<'_>) -> RootKind {
    if let Some(number) = event.i64("rootKind") {
        let row = JVMTI_ROOTS.iter().find(|(jvmti, _, _)| *jvmti == number);
        return row.map_or(RootKind::Unknown, |(_, _, kind)| *kind);
    }
    let word = text(event, "rootKind")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let word = word.replace(['-', ' '], "_");
    let row = JVMTI_ROOTS.iter().find(|(_, known, _)| *known == word);
    row.map_or(RootKind::Unknown, |(_, _, kind)| *kind)
}

fn edge_word(label: &str) -> Option<EdgeKind> {
    let row = EDGE_WORDS.iter().find(|(word, _)| *word == label);
    row.map(|(_, kind)| *kind)
}

fn edge(label: &str, holder: &str) -> Edge {
    if label.is_empty() {
        let kind = if holder.ends_with("[]") {
            EdgeKind::Array
        } else {
            EdgeKind::Unknown
        };
        return Edge {
            kind,
            name: None,
            index: None,
        };
    }
    match edge_word(label) {
        Some(EdgeKind::Class) => Edge {
            kind: EdgeKind::Class,
            name: Some(label.to_owned()),
            index: None,
        },
        Some(kind) => Edge {
            kind,
            name: None,
            index: None,
        },
        None => Edge {
            kind: field_edge_kind(holder, label),
            name: Some(label.to_owned()),
            index: None,
        },
    }
}

/// Figures of an abandonment: field name, and the word a report uses.
const FIGURES: &[(&str, &str)] = &[
    ("frontierSize", "frontier"),
    ("hopCap", "hop cap"),
    ("budget", "edge budget"),
];

/// The search that one `datadog.ReferenceChainAbandoned` ended.
pub fn abandoned(event: &Event<'_>, at: EpochNanos) -> Search {
    let number = |name: &str| event.i64(name).and_then(|n| u64::try_from(n).ok());
    let reason = text(event, "reason")
        .or_else(|| number("reason").map(reason_word))
        .unwrap_or_else(|| "unknown".to_owned());
    let elapsed = ["elapsed", "elapsedTime", "elapsedNanos"]
        .into_iter()
        .find_map(|name| {
            let annotated = event.span(name).map(super::source::span);
            annotated.or_else(|| number(name).map(Nanos))
        });
    let mut details = BTreeMap::new();
    for (field, word) in FIGURES {
        if let Some(value) = number(field) {
            details.insert((*word).to_owned(), value.to_string());
        }
    }
    let ttl = ["ttl", "ttlMs", "ttlMillis"].into_iter().find_map(|name| {
        let annotated = event.span(name).map(super::source::span);
        annotated.or_else(|| number(name).map(|ms| Nanos(ms.saturating_mul(1_000_000))))
    });
    if let Some(ttl) = ttl {
        details.insert("time limit".to_owned(), crate::report::units::span(ttl));
    }
    let start = elapsed.map(|elapsed| {
        let elapsed = i64::try_from(elapsed.0).unwrap_or(i64::MAX);
        EpochNanos::new(at.get().saturating_sub(elapsed))
    });
    Search {
        id: None,
        producer: Producer::Datadog,
        input: 0,
        start,
        end: Some(at),
        outcome: SearchEnd::Abandoned(reason),
        passes: ["passesRun", "passes"]
            .into_iter()
            .find_map(number)
            .unwrap_or(0),
        visited: None,
        heap_walk_call_ns: Nanos(0),
        manual_walk_ns: Nanos(0),
        worst_pass_ns: Nanos(0),
        coverage: None,
        details,
    }
}

fn reason_word(number: u64) -> String {
    match number {
        1 => "FrontierCap".to_owned(),
        2 => "Ttl".to_owned(),
        3 => "CanaryStuck".to_owned(),
        other => format!("reason {other}"),
    }
}
