//! What a shared object or program gives and needs.

use anyhow::{Context as _, ensure};
use object::read::elf::{ElfFile64, FileHeader as _, SectionHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _};
use std::fmt;

/// Largest agent: it lives in somebody's production JVM.
const AGENT_MAX: usize = 4 << 20;
/// Largest command, agent inside.
const COMMAND_MAX: usize = 24 << 20;
/// Everything that the agent may export.
const ENTRIES: [&str; 3] = ["Agent_OnAttach", "Agent_OnLoad", "Agent_OnUnload"];

/// Facts of an ELF file.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    size: usize,
    exports: Vec<String>,
    glibc: Option<(u32, u32)>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} KB, exports {:?}", self.size / 1024, self.exports)?;
        match self.glibc {
            Some((major, minor)) => write!(f, ", needs glibc {major}.{minor}"),
            None => write!(f, ", needs no glibc"),
        }
    }
}

/// Reads a 64-bit ELF file; errs when it is none.
pub fn inspect(bytes: &[u8]) -> anyhow::Result<Found> {
    let file = ElfFile64::<Endianness>::parse(bytes)?;
    let mut exports: Vec<String> = file
        .dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect();
    exports.sort();
    Ok(Found {
        size: bytes.len(),
        exports,
        glibc: newest_glibc(&file, bytes)?,
    })
}

/// The newest `GLIBC_x.y` among the versions that the file needs.
fn newest_glibc(
    file: &ElfFile64<'_, Endianness>,
    bytes: &[u8],
) -> anyhow::Result<Option<(u32, u32)>> {
    let endian = file.endian();
    let sections = file.elf_header().sections(endian, bytes)?;
    let mut newest = None;
    for section in sections.iter() {
        let Some((mut needs, link)) = section.gnu_verneed(endian, bytes)? else {
            continue;
        };
        let strings = sections.strings(endian, bytes, link)?;
        while let Some((_, mut versions)) = needs.next()? {
            while let Some(version) = versions.next()? {
                let name = version
                    .name(endian, strings)
                    .ok()
                    .context("a version without name")?;
                newest = newest.max(glibc(&String::from_utf8_lossy(name)));
            }
        }
    }
    Ok(newest)
}

fn glibc(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// What a file may be.
pub struct Limits {
    size: usize,
    exports: Option<&'static [&'static str]>,
    glibc: Option<(u32, u32)>,
}

impl Limits {
    /// Of the agent library.
    pub fn agent(glibc: Option<(u32, u32)>) -> Self {
        Self {
            size: AGENT_MAX,
            exports: Some(&ENTRIES),
            glibc,
        }
    }

    /// Of the command.
    pub fn command(glibc: Option<(u32, u32)>) -> Self {
        Self {
            size: COMMAND_MAX,
            exports: None,
            glibc,
        }
    }

    /// Errs with the first fact that is over a limit.
    pub fn check(&self, found: &Found) -> anyhow::Result<()> {
        ensure!(
            found.size <= self.size,
            "{} bytes, more than {}",
            found.size,
            self.size
        );
        if let Some(exports) = self.exports {
            ensure!(
                found.exports == exports,
                "exports {:?}, not exactly {exports:?}",
                found.exports
            );
        }
        ensure!(
            found.glibc <= self.glibc,
            "needs glibc {:?}, more than {:?}",
            found.glibc,
            self.glibc
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ENTRIES, Found, Limits, glibc, inspect};
    use jfr_chains_tests::agent_library;

    #[test]
    fn the_agent_exports_its_entries_and_nothing_else() {
        let bytes = std::fs::read(agent_library().unwrap()).unwrap();
        let found = inspect(&bytes).unwrap();
        assert_eq!(found.exports, ENTRIES);
        assert!(
            found.glibc.is_some(),
            "a library made here needs some glibc"
        );
    }

    #[test]
    fn a_file_over_a_limit_is_refused() {
        let found = |exports: &[&str], glibc| Found {
            size: 1000,
            exports: exports.iter().map(|name| (*name).to_owned()).collect(),
            glibc,
        };
        let limits = Limits::agent(Some((2, 17)));
        assert!(limits.check(&found(&ENTRIES, Some((2, 17)))).is_ok());
        assert!(limits.check(&found(&ENTRIES, Some((2, 34)))).is_err());
        assert!(
            limits
                .check(&found(&["rust_eh_personality"], None))
                .is_err()
        );
        assert!(
            Limits::agent(None)
                .check(&found(&ENTRIES, Some((2, 3))))
                .is_err(),
            "a musl build needs no glibc"
        );
        assert!(inspect(b"no ELF file").is_err());
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(glibc("GLIBC_2.2.5"), Some((2, 2)));
        assert!(glibc("GLIBC_2.17") > glibc("GLIBC_2.3"));
        assert_eq!(glibc("GCC_3.0"), None);
    }
}
