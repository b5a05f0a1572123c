//! Which declared types can lead to a candidate, by the classes that are loaded.
//!
//! A declared type that is a class without a loaded subclass has instances of that class alone, whose fields say what
//! they can lead to. `Object`, interfaces and classes with subclasses can lead anywhere, and so can a type that is not
//! loaded. A subclass that is loaded later makes every plan be decided again; what was passed over until then is found
//! by the next search.

use std::collections::HashSet;
use std::sync::Arc;

use super::catalogue::Catalogue;
use super::layout::{Layout, Role};
use crate::jvm::env::Jni;

/// Types looked at before one is taken to lead anywhere.
const MOST: usize = 64;

/// What is known of types.
#[derive(Debug, Default)]
pub struct Types {
    /// JVM signatures of classes that loaded ones extend, and of interfaces.
    open: HashSet<Arc<str>>,
    /// Declared types that lead to no candidate of the current search.
    closed: HashSet<Arc<str>>,
}

impl Types {
    /// Forgets what holds for one search's candidates.
    pub fn aim(&mut self) {
        self.closed.clear();
    }

    /// Notes that instances of this declared type can have other classes; whether an answer given before may be wrong.
    pub fn open(&mut self, signature: &str) -> bool {
        if self.open.contains(signature) {
            return false;
        }
        self.open.insert(signature.into());
        let wrong = !self.closed.is_empty();
        self.closed.clear();
        wrong
    }
}

impl Catalogue {
    /// Whether a value of this declared type can be, or lead to, a candidate.
    pub fn leads(&mut self, jni: &Jni<'_>, declared: &str) -> bool {
        if !self.targets.reachable_from(declared) || self.types.closed.contains(declared) {
            return false;
        }
        let mut seen: Vec<Arc<str>> = vec![declared.into()];
        let mut next = 0;
        while let Some(at) = seen.get(next).cloned() {
            next += 1;
            if seen.len() > MOST || !self.is_passed(jni, &at, &mut seen) {
                return true;
            }
        }
        // Everything that was looked at leads to nothing but that.
        self.types.closed.extend(seen);
        false
    }

    /// Adds the types that a type leads to at once; false when it is a candidate or may lead anywhere.
    fn is_passed(&mut self, jni: &Jni<'_>, at: &str, seen: &mut Vec<Arc<str>>) -> bool {
        if self.targets.is_one(at) {
            return false;
        }
        if let Some(element) = at.strip_prefix('[') {
            self.add_type(element, seen);
            return true;
        }
        if self.types.open.contains(at) {
            return false;
        }
        let Some(classes) = self.loaded_as(jni, at).filter(|c| !c.is_empty()) else {
            return false;
        };
        for class in classes {
            if !self.read_prepared(jni, class) {
                return false;
            }
            let Some(Layout::Fields(fields)) = self.get(class).map(|c| c.layout.clone()) else {
                return false;
            };
            for field in fields.iter() {
                if matches!(
                    field.role,
                    Role::Strong | Role::Housekeeping | Role::Referent
                ) {
                    self.add_type(&field.declared, seen);
                }
            }
        }
        true
    }

    fn add_type(&self, declared: &str, seen: &mut Vec<Arc<str>>) {
        let passed = !self.targets.reachable_from(declared)
            || self.types.closed.contains(declared)
            || seen.iter().any(|known| known.as_ref() == declared);
        if !passed {
            seen.push(declared.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_is_extended_later_makes_answers_doubtful_once() {
        let mut types = Types::default();
        assert!(!types.open("Lapp/Base;"), "nothing was answered yet");
        types.closed.insert("Lapp/Line;".into());
        assert!(!types.open("Lapp/Base;"), "known to be extended");
        assert!(types.open("Lapp/Other;"));
        assert!(types.closed.is_empty());
    }
}
