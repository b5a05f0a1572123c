//! What the walk knows about library classes by name: data tables, no code.

use chain_core::signature::is_noise_field;

use super::layout::Role;

/// Fields that lead only to what another field reaches in fewer hops, beyond the core's own list.
const REDUNDANT: &[(&str, &str)] = &[
    ("java.util.HashMap", "entrySet"),
    ("java.util.AbstractMap", "keySet"),
    ("java.util.AbstractMap", "values"),
    ("java.util.concurrent.ConcurrentHashMap", "keySet"),
    ("java.util.concurrent.ConcurrentHashMap", "values"),
    ("java.util.concurrent.ConcurrentHashMap", "entrySet"),
    ("java.util.concurrent.ConcurrentHashMap$TreeNode", "parent"),
    ("java.util.concurrent.ConcurrentHashMap$TreeNode", "prev"),
    ("java.util.IdentityHashMap", "entrySet"),
    ("java.util.TreeMap", "entrySet"),
    ("java.util.TreeMap", "navigableKeySet"),
    ("java.util.TreeMap", "descendingMap"),
];

/// Fields that hold what the JDK keeps for its own housekeeping: told last, and labelled.
const HOUSEKEEPING: &[(&str, &str)] = &[
    ("java.lang.Thread", "contextClassLoader"),
    ("java.lang.Thread", "inheritedAccessControlContext"),
    ("jdk.internal.ref.CleanerImpl", "activeList"),
    ("jdk.internal.ref.CleanerImpl", "phantomCleanableList"),
    ("jdk.internal.ref.CleanerImpl", "weakCleanableList"),
    ("jdk.internal.ref.CleanerImpl", "softCleanableList"),
    ("jdk.internal.ref.Cleaner", "first"),
];

/// The JVM's own bookkeeping of classes: their statics are roots of their own here.
const SKIPPED: &[(&str, &str)] = &[
    ("java.lang.ref.Reference", "discovered"),
    ("java.lang.Class", "reflectionData"),
    ("java.lang.Class", "componentType"),
    ("java.lang.Class", "genericInfo"),
    ("java.lang.Class", "annotationType"),
];

/// Final classes of the JDK whose instances hold no reference, or only strings, boxes and primitive arrays.
const VALUES: &[&str] = &[
    "Ljava/lang/String;",
    "Ljava/lang/Integer;",
    "Ljava/lang/Long;",
    "Ljava/lang/Short;",
    "Ljava/lang/Byte;",
    "Ljava/lang/Character;",
    "Ljava/lang/Boolean;",
    "Ljava/lang/Double;",
    "Ljava/lang/Float;",
    "Ljava/util/UUID;",
    "Ljava/time/Instant;",
    "Ljava/time/Duration;",
    "Ljava/time/LocalDate;",
    "Ljava/util/Optional$Empty;",
    "Ljava/util/OptionalInt;",
    "Ljava/util/OptionalLong;",
];

/// Whether a JVM type signature names a value: a primitive array, or a final class of `VALUES`.
///
/// The answer holds for every instance that a field or element of this declared type can have.
#[must_use]
pub fn is_value_type(signature: &str) -> bool {
    match signature.strip_prefix('[') {
        Some(element) => element.len() == 1 || is_value_type(element),
        None => VALUES.contains(&signature),
    }
}

/// What a field is to the walk; the class as Java writes it.
#[must_use]
pub fn role(class: &str, field: &str) -> Role {
    let field = (class, field);
    if field == ("java.lang.ref.Reference", "referent") {
        Role::Referent
    } else if SKIPPED.contains(&field) {
        Role::Skipped
    } else if HOUSEKEEPING.contains(&field) {
        Role::Housekeeping
    } else if REDUNDANT.contains(&field) || is_noise_field(field.0, field.1) {
        Role::Redundant
    } else {
        Role::Strong
    }
}

/// How a subclass of `Reference` holds its referent, by the nearest JDK superclass.
#[must_use]
pub fn reference_kind(class: &str) -> Option<RefKind> {
    Some(match class {
        "Ljava/lang/ref/SoftReference;" => RefKind::Soft,
        "Ljava/lang/ref/WeakReference;" => RefKind::Weak,
        "Ljava/lang/ref/PhantomReference;" => RefKind::Phantom,
        "Ljava/lang/ref/FinalReference;" => RefKind::Final,
        _ => return None,
    })
}

/// The four kinds of `java.lang.ref.Reference`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefKind {
    /// Cleared before an OutOfMemoryError.
    Soft,
    /// Cleared at the next collection that looks.
    Weak,
    /// Never readable; holds nothing.
    Phantom,
    /// Waiting for finalization.
    Final,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_known_through_arrays() {
        assert!(is_value_type("[B"));
        assert!(is_value_type("[[J"));
        assert!(is_value_type("[Ljava/lang/String;"));
        assert!(!is_value_type("[Ljava/lang/Object;"));
        assert!(!is_value_type("Ljava/util/List;"));
    }

    #[test]
    fn a_referent_is_no_strong_edge() {
        assert_eq!(role("java.lang.ref.Reference", "referent"), Role::Referent);
        assert_eq!(role("java.lang.ref.Reference", "discovered"), Role::Skipped);
        assert_eq!(role("java.lang.ref.Reference", "next"), Role::Strong);
    }

    #[test]
    fn a_linked_hash_map_is_read_through_its_table() {
        assert_eq!(role("java.util.LinkedHashMap", "head"), Role::Redundant);
        assert_eq!(role("java.util.HashMap", "table"), Role::Strong);
    }
}
