//! What every format must keep to, whatever the report.

use anstream::StripStream;
use unicode_width::UnicodeWidthStr;

use super::{json, markdown, sample, text};
use crate::model::Report;

fn plain(report: &Report) -> String {
    let mut out = Vec::new();
    text::write(report, &mut StripStream::new(&mut out)).unwrap();
    String::from_utf8(out).unwrap()
}

fn rendered(
    report: &Report,
    write: fn(&Report, &mut dyn std::io::Write) -> std::io::Result<()>,
) -> String {
    let mut out = Vec::new();
    write(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_text_report_of_a_leak_reads_top_down() {
    insta::assert_snapshot!(plain(&sample::leak()));
}

#[test]
fn the_text_report_keeps_to_80_columns() {
    for line in plain(&sample::leak()).lines() {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
    }
}

#[test]
fn names_longer_than_a_line_keep_to_80_columns_and_lose_nothing() {
    let text = plain(&sample::long_names());
    for line in text.lines() {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
    }
    let letters: String = text.split_whitespace().collect();
    // Title, root, seven hops, leaf, the stack and the watched class.
    assert!(letters.matches(sample::LONG).count() > 10, "{text}");
    let frame = format!(
        "at{}.createOrderInTheScopeOfTheCurrentTransaction",
        sample::LONG
    );
    assert!(letters.contains(&frame), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn the_markdown_report_of_a_leak_fits_a_ticket() {
    insta::assert_snapshot!(rendered(&sample::leak(), markdown::write));
}

#[test]
fn the_json_report_follows_its_schema() {
    insta::assert_snapshot!(rendered(&sample::leak(), json::write));
}

#[test]
fn names_from_the_recording_reach_no_terminal_as_control_codes() {
    let mut out = Vec::new();
    text::write(&sample::hostile(), &mut out).unwrap();
    let styled = String::from_utf8(out).unwrap();
    assert!(!styled.contains("\x1b[2J"), "the screen was cleared");
    assert!(!styled.contains('\u{202e}'), "the text was reversed");
    assert!(
        plain(&sample::hostile())
            .chars()
            .all(|c| c == '\n' || !c.is_control())
    );
}

#[test]
fn names_from_the_recording_are_no_markup_in_markdown() {
    let markdown = rendered(&sample::hostile(), markdown::write);
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if line.starts_with("```") => {
                fence = Some(line.trim_end_matches("text"));
            }
            None => {
                let outside: String = outside_code(line);
                assert!(!outside.contains('<'), "HTML outside code: {line}");
            }
        }
    }
    assert_eq!(fence, None, "every fence is closed");
}

/// `line` without its inline code spans.
fn outside_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let escaped = rest[..start].ends_with('\\');
        out.push_str(&rest[..start]);
        let ticks = rest[start..].chars().take_while(|c| *c == '`').count();
        let fence = "`".repeat(ticks);
        rest = &rest[start + ticks..];
        if escaped {
            continue;
        }
        match rest.find(&fence) {
            Some(end) => rest = &rest[end + ticks..],
            None => break,
        }
    }
    out.push_str(rest);
    out
}

#[test]
fn json_has_objects_where_nothing_is_known() {
    let mut report = sample::leak();
    report.jvms.clear();
    report.agent = None;
    let value: serde_json::Value = serde_json::from_str(&rendered(&report, json::write)).unwrap();
    assert_eq!(value["jvm"], serde_json::json!({}));
    assert_eq!(value["agent"], serde_json::json!({}));
    assert_eq!(value["schema"], "jfr-chains/report/1");
}
