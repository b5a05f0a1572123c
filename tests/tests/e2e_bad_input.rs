//! What the agent does when it is given nonsense, or lands where it cannot work: one clear line, and the
//! application runs on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Child, Finished, Jdk, agent_argument, java_fixtures, scratch, skip};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(90);

fn jdks(name: &str) -> Vec<Jdk> {
    Jdk::among(name, &[17, 25])
}

/// A short program under the agent with these options, and further flags.
fn program(jdk: &Jdk, options: &str, flags: &[&str]) -> Child {
    Child::java(jdk)
        .arg(agent_argument(options).unwrap())
        .args(flags)
        .args(["-Xmx64m", "-cp"])
        .arg(java_fixtures().unwrap().classes())
        .args([
            "orders.OrderService",
            "seconds=1",
            "garbage=10",
            "orders=100",
        ])
}

/// The program ran to its end as if there were no agent.
fn undisturbed(out: &Finished) {
    assert_eq!(out.code(), Some(0), "{out}");
    assert!(
        out.stdout.contains("serving") && out.stdout.contains("served"),
        "{out}"
    );
}

fn lines(out: &Finished) -> Vec<&str> {
    out.stderr
        .lines()
        .filter(|line| line.starts_with("jfr-chains: "))
        .collect()
}

/// One line that holds all of these words.
fn one_line_says(out: &Finished, words: &[&str]) {
    let lines = lines(out);
    let fitting = lines
        .iter()
        .filter(|line| words.iter().all(|word| line.contains(word)))
        .count();
    assert_eq!(fitting, 1, "one line with {words:?}: {out}");
}

#[test]
fn an_unknown_option_is_named() {
    for jdk in jdks("an_unknown_option_is_named") {
        let out = program(&jdk, "filter=x", &[]).run(LIMIT).unwrap();
        undisturbed(&out);
        one_line_says(&out, &["filter"]);
        assert_eq!(lines(&out).len(), 1, "{out}");
    }
}

#[test]
fn a_value_out_of_range_is_told_with_its_range() {
    for jdk in jdks("a_value_out_of_range_is_told_with_its_range") {
        for (options, words) in [
            ("interval=3", ["interval", "1k"]),
            ("depth=9999", ["depth", "512"]),
            ("log=loud", ["log", "debug"]),
        ] {
            let out = program(&jdk, options, &[]).run(LIMIT).unwrap();
            undisturbed(&out);
            one_line_says(&out, &words);
        }
    }
}

#[test]
fn a_missing_folder_and_an_unwritable_file_are_named() {
    for jdk in jdks("a_missing_folder_and_an_unwritable_file_are_named") {
        let dir = scratch("unwritable").unwrap();
        let missing = dir.path().join("no/such/folder/leak.jfr");
        let folder_itself = dir.path().join("folder");
        std::fs::create_dir(&folder_itself).unwrap();
        for path in [missing, folder_itself, "/proc/leak.jfr".into()] {
            let out = program(&jdk, &format!("file={}", path.display()), &[])
                .run(LIMIT)
                .unwrap();
            undisturbed(&out);
            one_line_says(&out, &[&path.display().to_string()]);
        }
    }
}

#[test]
fn a_file_of_another_live_process_is_left_alone() {
    let name = "a_file_of_another_live_process_is_left_alone";
    for jdk in jdks(name) {
        let dir = scratch("two-writers").unwrap();
        let file = dir.path().join("leak.jfr");
        let options = format!("file={}", file.display());
        let mut first = Child::java(&jdk)
            .arg(agent_argument(&options).unwrap())
            .args(["-Xmx64m", "-cp"])
            .arg(java_fixtures().unwrap().classes())
            .args([
                "orders.OrderService",
                "seconds=30",
                "garbage=10",
                "orders=100",
            ])
            .start()
            .unwrap();
        assert!(first.wait_until(LIMIT, |java| file.is_file()
            && java.stdout().contains("serving")));
        use std::os::unix::fs::MetadataExt as _;
        let inode = std::fs::metadata(&file).unwrap().ino();
        let second = program(&jdk, &options, &[]).run(LIMIT).unwrap();
        undisturbed(&second);
        one_line_says(&second, &["leak"]);
        assert_eq!(
            std::fs::metadata(&file).unwrap().ino(),
            inode,
            "the first one's file is still its own"
        );
        let others = std::fs::read_dir(dir.path()).unwrap().count();
        assert!(
            others >= 2,
            "the second one writes under a name of its own: {second}"
        );
        first.terminate().unwrap();
        first.finish(LIMIT).unwrap();
    }
}

#[test]
fn a_second_agent_in_one_jvm_stays_out() {
    for jdk in jdks("a_second_agent_in_one_jvm_stays_out") {
        let dir = scratch("second").unwrap();
        let agent = |file: &str| {
            let file = dir.path().join(file);
            agent_argument(&format!("file={}", file.display())).unwrap()
        };
        let out = program(
            &jdk,
            &format!("file={}", dir.path().join("a.jfr").display()),
            &[&agent("b.jfr")],
        );
        let out = out.run(LIMIT).unwrap();
        undisturbed(&out);
        one_line_says(&out, &["twice"]);
        assert!(
            dir.path().join("a.jfr").is_file() && !dir.path().join("b.jfr").exists(),
            "{out}"
        );
    }
}

#[test]
fn a_jdk_tool_that_inherits_the_agent_works_as_ever() {
    let name = "a_jdk_tool_that_inherits_the_agent_works_as_ever";
    for jdk in jdks(name) {
        let dir = scratch("tool").unwrap();
        let file = dir.path().join("leak.jfr");
        let options = agent_argument(&format!("file={}", file.display())).unwrap();
        for tool in ["javac", "jfr", "jcmd"] {
            let Some(path) = jdk.tool(tool) else {
                skip(name, &format!("{tool} of JDK {}", jdk.version()));
                continue;
            };
            let argument = if tool == "javac" {
                "--version"
            } else {
                "--help"
            };
            let plain = Child::new(&path).arg(argument).run(LIMIT).unwrap();
            let with_agent = Child::new(&path)
                .arg(argument)
                .env("JAVA_TOOL_OPTIONS", &options)
                .run(LIMIT)
                .unwrap();
            assert_eq!(with_agent.code(), plain.code(), "{with_agent}");
            assert_eq!(with_agent.stdout, plain.stdout);
            assert!(!file.exists(), "{tool} made a recording");
        }
    }
}

#[test]
fn a_runtime_without_jfr_and_management_modules_still_records() {
    for jdk in jdks("a_runtime_without_jfr_and_management_modules_still_records") {
        let dir = scratch("small").unwrap();
        let file = dir.path().join("leak.jfr");
        let options = format!("file={}", file.display());
        let out = program(&jdk, &options, &["--limit-modules", "java.base"])
            .run(LIMIT)
            .unwrap();
        undisturbed(&out);
        assert!(file.is_file(), "{out}");
    }
}

#[test]
fn strict_makes_a_bad_option_fail_the_start() {
    for jdk in jdks("strict_makes_a_bad_option_fail_the_start") {
        let out = program(&jdk, "strict=on,depth=9999", &[])
            .run(LIMIT)
            .unwrap();
        assert_ne!(out.code(), Some(0), "{out}");
        one_line_says(&out, &["depth", "512"]);
    }
}
