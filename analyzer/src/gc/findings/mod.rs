//! What the records of one JVM mean: findings with evidence and computed advice.

mod age;
mod data;
mod harm;
mod pause;
mod promo;
pub mod series;

use super::intake::Jvm;
use super::record::Nanos;

pub use age::{Cohorts, Discount, Shape, cohorts, discount};

/// Stable identifier of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Id {
    /// Threshold collapse, then bulk promotion.
    Promo01,
    /// Survivor overflow.
    Promo02,
    /// Threshold 1 or 2 in over half of the collections.
    Promo03,
    /// G1 starts with a small young generation.
    Promo04,
    /// Promoted data is long-lived.
    Promo05,
    /// First touch of memory costs kernel time.
    Promo06,
    /// Allocation buffers waste survivor space.
    Promo07,
    /// The maximum threshold makes the table useless.
    Promo08,
    /// Evacuation or promotion failed, or a young collection was refused.
    Promo09,
    /// Humongous objects.
    Promo10,
    /// A pause waited for CPU.
    Pause01,
    /// Leak-shaped age table.
    Age01,
    /// Leak candidates discounted.
    Age02,
    /// Missing data.
    Data01,
}

impl Id {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Promo01 => "PROMO-01",
            Self::Promo02 => "PROMO-02",
            Self::Promo03 => "PROMO-03",
            Self::Promo04 => "PROMO-04",
            Self::Promo05 => "PROMO-05",
            Self::Promo06 => "PROMO-06",
            Self::Promo07 => "PROMO-07",
            Self::Promo08 => "PROMO-08",
            Self::Promo09 => "PROMO-09",
            Self::Promo10 => "PROMO-10",
            Self::Pause01 => "PAUSE-01",
            Self::Age01 => "AGE-01",
            Self::Age02 => "AGE-02",
            Self::Data01 => "DATA-01",
        }
    }

    /// One line.
    pub fn title(self) -> &'static str {
        match self {
            Self::Promo01 => "the tenuring threshold collapsed and survivors were promoted in bulk",
            Self::Promo02 => "the survivor space overflowed into the old generation",
            Self::Promo03 => "the tenuring threshold is 1 or 2 in over half of the collections",
            Self::Promo04 => "G1 started with a young generation too small for the warm-up",
            Self::Promo05 => "the promoted data is long-lived",
            Self::Promo06 => {
                "the kernel spent the pause handing out memory touched for the first time"
            }
            Self::Promo07 => "allocation buffers waste survivor space",
            Self::Promo08 => "MaxTenuringThreshold switches the age table off",
            Self::Promo09 => "evacuation or promotion failed, or a young collection was refused",
            Self::Promo10 => "humongous objects take regions of their own",
            Self::Pause01 => "a pause waited for CPU",
            Self::Age01 => "the age table is shaped like a leak",
            Self::Age02 => "leak candidates are discounted: their ages come from warm-up",
            Self::Data01 => "the input lacks what the diagnosis needs",
        }
    }

    /// Whether it tells of premature promotion.
    pub fn is_premature_promotion(self) -> bool {
        matches!(
            self,
            Self::Promo01 | Self::Promo02 | Self::Promo03 | Self::Promo04
        )
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Worth changing.
    Warn,
    /// Hurts.
    Critical,
}

impl Severity {
    /// As printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Critical => "critical",
        }
    }
}

/// A value of evidence with its unit.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// Bytes.
    Bytes(u64),
    /// Nanoseconds.
    Time(Nanos),
    /// A count.
    Count(u64),
    /// A plain number: a ratio or a share of one.
    Number(f64),
    /// A share, one is the whole.
    Share(f64),
    /// Words.
    Text(String),
    /// Bytes per age.
    Ages(super::record::AgeTable),
}

/// What a layout change gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expect {
    /// Desired survivor size, in bytes.
    pub desired: u64,
    /// Survivor space, in bytes.
    pub survivor: u64,
    /// Eden against today's: -0.25 is a quarter less.
    pub eden_change: f64,
}

/// The value of a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlagValue {
    /// A number or a size in bytes.
    Number(u64),
    /// A switch.
    Switch(bool),
    /// Words of a command line that is no flag.
    Command(String),
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// Advice with one letter belongs together: A, B or C.
    pub option: char,
    /// Flag without `-XX:`; `None` for a command.
    pub flag: Option<&'static str>,
    /// Its value.
    pub value: FlagValue,
    /// What it gives, where it can be computed.
    pub expect: Option<Expect>,
    /// What it costs.
    pub cost: String,
    /// Why, in one sentence.
    pub why: String,
}

impl Advice {
    /// What to type: `-XX:SurvivorRatio=3`, `-XX:-UseAdaptiveSizePolicy`, `jcmd PID GC.run`.
    pub fn argument(&self) -> String {
        match (self.flag, &self.value) {
            (Some(flag), FlagValue::Number(n)) => format!("-XX:{flag}={n}"),
            (Some(flag), FlagValue::Switch(on)) => {
                format!("-XX:{}{flag}", if *on { '+' } else { '-' })
            }
            (_, FlagValue::Command(words)) => words.clone(),
            (None, FlagValue::Number(n)) => n.to_string(),
            (None, FlagValue::Switch(on)) => on.to_string(),
        }
    }
}

/// One finding about one JVM.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is.
    pub id: Id,
    /// How bad.
    pub severity: Severity,
    /// Position of the telling collection in [`Jvm::collections`].
    pub at: Option<usize>,
    /// How often it happened.
    pub count: u64,
    /// Evidence in order, by stable key.
    pub evidence: Vec<(&'static str, Fact)>,
    /// The numbered story: why, what, and what it is not.
    pub story: Vec<String>,
    /// What to do.
    pub advice: Vec<Advice>,
    /// What not to do, and why.
    pub avoid: Vec<String>,
}

impl Finding {
    fn new(id: Id, severity: Severity) -> Self {
        Self {
            id,
            severity,
            at: None,
            count: 1,
            evidence: Vec::new(),
            story: Vec::new(),
            advice: Vec::new(),
            avoid: Vec::new(),
        }
    }
}

/// All findings about one JVM, worst first.
pub fn find(jvm: &Jvm) -> Vec<Finding> {
    let series = series::Series::of(jvm);
    let mut found = Vec::new();
    found.extend(promo::collapse(&series));
    found.extend(promo::overflow(&series));
    found.extend(promo::chronic(&series));
    let early = promo::small_young(&series, &found);
    found.extend(early);
    let lived = promo::long_lived(&series, &found);
    found.extend(lived);
    found.extend(harm::first_touch(&series));
    found.extend(harm::buffer_waste(&series));
    found.extend(harm::useless_maximum(&series));
    found.extend(harm::failures(&series));
    found.extend(harm::humongous(&series));
    found.extend(pause::starved(&series));
    found.extend(age::leak_shaped(&series));
    let discounted = age::discounted(&series, &found);
    found.extend(discounted);
    let missing = data::missing(&series, &found);
    found.extend(missing);
    found.sort_by_key(|f| (std::cmp::Reverse(f.severity), f.id));
    found
}
