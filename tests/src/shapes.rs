//! The leak shapes of `fixtures/java/shapes`: how to run one, and what a report must say of it.

mod pattern;
mod probe;
mod run;

pub use run::{Cell, Leak, Outcome, report};

use crate::{
    Child, Collector, Jdk, agent_argument_of, java_fixtures, library_fixtures, native_fixture,
    paths,
};
use anyhow::Context as _;
use pattern::Pattern;
use serde::Deserialize;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;

/// One shape and the truth about it, from `fixtures/expected/shapes.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// `01` to `29`, `30a` to `30d`.
    pub id: String,
    /// The main class.
    pub class: String,
    /// A few words.
    pub what: String,
    /// First feature release that runs it.
    #[serde(default = "eleven")]
    pub jdk: u32,
    /// Leaked objects a second.
    #[serde(default = "thousand")]
    pub steps: u32,
    /// Whether the verdict is all: a search may start while something fills up.
    #[serde(default)]
    pub control: bool,
    /// A class to which no strong path leads.
    #[serde(default)]
    pub unheld: Option<Unheld>,
    /// How many containers grow with it, each of which may be told as the leak.
    #[serde(default = "one")]
    pub containers: usize,
    /// Whether it is planted in a library: of `fixtures/libraries`.
    #[serde(default)]
    pub library: bool,
    /// Why the report is not true of it yet; the matrix shows it, the tests leave it out.
    #[serde(default)]
    pub open: Option<String>,
    /// Accepted verdicts; empty when the verdict is not the point.
    #[serde(default = "leak")]
    pub verdicts: Vec<String>,
    /// Accepted strengths of the chain.
    #[serde(default = "durable")]
    pub strength: Vec<String>,
    /// The GC root, unless it is a control.
    pub root: Option<Root>,
    /// Alternatives for the hops.
    #[serde(default)]
    pub paths: Vec<Vec<Pattern>>,
}

/// A class to which no strong path leads: no durable chain may be told of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unheld {
    /// The class.
    pub class: String,
    /// Whether it keeps growing all the same, so that the report must say that a complete search met none of it; a
    /// chain that lasts as long as a frame is as true.
    #[serde(default)]
    pub told: bool,
}

/// What is true of a GC root.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Root {
    /// Accepted kinds, as in the JSON report.
    pub kind: Vec<String>,
    /// Declaring class of the static field.
    pub class: Option<String>,
    /// Name of the static field.
    pub field: Option<String>,
    /// Name of the thread.
    pub thread: Option<String>,
}

#[derive(Deserialize)]
struct Table {
    shape: Vec<Shape>,
}

fn eleven() -> u32 {
    11
}

fn one() -> usize {
    1
}

fn thousand() -> u32 {
    1000
}

fn leak() -> Vec<String> {
    vec!["leak".into()]
}

fn durable() -> Vec<String> {
    vec!["durable".into()]
}

/// Every shape, by id.
pub fn shapes() -> anyhow::Result<Vec<Shape>> {
    table("shapes.toml")
}

/// The leaks that are planted in real libraries, by id; see [`crate::library_fixtures`].
pub fn library_leaks() -> anyhow::Result<Vec<Shape>> {
    table("libraries.toml")
}

fn table(name: &str) -> anyhow::Result<Vec<Shape>> {
    let path = paths::workspace().join("fixtures/expected").join(name);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let table: Table = toml::from_str(&text).with_context(|| path.display().to_string())?;
    Ok(table.shape)
}

