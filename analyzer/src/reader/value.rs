//! Values, decoded when asked for.

use jfr_format::varint;

use super::chunk::Chunk;
use super::clock::{EpochNanos, Nanos};
use super::cursor::{Cursor, RawText};
use super::error::DecodeError;
use super::skip::{skip_element, skip_field};
use super::text::Text;
use super::types::{Field, Primitive, Shape, Type, Unit};

/// String constants that point at string constants; real ones do not.
const MAX_TEXT_HOPS: u32 = 8;

/// One value. Structures, arrays and strings are borrowed and read no further than asked.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[allow(missing_docs, reason = "named after the Java types")]
pub enum Value<'c> {
    /// A null, or a constant whose key the chunk's pools do not have.
    Null,
    Boolean(bool),
    Byte(i8),
    Short(i16),
    /// A UTF-16 code unit.
    Char(u16),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Text(Text<'c>),
    Struct(Struct<'c>),
    Array(Array<'c>),
}

impl<'c> Value<'c> {
    /// Any integer as 64 bits, a boolean as 0 or 1.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::Boolean(value) => Some(i64::from(value)),
            Value::Byte(value) => Some(i64::from(value)),
            Value::Short(value) => Some(i64::from(value)),
            Value::Char(value) => Some(i64::from(value)),
            Value::Int(value) => Some(i64::from(value)),
            Value::Long(value) => Some(value),
            _ => None,
        }
    }

    /// Any number as a double.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Value::Float(value) => Some(f64::from(value)),
            Value::Double(value) => Some(value),
            #[allow(clippy::cast_precision_loss, reason = "the caller asked for a double")]
            _ => self.as_i64().map(|value| value as f64),
        }
    }

    /// A boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Value::Boolean(value) => Some(value),
            _ => None,
        }
    }

    /// A string.
    pub fn as_text(&self) -> Option<Text<'c>> {
        match *self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A structure, such as a thread, a class or a stack trace.
    pub fn as_struct(&self) -> Option<Struct<'c>> {
        match *self {
            Value::Struct(value) => Some(value),
            _ => None,
        }
    }

    /// An array.
    pub fn as_array(&self) -> Option<Array<'c>> {
        match *self {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }

    /// Whether this is [`Value::Null`].
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }
}

/// A structure lying in the chunk: an event's fields, an inline structure or a constant.
#[derive(Clone, Copy)]
pub struct Struct<'c> {
    chunk: &'c Chunk<'c>,
    declared: &'c Type<'c>,
    /// Offset of the first field in the chunk.
    at: usize,
    /// No field reaches past this offset.
    end: usize,
    /// The constant's key, when it came from a pool.
    key: Option<i64>,
}

impl std::fmt::Debug for Struct<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Constants may refer to each other in a circle: show where, not what.
        write!(f, "{} at {}", self.declared.name, self.at)
    }
}

impl<'c> Struct<'c> {
    pub(crate) fn new(
        chunk: &'c Chunk<'c>,
        declared: &'c Type<'c>,
        at: usize,
        end: usize,
        key: Option<i64>,
    ) -> Self {
        Self {
            chunk,
            declared,
            at,
            end,
            key,
        }
    }

    /// The declared type.
    pub fn ty(&self) -> &'c Type<'c> {
        self.declared
    }

    /// The chunk it lies in.
    pub fn chunk(&self) -> &'c Chunk<'c> {
        self.chunk
    }

    /// The key in its constant pool; `None` for events and inline structures.
    ///
    /// Two constants of one chunk and type with the same key are the same constant.
    pub fn key(&self) -> Option<i64> {
        self.key
    }

