//! One run of the agent: its options and its own recording, opened before the worker starts.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::options::Options;
use crate::output::{self, FileOutput};

/// What a worker begins with.
#[derive(Debug)]
pub struct Session {
    /// Its options.
    pub options: Options,
    /// Its own recording; `None` without `file=`.
    pub file: Option<FileOutput>,
}

impl Session {
    /// Opens the own recording that the options ask for.
    ///
    /// # Errors
    /// One sentence: which file, and why it cannot be written.
    pub fn open(options: Options) -> Result<Self, String> {
        let file = match &options.file {
            None => None,
            Some(template) => {
                let now = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                let name = output::expand(
                    template,
                    std::process::id(),
                    &output::time_text(now.as_secs()),
                );
                Some(FileOutput::open(Path::new(&name), crate::agent::origin())?)
            }
        };
        Ok(Self { options, file })
    }
}
