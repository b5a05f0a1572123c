//! HotSpot's counter file, `/tmp/hsperfdata_USER/PID`: main class, version, whether attaching is possible.

use crate::process;
use std::path::{Path, PathBuf};

/// First four bytes, big-endian whatever the rest is.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// Bytes of an entry before its name.
const ENTRY_HEAD: usize = 20;

/// Strings of a counter file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfData {
    /// Main class or jar and its arguments.
    pub command: Option<String>,
    /// `java.version`.
    pub version: Option<String>,
    /// `java.vm.name`.
    pub vm: Option<String>,
    /// Whether the JVM takes attach requests at all.
    pub attachable: Option<bool>,
}

impl PerfData {
    /// The counter file of a JVM as seen through its own root; `None` without one (`-XX:-UsePerfData`) or
    /// when it cannot be read.
    pub fn of(pid: u32, namespace_pid: u32) -> Option<Self> {
        let temp = process::inside(pid, Path::new("/tmp"));
        let folders = std::fs::read_dir(temp).ok()?.flatten();
        let ours = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("hsperfdata_");
        let mut files: Vec<PathBuf> = folders
            .filter(|entry| ours(&entry.file_name()))
            .map(|entry| entry.path().join(namespace_pid.to_string()))
            .filter(|path| path.is_file())
            .collect();
        // Users can leave stale files of an old process with the same pid: the newest is the live one.
        files.sort_by_key(|path| std::fs::metadata(path).and_then(|m| m.modified()).ok());
        Self::parse(&std::fs::read(files.last()?).ok()?)
    }

    /// Reads the strings of a counter file; `None` when it is none. Damaged entries end the list.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let file = File {
            bytes,
            little: *bytes.get(4)? == 1,
        };
        if bytes.get(..4)? != MAGIC {
            return None;
        }
        let mut at = file.number(24)?;
        let mut data = Self::default();
        for _ in 0..file.number(28)? {
            let Some((name, text, length)) = file.entry(at) else {
                break;
            };
            let text = text.filter(|text| !text.is_empty());
            match name.as_str() {
                "sun.rt.javaCommand" => data.command = text,
                "java.property.java.version" => data.version = text,
                "java.property.java.vm.name" => data.vm = text,
                "sun.rt.jvmCapabilities" => {
                    data.attachable = text.map(|flags| flags.starts_with('1'))
                }
                _ => {}
            }
            at += length;
        }
        Some(data)
    }
}

struct File<'a> {
    bytes: &'a [u8],
    little: bool,
}

impl File<'_> {
    /// A non-negative 32-bit number.
    fn number(&self, at: usize) -> Option<usize> {
        let raw: [u8; 4] = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        let value = if self.little {
            i32::from_le_bytes(raw)
        } else {
            i32::from_be_bytes(raw)
        };
        usize::try_from(value).ok()
    }

    /// Name, string value (if it is one) and length of the entry at `at`.
    fn entry(&self, at: usize) -> Option<(String, Option<String>, usize)> {
        let length = self.number(at)?;
        let entry = self
            .bytes
            .get(at..at.checked_add(length)?)
            .filter(|entry| entry.len() > ENTRY_HEAD)?;
        let name = until_zero(entry.get(self.number(at + 4)?..)?);
        let vector = self.number(at + 8)?;
        let is_text = *entry.get(12)? == b'B' && vector > 0;
        let value = entry.get(self.number(at + 16)?..)?;
        let text = is_text.then(|| until_zero(value.get(..vector).unwrap_or(value)));
        Some((name, text, length))
    }
}

fn until_zero(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::PerfData;

    /// A little-endian counter file with these strings.
    fn file(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = vec![0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1];
        bytes.extend([0; 16]);
        bytes.extend(32_i32.to_le_bytes());
        bytes.extend(i32::try_from(entries.len()).unwrap().to_le_bytes());
        for (name, value) in entries {
            let value_at = 20 + name.len() + 1;
            let length = value_at + value.len() + 1;
            for number in [length, 20, value.len() + 1] {
                bytes.extend(i32::try_from(number).unwrap().to_le_bytes());
            }
            bytes.extend([b'B', 0, 5, 1]);
            bytes.extend(i32::try_from(value_at).unwrap().to_le_bytes());
            bytes.extend([name.as_bytes(), &[0], value.as_bytes(), &[0]].concat());
        }
        bytes
    }

    #[test]
    fn main_class_and_capabilities_are_read() {
        let data = PerfData::parse(&file(&[
            ("sun.rt.javaCommand", "orders.OrderService leak=on"),
            ("sun.rt.jvmCapabilities", "0100"),
            ("java.property.java.version", "25.0.3"),
        ]));
        let data = data.unwrap();
        assert_eq!(data.command.as_deref(), Some("orders.OrderService leak=on"));
        assert_eq!(data.attachable, Some(false));
        assert_eq!(data.version.as_deref(), Some("25.0.3"));
    }

    #[test]
    fn no_cut_and_no_flipped_byte_makes_it_panic() {
        let whole = file(&[
            ("sun.rt.javaCommand", "A"),
            ("java.property.java.vm.name", "B"),
        ]);
        for cut in 0..whole.len() {
            let _ = PerfData::parse(whole.get(..cut).unwrap());
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[cut] ^= flip;
                let _ = PerfData::parse(&damaged);
            }
        }
        assert_eq!(PerfData::parse(b"not a counter file at all, really"), None);
    }
}
