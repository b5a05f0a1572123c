//! The chains of any recording as linked `jdk.OldObjectSample` events, for tools that know those.

use std::path::Path;
use std::sync::Arc;

use jfr_format::entity::{ClassInfo, FrameInfo, MethodInfo, StackInfo, ThreadInfo};
use jfr_format::path::{ChainPath, Edge, Link, Root, binary_class};
use jfr_writer::{ChainSample, Clock, OpenError, Options, Recording, WriteError};

use crate::model::{Chain, EdgeKind, EpochNanos, Hop, Report};

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file could not be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file could not be completed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The chains do not fit in the writer's memory.
    #[error("{0} of the chains are too large to be written")]
    TooLarge(u64),
    /// Another process writes a file of that name.
    #[error("{0} is being written by another process")]
    Busy(String),
}

/// Writes the chains of `report` to `path`; how many were written.
///
/// One event a chain, all at one moment: `jfr view` shows the last batch of samples only. An existing
/// file is replaced.
pub fn export(report: &Report, path: &Path) -> Result<u64, ExportError> {
    let start = report
        .chains
        .iter()
        .filter_map(|chain| chain.first_seen)
        .min()
        .unwrap_or(EpochNanos::new(0));
    let end = report
        .chains
        .iter()
        .filter_map(|chain| chain.last_seen)
        .max()
        .unwrap_or(start);
    let clock = Clock {
        epoch_nanos: start.get(),
        ticks: 0,
        ticks_per_second: 1_000_000_000,
    };
    let ticks = |at: Option<EpochNanos>| {
        let at = at.unwrap_or(start);
        at.get().saturating_sub(start.get()).max(0)
    };
    // The writer names an existing file in full.
    let wanted = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut recording = Recording::open(&wanted, clock, 0, Options::default())?;
    if recording.path() != wanted {
        // The writer took another name because a living process has this one.
        let taken = recording.path().to_owned();
        recording.close(0);
        let _ = std::fs::remove_file(taken);
        return Err(ExportError::Busy(path.display().to_string()));
    }
    for chain in &report.chains {
        let sample = ChainSample {
            thread: chain.allocating_thread.as_ref().map(|name| {
                Arc::new(ThreadInfo {
                    java_name: Some(name.clone()),
                    os_name: Some(name.clone()),
                    ..ThreadInfo::default()
                })
            }),
            stack: stack(chain),
            // At 0 ticks the writer takes the time as unknown.
            allocation_ticks: ticks(chain.first_seen).max(1),
            object_size: 0,
            heap_used: report.heap_floor.last().map_or(0, |last| last.used_bytes),
            array_length: None,
        };
        recording.emit_chain(ticks(Some(end)), &chain_path(chain), &sample);
        recording.flush(ticks(Some(end)))?;
    }
    let closed = recording.close(ticks(Some(end)));
    if let Some(error) = closed.error {
        return Err(error.into());
    }
    if closed.counters.events_dropped > 0 {
        return Err(ExportError::TooLarge(closed.counters.events_dropped));
    }
    Ok(closed.counters.events_written)
}

/// `chain` in the terms of the format.
fn chain_path(chain: &Chain) -> ChainPath {
    let root = &chain.root;
    let description = match (&root.class, &root.field, &root.thread) {
        (Some(class), Some(field), None) => format!("{class}.{field}"),
        _ if !root.text.is_empty() => root.text.clone(),
        (_, _, Some(thread)) => thread.clone(),
        _ => String::new(),
    };
    let root = Root {
        kind: root.kind,
        description,
    };
    ChainPath::of(root, chain.hops.iter().map(link))
}

fn link(hop: &Hop) -> Link {
    let name = || hop.edge.name.clone();
    let edge = match hop.edge.kind {
        EdgeKind::Array => Edge::Array {
            index: hop.edge.index.and_then(|index| i32::try_from(index).ok()),
            length: None,
        },
        EdgeKind::Static => Edge::Static {
            name: name().unwrap_or_default(),
        },
        EdgeKind::Field => Edge::Field {
            name: name().unwrap_or_default(),
        },
        EdgeKind::Soft | EdgeKind::Weak => Edge::Field {
            name: name().unwrap_or_else(|| "referent".to_owned()),
        },
        EdgeKind::Class | EdgeKind::Root | EdgeKind::Unknown => Edge::Other {
            name: name().unwrap_or_else(|| "root".to_owned()),
        },
    };
    Link {
        edge,
        class: Arc::new(ClassInfo::named(binary_class(&hop.class))),
        size: hop.size.and_then(|size| i32::try_from(size).ok()),
        fan_out: None,
        run: u32::try_from(hop.run).unwrap_or(u32::MAX),
    }
}

fn stack(chain: &Chain) -> Option<Arc<StackInfo>> {
    if chain.stack.is_empty() {
        return None;
    }
    let frames = chain
        .stack
        .iter()
        .map(|frame| FrameInfo {
            method: Arc::new(MethodInfo {
                class: Arc::new(ClassInfo::named(frame.class.clone())),
                name: frame.method.clone(),
                descriptor: "()V".to_owned(),
                ..MethodInfo::default()
            }),
            line: frame.line.and_then(|line| i32::try_from(line).ok()),
            ..FrameInfo::default()
        })
        .collect();
    Some(Arc::new(StackInfo {
        frames,
        truncated: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::build;
    use crate::model::merge::merge;
    use crate::report::sample;

    fn read_back(path: &Path) -> Report {
        let recording = crate::reader::Recording::open(path).unwrap();
        merge(vec![build::read(&recording, &|_| {})])
    }

    #[test]
    fn an_exported_chain_reads_back_with_its_signature() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jfr");
        let mut report = sample::leak();
        // Runs are written as skipped hops, which a signature cannot see through.
        report.chains[0].hops.retain(|hop| hop.run == 1);
        let (root, hops) = (&report.chains[0].root, &report.chains[0].hops);
        let expected = crate::model::identity::signature_of(root, hops);
        assert_eq!(export(&report, &path).unwrap(), 1);
        let back = read_back(&path);
        assert_eq!(back.chains.len(), 1);
        let chain = &back.chains[0];
        assert_eq!(chain.signature, expected.text);
        assert_eq!(chain.id, expected.id);
        assert_eq!(chain.allocating_thread.as_deref(), Some("http-worker-3"));
        assert_eq!(chain.stack, report.chains[0].stack);
        assert_eq!(chain.leaf, "com.acme.shop.Order");
    }

    #[test]
    fn an_existing_export_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jfr");
        assert_eq!(export(&sample::leak(), &path).unwrap(), 1);
        assert_eq!(export(&sample::leak(), &path).unwrap(), 1);
        assert_eq!(read_back(&path).chains.len(), 1);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn hostile_names_are_exported_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jfr");
        assert_eq!(export(&sample::hostile(), &path).unwrap(), 1);
        let back = read_back(&path);
        let expected = sample::hostile().chains[0].allocating_thread.clone();
        assert_eq!(back.chains[0].allocating_thread, expected);
    }
}