impl Shape {
    /// A JVM that runs the shape for `seconds` in a small heap, with the agent writing to `recording`
    /// (`options` are added to the agent's). The caller starts it.
    pub fn child(
        &self,
        jdk: &Jdk,
        collector: Collector,
        agent: &Path,
        recording: &Path,
        options: &str,
        seconds: u32,
    ) -> anyhow::Result<Child> {
        let fixtures = java_fixtures()?;
        let mut class_path = OsString::from(fixtures.classes());
        if self.jdk >= 21 {
            class_path.push(":");
            class_path.push(
                fixtures
                    .classes21()
                    .context("no compiler for JDK 21 fixtures")?,
            );
        }
        if self.library {
            class_path.push(":");
            class_path.push(library_fixtures()?);
        }
        let mut java = Child::java(jdk)
            .args(collector.flags())
            .args(["-Xmx96m", "-XX:TieredStopAtLevel=1", "-Xcheck:jni"])
            .arg(agent_argument_of(
                agent,
                &format!("file={},{options}", recording.display()),
            ));
        if self.id == "21" {
            java = java.arg(format!("-Dleak.library={}", native_fixture(jdk)?.display()));
        }
        if jdk.release() >= 22 {
            java = java.arg("--enable-native-access=ALL-UNNAMED");
        }
        Ok(java.arg("-cp").arg(class_path).arg(&self.class).args([
            format!("seconds={seconds}"),
            format!("steps={}", self.steps),
        ]))
    }

    /// The class that leaks: the end of the first path; `None` for controls.
    pub fn leaf(&self) -> Option<&str> {
        self.paths.first()?.last().map(Pattern::class)
    }

    /// Whether a `report --format json` tells the truth; the error says what is wrong or missing.
    pub fn check(&self, report: &Value) -> Result<(), String> {
        let verdict = report["verdict"].as_str().unwrap_or_default();
        if !self.verdicts.is_empty() && !self.verdicts.iter().any(|accepted| accepted == verdict) {
            return Err(format!(
                "verdict {verdict:?}, not one of {:?}",
                self.verdicts
            ));
        }
        let chains = report["chains"].as_array().cloned().unwrap_or_default();
        if let Some(unheld) = &self.unheld {
            unheld.check(report, &chains)?;
        }
        if self.paths.is_empty() {
            return Ok(());
        }
        if chains.iter().any(|chain| self.fits(chain)) {
            return Ok(());
        }
        let all: Vec<String> = chains.iter().map(shown).collect();
        Err(format!(
            "no chain fits; verdict {verdict:?}, {} chains: {all:#?}",
            all.len()
        ))
    }

    fn fits(&self, chain: &Value) -> bool {
        let strength = chain["strength"].as_str().unwrap_or_default();
        let root_fits = self
            .root
            .as_ref()
            .is_none_or(|root| root.fits(&chain["root"]));
        let hops: Vec<(String, String)> = chain["hops"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|hop| (edge(hop), text(&hop["class"])))
            .collect();
        root_fits
            && self.strength.iter().any(|accepted| accepted == strength)
            && self.paths.iter().any(|path| pattern::found(path, &hops))
    }
}

impl Unheld {
    fn check(&self, report: &Value, chains: &[Value]) -> Result<(), String> {
        let of_class = |chain: &&Value| chain["leaf"] == self.class.as_str();
        let of_class: Vec<&Value> = chains.iter().filter(of_class).collect();
        if let Some(chain) = of_class.iter().find(|chain| chain["strength"] == "durable") {
            return Err(format!(
                "held by nothing strong, yet told: {}",
                shown(chain)
            ));
        }
        let candidates = report["candidates"].as_array();
        let mut candidates = candidates.into_iter().flatten();
        let candidate = candidates.find(|c| c["class"] == self.class.as_str());
        let state = candidate.and_then(|c| c.pointer("/no_chain/state"));
        let growing = candidate.is_some_and(|c| c["qualifying"] == true);
        if state.is_some_and(|state| state == "no-strong-path")
            || (self.told && !of_class.is_empty())
        {
            return Ok(());
        }
        // Until a search has looked for it, and where none had a reason to, there is nothing to say.
        if self.told || (growing && state.is_some_and(|state| state != "not-searched")) {
            return Err(format!("{candidate:?} should have no strong path"));
        }
        Ok(())
    }
}

