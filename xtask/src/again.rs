//! Asks live tests once more: a JVM that got too little of a busy machine proves nothing about the agent.
//!
//! Only the targets that start JVMs get this second, quieter try, and each one that needed it is named: a test
//! that needs it often is a fault to find. Everything else fails at once.

use crate::steps;
use std::process::Command;

/// Package of the tests that run JVMs.
const LIVE_PACKAGE: &str = "jfr-chains-tests";

/// A test target that failed, as cargo names it at its end.
#[derive(Debug, PartialEq, Eq)]
struct Failed {
    package: String,
    /// Name of the integration test, if it is one.
    test: Option<String>,
}

impl Failed {
    /// From a line like "`-p jfr-chains-tests --test e2e_orders`"; `None` for other lines.
    fn parse(line: &str) -> Option<Self> {
        let inner = line.trim().strip_prefix('`')?.strip_suffix('`')?;
        let mut words = inner.split(' ');
        let package = (words.next()? == "-p").then(|| words.next())??;
        let test = (words.next() == Some("--test"))
            .then(|| words.next())
            .flatten();
        Some(Self {
            package: package.to_owned(),
            test: test.map(str::to_owned),
        })
    }

    fn live(&self) -> Option<&str> {
        (self.package == LIVE_PACKAGE)
            .then_some(self.test.as_deref())
            .flatten()
    }
}

/// The live tests to ask once more: all that failed, or `None` when something else failed too.
fn live_failures(stderr: &[String]) -> Option<Vec<String>> {
    let failed: Vec<Failed> = stderr
        .iter()
        .filter_map(|line| Failed::parse(line))
        .collect();
    let live: Vec<String> = failed
        .iter()
        .filter_map(Failed::live)
        .map(str::to_owned)
        .collect();
    (!live.is_empty() && live.len() == failed.len()).then_some(live)
}

/// Runs `all`; where only live tests failed, each of their targets runs once more by itself, as `one` makes its
/// command. Errs when something failed for good.
pub fn run(all: &mut Command, one: impl Fn(&str) -> Command) -> anyhow::Result<()> {
    let mut stderr = Vec::new();
    let result = steps::run_watching(all, |line| stderr.push(line.to_owned()));
    let Err(error) = result else {
        return Ok(());
    };
    let Some(live) = live_failures(&stderr) else {
        return Err(error);
    };
    eprintln!(
        "failed beside others, asked once more alone: {}",
        live.join(", ")
    );
    for test in &live {
        steps::run(&mut one(test))?;
    }
    eprintln!(
        "passed only when asked again, look at them: {}",
        live.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Failed, live_failures};

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn only_live_tests_are_asked_again() {
        let live = "error: 2 targets failed:\n    `-p jfr-chains-tests --test e2e_orders`\n    \
                    `-p jfr-chains-tests --test gc_live`";
        assert_eq!(
            live_failures(&lines(live)),
            Some(vec!["e2e_orders".to_owned(), "gc_live".to_owned()])
        );
        let unit = format!("{live}\n    `-p chain-core --lib`");
        assert_eq!(live_failures(&lines(&unit)), None);
    }

    #[test]
    fn a_build_that_fails_is_no_failed_test() {
        assert_eq!(
            live_failures(&lines("error: could not compile `chain-core` (lib)")),
            None
        );
        assert_eq!(live_failures(&[]), None);
    }

    #[test]
    fn targets_are_read_as_cargo_names_them() {
        assert_eq!(
            Failed::parse("    `-p chain-core --lib`"),
            Some(Failed {
                package: "chain-core".to_owned(),
                test: None
            })
        );
        assert_eq!(Failed::parse("`cargo test`"), None);
    }
}
