//! Survivors by age, stacked, against the desired size and the capacity, with the threshold as a step.

use super::{Plot, Slots, Svg, byte_axis, of_all, records, steps, time_labels};
use crate::gc::analysis::Judged;
use crate::gc::out::{table, units};
use crate::gc::record::AgeTable;

/// The class of an age's colour.
pub fn class(age: u8) -> &'static str {
    const CLASSES: [&str; 15] = [
        "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "a10", "a11", "a12", "a13", "a14",
        "a15",
    ];
    CLASSES
        .get(usize::from(age.saturating_sub(1)))
        .copied()
        .unwrap_or("a15")
}

pub(super) fn plot(judged: &Judged, shown: &[usize]) -> Option<Plot> {
    let records: Vec<_> = records(judged, shown)
        .into_iter()
        .filter(|r| r.kind.is_young())
        .collect();
    if !records.iter().any(|r| r.ages.is_some()) {
        return None;
    }
    let slots = Slots {
        count: records.len(),
    };
    let max = records
        .iter()
        .flat_map(|r| [r.ages.map(|t| t.total()), r.desired, r.survivor_capacity()])
        .flatten()
        .max()?;
    let (top, bottom) = (16.0, 276.0);
    let mut svg = Svg::new(316.0);
    let scale = byte_axis(&mut svg, top, bottom, max);
    let mut oldest = 1;
    for (n, r) in records.iter().enumerate() {
        let Some(ages) = r.ages else { continue };
        let (x, width) = slots.bar(n);
        let mut below = 0u64;
        for (age, bytes) in ages.populated() {
            oldest = oldest.max(age);
            let (y1, y2) = (scale.y(below as f64), scale.y((below + bytes) as f64));
            svg.rect(
                class(age),
                x,
                y2,
                width,
                y1 - y2,
                &format!("{}: age {age}, {}", table::time(r), units::bytes(bytes)),
            );
            below += bytes;
        }
    }
    let line = |value: fn(&crate::gc::record::Collection) -> Option<u64>| {
        steps(
            slots,
            records.iter().map(|r| value(r).map(|v| scale.y(v as f64))),
        )
    };
    svg.path("capacity", &line(|r| r.survivor_capacity()));
    svg.path("desired", &line(|r| r.desired));
    let most = records
        .iter()
        .filter_map(|r| r.max_threshold)
        .max()
        .unwrap_or(AgeTable::MAX_AGE)
        .clamp(1, 16);
    let threshold_y = |t: u8| bottom - (bottom - top) * f64::from(t.min(most)) / f64::from(most);
    svg.path(
        "threshold",
        &steps(
            slots,
            records.iter().map(|r| r.threshold_used.map(threshold_y)),
        ),
    );
    for t in [1, most] {
        svg.text(
            "tick threshold-tick",
            super::RIGHT + 8.0,
            threshold_y(t) + 4.0,
            &t.to_string(),
        );
    }
    time_labels(&mut svg, bottom, slots, &records);
    let mut legend: Vec<(&'static str, String)> = (1..=oldest.min(5))
        .map(|age| (class(age), format!("age {age}")))
        .collect();
    match oldest {
        0..=5 => {}
        6 => legend.push((class(6), "age 6".to_owned())),
        _ => legend.push((class(10), format!("ages 6 to {oldest}"))),
    }
    legend.extend([
        ("l-desired", "desired".to_owned()),
        ("l-capacity", "survivor capacity".to_owned()),
        ("l-threshold", "threshold used (right)".to_owned()),
    ]);
    Some(Plot {
        title: "Survivors by age",
        caption: format!(
            "Where a bar crosses the dashed desired line, the next threshold falls to the age that crosses it.{}",
            of_all(judged, shown)
        ),
        svg: svg.finish(
            "Survivor bytes by age for each young collection, with desired size and threshold",
        ),
        legend,
    })
}
