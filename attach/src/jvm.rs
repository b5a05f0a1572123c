//! JVMs that run here.

use crate::Error;
use crate::perfdata::PerfData;
use crate::process::{self, Image, Status};
use std::path::{Path, PathBuf};

/// A running HotSpot JVM that we may look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jvm {
    pub(crate) pid: u32,
    pub(crate) status: Status,
    pub(crate) on_musl: bool,
    perfdata: PerfData,
    shares_root: bool,
    agent: Option<PathBuf>,
}

impl Jvm {
    /// The JVM with that pid, as numbered here. Errs when there is no such process, when it is no HotSpot JVM,
    /// or when it belongs to another user and we are not root.
    pub fn find(pid: u32) -> Result<Self, Error> {
        let status = Status::of(pid)?;
        let ours = rustix::process::geteuid().as_raw();
        if ours != 0 && ours != status.uid {
            return Err(Error::OtherUser {
                pid,
                uid: status.uid,
                ours,
            });
        }
        let image = Image::of(pid).map_err(|cause| process::gone(pid, cause))?;
        if image.has_openj9 {
            return Err(Error::OpenJ9 { pid });
        }
        if !image.has_jvm {
            return Err(Error::NotJvm {
                pid,
                command: image.command,
            });
        }
        let perfdata = PerfData::of(pid, status.namespace_pid).unwrap_or_default();
        Ok(Self {
            pid,
            on_musl: image.on_musl,
            agent: image.agent,
            perfdata,
            shares_root: process::shares_our_root(pid),
            status,
        })
    }

    /// The JVM that a user means: a pid, or the main class (with or without package, or a jar's name).
    /// Errs also when nothing or more than one fits.
    pub fn named(name: &str) -> Result<Self, Error> {
        if let Ok(pid) = name.parse() {
            return Self::find(pid);
        }
        let mut fitting: Vec<Self> = list().into_iter().filter(|jvm| jvm.runs(name)).collect();
        match (fitting.pop(), fitting.is_empty()) {
            (None, _) => Err(Error::NoSuchMainClass {
                name: name.to_owned(),
            }),
            (Some(jvm), true) => Ok(jvm),
            (Some(jvm), false) => {
                let mut pids: Vec<u32> = fitting.iter().map(|other| other.pid).collect();
                pids.push(jvm.pid);
                Err(Error::Ambiguous {
                    name: name.to_owned(),
                    pids,
                })
            }
        }
    }

    /// Its pid as numbered here.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its pid inside its own namespace, which its files are named after.
    pub fn namespace_pid(&self) -> u32 {
        self.status.namespace_pid
    }

    /// Whether it has ended since; one that its parent has not waited for counts as ended.
    pub fn is_gone(&self) -> bool {
        let status = Status::of(self.pid);
        status.map_or(true, |status| matches!(status.state, 'Z' | 'X'))
    }

    /// Its effective uid.
    pub fn uid(&self) -> u32 {
        self.status.uid
    }

    /// Main class or jar with its arguments, when the JVM publishes it.
    pub fn command(&self) -> Option<&str> {
        self.perfdata.command.as_deref()
    }

    /// Main class or jar alone.
    pub fn main_class(&self) -> Option<&str> {
        self.command()?.split_whitespace().next()
    }

    /// `java.version`, when the JVM publishes it.
    pub fn version(&self) -> Option<&str> {
        self.perfdata.version.as_deref()
    }

    /// `java.vm.name`, when the JVM publishes it.
    pub fn vm(&self) -> Option<&str> {
        self.perfdata.vm.as_deref()
    }

    /// Our agent's library as the JVM sees it, when it is loaded already.
    pub fn agent(&self) -> Option<&Path> {
        self.agent.as_deref()
    }

    /// Whether it runs on musl libc (Alpine), whose agent is a library of its own.
    pub fn is_on_musl(&self) -> bool {
        self.on_musl
    }

    /// Whether it lives in another root folder or mount namespace (a container).
    pub fn is_contained(&self) -> bool {
        !self.shares_root
    }

    /// A path of the JVM's own file system as reached from here.
    pub fn inside(&self, path: &Path) -> PathBuf {
        if self.shares_root {
            path.to_path_buf()
        } else {
            process::inside(self.pid, path)
        }
    }

    /// Whether the JVM takes attach requests; `None` when it publishes nothing.
    pub(crate) fn attachable(&self) -> Option<bool> {
        self.perfdata.attachable
    }

    fn runs(&self, name: &str) -> bool {
        let main = self.main_class().unwrap_or_default();
        let short = main.rsplit(['.', '/']).next().unwrap_or_default();
        let file = main.rsplit('/').next().unwrap_or_default();
        !name.is_empty() && (main == name || short == name || file == name)
    }
}

/// Every HotSpot JVM that we may look at, by pid; those of other users are left out unless we are root.
pub fn list() -> Vec<Jvm> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut jvms: Vec<Jvm> = pids.filter_map(|pid| Jvm::find(pid).ok()).collect();
    jvms.sort_by_key(|jvm| jvm.pid);
    jvms
}

#[cfg(test)]
mod tests {
    use super::Jvm;
    use crate::Error;

    #[test]
    fn a_process_that_is_no_jvm_is_named() {
        let error = Jvm::find(std::process::id()).unwrap_err();
        assert!(matches!(error, Error::NotJvm { .. }), "{error}");
    }

    #[test]
    fn a_pid_without_process_says_so() {
        let error = Jvm::find(u32::MAX / 2).unwrap_err();
        assert!(matches!(error, Error::NoProcess { .. }), "{error}");
    }

    #[test]
    fn a_main_class_that_nobody_runs_says_so() {
        let error = Jvm::named("no.such.MainClass").unwrap_err();
        assert!(matches!(error, Error::NoSuchMainClass { .. }), "{error}");
    }
}
