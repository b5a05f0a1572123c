//! From a metadata event to the types it declares.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::cursor::{Cursor, RawText};
use super::error::DecodeError;
use super::types::{Annotation, Field, Primitive, Shape, Type, Types, primitive_of, unit_of};
use super::walk::{CHECKPOINT_ID, METADATA_ID};

/// A JDK declares about 5,000 strings and 10,000 elements; a hostile file gets no further than this.
const MAX_STRINGS: usize = 1 << 19;
pub(crate) const MAX_ELEMENTS: usize = 1 << 19;

/// Ids below this are looked up in a table: the JVM numbers its own types from 1.
const SMALL_IDS: i64 = 1 << 14;

/// What one metadata event held.
#[derive(Debug)]
pub(crate) struct Metadata<'a> {
    pub(crate) types: Types<'a>,
    /// Why reading stopped early; the types up to there are kept.
    pub(crate) broken: Option<DecodeError>,
    /// Bytes that were looked at.
    pub(crate) read: usize,
}

/// Reads the body of a metadata event: everything after its type id.
///
/// Works with a stack of its own, so that no nesting of elements can exhaust the thread's.
pub(crate) fn read<'a>(body: &'a [u8]) -> Metadata<'a> {
    let mut builder = Builder::default();
    let mut cursor = Cursor::new(body, 0);
    let broken = builder.tree(&mut cursor).err();
    Metadata {
        types: builder.finish(),
        broken,
        read: cursor.at(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Class,
    Field,
    Annotation,
    /// A setting: its annotations belong to nobody we keep.
    Setting,
    Other,
}

#[derive(Debug, Default)]
struct Builder<'a> {
    strings: Vec<Cow<'a, str>>,
    types: Vec<Type<'a>>,
    gmt_offset_millis: i64,
}

type Attributes<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

impl<'a> Builder<'a> {
    fn tree(&mut self, cursor: &mut Cursor<'a>) -> Result<(), DecodeError> {
        // Start, duration and metadata id.
        cursor.skip_varints(3)?;
        let count = cursor.count()?;
        self.strings = strings(cursor, count)?;
        // Elements whose children are still to be read: what they are, and how many are left.
        let mut open: Vec<(Element, usize)> = Vec::new();
        let mut attributes: Attributes<'a> = Vec::new();
        for _ in 0..MAX_ELEMENTS {
            let name = self.string(cursor)?;
            let attribute_count = cursor.count()?;
            attributes.clear();
            for _ in 0..attribute_count {
                let key = self.string(cursor)?;
                let value = self.string(cursor)?;
                attributes.push((key, value));
            }
            let parent = open.last().map(|&(element, _)| element);
            let element = self.element(&name, parent, &mut attributes);
            open.push((element, cursor.count()?));
            while let Some((_, left)) = open.last_mut() {
                if *left > 0 {
                    *left -= 1;
                    break;
                }
                open.pop();
            }
            if open.is_empty() {
                return Ok(());
            }
        }
        Err(DecodeError::CountTooLarge(MAX_ELEMENTS as u64))
    }

    fn string(&self, cursor: &mut Cursor<'a>) -> Result<Cow<'a, str>, DecodeError> {
        let index = cursor.varint()?;
        let found = usize::try_from(index)
            .ok()
            .and_then(|index| self.strings.get(index));
        found.cloned().ok_or(DecodeError::MetadataString(index))
    }

    fn element(
        &mut self,
        name: &str,
        parent: Option<Element>,
        attributes: &mut Attributes<'a>,
    ) -> Element {
        match name {
            "class" => {
                self.types.push(declared_type(attributes));
                Element::Class
            }
            "field" if parent == Some(Element::Class) => {
                if let Some(owner) = self.types.last_mut() {
                    owner.fields.push(declared_field(attributes));
                }
                Element::Field
            }
            "annotation" => {
                let annotation = Annotation {
                    type_id: number(attributes, "class").unwrap_or(-1),
                    name: Cow::Borrowed(""),
                    values: attributes
                        .drain(..)
                        .filter(|(key, _)| key != "class")
                        .collect(),
                };
                let owner = self.types.last_mut();
                match (parent, owner) {
                    (Some(Element::Class), Some(owner)) => owner.annotations.push(annotation),
                    (Some(Element::Field), Some(owner)) => {
                        if let Some(field) = owner.fields.last_mut() {
                            field.annotations.push(annotation);
                        }
                    }
                    _ => {}
                }
                Element::Annotation
            }
            "setting" => Element::Setting,
            "region" => {
                let hours = number(attributes, "gmtOffset").unwrap_or(0);
                let dst = number(attributes, "dst").unwrap_or(0);
                self.gmt_offset_millis = hours.saturating_add(dst);
                Element::Other
            }
            _ => Element::Other,
        }
    }

    fn finish(self) -> Types<'a> {
        let mut types = Types {
            list: self.types,
            gmt_offset_millis: self.gmt_offset_millis,
            ..Types::default()
        };
        for (index, declared) in (0_u32..).zip(&types.list) {
            // As the JDK's readers do, the later of two declarations counts.
            types.by_id.insert(declared.id, index);
        }
        types.event_ids = types
            .by_id
            .iter()
            // Metadata and checkpoints are no events, whatever a damaged file declares.
            .filter(|&(&id, _)| id != METADATA_ID && id != CHECKPOINT_ID)
            .filter(|&(_, &index)| types.at(index).is_some_and(Type::is_event))
            .map(|(&id, &index)| (id, index))
            .collect();
        let names: FxHashMap<i64, Cow<'a, str>> = types
            .by_id
            .iter()
            .filter_map(|(&id, &index)| Some((id, types.at(index)?.name.clone())))
            .collect();
        let small = types.event_ids.keys().filter(|&&id| id < SMALL_IDS).max();
        if let Some(Ok(most)) = small.map(|&id| usize::try_from(id)) {
            types.small_event_ids = vec![0; most + 1];
        }
        for (&id, &index) in &types.event_ids {
            let small = usize::try_from(id).ok();
            if let Some(slot) = small.and_then(|id| types.small_event_ids.get_mut(id)) {
                *slot = index + 1;
            }
        }
        let primitives: Vec<Option<Primitive>> = types
            .list
            .iter()
            .map(|declared| declared.primitive)
            .collect();
        let by_id = &types.by_id;
        for declared in &mut types.list {
            for annotation in &mut declared.annotations {
                name_annotation(annotation, &names);
            }
            for field in &mut declared.fields {
                field.type_index = by_id.get(&field.type_id).copied();
                for annotation in &mut field.annotations {
                    name_annotation(annotation, &names);
                }
                field.unit = unit_of(&field.annotations);
                field.shape = match field.type_index {
                    None => Shape::Undeclared,
                    Some(index) if field.pooled => Shape::Key(index),
                    Some(index) => match primitives.get(index as usize).copied().flatten() {
                        Some(primitive) => Shape::Primitive(primitive),
                        None => Shape::Struct(index),
                    },
                };
            }
        }
        types.string = types
            .list
            .iter()
            .position(|declared| declared.primitive == Some(Primitive::String))
            .and_then(|index| u32::try_from(index).ok());
        mark_empty(&mut types);
        mark_varints(&mut types);
        types
    }
}

