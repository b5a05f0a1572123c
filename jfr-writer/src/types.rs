//! Which id every type has in our chunks.
//!
//! Ids start at a random base, so that another process's chunk in the same file cannot give a key
//! of ours another meaning: the JDK's readers carry constants from chunk to chunk by type id and key.

use crate::metadata;
use crate::pool::Pool;
use jfr_format::ids::{ANNOTATION_SUPER_TYPE, EVENT_SUPER_TYPE, FILLER_TYPE};
use jfr_format::jvm::{self, AnnotationValue, Layout};
use jfr_format::metadata::{AnnotationDef, FieldDef, Metadata, Region, TypeDef};
use jfr_format::schema::{self, EventSchema, FieldSpec};
use std::collections::HashMap;

/// Bases lie in this range: every id takes four bytes as a varint.
const BASES: std::ops::Range<u64> = (1 << 21)..(1 << 28) - SPAN;

/// Ids that one base may use.
const SPAN: u64 = 4096;

/// The ids of one process, and the metadata event that declares them.
pub(crate) struct Types {
    base: u64,
    pools: [u64; Pool::COUNT],
    events: Vec<(&'static EventSchema, u64)>,
    old_object_sample: u64,
    object_size: bool,
    metadata: Metadata,
}

impl Types {
    /// The types from a base that `seed` chooses; `object_size` as [`crate::Options::object_size`].
    pub(crate) fn new(seed: u64, object_size: bool) -> Self {
        let base = BASES.start + seed % (BASES.end - BASES.start);
        let mut builder = Builder {
            base,
            object_size,
            ids: HashMap::new(),
            types: Vec::new(),
        };
        builder.reserve();
        builder.declare();
        let pools = Pool::ALL.map(|pool| builder.id(pool.type_name()));
        let events = schema::all()
            .iter()
            .map(|schema| (*schema, builder.id(schema.name)))
            .collect();
        let old_object_sample = builder.id(jvm::OLD_OBJECT_SAMPLE.name);
        let metadata = Metadata {
            types: builder.types,
            region: Region::default(),
        };
        Self {
            base,
            pools,
            events,
            old_object_sample,
            object_size,
            metadata,
        }
    }

    /// The type id of a pool.
    pub(crate) fn pool(&self, pool: Pool) -> u64 {
        self.pools.get(pool as usize).copied().unwrap_or(self.base)
    }

    /// The type id of one of our events.
    pub(crate) fn event(&self, schema: &'static EventSchema) -> u64 {
        let found = self
            .events
            .iter()
            .find(|(known, _)| std::ptr::eq(*known, schema) || *known == schema);
        found.map_or(self.filler(), |(_, id)| *id)
    }

    /// The type id of `jdk.OldObjectSample`.
    pub(crate) const fn old_object_sample(&self) -> u64 {
        self.old_object_sample
    }

    /// Whether that has the object's size.
    pub(crate) const fn object_size(&self) -> bool {
        self.object_size
    }

    /// The type id of fillers: declared, as no event, so that readers skip them by their size.
    ///
    /// Undeclared it would do for the JDK, but some readers give up at a type that they do not know.
    pub(crate) const fn filler(&self) -> u64 {
        self.base + SPAN - 1
    }

    /// The metadata event, whole.
    pub(crate) fn metadata_event(&self, start_ticks: i64) -> Vec<u8> {
        metadata::event(&self.metadata, start_ticks)
    }
}

struct Builder {
    base: u64,
    object_size: bool,
    ids: HashMap<&'static str, u64>,
    types: Vec<TypeDef>,
}

impl Builder {
    /// Gives every type its id, in a fixed order.
    fn reserve(&mut self) {
        let layouts = jvm::PRIMITIVES
            .iter()
            .chain(jvm::TYPES)
            .chain([&jvm::OLD_OBJECT_SAMPLE]);
        let names = layouts
            .map(|layout| layout.name)
            .chain(jvm::ANNOTATIONS.iter().map(|(name, _)| *name))
            .chain(schema::all().iter().map(|schema| schema.name));
        for (at, name) in names.enumerate() {
            self.ids.insert(name, self.base + at as u64);
        }
    }

    fn id(&self, name: &str) -> u64 {
        self.ids.get(name).copied().unwrap_or(self.base)
    }

    fn declare(&mut self) {
        for layout in jvm::PRIMITIVES.iter().chain(jvm::TYPES) {
            let declared = self.layout(layout, None);
            self.types.push(declared);
        }
        for (name, value) in jvm::ANNOTATIONS {
            let declared = self.annotation_type(name, *value);
            self.types.push(declared);
        }
        let mut sample = self.layout(&jvm::OLD_OBJECT_SAMPLE, Some(EVENT_SUPER_TYPE));
        if !self.object_size {
            sample.fields.retain(|field| field.name != jvm::OBJECT_SIZE);
        }
        sample
            .annotations
            .push(self.category(&jvm::OLD_OBJECT_SAMPLE_CATEGORY));
        self.types.push(sample);
        self.types.push(TypeDef {
            id: self.base + SPAN - 1,
            name: FILLER_TYPE.to_owned(),
            annotations: vec![self.label("Filler")],
            ..TypeDef::default()
        });
        for schema in schema::all() {
            let declared = self.event(schema);
            self.types.push(declared);
        }
    }

