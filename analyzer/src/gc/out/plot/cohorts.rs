//! The cohort heat map: collection by age. A cohort that lives moves one cell right and one up.

use super::{LEFT, Plot, Slots, Svg, of_all, records, time_labels};
use crate::gc::analysis::Judged;
use crate::gc::findings::Shape;
use crate::gc::out::{table, units};

/// Steps of the colour scale.
const SHADES: [&str; 9] = ["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8", "h9"];

pub(super) fn plot(judged: &Judged, shown: &[usize]) -> Option<Plot> {
    let records: Vec<_> = records(judged, shown)
        .into_iter()
        .filter(|r| r.kind.is_young() && r.ages.is_some())
        .collect();
    let cells = || {
        records.iter().enumerate().flat_map(|(n, r)| {
            r.ages.iter().flat_map(move |t| {
                t.populated()
                    .map(move |(age, bytes)| (n, age, bytes))
                    .collect::<Vec<_>>()
            })
        })
    };
    let most = cells().map(|(_, _, b)| b).max()?;
    let oldest = cells().map(|(_, age, _)| age).max()?.max(4);
    let slots = Slots {
        count: records.len(),
    };
    let row = 17.0;
    let bottom = 12.0 + row * f64::from(oldest);
    let mut svg = Svg::new(bottom + 40.0);
    let y = |age: u8| bottom - row * f64::from(age);
    for age in 1..=oldest {
        svg.text("tick end", LEFT - 8.0, y(age) + 12.5, &format!("age {age}"));
        svg.line("grid", LEFT, y(age) + row, super::RIGHT, y(age) + row);
    }
    for (n, age, bytes) in cells() {
        // Square root: small cohorts stay visible beside a warm-up burst.
        let share = (bytes as f64 / most as f64).sqrt();
        let shade = SHADES
            .iter()
            .enumerate()
            .rev()
            .find(|(step, _)| share * SHADES.len() as f64 >= *step as f64)
            .map_or("h1", |(_, class)| class);
        let gap = if slots.width() > 6.0 { 1.0 } else { 0.0 };
        let time = records.get(n).map(|r| table::time(r)).unwrap_or_default();
        svg.rect(
            shade,
            slots.left(n) + gap,
            y(age) + gap,
            slots.width() - 2.0 * gap,
            row - 2.0 * gap,
            &format!("{time}: age {age}, {}", units::bytes(bytes)),
        );
    }
    time_labels(&mut svg, bottom, slots, &records);
    let shape = match judged.cohorts.shape {
        Shape::FlatTail { per_age, .. } => format!(
            " Here: a flat tail of about {} per age, as a leak gives.",
            units::bytes(per_age)
        ),
        Shape::MovingSpike { age, bytes } => format!(
            " Here: one cohort of {} moving up, now at age {age}, as warm-up gives.",
            units::bytes(bytes)
        ),
        Shape::Ordinary => " Here: neither.".to_owned(),
        Shape::Unknown => String::new(),
    };
    Some(Plot {
        title: "Cohorts",
        caption: format!(
            "A cohort that lives moves one cell right and one up. A leak fills all ages alike; warm-up is one \
             diagonal.{shape}{}",
            of_all(judged, shown)
        ),
        svg: svg.finish("Heat map of survivor bytes, collection by age"),
        legend: vec![
            ("h1", "few bytes".to_owned()),
            ("h5", units::bytes(most / 4)),
            ("h9", units::bytes(most)),
        ],
    })
}
