//! PROMO-01 to PROMO-05: promotion that came too early, and whether it mattered.

use super::series::Series;
use super::{Advice, Expect, Fact, Finding, FlagValue, Id, Severity};
use crate::gc::out::units;
use crate::gc::record::{Cause, Collection, Collector, MIB, Promoted, Why};
use crate::gc::rules::cause;
use crate::gc::rules::sizing::{Need, Young};

/// PROMO-03 speaks from this many collections on.
const CHRONIC_FLOOR: u64 = 5;
/// Low thresholds harm when they promote at least this part of what the collections started from.
const CHRONIC_HARM_PARTS: u64 = 100;
/// PROMO-05: alive at promotion from this share of the previous table on.
/// Source: the specification, PROMO-05.
const ALIVE_SHARE: f64 = 0.95;
/// PROMO-05: an old collection frees little below this share of what was promoted.
const FREED_SHARE: f64 = 0.10;
/// PROMO-04 looks at the first collections only.
const EARLY: usize = 6;

/// A threshold well below its maximum.
fn collapsed(r: &Collection) -> bool {
    let (Some(threshold), max) = (r.threshold_used, r.max_threshold.unwrap_or(15)) else {
        return false;
    };
    // 0 and 16 do not come from the table.
    (1..=2).contains(&threshold)
        && max > 2
        && max != 16
        && r.threshold_before.is_none_or(|before| before > threshold)
}

/// Bytes a collapsed threshold sent away: promoted, or for ParNew recordings what was due to leave.
fn sent(r: &Collection) -> Option<u64> {
    match r.promoted {
        Promoted::NotComputable(Why::BufferWaste) => cause::due(r),
        p => p.bytes(),
    }
}

/// PROMO-01.
pub fn collapse(s: &Series<'_>) -> Option<Finding> {
    let hits: Vec<(usize, &Collection, u64)> = s
        .records()
        .filter(|(_, r)| r.collector.has_age_table() && collapsed(r))
        .filter(|(_, r)| {
            r.cause == Cause::Threshold || r.promoted == Promoted::NotComputable(Why::BufferWaste)
        })
        .filter_map(|(at, r)| Some((at, r, sent(r)?)))
        .filter(|(_, r, bytes)| Series::material(r, *bytes))
        .collect();
    let (at, r, bytes) = *hits
        .iter()
        .max_by_key(|(_, r, bytes)| (s.is_long(r.pause), *bytes))?;
    let severity = if hits.iter().any(|(_, r, _)| s.is_long(r.pause)) {
        Severity::Critical
    } else {
        Severity::Warn
    };
    let mut f = Finding::new(Id::Promo01, severity);
    f.at = Some(at);
    f.count = hits.len() as u64;
    let before = s.before(at);
    let threshold = r.threshold_used.unwrap_or(1);
    let desired = match r.collector {
        Collector::G1 => r.desired,
        _ => before.and_then(|b| b.desired).or(r.desired),
    };
    if let Some(ages) = r.ages_before {
        f.evidence.push(("ages_before", Fact::Ages(ages)));
        f.evidence.push(("ages_total", Fact::Bytes(ages.total())));
    }
    if let Some(desired) = desired {
        f.evidence.push(("desired", Fact::Bytes(desired)));
    }
    f.evidence
        .push(("threshold_used", Fact::Count(u64::from(threshold))));
    if let Some(max) = r.max_threshold {
        f.evidence
            .push(("max_threshold", Fact::Count(u64::from(max))));
    }
    promoted_fact(r, &mut f);
    pause_facts(s, r, &mut f);
    f.story = collapse_story(s, r, desired, bytes);
    f.advice = keep_young(s, at, s.need(at));
    f.avoid = collapse_avoid(s, at, r);
    Some(f)
}

fn collapse_story(s: &Series<'_>, r: &Collection, desired: Option<u64>, bytes: u64) -> Vec<String> {
    let threshold = r.threshold_used.unwrap_or(1);
    let mut story = Vec::new();
    if let (Some(ages), Some(desired)) = (r.ages_before, desired) {
        story.push(format!(
            "Why: the collection before left {} in survivor space ({} at age 1), more than the desired {}; \
             so the threshold fell to {threshold}, the first age whose cumulative size exceeds it.",
            units::bytes(ages.total()),
            units::bytes(ages.at(1)),
            units::bytes(desired),
        ));
    } else {
        story.push(format!(
            "Why: survivors exceeded the desired size, so the threshold fell to {threshold}."
        ));
    }
    let what = match r.promoted {
        Promoted::NotComputable(_) => format!("up to {} were due to be", units::bytes(bytes)),
        Promoted::AtMost(_) => format!("at most {} was", units::bytes(bytes)),
        _ => format!("{} was", units::bytes(bytes)),
    };
    story.push(format!(
        "What: this collection promoted every survivor of age {threshold} and above at once: {what} promoted{}.",
        match (r.pause, s.median_of_others(r.pause)) {
            (Some(pause), Some(median)) => format!(", in a pause of {pause} (usual: {median})"),
            (Some(pause), None) => format!(", in a pause of {pause}"),
            _ => String::new(),
        }
    ));
    story.push(
        "What it is not: neither a leak nor a lack of heap by itself; the next threshold rises again as soon \
         as survivors fit."
            .to_owned(),
    );
    story
}

