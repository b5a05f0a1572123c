//! The Java fixtures, compiled once per content.

use crate::{Child, Jdk, paths};
use anyhow::{Context as _, ensure};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// For Maven to fetch some ten jars.
const FETCH_LIMIT: Duration = Duration::from_secs(600);
const COMPILE_LIMIT: Duration = Duration::from_secs(300);
/// Feature release that `fixtures/java` is compiled for.
const BASE_RELEASE: u32 = 11;
/// Feature release that `fixtures/java21` is compiled for (virtual threads).
const VIRTUAL_THREADS_RELEASE: u32 = 21;

/// The compiled fixtures.
#[derive(Clone, Debug)]
pub struct JavaFixtures {
    classes: PathBuf,
    classes21: Option<PathBuf>,
}

impl JavaFixtures {
    /// Class path of `fixtures/java`, for JDK 11 and later.
    pub fn classes(&self) -> &Path {
        &self.classes
    }

    /// Further class path with `fixtures/java21`, for JDK 21 and later; `None` where no such compiler is here.
    pub fn classes21(&self) -> Option<&Path> {
        self.classes21.as_deref()
    }
}

/// Compiles `fixtures/java` and `fixtures/java21` unless the target folder holds the classes of exactly
/// this source and compiler; other processes wait. Errs without a `javac`, or with its messages.
pub fn java_fixtures() -> anyhow::Result<JavaFixtures> {
    static COMPILED: OnceLock<Result<JavaFixtures, String>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| compile_all().map_err(|e| format!("{e:#}")));
    compiled.clone().map_err(anyhow::Error::msg)
}

/// Class path of `fixtures/libraries` with the libraries themselves, which Maven fetches once; a program needs
/// [`JavaFixtures::classes`] too. Errs without `mvn`.
pub fn library_fixtures() -> anyhow::Result<OsString> {
    static COMPILED: OnceLock<Result<OsString, String>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(|| libraries().map_err(|e| format!("{e:#}")));
    compiled.clone().map_err(anyhow::Error::msg)
}

fn libraries() -> anyhow::Result<OsString> {
    let jdk = Jdk::compiler(BASE_RELEASE).context("no JDK with javac found")?;
    let folder = paths::workspace().join("fixtures/libraries");
    let pom = folder.join("pom.xml");
    let base = paths::target_dir().join("fixtures");
    std::fs::create_dir_all(&base)?;
    let jars = base.join(format!(
        "libraries-{:08x}",
        crc32fast::hash(&std::fs::read(&pom)?)
    ));
    let lock = File::create(base.join("libraries-lock"))?;
    lock.lock()?;
    if !jars.is_dir() {
        let fresh = tempfile::tempdir_in(&base)?;
        let run = Child::new("mvn")
            .args(["-q", "-B", "dependency:copy-dependencies", "-f"])
            .arg(&pom)
            .arg(format!("-DoutputDirectory={}", fresh.path().display()))
            .run(FETCH_LIMIT)?;
        ensure!(run.ok(), "{run}");
        std::fs::rename(fresh.path(), &jars)?;
    }
    let mut class_path = OsString::from(java_fixtures()?.classes());
    class_path.push(":");
    class_path.push(jars.join("*"));
    let compiled = compile(
        &jdk,
        &folder.join("java"),
        BASE_RELEASE,
        Some(Path::new(&class_path)),
    )?;
    let mut class_path = compiled.into_os_string();
    class_path.push(":");
    class_path.push(jars.join("*"));
    Ok(class_path)
}

fn compile_all() -> anyhow::Result<JavaFixtures> {
    let root = paths::workspace().join("fixtures");
    let jdk = Jdk::compiler(BASE_RELEASE)
        .context("no JDK with javac found; install openjdk-17-jdk-headless")?;
    let classes = compile(&jdk, &root.join("java"), BASE_RELEASE, None)?;
    let newer = root.join("java21");
    let classes21 = match Jdk::compiler(VIRTUAL_THREADS_RELEASE) {
        Some(jdk) if newer.is_dir() => Some(compile(
            &jdk,
            &newer,
            VIRTUAL_THREADS_RELEASE,
            Some(&classes),
        )?),
        _ => None,
    };
    Ok(JavaFixtures { classes, classes21 })
}

fn compile(
    jdk: &Jdk,
    source: &Path,
    release: u32,
    class_path: Option<&Path>,
) -> anyhow::Result<PathBuf> {
    let mut files = Vec::new();
    collect(source, &mut files).with_context(|| format!("reading {}", source.display()))?;
    files.sort();
    let mut hash = crc32fast::Hasher::new();
    hash.update(jdk.version().as_bytes());
    hash.update(
        class_path
            .unwrap_or(Path::new(""))
            .as_os_str()
            .as_encoded_bytes(),
    );
    for file in &files {
        hash.update(file.strip_prefix(source)?.to_string_lossy().as_bytes());
        hash.update(&std::fs::read(file)?);
    }
    let base = paths::target_dir().join("fixtures");
    std::fs::create_dir_all(&base)?;
    let classes = base.join(format!("classes-{release}-{:08x}", hash.finalize()));
    let lock = File::create(base.join("lock"))?;
    lock.lock()?;
    if classes.is_dir() {
        return Ok(classes);
    }
    let fresh = tempfile::tempdir_in(&base)?;
    let javac = jdk.tool("javac").context("the JDK lost its javac")?;
    let run = Child::new(javac)
        .args([
            "--release",
            &release.to_string(),
            "-g",
            "-nowarn",
            "-Xlint:-options",
            "-encoding",
            "UTF-8",
            "-d",
        ])
        .arg(fresh.path())
        .arg("-cp")
        .arg(class_path.unwrap_or(fresh.path()))
        .args(
            files
                .iter()
                .filter(|file| file.extension().is_some_and(|ext| ext == "java")),
        )
        .run(COMPILE_LIMIT)?;
    ensure!(run.ok(), "{run}");
    std::fs::rename(fresh.path(), &classes)?;
    Ok(classes)
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The shared library of `fixtures/native`, compiled once by `cc` with the headers of that JDK (or of the
/// one that compiles the fixtures). Errs without a C compiler or headers.
pub fn native_fixture(jdk: &Jdk) -> anyhow::Result<PathBuf> {
    let source = paths::workspace().join("fixtures/native/leak.c");
    let with_headers = |jdk: &Jdk| jdk.home().join("include/jni.h").is_file();
    let headers = Jdk::all().iter().find(|other| with_headers(other));
    let headers = if with_headers(jdk) {
        Some(jdk)
    } else {
        headers
    }
    .context("no JDK with include/jni.h")?;
    let base = paths::target_dir().join("fixtures");
    std::fs::create_dir_all(&base)?;
    let library = base.join(format!(
        "libleak-{:08x}.so",
        crc32fast::hash(&std::fs::read(&source)?)
    ));
    let lock = File::create(base.join("lock"))?;
    lock.lock()?;
    if library.is_file() {
        return Ok(library);
    }
    let fresh = tempfile::NamedTempFile::new_in(&base)?;
    let include = headers.home().join("include");
    let run = Child::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(fresh.path())
        .arg("-I")
        .arg(&include)
        .arg("-I")
        .arg(include.join("linux"))
        .arg(&source)
        .run(COMPILE_LIMIT)?;
    ensure!(run.ok(), "{run}");
    fresh.persist(&library)?;
    Ok(library)
}
