//! The metadata event: a string table and an element tree.

use crate::frame;
use jfr_format::ids;
use jfr_format::metadata::{AnnotationDef, FieldDef, Metadata, TypeDef};
use jfr_format::{string, varint};
use std::collections::HashMap;

/// The event that declares `metadata`, with an id that only equal declarations share.
pub(crate) fn event(metadata: &Metadata, start_ticks: i64) -> Vec<u8> {
    let content = content(metadata);
    let mut body = Vec::with_capacity(content.len() + 32);
    varint::put_u64(&mut body, ids::METADATA);
    varint::put_i64(&mut body, start_ticks);
    varint::put_u64(&mut body, 0);
    varint::put_u64(&mut body, hash63(&content));
    body.extend(content);
    let mut out = Vec::with_capacity(body.len() + 4);
    frame::put_event(&mut out, &body);
    out
}

/// 63 bits of FNV-1a, never 0.
fn hash63(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 1).max(1)
}

fn content(metadata: &Metadata) -> Vec<u8> {
    let mut tree = Tree::default();
    tree.open("root", &[], 2);
    tree.open("metadata", &[], metadata.types.len());
    for declared in &metadata.types {
        tree.class(declared);
    }
    let region = &metadata.region;
    tree.open(
        "region",
        &[
            ("locale", region.locale.as_deref().unwrap_or("en_US")),
            ("gmtOffset", &region.gmt_offset_millis.to_string()),
            ("dst", &region.dst_millis.to_string()),
        ],
        0,
    );
    let mut out = Vec::new();
    varint::put_u64(&mut out, tree.strings.len() as u64);
    for text in &tree.strings {
        string::put(&mut out, Some(text));
    }
    out.extend(tree.elements);
    out
}

#[derive(Default)]
struct Tree {
    strings: Vec<String>,
    index: HashMap<String, u64>,
    elements: Vec<u8>,
}

impl Tree {
    fn text(&mut self, text: &str) {
        let next = self.strings.len() as u64;
        let at = match self.index.get(text) {
            Some(&at) => at,
            None => {
                self.strings.push(text.to_owned());
                self.index.insert(text.to_owned(), next);
                next
            }
        };
        varint::put_u64(&mut self.elements, at);
    }

    /// Starts an element; exactly `children` elements must follow.
    fn open(&mut self, name: &str, attributes: &[(&str, &str)], children: usize) {
        self.text(name);
        varint::put_u64(&mut self.elements, attributes.len() as u64);
        for (key, value) in attributes {
            self.text(key);
            self.text(value);
        }
        varint::put_u64(&mut self.elements, children as u64);
    }

    fn class(&mut self, declared: &TypeDef) {
        let id = declared.id.to_string();
        let mut attributes = vec![("name", declared.name.as_str())];
        attributes.extend(
            declared
                .super_type
                .as_deref()
                .map(|name| ("superType", name)),
        );
        if declared.simple {
            attributes.push(("simpleType", "true"));
        }
        attributes.push(("id", &id));
        let children = declared.settings.len() + declared.fields.len() + declared.annotations.len();
        self.open("class", &attributes, children);
        for setting in &declared.settings {
            let class = setting.type_id.to_string();
            let attributes = [
                ("name", setting.name.as_str()),
                ("class", &class),
                ("defaultValue", &setting.default_value),
            ];
            self.open("setting", &attributes, 0);
        }
        for field in &declared.fields {
            self.field(field);
        }
        for annotation in &declared.annotations {
            self.annotation(annotation);
        }
    }

    fn field(&mut self, field: &FieldDef) {
        let class = field.type_id.to_string();
        let mut attributes = vec![("name", field.name.as_str()), ("class", &class)];
        if field.pooled {
            attributes.push(("constantPool", "true"));
        }
        if field.array {
            attributes.push(("dimension", "1"));
        }
        self.open("field", &attributes, field.annotations.len());
        for annotation in &field.annotations {
            self.annotation(annotation);
        }
    }

    fn annotation(&mut self, annotation: &AnnotationDef) {
        let class = annotation.type_id.to_string();
        let mut attributes = vec![("class", class.as_str())];
        attributes.extend(
            annotation
                .values
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str())),
        );
        self.open("annotation", &attributes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_id_follows_the_content_alone() {
        let one = Metadata::default();
        let mut two = Metadata::default();
        two.types.push(TypeDef {
            id: 3,
            name: "int".into(),
            ..TypeDef::default()
        });
        assert_eq!(hash63(&content(&one)), hash63(&content(&one)));
        assert_ne!(hash63(&content(&one)), hash63(&content(&two)));
        assert!(hash63(&content(&two)) < 1 << 63);
    }
}
