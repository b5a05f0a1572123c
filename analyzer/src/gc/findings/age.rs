//! AGE-01 and AGE-02: leak or ageing, read off the age tables.
//!
//! A leak adds about the same bytes at every age and promotes as much per collection; warm-up is one
//! spike that moves up an age per collection. Beware: a released batch that an old object still refers to
//! stays alive for every young collection and looks like either.

use super::series::Series;
use super::{Advice, Fact, Finding, FlagValue, Id, Severity};
use crate::gc::intake::Jvm;
use crate::gc::out::units;
use crate::gc::record::{AgeTable, Cause, Collection};

/// Collections looked at, from the last one back.
const WINDOW: usize = 32;
/// The tail starts at this age: younger objects may be in flight.
const TAIL_FROM: u8 = 3;
/// A tail has at least this many ages.
const TAIL_AGES: usize = 6;
/// Every age of a flat tail is within this factor of the mean.
const FLAT_FACTOR: u64 = 2;
/// A cohort survives when this share of it is still there, in percent.
const SURVIVAL_PERCENT: u64 = 90;
/// A spike holds this share of the table, in percent.
const SPIKE_PERCENT: u64 = 60;
/// Least bytes per age of a tail that counts.
const TAIL_FLOOR: u64 = 16 * 1024;

/// Shape of the recent age tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// The same bytes at every age, surviving: what a leak looks like.
    FlatTail {
        /// Mean bytes per age.
        per_age: u64,
        /// Populated ages of the tail.
        ages: usize,
    },
    /// One cohort moving up an age per collection: what warm-up looks like.
    MovingSpike {
        /// Its age now.
        age: u8,
        /// Its bytes.
        bytes: u64,
    },
    /// Neither.
    Ordinary,
    /// Too few tables to tell.
    Unknown,
}

/// Age tables of the last collections, oldest first, and their shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Cohorts {
    /// Position in [`Jvm::collections`] and the table after that collection.
    pub rows: Vec<(usize, AgeTable)>,
    /// What they look like.
    pub shape: Shape,
}

/// The cohort view of a JVM.
pub fn cohorts(jvm: &Jvm) -> Cohorts {
    let series = Series::of(jvm);
    let mut rows: Vec<(usize, AgeTable)> = series
        .records()
        .filter_map(|(at, r)| Some((at, r.ages?)))
        .collect();
    rows.drain(..rows.len().saturating_sub(WINDOW));
    let young = rows
        .last()
        .and_then(|(at, _)| series.get(*at))
        .and_then(Collection::young_capacity);
    Cohorts {
        shape: shape(&rows, young),
        rows,
    }
}

fn shape(rows: &[(usize, AgeTable)], young: Option<u64>) -> Shape {
    let [.., (_, before), (_, last)] = rows else {
        return Shape::Unknown;
    };
    if let Some(tail) = flat_tail(before, last, young) {
        return tail;
    }
    if let Some(spike) = moving_spike(rows, young) {
        return spike;
    }
    if rows.len() < TAIL_AGES + usize::from(TAIL_FROM) {
        Shape::Unknown
    } else {
        Shape::Ordinary
    }
}

fn survives(before: u64, after: u64) -> bool {
    u128::from(after) * 100 >= u128::from(before) * u128::from(SURVIVAL_PERCENT)
}

fn flat_tail(before: &AgeTable, last: &AgeTable, young: Option<u64>) -> Option<Shape> {
    let tail: Vec<(u8, u64)> = (TAIL_FROM..=AgeTable::MAX_AGE)
        .map(|age| (age, last.at(age)))
        .take_while(|(_, bytes)| *bytes > 0)
        .collect();
    if tail.len() < TAIL_AGES {
        return None;
    }
    let sum: u64 = tail
        .iter()
        .map(|(_, b)| b)
        .fold(0, |a, b| a.saturating_add(*b));
    let mean = sum / tail.len() as u64;
    let flat = tail
        .iter()
        .all(|(_, b)| *b <= mean.saturating_mul(FLAT_FACTOR) && *b >= mean / FLAT_FACTOR);
    let floor = TAIL_FLOOR.max(young.unwrap_or(0) / 10_000);
    let alive = tail
        .iter()
        .filter(|(age, bytes)| survives(before.at(age - 1), *bytes))
        .count();
    (flat && mean >= floor && alive * 5 >= tail.len() * 4).then_some(Shape::FlatTail {
        per_age: mean,
        ages: tail.len(),
    })
}

