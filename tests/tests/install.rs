//! `cargo install --path analyzer`: a command that works, and says where it takes the agent from.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_tests::{Child, agent_library, scratch, workspace};
use std::time::Duration;

const BUILD_LIMIT: Duration = Duration::from_secs(900);
const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn an_installed_command_works_and_says_where_the_agent_comes_from() {
    let root = scratch("install").unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let installed = Child::new(cargo)
        .args([
            "install", "--quiet", "--locked", "--debug", "--path", "analyzer",
        ])
        .arg("--root")
        .arg(root.path())
        .current_dir(workspace())
        .run(BUILD_LIMIT)
        .unwrap();
    assert!(installed.ok(), "{installed}");
    let bin = root.path().join("bin");
    let run = |arguments: &[&str]| {
        Child::new(bin.join("jfr-chains"))
            .args(arguments)
            .run(LIMIT)
            .unwrap()
    };
    assert!(run(&["--version"]).ok());
    let example = workspace().join("fixtures/recordings/orders-leak.jfr");
    assert!(run(&["report", &example.to_string_lossy()]).ok());

    // Cargo cannot put a library into a program: three ways to have it are told.
    let none = run(&["agent-path"]);
    assert_eq!(none.code(), Some(2), "{none}");
    for way in ["-p jfr-chains-agent", "--agent", "cargo xtask dist"] {
        assert!(none.stderr.contains(way), "{way}: {none}");
    }
    std::fs::copy(agent_library().unwrap(), bin.join("libjfr_chains.so")).unwrap();
    let beside = run(&["agent-path"]);
    assert!(beside.ok(), "{beside}");
    let expected = bin.join("libjfr_chains.so").display().to_string();
    assert_eq!(beside.stdout.trim(), expected);
}
