//! Which classes are usually warm-up or JDK bookkeeping, and why: a table, not code.
//!
//! A finding that matches is ranked last with its reason; it is never dropped.

use serde::Serialize;

/// Why a finding is ranked last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Noise {
    /// The pattern of the table that matched.
    pub pattern: &'static str,
    /// Why such a finding is rarely a leak.
    pub reason: &'static str,
}

/// One row: what it matches, and why that is rarely a leak.
struct Row {
    pattern: &'static str,
    reason: &'static str,
}

/// Classes that hold (static field's class or an early hop): `*` at the end matches any rest.
const HOLDERS: &[Row] = &[
    Row {
        pattern: "java.lang.invoke.*",
        reason: "method handles and lambda forms: made once per call site during warm-up",
    },
    Row {
        pattern: "java.lang.reflect.*",
        reason: "reflection caches: filled once per class",
    },
    Row {
        pattern: "jdk.internal.reflect.*",
        reason: "reflection accessors: made once per member",
    },
    Row {
        pattern: "java.lang.ClassValue*",
        reason: "per-class cache: grows with loaded classes only",
    },
    Row {
        pattern: "jdk.internal.loader.*",
        reason: "class loading: grows with loaded classes only",
    },
    Row {
        pattern: "java.lang.Module*",
        reason: "module system: fixed after start",
    },
    Row {
        pattern: "jdk.internal.module.*",
        reason: "module system: fixed after start",
    },
    Row {
        pattern: "jdk.internal.jimage.*",
        reason: "the JDK's image reader: grows with loaded classes only",
    },
    Row {
        pattern: "jdk.jfr.*",
        reason: "Flight Recorder's own data",
    },
    Row {
        pattern: "jdk.internal.event.*",
        reason: "Flight Recorder's own data",
    },
    Row {
        pattern: "sun.management.*",
        reason: "management beans: made on first use",
    },
    Row {
        pattern: "jdk.management.*",
        reason: "management beans: made on first use",
    },
    Row {
        pattern: "javax.management.*",
        reason: "management beans: made on first use",
    },
    Row {
        pattern: "com.sun.jmx.*",
        reason: "management beans: made on first use",
    },
    Row {
        pattern: "java.util.concurrent.locks.AbstractQueuedSynchronizer*",
        reason: "threads that wait for a lock: gone when they get it",
    },
    Row {
        pattern: "sun.security.*",
        reason: "security providers: loaded on first use",
    },
    Row {
        pattern: "java.util.ResourceBundle*",
        reason: "resource bundles: softly cached per locale",
    },
    Row {
        pattern: "sun.util.locale.*",
        reason: "locale data: loaded on first use",
    },
    Row {
        pattern: "sun.nio.*",
        reason: "channel and charset bookkeeping of the JDK",
    },
    Row {
        pattern: "java.util.zip.*",
        reason: "open archives and their inflaters",
    },
    Row {
        pattern: "java.util.jar.*",
        reason: "open archives and their manifests",
    },
];

/// Classes that are held (the leaf): the loader's and the compiler's own objects.
const LEAVES: &[Row] = &[
    Row {
        pattern: "java.lang.invoke.*",
        reason: "method handles and lambda forms: made once per call site during warm-up",
    },
    Row {
        pattern: "java.lang.Class",
        reason: "a class: lives as long as its loader",
    },
    Row {
        pattern: "java.lang.reflect.*",
        reason: "reflection data: made once per member",
    },
    Row {
        pattern: "jdk.internal.*",
        reason: "the JDK's own bookkeeping",
    },
    Row {
        pattern: "java.lang.ref.SoftReference",
        reason: "a cache cell that the JVM may empty",
    },
    Row {
        pattern: "java.security.ProtectionDomain*",
        reason: "one per code source: fixed after start",
    },
];

/// Prefixes of classes that belong to the JDK or the JVM, not to an application or library.
const JDK_PREFIXES: &[&str] = &[
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "com.sun.",
    "oracle.jrockit.",
];

/// Whether `class` comes with the JDK; primitive types and their arrays count as such.
pub fn is_jdk_class(class: &str) -> bool {
    let element = class.trim_end_matches("[]");
    !element.contains('.') && is_primitive(element)
        || JDK_PREFIXES
            .iter()
            .any(|prefix| element.starts_with(prefix))
}

fn is_primitive(name: &str) -> bool {
    matches!(
        name,
        "boolean" | "byte" | "char" | "short" | "int" | "long" | "float" | "double"
    )
}

/// Why a chain from `root_class` over `hops` to `leaf` is probably noise; `None` for all others.
///
/// A chain with an application class anywhere but in the leaf is never noise, whatever else
/// it contains: somebody's code holds it.
pub fn of_chain(root_class: Option<&str>, hops: &[&str], leaf: &str) -> Option<Noise> {
    let holders = || root_class.into_iter().chain(hops.iter().copied());
    if holders().any(|class| !is_jdk_class(class)) {
        return None;
    }
    holders()
        .find_map(|class| find(HOLDERS, class))
        .or_else(|| find(LEAVES, leaf))
}

/// Why a growing class alone is probably noise; `None` for all others.
pub fn of_class(class: &str) -> Option<Noise> {
    find(LEAVES, class)
}

fn find(table: &'static [Row], class: &str) -> Option<Noise> {
    table
        .iter()
        .find(|row| match row.pattern.strip_suffix('*') {
            Some(prefix) => class.starts_with(prefix),
            None => class == row.pattern,
        })
        .map(|row| Noise {
            pattern: row.pattern,
            reason: row.reason,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_through_application_code_is_never_noise() {
        let noise = of_chain(
            Some("java.lang.invoke.MethodType"),
            &["java.lang.Object[]", "com.acme.Cache"],
            "jdk.internal.Thing",
        );
        assert_eq!(noise, None);
    }

    #[test]
    fn warm_up_of_the_jdk_is_noise_with_a_reason() {
        let noise = of_chain(
            Some("java.lang.invoke.MethodType"),
            &["java.util.concurrent.ConcurrentHashMap"],
            "java.lang.invoke.MethodType",
        )
        .unwrap();
        assert_eq!(noise.pattern, "java.lang.invoke.*");
        assert!(noise.reason.contains("warm-up"));
    }

    #[test]
    fn jdk_collections_alone_are_not_noise() {
        let noise = of_chain(
            Some("java.lang.ApplicationShutdownHooks"),
            &["java.util.IdentityHashMap", "java.lang.Object[]"],
            "java.lang.Thread",
        );
        assert_eq!(
            noise, None,
            "a shutdown hook leak lives in JDK classes only"
        );
    }

    #[test]
    fn arrays_belong_to_whom_their_elements_belong() {
        assert!(is_jdk_class("byte[]"));
        assert!(is_jdk_class("java.util.HashMap$Node[]"));
        assert!(!is_jdk_class("com.acme.Order[][]"));
        assert!(!is_jdk_class("Main"));
    }

    #[test]
    fn every_row_has_a_reason() {
        for row in HOLDERS.iter().chain(LEAVES) {
            assert!(row.reason.len() > 10, "{}", row.pattern);
        }
    }
}
