//! Collectors by name and by the flags that select them.

/// A collector of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Collector {
    /// `-XX:+UseG1GC`
    G1,
    /// `-XX:+UseParallelGC`
    Parallel,
    /// `-XX:+UseSerialGC`
    Serial,
    /// `-XX:+UseZGC`; generational from JDK 23 on.
    Z,
    /// `-XX:+UseShenandoahGC`
    Shenandoah,
}

impl Collector {
    /// All of them, G1 first.
    pub const ALL: [Self; 5] = [
        Self::G1,
        Self::Parallel,
        Self::Serial,
        Self::Z,
        Self::Shenandoah,
    ];

    /// The name used in tables and on command lines: `g1`, `parallel`, `serial`, `z`, `shenandoah`.
    pub fn name(self) -> &'static str {
        match self {
            Self::G1 => "g1",
            Self::Parallel => "parallel",
            Self::Serial => "serial",
            Self::Z => "z",
            Self::Shenandoah => "shenandoah",
        }
    }

    /// The collector of that [`Self::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|collector| collector.name() == name)
    }

    /// JVM flags that select it on every JDK from 11 on.
    pub fn flags(self) -> [&'static str; 2] {
        let select = match self {
            Self::G1 => "-XX:+UseG1GC",
            Self::Parallel => "-XX:+UseParallelGC",
            Self::Serial => "-XX:+UseSerialGC",
            Self::Z => "-XX:+UseZGC",
            Self::Shenandoah => "-XX:+UseShenandoahGC",
        };
        ["-XX:+UnlockExperimentalVMOptions", select]
    }
}

#[cfg(test)]
mod tests {
    use super::Collector;

    #[test]
    fn every_collector_is_found_by_its_name() {
        for collector in Collector::ALL {
            assert_eq!(Collector::from_name(collector.name()), Some(collector));
        }
        assert_eq!(Collector::from_name("cms"), None);
    }
}
