//! The five plots as inline SVG. Colours are classes, so that the page's theme decides them.

mod ages;
mod cohorts;
mod old;
mod promoted;
mod what_if;

use std::fmt::Write as _;

use super::{table, units};
use crate::gc::analysis::Judged;
use crate::gc::num::rfc3339;
use crate::gc::record::{Collection, KIB, Nanos};

/// Collections drawn at most; more would be narrower than a pixel.
const MOST: usize = 160;
/// Width of every plot, in SVG units.
const WIDTH: f64 = 960.0;
/// Left of the plot area, in SVG units.
const LEFT: f64 = 78.0;
/// Right of the plot area.
const RIGHT: f64 = WIDTH - 44.0;

/// One plot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// Heading.
    pub title: &'static str,
    /// What to see in it.
    pub caption: String,
    /// The SVG element.
    pub svg: String,
    /// Legend entries: CSS class and label.
    pub legend: Vec<(&'static str, String)>,
}

/// All plots that the data allows, in the order of the specification.
pub fn all(judged: &Judged) -> Vec<Plot> {
    let shown = selection(judged);
    [
        ages::plot(judged, &shown),
        promoted::plot(judged, &shown),
        cohorts::plot(judged, &shown),
        old::plot(judged, &shown),
        what_if::plot(judged, &shown),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Positions of the collections drawn: all, or the notable ones among evenly spaced others.
fn selection(judged: &Judged) -> Vec<usize> {
    let count = judged.jvm.collections.len();
    if count <= MOST {
        return (0..count).collect();
    }
    let mut shown = table::notable(judged);
    let rest = MOST.saturating_sub(shown.len()).max(1);
    shown.extend((0..rest).map(|n| n * count / rest));
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// What the captions add when not everything is drawn.
fn of_all(judged: &Judged, shown: &[usize]) -> String {
    let count = judged.jvm.collections.len();
    if shown.len() == count {
        String::new()
    } else {
        format!(
            " Drawn: {} of {} collections.",
            shown.len(),
            units::grouped(count as u64)
        )
    }
}

/// An SVG being written.
struct Svg {
    body: String,
    height: f64,
}

impl Svg {
    fn new(height: f64) -> Self {
        Self {
            body: String::new(),
            height,
        }
    }

    fn rect(&mut self, class: &str, x: f64, y: f64, w: f64, h: f64, title: &str) {
        let title = escape(title);
        let _ = write!(
            self.body,
            r#"<rect class="{class}" x="{x:.1}" y="{y:.1}" width="{:.1}" height="{:.1}"><title>{title}</title></rect>"#,
            w.max(0.5),
            h.max(0.0)
        );
    }

    fn line(&mut self, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
        let _ = write!(
            self.body,
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        );
    }

    fn path(&mut self, class: &str, d: &str) {
        if !d.is_empty() {
            let _ = write!(self.body, r#"<path class="{class}" d="{d}"/>"#);
        }
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escape(text);
        let _ = write!(
            self.body,
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#
        );
    }

    fn finish(self, label: &str) -> String {
        format!(
            r#"<svg viewBox="0 0 {WIDTH} {:.0}" role="img" aria-label="{}">{}</svg>"#,
            self.height,
            escape(label),
            self.body
        )
    }
}

/// Text inside SVG elements and attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Horizontal slots, one a collection.
#[derive(Clone, Copy)]
struct Slots {
    count: usize,
}

impl Slots {
    fn width(self) -> f64 {
        (RIGHT - LEFT) / self.count.max(1) as f64
    }

    /// Left edge of slot `n`.
    fn left(self, n: usize) -> f64 {
        LEFT + n as f64 * self.width()
    }

    fn middle(self, n: usize) -> f64 {
        self.left(n) + self.width() / 2.0
    }

    /// Left edge and width of a bar in slot `n`.
    fn bar(self, n: usize) -> (f64, f64) {
        let gap = (self.width() * 0.18).min(10.0);
        let width = (self.width() - 2.0 * gap).min(64.0);
        (self.middle(n) - width / 2.0, width)
    }
}

/// A vertical scale from zero.
#[derive(Clone, Copy)]
struct Scale {
    top: f64,
    bottom: f64,
    max: f64,
}

impl Scale {
    fn y(self, v: f64) -> f64 {
        self.bottom
            - (self.bottom - self.top) * (v / self.max.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    }
}

/// A byte scale whose ticks are round in binary units, with grid lines and labels.
fn byte_axis(svg: &mut Svg, top: f64, bottom: f64, max: u64) -> Scale {
    let mut step = KIB;
    while max / step >= 5 {
        step = step.saturating_mul(2);
    }
    let max = max.max(1).div_ceil(step).saturating_mul(step);
    let scale = Scale {
        top,
        bottom,
        max: max as f64,
    };
    let mut v = 0u64;
    while v <= max {
        grid(svg, scale.y(v as f64), &units::bytes(v));
        v = v.saturating_add(step);
    }
    scale
}

/// A time scale with decimal ticks.
fn time_axis(svg: &mut Svg, top: f64, bottom: f64, max: Nanos) -> Scale {
    let mut step = 1_000u64;
    let mut factor = [2, 5, 10].iter().cycle();
    let mut decade = 1_000u64;
    while max.0 / step >= 4 {
        let f = factor.next().copied().unwrap_or(10);
        step = decade.saturating_mul(f);
        if f == 10 {
            decade = step;
        }
    }
    let max = max.0.max(1).div_ceil(step).saturating_mul(step);
    let scale = Scale {
        top,
        bottom,
        max: max as f64,
    };
    let mut v = 0u64;
    while v <= max {
        let label = if v == 0 {
            "0".to_owned()
        } else if v.is_multiple_of(1_000_000_000) {
            format!("{} s", v / 1_000_000_000)
        } else if v >= 1_000_000_000 {
            format!("{:.1} s", Nanos(v).secs())
        } else if v >= 1_000_000 {
            format!("{} ms", v / 1_000_000)
        } else {
            format!("{} us", v / 1_000)
        };
        grid(svg, scale.y(v as f64), &label);
        v = v.saturating_add(step);
    }
    scale
}

fn grid(svg: &mut Svg, y: f64, label: &str) {
    svg.line("grid", LEFT, y, RIGHT, y);
    svg.text("tick end", LEFT - 8.0, y + 4.0, label);
}

/// Times under the plot, as many as fit; with milliseconds where seconds would repeat.
fn time_labels(svg: &mut Svg, y: f64, slots: Slots, records: &[&Collection]) {
    let every = (records.len() / 8).max(1);
    let wall = |r: Option<&&Collection>| r.and_then(|r| r.at.wall);
    let span = wall(records.last())
        .zip(wall(records.first()))
        .map_or(i64::MAX, |(end, start)| end.saturating_sub(start));
    let fine = span < 120_000_000_000;
    let mut last = String::new();
    for (n, r) in records.iter().enumerate() {
        if n % every != 0 {
            continue;
        }
        let Some(ns) = r.at.wall else {
            svg.text("tick mid", slots.middle(n), y + 16.0, &table::time(r));
            continue;
        };
        let text = rfc3339(ns, r.at.offset_min);
        let clock = text.get(11..if fine { 23 } else { 19 }).unwrap_or_default();
        svg.text("tick mid", slots.middle(n), y + 16.0, clock);
        // The date only where it changes.
        let date = text.get(..10).unwrap_or_default();
        if date != last {
            svg.text("tick mid faint", slots.middle(n), y + 30.0, date);
            last = date.to_owned();
        }
    }
}

/// A step line over slots; a gap where there is no value.
fn steps(slots: Slots, values: impl Iterator<Item = Option<f64>>) -> String {
    let mut d = String::new();
    let mut open = false;
    for (n, y) in values.enumerate() {
        let Some(y) = y else {
            open = false;
            continue;
        };
        let (x1, x2) = (slots.left(n), slots.left(n) + slots.width());
        let verb = if open { 'L' } else { 'M' };
        let _ = write!(d, "{verb}{x1:.1} {y:.1}L{x2:.1} {y:.1}");
        open = true;
    }
    d
}

/// The records at the positions shown.
fn records<'a>(judged: &'a Judged, shown: &[usize]) -> Vec<&'a Collection> {
    shown
        .iter()
        .filter_map(|at| judged.jvm.collections.get(*at))
        .collect()
}
