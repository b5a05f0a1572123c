//! Promoted bytes coloured by cause, above pause and CPU time.

use super::{Plot, Slots, Svg, byte_axis, of_all, records, time_axis, time_labels};
use crate::gc::analysis::Judged;
use crate::gc::out::table;
use crate::gc::record::{Cause, Nanos};

fn class(cause: Cause) -> &'static str {
    match cause {
        Cause::Threshold => "c-threshold",
        Cause::Overflow => "c-overflow",
        Cause::NormalAgeing => "c-ageing",
        Cause::None | Cause::Unknown => "c-unknown",
    }
}

pub(super) fn plot(judged: &Judged, shown: &[usize]) -> Option<Plot> {
    let records = records(judged, shown);
    if !records.iter().any(|r| r.pause.is_some()) {
        return None;
    }
    let slots = Slots {
        count: records.len(),
    };
    let mut svg = Svg::new(370.0);
    let most = records
        .iter()
        .filter_map(|r| r.promoted.bytes())
        .max()
        .unwrap_or(0);
    let scale = byte_axis(&mut svg, 16.0, 150.0, most.max(1024));
    let mut seen: Vec<Cause> = Vec::new();
    for (n, r) in records.iter().enumerate() {
        let (x, width) = slots.bar(n);
        match r.promoted.bytes() {
            Some(bytes) if bytes > 0 => {
                let y = scale.y(bytes as f64);
                let tip = format!("{}: promoted {}", table::time(r), table::promoted(r));
                svg.rect(class(r.cause), x, y, width, 150.0 - y, &tip);
                if r.cause != Cause::None && !seen.contains(&r.cause) {
                    seen.push(r.cause);
                }
            }
            None if r.kind.is_young() => svg.text("tick mid faint", x + width / 2.0, 146.0, "?"),
            _ => {}
        }
    }
    let slowest = records
        .iter()
        .flat_map(|r| [r.pause, r.cpu()])
        .flatten()
        .max()
        .unwrap_or(Nanos(1));
    let scale = time_axis(&mut svg, 190.0, 330.0, slowest);
    svg.text("tick", super::LEFT, 178.0, "pause and CPU time");
    for (n, r) in records.iter().enumerate() {
        let (x, width) = slots.bar(n);
        let half = width / 2.0;
        if let Some(pause) = r.pause {
            let y = scale.y(pause.0 as f64);
            svg.rect(
                "pause",
                x,
                y,
                half,
                330.0 - y,
                &format!("{}: pause {pause}", table::time(r)),
            );
        }
        if let Some(cpu) = r.cpu() {
            let y = scale.y(cpu.0 as f64);
            svg.rect(
                "cpu",
                x + half,
                y,
                half,
                330.0 - y,
                &format!("{}: CPU {cpu}", table::time(r)),
            );
        }
    }
    time_labels(&mut svg, 330.0, slots, &records);
    seen.sort_unstable();
    let mut legend: Vec<(&'static str, String)> = seen
        .into_iter()
        .map(|cause| {
            let label = match cause {
                Cause::Threshold => "promoted by a low threshold",
                Cause::Overflow => "promoted by survivor overflow",
                Cause::NormalAgeing => "promoted by age",
                Cause::None | Cause::Unknown => "promoted, cause unknown",
            };
            (class(cause), label.to_owned())
        })
        .collect();
    legend.extend([
        ("pause", "pause".to_owned()),
        ("cpu", "CPU (all threads)".to_owned()),
    ]);
    Some(Plot {
        title: "Promoted bytes, pause and CPU",
        caption: format!(
            "A promotion that hurts shows in the pause below it. \"?\": the input does not carry the bytes.{}",
            of_all(judged, shown)
        ),
        svg: svg.finish("Promoted bytes by cause for each collection, with pause and CPU time"),
        legend,
    })
}
