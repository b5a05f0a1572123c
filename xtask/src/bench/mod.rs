//! `cargo xtask bench NAME`: measurements beside the peers, with records for the docs.

mod measure;
mod overhead;
mod reader;
mod recordings;
mod rows;
mod walk;

/// Options of `bench`.
#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Which {
    /// Measures what our agent and JFR cost a program in which nothing leaks.
    Overhead(overhead::Options),
    /// Times our reader beside its peers on recordings of a real JVM.
    Reader(reader::Options),
    /// Measures what finding a leak's holder costs a program, beside the JDK's own ways.
    Walk(walk::Options),
}

/// Runs one bench; the figures go to stdout.
pub fn run(options: &Options) -> anyhow::Result<()> {
    match &options.which {
        Which::Overhead(options) => overhead::run(options),
        Which::Reader(options) => reader::run(options),
        Which::Walk(options) => walk::run(options),
    }
}