fn collapse_avoid(s: &Series<'_>, at: usize, r: &Collection) -> Vec<String> {
    let mut avoid = vec![
        "Raising MaxTenuringThreshold: the desired size, not the maximum, set the threshold."
            .to_owned(),
    ];
    if let (Some(waste), Some(cap)) = (r.survivor_waste(), r.survivor_capacity())
        && waste > 0
        && u64::try_from(waste).unwrap_or(0) > cap / 10
    {
        avoid.push(format!(
            "Raising TargetSurvivorRatio: {} of the young space after this collection are allocation-buffer \
             waste, and a fuller target leaves no room for it.",
            units::bytes(u64::try_from(waste).unwrap_or(0))
        ));
    }
    // What the common mistake would give: room for age 1, and a threshold that still cuts the rest off.
    if let (Some(ages), Some(layout)) = (r.ages_before, s.warm_up_layout(at))
        && let Some(l) = layout.ratio_for(Need {
            survivors: ages.at(1),
            waste: 0,
        })
        && let max = r.max_threshold.unwrap_or(15)
        && let still = crate::gc::rules::threshold::compute(&ages, l.desired, max)
        && still < max
    {
        avoid.push(format!(
            "Sizing for age 1 alone: SurvivorRatio={} holds it, and the threshold would still be {still}; the \
             whole table has to fit.",
            l.ratio
        ));
    }
    avoid
}

/// PROMO-02.
pub fn overflow(s: &Series<'_>) -> Option<Finding> {
    let hits: Vec<(usize, &Collection, u64)> = s
        .records()
        .filter(|(_, r)| r.cause == Cause::Overflow)
        .filter_map(|(at, r)| Some((at, r, r.promoted.bytes()?)))
        .filter(|(_, r, bytes)| Series::material(r, *bytes))
        .collect();
    let (at, r, bytes) = *hits.iter().max_by_key(|(_, _, bytes)| *bytes)?;
    let mut f = Finding::new(Id::Promo02, Severity::Warn);
    f.at = Some(at);
    f.count = hits.len() as u64;
    if let Some(t) = r.threshold_used {
        f.evidence
            .push(("threshold_used", Fact::Count(u64::from(t))));
    }
    let survivors = r.survivors_after().unwrap_or(0);
    f.evidence.push(("survivors", Fact::Bytes(survivors)));
    if let Some(cap) = r.survivor_capacity() {
        f.evidence.push(("survivor_capacity", Fact::Bytes(cap)));
    }
    promoted_fact(r, &mut f);
    pause_facts(s, r, &mut f);
    f.story = vec![
        format!(
            "Why: the survivor space holds {}, and it was full with {}.",
            units::bytes(r.survivor_capacity().unwrap_or(0)),
            units::bytes(survivors)
        ),
        format!(
            "What: what no longer fitted went straight to the old generation, {}{}, whatever its age.",
            if r.promoted.is_exact() {
                ""
            } else {
                "at most "
            },
            units::bytes(bytes)
        ),
        match r.threshold_used {
            Some(t) => format!("What it is not: ageing; the threshold was {t}."),
            None => "What it is not: ageing; nothing had an age yet.".to_owned(),
        },
    ];
    let alive = r.ages.map_or(survivors, |t| t.total());
    let need = Need {
        survivors: alive.saturating_add(bytes),
        waste: survivors
            .saturating_sub(alive)
            .min(if r.collector.has_survivor_spaces() {
                u64::MAX
            } else {
                0
            }),
    };
    f.advice = keep_young(s, at, Some(need));
    if r.collector != Collector::Parallel {
        f.avoid.push(
            "Raising MaxTenuringThreshold: age is not what sent these objects away.".to_owned(),
        );
    }
    Some(f)
}

