//! The report as one HTML file: no script, no network, light and dark, readable on a phone.

#[cfg(test)]
mod browser;
mod plot;
mod tree;
mod view;

use std::io::{self, Write};

use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value, escape_formatter};

use self::view::View;
use super::safe::{html_with_flags, html_with_names, terminal};
use crate::model::Report;

const TEMPLATE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");

/// Writes `report` as one self-contained HTML document.
///
/// Every string is escaped by the template engine; the page's content policy allows its own style
/// sheet and nothing else, so that a name from a recording could not run or load anything even if
/// one slipped through.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(|out, state, value| match value.as_str() {
        // No control character and no direction override either, wherever a string comes from.
        Some(text) if !value.is_safe() => {
            escape_formatter(out, state, &Value::from(terminal(text).as_ref()))
        }
        _ => escape_formatter(out, state, value),
    });
    environment.add_filter("flags", |text: &str| {
        Value::from_safe_string(html_with_flags(text))
    });
    environment.add_filter("names", |text: &str| {
        Value::from_safe_string(html_with_names(text))
    });
    environment
        .add_template("report.html", TEMPLATE)
        .map_err(io::Error::other)?;
    let template = environment
        .get_template("report.html")
        .map_err(io::Error::other)?;
    let page = template
        .render(minijinja::context! {
            r => Value::from(Serde(View::new(report))),
            style => Value::from_safe_string(STYLE.to_owned()),
        })
        .map_err(io::Error::other)?;
    out.write_all(page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn page(report: &Report) -> String {
        let mut out = Vec::new();
        write(report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hostile_names_are_text_and_nothing_else() {
        let page = page(&sample::hostile());
        assert!(!page.contains("<script"), "a name became a script");
        assert!(!page.contains("<td>\"'"), "a name became a cell");
        assert!(!page.contains("49}}"), "a name was run as a template");
        assert!(page.contains("&lt;script&gt;"), "the name itself is shown");
        assert!(page.chars().all(|c| matches!(c, '\n') || !c.is_control()));
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = page(&sample::leak());
        assert!(page.contains("default-src 'none'"));
        for loader in [
            "src=", "@import", "url(", "<script", "<link", "http://", "https://",
        ] {
            let found = page
                .find(loader)
                .map(|at| &page[at..page.len().min(at + 60)]);
            assert_eq!(found, None, "{loader}");
        }
    }

    #[test]
    fn the_page_of_a_leak_says_what_the_text_says() {
        let page = page(&sample::leak());
        for part in [
            "com.acme.shop.Order",
            "OrderCache.BY_CUSTOMER",
            "OrderHandler.handle:42",
            "http-worker-3",
            "<svg",
            "<details",
            "none alone",
        ] {
            let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
            let flat = flat.replace("<wbr>", "");
            assert!(flat.contains(part), "{part}");
        }
    }

    #[test]
    fn an_empty_report_is_a_page_too() {
        let report = crate::model::merge::merge(Vec::new());
        assert!(page(&report).contains("UNKNOWN"));
    }
}
