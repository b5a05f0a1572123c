//! The result of a check as JUnit XML: one test case a rule and subject.

use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Finding, Level, Outcome};

/// Writes the outcome as one suite.
///
/// Names of test cases are rule and chain, so that the same finding is the same test in every run.
pub fn write(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let mut suite = TestSuite::new("jfr-chains check");
    for what in &outcome.unreadable {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(what.as_str());
        status.set_type("unreadable");
        suite.add_test_case(case("input", "recording", status));
    }
    for damage in &outcome.damaged {
        let message = damage.message();
        let status = match outcome.damage {
            Level::Error => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
                status.set_message(message.as_str());
                status.set_type("damaged");
                status
            }
            Level::Note => TestCaseStatus::success(),
        };
        let mut case = case("whole input", "recording", status);
        if outcome.damage == Level::Note {
            case.set_system_out(message.as_str());
        }
        suite.add_test_case(case);
    }
    if !outcome.analysed {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(outcome.reason.as_str());
        status.set_type("nothing-analysed");
        suite.add_test_case(case("analysis", "recording", status));
    } else if outcome.findings.is_empty() {
        suite.add_test_case(case("chains", "no chain", TestCaseStatus::success()));
    }
    for finding in &outcome.findings {
        suite.add_test_case(finding_case(finding));
    }
    let mut report = Report::new("jfr-chains");
    report.add_test_suite(suite);
    report.serialize(&mut *out).map_err(io::Error::other)?;
    writeln!(out)
}

fn finding_case(finding: &Finding) -> TestCase {
    let status = match finding.level {
        Level::Note => TestCaseStatus::success(),
        Level::Error => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(finding.message.as_str());
            status.set_type(finding.rule.as_str());
            let particulars = finding.particulars();
            if !particulars.is_empty() {
                status.set_description(particulars.as_str());
            }
            status
        }
    };
    let name = match &finding.chain {
        Some(id) => format!("{} {} [{id}]", finding.rule.as_str(), finding.subject),
        None => format!("{} {}", finding.rule.as_str(), finding.subject),
    };
    let mut case = case(&name, "jfr-chains.check", status);
    if finding.level == Level::Note {
        case.set_system_out(finding.message.as_str());
    }
    case
}

fn case(name: &str, class: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(name, status);
    case.set_classname(class);
    case
}
