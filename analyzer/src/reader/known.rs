//! Types that several chunks declare alike: most JVMs write the same metadata into every chunk.

use std::sync::{Arc, Mutex, PoisonError};

use super::cursor::Cursor;
use super::types::Types;

/// So many different declarations are remembered.
const KEPT: usize = 4;

/// What the chunks read last have declared, each with the bytes that it was read from.
#[derive(Debug, Default)]
pub(crate) struct KnownTypes<'r>(Mutex<Vec<Known<'r>>>);

/// Bytes of a declaration, and the types read from them.
type Known<'r> = (&'r [u8], Arc<Types<'r>>);

impl<'r> KnownTypes<'r> {
    /// The types that an equal metadata event declared, whenever that one was written.
    pub(crate) fn find(&self, body: &[u8]) -> Option<Arc<Types<'r>>> {
        let declaration = declaration(body)?;
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(bytes, _)| *bytes == declaration)?;
        Some(Arc::clone(&found.1))
    }

    /// Remembers what an unbroken metadata event declares.
    pub(crate) fn keep(&self, body: &'r [u8], types: &Arc<Types<'r>>) {
        let Some(declaration) = declaration(body) else {
            return;
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push((declaration, Arc::clone(types)));
    }
}

/// What follows start, duration and id in the body of a metadata event: the types depend on nothing else.
fn declaration(body: &[u8]) -> Option<&[u8]> {
    let mut cursor = Cursor::new(body, 0);
    cursor.skip_varints(3).ok()?;
    body.get(cursor.at()..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_equal_declaration_is_known_whatever_its_time_and_id() {
        let known = KnownTypes::default();
        let types = Arc::new(Types::default());
        known.keep(&[1, 0, 7, 10, 11], &types);
        assert!(known.find(&[0x81, 2, 3, 8, 10, 11]).is_some());
        assert!(known.find(&[1, 0, 7, 10, 12]).is_none());
        assert!(known.find(&[1, 0, 7, 10, 11, 0]).is_none());
        assert!(known.find(&[1, 0]).is_none());
    }

    #[test]
    fn the_last_few_declarations_are_known() {
        let bodies: Vec<[u8; 4]> = (0..9).map(|last| [1, 1, 1, last]).collect();
        let known = KnownTypes::default();
        for body in &bodies {
            known.keep(body, &Arc::new(Types::default()));
        }
        let found = bodies.iter().filter(|body| known.find(&body[..]).is_some());
        assert_eq!(found.count(), KEPT);
        assert!(known.find(&bodies[8]).is_some());
    }
}
