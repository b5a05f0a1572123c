//! The recipe of docs/ci.md: a project with a test suite (fixtures/ci) that leaks in one commit and not in the
//! next, built by Maven with the agent on the test JVM, then checked. Gradle too, where it is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use jfr_chains_tests::{Child, Finished, Jdk, agent_library, cli_binary, scratch, skip, workspace};

/// Longer than a build with its tests takes, on a machine that does other things too, downloads included.
const LIMIT: Duration = Duration::from_secs(420);

/// Runs `jfr-chains`; its exit code and output.
fn command(args: &[&str]) -> (Option<i32>, String) {
    let ended = Child::new(cli_binary().unwrap())
        .args(args)
        .run(Duration::from_secs(120))
        .unwrap();
    (ended.code(), format!("{}{}", ended.stdout, ended.stderr))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}

/// The project as one commit has it.
fn checkout(dir: &Path, fixed: bool) {
    let project = workspace().join("fixtures/ci");
    copy(&project.join("src"), &dir.join("src"));
    for file in ["pom.xml", "build.gradle"] {
        std::fs::copy(project.join(file), dir.join(file)).unwrap();
    }
    if fixed {
        copy(&project.join("next/src"), &dir.join("src"));
    }
}

fn is_installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(tool).is_file())
}

/// Builds with the tool; the recording that the test JVM left in `output`.
fn build(jdk: &Jdk, dir: &Path, tool: &str, args: &[&str], output: &str) -> PathBuf {
    let run = |more: &[&str]| -> Finished {
        Child::new(tool)
            .args(args)
            .args(more)
            .env("JAVA_HOME", jdk.home())
            .current_dir(dir)
            .run(LIMIT)
            .unwrap()
    };
    // What an earlier build fetched is used; only a first build asks the registry.
    let offline = if tool == "mvn" { "-o" } else { "--offline" };
    let mut ended = run(&[offline]);
    let unresolved = |text: &str| text.contains("offline mode");
    if !ended.ok() && (unresolved(&ended.stdout) || unresolved(&ended.stderr)) {
        ended = run(&[]);
    }
    assert!(ended.ok(), "{ended}");
    let recordings: Vec<PathBuf> = std::fs::read_dir(dir.join(output))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jfr"))
        .collect();
    assert_eq!(
        recordings.len(),
        1,
        "one test JVM, one recording: {recordings:?}"
    );
    recordings[0].clone()
}

fn maven(jdk: &Jdk, dir: &Path) -> PathBuf {
    let agent = format!("-Djfr-chains.agent={}", agent_library().unwrap().display());
    build(jdk, dir, "mvn", &["-B", "-q", "test", &agent], "target")
}

fn gradle(jdk: &Jdk, dir: &Path) -> PathBuf {
    let agent = format!("-PjfrChainsAgent={}", agent_library().unwrap().display());
    build(
        jdk,
        dir,
        "gradle",
        &["--no-daemon", "-q", "test", &agent],
        "build",
    )
}

#[test]
fn a_build_fails_on_the_commit_that_leaks_and_passes_on_the_next() {
    let Some(jdk) = Jdk::feature(17).filter(Jdk::has_compiler) else {
        skip("ci_recipe", "a JDK 17 with javac");
        return;
    };
    if !is_installed("mvn") {
        skip("ci_recipe", "mvn");
        return;
    }
    let root = scratch("ci-recipe").unwrap();
    let [leaks, next, by_gradle] = ["leaks", "next", "gradle"].map(|name| root.path().join(name));
    checkout(&leaks, false);
    checkout(&next, true);
    checkout(&by_gradle, false);
    let (leaky, fixed, other) = std::thread::scope(|scope| {
        let leaky = scope.spawn(|| maven(&jdk, &leaks));
        let fixed = scope.spawn(|| maven(&jdk, &next));
        let other = is_installed("gradle").then(|| scope.spawn(|| gradle(&jdk, &by_gradle)));
        let other = other.map(|build| build.join().unwrap());
        (leaky.join().unwrap(), fixed.join().unwrap(), other)
    });
    let (leaky, fixed) = (leaky.to_str().unwrap(), fixed.to_str().unwrap());

    let junit = root.path().join("junit.xml");
    let sources = leaks.join("src/main/java");
    let (code, out) = command(&[
        "check",
        "--junit",
        junit.to_str().unwrap(),
        "--github",
        "--source-root",
        sources.to_str().unwrap(),
        leaky,
    ]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("RecentBaskets.BY_NUMBER"), "{out}");
    assert!(out.contains("::error file="), "{out}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert!(xml.contains("<failure"), "{xml}");

    let (code, out) = command(&["check", fixed]);
    assert_eq!(code, Some(0), "{out}");

    let (code, out) = command(&["diff", leaky, fixed]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("gone"), "{out}");
    let (code, out) = command(&["diff", fixed, leaky]);
    assert_eq!(code, Some(1), "{out}");

    let baseline = root.path().join("leaks.toml");
    let baseline = baseline.to_str().unwrap();
    let (code, out) = command(&["baseline", "-o", baseline, "--reason", "known", leaky]);
    assert_eq!(code, Some(0), "{out}");
    let (code, out) = command(&["check", "--baseline", baseline, leaky]);
    assert_eq!(code, Some(0), "{out}");

    match other {
        None => skip("ci_recipe, the Gradle build", "gradle"),
        Some(recording) => {
            let recording = recording.to_str().unwrap();
            let (code, out) = command(&["check", recording]);
            assert_eq!(code, Some(1), "{out}");
            // One leak, one baseline, whichever tool started the JVM.
            let (code, out) = command(&["check", "--baseline", baseline, recording]);
            assert_eq!(code, Some(0), "{out}");
        }
    }
}