fn moving_spike(rows: &[(usize, AgeTable)], young: Option<u64>) -> Option<Shape> {
    let peak = |t: &AgeTable| {
        let (age, bytes) = t.populated().max_by_key(|(_, b)| *b)?;
        (u128::from(bytes) * 100 >= u128::from(t.total()) * u128::from(SPIKE_PERCENT))
            .then_some((age, bytes))
    };
    let [.., (_, a), (_, b), (_, c)] = rows else {
        return None;
    };
    let ((age_a, bytes_a), (age_b, bytes_b), (age_c, bytes_c)) = (peak(a)?, peak(b)?, peak(c)?);
    let moves = age_b == age_a + 1 && age_c == age_b + 1;
    let material = bytes_c >= young.unwrap_or(0) / 100;
    (moves && material && survives(bytes_a, bytes_b) && survives(bytes_b, bytes_c)).then_some(
        Shape::MovingSpike {
            age: age_c,
            bytes: bytes_c,
        },
    )
}

/// AGE-01.
pub fn leak_shaped(s: &Series<'_>) -> Option<Finding> {
    let cohorts = cohorts(s.jvm);
    let Shape::FlatTail { per_age, ages } = cohorts.shape else {
        return None;
    };
    let (at, table) = *cohorts.rows.last()?;
    let mut f = Finding::new(Id::Age01, Severity::Warn);
    f.at = Some(at);
    f.evidence = vec![
        ("bytes_per_age", Fact::Bytes(per_age)),
        ("ages", Fact::Count(ages as u64)),
        ("table", Fact::Ages(table)),
    ];
    f.story = vec![
        format!(
            "Why: {ages} ages from {TAIL_FROM} on hold about {} each, and hardly any of it dies.",
            units::bytes(per_age)
        ),
        "What: each collection adds as much long-lived data as the one before, which is what a leak (or a \
         cache that still fills) does."
            .to_owned(),
        "What it is not: proof; an old object that refers to released ones keeps them alive too.".to_owned(),
    ];
    f.advice.push(Advice {
        option: 'A',
        flag: None,
        value: FlagValue::Command("jfr-chains record PID -d 10m -o leak.jfr".to_owned()),
        expect: None,
        cost: "the leak search's cost budget".to_owned(),
        why: "chains show who holds the data".to_owned(),
    });
    Some(f)
}

/// Why leak candidates of a recording should be discounted for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discount {
    /// One sentence for the report.
    pub why: String,
    /// What ends it.
    pub until: &'static str,
}

/// Whether candidates whose ages come from premature promotion or warm-up should wait: `None` when an
/// old collection has run since, or nothing speaks against them.
pub fn discount(jvm: &Jvm) -> Option<Discount> {
    let until = "an old collection that can clear it";
    let bulk = jvm.collections.iter().rposition(|r| {
        matches!(r.cause, Cause::Threshold | Cause::Overflow)
            && r.promoted
                .bytes()
                .is_some_and(|bytes| Series::material(r, bytes))
    });
    if let Some(at) = bulk
        && !collected_since(jvm, at)
    {
        let bytes = jvm
            .collections
            .get(at)
            .and_then(|r| r.promoted.bytes())
            .unwrap_or(0);
        return Some(Discount {
            why: format!(
                "{} were promoted early and no old collection has run since: age says nothing about them yet",
                units::bytes(bytes)
            ),
            until,
        });
    }
    let cohorts = cohorts(jvm);
    if let (Shape::MovingSpike { age, bytes }, Some((at, _))) = (cohorts.shape, cohorts.rows.last())
        && !collected_since(jvm, *at)
    {
        return Some(Discount {
            why: format!(
                "one cohort of {} moves through the ages (now {age}): warm-up, not growth",
                units::bytes(bytes)
            ),
            until,
        });
    }
    None
}

