//! The agent itself: its state, its drops, its refusals, and why there is no projection.

use std::collections::BTreeMap;

use jfr_format::schema::events as own;
use jfr_format::schema::{FieldSink, FieldSpec, Value};

use super::super::source::count;
use super::name;
use crate::model::AgentStatus;

/// Takes the refusals of every gate, whichever gates there are.
pub struct Refusals<'r>(pub &'r mut BTreeMap<String, u64>);

impl FieldSink for Refusals<'_> {
    fn field(&mut self, spec: &'static FieldSpec, value: Value<'_>) {
        if let Value::Long(refusals) = value {
            let known = self.0.entry(kebab(spec.name)).or_default();
            *known = (*known).max(count(refusals));
        }
    }
}

/// `noCandidate` as `no-candidate`.
fn kebab(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 4);
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Why there is no projection.
pub fn no_projection(projection: &own::OomProjection) -> String {
    if projection.burn_in {
        "burn-in: the signal is younger than 300 s".to_owned()
    } else if projection.samples < 10 {
        format!("{} of 10 usage samples", projection.samples)
    } else {
        "usage does not rise over both the whole and the recent window".to_owned()
    }
}

/// The agent at the end of the recording.
pub fn agent(status: Option<&own::AgentStatus>, degradations: Vec<String>) -> AgentStatus {
    let mut out = AgentStatus {
        degradations,
        ..AgentStatus::default()
    };
    let Some(status) = status else {
        return out;
    };
    out.version = name(Some(&status.version));
    out.state = name(status.state.as_ref());
    out.configuration = name(status.options.as_ref());
    out.engine = name(status.engine.as_ref());
    out.epoch_source = name(status.epoch_source.as_ref());
    out.epochs = Some(count(status.epoch));
    out.samples = Some(count(status.samples));
    out.drops = [
        ("queue", status.queue_dropped),
        ("table", status.table_dropped),
        ("reservoir", status.reservoir_dropped),
        ("classes", status.classes_dropped),
        ("chains", status.chains_dropped),
        ("abandonments", status.abandonments_dropped),
        ("records", status.records_dropped),
        ("journal", status.journal_dropped),
        ("events", status.events_dropped),
    ]
    .into_iter()
    .map(|(name, dropped)| (name.to_owned(), count(dropped)))
    .collect();
    out
}
