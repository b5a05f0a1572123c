//! One run of the agent: its options and its own recording, opened before the worker starts.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use chain_core::Tick;
use jfr_format::schema::Name;
use jfr_format::schema::events::AgentStatus;

use crate::options::Options;
use crate::output::{self, FileOutput};
use crate::record::{Emission, Item};

/// What a worker begins with.
#[derive(Debug)]
pub struct Session {
    /// Its options.
    pub options: Options,
    /// Its own recording; `None` without `file=`.
    pub file: Option<FileOutput>,
}

/// Where the template points in this process at this moment.
fn own_path(template: &str) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    output::expand(
        template,
        std::process::id(),
        &output::time_text(now.as_secs()),
    )
}

/// Leaves one status event in the own recording, when there is one, of an agent that stays idle for its options.
pub fn record_refusal(options: &Options, errors: &[String]) {
    let Some(template) = &options.file else {
        return;
    };
    let path = own_path(template);
    let opened = FileOutput::open(
        Path::new(&path),
        crate::agent::origin(),
        options.max_size_bytes,
    );
    let Ok(mut file) = opened else {
        return;
    };
    let status = AgentStatus {
        code: Name::of("options-refused"),
        severity: Name::of("error"),
        message: errors.join("; "),
        version: Name::of(env!("CARGO_PKG_VERSION")),
        state: Some(Name::of("idle")),
        ..AgentStatus::default()
    };
    file.emit(&Emission {
        at: Tick(0),
        what: Item::Event(Box::new(status.into())),
    });
    if let Err(error) = file.close() {
        crate::debug!("{error}");
    }
}

impl Session {
    /// Opens the own recording that the options ask for.
    ///
    /// # Errors
    /// One sentence: which file, and why it cannot be written.
    pub fn open(options: Options) -> Result<Self, String> {
        let file = match &options.file {
            None => None,
            Some(template) => Some(FileOutput::open(
                Path::new(&own_path(template)),
                crate::agent::origin(),
                options.max_size_bytes,
            )?),
        };
        Ok(Self { options, file })
    }
}
