//! What every test on a real JVM needs, once: which JDKs are here, compiled fixtures, processes with
//! a deadline, the built agent and command.
//!
//! A test reads like this:
//!
//! ```no_run
//! use jfr_chains_tests::{Child, Jdk, agent_argument, java_fixtures, scratch, skip};
//! use std::time::Duration;
//!
//! let Some(jdk) = Jdk::feature(25) else { return skip("orders_25", "JDK 25") };
//! let dir = scratch("orders_25").unwrap();
//! let recording = dir.path().join("leak.jfr");
//! let out = Child::java(&jdk)
//!     .arg(agent_argument(&format!("file={}", recording.display())).unwrap())
//!     .arg("-cp").arg(java_fixtures().unwrap().classes())
//!     .arg("orders.OrderService")
//!     .run(Duration::from_secs(60)).unwrap();
//! assert_eq!(out.code(), Some(0), "{out}");
//! ```
//!
//! JDKs come from `JFR_CHAINS_JDKS` (paths, `:` between them), `JAVA_HOME`, `/usr/lib/jvm/*` and the
//! runtimes that `cargo xtask test` caches; see [`Jdk::all`].
#![forbid(unsafe_code)]

mod artifacts;
mod child;
mod collector;
mod fixtures;
mod hprof;
mod jdk;
mod jmc;
mod orders;
mod paths;
mod shapes;
mod skip;
mod soak;

pub use artifacts::{agent_argument, agent_argument_of, agent_library, cli_binary, walk_probe};
pub use child::{Child, Finished, Running};
pub use collector::Collector;
pub use fixtures::{JavaFixtures, java_fixtures, library_fixtures, native_fixture};
pub use hprof::Dump;
pub use jdk::Jdk;
pub use jmc::{JmcLeak, JmcRule, JmcType, JmcView, content_type, jmc_views};
pub use orders::{OrderResult, OrderRun};
pub use paths::{cached_jdks, scratch, shared, target_dir, workspace};
pub use shapes::{Cell, Leak, Outcome, Root, Shape, library_leaks, report, shapes};
pub use skip::skip;
pub use soak::{Soak, SoakReport};
