//! Kinds of roots in JSON and policies, by their names in recordings.

use jfr_format::path::RootKind;
use serde::{Deserialize as _, Deserializer, Serializer, de};

/// Every name, for messages.
const NAMES: [&str; RootKind::ALL.len()] = {
    let mut names = [""; RootKind::ALL.len()];
    let mut rest = RootKind::ALL.as_slice();
    let mut left = names.as_mut_slice();
    while let ([kind, kinds @ ..], [name, after @ ..]) = (rest, left) {
        *name = kind.name();
        rest = kinds;
        left = after;
    }
    names
};

/// Writes one kind.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
pub fn serialize<S: Serializer>(kind: &RootKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

/// Reads a list of kinds.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RootKind>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let parsed = names
        .iter()
        .map(|name| RootKind::parse(name).ok_or_else(|| de::Error::unknown_variant(name, &NAMES)));
    parsed.collect()
}
