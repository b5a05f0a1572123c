//! Passing over values without making them.

use super::cursor::{Cursor, RawText};
use super::error::DecodeError;
use super::types::{Field, Primitive, Shape, Types};

/// Inline structures inside each other; the JVM's own types reach three.
const MAX_INLINE_DEPTH: u32 = 48;

/// Moves past one value of the type at `index`.
pub(crate) fn skip_value(
    types: &Types<'_>,
    index: u32,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    skip_type(types, index, cursor, 0)
}

/// Moves past one field, array or not.
#[inline]
pub(crate) fn skip_field(
    types: &Types<'_>,
    field: &Field<'_>,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    skip_field_at(types, field, cursor, 0)
}

/// Moves past one element of a field: the field itself if it is not an array.
#[inline]
pub(crate) fn skip_element(
    types: &Types<'_>,
    field: &Field<'_>,
    cursor: &mut Cursor<'_>,
) -> Result<(), DecodeError> {
    skip_element_at(types, field, cursor, 0)
}

#[inline]
fn skip_field_at(
    types: &Types<'_>,
    field: &Field<'_>,
    cursor: &mut Cursor<'_>,
    depth: u32,
) -> Result<(), DecodeError> {
    if !field.array {
        return skip_element_at(types, field, cursor, depth);
    }
    let count = cursor.count()? as u64;
    if field.pooled {
        return cursor.skip_varints(count);
    }
    let index = field.type_index.ok_or(DecodeError::UndeclaredType)?;
    let element = types.at(index).ok_or(DecodeError::UndeclaredType)?;
    if element.empty {
        return Ok(());
    }
    if let Some(varints) = element.varints {
        return cursor.skip_varints(count.saturating_mul(u64::from(varints)));
    }
    for _ in 0..count {
        skip_type(types, index, cursor, depth + 1)?;
    }
    Ok(())
}

#[inline]
fn skip_element_at(
    types: &Types<'_>,
    field: &Field<'_>,
    cursor: &mut Cursor<'_>,
    depth: u32,
) -> Result<(), DecodeError> {
    match field.shape {
        Shape::Undeclared => Err(DecodeError::UndeclaredType),
        Shape::Key(_) => cursor.varint().map(drop),
        Shape::Primitive(primitive) => skip_primitive(primitive, cursor),
        Shape::Struct(index) => skip_type(types, index, cursor, depth),
    }
}

#[inline]
fn skip_primitive(primitive: Primitive, cursor: &mut Cursor<'_>) -> Result<(), DecodeError> {
    match primitive {
        Primitive::Boolean | Primitive::Byte => cursor.byte().map(drop),
        Primitive::Short | Primitive::Char | Primitive::Int | Primitive::Long => {
            cursor.varint().map(drop)
        }
        Primitive::Float => cursor.take(4).map(drop),
        Primitive::Double => cursor.take(8).map(drop),
        Primitive::String => cursor.text().map(|_: RawText<'_>| ()),
    }
}

fn skip_type(
    types: &Types<'_>,
    index: u32,
    cursor: &mut Cursor<'_>,
    depth: u32,
) -> Result<(), DecodeError> {
    let declared = types.at(index).ok_or(DecodeError::UndeclaredType)?;
    if let Some(primitive) = declared.primitive {
        return skip_primitive(primitive, cursor);
    }
    if let Some(varints) = declared.varints {
        return cursor.skip_varints(u64::from(varints));
    }
    if declared.empty {
        return Ok(());
    }
    if depth >= MAX_INLINE_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    for field in &declared.fields {
        skip_field_at(types, field, cursor, depth + 1)?;
    }
    Ok(())
}
