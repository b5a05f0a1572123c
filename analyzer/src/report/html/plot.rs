//! Series over one time axis as coordinates of an SVG picture. Numbers only: every word that
//! reaches the page goes through the template's escaping.

use serde::Serialize;

use crate::model::{EpochNanos, Nanos, Report, SearchEnd};
use crate::report::units;

/// Width of the picture in its own units.
const WIDTH: f64 = 960.0;
/// Room for labels on the left.
const LEFT: f64 = 84.0;
/// Room on the right.
const RIGHT: f64 = 12.0;
/// Height of a lane's plot.
const LANE: f64 = 110.0;
/// Height of a lane that shows bars only.
const BARS: f64 = 36.0;
/// Room above a lane for its title and legend.
const HEAD: f64 = 44.0;
/// Room below the last lane for the axis.
const AXIS: f64 = 26.0;
/// Lines in one lane; colours differ for so many.
const LINES: usize = 5;

/// A picture of lanes that share the time axis.
#[derive(Debug, Serialize, PartialEq)]
pub struct Plot {
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    /// Bottom of the last lane.
    bottom: f64,
    lanes: Vec<Lane>,
    ticks: Vec<Tick>,
}

#[derive(Debug, Serialize, PartialEq)]
struct Lane {
    title: String,
    top: f64,
    bottom: f64,
    ticks: Vec<Tick>,
    lines: Vec<Line>,
    bars: Vec<Bar>,
}

#[derive(Debug, Serialize, PartialEq)]
struct Tick {
    at: f64,
    label: String,
}

#[derive(Debug, Serialize, PartialEq)]
struct Line {
    color: usize,
    label: String,
    points: String,
    /// Where the legend's entry stands.
    legend: f64,
    /// A limit rather than a measurement.
    dashed: bool,
}

#[derive(Debug, Serialize, PartialEq)]
struct Bar {
    x: f64,
    width: f64,
    top: f64,
    height: f64,
    color: usize,
    title: String,
}

/// A series to draw: label, points, and whether it is a limit.
struct Series {
    label: String,
    points: Vec<(EpochNanos, f64)>,
    dashed: bool,
}

/// The picture of `report`; `None` when it has no series of at least two points.
pub fn plot(report: &Report) -> Option<Plot> {
    let floor = floor(report);
    let ages = ages(report);
    let budgets = budgets(report);
    let all = || floor.iter().chain(&ages).chain(&budgets);
    let times = all()
        .flat_map(|series| series.points.iter().map(|point| point.0))
        .chain(report.passes.iter().map(|pass| pass.time))
        .chain(
            report
                .searches
                .iter()
                .flat_map(|s| [s.start, s.end])
                .flatten(),
        );
    let (start, end) = range(times)?;
    let x = Scale::new(start, end);
    let mut lanes = Vec::new();
    let mut top = 0.0;
    for (title, series, words) in [
        ("Heap used after collections", floor, Words::Bytes),
        ("Distinct GC ages of watched classes", ages, Words::Number),
        (
            "Cost budgets: debt that delays the next pass",
            budgets,
            Words::Span,
        ),
    ] {
        if series.iter().all(|s| s.points.len() < 2) {
            continue;
        }
        lanes.push(lane(title, &series, words, &x, top + HEAD));
        top += HEAD + LANE;
    }
    if !report.searches.is_empty() || !report.passes.is_empty() {
        lanes.push(searches(report, &x, top + HEAD));
        top += HEAD + BARS;
    }
    if lanes.is_empty() {
        return None;
    }
    Some(Plot {
        width: WIDTH,
        height: top + AXIS,
        left: LEFT,
        right: WIDTH - RIGHT,
        bottom: top,
        lanes,
        ticks: x.ticks(),
    })
}

/// One line a JVM, and the highest maximum.
#[allow(clippy::cast_precision_loss, reason = "a picture")]
fn floor(report: &Report) -> Vec<Series> {
    let mut jvms: Vec<usize> = report.heap_floor.iter().map(|p| p.jvm).collect();
    jvms.dedup();
    let mut out: Vec<Series> = jvms
        .iter()
        .take(LINES - 1)
        .enumerate()
        .map(|(at, jvm)| Series {
            label: match jvms.len() {
                1 => "used after GC".to_owned(),
                _ => format!("used after GC, JVM {}", at + 1),
            },
            points: report
                .heap_floor
                .iter()
                .filter(|p| p.jvm == *jvm)
                .map(|p| (p.time, p.used_bytes as f64))
                .collect(),
            dashed: false,
        })
        .collect();
    let limits = || report.heap_floor.iter().filter_map(|p| p.max_bytes);
    let times = report.heap_floor.iter().map(|p| p.time);
    if let (Some(max), Some(first), Some(last)) = (limits().max(), times.clone().min(), times.max())
    {
        out.push(Series {
            label: "maximum".to_owned(),
            points: vec![(first, max as f64), (last, max as f64)],
            dashed: true,
        });
    }
    out.retain(|series| !series.points.is_empty());
    out
}