    fn layout(&self, layout: &Layout, super_type: Option<&str>) -> TypeDef {
        let fields = layout.fields.iter().map(|field| {
            let mut annotations = vec![self.label(field.label)];
            annotations.extend(
                field
                    .annotations
                    .iter()
                    .map(|(name, value)| self.annotation(name, value)),
            );
            FieldDef {
                name: field.name.to_owned(),
                type_id: self.id(field.type_name),
                pooled: field.pooled,
                array: field.array,
                annotations,
            }
        });
        TypeDef {
            id: self.id(layout.name),
            name: layout.name.to_owned(),
            super_type: super_type.map(str::to_owned),
            simple: layout.simple,
            fields: fields.collect(),
            annotations: if layout.label.is_empty() {
                Vec::new()
            } else {
                vec![self.label(layout.label)]
            },
            settings: Vec::new(),
        }
    }

    fn annotation_type(&self, name: &str, value: AnnotationValue) -> TypeDef {
        let value_field = FieldDef {
            name: "value".to_owned(),
            type_id: self.id("java.lang.String"),
            array: value == AnnotationValue::Array,
            ..FieldDef::default()
        };
        TypeDef {
            id: self.id(name),
            name: name.to_owned(),
            super_type: Some(ANNOTATION_SUPER_TYPE.to_owned()),
            fields: if value == AnnotationValue::None {
                Vec::new()
            } else {
                vec![value_field]
            },
            annotations: if jvm::UNITS.contains(&name) {
                vec![self.annotation(jvm::CONTENT_TYPE, "")]
            } else {
                Vec::new()
            },
            ..TypeDef::default()
        }
    }

    fn event(&self, schema: &EventSchema) -> TypeDef {
        let start = &jvm::START_TIME;
        let mut start_annotations = vec![self.label(start.label)];
        start_annotations.extend(
            start
                .annotations
                .iter()
                .map(|(name, value)| self.annotation(name, value)),
        );
        let mut fields = vec![FieldDef {
            name: start.name.to_owned(),
            type_id: self.id(start.type_name),
            annotations: start_annotations,
            ..FieldDef::default()
        }];
        fields.extend(schema.fields.iter().map(|field| self.field(field)));
        TypeDef {
            id: self.id(schema.name),
            name: schema.name.to_owned(),
            super_type: Some(EVENT_SUPER_TYPE.to_owned()),
            fields,
            annotations: vec![
                self.category(&schema::CATEGORY),
                self.label(schema.label),
                self.annotation("jdk.jfr.Description", schema.description),
            ],
            ..TypeDef::default()
        }
    }

    fn field(&self, field: &FieldSpec) -> FieldDef {
        let mut annotations = vec![
            self.label(field.label),
            self.annotation("jdk.jfr.Description", field.description),
        ];
        if let Some((name, value)) = field.kind.unit() {
            annotations.push(self.annotation(name, value));
        }
        FieldDef {
            name: field.name.to_owned(),
            type_id: self.id(field.kind.type_name()),
            pooled: field.kind.is_pooled(),
            array: false,
            annotations,
        }
    }

    fn label(&self, label: &str) -> AnnotationDef {
        self.annotation("jdk.jfr.Label", label)
    }

    fn annotation(&self, name: &str, value: &str) -> AnnotationDef {
        let values = if value.is_empty() {
            Vec::new()
        } else {
            vec![("value".to_owned(), value.to_owned())]
        };
        AnnotationDef {
            type_id: self.id(name),
            values,
        }
    }

    fn category(&self, names: &[&str]) -> AnnotationDef {
        let values = names
            .iter()
            .enumerate()
            .map(|(at, name)| (format!("value-{at}"), (*name).to_owned()));
        AnnotationDef {
            type_id: self.id("jdk.jfr.Category"),
            values: values.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_id_is_unique_and_below_two_to_the_28() {
        for seed in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
            let types = Types::new(seed, true);
            let ids: HashSet<u64> = types.metadata.types.iter().map(|t| t.id).collect();
            assert_eq!(ids.len(), types.metadata.types.len());
            assert!(ids.iter().all(|id| (1 << 21..1 << 28).contains(id)));
            assert!(ids.contains(&types.filler()) && types.filler() < 1 << 28);
        }
    }

    #[test]
    fn every_type_that_is_referred_to_is_declared() {
        let types = Types::new(7, true);
        let ids: HashSet<u64> = types.metadata.types.iter().map(|t| t.id).collect();
        for declared in &types.metadata.types {
            let annotations = declared
                .annotations
                .iter()
                .chain(declared.fields.iter().flat_map(|f| &f.annotations));
            assert!(
                annotations.map(|a| a.type_id).all(|id| ids.contains(&id)),
                "{}",
                declared.name
            );
            assert!(
                declared.fields.iter().all(|f| ids.contains(&f.type_id)),
                "{}",
                declared.name
            );
        }
    }

    #[test]
    fn our_events_hold_neither_arrays_nor_structs() {
        let types = Types::new(7, true);
        for declared in types
            .metadata
            .types
            .iter()
            .filter(|t| t.is_event() && t.name.starts_with(schema::NAMESPACE))
        {
            assert_eq!(declared.fields[0].name, "startTime");
            for field in &declared.fields {
                let of = types
                    .metadata
                    .types
                    .iter()
                    .find(|t| t.id == field.type_id)
                    .unwrap();
                assert!(
                    !field.array && (field.pooled || of.fields.is_empty()),
                    "{}.{}",
                    declared.name,
                    field.name
                );
            }
        }
    }
}
