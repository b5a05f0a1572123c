//! `jfr-chains recover`: a damaged recording made whole.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Exit;
use super::common::{complain, stderr};
use crate::reader::Recording;
use crate::recover::{RecoverArgs, Recovered, recover};

/// Salvage every readable chunk and event of a damaged recording into one that the JDK's tools open.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  jfr-chains recover crashed.jfr -o whole.jfr
  jfr-chains recover crashed.jfr.gz -o whole.jfr && jfr print whole.jfr

Exit codes: 0 a recording was written, 2 nothing in the input can be read.")]
pub struct Args {
    #[command(flatten)]
    recover: RecoverArgs,

    /// File to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let recording = Recording::open(&args.recover.file)?;
    let mut recovered = Recovered::default();
    let written = write_bytes(&args.output, |out| {
        recovered = recover(&recording, out)?;
        if recovered.chunks == 0 {
            return Err(io::Error::other("nothing to write"));
        }
        Ok(())
    });
    let mut err = stderr();
    for lost in &recovered.skipped {
        let chunk = lost
            .chunk
            .map_or(String::new(), |chunk| format!("chunk {chunk}, "));
        writeln!(
            err,
            "{}: {chunk}offset {}: {}",
            lost.path, lost.offset, lost.what
        )?;
    }
    let path = args.recover.file.display();
    if recovered.chunks == 0 {
        complain(&format!(
            "{path}: no chunk says what its events are, so none can be salvaged"
        ));
        return Ok(Exit::Usage);
    }
    written.with_context(|| format!("{}", args.output.display()))?;
    writeln!(
        err,
        "{}: {} chunks, {} events, {} constants salvaged from {path}",
        args.output.display(),
        recovered.chunks,
        recovered.events,
        recovered.constants
    )?;
    Ok(Exit::Clean)
}

/// Writes beside the name first: a failure leaves no half of a file, and the input may be the output.
fn write_bytes(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let result = File::create(&part).and_then(|file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        write(&mut out)?;
        out.flush()?;
        std::fs::rename(&part, path)
    });
    if result.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&part);
    }
    result
}
