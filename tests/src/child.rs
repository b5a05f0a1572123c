//! Processes with a deadline, whose output goes to files: a pipe that nobody drains would stop them.

use crate::{Jdk, paths};
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use wait_timeout::ChildExt as _;

/// How often [`Running::wait_until`] looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A process that is about to start: no stdin, output to files, none of the JVM's option variables.
#[derive(Debug)]
pub struct Child {
    command: Command,
}

impl Child {
    /// `program`, without arguments yet.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        for inherited in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
            command.env_remove(inherited);
        }
        command.stdin(Stdio::null());
        Self { command }
    }

    /// The `java` launcher of that JDK. Under `nohup`, or in the background of a script, it starts with the signals
    /// that are ignored there back at their defaults: a JVM leaves an ignored one alone, and `-Xcheck:jni` of JDK 11
    /// then complains about that.
    pub fn java(jdk: &Jdk) -> Self {
        if ignores_signals_of_a_jvm() {
            let signals = "--default-signal=HUP,INT,QUIT,TERM";
            Self::new("env").arg(signals).arg(jdk.java())
        } else {
            Self::new(jdk.java())
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Sets the working folder.
    #[must_use]
    pub fn current_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Starts it. It is killed when the returned guard is dropped before its end.
    pub fn start(mut self) -> io::Result<Running> {
        let base = paths::target_dir().join("scratch");
        std::fs::create_dir_all(&base)?;
        let output = tempfile::Builder::new()
            .prefix("output-")
            .tempdir_in(base)?;
        let (out, err) = (output.path().join("stdout"), output.path().join("stderr"));
        self.command
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?);
        let name = format!("{:?}", self.command);
        let child = self
            .command
            .spawn()
            .map_err(|e| io::Error::new(e.kind(), format!("{name}: {e}")))?;
        Ok(Running {
            child,
            name,
            out,
            err,
            _output: output,
            started: Instant::now(),
            ended: false,
        })
    }

    /// Runs it to its end. After `limit` it is killed, and [`Finished::timed_out`] says so.
    pub fn run(self, limit: Duration) -> io::Result<Finished> {
        self.start()?.finish(limit)
    }
}

/// A started process.
#[derive(Debug)]
pub struct Running {
    child: std::process::Child,
    name: String,
    out: PathBuf,
    err: PathBuf,
    _output: tempfile::TempDir,
    started: Instant,
    ended: bool,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to stdout so far.
    pub fn stdout(&self) -> String {
        read(&self.out)
    }

    /// What it has written to stderr so far.
    pub fn stderr(&self) -> String {
        read(&self.err)
    }

    /// Looks at the process until `ready` answers true; false when `limit` passed or it ended first.
    pub fn wait_until(&mut self, limit: Duration, mut ready: impl FnMut(&Self) -> bool) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            if ready(self) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            if !matches!(self.child.wait_timeout(LOOK_AGAIN), Ok(None)) {
                return ready(self);
            }
        }
    }

    /// Sends SIGTERM: an orderly end of a JVM, with shutdown hooks.
    pub fn terminate(&self) -> io::Result<()> {
        self.signal(rustix::process::Signal::TERM)
    }

    /// Sends SIGKILL: no code of the process runs any more.
    pub fn kill(&self) -> io::Result<()> {
        self.signal(rustix::process::Signal::KILL)
    }

    fn signal(&self, signal: rustix::process::Signal) -> io::Result<()> {
        let pid = i32::try_from(self.pid())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("no such pid"))?;
        Ok(rustix::process::kill_process(pid, signal)?)
    }

    /// Waits for its end, at most `limit` from now; then it is killed.
    pub fn finish(mut self, limit: Duration) -> io::Result<Finished> {
        let ended = self.child.wait_timeout(limit)?;
        let timed_out = ended.is_none();
        let status = match ended {
            Some(status) => status,
            None => {
                self.child.kill()?;
                self.child.wait()?
            }
        };
        self.ended = true;
        Ok(Finished {
            command: self.name.clone(),
            status,
            stdout: self.stdout(),
            stderr: self.stderr(),
            timed_out,
            elapsed: self.started.elapsed(),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Whether this process ignores SIGHUP, SIGINT, SIGQUIT or SIGTERM, which its children inherit.
fn ignores_signals_of_a_jvm() -> bool {
    const MASK: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 14;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & MASK != 0)
}

fn read(path: &Path) -> String {
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// An ended process and all it wrote. `Display` shows the command, status and both outputs.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The command line.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// All of stdout; bytes that are no UTF-8 are replaced.
    pub stdout: String,
    /// All of stderr; bytes that are no UTF-8 are replaced.
    pub stderr: String,
    /// Whether it was killed at its deadline.
    pub timed_out: bool,
    /// From start to end.
    pub elapsed: Duration,
}

impl Finished {
    /// The exit code, `None` when a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Whether it ended by itself with exit code 0.
    pub fn ok(&self) -> bool {
        !self.timed_out && self.status.success()
    }
}

impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.timed_out {
            "killed at its deadline, "
        } else {
            ""
        };
        writeln!(
            f,
            "{}\n{how}{} after {:?}",
            self.command, self.status, self.elapsed
        )?;
        write!(
            f,
            "--- stdout\n{}\n--- stderr\n{}",
            self.stdout, self.stderr
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Child;
    use std::time::Duration;

    #[test]
    fn output_larger_than_a_pipe_is_kept_whole() {
        let out = Child::new("head")
            .args(["-c", "300000", "/dev/zero"])
            .run(Duration::from_secs(30))
            .unwrap();
        assert!(out.ok(), "{out}");
        assert_eq!(out.stdout.len(), 300_000);
    }

    #[test]
    fn a_process_past_its_deadline_is_killed_and_said_so() {
        let out = Child::new("sleep")
            .arg("60")
            .run(Duration::from_millis(50))
            .unwrap();
        assert!(out.timed_out);
        assert_eq!(out.code(), None);
    }

    #[test]
    fn waiting_ends_when_the_process_does() {
        let mut child = Child::new("echo").arg("done").start().unwrap();
        assert!(child.wait_until(Duration::from_secs(30), |c| c.stdout().contains("done")));
        assert!(!child.wait_until(Duration::from_secs(30), |c| c.stdout().contains("never")));
    }

    #[test]
    fn a_dropped_child_leaves_no_process() {
        let child = Child::new("sleep").arg("60").start().unwrap();
        let proc = format!("/proc/{}", child.pid());
        drop(child);
        assert!(!std::path::Path::new(&proc).exists());
    }
}
