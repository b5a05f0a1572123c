//! Weak references that no table holds any more, until nobody else does: then the worker deletes them.

use std::sync::{Arc, Mutex};

use super::lock;
use crate::jvm::env::Weak;

/// References on their way out.
#[derive(Debug, Default)]
pub(super) struct Graveyard(Mutex<Vec<Arc<Weak>>>);

impl Graveyard {
    /// Takes a reference in.
    pub(super) fn bury(&self, weak: Arc<Weak>) {
        lock(&self.0).push(weak);
    }

    /// Those that nobody else holds.
    pub(super) fn take_free(&self) -> Vec<Weak> {
        let buried = std::mem::take(&mut *lock(&self.0));
        let (mut free, mut held) = (Vec::new(), Vec::new());
        for weak in buried {
            match Arc::try_unwrap(weak) {
                Ok(weak) => free.push(weak),
                Err(shared) => held.push(shared),
            }
        }
        lock(&self.0).append(&mut held);
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_given_out_once_and_only_when_nobody_else_holds_it() {
        let weak = Arc::new(Weak::for_test(0x10));
        let graveyard = Graveyard::default();
        graveyard.bury(Arc::clone(&weak));
        assert_eq!(graveyard.take_free(), []);
        drop(weak);
        assert_eq!(graveyard.take_free(), [Weak::for_test(0x10)]);
        assert_eq!(graveyard.take_free(), []);
    }
}
