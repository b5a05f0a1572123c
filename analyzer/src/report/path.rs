//! A chain as lines of text, one hop a line: shared by every format.

use super::units;
use crate::model::{Chain, EdgeKind, Hop};

/// One line of a chain: an object, and the edge by which it holds the next line's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The object's class, or the root in words for the first line.
    pub holder: String,
    /// Length of the array, or elements of the collection.
    pub size: Option<u64>,
    /// `.field`, `[]` or empty; empty for the leaf.
    pub edge: String,
    /// What else there is to say.
    pub note: Option<String>,
    /// What the line is, for colours and indentation.
    pub part: Part,
}

impl Line {
    /// The object as it is shown: `Object[12,345]`, `java.util.HashMap (size 120,331)`.
    pub fn object(&self) -> String {
        let Some(size) = self.size.map(units::count) else {
            return self.holder.clone();
        };
        match self.holder.split_once("[]") {
            Some((element, further)) => format!("{element}[{size}]{further}"),
            None => format!("{} (size {size})", self.holder),
        }
    }
}

/// Which part of the chain a line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The root.
    Root,
    /// An object between.
    Hop,
    /// Hops that are not shown.
    Gap,
    /// The last object.
    Leaf,
}

/// Hops shown from the root before a gap.
const HEAD: usize = 14;
/// Hops shown before the leaf after a gap.
const TAIL: usize = 6;

/// The lines of `chain`, root first; hops in the middle of a very long chain become one gap.
pub fn lines(chain: &Chain) -> Vec<Line> {
    let mut out = vec![root_line(chain)];
    let count = chain.hops.len();
    let skipped = (count > HEAD + TAIL + 1).then(|| HEAD..count - TAIL);
    for (at, hop) in chain.hops.iter().enumerate() {
        if let Some(gap) = &skipped
            && gap.contains(&at)
        {
            if at == gap.start {
                out.push(Line {
                    holder: format!("... {} more hops ...", gap.len()),
                    size: None,
                    edge: String::new(),
                    note: None,
                    part: Part::Gap,
                });
            }
            continue;
        }
        out.push(hop_line(hop, chain.hops.get(at + 1)));
    }
    out
}

fn root_line(chain: &Chain) -> Line {
    let root = &chain.root;
    let what = match (&root.class, &root.field, &root.thread) {
        (class, field, Some(thread)) => {
            let frame = match (class, field) {
                (Some(class), Some(field)) => format!(", {class} {field}"),
                (None, Some(field)) => format!(", {field}"),
                _ => String::new(),
            };
            format!("{} \"{thread}\"{frame}", root.kind.words())
        }
        (Some(class), Some(field), None) => format!("{} {class}.{field}", root.kind.words()),
        (Some(class), None, None) => format!("{} {class}", root.kind.words()),
        _ => root.kind.words().to_owned(),
    };
    // The producer's own words only where ours say less.
    let adds = root.class.is_none() && root.thread.is_none() && !root.text.is_empty();
    Line {
        holder: what,
        size: None,
        edge: String::new(),
        note: adds.then(|| root.text.clone()),
        part: Part::Root,
    }
}

fn hop_line(hop: &Hop, next: Option<&Hop>) -> Line {
    // An array class says by its own brackets how it holds the next object.
    let edge = next
        .map(edge_words)
        .filter(|edge| edge != "[]" || !hop.class.ends_with("[]"))
        .unwrap_or_default();
    let note = (hop.run > 1).then(|| format!("{} in a row", units::count(hop.run)));
    Line {
        holder: hop.class.clone(),
        size: hop.size.filter(|_| hop.run == 1),
        edge,
        note,
        part: if next.is_some() {
            Part::Hop
        } else {
            Part::Leaf
        },
    }
}

/// The edge into `hop`: `.table`, `[]`, `.referent (soft)`.
pub fn edge_words(hop: &Hop) -> String {
    match (hop.edge.kind, hop.edge.name.as_deref()) {
        (EdgeKind::Array, _) => "[]".to_owned(),
        (EdgeKind::Soft, _) => ".referent (soft)".to_owned(),
        (EdgeKind::Weak, _) => ".referent (weak)".to_owned(),
        (EdgeKind::Class, name) => format!("<{}>", name.unwrap_or("class")),
        (_, Some(name)) => format!(".{name}"),
        (_, None) => "->".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_has_its_length_in_its_brackets_and_a_collection_its_size_behind() {
        let line = |class: &str, size| Line {
            holder: class.to_owned(),
            size,
            edge: String::new(),
            note: None,
            part: Part::Hop,
        };
        let shown = |class, size| line(class, size).object();
        assert_eq!(
            shown("java.lang.Object[]", Some(12_345)),
            "java.lang.Object[12,345]"
        );
        assert_eq!(shown("int[][]", Some(3)), "int[3][]");
        assert_eq!(
            shown("java.util.HashMap", Some(120_331)),
            "java.util.HashMap (size 120,331)"
        );
        assert_eq!(shown("java.util.HashMap", None), "java.util.HashMap");
    }
}
