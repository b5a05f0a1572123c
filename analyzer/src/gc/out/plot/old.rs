//! The old generation after each collection, with the collections of old space marked.

use std::fmt::Write as _;

use super::{Plot, Slots, Svg, byte_axis, of_all, records, time_labels};
use crate::gc::analysis::Judged;
use crate::gc::out::{table, units};
use crate::gc::record::Kind;

pub(super) fn plot(judged: &Judged, shown: &[usize]) -> Option<Plot> {
    let records = records(judged, shown);
    let max = records.iter().filter_map(|r| r.old_after()).max()?;
    let slots = Slots {
        count: records.len(),
    };
    let (top, bottom) = (24.0, 210.0);
    let mut svg = Svg::new(250.0);
    let scale = byte_axis(&mut svg, top, bottom, max);
    for (n, r) in records.iter().enumerate() {
        if r.kind.collects_old() {
            let x = slots.middle(n);
            svg.line("old-gc", x, top - 6.0, x, bottom);
            svg.path("old-mark", &format!("M{:.1} {:.1}l-5 -8h10z", x, top - 2.0));
        }
    }
    let mut area = String::new();
    let mut line = String::new();
    for (n, r) in records.iter().enumerate() {
        let Some(old) = r.old_after() else { continue };
        let (x, y) = (slots.middle(n), scale.y(old as f64));
        if line.is_empty() {
            let _ = write!(area, "M{x:.1} {bottom:.1}L{x:.1} {y:.1}");
            let _ = write!(line, "M{x:.1} {y:.1}");
        } else {
            let _ = write!(area, "L{x:.1} {y:.1}");
            let _ = write!(line, "L{x:.1} {y:.1}");
        }
    }
    if let Some(last) = records.iter().rposition(|r| r.old_after().is_some()) {
        let _ = write!(area, "L{:.1} {bottom:.1}Z", slots.middle(last));
    }
    svg.path("old-area", &area);
    svg.path("old-line", &line);
    for (n, r) in records.iter().enumerate() {
        if let Some(old) = r.old_after() {
            svg.rect(
                "old-dot",
                slots.middle(n) - 2.5,
                scale.y(old as f64) - 2.5,
                5.0,
                5.0,
                &format!("{}: old generation {}", table::time(r), units::bytes(old)),
            );
        }
    }
    time_labels(&mut svg, bottom, slots, &records);
    let collected = records.iter().filter(|r| r.kind.collects_old()).count();
    let full = records.iter().filter(|r| r.kind == Kind::Full).count();
    let marked = match (collected, full) {
        (0, _) => "there is none here".to_owned(),
        (n, 0) => format!("{n} here"),
        (n, full) => format!("{n} here, {full} of them of the whole heap"),
    };
    let mut legend = vec![("old-dot", "old generation".to_owned())];
    if collected > 0 {
        legend.push(("old-mark", "old collection".to_owned()));
    }
    Some(Plot {
        title: "Old generation after each collection",
        caption: format!(
            "Promoted data stays until an old collection: {marked}. What those free tells whether it was garbage.{}",
            of_all(judged, shown)
        ),
        svg: svg.finish("Old generation occupancy after each collection"),
        legend,
    })
}
