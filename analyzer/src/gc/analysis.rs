//! From inputs to an analysis: open, recognise, read, judge.

use std::io::{BufReader, Read};

use super::diag::{Diagnostics, Problem};
use super::findings::{self, Cohorts, Finding, Severity};
use super::intake::{Intake, Jvm};
use super::{jfr, lines};
use crate::input::Input;
use crate::reader::{ReadError, Recording};

/// Bytes a log is read in.
const BLOCK: usize = 256 * 1024;

/// One JVM with its findings.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The run and its collections.
    pub jvm: Jvm,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// Recent age tables and their shape.
    pub cohorts: Cohorts,
}

/// One input that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its path as given.
    pub path: String,
    /// What it is.
    pub form: Form,
}

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A GC log.
    Log,
    /// A recording.
    Recording,
    /// Neither; nothing was read.
    Unrecognised,
}

/// What the inputs say.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Inputs in the order they were read.
    pub sources: Vec<Source>,
    /// JVM runs with at least one collection.
    pub jvms: Vec<Judged>,
    /// What went wrong while reading.
    pub diagnostics: Diagnostics,
}

impl Analysis {
    /// The worst severity found.
    pub fn worst(&self) -> Option<Severity> {
        self.findings().map(|f| f.severity).max()
    }

    /// Whether collections may lie in a part of a recording that was not read.
    pub fn lost_collections(&self) -> bool {
        self.diagnostics.has(Problem::Recording)
    }

    /// All findings.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.jvms.iter().flat_map(|j| j.findings.iter())
    }

    /// Whether any collection was read.
    pub fn is_empty(&self) -> bool {
        self.jvms.is_empty()
    }

    /// The collector of all runs, or their names joined.
    pub fn collector(&self) -> String {
        let mut names: Vec<&str> = self
            .jvms
            .iter()
            .map(|j| j.jvm.facts.collector.name())
            .collect();
        names.dedup();
        names.join(", ")
    }
}

/// Takes inputs one by one, then judges.
#[derive(Debug, Default)]
pub struct Builder {
    intake: Intake,
    sources: Vec<Source>,
}

impl Builder {
    /// Reads a recording or a log; `progress` hears bytes done.
    pub fn add(&mut self, input: Input, progress: &mut dyn FnMut(u64)) -> Result<(), ReadError> {
        let path = input.path().display().to_string();
        if is_recording(input.bytes()) {
            let recording = Recording::of(input)?;
            self.add_recording(&recording, progress);
            return Ok(());
        }
        self.begin(&path, Form::Log);
        let log = lines::read(
            BufReader::with_capacity(BLOCK, input.bytes()),
            &mut self.intake,
            progress,
        )
        .map_err(|source| ReadError::Io {
            path: input.path().to_owned(),
            source,
        })?;
        if !log {
            self.not_recognised();
        }
        Ok(())
    }

    /// Reads a recording that is open already.
    pub fn add_recording(&mut self, recording: &Recording, progress: &mut dyn FnMut(u64)) {
        let len = recording.len();
        self.begin(&recording.path().display().to_string(), Form::Recording);
        jfr::read(recording, &mut self.intake, &mut |done, total| {
            progress(len / total.max(1) * done);
        });
    }

    fn begin(&mut self, path: &str, form: Form) {
        self.intake
            .begin_input(self.sources.len(), path, form == Form::Recording);
        self.sources.push(Source {
            path: path.to_owned(),
            form,
        });
    }

    fn not_recognised(&mut self) {
        if let Some(source) = self.sources.last_mut() {
            source.form = Form::Unrecognised;
        }
        self.intake.problem(
            Problem::NotRecognised,
            0,
            "nothing here looks like a GC log or a recording".to_owned(),
        );
    }

    /// Judges what was read.
    pub fn finish(mut self) -> Analysis {
        for jvm in &self.intake.jvms {
            if jvm.totals.thinned > 0 {
                self.intake.diagnostics.add(
                    Problem::Thinned,
                    0,
                    format!(
                        "{} routine collections are counted but not kept one by one",
                        jvm.totals.thinned
                    ),
                );
            }
        }
        let jvms = self
            .intake
            .jvms
            .into_iter()
            .filter(|jvm| !jvm.collections.is_empty())
            .map(|jvm| Judged {
                findings: findings::find(&jvm),
                cohorts: findings::cohorts(&jvm),
                jvm,
            })
            .collect();
        Analysis {
            sources: self.sources,
            jvms,
            diagnostics: self.intake.diagnostics,
        }
    }
}

/// Whether the bytes hold a recording: the magic at the front, or further in behind garbage.
pub fn is_recording(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(64 * 1024)).unwrap_or_default();
    head.starts_with(b"FLR\0")
        || (memchr::memmem::find(head, b"FLR\0").is_some() && head.contains(&0))
}

/// The order in which rolled files were written: by the first stamp in each, where one is found near the
/// front. Inputs without a stamp keep their place at the end.
pub fn order_key(bytes: &[u8]) -> (bool, i64) {
    if is_recording(bytes) {
        return (true, 0);
    }
    let head = bytes.get(..bytes.len().min(64 * 1024)).unwrap_or_default();
    let mut text = String::new();
    // Lossy reading is enough: stamps are ASCII.
    if head.take(u64::MAX).read_to_string(&mut text).is_err() {
        text = String::from_utf8_lossy(head).into_owned();
    }
    text.lines()
        .take(2000)
        .find_map(|line| {
            let (groups, _) = super::dialect::decoration::split(line.as_bytes());
            let stamp = super::dialect::legacy::stamp(line.as_bytes())
                .map(|(at, _)| at)
                .unwrap_or_else(|| super::dialect::decoration::parse(groups).at);
            stamp
                .wall
                .or_else(|| stamp.uptime.and_then(|u| i64::try_from(u.0).ok()))
        })
        .map_or((true, 0), |at| (false, at))
}