fn name_annotation<'a>(annotation: &mut Annotation<'a>, names: &FxHashMap<i64, Cow<'a, str>>) {
    if let Some(name) = names.get(&annotation.type_id) {
        annotation.name = name.clone();
    }
}

fn declared_type<'a>(attributes: &Attributes<'a>) -> Type<'a> {
    let name = attribute(attributes, "name").unwrap_or_default();
    let primitive = primitive_of(&name);
    Type {
        id: number(attributes, "id").unwrap_or(-1),
        primitive,
        name,
        super_type: attribute(attributes, "superType").unwrap_or_default(),
        simple: attribute(attributes, "simpleType").is_some(),
        fields: Vec::new(),
        annotations: Vec::new(),
        empty: false,
        varints: None,
    }
}

fn declared_field<'a>(attributes: &Attributes<'a>) -> Field<'a> {
    Field {
        name: attribute(attributes, "name").unwrap_or_default(),
        type_id: number(attributes, "class").unwrap_or(-1),
        type_index: None,
        pooled: attribute(attributes, "constantPool").is_some(),
        array: number(attributes, "dimension").unwrap_or(0) > 0,
        annotations: Vec::new(),
        unit: None,
        shape: Shape::Undeclared,
    }
}

fn attribute<'a>(attributes: &Attributes<'a>, name: &str) -> Option<Cow<'a, str>> {
    let found = attributes.iter().find(|(key, _)| key == name)?;
    Some(found.1.clone())
}

fn number(attributes: &Attributes<'_>, name: &str) -> Option<i64> {
    attribute(attributes, name)?.parse().ok()
}

/// Reads the string table.
pub(crate) fn strings<'a>(
    cursor: &mut Cursor<'a>,
    count: usize,
) -> Result<Vec<Cow<'a, str>>, DecodeError> {
    if count > MAX_STRINGS {
        return Err(DecodeError::CountTooLarge(count as u64));
    }
    let text = |_| {
        Ok(match cursor.text()? {
            RawText::Here(text) => text.to_str(),
            RawText::Null | RawText::Constant(_) => Cow::Borrowed(""),
        })
    };
    (0..count).map(text).collect()
}

/// Marks types whose values take no bytes, so that no count of them costs time.
fn mark_empty(types: &mut Types<'_>) {
    let mut users: Vec<Vec<u32>> = vec![Vec::new(); types.list.len()];
    let mut settled: Vec<u32> = Vec::new();
    for (index, declared) in (0_u32..).zip(&mut types.list) {
        declared.empty = declared.primitive.is_none();
        for field in &declared.fields {
            match field.type_index {
                Some(inner) if !field.pooled && !field.array => {
                    if let Some(users) = users.get_mut(inner as usize) {
                        users.push(index);
                    }
                }
                // Keys and array lengths are bytes; an undeclared type may be.
                _ => declared.empty = false,
            }
        }
        if !declared.empty {
            settled.push(index);
        }
    }
    while let Some(filled) = settled.pop() {
        for &user in users.get(filled as usize).into_iter().flatten() {
            if let Some(declared) = types.list.get_mut(user as usize)
                && declared.empty
            {
                declared.empty = false;
                settled.push(user);
            }
        }
    }
}

/// Marks types that are nothing but a fixed number of integers, the common case of stack frames.
fn mark_varints(types: &mut Types<'_>) {
    let is_varint: Vec<bool> = types
        .list
        .iter()
        .map(|declared| {
            matches!(
                declared.primitive,
                Some(Primitive::Short | Primitive::Char | Primitive::Int | Primitive::Long)
            )
        })
        .collect();
    for declared in &mut types.list {
        if declared.primitive.is_some() {
            continue;
        }
        let all = declared.fields.iter().all(|field| {
            !field.array
                && field.type_index.is_some_and(|inner| {
                    field.pooled || is_varint.get(inner as usize).copied().unwrap_or(false)
                })
        });
        if all {
            declared.varints = u32::try_from(declared.fields.len()).ok();
        }
    }
}