/// PROMO-03.
pub fn chronic(s: &Series<'_>) -> Option<Finding> {
    let t = &s.jvm.totals;
    let tables = s.jvm.facts.collector.has_age_table();
    if !tables || t.with_threshold < CHRONIC_FLOOR || t.low_threshold * 2 <= t.with_threshold {
        return None;
    }
    if t.low_promoted < t.young_before / CHRONIC_HARM_PARTS || t.low_promoted == 0 {
        return None;
    }
    let (at, r) = s
        .records()
        .filter(|(_, r)| r.threshold_used.is_some_and(|t| (1..=2).contains(&t)))
        .max_by_key(|(_, r)| r.promoted.bytes())?;
    let mut f = Finding::new(Id::Promo03, Severity::Warn);
    f.at = Some(at);
    f.count = t.low_threshold;
    f.evidence = vec![
        ("low_threshold", Fact::Count(t.low_threshold)),
        ("with_threshold", Fact::Count(t.with_threshold)),
        ("promoted", Fact::Bytes(t.low_promoted)),
        (
            "promoted_share",
            Fact::Share(t.low_promoted as f64 / t.young_before.max(1) as f64),
        ),
    ];
    f.story = vec![
        format!(
            "Why: in {} of {} young collections the threshold was 1 or 2, so objects were promoted after \
             their first or second collection.",
            t.low_threshold, t.with_threshold
        ),
        format!(
            "What: {} went to the old generation that way, {} of what the collections started from.",
            units::bytes(t.low_promoted),
            units::percent(t.low_promoted as f64 / t.young_before.max(1) as f64)
        ),
        "What it is not: an isolated warm-up; the survivor space is too small for the steady load."
            .to_owned(),
    ];
    let overflowed = if r.cause == Cause::Overflow {
        r.promoted.bytes().unwrap_or(0)
    } else {
        0
    };
    let need = s.need(at).map(|n| Need {
        survivors: n.survivors.saturating_add(overflowed),
        ..n
    });
    f.advice = keep_young(s, at, need);
    Some(f)
}

/// PROMO-04: G1's adaptive young generation was small when the survivors came.
pub fn small_young(s: &Series<'_>, found: &[Finding]) -> Option<Finding> {
    let flags = &s.jvm.facts.flags;
    let fixed = flags.new_size.is_some() && flags.new_size == flags.max_new_size;
    if s.jvm.facts.collector != Collector::G1 || fixed {
        return None;
    }
    let at = found
        .iter()
        .filter(|f| matches!(f.id, Id::Promo01 | Id::Promo02))
        .filter_map(|f| f.at)
        .find(|at| s.young.iter().take(EARLY).any(|y| y == at))?;
    let r = s.get(at)?;
    let layout = s.warm_up_layout(at)?;
    let heap = r.heap?.cap?;
    // G1NewSizePercent is 5: up to twice that is still the small start.
    if layout.bytes > heap / 10 {
        return None;
    }
    let mut f = Finding::new(Id::Promo04, Severity::Warn);
    f.at = Some(at);
    f.evidence = vec![
        (
            "young_regions",
            Fact::Count(layout.bytes / layout.region.max(1)),
        ),
        ("young", Fact::Bytes(layout.bytes)),
        ("heap", Fact::Bytes(heap)),
    ];
    if let Some(desired) = r.desired {
        f.evidence.push(("desired", Fact::Bytes(desired)));
    }
    f.story = vec![
        format!(
            "Why: G1 started with a young generation of {} regions ({} of a heap of {}), so desired was only {}.",
            layout.bytes / layout.region.max(1),
            units::bytes(layout.bytes),
            units::bytes(heap),
            units::bytes(r.desired.unwrap_or(0))
        ),
        "What: the first survivors did not fit and were promoted before G1 had learnt a better size.".to_owned(),
        "What it is not: a steady state; later collections use a larger young generation.".to_owned(),
    ];
    let overflowed = s
        .records()
        .filter(|(n, r)| *n <= at && r.cause == Cause::Overflow)
        .filter_map(|(_, r)| r.promoted.bytes())
        .fold(0, u64::saturating_add);
    let alive = s
        .records()
        .filter(|(n, _)| *n <= at)
        .filter_map(|(_, r)| r.ages.map(|t| t.total()))
        .max()
        .unwrap_or(0);
    let need = Need {
        survivors: alive.saturating_add(overflowed),
        waste: 0,
    };
    let size = layout.size_for(need);
    if layout.holds_already(need) || size <= layout.bytes {
        return Some(f);
    }
    let larger = Young {
        bytes: size,
        ..layout
    }
    .at(layout.ratio);
    f.advice.push(Advice {
        option: 'A',
        flag: Some("NewSize"),
        value: FlagValue::Number(size),
        expect: Some(Expect {
            desired: larger.desired,
            survivor: larger.survivor,
            eden_change: larger.eden as f64 / layout.at(layout.ratio).eden.max(1) as f64 - 1.0,
        }),
        cost: "the first pauses copy more; G1 no longer shrinks the young generation below it for its pause goal"
            .to_owned(),
        why: format!("{} of survivors fit from the first collection on", units::bytes(need.survivors)),
    });
    f.advice.extend(heap_for(s, size, layout.bytes, 'A'));
    Some(f)
}