    /// The field of this name; `None` when there is no such field or its bytes are damaged.
    ///
    /// `"a.b"` reads field `b` of the structure in field `a`.
    pub fn get(&self, name: &str) -> Option<Value<'c>> {
        if let Some(position) = self.declared.position(name) {
            return self.at(position).ok();
        }
        let (outer, inner) = name.split_once('.')?;
        self.get(outer)?.as_struct()?.get(inner)
    }

    /// The field at this position of [`Type::fields`].
    ///
    /// Errs when the bytes are damaged; a position past the last field reads as null.
    pub fn at(&self, position: usize) -> Result<Value<'c>, DecodeError> {
        let mut cursor = self.cursor();
        for (index, field) in self.declared.fields.iter().enumerate() {
            if index == position {
                return self.read(field, &mut cursor);
            }
            skip_field(&self.chunk.types, field, &mut cursor)?;
        }
        Ok(Value::Null)
    }

    /// The raw key of a pooled field, whether its constant exists or not.
    pub fn key_at(&self, position: usize) -> Option<i64> {
        let mut cursor = self.cursor();
        for (index, field) in self.declared.fields.iter().enumerate() {
            if index == position {
                return (field.pooled && !field.array)
                    .then(|| cursor.long().ok())
                    .flatten();
            }
            skip_field(&self.chunk.types, field, &mut cursor).ok()?;
        }
        None
    }

    /// All fields in order, each decoded once; after a damaged field there are no more.
    #[inline]
    pub fn fields(&self) -> Fields<'c> {
        Fields {
            of: *self,
            fields: self.declared.fields.iter(),
            cursor: self.cursor(),
        }
    }

    /// The same without looking constants up: for passes that need few of them, or each once.
    ///
    /// ```
    /// use jfr_chains_analyzer::reader::{Chunk, Raw};
    /// use std::collections::HashSet;
    ///
    /// /// How many different stack traces a chunk's events have.
    /// fn stacks(chunk: &Chunk<'_>) -> usize {
    ///     let mut keys = HashSet::new();
    ///     for event in chunk.events() {
    ///         for (field, value) in event.raw_fields() {
    ///             if let ("stackTrace", Ok(Raw::Key(key))) = (field.name(), value) {
    ///                 keys.insert(key.key());
    ///             }
    ///         }
    ///     }
    ///     keys.len()
    /// }
    /// ```
    #[inline]
    pub fn raw_fields(&self) -> RawFields<'c> {
        RawFields {
            of: *self,
            fields: self.declared.fields.iter(),
            cursor: self.cursor(),
        }
    }

    /// An integer field as 64 bits.
    pub fn i64(&self, name: &str) -> Option<i64> {
        self.get(name)?.as_i64()
    }

    /// A number field as a double.
    pub fn f64(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }

    /// A boolean field.
    pub fn bool(&self, name: &str) -> Option<bool> {
        self.get(name)?.as_bool()
    }

    /// A string field, or a constant that is nothing but a string, such as a GC's cause.
    pub fn text(&self, name: &str) -> Option<Text<'c>> {
        let value = self.get(name)?;
        match value {
            Value::Struct(inner) if inner.declared.fields.len() == 1 => inner.at(0).ok()?.as_text(),
            _ => value.as_text(),
        }
    }

    /// A structure field.
    pub fn get_struct(&self, name: &str) -> Option<Struct<'c>> {
        self.get(name)?.as_struct()
    }

    /// A field annotated as a moment, in epoch time.
    pub fn time(&self, name: &str) -> Option<EpochNanos> {
        let (raw, unit) = self.with_unit(name)?;
        self.chunk.clock().timestamp(raw, unit)
    }

    /// A field annotated as a length of time.
    pub fn span(&self, name: &str) -> Option<Nanos> {
        let (raw, unit) = self.with_unit(name)?;
        self.chunk.clock().timespan(raw, unit)
    }

    fn with_unit(&self, name: &str) -> Option<(i64, Unit)> {
        let position = self.declared.position(name)?;
        let unit = self.declared.fields.get(position)?.unit?;
        Some((self.at(position).ok()?.as_i64()?, unit))
    }

    pub(crate) fn bytes(&self) -> &'c [u8] {
        self.chunk.bytes().get(self.at..self.end).unwrap_or(&[])
    }

    #[inline]
    fn cursor(&self) -> Cursor<'c> {
        Cursor::within(self.chunk.bytes(), self.at, self.end)
    }

    #[inline]
    fn read(
        &self,
        field: &'c Field<'c>,
        cursor: &mut Cursor<'c>,
    ) -> Result<Value<'c>, DecodeError> {
        if field.array {
            return self.read_array(field, cursor).map(Value::Array);
        }
        read_element(self.chunk, field, cursor)
    }

    fn read_array(
        &self,
        field: &'c Field<'c>,
        cursor: &mut Cursor<'c>,
    ) -> Result<Array<'c>, DecodeError> {
        let mut ahead = *cursor;
        let array = Array {
            chunk: self.chunk,
            field,
            len: cursor.count()?,
            at: cursor.at(),
            end: self.end,
        };
        skip_field(&self.chunk.types, field, &mut ahead)?;
        *cursor = ahead;
        Ok(array)
    }
}

