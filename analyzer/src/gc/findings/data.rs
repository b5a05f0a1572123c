//! DATA-01: what is missing for a diagnosis, and the exact switch that brings it.

use super::series::Series;
use super::{Advice, Fact, Finding, FlagValue, Id, Severity};
use crate::gc::record::{Collector, Promoted, Why};

/// DATA-01: at most one, listing every gap that kept something from being judged.
pub fn missing(s: &Series<'_>, found: &[Finding]) -> Option<Finding> {
    let facts = &s.jvm.facts;
    if s.young.is_empty() {
        return None;
    }
    let judged = found
        .iter()
        .any(|f| matches!(f.id, Id::Promo01 | Id::Promo02));
    let mut gaps: Vec<(String, String)> = Vec::new();
    let tables = facts.collector.has_age_table() || facts.collector == Collector::Unknown;
    let legacy = s
        .records()
        .next()
        .is_some_and(|(_, r)| r.gc_id.is_none() && !facts.recording);
    if tables && !facts.saw_ages && !s.records().any(|(_, r)| r.ages.is_some()) {
        gaps.push((
            "no age table: thresholds cannot be explained".to_owned(),
            if facts.recording {
                "jdk.TenuringDistribution#enabled=true".to_owned()
            } else if legacy {
                "-XX:+PrintTenuringDistribution".to_owned()
            } else {
                "-Xlog:gc*,gc+age=trace".to_owned()
            },
        ));
    }
    if s.records()
        .any(|(_, r)| r.promoted == Promoted::NotComputable(Why::BufferWaste))
    {
        gaps.push((
            format!("promoted bytes: {}", Why::BufferWaste.text()),
            "-Xlog:gc*,gc+age=trace:file=gc.log".to_owned(),
        ));
    }
    let nothing_known = s.records().all(|(_, r)| {
        matches!(
            r.promoted,
            Promoted::NotComputable(Why::NoOldSize | Why::NoPrevious)
        )
    });
    if nothing_known
        && (facts.collector.has_survivor_spaces()
            || facts.collector == Collector::G1
            || facts.collector == Collector::Unknown)
    {
        gaps.push((
            format!("promoted bytes: {}", Why::NoOldSize.text()),
            if facts.recording {
                "jdk.GCHeapSummary#enabled=true".to_owned()
            } else if legacy {
                "-XX:+PrintGCDetails".to_owned()
            } else {
                "-Xlog:gc*".to_owned()
            },
        ));
    }
    let bounded = s
        .records()
        .any(|(_, r)| matches!(r.promoted, Promoted::AtMost(_)));
    if judged && bounded && facts.collector == Collector::G1 && !facts.saw_plab {
        gaps.push((
            "promoted bytes are an upper bound in whole regions".to_owned(),
            if facts.recording {
                "jdk.G1EvacuationOldStatistics#enabled=true".to_owned()
            } else {
                "-Xlog:gc*,gc+age=trace,gc+plab=debug".to_owned()
            },
        ));
    }
    if gaps.is_empty() {
        return None;
    }
    let mut f = Finding::new(Id::Data01, Severity::Info);
    for (what, switch) in gaps {
        f.story.push(format!("{what}; {switch} brings it."));
        f.evidence.push(("missing", Fact::Text(what)));
        f.advice.push(Advice {
            option: 'A',
            flag: None,
            value: FlagValue::Command(switch),
            expect: None,
            cost: "a few lines per collection".to_owned(),
            why: "what the input lacks".to_owned(),
        });
    }
    Some(f)
}
