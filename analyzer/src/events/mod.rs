//! The events themselves, filtered and written as text, JSON or CSV.

mod args;
mod csv;
mod filter;
mod json;
mod known;
mod text;

use std::io::{self, Write};
use std::path::Path;

use crate::reader::{Chunk, Event, Recording};
use crate::summary::{Readable, SkippedIn, say};

pub use args::{EventsArgs, Format};
pub(crate) use csv::cell as csv_cell;
use filter::Filter;

/// Structures of one event that are written. Constants may refer to each other in circles and to
/// several others each: shown as a tree, a few bytes of them have no end.
const MAX_STRUCTURES: usize = 1 << 16;

/// Whether an event was written with everything in it.
struct Whole(bool);

/// Writes the events of one format one by one.
trait Writer {
    /// One event of the chunk that the writer last saw.
    fn event(&mut self, event: &Event<'_>, out: &mut dyn Write) -> io::Result<Whole>;
    /// What follows the last event.
    fn finish(&mut self, skipped: &[SkippedIn], out: &mut dyn Write) -> io::Result<()>;
    /// What the format has no place for, a sentence each.
    fn left_out(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Runs `jfr-chains events`: events go to `out`, what could not be read to `err` as well.
///
/// Errs when `out` or `err` cannot be written, and with [`io::ErrorKind::InvalidInput`] when the
/// arguments make no sense: what is in `out` by then is not to be kept.
pub fn run(args: &EventsArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Readable> {
    let filter = Filter::new(args).map_err(usage)?;
    let mut writer: Box<dyn Writer> = match args.format {
        Format::Text => Box::new(text::Text::new(args.stack_depth)),
        Format::Json => Box::new(json::Json::new(args.stack_depth, args.raw)),
        Format::Csv => Box::new(csv::Csv::default()),
    };
    let mut complete = true;
    let mut opened = false;
    let mut skipped = Vec::new();
    let mut unreadable = Vec::new();
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut unmet: Vec<&String> = filter.types().iter().collect();
    for path in &args.files {
        match Recording::open(path) {
            Ok(recording) => {
                opened = true;
                let path = shown(path);
                let first = skipped.len();
                let lost = recording.skipped().iter();
                skipped.extend(lost.map(|lost| SkippedIn::new(&path, lost)));
                let mut typed = false;
                for chunk in recording.chunks() {
                    for declared in chunk.types().iter().filter(|declared| declared.is_event()) {
                        unmet.retain(|wanted| !filter::names(wanted, declared.name()));
                    }
                    typed |= chunk.types().iter().next().is_some();
                    let damaged = chunk_events(&chunk, &filter, &mut left, writer.as_mut(), out);
                    if matches!(&damaged, Err(error) if error.kind() == io::ErrorKind::BrokenPipe) {
                        // Whoever reads `out` has enough; what was wrong until here counts.
                        return Ok(Readable::of(opened, complete));
                    }
                    let damaged = damaged?;
                    skipped.extend(damaged.into_iter().map(|lost| SkippedIn {
                        path: path.clone(),
                        ..lost
                    }));
                    let lost = chunk.skipped();
                    skipped.extend(lost.map(|lost| SkippedIn::new(&path, lost)));
                    if left == 0 {
                        break;
                    }
                }
                if let Some(of_this_file) = skipped.get_mut(first..) {
                    of_this_file.sort_by_key(|lost| lost.offset);
                }
                if !typed {
                    writeln!(err, "{path}: no chunk says what its events are")?;
                    complete = false;
                }
            }
            Err(error) => {
                writeln!(err, "{error}")?;
                unreadable.push(SkippedIn::unreadable(path, &error));
                complete = false;
            }
        }
    }
    if opened {
        // Files that did not open have been said, but not in a document.
        let all = [&skipped[..], &unreadable].concat();
        writer.finish(&all, out)?;
    }
    for left_out in writer.left_out() {
        writeln!(err, "{left_out}")?;
    }
    // With the limit reached, types of later chunks were not looked at.
    for wanted in unmet.iter().filter(|_| left > 0 && complete) {
        writeln!(
            err,
            "no event type is named {wanted}: jfr-chains summary FILE lists those there are"
        )?;
    }
    say(&skipped, err)?;
    Ok(Readable::of(opened, complete))
}

/// An error that the arguments are to blame for.
fn usage(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Writes the events of one chunk in the order of their start; returns the damaged ones.
fn chunk_events(
    chunk: &Chunk<'_>,
    filter: &Filter,
    left: &mut u64,
    writer: &mut dyn Writer,
    out: &mut dyn Write,
) -> io::Result<Vec<SkippedIn>> {
    let wanted: Vec<bool> = chunk
        .types()
        .iter()
        .map(|declared| declared.is_event() && filter.wants_type(declared.name()))
        .collect();
    // Sixteen bytes an event: a chunk holds hundreds of thousands.
    let mut order: Vec<(i64, u64)> = chunk
        .events()
        .filter(|event| wanted.get(event.type_index()).copied().unwrap_or(false))
        .filter(|event| filter.wants(event))
        .map(|event| {
            (
                event.start().map_or(i64::MIN, |start| start.0),
                event.file_offset(),
            )
        })
        .collect();
    order.sort_by_key(|&(start, _)| start);
    let events = order
        .iter()
        .filter_map(|&(_, offset)| chunk.event_at(offset));
    let mut damaged = Vec::new();
    for event in events {
        if *left == 0 {
            break;
        }
        *left -= 1;
        let Whole(whole) = writer.event(&event, out)?;
        let mut lost = |why: &dyn std::fmt::Display| {
            damaged.push(SkippedIn {
                path: String::new(),
                chunk: Some(chunk.index()),
                offset: event.file_offset(),
                what: format!("a part of this {}: {why}", event.name()),
            });
        };
        if !whole {
            lost(&format_args!(
                "it holds {MAX_STRUCTURES} structures or more"
            ));
        }
        if let Err(why) = event.verify() {
            lost(&why);
        }
    }
    Ok(damaged)
}