/// The fields of a structure, in order.
#[derive(Debug, Clone)]
pub struct Fields<'c> {
    of: Struct<'c>,
    fields: std::slice::Iter<'c, Field<'c>>,
    cursor: Cursor<'c>,
}

impl<'c> Iterator for Fields<'c> {
    type Item = (&'c Field<'c>, Result<Value<'c>, DecodeError>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let field = self.fields.next()?;
        let value = self.of.read(field, &mut self.cursor);
        if value.is_err() {
            self.fields = [].iter();
        }
        Some((field, value))
    }
}

/// The fields of a structure, in order, with constants not looked up.
#[derive(Debug, Clone)]
pub struct RawFields<'c> {
    of: Struct<'c>,
    fields: std::slice::Iter<'c, Field<'c>>,
    cursor: Cursor<'c>,
}

impl<'c> Iterator for RawFields<'c> {
    type Item = (&'c Field<'c>, Result<Raw<'c>, DecodeError>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let field = self.fields.next()?;
        let value = if field.array {
            let array = self.of.read_array(field, &mut self.cursor);
            array.map(|array| Raw::Value(Value::Array(array)))
        } else {
            read_raw(self.of.chunk, field, &mut self.cursor)
        };
        if value.is_err() {
            self.fields = [].iter();
        }
        Some((field, value))
    }
    /// The commonest kinds of field are handed over each by itself, so that what takes them in is
    /// compiled for each.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(self, init: B, mut give: F) -> B {
        let Self {
            of,
            fields,
            mut cursor,
        } = self;
        let mut sum = init;
        for field in fields {
            macro_rules! value {
                ($read:expr, $value:expr) => {
                    match $read {
                        Ok(value) => give(sum, (field, Ok($value(value)))),
                        Err(error) => return give(sum, (field, Err(error))),
                    }
                };
            }
            sum = match field.shape {
                _ if field.array => {
                    value!(of.read_array(field, &mut cursor), |array| Raw::Value(
                        Value::Array(array)
                    ))
                }
                Shape::Key(index) => value!(cursor.long(), |key| Raw::Key(Key {
                    chunk: of.chunk,
                    index,
                    key,
                })),
                Shape::Primitive(Primitive::Long) => {
                    value!(cursor.long(), |long| Raw::Value(Value::Long(long)))
                }
                Shape::Primitive(Primitive::Int) => {
                    value!(cursor.varint(), |raw| Raw::Value(Value::Int(
                        varint::to_i32(raw)
                    )))
                }
                _ => value!(read_raw(of.chunk, field, &mut cursor), |value| value),
            };
        }
        sum
    }
}

/// An array lying in the chunk.
#[derive(Debug, Clone, Copy)]
pub struct Array<'c> {
    chunk: &'c Chunk<'c>,
    field: &'c Field<'c>,
    len: usize,
    at: usize,
    end: usize,
}

impl<'c> Array<'c> {
    /// How many elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements in order; damaged ones end the iteration.
    pub fn iter(&self) -> impl Iterator<Item = Value<'c>> + use<'c> {
        let mut cursor = Cursor::within(self.chunk.bytes(), self.at, self.end);
        let Array {
            chunk, field, len, ..
        } = *self;
        (0..len).map_while(move |_| read_element(chunk, field, &mut cursor).ok())
    }
}

/// Reads one element and leaves the cursor behind it.
fn read_element<'c>(
    chunk: &'c Chunk<'c>,
    field: &'c Field<'c>,
    cursor: &mut Cursor<'c>,
) -> Result<Value<'c>, DecodeError> {
    Ok(match read_raw(chunk, field, cursor)? {
        Raw::Key(key) => key.resolve(),
        Raw::Value(value) => value,
    })
}

/// The same, with constants not looked up.
#[inline]
fn read_raw<'c>(
    chunk: &'c Chunk<'c>,
    field: &'c Field<'c>,
    cursor: &mut Cursor<'c>,
) -> Result<Raw<'c>, DecodeError> {
    Ok(match field.shape {
        Shape::Undeclared => return Err(DecodeError::UndeclaredType),
        Shape::Key(index) => Raw::Key(Key {
            chunk,
            index,
            key: cursor.long()?,
        }),
        Shape::Primitive(primitive) => Raw::Value(read_primitive(chunk, primitive, cursor)?),
        Shape::Struct(index) => {
            let declared = chunk.types.at(index).ok_or(DecodeError::UndeclaredType)?;
            let at = cursor.at();
            skip_element(&chunk.types, field, cursor)?;
            let value = Struct::new(chunk, declared, at, cursor.at(), None);
            Raw::Value(unwrap_simple(value))
        }
    })
}

