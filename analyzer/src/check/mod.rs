//! The judgement for CI: which chains are known, which are forbidden, and what follows.
//!
//! [`evaluate`] is pure: the report, the baseline, the policy and today's date decide. The
//! writers only print.

pub mod baseline;
mod evaluate;
pub mod github;
pub mod junit;
pub mod policy;
pub mod sarif;
pub mod source;
pub mod text;

#[cfg(test)]
mod tests;

pub use baseline::Baseline;
pub use evaluate::evaluate;
pub use policy::Policy;

use crate::model::{Chain, Frame};
use crate::report::stack;

/// What a check found, in the order of the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Everything there is to say; [`Level::Error`] fails the check.
    pub findings: Vec<Finding>,
    /// Whether the inputs could show a leak at all.
    pub analysed: bool,
    /// Why not, or the verdict's reason.
    pub reason: String,
    /// Inputs that could not be opened, each with what is wrong: such a check does not pass.
    pub unreadable: Vec<String>,
    /// Inputs of which a part was not read. A leak may lie there.
    pub damaged: Vec<Damage>,
    /// Whether such a check does not pass, or says so and does.
    pub damage: Level,
}

/// One input of which a part was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The input's path.
    pub path: String,
    /// Each part: chunk, offset, and what is wrong there.
    pub parts: Vec<String>,
    /// What was read all the same.
    pub read: String,
}

impl Damage {
    /// All of it in one sentence; of many parts the first five.
    pub fn message(&self) -> String {
        const SHOWN: usize = 5;
        let shown: Vec<&str> = self.parts.iter().take(SHOWN).map(String::as_str).collect();
        let mut parts = shown.join("; ");
        if self.parts.len() > SHOWN {
            parts.push_str(&format!("; and {} more", self.parts.len() - SHOWN));
        }
        format!(
            "{}: {parts}. Read: {}; a leak in the rest would not be seen.",
            self.path, self.read
        )
    }
}

impl Outcome {
    /// Whether something fails the check.
    pub fn is_failed(&self) -> bool {
        self.errors().next().is_some()
    }

    /// Whether an input, or a part of one, was not read and may have held what the check looks for.
    pub fn is_incomplete(&self) -> bool {
        !self.unreadable.is_empty() || self.damage == Level::Error && !self.damaged.is_empty()
    }

    /// The findings that fail the check.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|f| f.level == Level::Error)
    }
}

/// One thing that a check says.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which rule.
    pub rule: Rule,
    /// Whether it fails the check.
    pub level: Level,
    /// What it is about: a class, mostly.
    pub subject: String,
    /// One sentence.
    pub message: String,
    /// The chain's id.
    pub chain: Option<String>,
    /// The chain's path, one hop a line.
    pub path: String,
    /// Where the objects are allocated: the innermost application frame.
    pub place: Option<Frame>,
}

impl Finding {
    /// Path and allocating method, one hop a line: what a person needs to act on it. Empty for a finding about no
    /// objects.
    pub fn particulars(&self) -> String {
        let mut out = self.path.clone();
        if let Some(frame) = &self.place {
            let class = stack::named(&frame.class);
            out.push_str(&format!("made in {class}.{}", frame.method));
            if let Some(line) = frame.line {
                out.push_str(&format!(" (line {line})"));
            }
            out.push('\n');
        }
        out
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Fails the check.
    Error,
    /// Said, and passes.
    Note,
}

/// The rules, by the names that outputs show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A chain that the baseline does not know.
    UnknownChain,
    /// A chain whose acceptance is over.
    ExpiredChain,
    /// A chain that the baseline accepts.
    AcceptedChain,
    /// A chain that a collection frees: soft, weak or waiting for finalization.
    ReclaimableChain,
    /// A chain that is probably warm-up or the JDK's own.
    NoiseChain,
    /// A survivor that the JVM sampled, without a sign of growth.
    Survivor,
    /// A class that keeps growing, and no chain tells why.
    GrowingClass,
    /// More instances than the policy allows.
    TooManyInstances,
    /// Faster growth than the policy allows.
    TooMuchGrowth,
    /// More heap-walk-call time than the policy allows.
    TooMuchHeapWalkTime,
    /// The run cannot tell whether something leaks, and the policy demands an answer.
    Undecided,
    /// A class that the policy demands was not watched.
    ClassNotWatched,
    /// An entry of the baseline that no input shows any more.
    StaleEntry,
}

impl Rule {
    /// Every rule, in the order above.
    pub const ALL: [Self; 13] = [
        Self::UnknownChain,
        Self::ExpiredChain,
        Self::AcceptedChain,
        Self::ReclaimableChain,
        Self::NoiseChain,
        Self::Survivor,
        Self::GrowingClass,
        Self::TooManyInstances,
        Self::TooMuchGrowth,
        Self::TooMuchHeapWalkTime,
        Self::Undecided,
        Self::ClassNotWatched,
        Self::StaleEntry,
    ];

    /// The rule's name in outputs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownChain => "unknown-chain",
            Self::ExpiredChain => "expired-chain",
            Self::AcceptedChain => "accepted-chain",
            Self::ReclaimableChain => "reclaimable-chain",
            Self::NoiseChain => "noise-chain",
            Self::Survivor => "survivor",
            Self::GrowingClass => "growing-class",
            Self::TooManyInstances => "too-many-instances",
            Self::TooMuchGrowth => "too-much-growth",
            Self::TooMuchHeapWalkTime => "too-much-heap-walk-call-time",
            Self::Undecided => "undecided",
            Self::ClassNotWatched => "class-not-watched",
            Self::StaleEntry => "stale-entry",
        }
    }

    /// What the rule asks for.
    pub const fn description(self) -> &'static str {
        match self {
            Self::UnknownChain => {
                "A growing class is held by a chain that the baseline does not accept."
            }
            Self::ExpiredChain => "The baseline accepted the chain until a date that has passed.",
            Self::AcceptedChain => "The baseline accepts the chain.",
            Self::ReclaimableChain => {
                "The chain is soft, weak or upkeep of the JVM: a collection or the finalizer frees it."
            }
            Self::NoiseChain => "The chain is probably warm-up or the JDK's own bookkeeping.",
            Self::Survivor => "The JVM sampled an old object; nothing says that its class grows.",
            Self::GrowingClass => "A class keeps growing and no chain says what holds it.",
            Self::TooManyInstances => "A chain holds more instances than the policy allows.",
            Self::TooMuchGrowth => "A chain's class grows faster than the policy allows.",
            Self::TooMuchHeapWalkTime => {
                "Searches took more heap-walk-call time than the policy allows."
            }
            Self::Undecided => "The run cannot tell whether something leaks.",
            Self::ClassNotWatched => "A class that the policy demands was never watched.",
            Self::StaleEntry => "An accepted chain was not seen any more.",
        }
    }
}

/// The path of `chain` as lines of text.
pub(crate) fn path_text(chain: &Chain) -> String {
    let mut out = String::new();
    for line in crate::report::path::lines(chain) {
        out.push_str(&line.holder);
        if !line.edge.is_empty() {
            out.push(' ');
            out.push_str(&line.edge);
        }
        out.push('\n');
    }
    out
}
