//! PROMO-06 to PROMO-10: what makes promotion dearer, useless or impossible.

use super::series::Series;
use super::{Advice, Fact, Finding, FlagValue, Id, Severity};
use crate::gc::out::units;
use crate::gc::record::{Cause, Collection, Collector, Kind, MIB, Nanos};

/// PROMO-06: kernel share from which memory is being handed out, not copied.
/// Source: the specification, PROMO-06.
const SYS_SHARE: f64 = 0.30;
/// PROMO-06: CPU times are printed in steps of 10 ms; less than ten steps says nothing about shares.
const CPU_FLOOR: Nanos = Nanos(100_000_000);
/// PROMO-07: waste from this part of a survivor space on: 1/4.
const WASTE_PARTS: u64 = 4;
/// PROMO-10: humongous regions from this part of the heap on: 1/10.
const HUMONGOUS_PARTS: u64 = 10;

/// PROMO-06.
pub fn first_touch(s: &Series<'_>) -> Option<Finding> {
    if s.jvm.facts.pretouch == Some(true) {
        return None;
    }
    let share = |r: &Collection| {
        let cpu = r.cpu().filter(|c| *c >= CPU_FLOOR)?;
        Some(r.sys?.0 as f64 / cpu.0 as f64).filter(|share| *share >= SYS_SHARE)
    };
    let hits: Vec<(usize, &Collection, f64)> = s
        .records()
        .filter(|(_, r)| r.cause != Cause::None)
        .filter_map(|(at, r)| Some((at, r, share(r)?)))
        .collect();
    let (at, r, share) = *hits.iter().max_by_key(|(_, r, _)| r.sys)?;
    let mut f = Finding::new(Id::Promo06, Severity::Info);
    f.at = Some(at);
    f.count = hits.len() as u64;
    f.evidence = vec![
        ("sys_share", Fact::Share(share)),
        ("sys", Fact::Time(r.sys.unwrap_or_default())),
        ("cpu", Fact::Time(r.cpu().unwrap_or_default())),
    ];
    f.story = vec![format!(
        "Why: {} of the CPU time of this pause was kernel time ({}): survivor and old pages were touched for \
         the first time, or swapped.",
        units::percent(share),
        r.sys.unwrap_or_default()
    )];
    f.advice.push(Advice {
        option: 'A',
        flag: Some("AlwaysPreTouch"),
        value: FlagValue::Switch(true),
        expect: None,
        cost: "the JVM starts later and its whole heap is resident from the start".to_owned(),
        why: "pages are handed out before the first collection".to_owned(),
    });
    Some(f)
}

/// PROMO-07.
pub fn buffer_waste(s: &Series<'_>) -> Option<Finding> {
    let waste = |r: &Collection| {
        let waste = u64::try_from(r.survivor_waste()?).ok()?;
        let cap = r.survivor_cap?;
        (waste >= MIB && waste >= cap / WASTE_PARTS).then_some((waste, cap))
    };
    let hits: Vec<(usize, (u64, u64))> = s
        .records()
        .filter(|(_, r)| r.collector == Collector::ParNew && r.ages.is_some())
        .filter_map(|(at, r)| Some((at, waste(r)?)))
        .collect();
    let (at, (bytes, cap)) = *hits.iter().max_by_key(|(_, (waste, _))| *waste)?;
    let r = s.get(at)?;
    let mut f = Finding::new(Id::Promo07, Severity::Info);
    f.at = Some(at);
    f.count = hits.len() as u64;
    f.evidence = vec![
        ("waste", Fact::Bytes(bytes)),
        ("young_after", Fact::Bytes(r.young.map_or(0, |y| y.after))),
        ("ages_total", Fact::Bytes(r.ages.map_or(0, |t| t.total()))),
        ("survivor_capacity", Fact::Bytes(cap)),
    ];
    f.story = vec![
        format!(
            "What: {} of the {} in young space after this collection belong to no live object: each GC thread \
             keeps allocation buffers of its own.",
            units::bytes(bytes),
            units::bytes(r.young.map_or(0, |y| y.after))
        ),
        "What it is not: live data; do not size for it as if it were, but leave room for it."
            .to_owned(),
    ];
    f.avoid.push(
        "Raising TargetSurvivorRatio: buffers need the part of the survivor space that the target leaves free."
            .to_owned(),
    );
    Some(f)
}

/// PROMO-08.
pub fn useless_maximum(s: &Series<'_>) -> Option<Finding> {
    let (at, r) = s
        .records()
        .find(|(_, r)| r.max_threshold.is_some_and(|m| m == 0 || m >= 16))?;
    let max = r.max_threshold?;
    let mut f = Finding::new(Id::Promo08, Severity::Info);
    f.at = Some(at);
    f.evidence
        .push(("max_threshold", Fact::Count(u64::from(max))));
    f.story.push(match max {
        0 => "What: with MaxTenuringThreshold=0 every survivor is promoted by its first collection; survivor \
              spaces and the age table are unused."
            .to_owned(),
        16 => "What: with NeverTenure (MaxTenuringThreshold=16) nothing is promoted by age; only a full survivor \
               space promotes."
            .to_owned(),
        max => format!(
            "What: ages end at 15, so a maximum of {max} means the same as 16: only the desired size decides."
        ),
    });
    f.advice.push(Advice {
        option: 'A',
        flag: Some("MaxTenuringThreshold"),
        value: FlagValue::Number(15),
        expect: None,
        cost: "survivors are copied until they are old enough".to_owned(),
        why: "the age table decides again".to_owned(),
    });
    Some(f)
}

