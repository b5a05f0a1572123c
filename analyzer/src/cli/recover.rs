//! `jfr-chains recover`: a damaged recording made whole.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;

use super::Exit;
use super::common::{complain, complain_of_loss, open, replace};
use crate::recover::{RecoverArgs, Recovered, recover};
use crate::report::units;

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
    let recording = open(&args.recover.file)?;
    let mut recovered = Recovered::default();
    let written = replace(&args.output, |file| {
        let mut out = BufWriter::with_capacity(1 << 20, file);
        recovered = recover(&recording, &mut out)?;
        if recovered.chunks == 0 {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        out.flush()
    });
    for lost in &recovered.skipped {
        complain_of_loss(&lost.path, lost.chunk, lost.offset, &lost.what);
    }
    let path = args.recover.file.display();
    if matches!(&written, Err(error) if error.kind() == io::ErrorKind::InvalidData) {
        complain(&format!(
            "{path}: no chunk says what its events are, so none can be salvaged"
        ));
        return Ok(Exit::Usage);
    }
    written.with_context(|| format!("{}", args.output.display()))?;
    complain(&format!(
        "{}: {}, {}, {} salvaged from {path}",
        args.output.display(),
        units::counted(recovered.chunks, "chunk", "chunks"),
        units::counted(recovered.events, "event", "events"),
        units::counted(recovered.constants, "constant", "constants"),
    ));
    Ok(Exit::Clean)
}
