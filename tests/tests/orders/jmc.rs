//! JDK Mission Control on the recordings of the order service: event browser, rules, live-objects page.

use super::{list, results};
use jfr_chains_tests::{JmcView, content_type, jmc_views};
use jfr_format::schema;
use serde_json::Value;
use std::path::Path;
use std::sync::OnceLock;

/// What it makes of the leaking runs, in the order of `results`; asked once.
fn views() -> &'static [JmcView] {
    static VIEWS: OnceLock<Vec<JmcView>> = OnceLock::new();
    VIEWS.get_or_init(|| {
        let files: Vec<&Path> = results(true)
            .iter()
            .map(|(_, result)| result.recording.as_path())
            .collect();
        jmc_views("e2e_orders in JMC", &files)
            .unwrap()
            .unwrap_or_default()
    })
}

#[test]
fn the_event_browser_shows_our_events_with_labels_category_and_units() {
    for view in views() {
        for schema in schema::all() {
            let shown = &view.types[schema.name];
            assert_eq!(
                (shown.label.as_str(), shown.category.as_str()),
                (schema.label, "Java Virtual Machine/Reference Chains")
            );
            for field in schema.fields {
                let expected = (field.label.to_owned(), content_type(field.kind).to_owned());
                assert_eq!(
                    shown.fields[field.name], expected,
                    "{}.{}",
                    schema.name, field.name
                );
            }
        }
        assert!(view.types["jfrchains.ReferenceChain"].count > 0);
    }
}

#[test]
fn no_rule_fails_on_our_recording() {
    for view in views() {
        assert!(view.rules.len() > 50, "{:#?}", view.rules);
        let failed: Vec<_> = view
            .rules
            .iter()
            .filter(|(_, rule)| !["OK", "NA", "INFO"].contains(&rule.severity.as_str()))
            .collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}

/// Classes of a chain of the report from the first object to the leaf, runs as one.
fn classes(chain: &Value) -> Vec<String> {
    let mut classes: Vec<String> = list(chain, "hops")
        .iter()
        .map(|hop| hop["class"].as_str().unwrap().to_owned())
        .collect();
    classes.dedup();
    classes
}

#[test]
fn the_live_objects_page_shows_the_chains_of_the_report() {
    for (view, (_, result)) in views().iter().zip(results(true)) {
        let chains = list(&result.report, "chains");
        assert!(!chains.is_empty());
        for chain in chains {
            let wanted = classes(chain);
            let member = |key: &str| chain["root"][key].as_str();
            let field = member("class").zip(member("field"));
            let root_text = field.map(|(class, field)| format!("{class}.{field}"));
            let found = view.leaks.iter().any(|leak| {
                let mut classes = leak.classes.clone();
                classes.dedup();
                // The class that a static field belongs to comes first there.
                let same = classes == wanted || classes[1..] == wanted;
                let root_told = |text: &String| leak.root.contains(text);
                same && root_text.as_ref().is_none_or(root_told)
            });
            assert!(
                found,
                "{wanted:?} from {root_text:?} is not among {:#?}",
                view.leaks
            );
        }
    }
}
