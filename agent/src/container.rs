//! The container's memory boundary from cgroup files: v2, then v1. Parsing is pure; [`Cgroup`] reads the files.

use std::path::{Path, PathBuf};

use chain_core::Bytes;
use chain_core::input::ContainerReading;

/// A limit at or above this is no boundary: v1 writes `LONG_MAX` rounded down to a page.
const NO_LIMIT: u64 = 1 << 60;

/// Which files hold the figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cgroup {
    /// `memory.current` and `memory.max` in this folder.
    V2(PathBuf),
    /// `memory.usage_in_bytes` and `memory.limit_in_bytes` in this folder.
    V1(PathBuf),
}

/// Finds the own memory group from the text of `/proc/self/cgroup`: the folders to try, best first.
///
/// Inside a container the group's path is often relative to a namespace: the mount's root is tried as well.
#[must_use]
pub fn candidates(cgroup: &str) -> Vec<Cgroup> {
    let mut found = Vec::new();
    let under = |mount: &str, path: &str| PathBuf::from(mount).join(path.trim_start_matches('/'));
    for line in cgroup.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        // Paths outside the namespace's root start with "/..": only the mount's root can be read then.
        let path = if path.contains("..") { "/" } else { path };
        if controllers.is_empty() {
            found.push(Cgroup::V2(under("/sys/fs/cgroup", path)));
        } else if controllers.split(',').any(|name| name == "memory") {
            found.push(Cgroup::V1(under("/sys/fs/cgroup/memory", path)));
        }
    }
    found.push(Cgroup::V2("/sys/fs/cgroup".into()));
    found.push(Cgroup::V1("/sys/fs/cgroup/memory".into()));
    found.dedup();
    // Version 2 first: on hybrid systems the memory controller belongs to one of them only.
    found.sort_by_key(|group| matches!(group, Cgroup::V1(_)));
    found
}

/// A limit's text: `None` when it is no number, `Some(None)` for "max" and other absent boundaries.
#[must_use]
pub fn limit(text: &str) -> Option<Option<Bytes>> {
    let text = text.trim();
    if text == "max" {
        return Some(None);
    }
    let bytes: u64 = text.parse().ok()?;
    Some((bytes < NO_LIMIT).then_some(Bytes(bytes)))
}

/// A usage figure's text.
#[must_use]
pub fn usage(text: &str) -> Option<Bytes> {
    text.trim().parse().ok().map(Bytes)
}

impl Cgroup {
    /// The group of this process that can be read; `None` when there is none.
    #[must_use]
    pub fn own() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        candidates(&text)
            .into_iter()
            .find(|group| group.read().is_some())
    }

    /// The figures now; `None` when either cannot be read, and the reading is skipped.
    #[must_use]
    pub fn read(&self) -> Option<ContainerReading> {
        let (folder, used, max): (&Path, _, _) = match self {
            Self::V2(folder) => (folder, "memory.current", "memory.max"),
            Self::V1(folder) => (folder, "memory.usage_in_bytes", "memory.limit_in_bytes"),
        };
        Some(ContainerReading {
            used: usage(&std::fs::read_to_string(folder.join(used)).ok()?)?,
            max: limit(&std::fs::read_to_string(folder.join(max)).ok()?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_2_is_tried_before_version_1() {
        let groups = candidates(
            "12:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/system.slice/a.service\n",
        );
        assert_eq!(
            groups,
            [
                Cgroup::V2("/sys/fs/cgroup/system.slice/a.service".into()),
                Cgroup::V2("/sys/fs/cgroup".into()),
                Cgroup::V1("/sys/fs/cgroup/memory/docker/abc".into()),
                Cgroup::V1("/sys/fs/cgroup/memory".into()),
            ]
        );
    }

    #[test]
    fn a_path_outside_the_namespace_leaves_the_mounts_root() {
        let groups = candidates("0::/../../other.scope\n");
        assert_eq!(groups.first(), Some(&Cgroup::V2("/sys/fs/cgroup/".into())));
    }

    #[test]
    fn broken_lines_are_passed_over() {
        assert_eq!(candidates("\n:\nmemory\n"), candidates(""));
    }

    #[test]
    fn max_and_the_huge_number_of_version_1_are_no_boundary() {
        assert_eq!(limit("max\n"), Some(None));
        assert_eq!(limit("9223372036854771712\n"), Some(None));
        assert_eq!(limit("268435456\n"), Some(Some(Bytes(268_435_456))));
        assert_eq!(limit("lots"), None);
        assert_eq!(usage("17\n"), Some(Bytes(17)));
        assert_eq!(usage("-1"), None);
    }

    #[test]
    fn a_reading_needs_both_files() {
        let folder = tempfile::tempdir().unwrap();
        let group = Cgroup::V2(folder.path().into());
        assert_eq!(group.read(), None);
        std::fs::write(folder.path().join("memory.current"), "5\n").unwrap();
        assert_eq!(group.read(), None);
        std::fs::write(folder.path().join("memory.max"), "9\n").unwrap();
        assert_eq!(
            group.read(),
            Some(ContainerReading {
                used: Bytes(5),
                max: Some(Bytes(9))
            })
        );
    }
}
