//! Which JDKs and runtimes are on this machine.

use crate::{Child, Collector, paths, skip};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// A JDK or a runtime image, known by its `release` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jdk {
    home: PathBuf,
    feature: u32,
    version: String,
}

impl Jdk {
    /// Every JDK found, by feature number, full JDKs (those with `javac`) first; looked up once.
    ///
    /// Places, in this order: `JFR_CHAINS_JDKS` (paths with `:` between them), `JAVA_HOME`,
    /// `/usr/lib/jvm/*`, [`paths::cached_jdks`].
    pub fn all() -> &'static [Self] {
        static FOUND: OnceLock<Vec<Jdk>> = OnceLock::new();
        FOUND.get_or_init(Self::discover)
    }

    /// Looks again, for a caller that has just installed one.
    pub fn discover() -> Vec<Self> {
        let listed = std::env::var_os("JFR_CHAINS_JDKS").unwrap_or_default();
        let mut homes: Vec<PathBuf> = std::env::split_paths(&listed)
            .filter(|path| !path.as_os_str().is_empty())
            .collect();
        homes.extend(std::env::var_os("JAVA_HOME").map(PathBuf::from));
        homes.extend(children(Path::new("/usr/lib/jvm")));
        homes.extend(children(&paths::cached_jdks()));
        let mut found: Vec<Self> = Vec::new();
        for home in homes {
            let Ok(home) = home.canonicalize() else {
                continue;
            };
            if found.iter().all(|jdk| jdk.home != home) {
                found.extend(Self::at(&home));
            }
        }
        found.sort_by_key(|jdk| (jdk.feature, !jdk.has_compiler()));
        found
    }

    /// The JDK with this home, `None` when it has no `java` or no readable `release` file.
    pub fn at(home: &Path) -> Option<Self> {
        let release = std::fs::read_to_string(home.join("release")).ok()?;
        let version = release_value(&release, "JAVA_VERSION")?.to_owned();
        let feature = feature_of(&version)?;
        home.join("bin/java").is_file().then(|| Self {
            home: home.to_path_buf(),
            feature,
            version,
        })
    }

    /// The first one of a feature release (`17`, `25`), a full JDK before a runtime.
    pub fn feature(feature: u32) -> Option<Self> {
        Self::all()
            .iter()
            .find(|jdk| jdk.feature == feature)
            .cloned()
    }

    /// Those of `features` that are here, in that order; each missing one is said as skipped by `test`.
    pub fn among(test: &str, features: &[u32]) -> Vec<Self> {
        features
            .iter()
            .filter_map(|&feature| {
                let found = Self::feature(feature);
                if found.is_none() {
                    skip(test, &format!("JDK {feature}"));
                }
                found
            })
            .collect()
    }

    /// The oldest full JDK that compiles for feature release `target`.
    pub fn compiler(target: u32) -> Option<Self> {
        Self::all()
            .iter()
            .find(|jdk| jdk.has_compiler() && jdk.feature >= target)
            .cloned()
    }

    /// Its folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Its feature release: 8, 11, 17, 21, 25.
    pub fn release(&self) -> u32 {
        self.feature
    }

    /// Its full version, as in the `release` file: `17.0.15`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The `java` launcher.
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    /// A tool of this JDK (`jfr`, `jcmd`, `javac`), `None` when the image has none.
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        let path = self.home.join("bin").join(name);
        path.is_file().then_some(path)
    }

    /// Whether it has `javac`.
    pub fn has_compiler(&self) -> bool {
        self.tool("javac").is_some()
    }

    /// Whether its JVM starts with that collector (a run of `java -version`).
    pub fn supports(&self, collector: Collector) -> bool {
        let run = Child::java(self)
            .args(collector.flags())
            .arg("-version")
            .run(Duration::from_secs(60));
        run.is_ok_and(|out| out.code() == Some(0))
    }
}

/// `17` of `17.0.15`, `8` of `1.8.0_402`.
fn feature_of(version: &str) -> Option<u32> {
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|part| part.parse().ok());
    match numbers.next()? {
        1 => numbers.next(),
        feature => Some(feature),
    }
}

fn release_value<'a>(release: &'a str, key: &str) -> Option<&'a str> {
    let line = release
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(line.trim().trim_matches('"'))
}

fn children(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::{feature_of, release_value};

    #[test]
    fn old_and_new_version_schemes_give_the_feature_release() {
        assert_eq!(feature_of("1.8.0_402"), Some(8));
        assert_eq!(feature_of("25"), Some(25));
        assert_eq!(feature_of("17.0.15"), Some(17));
        assert_eq!(feature_of(""), None);
    }

    #[test]
    fn values_of_a_release_file_lose_their_quotes() {
        let release = "IMPLEMENTOR=\"X\"\nJAVA_VERSION=\"11.0.13\"\n";
        assert_eq!(release_value(release, "JAVA_VERSION"), Some("11.0.13"));
        assert_eq!(release_value(release, "OS_ARCH"), None);
    }
}