impl Root {
    fn fits(&self, root: &Value) -> bool {
        let same = |wanted: &Option<String>, key: &str| {
            wanted.as_ref().is_none_or(|w| root[key] == w.as_str())
        };
        self.kind.iter().any(|kind| root["kind"] == kind.as_str())
            && same(&self.class, "class")
            && same(&self.field, "field")
            && same(&self.thread, "thread")
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The edge into a hop as patterns spell it: `[]` or the field's name.
fn edge(hop: &Value) -> String {
    let part = |path| {
        hop.pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    if part("/edge/kind") == "array" {
        "[]".to_owned()
    } else {
        part("/edge/name").to_owned()
    }
}

/// A chain on one line, for messages.
fn shown(chain: &Value) -> String {
    let root = &chain["root"];
    let mut line = format!(
        "{} {}.{} thread {} ({})",
        text(&root["kind"]),
        text(&root["class"]),
        text(&root["field"]),
        text(&root["thread"]),
        text(&chain["strength"])
    );
    for hop in chain["hops"].as_array().into_iter().flatten() {
        line.push_str(&format!(
            " -> {} {} x{}",
            edge(hop),
            text(&hop["class"]),
            hop["run"]
        ));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::{library_leaks, paths, shapes};
    use serde_json::json;

    #[test]
    fn every_shape_of_the_list_has_a_program_and_a_truth() {
        let shapes = shapes().unwrap();
        let numbers: std::collections::BTreeSet<&str> = shapes
            .iter()
            .filter_map(|shape| shape.id.get(..2))
            .collect();
        assert_eq!(numbers.len(), 30);
        for shape in &shapes {
            let file = format!("{}.java", shape.class.replace('.', "/"));
            let fixtures = paths::workspace().join("fixtures");
            assert!(
                ["java", "java21"]
                    .iter()
                    .any(|dir| fixtures.join(dir).join(&file).is_file()),
                "{file}"
            );
            let unheld = shape.unheld.as_ref().is_some_and(|unheld| unheld.told);
            let no_path = shape.control || unheld;
            assert_eq!(no_path, shape.paths.is_empty(), "{}", shape.id);
            assert_eq!(no_path, shape.root.is_none(), "{}", shape.id);
        }
    }

    #[test]
    fn every_program_of_a_library_has_a_truth_that_names_it() {
        let leaks = library_leaks().unwrap();
        assert!(leaks.len() >= 5);
        for leak in leaks {
            let file = format!("libraries/java/{}.java", leak.class.replace('.', "/"));
            assert!(
                paths::workspace().join("fixtures").join(&file).is_file(),
                "{file}"
            );
            assert!(
                leak.library && leak.root.is_some() && !leak.paths.is_empty(),
                "{}",
                leak.id
            );
        }
    }

    #[test]
    fn a_chain_fits_only_with_its_root_and_hops() {
        let shapes = shapes().unwrap();
        let shape = &shapes[0];
        let hop = |kind: &str, name: &str, class: &str| json!({"class": class, "edge": {"kind": kind, "name": name}, "run": 1});
        let mut report = json!({"verdict": "leak", "chains": [{
        "strength": "durable",
        "root": {"kind": "static-field", "class": "shapes.S01StaticMap$Util", "field": "CACHE"},
        "hops": [
            hop("static", "CACHE", "java.util.HashMap"),
            hop("field", "table", "java.util.HashMap$Node[]"),
            hop("array", "", "java.util.HashMap$Node"),
            hop("field", "value", "shapes.S01StaticMap$Value"),
        ]}]});
        assert_eq!(shape.check(&report), Ok(()));
        report["chains"][0]["root"]["field"] = json!("OTHER");
        assert!(shape.check(&report).unwrap_err().contains("no chain fits"));
    }

    #[test]
    fn a_class_without_a_strong_path_must_be_told_as_that() {
        let shapes = shapes().unwrap();
        let shape = shapes.iter().find(|shape| shape.id == "28b").unwrap();
        let class = shape.unheld.as_ref().unwrap().class.clone();
        let told = |state: &str, chains: serde_json::Value| {
            let candidate =
                json!({"class": class, "qualifying": true, "no_chain": {"state": state}});
            let report = json!({"verdict": "unknown", "candidates": [candidate], "chains": chains});
            shape.check(&report)
        };
        assert_eq!(told("no-strong-path", json!([])), Ok(()));
        let chain = |strength: &str| json!([{"leaf": class, "strength": strength}]);
        assert_eq!(told("incomplete", chain("transient")), Ok(()));
        assert!(told("no-strong-path", chain("durable")).is_err());
        assert!(told("incomplete", json!([])).is_err());
        assert!(told("not-searched", json!([])).is_err());
    }
}