fn ages(report: &Report) -> Vec<Series> {
    report
        .candidates
        .iter()
        .filter(|candidate| candidate.series.len() > 1)
        .take(LINES)
        .map(|candidate| Series {
            label: crate::model::chain::simple_name(&candidate.class).to_owned(),
            points: candidate.series.iter().map(|p| (p.time, p.ages)).collect(),
            dashed: false,
        })
        .collect()
}

fn budgets(report: &Report) -> Vec<Series> {
    let series = |label: &str, value: fn(&crate::model::CostPoint) -> Option<Nanos>| Series {
        label: label.to_owned(),
        points: report
            .cost
            .series
            .iter()
            .filter_map(|p| Some((p.time, value(p)?.seconds())))
            .collect(),
        dashed: false,
    };
    vec![
        series("CPU-cost balance", |p| p.cpu_balance_ns),
        series("safepoint-cost balance", |p| p.safepoint_balance_ns),
    ]
}

/// How a lane's values are written.
#[derive(Clone, Copy)]
enum Words {
    Bytes,
    Number,
    Span,
}

impl Words {
    /// Where an axis for values up to `value` ends: a number that its half is round for, too.
    fn end(self, value: f64) -> f64 {
        match self {
            Self::Bytes => {
                let unit = 1024_f64.powf((value.max(1.0).ln() / 1024_f64.ln()).floor());
                // Of the unit's powers of two, the halves between them included.
                let binary = |n: f64| 2_f64.powf(n.log2().ceil());
                let (whole, half) = (binary(value / unit), binary(value / unit / 1.5) * 1.5);
                unit * whole.min(half).max(1.0)
            }
            Self::Number | Self::Span => nice(value),
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "labels of an axis, never negative"
    )]
    fn say(self, value: f64) -> String {
        match self {
            Self::Bytes => units::bytes(value as u64),
            Self::Number => format!("{value:.0}"),
            Self::Span => units::seconds(value),
        }
    }
}

fn lane(title: &str, series: &[Series], words: Words, x: &Scale, top: f64) -> Lane {
    let values = series.iter().flat_map(|s| s.points.iter().map(|p| p.1));
    let most = words.end(values.fold(0.0, f64::max));
    let bottom = top + LANE;
    let y = |value: f64| bottom - (value / most).clamp(0.0, 1.0) * LANE;
    let mut legend = LEFT;
    let lines = series
        .iter()
        .filter(|s| s.points.len() > 1)
        .enumerate()
        .map(|(at, series)| {
            let points = series
                .points
                .iter()
                .map(|(time, value)| format!("{:.1},{:.1}", x.at(*time), y(*value)))
                .collect::<Vec<_>>()
                .join(" ");
            let here = legend;
            #[allow(clippy::cast_precision_loss, reason = "a label's length")]
            let room = series.label.chars().count() as f64 * 6.6 + 34.0;
            legend += room;
            Line {
                color: at % LINES,
                label: series.label.clone(),
                points,
                legend: here,
                dashed: series.dashed,
            }
        })
        .collect();
    Lane {
        title: title.to_owned(),
        top,
        bottom,
        ticks: [0.0, 0.5, 1.0]
            .into_iter()
            .map(|part| Tick {
                at: bottom - part * LANE,
                label: words.say(most * part),
            })
            .collect(),
        lines,
        bars: Vec::new(),
    }
}

