//! One self-contained page: findings, collections, plots. Light and dark follow the reader's system.

use std::io::{self, Write};

use minijinja::{Environment, context};

use super::plot::{self, Plot};
use super::{table, text, units};
use crate::gc::analysis::{Analysis, Judged};
use crate::gc::findings::{Advice, Finding};
use crate::report::safe::{html_with_flags, terminal};

/// Writes the page.
pub fn write(analysis: &Analysis, out: &mut dyn Write) -> io::Result<()> {
    let mut env = Environment::new();
    env.add_filter("flags", |text: &str| {
        minijinja::Value::from_safe_string(html_with_flags(text))
    });
    // The name ends in .html, so every value is escaped unless marked safe.
    env.add_template("gc.html", include_str!("gc.html"))
        .map_err(io::Error::other)?;
    let jvms: Vec<minijinja::Value> = analysis
        .jvms
        .iter()
        .enumerate()
        .map(|(n, judged)| jvm(analysis, judged, n))
        .collect();
    let diagnostics: Vec<String> = analysis
        .diagnostics
        .iter()
        .map(|d| {
            let path = analysis
                .sources
                .get(d.input)
                .map_or("", |s| s.path.as_str());
            terminal(&format!("{path}: {d}")).into_owned()
        })
        .collect();
    let page = env
        .get_template("gc.html")
        .and_then(|t| {
            t.render(context! {
                jvms,
                diagnostics,
                version => env!("CARGO_PKG_VERSION"),
                style => include_str!("gc.css"),
            })
        })
        .map_err(io::Error::other)?;
    out.write_all(page.as_bytes())
}

fn jvm(analysis: &Analysis, judged: &Judged, n: usize) -> minijinja::Value {
    let notable = table::notable(judged);
    let rows: Vec<minijinja::Value> = notable
        .iter()
        .filter_map(|at| Some((*at, judged.jvm.collections.get(*at)?)))
        .map(|(at, r)| {
            let told = judged.findings.iter().any(|f| f.at == Some(at));
            context! { cells => table::cells(r).to_vec(), told }
        })
        .collect();
    let hidden = judged.jvm.collections.len() - notable.len();
    context! {
        head => terminal(&text::head(analysis, judged, n)),
        version => judged.jvm.facts.version.as_deref().map(terminal),
        findings => judged.findings.iter().map(|f| finding(f, judged)).collect::<Vec<_>>(),
        heads => table::HEADS,
        rows,
        hidden => (hidden > 0).then(|| units::grouped(hidden as u64)),
        limits => table::limits(judged),
        plots => plot::all(judged).iter().map(svg).collect::<Vec<_>>(),
    }
}

fn finding(f: &Finding, judged: &Judged) -> minijinja::Value {
    let at =
        f.at.and_then(|at| judged.jvm.collections.get(at))
            .map(table::time);
    let advice: Vec<minijinja::Value> = f
        .advice
        .chunk_by(|a, b| a.option == b.option)
        .map(group)
        .collect();
    context! {
        id => f.id.name(),
        severity => f.severity.name(),
        title => f.id.title(),
        count => f.count,
        at,
        story => f.story.clone(),
        advice,
        avoid => f.avoid.clone(),
    }
}

fn group(group: &[Advice]) -> minijinja::Value {
    let mut why: Vec<&str> = Vec::new();
    let mut cost: Vec<&str> = Vec::new();
    for a in group {
        if !why.contains(&a.why.as_str()) {
            why.push(&a.why);
        }
        if !cost.contains(&a.cost.as_str()) {
            cost.push(&a.cost);
        }
    }
    let expect = group.iter().find_map(|a| a.expect).map(|e| {
        format!(
            "desired {} ({} B), survivor {}, eden {}",
            units::bytes(e.desired),
            units::grouped(e.desired),
            units::bytes(e.survivor),
            units::signed_percent(e.eden_change)
        )
    });
    context! {
        option => group.first().map(|a| a.option.to_string()),
        arguments => group.iter().map(Advice::argument).collect::<Vec<_>>(),
        why => why.join("; "),
        cost => cost.join("; "),
        expect,
    }
}

fn svg(p: &Plot) -> minijinja::Value {
    context! {
        title => p.title,
        caption => p.caption.clone(),
        // Built by `plot`, which escapes every text it puts in.
        svg => minijinja::Value::from_safe_string(p.svg.clone()),
        legend => p.legend.iter().map(|(class, label)| context! { class => *class, label => label.as_str() }).collect::<Vec<_>>(),
    }
}
