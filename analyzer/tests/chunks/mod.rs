//! Chunks made byte by byte, for rules that no real recording shows on purpose.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use jfr_chains_analyzer::reader::Recording;
use jfr_format::header::{self, Header, State};
use jfr_format::{string, varint};

pub const INT: i64 = 10;
pub const LONG: i64 = 11;
pub const STRING: i64 = 12;
pub const BOOLEAN: i64 = 13;
pub const BYTE: i64 = 14;
pub const CHAR: i64 = 15;
pub const SHORT: i64 = 16;
pub const FLOAT: i64 = 17;
pub const DOUBLE: i64 = 18;
pub const TIMESTAMP: i64 = 19;

/// Seconds since 1970 that chunks start at unless they say otherwise.
pub const START_NANOS: i64 = 1_700_000_000_000_000_000;

/// A field: name, type, and whether it is a key and an array.
pub type FieldSpec = (&'static str, i64, bool, bool);

/// A plain field.
pub fn field(name: &'static str, type_id: i64) -> FieldSpec {
    (name, type_id, false, false)
}

/// A field that holds a key.
pub fn pooled(name: &'static str, type_id: i64) -> FieldSpec {
    (name, type_id, true, false)
}

/// An array field.
pub fn array(name: &'static str, type_id: i64) -> FieldSpec {
    (name, type_id, false, true)
}

/// The fields of a value, encoded one after the other.
#[derive(Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn long(mut self, value: i64) -> Self {
        varint::put_i64(&mut self.0, value);
        self
    }

    pub fn int(mut self, value: i32) -> Self {
        varint::put_i32(&mut self.0, value);
        self
    }

    pub fn text(mut self, value: &str) -> Self {
        string::put(&mut self.0, Some(value));
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

struct TypeSpec {
    id: i64,
    name: String,
    super_type: &'static str,
    simple: bool,
    fields: Vec<FieldSpec>,
}

/// A chunk in the making: types first, then events and checkpoints in their order.
pub struct ChunkSpec {
    types: Vec<TypeSpec>,
    body: Vec<u8>,
    last_checkpoint: usize,
    metadata_at: usize,
    pub header: Header,
    pub event_super: &'static str,
    /// Strings of the metadata as arrays of characters.
    pub char_strings: bool,
}

impl ChunkSpec {
    /// With the primitives declared.
    pub fn new() -> Self {
        let mut chunk = Self {
            types: Vec::new(),
            body: Vec::new(),
            last_checkpoint: 0,
            metadata_at: 0,
            header: Header {
                major: 2,
                minor: 1,
                size: 0,
                checkpoint: 0,
                metadata: 0,
                start_nanos: START_NANOS,
                duration_nanos: 1_000_000_000,
                start_ticks: 1_000,
                ticks_per_second: 1_000_000_000,
                state: State::Finished,
                flags: header::flag::COMPRESSED_INTS,
            },
            event_super: "jdk.jfr.Event",
            char_strings: false,
        };
        for (id, name) in [
            (INT, "int"),
            (LONG, "long"),
            (STRING, "java.lang.String"),
            (BOOLEAN, "boolean"),
            (BYTE, "byte"),
            (CHAR, "char"),
            (SHORT, "short"),
            (FLOAT, "float"),
            (DOUBLE, "double"),
        ] {
            chunk = chunk.class(id, name, &[]);
        }
        let timestamp = [field("value", STRING)];
        chunk.types.push(TypeSpec {
            id: TIMESTAMP,
            name: "jdk.jfr.Timestamp".to_owned(),
            super_type: "java.lang.annotation.Annotation",
            simple: false,
            fields: timestamp.to_vec(),
        });
        chunk
    }

    /// Declares a structure.
    pub fn class(mut self, id: i64, name: &str, fields: &[FieldSpec]) -> Self {
        self.types.push(TypeSpec {
            id,
            name: name.to_owned(),
            super_type: "",
            simple: false,
            fields: fields.to_vec(),
        });
        self
    }

    /// Declares a structure that stands for its only field.
    pub fn simple(mut self, id: i64, name: &str, only: FieldSpec) -> Self {
        self = self.class(id, name, &[only]);
        self.types.last_mut().unwrap().simple = true;
        self
    }

    /// Declares an event type; `startTime` comes by itself.
    pub fn event_type(mut self, id: i64, name: &str, fields: &[FieldSpec]) -> Self {
        let mut all = vec![field("startTime", LONG)];
        all.extend_from_slice(fields);
        let super_type = self.event_super;
        self.types.push(TypeSpec {
            id,
            name: name.to_owned(),
            super_type,
            simple: false,
            fields: all,
        });
        self
    }

    /// Appends an event that starts `ticks` after the chunk.
    pub fn event(self, type_id: i64, ticks: i64, fields: Bytes) -> Self {
        let start = self.header.start_ticks + ticks;
        let body = Bytes::new().long(start).raw(&fields.0);
        self.raw_event(type_id, &body.0)
    }

    /// Appends an event whose fields are these bytes.
    pub fn raw_event(mut self, type_id: i64, body: &[u8]) -> Self {
        self.body.extend(encode_event(type_id, body));
        self
    }

    /// Appends bytes that need not be an event.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.body.extend_from_slice(bytes);
        self
    }

    /// Where the next event will start.
    pub fn at(&self) -> usize {
        header::LEN + self.body.len()
    }

    /// Appends a checkpoint of pools.
    pub fn checkpoint(mut self, pools: &[(i64, &[(i64, Bytes)])]) -> Self {
        let at = self.at();
        let delta = if self.last_checkpoint == 0 {
            0
        } else {
            i64::try_from(self.last_checkpoint).unwrap() - i64::try_from(at).unwrap()
        };
        let mut body = Bytes::new()
            .long(self.header.start_ticks)
            .long(0)
            .long(delta)
            .raw(&[0]);
        body = body.long(i64::try_from(pools.len()).unwrap());
        for (type_id, entries) in pools {
            body = body
                .long(*type_id)
                .long(i64::try_from(entries.len()).unwrap());
            for (key, value) in *entries {
                body = body.long(*key).raw(&value.0);
            }
        }
        self.last_checkpoint = at;
        self.raw_event(1, &body.0)
    }

    /// Appends a metadata event of the types declared so far.
    pub fn metadata(mut self) -> Self {
        self.metadata_at = self.at();
        let body = self.encode_metadata();
        self.raw_event(0, &body)
    }

    /// The whole chunk, with a metadata event at its end if there is none yet.
    pub fn build(self) -> Vec<u8> {
        self.build_with(|_| {})
    }

    /// The whole chunk, its header changed by `change` last.
    pub fn build_with(mut self, change: impl FnOnce(&mut Header)) -> Vec<u8> {
        if self.metadata_at == 0 {
            self = self.metadata();
        }
        self.header.size = i64::try_from(self.at()).unwrap();
        self.header.checkpoint = i64::try_from(self.last_checkpoint).unwrap();
        self.header.metadata = i64::try_from(self.metadata_at).unwrap();
        change(&mut self.header);
        let mut bytes = self.header.to_bytes().to_vec();
        bytes.extend(self.body);
        bytes
    }

    fn encode_metadata(&self) -> Vec<u8> {
        let mut strings = Vec::new();
        let mut tree = Vec::new();
        open(&mut tree, &mut strings, "root", &[], 2);
        open(&mut tree, &mut strings, "metadata", &[], self.types.len());
        for declared in &self.types {
            let id = declared.id.to_string();
            let mut attributes = vec![("name", declared.name.as_str()), ("id", &id)];
            if !declared.super_type.is_empty() {
                attributes.push(("superType", declared.super_type));
            }
            if declared.simple {
                attributes.push(("simpleType", "true"));
            }
            open(
                &mut tree,
                &mut strings,
                "class",
                &attributes,
                declared.fields.len(),
            );
            for (name, type_id, pooled, array) in &declared.fields {
                let class = type_id.to_string();
                let mut attributes = vec![("name", *name), ("class", class.as_str())];
                if *pooled {
                    attributes.push(("constantPool", "true"));
                }
                if *array {
                    attributes.push(("dimension", "1"));
                }
                let timestamp = *name == "startTime";
                open(
                    &mut tree,
                    &mut strings,
                    "field",
                    &attributes,
                    usize::from(timestamp),
                );
                if timestamp {
                    let class = TIMESTAMP.to_string();
                    let attributes = [("class", class.as_str()), ("value", "TICKS")];
                    open(&mut tree, &mut strings, "annotation", &attributes, 0);
                }
            }
        }
        let region = [("locale", "en"), ("gmtOffset", "3600000"), ("dst", "0")];
        open(&mut tree, &mut strings, "region", &region, 0);
        let mut body = Bytes::new().long(self.header.start_ticks).long(0).long(1);
        body = body.long(i64::try_from(strings.len()).unwrap());
        for text in &strings {
            body = if self.char_strings && !text.is_empty() {
                let units: Vec<u16> = text.encode_utf16().collect();
                let body = body.raw(&[4]).long(i64::try_from(units.len()).unwrap());
                units
                    .iter()
                    .fold(body, |body, unit| body.long(i64::from(*unit)))
            } else {
                body.text(text)
            };
        }
        body.raw(&tree).0
    }
}

