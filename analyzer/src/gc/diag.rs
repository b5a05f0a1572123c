//! Named problems of an input: where, what, and what was still read.

use std::fmt;

/// What is wrong with an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Problem {
    /// The file ends inside a collection; that collection is not counted.
    Truncated,
    /// The file starts inside a collection (rolled log); that collection is not counted.
    StartsInside,
    /// An age table's running totals contradict its rows; the table is not used.
    AgeTableInconsistent,
    /// The wall clock went backwards while the JVM went on.
    ClockJumped,
    /// One file holds several JVM runs; each is analysed apart.
    SeveralJvms,
    /// Collections are missing between two entries.
    Gap,
    /// A collection entry could not be read; it is not counted.
    Unreadable,
    /// A line is longer than the parser keeps; the rest of it was skipped.
    LineTooLong,
    /// So many collections that only notable ones are kept one by one.
    Thinned,
    /// Nothing in the file looks like a GC log or a recording.
    NotRecognised,
    /// The recording itself is damaged; the reader says where.
    Recording,
}

impl Problem {
    /// Stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::StartsInside => "starts-inside-a-collection",
            Self::AgeTableInconsistent => "age-table-inconsistent",
            Self::ClockJumped => "clock-jumped",
            Self::SeveralJvms => "several-jvms",
            Self::Gap => "collections-missing",
            Self::Unreadable => "unreadable-entry",
            Self::LineTooLong => "line-too-long",
            Self::Thinned => "thinned",
            Self::NotRecognised => "not-recognised",
            Self::Recording => "recording-damaged",
        }
    }
}

/// One problem at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong.
    pub problem: Problem,
    /// Which input, from 0.
    pub input: usize,
    /// Line, from 1; zero when the input has no lines.
    pub line: u64,
    /// The particulars.
    pub text: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        write!(f, "{}: {}", self.problem.name(), self.text)
    }
}

/// Diagnostics of one input: the first of each kind in full, the rest counted.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    input: usize,
    kept: Vec<Diagnostic>,
    dropped: u64,
}

impl Diagnostics {
    /// Kept per problem before only counting.
    const PER_PROBLEM: usize = 20;

    /// Records a problem.
    pub fn add(&mut self, problem: Problem, line: u64, text: impl Into<String>) {
        if self
            .kept
            .iter()
            .filter(|d| d.problem == problem && d.input == self.input)
            .count()
            < Self::PER_PROBLEM
        {
            self.kept.push(Diagnostic {
                problem,
                input: self.input,
                line,
                text: text.into(),
            });
        } else {
            self.dropped += 1;
        }
    }

    /// What follows is about input `input`.
    pub fn of_input(&mut self, input: usize) {
        self.input = input;
    }

    /// Those kept, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.kept.iter()
    }

    /// How many more there were.
    pub fn more(&self) -> u64 {
        self.dropped
    }

    /// Whether a problem occurred.
    pub fn has(&self, problem: Problem) -> bool {
        self.kept.iter().any(|d| d.problem == problem)
    }
}
