//! What the user should be told about the file, each once.

use std::fmt;
use std::path::PathBuf;

/// One sentence about the file; its `Display` is that sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Another living process writes the wanted file.
    Suffixed {
        /// The wanted name.
        wanted: PathBuf,
        /// The name in use.
        actual: PathBuf,
    },
    /// The file was deleted and is written anew.
    Deleted(PathBuf),
    /// Another file has taken the name.
    Replaced {
        /// The name that was lost.
        path: PathBuf,
        /// The name in use from now on.
        actual: PathBuf,
    },
    /// Writing fails; the sentence says why.
    NotWriting(String),
    /// Writing works again.
    WritingAgain(PathBuf),
    /// The file has reached its limit: the oldest chunks are given up from now on.
    ChunksDropped(PathBuf),
}

impl Notice {
    /// Its name in an AgentStatus event.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Suffixed { .. } => "file-suffixed",
            Self::Deleted(_) => "file-deleted",
            Self::Replaced { .. } => "file-replaced",
            Self::NotWriting(_) => "file-not-writing",
            Self::WritingAgain(_) => "file-writing-again",
            Self::ChunksDropped(_) => "file-chunks-dropped",
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suffixed { wanted, actual } => write!(
                f,
                "another process writes {}: this one writes {}",
                wanted.display(),
                actual.display()
            ),
            Self::Deleted(path) => write!(f, "{} was deleted: it is written anew", path.display()),
            Self::Replaced { path, actual } => write!(
                f,
                "another file has the name {} now: the recording goes on in {}",
                path.display(),
                actual.display()
            ),
            Self::NotWriting(why) => f.write_str(why),
            Self::WritingAgain(path) => write!(f, "{} can be written again", path.display()),
            Self::ChunksDropped(path) => {
                write!(
                    f,
                    "{} has reached its limit: its oldest chunks are given up",
                    path.display()
                )
            }
        }
    }
}
