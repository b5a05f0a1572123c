//! The types that a chunk declares.

use std::borrow::Cow;
use std::sync::OnceLock;

use jfr_format::ids::EVENT_SUPER_TYPE;
use rustc_hash::FxHashMap;

use super::plain::PlainIds;

/// The super type of event types in chunks of version 1.x.
const OLD_EVENT_SUPER_TYPE: &str = "com.oracle.jfr.Event";

/// Every type of one chunk, as its metadata declares them.
#[derive(Debug, Default)]
pub struct Types<'a> {
    pub(crate) list: Vec<Type<'a>>,
    pub(crate) by_id: FxHashMap<i64, u32>,
    /// The event types among `by_id`.
    pub(crate) event_ids: FxHashMap<i64, u32>,
    /// The same for the small ids that most types have: the index plus one, 0 for none.
    pub(crate) small_event_ids: Vec<u32>,
    /// The same for heads of events, made when a chunk is long enough.
    pub(crate) plain_ids: OnceLock<PlainIds>,
    /// Index of `java.lang.String`, whose pool the string encoding 2 points into.
    pub(crate) string: Option<u32>,
    pub(crate) gmt_offset_millis: i64,
}

/// One declared type: a primitive, a structure, an event or an annotation.
#[derive(Debug)]
pub struct Type<'a> {
    pub(crate) id: i64,
    pub(crate) name: Cow<'a, str>,
    pub(crate) super_type: Cow<'a, str>,
    pub(crate) simple: bool,
    pub(crate) fields: Vec<Field<'a>>,
    pub(crate) annotations: Vec<Annotation<'a>>,
    pub(crate) primitive: Option<Primitive>,
    /// No value of this type takes a byte: it has no fields, or none that end in a primitive.
    pub(crate) empty: bool,
    /// All fields are integers of variable length or pool keys: this many.
    pub(crate) varints: Option<u32>,
}

/// One field of a type.
#[derive(Debug)]
pub struct Field<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) type_id: i64,
    /// Index into [`Types::list`]; `None` when the type is not declared.
    pub(crate) type_index: Option<u32>,
    pub(crate) pooled: bool,
    pub(crate) array: bool,
    pub(crate) annotations: Vec<Annotation<'a>>,
    pub(crate) unit: Option<Unit>,
    /// How one element lies in the bytes.
    pub(crate) shape: Shape,
}

/// How one element of a field lies in the bytes; the numbers index [`Types::list`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Its type is not declared: nothing behind it can be read.
    Undeclared,
    /// A key in the pool of this type.
    Key(u32),
    /// The value itself.
    Primitive(Primitive),
    /// The fields of this type.
    Struct(u32),
}

/// An annotation of a type or field, such as `jdk.jfr.Label`.
#[derive(Debug)]
pub struct Annotation<'a> {
    pub(crate) type_id: i64,
    pub(crate) name: Cow<'a, str>,
    pub(crate) values: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

/// The types that have no fields but bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "named after the Java types")]
pub enum Primitive {
    Boolean,
    Byte,
    Short,
    Char,
    Int,
    Long,
    Float,
    Double,
    String,
}

/// What a number means, from the field's annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// A moment in ticks of the chunk's clock.
    EpochTicks,
    /// A moment in milliseconds since 1970.
    EpochMillis,
    /// A length of time in ticks of the chunk's clock.
    SpanTicks,
    /// A length of time in nanoseconds.
    SpanNanos,
    /// A length of time in microseconds.
    SpanMicros,
    /// A length of time in milliseconds.
    SpanMillis,
    /// A length of time in seconds.
    SpanSeconds,
    /// Bytes.
    Bytes,
    /// Bits.
    Bits,
    /// A share, 0 to 1.
    Percentage,
    /// An address in the process.
    MemoryAddress,
    /// Events per second.
    Frequency,
}

impl<'a> Types<'a> {
    /// All types, in the order of the metadata.
    pub fn iter(&self) -> impl Iterator<Item = &Type<'a>> {
        self.list.iter()
    }

    /// The type with this id.
    pub fn by_id(&self, id: i64) -> Option<&Type<'a>> {
        self.at(*self.by_id.get(&id)?)
    }

    /// The first type with this name, such as `jdk.GCHeapSummary`.
    pub fn by_name(&self, name: &str) -> Option<&Type<'a>> {
        self.list.iter().find(|declared| declared.name == name)
    }

    /// The event types.
    pub fn events(&self) -> impl Iterator<Item = &Type<'a>> {
        self.list.iter().filter(|declared| declared.is_event())
    }

    pub(crate) fn plain_ids(&self) -> &PlainIds {
        let events = || self.event_ids.iter().map(|(&id, &index)| (id, index));
        self.plain_ids.get_or_init(|| PlainIds::new(events()))
    }

    /// The index of the event type with this id.
    #[inline]
    pub(crate) fn event_index(&self, id: i64) -> Option<u32> {
        match usize::try_from(id) {
            Ok(small) if small < self.small_event_ids.len() => {
                self.small_event_ids.get(small)?.checked_sub(1)
            }
            _ => self.event_ids.get(&id).copied(),
        }
    }

    pub(crate) fn at(&self, index: u32) -> Option<&Type<'a>> {
        self.list.get(index as usize)
    }
}

