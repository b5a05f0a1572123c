//! The keys that a value holds, whether their constants exist or not.

use super::cursor::Cursor;
use super::error::DecodeError;
use super::skip::skip_element;
use super::types::{Field, Type, Types};

/// Inline structures inside each other that are looked into.
const MAX_DEPTH: u32 = 16;

/// Gets the structure's type, the field and the key.
pub(crate) type VisitKey<'v> = dyn FnMut(&Type<'_>, &Field<'_>, i64) + 'v;

/// Visits every key in a structure that starts at the cursor, those of inline structures too.
pub(crate) fn visit_keys(
    types: &Types<'_>,
    owner: &Type<'_>,
    cursor: &mut Cursor<'_>,
    visit: &mut VisitKey<'_>,
) -> Result<(), DecodeError> {
    structure(types, owner, cursor, visit, 0)
}

fn structure(
    types: &Types<'_>,
    owner: &Type<'_>,
    cursor: &mut Cursor<'_>,
    visit: &mut VisitKey<'_>,
    depth: u32,
) -> Result<(), DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    for field in &owner.fields {
        let count = if field.array { cursor.count()? } else { 1 };
        let index = field.type_index.ok_or(DecodeError::UndeclaredType)?;
        let inner = types.at(index).ok_or(DecodeError::UndeclaredType)?;
        if inner.empty && !field.pooled {
            continue;
        }
        for _ in 0..count {
            if field.pooled {
                visit(owner, field, cursor.long()?);
            } else if inner.primitive.is_some() {
                skip_element(types, field, cursor)?;
            } else {
                structure(types, inner, cursor, visit, depth + 1)?;
            }
        }
    }
    Ok(())
}
