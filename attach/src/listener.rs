//! Starts a JVM's attach listener and talks to it.

use crate::protocol;
use crate::{Error, Jvm, process};
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, fchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks for the socket.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Longest answer that is read: a thread dump of many threads, not a heap.
const ANSWER_MAX: u64 = 64 << 20;

/// A JVM's attach listener. Each operation is one connection.
#[derive(Debug)]
pub struct Listener {
    pid: u32,
    socket: PathBuf,
    patience: Duration,
}

/// Connects to a JVM's listener, and starts it first when it does not run; waits at most `patience` for that and
/// for each answer. Errs before any signal is sent when the JVM cannot or will not listen.
pub fn connect(jvm: &Jvm, patience: Duration) -> Result<Listener, Error> {
    let (pid, namespace_pid) = (jvm.pid, jvm.namespace_pid());
    let name = format!("/tmp/.java_pid{namespace_pid}");
    let socket = process::inside(pid, Path::new(&name));
    let listener = Listener {
        pid,
        socket,
        patience,
    };
    if listener.socket.exists() && listener.open().is_ok() {
        return Ok(listener);
    }
    may_signal(pid, jvm.attachable(), &process::Status::of(pid)?)?;
    let request = RequestFile::create(jvm)?;
    let signal = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let signal = signal.ok_or(Error::NoProcess { pid })?;
    rustix::process::kill_process(signal, rustix::process::Signal::QUIT).map_err(|cause| {
        Error::Proc {
            pid,
            cause: cause.into(),
        }
    })?;
    let deadline = Instant::now() + patience;
    loop {
        if listener.socket.exists() && listener.open().is_ok() {
            drop(request);
            return Ok(listener);
        }
        if Instant::now() >= deadline {
            break;
        }
        process::Status::of(pid)?;
        std::thread::sleep(LOOK_AGAIN);
    }
    if listener.socket.exists() {
        listener.open()?;
    }
    Err(Error::NoListener {
        pid,
        namespace_pid,
        uid: jvm.uid(),
        seconds: patience.as_secs(),
        socket: listener.socket.clone(),
    })
}

/// Whether a SIGQUIT would start the listener: it must not end the process, print a thread dump or wait for ever.
fn may_signal(pid: u32, attachable: Option<bool>, status: &process::Status) -> Result<(), Error> {
    if attachable == Some(false) {
        Err(Error::AttachDisabled { pid })
    } else if matches!(status.state, 'T' | 't' | 'Z' | 'X') {
        Err(Error::Stopped {
            pid,
            state: status.state,
        })
    } else if !status.catches_sigquit {
        Err(Error::NoSignalHandler { pid })
    } else {
        Ok(())
    }
}

impl Listener {
    /// Loads an agent library (a path as the JVM sees it, absolute) with options, and waits until its
    /// `Agent_OnAttach` has returned. Errs when options are longer than [`crate::OPTIONS_MAX`], when the JVM
    /// refuses, cannot load it, or when the agent refuses.
    pub fn load(&mut self, library: &Path, options: &str) -> Result<(), Error> {
        let bytes = self.talk("load", [&library.to_string_lossy(), "true", options])?;
        protocol::loaded(self.pid, library, &bytes)
    }

    /// Runs a diagnostic command (`VM.version`, `JFR.check`) and gives its output.
    pub fn jcmd(&mut self, command: &str) -> Result<String, Error> {
        let bytes = self.talk("jcmd", [command, "", ""])?;
        protocol::answer(self.pid, &bytes)
    }

    fn talk(&self, operation: &str, arguments: [&str; 3]) -> Result<Vec<u8>, Error> {
        let pid = self.pid;
        let request = protocol::request(operation, arguments)?;
        let failed = |cause| Error::Talk { pid, cause };
        let mut stream = self.open()?;
        stream.write_all(&request).map_err(failed)?;
        let mut answer = Vec::new();
        match stream.take(ANSWER_MAX).read_to_end(&mut answer) {
            Ok(_) => Ok(answer),
            // A listener that refuses resets the connection before it reads everything.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                Err(Error::NoAnswer { pid })
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn open(&self) -> Result<UnixStream, Error> {
        let connected = UnixStream::connect(&self.socket).and_then(|stream| {
            stream.set_read_timeout(Some(self.patience))?;
            stream.set_write_timeout(Some(self.patience))?;
            Ok(stream)
        });
        connected.map_err(|cause| Error::Connect {
            pid: self.pid,
            socket: self.socket.clone(),
            cause,
        })
    }
}

/// `.attach_pidN`, which tells a SIGQUIT for the listener from one for a thread dump; removed when dropped.
struct RequestFile {
    path: PathBuf,
}

impl RequestFile {
    /// In the JVM's working folder, else in its /tmp; owned by the JVM's user.
    fn create(jvm: &Jvm) -> Result<Self, Error> {
        let name = format!(".attach_pid{}", jvm.namespace_pid());
        let working = process::proc(jvm.pid).join("cwd").join(&name);
        let folder = process::inside(jvm.pid, Path::new("/tmp"));
        let temp = folder.join(&name);
        let in_temp = || process::real_folder(&folder).and_then(|()| Self::at(temp.clone(), jvm));
        let made = Self::at(working, jvm).or_else(|_| in_temp());
        made.map_err(|cause| Error::RequestFile {
            path: temp,
            pid: jvm.pid,
            namespace_pid: jvm.namespace_pid(),
            uid: jvm.uid(),
            cause,
        })
    }

    /// Never follows a link that somebody left under that name; a stale file is replaced.
    fn at(path: PathBuf, jvm: &Jvm) -> io::Result<Self> {
        let create = || {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o660)
                .open(&path)
        };
        let file = match create() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                std::fs::remove_file(&path)?;
                create()?
            }
            other => other?,
        };
        let made = Self { path };
        if rustix::process::geteuid().as_raw() != jvm.uid() {
            fchown(&file, Some(jvm.status.uid), Some(jvm.status.gid))?;
        }
        Ok(made)
    }
}

impl Drop for RequestFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::may_signal;
    use crate::Error;
    use crate::process::Status;

    const READY: Status = Status {
        uid: 1,
        gid: 1,
        namespace_pid: 7,
        state: 'S',
        catches_sigquit: true,
    };

    #[test]
    fn only_a_jvm_that_will_listen_is_signalled() {
        assert!(may_signal(7, None, &READY).is_ok());
        assert!(may_signal(7, Some(true), &READY).is_ok());
        assert!(matches!(
            may_signal(7, Some(false), &READY),
            Err(Error::AttachDisabled { .. })
        ));
        let starting = Status {
            catches_sigquit: false,
            ..READY
        };
        assert!(matches!(
            may_signal(7, None, &starting),
            Err(Error::NoSignalHandler { .. })
        ));
        let stopped = Status {
            state: 'T',
            ..READY
        };
        assert!(matches!(
            may_signal(7, None, &stopped),
            Err(Error::Stopped { state: 'T', .. })
        ));
    }
}
