//! Hops out of a chain's text, for recordings whose hop events are gone.

use jfr_format::path::{ChainPath, Edge as PathEdge};

use super::source::java_name;
use crate::model::identity::field_edge_kind;
use crate::model::{Edge, EdgeKind, Hop};

/// The hops of the text of a chain; none when it is not of that form.
pub fn parse(path: &str) -> Vec<Hop> {
    let Some(path) = ChainPath::parse(path) else {
        return Vec::new();
    };
    let mut hops: Vec<Hop> = Vec::with_capacity(path.links.len());
    for link in path.links {
        let edge = match link.edge {
            PathEdge::Field { name } => Edge {
                kind: field_edge_kind(hops.last().map_or("", |hop| hop.class.as_str()), &name),
                name: Some(name),
                index: None,
            },
            PathEdge::Static { name } => Edge {
                kind: EdgeKind::Static,
                name: Some(name),
                index: None,
            },
            PathEdge::Array { index, length } => {
                if let (Some(holder), Some(length)) = (hops.last_mut(), length) {
                    holder.size = u64::try_from(length).ok();
                }
                Edge {
                    kind: EdgeKind::Array,
                    name: None,
                    index: index.and_then(|index| u64::try_from(index).ok()),
                }
            }
            PathEdge::Other { name } => other_edge(name),
            _ => Edge::unknown(),
        };
        hops.push(Hop {
            class: java_name(&link.class.name).into_owned(),
            edge,
            run: u64::from(link.run.max(1)),
            size: link.size.and_then(|size| u64::try_from(size).ok()),
        });
    }
    hops
}

/// `soft referent`, `class` or `root`: the kind and, behind it, the name; of any other text it is all name.
fn other_edge(text: String) -> Edge {
    let (word, name) = match text.split_once(' ') {
        Some((word, name)) => (word, Some(name)),
        None => (text.as_str(), None),
    };
    let index = None;
    match EdgeKind::parse(word) {
        EdgeKind::Unknown => Edge {
            kind: EdgeKind::Class,
            name: Some(text),
            index,
        },
        kind => Edge {
            kind,
            name: name.map(str::to_owned),
            index,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_come_back_from_the_text_of_a_path() {
        let hops = parse(
            "static-field com.acme.Cache.MAP -> ::MAP java.util.HashMap #41 \
             -> .table java.util.HashMap$Node[] -> [17/64] java.util.HashMap$Node \
             -> .next java.util.HashMap$Node x3 -> .value com.acme.V",
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
        let sizes: Vec<_> = hops.iter().map(|hop| hop.size).collect();
        assert_eq!(sizes, [Some(41), Some(64), None, None, None]);
    }

    #[test]
    fn an_edge_that_is_no_field_keeps_its_kind_and_name() {
        let hops = parse(r#"unknown -> <root> a.A -> "<soft referent>" a.B -> "<my own>" a.C"#);
        let edges = hops
            .iter()
            .map(|hop| (hop.edge.kind, hop.edge.name.as_deref()));
        assert_eq!(
            edges.collect::<Vec<_>>(),
            [
                (EdgeKind::Root, None),
                (EdgeKind::Soft, Some("referent")),
                (EdgeKind::Class, Some("my own")),
            ]
        );
    }

    #[test]
    fn text_that_is_no_path_gives_no_hops() {
        assert_eq!(parse(""), []);
        assert_eq!(parse("somewhere"), []);
    }
}
