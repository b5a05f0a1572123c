//! Arguments of `jfr-chains events`.

use std::path::PathBuf;

/// Arguments of `jfr-chains events`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  jfr-chains events leak.jfr --type jdk.OldObjectSample
  jfr-chains events leak.jfr -t 'jfrchains.*' --format json | jq '.events[]'
  jfr-chains events leak.jfr --type jdk.GCHeapSummary --format csv -o heap.csv
  jfr-chains events leak.jfr --thread main --from 2026-01-05T10:00:00Z")]
pub struct EventsArgs {
    /// Recordings; `-` is standard input; .gz, .zip and .lz4 open as they are
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Event types, full or short names; `*` stands for anything; several with commas
    #[arg(
        long = "type",
        short = 't',
        value_name = "NAMES",
        value_delimiter = ','
    )]
    pub types: Vec<String>,
    /// Only events that end at or after this moment, in RFC 3339
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Only events that start before this moment, in RFC 3339
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// Only events of this thread, samples of it too: its name (`*` stands for anything), Java id or system id
    #[arg(long, value_name = "THREAD")]
    pub thread: Option<String>,
    /// At most this many events
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Frames shown of a stack trace
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub stack_depth: usize,
    /// JSON with every structure field by field, instead of classes, threads and frames by name
    #[arg(long)]
    pub raw: bool,
    /// How to write them; CSV holds one event type
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One document of schema `jfr-chains/events/1`.
    Json,
    /// One line for each event of one type.
    Csv,
}
