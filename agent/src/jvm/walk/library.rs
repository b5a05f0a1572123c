//! What the walk knows about library classes by name: data tables, no code.

use super::layout::Role;

/// Fields whose referents are always reachable by another, shorter way; following them only makes chains long.
/// (declaring class, field)
const REDUNDANT: &[(&str, &str)] = &[
    ("Ljava/util/LinkedHashMap;", "head"),
    ("Ljava/util/LinkedHashMap;", "tail"),
    ("Ljava/util/LinkedHashMap$Entry;", "before"),
    ("Ljava/util/LinkedHashMap$Entry;", "after"),
    ("Ljava/util/HashMap;", "entrySet"),
    ("Ljava/util/AbstractMap;", "keySet"),
    ("Ljava/util/AbstractMap;", "values"),
    ("Ljava/util/HashMap$TreeNode;", "parent"),
    ("Ljava/util/HashMap$TreeNode;", "prev"),
    ("Ljava/util/TreeMap$Entry;", "parent"),
    ("Ljava/util/LinkedList;", "last"),
    ("Ljava/util/LinkedList$Node;", "prev"),
    ("Ljava/util/concurrent/ConcurrentHashMap;", "keySet"),
    ("Ljava/util/concurrent/ConcurrentHashMap;", "values"),
    ("Ljava/util/concurrent/ConcurrentHashMap;", "entrySet"),
    (
        "Ljava/util/concurrent/ConcurrentHashMap$TreeNode;",
        "parent",
    ),
    ("Ljava/util/concurrent/ConcurrentHashMap$TreeNode;", "prev"),
    ("Ljava/util/concurrent/LinkedBlockingQueue;", "last"),
    ("Ljava/util/concurrent/LinkedBlockingDeque;", "last"),
    ("Ljava/util/concurrent/LinkedBlockingDeque$Node;", "prev"),
    ("Ljava/util/concurrent/ConcurrentLinkedQueue;", "tail"),
    ("Ljava/util/concurrent/ConcurrentLinkedDeque;", "tail"),
    ("Ljava/util/concurrent/ConcurrentLinkedDeque$Node;", "prev"),
    ("Ljava/util/IdentityHashMap;", "entrySet"),
    ("Ljava/util/TreeMap;", "entrySet"),
    ("Ljava/util/TreeMap;", "navigableKeySet"),
    ("Ljava/util/TreeMap;", "descendingMap"),
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

/// Whether a JVM type signature names a value: a primitive array, or a final class of [`VALUES`].
///
/// The answer holds for every instance that a field or element of this declared type can have.
#[must_use]
pub fn is_value_type(signature: &str) -> bool {
    match signature.strip_prefix('[') {
        Some(element) => element.len() == 1 || is_value_type(element),
        None => VALUES.contains(&signature),
    }
}

/// What a field of a class is to the walk.
#[must_use]
pub fn role(class: &str, field: &str) -> Role {
    if class == "Ljava/lang/ref/Reference;" {
        return match field {
            "referent" => Role::Referent,
            "discovered" => Role::Skipped,
            _ => Role::Strong,
        };
    }
    if class == "Ljava/lang/Thread;" && field == "contextClassLoader" {
        return Role::Housekeeping;
    }
    // The JVM's own bookkeeping of classes: every class is a root of its own here.
    if class == "Ljava/lang/Class;"
        && matches!(
            field,
            "reflectionData" | "componentType" | "genericInfo" | "annotationType"
        )
    {
        return Role::Skipped;
    }
    if REDUNDANT.contains(&(class, field)) {
        return Role::Redundant;
    }
    Role::Strong
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
        assert_eq!(
            role("Ljava/lang/ref/Reference;", "referent"),
            Role::Referent
        );
        assert_eq!(
            role("Ljava/lang/ref/Reference;", "discovered"),
            Role::Skipped
        );
        assert_eq!(role("Ljava/lang/ref/Reference;", "next"), Role::Strong);
    }

    #[test]
    fn a_linked_hash_map_is_read_through_its_table() {
        assert_eq!(role("Ljava/util/LinkedHashMap;", "head"), Role::Redundant);
        assert_eq!(role("Ljava/util/HashMap;", "table"), Role::Strong);
    }
}
