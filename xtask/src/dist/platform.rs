//! What a release is built for.

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
}

/// A C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libc {
    /// The GNU one, of most distributions.
    Glibc,
    /// That of Alpine.
    Musl,
}

/// A processor with a C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The processor.
    pub arch: Arch,
    /// The C library.
    pub libc: Libc,
}

/// Newest glibc that binaries may need.
pub const GLIBC: (u32, u32) = (2, 17);

impl Arch {
    /// In the order they are built.
    pub const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// Name in triples and archives.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// Debian's name of it.
    pub fn debian_name(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Whether this program runs on it.
    pub fn is_here(self) -> bool {
        self.name() == std::env::consts::ARCH
    }

    /// Whether a release without it is none.
    pub fn is_required(self) -> bool {
        self == Self::X86_64
    }
}

impl Libc {
    /// Both; the command carries an agent for each.
    pub const ALL: [Self; 2] = [Self::Glibc, Self::Musl];
}

impl Platform {
    /// Rust's name of it.
    pub fn target(self) -> String {
        let libc = match self.libc {
            Libc::Glibc => "gnu",
            Libc::Musl => "musl",
        };
        format!("{}-unknown-linux-{libc}", self.arch.name())
    }

    /// The same with the oldest glibc, as zigbuild wants it.
    pub fn zig_target(self) -> String {
        match self.libc {
            Libc::Glibc => format!("{}.{}.{}", self.target(), GLIBC.0, GLIBC.1),
            Libc::Musl => self.target(),
        }
    }

    /// Name in archives: `linux-x86_64`, `linux-x86_64-musl`.
    pub fn name(self) -> String {
        let suffix = match self.libc {
            Libc::Glibc => "",
            Libc::Musl => "-musl",
        };
        format!("linux-{}{suffix}", self.arch.name())
    }

    /// The agent's file name in an archive: an archive holds one for each C library.
    pub fn agent_name(self) -> &'static str {
        match self.libc {
            Libc::Glibc => "libjfr_chains.so",
            Libc::Musl => "libjfr_chains-musl.so",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arch, Libc, Platform};

    #[test]
    fn only_glibc_targets_have_a_baseline() {
        let [glibc, musl] = Libc::ALL.map(|libc| Platform {
            arch: Arch::Aarch64,
            libc,
        });
        assert_eq!(glibc.zig_target(), "aarch64-unknown-linux-gnu.2.17");
        assert_eq!(musl.zig_target(), "aarch64-unknown-linux-musl");
        assert_eq!(musl.name(), "linux-aarch64-musl");
    }
}
