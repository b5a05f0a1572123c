//! Chunks made by hand for tests of other producers' events: any types, any pools.

use jfr_format::header::{Header, LEN, offset};
use jfr_format::{string, varint};

/// One element of the metadata tree.
struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Element>,
}

/// A declared type: id, name, whether it is an event, and its fields.
pub struct TypeOf {
    pub id: u64,
    pub name: &'static str,
    pub event: bool,
    pub fields: &'static [FieldOf],
}

/// A pool: type id, and constants by key.
pub type PoolOf = (u64, Vec<(u64, Vec<u8>)>);

/// A field: name, type id, pooled, array.
pub type FieldOf = (&'static str, u64, bool, bool);

/// The bytes of a recording of one chunk that starts at `start` (ns) and counts ns ticks from 0.
///
/// `pools` are (type id, constants), `events` whole events without their sizes: type id first.
pub fn recording(start: i64, types: &[TypeOf], pools: &[PoolOf], events: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![0; LEN];
    for event in events {
        put_event(&mut out, event);
    }
    let checkpoint = out.len();
    put_event(&mut out, &checkpoint_body(pools));
    let metadata = out.len();
    put_event(&mut out, &metadata_body(types));
    let size = out.len();
    let mut header = [0; LEN];
    header[..4].copy_from_slice(&jfr_format::header::MAGIC);
    header[offset::MAJOR..][..2].copy_from_slice(&2_u16.to_be_bytes());
    header[offset::MINOR..][..2].copy_from_slice(&1_u16.to_be_bytes());
    let mut put = |at: usize, value: i64| header[at..][..8].copy_from_slice(&value.to_be_bytes());
    put(offset::SIZE, i64::try_from(size).unwrap());
    put(offset::CHECKPOINT, i64::try_from(checkpoint).unwrap());
    put(offset::METADATA, i64::try_from(metadata).unwrap());
    put(offset::START_NANOS, start);
    put(offset::DURATION_NANOS, 60_000_000_000);
    put(offset::TICKS_PER_SECOND, 1_000_000_000);
    header[offset::FLAGS..][..2].copy_from_slice(&3_u16.to_be_bytes());
    assert!(Header::parse(&header).is_ok());
    out[..LEN].copy_from_slice(&header);
    out
}

/// A field's bytes.
pub fn number(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    varint::put_u64(&mut out, value);
    out
}

/// A string's bytes.
pub fn text(value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    string::put(&mut out, Some(value));
    out
}

/// An array's bytes.
pub fn array(elements: &[Vec<u8>]) -> Vec<u8> {
    let mut out = number(elements.len() as u64);
    out.extend(elements.concat());
    out
}

fn put_event(out: &mut Vec<u8>, body: &[u8]) {
    let size = varint::padded::<4>(body.len() as u64 + 4).unwrap();
    out.extend(size);
    out.extend(body);
}

fn checkpoint_body(pools: &[PoolOf]) -> Vec<u8> {
    let mut out = [1, 0, 0, 0, 0].map(number).concat();
    out.extend(number(pools.len() as u64));
    for (type_id, constants) in pools {
        out.extend(number(*type_id));
        out.extend(number(constants.len() as u64));
        for (key, value) in constants {
            out.extend(number(*key));
            out.extend(value);
        }
    }
    out
}

fn metadata_body(types: &[TypeOf]) -> Vec<u8> {
    let classes = types.iter().map(class).collect();
    let node = |name, children| Element {
        name,
        attributes: Vec::new(),
        children,
    };
    let root = node(
        "root",
        vec![node("metadata", classes), node("region", Vec::new())],
    );
    let mut strings = Vec::new();
    let mut tree = Vec::new();
    put_element(&root, &mut strings, &mut tree);
    let mut out = [0, 0, 0, 1].map(number).concat();
    out.extend(number(strings.len() as u64));
    for value in &strings {
        out.extend(text(value));
    }
    out.extend(tree);
    out
}

fn class(declared: &TypeOf) -> Element {
    let mut attributes = vec![
        ("id", declared.id.to_string()),
        ("name", declared.name.to_owned()),
    ];
    if declared.event {
        attributes.push(("superType", "jdk.jfr.Event".to_owned()));
    }
    let fields = declared
        .fields
        .iter()
        .map(|(name, type_id, pooled, array)| {
            let mut attributes = vec![("name", (*name).to_owned()), ("class", type_id.to_string())];
            if *pooled {
                attributes.push(("constantPool", "true".to_owned()));
            }
            if *array {
                attributes.push(("dimension", "1".to_owned()));
            }
            Element {
                name: "field",
                attributes,
                children: Vec::new(),
            }
        });
    Element {
        name: "class",
        attributes,
        children: fields.collect(),
    }
}

fn put_element(element: &Element, strings: &mut Vec<String>, out: &mut Vec<u8>) {
    let mut index = |value: &str| {
        let known = strings.iter().position(|s| s == value);
        let at = known.unwrap_or_else(|| {
            strings.push(value.to_owned());
            strings.len() - 1
        });
        number(at as u64)
    };
    out.extend(index(element.name));
    out.extend(number(element.attributes.len() as u64));
    for (key, value) in &element.attributes {
        out.extend(index(key));
        out.extend(index(value));
    }
    out.extend(number(element.children.len() as u64));
    for child in &element.children {
        put_element(child, strings, out);
    }
}
