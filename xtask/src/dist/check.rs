//! What a shared object or program gives and needs.

use super::platform::{Arch, GLIBC, Libc, Platform};
use anyhow::{Context as _, ensure};
use object::read::elf::{Dyn as _, ElfFile64, FileHeader as _, SectionHeader as _};
use object::{Architecture, Endianness, Object as _, ObjectSymbol as _, elf};
use std::fmt;

/// Largest agent: it lives in somebody's production JVM.
const AGENT_MAX: usize = 4 << 20;
/// Largest command, agent inside.
const COMMAND_MAX: usize = 24 << 20;
/// Everything that the agent may export.
const ENTRIES: [&str; 3] = ["Agent_OnAttach", "Agent_OnLoad", "Agent_OnUnload"];

/// Libraries that every system with glibc has.
const OF_GLIBC: [&str; 7] = [
    "libc.so.6",
    "libdl.so.2",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];
/// What a library for musl needs: musl's loader takes this name for itself, on Alpine too.
const OF_MUSL: [&str; 1] = ["libc.so"];

/// Facts of an ELF file.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    size: usize,
    machine: Architecture,
    needed: Vec<String>,
    exports: Vec<String>,
    glibc: Option<(u32, u32)>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, machine) = (self.size / 1024, self.machine);
        write!(f, "{size} KB for {machine:?}, needs {:?}", self.needed)?;
        if self.exports.len() < 8 {
            write!(f, ", exports {:?}", self.exports)?;
        }
        match self.glibc {
            Some((major, minor)) => write!(f, ", glibc {major}.{minor} or later"),
            None => write!(f, ", no glibc"),
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
        machine: file.architecture(),
        needed: needed(&file, bytes)?,
        exports,
        glibc: newest_glibc(&file, bytes)?,
    })
}

/// The shared libraries that the loader must find.
fn needed(file: &ElfFile64<'_, Endianness>, bytes: &[u8]) -> anyhow::Result<Vec<String>> {
    let endian = file.endian();
    let sections = file.elf_header().sections(endian, bytes)?;
    let Some((entries, link)) = sections.dynamic(endian, bytes)? else {
        return Ok(Vec::new());
    };
    let strings = sections.strings(endian, bytes, link)?;
    let mut needed = Vec::new();
    for entry in entries.iter().filter(|e| e.tag(endian) == elf::DT_NEEDED) {
        let name = entry.string(endian, strings)?;
        needed.push(String::from_utf8_lossy(name).into_owned());
    }
    needed.sort();
    Ok(needed)
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
    machine: Architecture,
    needed: &'static [&'static str],
    exports: Option<&'static [&'static str]>,
    glibc: Option<(u32, u32)>,
}

impl Limits {
    /// Of the agent library.
    pub fn agent(platform: Platform) -> Self {
        let of_libc: &[&str] = match platform.libc {
            Libc::Glibc => &OF_GLIBC,
            Libc::Musl => &OF_MUSL,
        };
        Self {
            needed: of_libc,
            exports: Some(&ENTRIES),
            ..Self::of(platform, AGENT_MAX)
        }
    }

    /// Of the command; the one for musl needs no library at all, and so runs everywhere.
    pub fn command(platform: Platform) -> Self {
        Self::of(platform, COMMAND_MAX)
    }

    fn of(platform: Platform, size: usize) -> Self {
        let (needed, glibc): (&[&str], _) = match platform.libc {
            Libc::Glibc => (&OF_GLIBC, Some(GLIBC)),
            Libc::Musl => (&[], None),
        };
        Self {
            size,
            machine: match platform.arch {
                Arch::X86_64 => Architecture::X86_64,
                Arch::Aarch64 => Architecture::Aarch64,
            },
            needed,
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
        ensure!(
            found.machine == self.machine,
            "made for {:?}, not for {:?}",
            found.machine,
            self.machine
        );
        let strange = found
            .needed
            .iter()
            .find(|name| !self.needed.contains(&name.as_str()));
        ensure!(
            strange.is_none(),
            "needs {strange:?}, which not every system has"
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
    use super::{
        Arch, Architecture, ENTRIES, Found, GLIBC, Libc, Limits, Platform, glibc, inspect,
    };
    use jfr_chains_tests::agent_library;

    fn platform(libc: Libc) -> Platform {
        Platform {
            arch: Arch::X86_64,
            libc,
        }
    }

    fn found(needed: &[&str], exports: &[&str], glibc: Option<(u32, u32)>) -> Found {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Found {
            size: 1000,
            machine: Architecture::X86_64,
            needed: owned(needed),
            exports: owned(exports),
            glibc,
        }
    }

    #[test]
    fn the_agent_exports_its_entries_and_nothing_else() {
        let bytes = std::fs::read(agent_library().unwrap()).unwrap();
        let found = inspect(&bytes).unwrap();
        assert_eq!(found.exports, ENTRIES);
        assert!(found.needed.iter().any(|name| name == "libc.so.6"));
        assert!(
            found.glibc.is_some(),
            "a library made here needs some glibc"
        );
    }

    #[test]
    fn an_agent_over_a_limit_is_refused() {
        let limits = Limits::agent(platform(Libc::Glibc));
        let fits = |found: Found| limits.check(&found).is_ok();
        assert!(fits(found(&["libc.so.6"], &ENTRIES, Some(GLIBC))));
        assert!(!fits(found(&["libc.so.6"], &ENTRIES, Some((2, 34)))));
        assert!(!fits(found(&["libgcc_s.so.1"], &ENTRIES, None)));
        assert!(!fits(found(&[], &["rust_eh_personality"], None)));
        assert!(inspect(b"no ELF file").is_err());
    }

    #[test]
    fn a_library_for_musl_needs_musl_alone_and_its_command_nothing() {
        let agent = Limits::agent(platform(Libc::Musl));
        assert!(agent.check(&found(&["libc.so"], &ENTRIES, None)).is_ok());
        for wrong in [
            found(&["libc.so"], &ENTRIES, Some((2, 3))),
            found(&["libgcc_s.so.1"], &ENTRIES, None),
        ] {
            assert!(agent.check(&wrong).is_err(), "{wrong}");
        }
        let command = Limits::command(platform(Libc::Musl));
        assert!(command.check(&found(&[], &[], None)).is_ok());
        assert!(command.check(&found(&["libc.so"], &[], None)).is_err());
    }

    #[test]
    fn a_file_for_another_processor_is_refused() {
        let limits = Limits::command(Platform {
            arch: Arch::Aarch64,
            libc: Libc::Musl,
        });
        assert!(limits.check(&found(&[], &[], None)).is_err());
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(glibc("GLIBC_2.2.5"), Some((2, 2)));
        assert!(glibc("GLIBC_2.17") > glibc("GLIBC_2.3"));
        assert_eq!(glibc("GCC_3.0"), None);
    }
}
