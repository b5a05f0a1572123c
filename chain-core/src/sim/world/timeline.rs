//! What happened, in lines.

use std::fmt::Write as _;

use super::*;

impl Sim {
    /// What happened, one line each, in the order it happened.
    pub fn timeline(&self) -> String {
        let mut out = String::new();
        let heap = self.heap.borrow();
        let mut marks = None;
        for r in &self.records {
            let line = match &r.record {
                Record::LeakCandidate(c) => match c.state {
                    CandidateState::Qualified if c.folds == c.folds_needed => {
                        format!("candidate {}", heap.class(c.class))
                    }
                    CandidateState::Gone => format!("gone {}", heap.class(c.class)),
                    _ => continue,
                },
                Record::SearchStarted(s) => {
                    let names: Vec<_> = s.candidates.iter().map(|c| heap.class(*c)).collect();
                    let urgent = if s.urgent { ", urgent" } else { "" };
                    format!("search {} for {}{urgent}", s.search.0, names.join(", "))
                }
                Record::SearchEnded(e) => {
                    let walk = e.heap_walk.as_millis_f64();
                    format!(
                        "search {} ended {:?}: {} passes, {} objects, {walk:.1} ms heap-walk",
                        e.search.0, e.outcome, e.passes, e.nodes
                    )
                }
                Record::ChainCommitted(c) if !c.repeated => format!(
                    "chain{} {} -> {} ({}, {} instances, {})",
                    if c.provisional { ", provisional" } else { "" },
                    c.found.chain.root.kind.name(),
                    c.display_leaf.as_deref().unwrap_or("?"),
                    c.strength.name(),
                    c.found.instances,
                    c.found.signature
                ),
                Record::OomProjection(o) => {
                    let now = (o.floor_rising, o.ramp, o.latched, o.no_candidate);
                    if marks == Some(now) {
                        continue;
                    }
                    marks = Some(now);
                    let minutes = o
                        .seconds
                        .map_or("none".to_owned(), |s| format!("{:.0} min", s / 60.0));
                    format!(
                        "heap floor rising {}, projection {minutes}, ramp {}, latch {}, boost {}{}",
                        o.floor_rising,
                        o.ramp,
                        o.latched,
                        o.boost,
                        if o.no_candidate {
                            ", no class qualifies"
                        } else {
                            ""
                        }
                    )
                }
                Record::TagReleaseFailed { search, failed, .. } => {
                    format!("search {}: {failed} tags not released", search.0)
                }
                _ => continue,
            };
            let _ = writeln!(out, "{} {line}", r.at);
        }
        out
    }
}
