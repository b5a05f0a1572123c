//! JSON, schema `jfr-chains/gc/1`: times RFC 3339, durations in ns, sizes in bytes.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

use crate::gc::analysis::{Analysis, Form, Judged};
use crate::gc::findings::{Advice, Fact, Finding, FlagValue};
use crate::gc::num::rfc3339;
use crate::gc::record::{AgeTable, Collection};

/// Writes the whole analysis, one collection at a time: a huge log must not become one huge value.
pub fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document(analysis)).map_err(io::Error::from)?;
    writeln!(out)
}

/// The whole analysis as a value.
pub fn value(analysis: &Analysis) -> Value {
    serde_json::to_value(Document(analysis)).unwrap_or(Value::Null)
}

struct Document<'a>(&'a Analysis);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let analysis = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", "jfr-chains/gc/1")?;
        map.serialize_entry("collector", &analysis.collector())?;
        map.serialize_entry("collections", &Collections(analysis))?;
        map.serialize_entry("findings", &Findings(analysis))?;
        let jvms: Vec<Value> = analysis.jvms.iter().map(jvm).collect();
        map.serialize_entry("jvms", &jvms)?;
        let inputs: Vec<Value> = analysis
            .sources
            .iter()
            .map(|s| {
                let form = match s.form {
                    Form::Log => "log",
                    Form::Recording => "recording",
                    Form::Unrecognised => "unrecognised",
                };
                json!({ "path": s.path, "form": form })
            })
            .collect();
        map.serialize_entry("inputs", &inputs)?;
        let diagnostics: Vec<Value> = analysis
            .diagnostics
            .iter()
            .map(|d| {
                json!({
                    "input": d.input,
                    "line": (d.line > 0).then_some(d.line),
                    "problem": d.problem.name(),
                    "what": d.text,
                })
            })
            .collect();
        map.serialize_entry("diagnostics", &diagnostics)?;
        map.end()
    }
}

struct Collections<'a>(&'a Analysis);

impl Serialize for Collections<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let several = self.0.jvms.len() > 1;
        serializer.collect_seq(self.0.jvms.iter().enumerate().flat_map(|(n, j)| {
            j.jvm
                .collections
                .iter()
                .map(move |r| collection(r, several.then_some(n)))
        }))
    }
}

struct Findings<'a>(&'a Analysis);

impl Serialize for Findings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let several = self.0.jvms.len() > 1;
        serializer.collect_seq(self.0.jvms.iter().enumerate().flat_map(|(n, j)| {
            j.findings
                .iter()
                .map(move |f| finding(f, j, several.then_some(n)))
        }))
    }
}

fn jvm(j: &Judged) -> Value {
    let t = &j.jvm.totals;
    json!({
        "collector": j.jvm.facts.collector.name(),
        "version": j.jvm.facts.version,
        "young": t.young,
        "full": t.full,
        "cycles": t.cycles,
        "thinned": t.thinned,
    })
}

fn collection(r: &Collection, jvm: Option<usize>) -> Value {
    let mut v = json!({
        "time": r.at.wall.map(|ns| rfc3339(ns, r.at.offset_min)),
        "uptime_ns": r.at.uptime.map(|u| u.0),
        "gc_id": r.gc_id,
        "kind": r.kind.name(),
        "gc_cause": r.gc_cause,
        "threshold_used": r.threshold_used,
        "threshold_next": r.threshold_next,
        "max_threshold": r.max_threshold,
        "ages": r.ages.map(|t| ages(&t)),
        "desired": r.desired,
        "promoted_bytes": r.promoted.bytes(),
        "promoted_exact": r.promoted.is_exact(),
        "cause": r.cause.name(),
        "pause_ns": r.pause.map(|p| p.0),
        "cpu_ns": r.cpu().map(|c| c.0),
    });
    if let (Some(n), Some(map)) = (jvm, v.as_object_mut()) {
        map.insert("jvm".to_owned(), json!(n));
    }
    v
}

fn ages(table: &AgeTable) -> Value {
    let map: Map<String, Value> = table
        .populated()
        .map(|(age, bytes)| (age.to_string(), json!(bytes)))
        .collect();
    Value::Object(map)
}

fn finding(f: &Finding, j: &Judged, jvm: Option<usize>) -> Value {
    let mut evidence = Map::new();
    for (key, fact) in &f.evidence {
        let value = fact_value(fact);
        match evidence.get_mut(*key) {
            // A key that occurs more than once becomes a list.
            Some(Value::Array(list)) => list.push(value),
            Some(first) => *first = Value::Array(vec![first.take(), value]),
            None => {
                evidence.insert((*key).to_owned(), value);
            }
        }
    }
    let at = f.at.and_then(|at| j.jvm.collections.get(at));
    let mut v = json!({
        "id": f.id.name(),
        "severity": f.severity.name(),
        "title": f.id.title(),
        "count": f.count,
        "time": at.and_then(|r| r.at.wall.map(|ns| rfc3339(ns, r.at.offset_min))),
        "gc_id": at.and_then(|r| r.gc_id),
        "line": at.map(|r| r.line).filter(|l| *l > 0),
        "evidence": evidence,
        "story": f.story,
        "advice": f.advice.iter().map(advice).collect::<Vec<_>>(),
        "avoid": f.avoid,
    });
    if let (Some(n), Some(map)) = (jvm, v.as_object_mut()) {
        map.insert("jvm".to_owned(), json!(n));
    }
    v
}

fn fact_value(fact: &Fact) -> Value {
    match fact {
        Fact::Bytes(n) | Fact::Count(n) => json!(n),
        Fact::Time(t) => json!(t.0),
        Fact::Number(x) | Fact::Share(x) => json!((x * 1e4).round() / 1e4),
        Fact::Text(t) => json!(t),
        Fact::Ages(t) => ages(t),
    }
}

fn advice(a: &Advice) -> Value {
    json!({
        "option": a.option.to_string(),
        "flag": a.flag,
        "value": match &a.value {
            FlagValue::Number(n) => json!(n),
            FlagValue::Switch(on) => json!(on),
            FlagValue::Command(words) => json!(words),
        },
        "argument": a.argument(),
        "expect": a.expect.map(|e| json!({
            "desired": e.desired,
            "survivor": e.survivor,
            "eden_change": (e.eden_change * 1e4).round() / 1e4,
        })),
        "cost": a.cost,
        "why": a.why,
    })
}