/// PROMO-09.
pub fn failures(s: &Series<'_>) -> Option<Finding> {
    let failed = |r: &Collection| r.promotion_failed || r.evacuation_failed || r.refused;
    let hits: Vec<(usize, &Collection)> = s
        .jvm
        .collections
        .iter()
        .enumerate()
        .filter(|(_, r)| failed(r))
        .collect();
    let (at, r) = *hits.iter().max_by_key(|(_, r)| r.pause)?;
    let count = |f: fn(&Collection) -> bool| hits.iter().filter(|(_, r)| f(r)).count() as u64;
    let mut f = Finding::new(Id::Promo09, Severity::Critical);
    f.at = Some(at);
    f.count = hits.len() as u64;
    f.evidence = vec![
        (
            "promotion_failed",
            Fact::Count(count(|r| r.promotion_failed)),
        ),
        (
            "evacuation_failed",
            Fact::Count(count(|r| r.evacuation_failed)),
        ),
        ("refused", Fact::Count(count(|r| r.refused))),
    ];
    if let Some(pause) = r.pause {
        f.evidence.push(("longest_pause", Fact::Time(pause)));
    }
    f.story = vec![
        "Why: the old generation (or G1's free regions) could not take what the young collection had to move."
            .to_owned(),
        "What: objects stayed where they were, and a collection of the whole heap followed or was near."
            .to_owned(),
        "What it is not: a matter of survivor sizes; no ratio helps where the heap is full.".to_owned(),
    ];
    if let Some(cap) = s.jvm.collections.iter().filter_map(|r| r.heap?.cap).max() {
        f.evidence.push(("heap", Fact::Bytes(cap)));
        let larger = (cap / 4 * 5).div_ceil(MIB) * MIB;
        f.advice.push(Advice {
            option: 'A',
            flag: Some("MaxHeapSize"),
            value: FlagValue::Number(larger),
            expect: None,
            cost: format!("{} more memory", units::bytes(larger - cap)),
            why: "a quarter more, as a first step; if the heap fills again, look for a leak"
                .to_owned(),
        });
    }
    Some(f)
}

/// PROMO-10.
pub fn humongous(s: &Series<'_>) -> Option<Finding> {
    if s.jvm.facts.collector != Collector::G1 {
        return None;
    }
    let caused = s
        .jvm
        .collections
        .iter()
        .filter(|r| r.gc_cause.as_deref() == Some("G1 Humongous Allocation"))
        .count() as u64;
    let regions = |r: &Collection| {
        let count = r.regions.humongous?.before;
        let heap = r.heap?.cap? / r.region_bytes?.max(1);
        Some((count, heap))
    };
    let most = s
        .jvm
        .collections
        .iter()
        .enumerate()
        .filter(|(_, r)| r.kind != Kind::ConcurrentOld)
        .filter_map(|(at, r)| Some((at, regions(r)?)))
        .max_by_key(|(_, (count, _))| *count);
    let large = most.is_some_and(|(_, (count, heap))| count > 0 && count >= heap / HUMONGOUS_PARTS);
    if caused == 0 && !large {
        return None;
    }
    let mut f = Finding::new(Id::Promo10, Severity::Info);
    f.count = caused.max(1);
    f.evidence
        .push(("humongous_collections", Fact::Count(caused)));
    if let Some((at, (count, heap))) = most {
        f.at = Some(at);
        f.evidence.push(("humongous_regions", Fact::Count(count)));
        f.evidence.push(("heap_regions", Fact::Count(heap)));
    }
    f.story = vec![
        "Why: an object of half a region or more is allocated in old regions of its own, past the young \
         generation."
            .to_owned(),
        format!("What: {caused} collections were started by such an allocation."),
        "What it is not: promotion; survivor sizes have no part in it.".to_owned(),
    ];
    if let Some(region) = s.jvm.facts.region_bytes
        && region < 32 * MIB
    {
        let larger = (region * 4).min(32 * MIB);
        f.advice.push(Advice {
            option: 'A',
            flag: Some("G1HeapRegionSize"),
            value: FlagValue::Number(larger),
            expect: None,
            cost: "fewer, larger regions: coarser pause control".to_owned(),
            why: format!(
                "objects up to {} are then ordinary; or allocate in chunks below {}",
                units::bytes(larger / 2),
                units::bytes(region / 2)
            ),
        });
    }
    Some(f)
}