fn open(
    tree: &mut Vec<u8>,
    strings: &mut Vec<String>,
    name: &str,
    attributes: &[(&str, &str)],
    children: usize,
) {
    let mut put = |tree: &mut Vec<u8>, text: &str| {
        let index = strings
            .iter()
            .position(|known| known == text)
            .unwrap_or_else(|| {
                strings.push(text.to_owned());
                strings.len() - 1
            });
        varint::put_u64(tree, index as u64);
    };
    put(tree, name);
    varint::put_u64(tree, attributes.len() as u64);
    for (key, value) in attributes {
        put(tree, key);
        put(tree, value);
    }
    varint::put_u64(tree, children as u64);
}

/// An event with its size in front, padded to four bytes.
pub fn encode_event(type_id: i64, body: &[u8]) -> Vec<u8> {
    let rest = Bytes::new().long(type_id).raw(body).0;
    let size = varint::padded::<4>(rest.len() as u64 + 4).unwrap();
    let mut bytes = size.to_vec();
    bytes.extend(rest);
    bytes
}

/// Opens bytes that must open.
pub fn open_bytes(bytes: impl Into<Vec<u8>>) -> Recording {
    Recording::from_bytes("made.jfr", bytes.into()).unwrap()
}

/// One value of every event, shown: `field` of each in the order of the file.
pub fn shown(recording: &Recording, field: &str) -> Vec<String> {
    let mut shown = Vec::new();
    for chunk in recording.chunks() {
        for event in chunk.events() {
            shown.push(format!("{:?}", event.get(field)));
        }
    }
    shown
}

/// Everything that was skipped, as sentences.
pub fn skipped(recording: &Recording) -> Vec<String> {
    let mut all: Vec<String> = recording
        .skipped()
        .iter()
        .map(ToString::to_string)
        .collect();
    for chunk in recording.chunks() {
        chunk.constant_count();
        all.extend(chunk.skipped().map(ToString::to_string));
    }
    all
}
