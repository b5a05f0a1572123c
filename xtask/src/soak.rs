//! `cargo xtask soak`: the agent in a JVM that never rests, for an hour.

use crate::steps;
use anyhow::Context as _;
use jfr_chains_tests::{Collector, Jdk, Soak};
use std::time::Duration;

/// Options of `soak`.
#[derive(clap::Args)]
pub struct Options {
    /// How long, on each JDK.
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Feature releases, one after the other.
    #[arg(long, value_delimiter = ',', default_value = "25,17")]
    jdk: Vec<u32>,
    /// The collector.
    #[arg(long, value_enum, default_value_t = Choice::G1)]
    gc: Choice,
}

/// Collectors by name.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Choice {
    G1,
    Parallel,
    Serial,
    Z,
    Shenandoah,
}

impl Choice {
    fn collector(self) -> Collector {
        match self {
            Self::G1 => Collector::G1,
            Self::Parallel => Collector::Parallel,
            Self::Serial => Collector::Serial,
            Self::Z => Collector::Z,
            Self::Shenandoah => Collector::Shenandoah,
        }
    }
}

/// Runs it with a line a round; errs with what went wrong first.
pub fn run(options: &Options) -> anyhow::Result<()> {
    steps::build(true)?;
    for &feature in &options.jdk {
        let soak = Soak {
            jdk: Jdk::feature(feature).with_context(|| format!("no JDK {feature} found"))?,
            collector: options.gc.collector(),
            length: Duration::from_secs(options.minutes * 60),
        };
        let report = soak.run(|line| eprintln!("JDK {feature}: {line}"))?;
        eprintln!(
            "JDK {feature}: no crash, no warning; {} rounds, {} starts of the agent, {} recordings, {} chains, \
             each in a recording; memory outside of the JVM's {:+} KiB from the first quarter to the last ({})",
            report.rounds,
            report.starts,
            report.recordings,
            report.chains,
            report.growth_kb(),
            if report.counted { "counted" } else { "a guess" }
        );
    }
    Ok(())
}
