//! Jars of other readers, fetched once by Maven.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Child, skip, target_dir};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

/// The folder of the jars that `tests/java/POM/pom.xml` names, `jar` among them; `None` (and said) where there
/// is no Maven.
pub fn jars(test: &str, reader: &str, pom: &str, jar: &str) -> Option<PathBuf> {
    let maven = Command::new("mvn").arg("-v").output();
    if !maven.is_ok_and(|out| out.status.success()) {
        skip(test, &format!("mvn, which fetches {reader}"));
        return None;
    }
    static FETCH: Mutex<()> = Mutex::new(());
    let _one_at_a_time = FETCH.lock().unwrap();
    let (name, version) = jar.rsplit_once('-').unwrap();
    let version = version.strip_suffix(".jar").unwrap();
    let folder = if name == "flightrecorder" {
        "jmc"
    } else {
        name
    };
    let jars = target_dir().join(format!("{folder}-{version}"));
    let pom = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/java/{pom}/pom.xml"));
    if !jars.join(jar).is_file() {
        let out = Child::new("mvn")
            .args(["-q", "-B", "dependency:copy-dependencies", "-f"])
            .arg(&pom)
            .arg(format!("-DoutputDirectory={}", jars.display()))
            .run(Duration::from_secs(300))
            .unwrap();
        assert!(out.ok(), "{out}");
    }
    Some(jars)
}