/// PROMO-05: sizing would only have delayed the promotion.
pub fn long_lived(s: &Series<'_>, found: &[Finding]) -> Option<Finding> {
    let at = found
        .iter()
        .filter(|f| matches!(f.id, Id::Promo01 | Id::Promo02))
        .find_map(|f| f.at)?;
    let r = s.get(at)?;
    let bytes = r.promoted.bytes()?;
    let mut f = Finding::new(Id::Promo05, Severity::Info);
    f.at = Some(at);
    let due = cause::due(r).filter(|due| *due > 0 && r.cause == Cause::Threshold);
    let alive = due
        .filter(|_| r.promoted.is_exact())
        .map(|due| bytes as f64 / due as f64)
        .filter(|share| *share >= ALIVE_SHARE);
    let freed = freed_later(s, at).map(|freed| freed as f64 / bytes.max(1) as f64);
    if alive.is_none() && freed.is_none_or(|share| share >= FREED_SHARE) {
        return None;
    }
    if let Some(share) = alive {
        f.evidence
            .push(("alive_at_promotion", Fact::Share(share.min(1.0))));
        f.story.push(format!(
            "Why: {} of the survivors' {} were still alive when they were promoted.",
            units::percent(share.min(1.0)),
            units::bytes(due.unwrap_or(0))
        ));
    }
    if let Some(share) = freed {
        f.evidence
            .push(("freed_by_next_old_collection", Fact::Share(share)));
        if share < FREED_SHARE {
            f.story.push(format!(
                "Why: the next old collection freed only {} of what was promoted.",
                units::percent(share)
            ));
        }
    }
    f.story.push(
        "What: the data would have been promoted anyway; a larger survivor space (advice A) only delays it."
            .to_owned(),
    );
    f.advice.push(collect_after_warm_up('B'));
    Some(f)
}

/// Bytes the first old collection after `at` freed; `None` without one that shows it.
fn freed_later(s: &Series<'_>, at: usize) -> Option<u64> {
    let later = s.jvm.collections.get(at + 1..)?;
    let nth = later.iter().position(|r| r.kind.collects_old())?;
    let old = later.get(nth)?;
    if let Some(change) = old
        .old
        .filter(|_| old.kind != crate::gc::record::Kind::Mixed)
    {
        return Some(change.before.saturating_sub(change.after));
    }
    // A concurrent cycle shows in the old generation before and after it.
    let before = s
        .jvm
        .collections
        .get(..=at + nth)?
        .iter()
        .rev()
        .find_map(Collection::old_after)?;
    let after = later
        .get(nth + 1..)?
        .iter()
        .take_while(|r| !r.after_gap)
        .find_map(Collection::old_before)?;
    Some(before.saturating_sub(after))
}

fn collect_after_warm_up(option: char) -> Advice {
    Advice {
        option,
        flag: None,
        value: FlagValue::Command("jcmd PID GC.run".to_owned()),
        expect: None,
        cost: "one full collection at a moment of your choice, before traffic".to_owned(),
        why: "long-lived warm-up data is promoted while nobody waits".to_owned(),
    }
}

