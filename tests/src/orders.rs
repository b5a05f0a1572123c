//! The demo service under the agent: started once per JDK and variant, looked at by many tests.

use crate::{
    Child, Collector, Finished, Jdk, agent_argument, cli_binary, java_fixtures, report, scratch,
};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// For the JVM to start and end beside its serving time.
const MARGIN: Duration = Duration::from_secs(60);

/// How to run the service.
#[derive(Clone, Debug)]
pub struct OrderRun {
    /// The JVM.
    pub jdk: Jdk,
    /// Its collector.
    pub collector: Collector,
    /// Whether the cache leaks.
    pub leak: bool,
    /// How long it serves; it then ends by itself.
    pub seconds: u32,
    /// Agent options after `file=...`, each with a comma before it.
    pub options: String,
    /// Further JVM flags.
    pub flags: Vec<String>,
}

/// A finished run.
#[derive(Debug)]
pub struct OrderResult {
    /// The JVM's end and output.
    pub ended: Finished,
    /// The recording, in a folder that lives as long as this value.
    pub recording: PathBuf,
    /// `report --format json` of it.
    pub report: Value,
    _folder: tempfile::TempDir,
}

impl OrderRun {
    /// The leaking service on that JDK: G1, the agent's default options, `-Xcheck:jni`.
    pub fn leaking(jdk: Jdk, seconds: u32) -> Self {
        Self {
            jdk,
            collector: Collector::G1,
            leak: true,
            seconds,
            options: String::new(),
            flags: vec!["-Xcheck:jni".into()],
        }
    }

    /// The healthy variant of [`Self::leaking`].
    pub fn healthy(jdk: Jdk, seconds: u32) -> Self {
        Self {
            leak: false,
            ..Self::leaking(jdk, seconds)
        }
    }

    /// Runs it to its end and reports. Errs when something cannot be started or the report is no JSON; how
    /// the JVM ended is the caller's to judge.
    pub fn run(&self) -> anyhow::Result<OrderResult> {
        let folder = scratch("orders")?;
        let recording = folder.path().join("leak.jfr");
        let ended = Child::java(&self.jdk)
            .args(self.collector.flags())
            .arg("-Xmx256m")
            .args(&self.flags)
            .arg(agent_argument(&format!(
                "file={}{}",
                recording.display(),
                self.options
            ))?)
            .arg("-cp")
            .arg(java_fixtures()?.classes())
            .args([
                "orders.OrderService",
                if self.leak { "leak=on" } else { "leak=off" },
            ])
            .arg(format!("seconds={}", self.seconds))
            .run(Duration::from_secs(u64::from(self.seconds)) + MARGIN)?;
        let report =
            report(&cli_binary()?, &recording).map_err(|e| e.context(ended.to_string()))?;
        Ok(OrderResult {
            ended,
            recording,
            report,
            _folder: folder,
        })
    }
}
