//! JSON, schema `jfr-chains/gc/1`: times RFC 3339, durations in ns, sizes in bytes.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::gc::analysis::{Analysis, Form, Judged};
use crate::gc::findings::{Advice, Fact, Finding, FlagValue};
use crate::gc::num::rfc3339;
use crate::gc::record::{AgeTable, Collection};

/// Writes the whole analysis.
pub fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &value(analysis)).map_err(io::Error::from)?;
    writeln!(out)
}

/// The whole analysis as a value.
pub fn value(analysis: &Analysis) -> Value {
    let several = analysis.jvms.len() > 1;
    let jvms = || analysis.jvms.iter().enumerate();
    json!({
        "schema": "jfr-chains/gc/1",
        "collector": analysis.collector(),
        "collections": jvms()
            .flat_map(|(n, j)| j.jvm.collections.iter().map(move |r| collection(r, several.then_some(n))))
            .collect::<Vec<_>>(),
        "findings": jvms()
            .flat_map(|(n, j)| j.findings.iter().map(move |f| finding(f, j, several.then_some(n))))
            .collect::<Vec<_>>(),
        "jvms": jvms().map(|(_, j)| jvm(j)).collect::<Vec<_>>(),
        "inputs": analysis.sources.iter().map(|s| json!({
            "path": s.path,
            "form": match s.form {
                Form::Log => "log",
                Form::Recording => "recording",
                Form::Unrecognised => "unrecognised",
            },
        })).collect::<Vec<_>>(),
        "diagnostics": analysis.diagnostics.iter().map(|d| json!({
            "input": d.input,
            "line": (d.line > 0).then_some(d.line),
            "problem": d.problem.name(),
            "what": d.text,
        })).collect::<Vec<_>>(),
    })
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