/// A, B and C: a survivor space that holds `need`, a collection after warm-up, a larger young generation.
fn keep_young(s: &Series<'_>, at: usize, need: Option<Need>) -> Vec<Advice> {
    let mut advice = Vec::new();
    let Some((layout, need)) = s.warm_up_layout(at).zip(need) else {
        advice.push(collect_after_warm_up('B'));
        return advice;
    };
    if layout.holds_already(need) {
        advice.push(collect_after_warm_up('B'));
        return advice;
    }
    let parallel = layout.collector == Collector::Parallel;
    let ratio = layout.ratio_for(need);
    if let Some(l) = ratio {
        let more = 1.0 / (1.0 + l.eden_change).max(0.01) - 1.0;
        let mut cost = format!(
            "eden {}: about {} more young collections",
            units::signed_percent(l.eden_change),
            units::percent(more)
        );
        if layout.collector == Collector::ParNew
            && s.get(at).and_then(|r| r.max_threshold) == Some(6)
        {
            cost.push_str(
                "; with CMS, setting SurvivorRatio raises MaxTenuringThreshold from 6 to 15",
            );
        }
        advice.push(Advice {
            option: 'A',
            flag: Some("SurvivorRatio"),
            value: FlagValue::Number(l.ratio),
            expect: Some(Expect {
                desired: l.desired,
                survivor: l.survivor,
                eden_change: l.eden_change,
            }),
            cost,
            why: format!(
                "the largest ratio whose desired size holds {} with a tenth to spare",
                units::bytes(need.survivors)
            ),
        });
        if parallel {
            advice.push(fixed_sizes('A'));
        }
    }
    advice.push(collect_after_warm_up('B'));
    let size = layout.size_for(need);
    if size > layout.bytes {
        let option = if ratio.is_some() { 'C' } else { 'A' };
        let larger = Young {
            bytes: size,
            ..layout
        }
        .at(layout.ratio);
        for flag in ["NewSize", "MaxNewSize"] {
            advice.push(Advice {
                option,
                flag: Some(flag),
                value: FlagValue::Number(size),
                expect: Some(Expect {
                    desired: larger.desired,
                    survivor: larger.survivor,
                    eden_change: larger.eden as f64 / layout.at(layout.ratio).eden.max(1) as f64
                        - 1.0,
                }),
                cost: format!(
                    "{} more for the young generation, from the old one unless the heap grows too",
                    units::bytes(size - layout.bytes)
                ),
                why: "the same SurvivorRatio then gives a survivor space that is large enough"
                    .to_owned(),
            });
        }
        advice.extend(heap_for(s, size, layout.bytes, option));
        if parallel && option == 'A' {
            advice.push(fixed_sizes('A'));
        }
    }
    advice.sort_by_key(|a| a.option);
    advice
}

/// The heap that goes with a young generation of `size` bytes instead of `today`, where that would leave the
/// old generation nothing of the largest heap seen.
fn heap_for(s: &Series<'_>, size: u64, today: u64, option: char) -> Option<Advice> {
    let heap = s.jvm.collections.iter().filter_map(|r| r.heap?.cap).max()?;
    let more = size.saturating_sub(today);
    (size >= heap).then(|| Advice {
        option,
        flag: Some("MaxHeapSize"),
        value: FlagValue::Number((heap.saturating_add(more)).div_ceil(MIB) * MIB),
        expect: None,
        cost: format!("{} more memory", units::bytes(more)),
        why: format!(
            "such a young generation is larger than the whole heap was, {}; the old one keeps its size",
            units::bytes(heap)
        ),
    })
}

fn fixed_sizes(option: char) -> Advice {
    Advice {
        option,
        flag: Some("UseAdaptiveSizePolicy"),
        value: FlagValue::Switch(false),
        expect: None,
        cost: "Parallel no longer adapts eden and survivor sizes to pause and throughput goals"
            .to_owned(),
        why: "with adaptive sizing SurvivorRatio is only an initial value".to_owned(),
    }
}

fn promoted_fact(r: &Collection, f: &mut Finding) {
    match r.promoted {
        Promoted::NotComputable(why) => {
            f.evidence
                .push(("promoted_unknown", Fact::Text(why.text().to_owned())));
            if let Some(due) = cause::due(r) {
                f.evidence.push(("due", Fact::Bytes(due)));
            }
        }
        p => {
            f.evidence
                .push(("promoted", Fact::Bytes(p.bytes().unwrap_or(0))));
            f.evidence.push((
                "promoted_exact",
                Fact::Text(if p.is_exact() { "yes" } else { "no" }.to_owned()),
            ));
        }
    }
}

fn pause_facts(s: &Series<'_>, r: &Collection, f: &mut Finding) {
    if let Some(pause) = r.pause {
        f.evidence.push(("pause", Fact::Time(pause)));
        if let Some(median) = s.median_of_others(Some(pause)) {
            f.evidence.push(("median_pause", Fact::Time(median)));
            if median.0 > 0 {
                f.evidence.push((
                    "pause_ratio",
                    Fact::Number(pause.0 as f64 / median.0 as f64),
                ));
            }
        }
    }
    if let Some(cpu) = r.cpu() {
        f.evidence.push(("cpu", Fact::Time(cpu)));
        if let Some(cores) = r.cores() {
            f.evidence.push(("cpu_ratio", Fact::Number(cores)));
        }
    }
}
