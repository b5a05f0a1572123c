//! JDK Mission Control's core as a judge of recordings: its loader, its rules, the tree of its live-objects page.

use crate::{Child, Jdk, paths, skip};
use anyhow::ensure;
use jfr_format::schema::Kind;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Version of its libraries, as in the project file beside the judge.
const VERSION: &str = "9.0.0";
const LIMIT: Duration = Duration::from_secs(300);

/// What JDK Mission Control makes of one recording.
#[derive(Clone, Debug, Default)]
pub struct JmcView {
    /// Label, category and count of each event type.
    pub types: BTreeMap<String, JmcType>,
    /// What each rule says, by its id.
    pub rules: BTreeMap<String, JmcRule>,
    /// Objects that the live-objects page shows as leaks.
    pub leaks: Vec<JmcLeak>,
}

/// An event type in the event browser.
#[derive(Clone, Debug, Default)]
pub struct JmcType {
    /// Its name there.
    pub label: String,
    /// Folders of the tree that it is in, `/` between them.
    pub category: String,
    /// Events of it.
    pub count: u64,
    /// Label and unit (content type) of each field.
    pub fields: BTreeMap<String, (String, String)>,
}

/// The content type that the tables of JDK Mission Control show a field with.
pub fn content_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Timespan => "timespan",
        Kind::Timestamp => "timestamp",
        Kind::DataAmount => "memory",
        Kind::Percentage => "percentage",
        Kind::Class => "class",
        Kind::Thread => "thread",
        Kind::StackTrace => "stacktrace",
        Kind::Text | Kind::Name => "text",
        Kind::Boolean => "boolean",
        _ => "number",
    }
}

/// A rule's answer.
#[derive(Clone, Debug)]
pub struct JmcRule {
    /// Its name.
    pub name: String,
    /// `OK`, `INFO`, `WARNING`, `NA`; `FAILED` when it threw.
    pub severity: String,
    /// A sentence.
    pub summary: String,
}

/// A leaking object.
#[derive(Clone, Debug)]
pub struct JmcLeak {
    /// Classes from the root's holder to the object.
    pub classes: Vec<String>,
    /// Its root.
    pub root: String,
}

/// Has JDK Mission Control look at recordings, in their order; `None`, and said, where it cannot be had.
/// Errs when it cannot load one of them, or says more than it is known to.
pub fn jmc_views(test: &str, recordings: &[&Path]) -> anyhow::Result<Option<Vec<JmcView>>> {
    let Some(jdk) = Jdk::compiler(17) else {
        skip(test, "JDK 17 or later with a compiler");
        return Ok(None);
    };
    let Some(jars) = jars(test)? else {
        return Ok(None);
    };
    let answers = tempfile::NamedTempFile::new()?;
    let out = Child::java(&jdk)
        .arg("-cp")
        .arg(format!("{}/*", jars.display()))
        .arg(source("JmcRules.java"))
        .arg(answers.path())
        .args(recordings)
        .run(LIMIT)?;
    ensure!(out.ok(), "{out}");
    let unknown = out.stderr.lines().find(|line| {
        // Fillers of a file that is written are of a type that is no event; of a thread it knows less than the JDK.
        let known = line.ends_with("was not declared") || line.contains("'virtual' in reader");
        (line.starts_with("WARNING") || line.starts_with("SEVERE")) && !known
    });
    ensure!(unknown.is_none(), "{out}");
    let text = std::fs::read_to_string(answers.path())?;
    let views: Vec<JmcView> = text.split("FILE|").skip(1).map(view).collect();
    ensure!(views.len() == recordings.len(), "{text}");
    Ok(Some(views))
}

fn source(name: &str) -> PathBuf {
    paths::workspace().join("tests/java/jmc").join(name)
}

/// The libraries, fetched once by Maven.
fn jars(test: &str) -> anyhow::Result<Option<PathBuf>> {
    let maven = Command::new("mvn")
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !maven.is_ok_and(|status| status.success()) {
        skip(test, "mvn, which fetches JDK Mission Control's core");
        return Ok(None);
    }
    let folder = paths::target_dir().join(format!("jmc-rules-{VERSION}"));
    let lock = File::create(paths::target_dir().join("jmc-rules.lock"))?;
    lock.lock()?;
    if !folder
        .join(format!("flightrecorder.rules.jdk-{VERSION}.jar"))
        .is_file()
    {
        let out = Child::new("mvn")
            .args(["-q", "-B", "dependency:copy-dependencies", "-f"])
            .arg(source("pom.xml"))
            .arg(format!("-DoutputDirectory={}", folder.display()))
            .run(LIMIT)?;
        ensure!(out.ok(), "{out}");
    }
    Ok(Some(folder))
}

fn view(block: &str) -> JmcView {
    let mut view = JmcView::default();
    for line in block.lines() {
        let parts: Vec<&str> = line.splitn(5, '|').collect();
        match *parts.as_slice() {
            ["TYPE", id, label, category, count] => {
                let entry = view.types.entry(id.to_owned()).or_default();
                entry.label = label.to_owned();
                entry.category = category.to_owned();
                // A type has an array of events a chunk.
                entry.count += count.parse().unwrap_or(0);
            }
            ["FIELD", id, field, label, unit] => {
                let entry = view.types.entry(id.to_owned()).or_default();
                let described = (label.to_owned(), unit.to_owned());
                entry.fields.insert(field.to_owned(), described);
            }
            ["RULE", id, name, severity, summary] => {
                let rule = JmcRule {
                    name: name.to_owned(),
                    severity: severity.to_owned(),
                    summary: summary.to_owned(),
                };
                view.rules.insert(id.to_owned(), rule);
            }
            ["LEAK", classes, root] => view.leaks.push(JmcLeak {
                classes: classes.rsplit(" < ").map(str::to_owned).collect(),
                root: root.to_owned(),
            }),
            _ => {}
        }
    }
    view
}

#[cfg(test)]
mod tests {
    use super::view;

    #[test]
    fn answers_are_read_line_by_line() {
        let view = view(
            "a.jfr\nTYPE|x.Y|Label|A/B|3\nTYPE|x.Y|Label|A/B|2\nFIELD|x.Y|size|Size|memory\n\
             RULE|Id|Name|OK|All is well | so far\nLEAK|b.Leaf < java.lang.Class|root text\n",
        );
        let kind = &view.types["x.Y"];
        assert_eq!((kind.label.as_str(), kind.count), ("Label", 5));
        assert_eq!(kind.fields["size"], ("Size".into(), "memory".into()));
        assert_eq!(view.rules["Id"].summary, "All is well | so far");
        assert_eq!(view.leaks[0].classes, ["java.lang.Class", "b.Leaf"]);
    }
}
