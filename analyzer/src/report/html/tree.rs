//! Chains that begin alike as one tree: what a root holds, through which fields.

use serde::Serialize;

use crate::model::Chain;
use crate::report::path::{self, Part};

/// One object of the tree, with what it holds.
#[derive(Debug, Serialize, PartialEq)]
pub struct Node {
    /// The class, or the root in words.
    label: String,
    /// The same without a size, which differs from reading to reading.
    #[serde(skip)]
    kind: String,
    /// The edge that leads to the first child.
    edge: String,
    /// `root`, `hop`, `gap` or `leaf`.
    part: &'static str,
    note: Option<String>,
    /// The chain that ends here.
    chain: Option<String>,
    /// Chains that go through here.
    chains: usize,
    children: Vec<Node>,
}

/// The trees of all chains, one a root, in the order of the report.
///
/// Hops are joined while chains agree on class and edge. A chain with thousands of hops has a gap
/// instead, so the tree's depth is bounded.
pub fn trees(chains: &[Chain]) -> Vec<Node> {
    let mut roots: Vec<Node> = Vec::new();
    for chain in chains {
        let lines = path::lines(chain);
        insert(&mut roots, &lines, &chain.id);
    }
    roots
}

fn insert(level: &mut Vec<Node>, lines: &[path::Line], id: &str) {
    let Some((line, rest)) = lines.split_first() else {
        return;
    };
    let part = match line.part {
        Part::Root => "root",
        Part::Hop => "hop",
        Part::Gap => "gap",
        Part::Leaf => "leaf",
    };
    let same = |node: &Node| {
        node.part == part
            && node.kind == line.holder
            && node.edge == line.edge
            && node.chain.is_none()
    };
    let at = match level.iter().position(same) {
        Some(at) if !rest.is_empty() => at,
        _ => {
            level.push(Node {
                label: line.object(),
                kind: line.holder.clone(),
                edge: line.edge.clone(),
                part,
                note: line.note.clone(),
                chain: rest.is_empty().then(|| id.to_owned()),
                chains: 0,
                children: Vec::new(),
            });
            level.len() - 1
        }
    };
    if let Some(node) = level.get_mut(at) {
        node.chains += 1;
        insert(&mut node.children, rest, id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn chains_with_one_root_share_a_tree() {
        let report = sample::leak();
        let mut other = report.chains[0].clone();
        other.id = "ffffffff".to_owned();
        if let Some(last) = other.hops.last_mut() {
            last.class = "com.acme.shop.OrderLine".to_owned();
        }
        let trees = trees(&[report.chains[0].clone(), other]);
        assert_eq!(trees.len(), 1);
        assert_eq!(trees[0].chains, 2);
        let mut node = &trees[0];
        let mut depth = 1;
        while node.children.len() == 1 {
            node = &node.children[0];
            depth += 1;
        }
        assert_eq!(node.children.len(), 2, "the leaves differ");
        assert_eq!(depth, 7);
    }
}
