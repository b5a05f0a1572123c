//! Patterns for hops: `edge class` with `*`, `|` and a leading `?`.

use serde::Deserialize;

/// One expected hop.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern {
    edge: String,
    class: String,
    optional: bool,
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let optional = text.starts_with('?');
        let (edge, class) = text
            .trim_start_matches('?')
            .split_once(' ')
            .ok_or(format!("not `edge class`: {text}"))?;
        Ok(Self {
            edge: edge.to_owned(),
            class: class.to_owned(),
            optional,
        })
    }
}

impl Pattern {
    /// The class as it is written, patterns included.
    pub fn class(&self) -> &str {
        &self.class
    }

    fn fits(&self, (edge, class): &(String, String)) -> bool {
        self.edge.split('|').any(|glob| fits(glob, edge))
            && self.class.split('|').any(|glob| fits(glob, class))
    }
}

/// Whether the hops `(edge, class)` contain the path, its patterns one after the other.
pub fn found(path: &[Pattern], hops: &[(String, String)]) -> bool {
    (0..=hops.len()).any(|start| hops.get(start..).is_some_and(|rest| starts(path, rest)))
}

fn starts(path: &[Pattern], hops: &[(String, String)]) -> bool {
    let Some((first, later)) = path.split_first() else {
        return true;
    };
    let here = hops
        .split_first()
        .filter(|(hop, _)| first.fits(hop))
        .map(|(_, rest)| rest);
    match (first.optional, here) {
        (true, Some(rest)) => starts(path, rest) || starts(later, hops),
        (true, None) => starts(later, hops),
        (false, Some(rest)) => starts(later, rest),
        (false, None) => false,
    }
}

/// Whether `text` fits a glob whose `*` stands for any text.
fn fits(glob: &str, text: &str) -> bool {
    match glob.split_once('*') {
        None => glob == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len())
                .filter_map(|at| rest.get(at..))
                .any(|rest| fits(tail, rest))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, fits, found};

    fn path(hops: &[&str]) -> Vec<Pattern> {
        hops.iter()
            .map(|hop| Pattern::try_from((*hop).to_owned()).unwrap())
            .collect()
    }

    fn hops(hops: &[(&str, &str)]) -> Vec<(String, String)> {
        hops.iter()
            .map(|(edge, class)| ((*edge).to_owned(), (*class).to_owned()))
            .collect()
    }

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(fits("a.B$$Lambda*", "a.B$$Lambda/0x0000"));
        assert!(fits("*", ""));
        assert!(!fits("a*c", "ab"));
    }

    #[test]
    fn optional_hops_may_be_missing_or_repeat() {
        let path = path(&["[] N", "?next N", "value V"]);
        assert!(found(&path, &hops(&[("[]", "N"), ("value", "V")])));
        assert!(found(
            &path,
            &hops(&[
                ("x", "X"),
                ("[]", "N"),
                ("next", "N"),
                ("next", "N"),
                ("value", "V")
            ])
        ));
        assert!(!found(
            &path,
            &hops(&[("[]", "N"), ("other", "N"), ("value", "V")])
        ));
        assert!(!found(&path, &hops(&[("[]", "N")])));
    }

    #[test]
    fn a_hop_needs_its_edge_and_its_class() {
        assert!(Pattern::try_from("alone".to_owned()).is_err());
        assert!(found(&path(&["head|last N"]), &hops(&[("last", "N")])));
        assert!(!found(&path(&["head|last N"]), &hops(&[("next", "N")])));
    }
}
