//! Hops out of a chain's text, for recordings whose hop events are gone.

use super::source::java_name;
use crate::model::{Edge, EdgeKind, Hop};

/// The hops of `root -> ::FIELD Class -> .field Class -> [3] Class -> ...`; the root is left out.
///
/// Each step is an edge and a class, as in the text of a signature. Steps that do not look so are
/// kept as a hop without an edge: a path with a gap is worth more than none.
pub fn parse(path: &str) -> Vec<Hop> {
    path.split(" -> ").skip(1).filter_map(step).collect()
}

fn step(text: &str) -> Option<Hop> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let (text, run) = take_run(text);
    let (edge, class) = match text.split_once(' ') {
        Some((edge, class)) if !class.is_empty() => (edge, class),
        _ => ("", text),
    };
    let (kind, name, index) = if let Some(field) = edge.strip_prefix("::") {
        (EdgeKind::Static, Some(field.to_owned()), None)
    } else if let Some(field) = edge.strip_prefix('.') {
        (EdgeKind::Field, Some(field.to_owned()), None)
    } else if let Some(inside) = edge.strip_prefix('[').and_then(|e| e.strip_suffix(']')) {
        (EdgeKind::Array, None, inside.parse().ok())
    } else {
        (EdgeKind::Unknown, None, None)
    };
    Some(Hop {
        class: java_name(class).into_owned(),
        edge: Edge { kind, name, index },
        run,
    })
}

/// `... (x 12)` at the end is a run.
fn take_run(text: &str) -> (&str, u64) {
    let run = text.rsplit_once(" (x ").and_then(|(before, rest)| {
        let number = rest.strip_suffix(')')?.trim().parse().ok()?;
        Some((before, number))
    });
    run.unwrap_or((text, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_come_back_from_the_text_of_a_path() {
        let hops = parse(
            "static-field com.acme.Cache.MAP -> ::MAP java.util.HashMap -> .table java.util.HashMap$Node[] \
             -> [17] java.util.HashMap$Node -> .next java.util.HashMap$Node (x 3) -> .value com.acme.V",
        );
        let classes: Vec<_> = hops.iter().map(|hop| hop.class.as_str()).collect();
        assert_eq!(
            classes,
            [
                "java.util.HashMap",
                "java.util.HashMap$Node[]",
                "java.util.HashMap$Node",
                "java.util.HashMap$Node",
                "com.acme.V"
            ]
        );
        assert_eq!(hops[0].edge.kind, EdgeKind::Static);
        assert_eq!(hops[1].edge.name.as_deref(), Some("table"));
        assert_eq!(hops[2].edge.index, Some(17));
        assert_eq!(hops[3].run, 3);
    }

    #[test]
    fn text_that_is_no_path_gives_no_hops() {
        assert_eq!(parse(""), []);
        assert_eq!(parse("somewhere"), []);
    }
}