/// A value whose constant, if it is one, has not been looked up.
#[derive(Debug, Clone, Copy)]
pub enum Raw<'c> {
    /// A key, whether its constant exists or not.
    Key(Key<'c>),
    /// What lies in the bytes themselves.
    Value(Value<'c>),
}

/// A key in a constant pool of its chunk.
#[derive(Clone, Copy)]
pub struct Key<'c> {
    chunk: &'c Chunk<'c>,
    index: u32,
    key: i64,
}

impl<'c> Key<'c> {
    /// The number. Equal numbers of one type and chunk are the same constant.
    #[inline]
    pub fn key(&self) -> i64 {
        self.key
    }

    /// The constant, or null.
    pub fn resolve(&self) -> Value<'c> {
        constant(self.chunk, self.index, self.key)
    }
}

impl std::fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "key {}", self.key)
    }
}

/// The constant with this key, or null.
pub(crate) fn constant<'c>(chunk: &'c Chunk<'c>, index: u32, key: i64) -> Value<'c> {
    let Some(declared) = chunk.types.at(index) else {
        return Value::Null;
    };
    let Some(at) = chunk.pools().find(declared.id, key) else {
        return Value::Null;
    };
    let end = chunk.bytes().len();
    match declared.primitive {
        Some(primitive) => {
            let mut cursor = Cursor::new(chunk.bytes(), at);
            read_primitive(chunk, primitive, &mut cursor).unwrap_or(Value::Null)
        }
        None => unwrap_simple(Struct::new(chunk, declared, at, end, Some(key))),
    }
}

/// A type declared simple stands for its only field.
fn unwrap_simple(value: Struct<'_>) -> Value<'_> {
    if !value.declared.simple {
        return Value::Struct(value);
    }
    match value.declared.fields.first() {
        // Only into what cannot unwrap again: a simple type inside itself has no end.
        Some(field) if !field.pooled && !field.array && value.primitive(field) => {
            value.at(0).unwrap_or(Value::Null)
        }
        _ => Value::Struct(value),
    }
}

impl Struct<'_> {
    fn primitive(&self, field: &Field<'_>) -> bool {
        field
            .type_index
            .and_then(|index| self.chunk.types.at(index))
            .is_some_and(|declared| declared.primitive.is_some())
    }
}

#[inline]
fn read_primitive<'c>(
    chunk: &'c Chunk<'c>,
    primitive: Primitive,
    cursor: &mut Cursor<'c>,
) -> Result<Value<'c>, DecodeError> {
    Ok(match primitive {
        Primitive::Boolean => Value::Boolean(cursor.byte()? != 0),
        Primitive::Byte => Value::Byte(cursor.byte()?.cast_signed()),
        Primitive::Short => Value::Short(varint::to_i16(cursor.varint()?)),
        Primitive::Char => Value::Char(varint::to_char_unit(cursor.varint()?)),
        Primitive::Int => Value::Int(varint::to_i32(cursor.varint()?)),
        Primitive::Long => Value::Long(cursor.long()?),
        Primitive::Float => Value::Float(cursor.float()?),
        Primitive::Double => Value::Double(cursor.double()?),
        Primitive::String => match cursor.text()? {
            RawText::Null => Value::Null,
            RawText::Here(text) => Value::Text(text),
            RawText::Constant(key) => text_constant(chunk, key),
        },
    })
}

fn text_constant<'c>(chunk: &'c Chunk<'c>, key: i64) -> Value<'c> {
    let Some(declared) = chunk.types.string.and_then(|index| chunk.types.at(index)) else {
        return Value::Null;
    };
    let mut key = key;
    for _ in 0..MAX_TEXT_HOPS {
        let Some(at) = chunk.pools().find(declared.id, key) else {
            return Value::Null;
        };
        match Cursor::new(chunk.bytes(), at).text() {
            Ok(RawText::Here(text)) => return Value::Text(text),
            Ok(RawText::Constant(next)) => key = next,
            Ok(RawText::Null) | Err(_) => return Value::Null,
        }
    }
    Value::Null
}