fn searches(report: &Report, x: &Scale, top: f64) -> Lane {
    let mut bars = Vec::new();
    for (at, search) in report.searches.iter().enumerate() {
        let (Some(start), Some(end)) = (search.start.or(search.end), search.end) else {
            continue;
        };
        let color = match search.outcome {
            SearchEnd::Completed => 1,
            SearchEnd::Abandoned(_) => 3,
            SearchEnd::Stopped | SearchEnd::Running => 4,
        };
        let number = search.id.unwrap_or(at as u64 + 1);
        bars.push(Bar {
            x: x.at(start),
            width: (x.at(end) - x.at(start)).max(2.0),
            top: top + 2.0,
            height: 14.0,
            color,
            title: format!(
                "search #{number}: {}, {}",
                crate::report::words::outcome(&search.outcome),
                units::counted(search.passes, "pass", "passes")
            ),
        });
    }
    for pass in &report.passes {
        let wall = i64::try_from(pass.wall.0).unwrap_or(0);
        let end = EpochNanos::new(pass.time.get().saturating_add(wall));
        let calls = pass.heap_walk_call.0 > 0;
        bars.push(Bar {
            x: x.at(pass.time),
            width: (x.at(end) - x.at(pass.time)).max(1.0),
            top: top + 20.0,
            height: 12.0,
            color: if calls { 3 } else { 0 },
            title: format!(
                "pass of {}, {} in heap-walk calls",
                units::span(pass.wall),
                units::span(pass.heap_walk_call)
            ),
        });
    }
    Lane {
        title: "Searches and their passes".to_owned(),
        top,
        bottom: top + BARS,
        ticks: vec![
            Tick {
                at: top + 13.0,
                label: "searches".to_owned(),
            },
            Tick {
                at: top + 30.0,
                label: "passes".to_owned(),
            },
        ],
        lines: Vec::new(),
        bars,
    }
}

fn range(times: impl Iterator<Item = EpochNanos>) -> Option<(EpochNanos, EpochNanos)> {
    let mut range: Option<(EpochNanos, EpochNanos)> = None;
    for time in times {
        range = Some(range.map_or((time, time), |(a, b)| (a.min(time), b.max(time))));
    }
    range.filter(|(start, end)| end > start)
}

/// Time to x.
struct Scale {
    start: EpochNanos,
    span: Nanos,
}

impl Scale {
    fn new(start: EpochNanos, end: EpochNanos) -> Self {
        Self {
            start,
            span: end.since(start),
        }
    }

    fn at(&self, time: EpochNanos) -> f64 {
        let part = time.since(self.start).seconds() / self.span.seconds();
        LEFT + part.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }

    /// Ticks at a step that a clock has, at most eight.
    fn ticks(&self) -> Vec<Tick> {
        const STEPS: [u64; 16] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400,
        ];
        let seconds = self.span.0 / 1_000_000_000;
        let step = STEPS
            .into_iter()
            .find(|step| seconds / step <= 8)
            .unwrap_or(seconds / 8 + 1);
        (0..=seconds / step)
            .map(|n| {
                let offset = Nanos(n * step * 1_000_000_000);
                let part = offset.seconds() / self.span.seconds();
                Tick {
                    at: LEFT + part.min(1.0) * (WIDTH - LEFT - RIGHT),
                    label: units::span(offset),
                }
            })
            .collect()
    }
}

/// The next number above `value` that an axis would end at.
fn nice(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let found = steps.into_iter().find(|step| step * power >= value);
    found.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn every_coordinate_is_inside_the_picture() {
        let plot = plot(&sample::leak()).unwrap();
        assert!(plot.lanes.len() >= 3);
        for lane in &plot.lanes {
            for line in &lane.lines {
                for point in line.points.split(' ') {
                    let (x, y) = point.split_once(',').unwrap();
                    let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                    assert!((LEFT..=WIDTH - RIGHT + 0.1).contains(&x), "{x}");
                    assert!((lane.top - 0.1..=lane.bottom + 0.1).contains(&y), "{y}");
                }
            }
            assert!(lane.bottom <= plot.height);
        }
        assert!(plot.ticks.len() <= 10);
    }

    #[test]
    fn without_two_points_there_is_no_picture() {
        let mut report = sample::leak();
        report.heap_floor.clear();
        report.passes.clear();
        report.searches.clear();
        report.candidates.clear();
        assert_eq!(plot(&report), None);
    }

    #[test]
    fn an_axis_of_bytes_ends_at_a_size_that_memory_has() {
        const MIB: f64 = 1024.0 * 1024.0;
        assert_eq!(Words::Bytes.end(256.0 * MIB), 256.0 * MIB);
        assert_eq!(Words::Bytes.end(300.0 * MIB), 384.0 * MIB);
        assert_eq!(Words::Bytes.end(1000.0 * MIB), 1024.0 * MIB);
        assert_eq!(Words::Bytes.end(0.0), 1.0);
    }

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!(nice(0.0), 1.0);
        assert_eq!(nice(17.0), 20.0);
        assert_eq!(nice(100.0), 100.0);
        assert_eq!(nice(0.013), 0.015);
    }
}
