//! `cargo xtask demo`: a leak, found and reported, in one command.

use crate::{jdk, steps};
use anyhow::{Context as _, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use jfr_chains_tests::{
    Child, Collector, Finished, Jdk, Running, agent_argument_of, java_fixtures, target_dir,
};
use std::io::IsTerminal as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for a chain.
const PATIENCE: Duration = Duration::from_secs(90);
/// Between two looks at the recording.
const LOOK: Duration = Duration::from_secs(3);
/// For the service to end after SIGTERM.
const END: Duration = Duration::from_secs(20);
const REPORT_LIMIT: Duration = Duration::from_secs(60);

/// Options of `demo`.
#[derive(clap::Args)]
pub struct Options {
    /// Feature release of the JDK that runs the service; default: the oldest full JDK from 17 on.
    #[arg(long)]
    jdk: Option<u32>,
    /// g1, parallel, serial, z or shenandoah.
    #[arg(long, default_value = "g1")]
    collector: String,
    /// Builds without optimisation: quicker to build, slower to search.
    #[arg(long)]
    dev: bool,
    /// Runs the healthy variant of the service, which keeps its cache bounded, for the whole time.
    #[arg(long)]
    healthy: bool,
}

/// Builds, runs the service until a chain is found or [`PATIENCE`] is over, prints the report.
/// Errs when no chain was found (or, with `--healthy`, when one was).
pub fn run(options: &Options) -> anyhow::Result<()> {
    let compiler = jdk::full(true)?;
    let jdk = match options.jdk {
        None => compiler,
        Some(feature) => Jdk::feature(feature)
            .with_context(|| format!("no JDK {feature} found; set JAVA_HOME to one"))?,
    };
    let Some(collector) = Collector::from_name(&options.collector) else {
        bail!(
            "--collector {}: one of g1, parallel, serial, z, shenandoah",
            options.collector
        )
    };
    let built = steps::build(options.dev)?;
    let dir = target_dir().join("demo");
    std::fs::create_dir_all(&dir)?;
    let recording = dir.join("leak.jfr");
    if recording.exists() {
        std::fs::remove_file(&recording)?;
    }
    eprintln!(
        "JDK {} with {}, -Xmx256m, agent with its default options",
        jdk.version(),
        collector.name()
    );
    let service = Child::java(&jdk)
        .args(collector.flags())
        .arg("-Xmx256m")
        .arg(agent_argument_of(
            &built.agent,
            &format!("file={}", recording.display()),
        ))
        .arg("-cp")
        .arg(java_fixtures()?.classes())
        .args([
            "orders.OrderService",
            if options.healthy {
                "leak=off"
            } else {
                "leak=on"
            },
        ])
        .arg(format!("seconds={}", PATIENCE.as_secs()))
        .start()?;
    let (found, ended) = watch(service, &built.command, &recording, options.healthy)?;
    eprint!("{}", ended.stderr);
    ensure!(
        recording.is_file(),
        "the agent wrote no recording:\n{ended}"
    );
    let report = report(&built.command, &recording, "text")?;
    print_out(&report.stdout)?;
    eprint!("{}", report.stderr);
    eprintln!("\n{}", how_to_open(&built.command, &recording));
    if options.healthy {
        ensure!(!found, "a chain was reported for the healthy service");
    } else {
        ensure!(found, "no chain within {} s", PATIENCE.as_secs());
    }
    Ok(())
}

/// Waits for a chain in the recording, with progress; ends the service. The answer: found, and how it ended.
fn watch(
    mut service: Running,
    command: &Path,
    recording: &Path,
    healthy: bool,
) -> anyhow::Result<(bool, Finished)> {
    let bar = if std::io::stderr().is_terminal() {
        ProgressBar::new_spinner()
    } else {
        ProgressBar::hidden()
    };
    bar.set_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}")?);
    bar.enable_steady_tick(Duration::from_millis(100));
    let (started, mut looked, mut found) = (Instant::now(), Instant::now(), false);
    service.wait_until(PATIENCE, |_| {
        if looked.elapsed() < LOOK {
            return false;
        }
        looked = Instant::now();
        let progress = progress(command, recording).unwrap_or_else(|error| Progress {
            chains: 0,
            text: error.to_string(),
        });
        bar.set_message(progress.text.clone());
        if bar.is_hidden() {
            eprintln!("{:>3} s: {}", started.elapsed().as_secs(), progress.text);
        }
        found = progress.chains > 0;
        found && !healthy
    });
    bar.finish_and_clear();
    service.terminate()?;
    let ended = service.finish(END)?;
    found = progress(command, recording)?.chains > 0;
    Ok((found, ended))
}

struct Progress {
    chains: usize,
    text: String,
}

fn progress(command: &Path, recording: &Path) -> anyhow::Result<Progress> {
    let out = report(command, recording, "json")?;
    let report: serde_json::Value =
        serde_json::from_str(&out.stdout).context("the report is no JSON yet")?;
    let count = |key: &str| {
        report
            .get(key)
            .and_then(|list| list.as_array())
            .map_or(0, Vec::len)
    };
    let verdict = report
        .get("verdict")
        .and_then(|verdict| verdict.as_str())
        .unwrap_or("unknown");
    let chains = count("chains");
    let text = format!(
        "verdict {verdict}, candidates {}, searches {}, chains {chains}",
        count("candidates"),
        count("searches")
    );
    Ok(Progress { chains, text })
}

fn report(command: &Path, recording: &Path, format: &str) -> anyhow::Result<Finished> {
    let out = Child::new(command)
        .args(["report", "--format", format])
        .arg(recording)
        .run(REPORT_LIMIT)?;
    ensure!(!out.timed_out, "{out}");
    Ok(out)
}

fn print_out(text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

fn how_to_open(cli: &Path, recording: &Path) -> String {
    let (cli, file) = (cli.display(), recording.display());
    format!(
        "The recording: {file}\n\
         In JDK Mission Control: File > Open File..., then Event Browser > Java Virtual\n\
         Machine > Reference Chains; the chains are also under Memory > Live Objects.\n\
         As a page for a browser:\n  \
         {cli} report --format html -o leak.html {file}\n\
         With the JDK's tool:\n  \
         jfr summary {file}\n  \
         jfr print --events ReferenceChain {file}\n  \
         jfr view memory-leaks-by-class {file}   (JDK 21 and later)"
    )
}
