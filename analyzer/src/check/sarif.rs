//! The result of a check as SARIF 2.1.0, for code-scanning views.

use std::io::{self, Write};
use std::path::PathBuf;

use serde_sarif::sarif::{
    ArtifactLocation, Invocation, Location, LogicalLocation, Message, MultiformatMessageString,
    Notification, PhysicalLocation, Region, ReportingDescriptor, Result as SarifResult,
    ResultLevel, Run, Sarif, Tool, ToolComponent,
};

use super::{Finding, Level, Outcome, Rule, source};

/// Writes the outcome as one run.
pub fn write(outcome: &Outcome, roots: &[PathBuf], out: &mut dyn Write) -> io::Result<()> {
    let rules: Vec<ReportingDescriptor> = Rule::ALL.into_iter().map(descriptor).collect();
    let driver = ToolComponent::builder()
        .name("jfr-chains")
        .version(env!("CARGO_PKG_VERSION"))
        .rules(rules)
        .build();
    let results: Vec<SarifResult> = outcome
        .findings
        .iter()
        .map(|finding| result(finding, roots))
        .collect();
    let mut invocation = Invocation::builder()
        .execution_successful(outcome.analysed && !outcome.is_incomplete())
        .build();
    let told = notifications(outcome);
    invocation.tool_execution_notifications = (!told.is_empty()).then_some(told);
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .invocations(vec![invocation])
        .results(results)
        .build();
    let sarif = Sarif::builder()
        .schema("https://json.schemastore.org/sarif-2.1.0.json")
        .version(serde_json::json!("2.1.0"))
        .runs(vec![run])
        .build();
    serde_json::to_writer_pretty(&mut *out, &sarif)?;
    writeln!(out)
}

/// What kept the check from looking at everything.
fn notifications(outcome: &Outcome) -> Vec<Notification> {
    let of = |level: &str, text: String| {
        Notification::builder()
            .level(serde_json::json!(level))
            .message(Message::builder().text(text).build())
            .build()
    };
    let unreadable = outcome
        .unreadable
        .iter()
        .map(|what| of("error", what.clone()));
    let level = match outcome.damage {
        Level::Error => "error",
        Level::Note => "warning",
    };
    let damaged = outcome.damaged.iter().map(|d| of(level, d.message()));
    let nothing = (!outcome.analysed).then(|| of("error", outcome.reason.clone()));
    unreadable.chain(damaged).chain(nothing).collect()
}

fn descriptor(rule: Rule) -> ReportingDescriptor {
    let text = MultiformatMessageString::builder()
        .text(rule.description())
        .build();
    ReportingDescriptor::builder()
        .id(rule.as_str())
        .short_description(text)
        .build()
}

fn result(finding: &Finding, roots: &[PathBuf]) -> SarifResult {
    let level = match finding.level {
        Level::Error => ResultLevel::Error,
        Level::Note => ResultLevel::Note,
    };
    let text = if finding.path.is_empty() {
        finding.message.clone()
    } else {
        format!("{}\n\n{}", finding.message, finding.path.trim_end())
    };
    let logical = LogicalLocation::builder()
        .fully_qualified_name(finding.subject.clone())
        .kind("type")
        .build();
    let location = match &finding.place {
        Some(frame) => {
            let uri = source::uri(&source::path(frame, roots));
            let artifact = ArtifactLocation::builder().uri(uri).build();
            let region = frame
                .line
                .map(|line| Region::builder().start_line(i64::from(line)).build());
            let physical = match region {
                Some(region) => PhysicalLocation::builder()
                    .artifact_location(artifact)
                    .region(region)
                    .build(),
                None => PhysicalLocation::builder()
                    .artifact_location(artifact)
                    .build(),
            };
            Location::builder()
                .physical_location(physical)
                .logical_locations(vec![logical])
                .build()
        }
        None => Location::builder().logical_locations(vec![logical]).build(),
    };
    let mut result = SarifResult::builder()
        .rule_id(finding.rule.as_str())
        .message(Message::builder().text(text).build())
        .locations(vec![location])
        .build();
    result.level = Some(level);
    if let Some(id) = &finding.chain {
        // The chain's signature is what makes two runs' results the same one.
        result.partial_fingerprints = Some(
            [("jfrChainSignature/v1".to_owned(), id.clone())]
                .into_iter()
                .collect(),
        );
    }
    result
}