fn collected_since(jvm: &Jvm, at: usize) -> bool {
    jvm.collections
        .get(at + 1..)
        .is_some_and(|later| later.iter().any(|r| r.kind.collects_old()))
}

/// AGE-02: the recording holds leak candidates that should wait.
pub fn discounted(s: &Series<'_>, _found: &[Finding]) -> Option<Finding> {
    let candidates = s.jvm.facts.leak_candidates;
    if candidates == 0 {
        return None;
    }
    let discount = discount(s.jvm)?;
    let mut f = Finding::new(Id::Age02, Severity::Info);
    f.count = candidates;
    f.evidence = vec![
        ("leak_candidates", Fact::Count(candidates)),
        ("why", Fact::Text(discount.why.clone())),
    ];
    f.story = vec![
        format!("Why: {}.", discount.why),
        format!(
            "What: candidates of this recording wait for {}.",
            discount.until
        ),
    ];
    f.advice.push(Advice {
        option: 'A',
        flag: None,
        value: FlagValue::Command("jcmd PID GC.run".to_owned()),
        expect: None,
        cost: "one full collection".to_owned(),
        why: "what is still there afterwards is not warm-up".to_owned(),
    });
    Some(f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gc::record::{Collector, Kind};

    fn jvm(tables: &[&[u64]]) -> Jvm {
        let mut jvm = Jvm::default();
        for rows in tables {
            let mut r = Collection::new(Collector::Serial, Kind::Young);
            let mut t = AgeTable::default();
            for (age, bytes) in (1..).zip(rows.iter()) {
                t.set(age, *bytes);
            }
            r.ages = Some(t);
            jvm.collections.push(r);
        }
        jvm
    }

    #[test]
    fn the_same_bytes_at_every_age_are_a_flat_tail() {
        let a = [
            900_000, 200_000, 100_000, 101_000, 99_000, 100_000, 102_000, 100_000,
        ];
        let b = [
            800_000, 210_000, 100_000, 100_000, 101_000, 99_000, 100_000, 102_000,
        ];
        assert!(matches!(
            cohorts(&jvm(&[&a, &b])).shape,
            Shape::FlatTail { ages: 6, .. }
        ));
    }

    #[test]
    fn one_cohort_that_moves_up_is_warm_up() {
        let view = cohorts(&jvm(&[
            &[9_000_000],
            &[10_000, 8_900_000],
            &[9_000, 8_000, 8_800_000],
        ]));
        assert_eq!(
            view.shape,
            Shape::MovingSpike {
                age: 3,
                bytes: 8_800_000
            }
        );
    }

    #[test]
    fn dying_cohorts_are_neither() {
        let t = [
            900_000, 300_000, 100_000, 30_000, 10_000, 3_000, 1_000, 300, 100,
        ];
        let rows: Vec<&[u64]> = vec![&t; 12];
        assert_eq!(cohorts(&jvm(&rows)).shape, Shape::Ordinary);
    }

    #[test]
    fn warm_up_is_discounted_until_an_old_collection() {
        let mut jvm = jvm(&[
            &[9_000_000],
            &[10_000, 8_900_000],
            &[9_000, 8_000, 8_800_000],
        ]);
        assert!(discount(&jvm).is_some());
        jvm.collections
            .push(Collection::new(Collector::Serial, Kind::Full));
        assert_eq!(discount(&jvm), None);
    }

    #[test]
    fn candidates_in_the_recording_are_discounted_by_name() {
        let spike: [&[u64]; 3] = [
            &[9_000_000],
            &[10_000, 8_900_000],
            &[9_000, 8_000, 8_800_000],
        ];
        let mut jvm = jvm(&spike);
        let ids = |jvm: &Jvm| -> Vec<Id> {
            crate::gc::findings::find(jvm)
                .iter()
                .map(|f| f.id)
                .collect()
        };
        assert!(!ids(&jvm).contains(&Id::Age02));
        jvm.facts.leak_candidates = 2;
        assert!(ids(&jvm).contains(&Id::Age02));
        jvm.collections
            .push(Collection::new(Collector::Serial, Kind::Full));
        assert!(!ids(&jvm).contains(&Id::Age02));
    }
}