impl<'a> Type<'a> {
    /// The id that events and pools of this chunk use; another chunk may use another.
    pub fn id(&self) -> i64 {
        self.id
    }

    /// The full name, such as `jdk.types.StackFrame`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of the type it extends, empty for most.
    pub fn super_type(&self) -> &str {
        &self.super_type
    }

    /// Which primitive it is; `None` for structures.
    pub fn primitive(&self) -> Option<Primitive> {
        self.primitive
    }

    /// Whether events have this type.
    pub fn is_event(&self) -> bool {
        self.super_type == EVENT_SUPER_TYPE || self.super_type == OLD_EVENT_SUPER_TYPE
    }

    /// The fields, in the order of the bytes.
    pub fn fields(&self) -> &[Field<'a>] {
        &self.fields
    }

    /// The position of the field with this name, for [`Struct::at`](super::Struct::at).
    pub fn position(&self, field: &str) -> Option<usize> {
        self.fields.iter().position(|known| known.name == field)
    }

    /// The annotations of the type.
    pub fn annotations(&self) -> &[Annotation<'a>] {
        &self.annotations
    }

    /// The `jdk.jfr.Label`, for people.
    pub fn label(&self) -> Option<&str> {
        label(&self.annotations)
    }
}

impl<'a> Field<'a> {
    /// The field's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The declared type's id.
    pub fn type_id(&self) -> i64 {
        self.type_id
    }

    /// Whether the bytes hold a key into a constant pool.
    pub fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// Whether the field is an array.
    pub fn is_array(&self) -> bool {
        self.array
    }

    /// The annotations of the field.
    pub fn annotations(&self) -> &[Annotation<'a>] {
        &self.annotations
    }

    /// What the number means, where an annotation says so.
    pub fn unit(&self) -> Option<Unit> {
        self.unit
    }

    /// The `jdk.jfr.Label`, for people.
    pub fn label(&self) -> Option<&str> {
        label(&self.annotations)
    }
}

impl<'a> Annotation<'a> {
    /// The annotation type's name, empty when it is not declared.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names and values as the metadata spells them; arrays are `value-0`, `value-1`, ...
    pub fn values(&self) -> &[(Cow<'a, str>, Cow<'a, str>)] {
        &self.values
    }

    /// The value with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.values.iter().find(|(key, _)| key == name)?;
        Some(&found.1)
    }
}

fn label<'t>(annotations: &'t [Annotation<'_>]) -> Option<&'t str> {
    annotations
        .iter()
        .find(|annotation| short_name(&annotation.name) == "Label")?
        .get("value")
}

/// The last part of a dotted name: annotations moved from `com.oracle.jfr` to `jdk.jfr`.
fn short_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

pub(crate) fn primitive_of(name: &str) -> Option<Primitive> {
    Some(match name {
        "boolean" => Primitive::Boolean,
        "byte" => Primitive::Byte,
        "short" => Primitive::Short,
        "char" => Primitive::Char,
        "int" => Primitive::Int,
        "long" => Primitive::Long,
        "float" => Primitive::Float,
        "double" => Primitive::Double,
        "java.lang.String" => Primitive::String,
        _ => return None,
    })
}

pub(crate) fn unit_of(annotations: &[Annotation<'_>]) -> Option<Unit> {
    annotations.iter().find_map(|annotation| {
        let value = annotation.get("value").unwrap_or("");
        Some(match (short_name(&annotation.name), value) {
            ("Timestamp", "TICKS") => Unit::EpochTicks,
            ("Timestamp", "MILLISECONDS_SINCE_EPOCH") => Unit::EpochMillis,
            ("Timespan", "TICKS") => Unit::SpanTicks,
            ("Timespan", "NANOSECONDS") => Unit::SpanNanos,
            ("Timespan", "MICROSECONDS") => Unit::SpanMicros,
            ("Timespan", "MILLISECONDS") => Unit::SpanMillis,
            ("Timespan", "SECONDS") => Unit::SpanSeconds,
            ("DataAmount", "BITS") => Unit::Bits,
            ("DataAmount", _) => Unit::Bytes,
            ("Percentage", _) => Unit::Percentage,
            ("MemoryAddress", _) => Unit::MemoryAddress,
            ("Frequency", _) => Unit::Frequency,
            _ => return None,
        })
    })
}
