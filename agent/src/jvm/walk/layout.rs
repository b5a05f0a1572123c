//! The reference fields of a class, and which of them a search reads.

use std::sync::Arc;

use chain_core::chain::Strength;

use super::library::{RefKind, is_value_type};
use crate::jvm::env::FieldId;

/// What a field is to the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Followed.
    Strong,
    /// `Reference.referent`: followed in the last resort only, and labelled.
    Referent,
    /// Followed after everything else: a thread's context loader.
    Housekeeping,
    /// Its referent is always reachable by a shorter way.
    Redundant,
    /// Never followed.
    Skipped,
}

/// A reference-typed field.
#[derive(Debug, Clone)]
pub struct Field {
    /// For reading it.
    pub id: FieldId,
    /// Its name.
    pub name: Arc<str>,
    /// JVM signature of its declared type.
    pub declared: Arc<str>,
    /// What it is to the walk.
    pub role: Role,
}

impl Field {
    /// How firmly it holds its referent; `reference` is the kind of `Reference` that its object is.
    #[must_use]
    pub fn strength(&self, reference: Option<RefKind>) -> Strength {
        match (self.role, reference) {
            (Role::Referent, Some(RefKind::Soft)) => Strength::Soft,
            (Role::Referent, Some(RefKind::Final)) | (Role::Housekeeping, _) => {
                Strength::Housekeeping
            }
            (Role::Referent, _) => Strength::Weak,
            (Role::Strong | Role::Redundant | Role::Skipped, _) => Strength::Durable,
        }
    }
}

/// What instances of a class look like.
#[derive(Debug, Clone)]
pub enum Layout {
    /// Not asked yet.
    Unknown,
    /// Objects with these reference fields, superclasses first.
    Fields(Arc<[Field]>),
    /// Arrays of references.
    Array,
    /// Arrays of primitives.
    Primitive,
}

/// How a search treats instances of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Plan {
    /// Not decided yet.
    #[default]
    Undecided,
    /// No field can lead to a candidate: not stored, not expanded.
    Leaf,
    /// The places (in [`Layout::Fields`]) of the fields to read, in the order to push them: what leads on to
    /// the same class first, so that it is taken up last.
    Fields(Arc<[u32]>),
    /// Read the elements.
    Elements,
}

/// Which declared types can lead to a candidate.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    /// JVM signatures of the candidate classes.
    signatures: Vec<Arc<str>>,
}

impl Targets {
    /// The targets with these JVM signatures.
    #[must_use]
    pub fn new(signatures: Vec<Arc<str>>) -> Self {
        Self { signatures }
    }

    /// Whether a value of this declared type can be, or lead to, a candidate.
    ///
    /// By the type alone, without a look at classes: only values (strings, boxes, primitive arrays and arrays of them)
    /// are ruled out, and only when no candidate is one.
    #[must_use]
    pub fn reachable_from(&self, declared: &str) -> bool {
        if !is_value_type(declared) {
            return true;
        }
        self.signatures.iter().any(|candidate| {
            candidate.as_ref() == declared
                || (declared.starts_with('[') && self.within_array(declared, candidate))
                || (holds_byte_array(declared) && matches!(candidate.as_ref(), "[B" | "[C"))
        })
    }

    /// Whether a JVM signature is a candidate's.
    #[must_use]
    pub fn is_one(&self, signature: &str) -> bool {
        self.signatures.iter().any(|s| s.as_ref() == signature)
    }

    fn within_array(&self, declared: &str, candidate: &str) -> bool {
        let element = declared.trim_start_matches('[');
        element == candidate
            || candidate.starts_with('[') && declared.ends_with(candidate)
            || holds_byte_array(element) && matches!(candidate, "[B" | "[C")
    }
}

/// The one value type with a reference field is the string.
fn holds_byte_array(signature: &str) -> bool {
    signature.trim_start_matches('[') == "Ljava/lang/String;"
}

/// Decides how a search treats a class. `signature` is the class's own, `last_resort` whether soft, weak and
/// final referents are read too; `reference` is the class's kind of `Reference`; `leads` answers whether a declared type
/// can lead to a candidate.
#[must_use]
pub fn plan(
    signature: &str,
    layout: &Layout,
    reference: Option<RefKind>,
    last_resort: bool,
    mut leads: impl FnMut(&str) -> bool,
) -> Plan {
    match layout {
        Layout::Unknown => Plan::Undecided,
        Layout::Primitive => Plan::Leaf,
        Layout::Array => {
            let element = signature.get(1..).unwrap_or_default();
            if leads(element) {
                Plan::Elements
            } else {
                Plan::Leaf
            }
        }
        Layout::Fields(fields) => {
            let mut own = Vec::new();
            let mut other = Vec::new();
            for (place, field) in fields.iter().enumerate() {
                let follow = match field.role {
                    Role::Strong | Role::Housekeeping => true,
                    Role::Referent => {
                        last_resort && !matches!(reference, None | Some(RefKind::Phantom))
                    }
                    Role::Redundant | Role::Skipped => false,
                };
                if !follow || !leads(&field.declared) {
                    continue;
                }
                let Ok(place) = u32::try_from(place) else {
                    continue;
                };
                if field.declared.as_ref() == signature {
                    own.push(place);
                } else {
                    other.push(place);
                }
            }
            own.extend(other);
            if own.is_empty() {
                Plan::Leaf
            } else {
                Plan::Fields(own.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(signatures: &[&str]) -> Targets {
        Targets::new(signatures.iter().map(|s| Arc::from(*s)).collect())
    }

    #[test]
    fn strings_are_leaves_unless_a_candidate_lies_in_them() {
        assert!(!targets(&["Lapp/Order;"]).reachable_from("Ljava/lang/String;"));
        assert!(!targets(&["Lapp/Order;"]).reachable_from("[[B"));
        assert!(targets(&["[B"]).reachable_from("Ljava/lang/String;"));
        assert!(targets(&["[B"]).reachable_from("[Ljava/lang/String;"));
        assert!(targets(&["[B"]).reachable_from("[[B"));
        assert!(targets(&["Ljava/lang/String;"]).reachable_from("Ljava/lang/String;"));
        assert!(targets(&["Ljava/lang/String;"]).reachable_from("[Ljava/lang/String;"));
        assert!(!targets(&["Ljava/lang/String;"]).reachable_from("Ljava/lang/Long;"));
    }

    #[test]
    fn a_type_that_may_have_subclasses_is_never_ruled_out() {
        assert!(targets(&["Lapp/Order;"]).reachable_from("Ljava/lang/Object;"));
        assert!(targets(&["Lapp/Order;"]).reachable_from("[Ljava/lang/Comparable;"));
    }

    #[test]
    fn an_array_of_values_is_a_leaf() {
        let plan = plan(
            "[Ljava/lang/String;",
            &Layout::Array,
            None,
            false,
            |declared| targets(&["Lapp/Order;"]).reachable_from(declared),
        );
        assert_eq!(plan, Plan::Leaf);
    }
}
