//! What the threshold would have been at other survivor ratios.

use super::{LEFT, Plot, Slots, Svg, of_all, records, time_labels};
use crate::gc::analysis::Judged;
use crate::gc::findings::series::Series;
use crate::gc::out::{table, units};
use crate::gc::record::Collection;
use crate::gc::rules::threshold;

/// Ratios shown. Source: the specification, "What a person sees".
const RATIOS: [u64; 7] = [8, 7, 6, 5, 4, 3, 2];

pub(super) fn plot(judged: &Judged, shown: &[usize]) -> Option<Plot> {
    let series = Series::of(&judged.jvm);
    let rows: Vec<(usize, &Collection)> = shown
        .iter()
        .filter_map(|at| Some((*at, judged.jvm.collections.get(*at)?)))
        .filter(|(_, r)| r.kind.is_young() && r.ages.is_some() && r.collector.has_age_table())
        .collect();
    let max = rows.iter().filter_map(|(_, r)| r.max_threshold).max()?;
    if rows.is_empty() || !(1..=15).contains(&max) {
        return None;
    }
    let slots = Slots { count: rows.len() };
    let height = 22.0;
    let bottom = 12.0 + height * RATIOS.len() as f64;
    let mut svg = Svg::new(bottom + 40.0);
    let mut any = false;
    for (line, ratio) in RATIOS.iter().enumerate() {
        let y = 12.0 + height * line as f64;
        svg.text("tick end", LEFT - 8.0, y + 15.0, &format!("SR {ratio}"));
        for (n, (at, r)) in rows.iter().enumerate() {
            let (Some(ages), Some(layout)) = (r.ages, series.layout(*at)) else {
                continue;
            };
            any = true;
            let desired = layout.at(*ratio).desired;
            let t = threshold::compute(&ages, desired, max);
            let class = match u32::from(t) * 4 / u32::from(max) {
                _ if t == max => "t-max",
                0 => "t-1",
                1 => "t-2",
                2 => "t-3",
                _ => "t-4",
            };
            let gap = if slots.width() > 6.0 { 1.0 } else { 0.0 };
            svg.rect(
                class,
                slots.left(n) + gap,
                y + 1.0,
                slots.width() - 2.0 * gap,
                height - 2.0,
                &format!(
                    "{}: SurvivorRatio={ratio} gives desired {}, threshold {t}",
                    table::time(r),
                    units::bytes(desired)
                ),
            );
            if slots.width() > 22.0 {
                svg.text("cell", slots.middle(n), y + 15.5, &t.to_string());
            }
        }
    }
    if !any {
        return None;
    }
    let records: Vec<&Collection> = rows.iter().map(|(_, r)| *r).collect();
    time_labels(&mut svg, bottom, slots, &records);
    Some(Plot {
        title: "What if: thresholds at other survivor ratios",
        caption: format!(
            "The threshold each recorded table would give with TargetSurvivorRatio unchanged. Tables were \
             recorded at today's ratio: what was promoted then is not in them.{}",
            of_all(judged, &records_at(shown, judged))
        ),
        svg: svg.finish("Thresholds recomputed for survivor ratios 8 to 2"),
        legend: vec![
            ("t-1", "threshold near 1".to_owned()),
            ("t-3", "in between".to_owned()),
            ("t-max", format!("maximum ({max})")),
        ],
    })
}

fn records_at(shown: &[usize], judged: &Judged) -> Vec<usize> {
    let count = records(judged, shown).len();
    shown.iter().copied().take(count).collect()
}
