//! The recordings that readers are timed on: a real JVM's, of many chunks.

use anyhow::{Context as _, bail, ensure};
use jfr_chains_tests::{Child, Jdk, workspace};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest run of the load program.
const LIMIT: Duration = Duration::from_secs(600);

/// What makes a JVM record much: allocations with stacks, parks, events of its own.
const RECORDING: &str = "settings=profile,maxchunksize=12M,jdk.ObjectAllocationInNewTLAB#enabled=true,\
jdk.ObjectAllocationOutsideTLAB#enabled=true,jdk.ThreadPark#threshold=0ns";

/// The recording of one run of `benches/reader/Load.java`, about 100 MB, made once in `dir`.
pub fn base(jdk: &Jdk, dir: &Path) -> anyhow::Result<PathBuf> {
    let made = dir.join("load.jfr");
    if made.is_file() {
        return Ok(made);
    }
    std::fs::create_dir_all(dir)?;
    let javac = jdk.tool("javac").context("no javac")?;
    let source = workspace().join("benches/reader/Load.java");
    ok(Child::new(javac).arg("-d").arg(dir).arg(source))?;
    let part = dir.join("part.jfr");
    ok(Child::java(jdk)
        .args([
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TLABSize=8k",
            "-XX:-ResizeTLAB",
        ])
        .arg(format!(
            "-XX:StartFlightRecording:filename={},{RECORDING}",
            part.display()
        ))
        .arg("-cp")
        .arg(dir)
        .args(["Load", "560000"]))?;
    std::fs::rename(part, &made)?;
    Ok(made)
}

/// Chunks of `base`, again and again, up to about `bytes`: files one after the other are one
/// recording. Every copy starts a nanosecond later than the one before: JMC passes over chunks
/// whose start it has seen.
pub fn repeated(base: &Path, dir: &Path, bytes: u64) -> anyhow::Result<PathBuf> {
    let path = dir.join(format!("{bytes}.jfr"));
    let mut out = io::BufWriter::new(File::create(&path)?);
    let whole = std::fs::read(base)?;
    let chunks = chunk_ends(&whole)?;
    let mut written = 0;
    let mut copies = 0_u64;
    while written < bytes {
        for chunk in chunks.windows(2) {
            let &[start, end] = chunk else { continue };
            let mut chunk = whole
                .get(start..end)
                .context("a chunk beyond its file")?
                .to_vec();
            let nanos = chunk.get_mut(32..40).context("half a header")?;
            let started = u64::from_be_bytes(<[u8; 8]>::try_from(&*nanos)?);
            nanos.copy_from_slice(&(started + copies).to_be_bytes());
            io::Write::write_all(&mut out, &chunk)?;
            written += chunk.len() as u64;
            if written >= bytes {
                break;
            }
        }
        copies += 1;
    }
    io::Write::flush(&mut out)?;
    Ok(path)
}

/// Where chunks begin and the last one ends, by the sizes in their headers.
fn chunk_ends(file: &[u8]) -> anyhow::Result<Vec<usize>> {
    let mut ends = vec![0];
    let mut at = 0;
    while at < file.len() {
        let size = file
            .get(at + 8..at + 16)
            .and_then(|raw| raw.try_into().ok());
        let size = usize::try_from(u64::from_be_bytes(size.context("half a header")?))?;
        ensure!(size > 0 && at + size <= file.len(), "no chunk at {at}");
        at += size;
        ends.push(at);
    }
    Ok(ends)
}

fn ok(child: Child) -> anyhow::Result<()> {
    let done = child.run(LIMIT)?;
    if !done.ok() {
        bail!("{done}")
    }
    Ok(())
}
