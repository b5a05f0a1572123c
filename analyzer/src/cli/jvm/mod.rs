//! Commands that act on running JVMs: find them, load the agent, drive it.

pub mod agent_path;
pub mod drive;
mod library;
pub mod list;
mod progress;
pub mod record;
mod session;

/// Which JVM, and how long to wait for it.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The JVM: a pid, or its main class (with or without package) or jar.
    #[arg(value_name = "JVM")]
    jvm: String,

    /// How long to wait for the JVM's attach listener and for each of its answers.
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = humantime::parse_duration)]
    patience: std::time::Duration,

    /// The agent library to load instead of the built-in one.
    #[arg(long, value_name = "FILE")]
    agent: Option<std::path::PathBuf>,
}
