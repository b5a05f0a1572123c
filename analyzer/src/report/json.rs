//! The report as JSON, schema `jfr-chains/report/1`: names and units are a promise to scripts.
//!
//! Fields may be added within version 1; none is renamed, removed or given another unit.

use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::model::{
    AgentStatus, Candidate, Chain, Cost, FloorPoint, InputInfo, Jvm, Oom, Report, Search, Verdict,
};

/// The schema's name and version.
pub const SCHEMA: &str = "jfr-chains/report/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    inputs: &'a [InputInfo],
    /// The first JVM; an empty object when no input names one.
    #[serde(serialize_with = "object")]
    jvm: Option<&'a Jvm>,
    jvms: &'a [Jvm],
    verdict: Verdict,
    reason: &'a str,
    candidates: &'a [Candidate],
    chains: &'a [Chain],
    searches: &'a [Search],
    cost: &'a Cost,
    oom: &'a Oom,
    #[serde(serialize_with = "object")]
    agent: Option<&'a AgentStatus>,
    heap_floor: &'a [FloorPoint],
    hints: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    gc: Option<&'a crate::gc::section::Section>,
}

/// The schema has objects here, never null.
fn object<T: Serialize, S: Serializer>(
    value: &Option<&T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => serializer.serialize_map(Some(0))?.end(),
    }
}

/// Writes `report` as one JSON document and a line feed.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        schema: SCHEMA,
        inputs: &report.inputs,
        jvm: report.jvms.first(),
        jvms: &report.jvms,
        verdict: report.verdict,
        reason: &report.reason,
        candidates: &report.candidates,
        chains: &report.chains,
        searches: &report.searches,
        cost: &report.cost,
        oom: &report.oom,
        agent: report.agent.as_ref(),
        heap_floor: &report.heap_floor,
        hints: &report.hints,
        gc: report.gc.as_ref(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
