//! One JVM and the agent in it: what every driving command does first.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use attach::{Jvm, Listener};

use super::Target;
use super::library::{self, Libc};
use crate::report::safe::terminal;

/// A JVM whose attach listener answers.
pub struct Session {
    /// The JVM.
    pub jvm: Jvm,
    library: PathBuf,
    listener: Listener,
}

impl Session {
    /// Finds the JVM, puts the agent's library where it sees it, starts its listener.
    pub fn open(target: &Target) -> anyhow::Result<Self> {
        let jvm = Jvm::named(&target.jvm)?;
        let library = match (jvm.agent(), &target.agent) {
            // A JVM that has an agent keeps to it; ours is not needed.
            (Some(loaded), None) => loaded.to_path_buf(),
            (_, given) => {
                let library = library::locate(given.as_deref(), Libc::of(&jvm))?;
                attach::place(&jvm, &library)?
            }
        };
        let listener = attach::connect(&jvm, target.patience)?;
        Ok(Self {
            jvm,
            library,
            listener,
        })
    }

    /// Whether the agent was in the JVM when the session began.
    pub fn had_agent(&self) -> bool {
        self.jvm.agent().is_some()
    }

    /// Sends `cmd=COMMAND` with further options to the agent, loading it when it is not there; the agent's answer.
    /// Errs with the agent's own words when it refuses.
    pub fn send(&mut self, command: &str, options: &[String]) -> anyhow::Result<String> {
        let file = self.temporary("answer", "txt");
        let reply = Reply::create(&self.jvm, &file)?;
        let mut text = format!("cmd={command}");
        for option in options {
            text.push(',');
            text.push_str(option);
        }
        text.push_str(&format!(",reply={}", file.display()));
        let loaded = self.listener.load(&self.library, &text);
        let answer = fs::read_to_string(&reply.path).unwrap_or_default();
        match loaded {
            Ok(()) => Ok(answer),
            Err(attach::Error::Refused { pid, .. }) if !answer.is_empty() => {
                bail!("the agent in process {pid}: {}", answer.trim())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A new name in the JVM's own `/tmp`, as the JVM sees it.
    pub fn temporary(&self, what: &str, extension: &str) -> PathBuf {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let name = format!(
            "jfr-chains-{what}-{}-{now:x}.{extension}",
            self.jvm.namespace_pid()
        );
        Path::new("/tmp").join(name)
    }
}

/// The file for one answer: made by us, since the agent writes only what is there; removed when dropped.
struct Reply {
    path: PathBuf,
}

impl Reply {
    fn create(jvm: &Jvm, file: &Path) -> anyhow::Result<Self> {
        use std::os::unix::fs::{OpenOptionsExt as _, fchown};
        let path = jvm.inside(file);
        let made = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        let made = made.and_then(|held| {
            let reply = Self { path: path.clone() };
            fchown(&held, Some(jvm.uid()), None)?;
            Ok(reply)
        });
        made.with_context(|| format!("a file for the agent's answer, {}", path.display()))
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The rest of the answer's line that begins with this word.
pub fn value<'a>(answer: &'a str, word: &str) -> Option<&'a str> {
    answer
        .lines()
        .find_map(|line| line.strip_prefix(word)?.strip_prefix(' '))
}

/// Copies a file of the JVM to where the user wants it, whole or not at all.
pub fn fetch(jvm: &Jvm, file: &Path, to: &Path) -> anyhow::Result<u64> {
    let from = jvm.inside(file);
    let mut source = fs::File::open(&from).with_context(|| from.display().to_string())?;
    let folder = to
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut fresh =
        tempfile::NamedTempFile::new_in(folder).with_context(|| folder.display().to_string())?;
    let bytes = io::copy(&mut source, &mut fresh)?;
    use std::os::unix::fs::PermissionsExt as _;
    fresh
        .as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    fresh
        .persist(to)
        .with_context(|| to.display().to_string())?;
    Ok(bytes)
}

/// Says something on stderr that is not an error.
pub fn say(what: &str) {
    // There is nobody left to tell when stderr is closed.
    let _ = writeln!(io::stderr(), "jfr-chains: {}", terminal(what));
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn a_word_begins_its_line() {
        let answer = "state tracking, epoch 3\nfile /tmp/a b.jfr\nfiles 3\n";
        assert_eq!(value(answer, "file"), Some("/tmp/a b.jfr"));
        assert_eq!(value(answer, "epoch"), None);
    }
}
