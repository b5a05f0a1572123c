//! What `/proc/PID/status` and its neighbours say of a process.

use crate::Error;
use std::io;
use std::path::{Path, PathBuf};

/// SIGQUIT, which asks a JVM for its attach listener (or for a thread dump).
const SIGQUIT: u32 = 3;

/// The lines of `/proc/PID/status` that matter here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Effective uid.
    pub uid: u32,
    /// Effective gid.
    pub gid: u32,
    /// Its id in the innermost pid namespace it lives in.
    pub namespace_pid: u32,
    /// State letter: R, S, D, T, t, Z.
    pub state: char,
    /// Whether it has a handler for SIGQUIT.
    pub catches_sigquit: bool,
}

impl Status {
    /// Reads `/proc/PID/status`. Errs with [`Error::NoProcess`] when there is none.
    pub fn of(pid: u32) -> Result<Self, Error> {
        let text =
            std::fs::read_to_string(proc(pid).join("status")).map_err(|cause| gone(pid, cause))?;
        Self::parse(&text, pid).ok_or_else(|| Error::Proc {
            pid,
            cause: io::Error::other("odd status file"),
        })
    }

    fn parse(text: &str, pid: u32) -> Option<Self> {
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        };
        let effective = |name: &str| field(name)?.split_whitespace().nth(1)?.parse().ok();
        // Kernels before 4.1 have no NSpid line: no namespaces to look through then.
        let namespace_pid = match field("NSpid") {
            Some(pids) => pids.split_whitespace().next_back()?.parse().ok()?,
            None => pid,
        };
        let caught = u64::from_str_radix(field("SigCgt")?.trim(), 16).ok()?;
        Some(Self {
            uid: effective("Uid")?,
            gid: effective("Gid")?,
            namespace_pid,
            state: field("State")?.trim().chars().next()?,
            catches_sigquit: caught >> (SIGQUIT - 1) & 1 == 1,
        })
    }
}

/// `/proc/PID`.
pub fn proc(pid: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

/// A file of a folder inside the process's own root: `/proc/PID/root` + `path`.
pub fn inside(pid: u32, path: &Path) -> PathBuf {
    proc(pid)
        .join("root")
        .join(path.strip_prefix("/").unwrap_or(path))
}

/// Errs unless `path` is a folder itself: a link inside another root would lead us out into our own.
pub fn real_folder(path: &Path) -> io::Result<()> {
    let kind = std::fs::symlink_metadata(path)?;
    if kind.is_dir() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{} is no folder", path.display())))
    }
}

/// The process's name and, if readable, what it maps.
pub struct Image {
    /// `comm`.
    pub command: String,
    /// Has HotSpot's or OpenJ9's launcher library mapped.
    pub has_jvm: bool,
    /// Has OpenJ9's library mapped.
    pub has_openj9: bool,
    /// Has musl's loader mapped.
    pub on_musl: bool,
    /// Our agent's library, when it is mapped; the path as the process sees it.
    pub agent: Option<PathBuf>,
}

/// File names of our agent: as shipped, as built, as copied into a container.
const AGENT_NAMES: [&str; 2] = ["libjfr_chains", "jfr-chains-"];

/// The agent's library in a list of mappings; one that was deleted meanwhile cannot be loaded again.
fn mapped_agent(maps: &str) -> Option<PathBuf> {
    maps.lines().find_map(|line| {
        let path = line.get(line.find('/')?..)?;
        let name = path.rsplit('/').next()?;
        let ours =
            AGENT_NAMES.iter().any(|prefix| name.starts_with(prefix)) && name.ends_with(".so");
        ours.then(|| PathBuf::from(path))
    })
}

impl Image {
    /// Reads `/proc/PID/comm` and `/proc/PID/maps`; the latter needs the same user or root.
    pub fn of(pid: u32) -> io::Result<Self> {
        let command = std::fs::read_to_string(proc(pid).join("comm"))?
            .trim()
            .to_owned();
        let maps = String::from_utf8_lossy(&std::fs::read(proc(pid).join("maps"))?).into_owned();
        Ok(Self::parse(command, &maps))
    }

    fn parse(command: String, maps: &str) -> Self {
        let file = |name: &str| {
            maps.lines()
                .any(|line| line.rsplit('/').next().is_some_and(|f| f.starts_with(name)))
        };
        Self {
            command,
            has_jvm: file("libjvm.so"),
            has_openj9: file("libj9vm"),
            on_musl: file("ld-musl-") || file("libc.musl-"),
            agent: mapped_agent(maps),
        }
    }
}

/// Whether the process's root folder is ours: same device and inode of `/`, same mount namespace.
pub fn shares_our_root(pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let same = |a: &str, b: PathBuf| match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()),
        _ => false,
    };
    let namespaces = (
        std::fs::read_link("/proc/self/ns/mnt"),
        std::fs::read_link(proc(pid).join("ns/mnt")),
    );
    let same_namespace = matches!(namespaces, (Ok(ours), Ok(theirs)) if ours == theirs);
    same_namespace && same("/", proc(pid).join("root"))
}

/// A read error of `/proc/PID` as ours.
pub fn gone(pid: u32, cause: io::Error) -> Error {
    match cause.kind() {
        io::ErrorKind::NotFound => Error::NoProcess { pid },
        _ => Error::Proc { pid, cause },
    }
}

#[cfg(test)]
mod tests {
    use super::{Image, Status};

    const STATUS: &str = "Name:\tjava\nState:\tS (sleeping)\nPid:\t812\nUid:\t1000\t1001\t1000\t1000\n\
        Gid:\t100\t101\t100\t100\nNSpid:\t812\t7\nSigBlk:\t0000000000000004\nSigCgt:\t2000000181005ccf\n";

    #[test]
    fn the_innermost_namespace_gives_the_pid_for_names() {
        let status = Status::parse(STATUS, 812).unwrap();
        assert_eq!(
            (status.namespace_pid, status.uid, status.gid, status.state),
            (7, 1001, 101, 'S')
        );
    }

    #[test]
    fn only_a_caught_sigquit_counts_as_handled() {
        assert!(Status::parse(STATUS, 812).unwrap().catches_sigquit);
        let without = STATUS.replace("2000000181005ccf", "0000000181005ccb");
        assert!(!Status::parse(&without, 812).unwrap().catches_sigquit);
    }

    #[test]
    fn an_old_kernel_without_namespace_line_has_one_pid() {
        let old = STATUS.replace("NSpid:\t812\t7\n", "");
        assert_eq!(Status::parse(&old, 812).unwrap().namespace_pid, 812);
        assert_eq!(Status::parse("", 1), None);
    }

    #[test]
    fn a_process_is_known_by_the_libraries_it_maps() {
        let line = |path: &str| format!("7f00-7f01 r-xp 00000000 08:01 42   {path}\n");
        let hotspot = Image::parse("java".into(), &line("/opt/jdk/lib/server/libjvm.so"));
        assert!(hotspot.has_jvm && !hotspot.has_openj9 && !hotspot.on_musl);
        let alpine =
            line("/lib/ld-musl-x86_64.so.1") + &line("/opt/lib/server/libjvm.so (deleted)");
        assert!(Image::parse("java".into(), &alpine).on_musl);
        assert!(!Image::parse("cat".into(), &line("/usr/lib/libc.so.6")).has_jvm);
    }
}
