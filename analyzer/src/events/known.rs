//! Classes, methods, threads and frames by the names that people know them by.

use crate::reader::{Struct, Value};

/// A structure that has a name of its own.
pub(super) enum Known {
    /// `java.util.HashMap`.
    Class(String),
    /// `java.util.HashMap.put(Object, Object)`.
    Method(String),
    /// The thread's Java name, or else the system's.
    Thread(String),
}

impl Known {
    /// Recognises a structure by its type; `None` for anything else.
    pub(super) fn of(value: &Struct<'_>) -> Option<Self> {
        let name = value.ty().name();
        match name.rsplit('.').next() {
            Some("Class") if name.starts_with("java.lang") => class_name(value).map(Known::Class),
            Some("Thread") if name.starts_with("java.lang") => {
                thread_name(value).map(Known::Thread)
            }
            Some("Method") if name.contains(".types.") => method_name(value).map(Known::Method),
            _ => None,
        }
    }

    pub(super) fn name(&self) -> &str {
        let (Known::Class(name) | Known::Method(name) | Known::Thread(name)) = self;
        name
    }
}

/// One object of a reference chain, as `jdk.OldObjectSample` holds them.
pub(super) struct ChainLink<'c> {
    pub(super) object: Struct<'c>,
    /// How the object before it in the chain is held by this one: `.name`, `[3]`, or nothing.
    pub(super) edge: Option<String>,
}

/// No chain in a recording is longer; a circle of damaged constants is.
const MAX_LINKS: usize = 200_000;

/// The chain from a `jdk.types.OldObject` to its root, iteratively: it can be thousands long.
///
/// `None` for any other structure.
pub(super) fn chain<'c>(object: &Struct<'c>) -> Option<Vec<ChainLink<'c>>> {
    if !object.ty().name().ends_with(".types.OldObject") {
        return None;
    }
    let mut links = vec![ChainLink {
        object: *object,
        edge: None,
    }];
    let mut seen = std::collections::HashSet::from([object.key()]);
    let mut at = *object;
    while let Some(reference) = at.get_struct("referrer") {
        let edge = edge(&reference);
        let Some(next) = reference.get_struct("object") else {
            break;
        };
        if links.len() >= MAX_LINKS || !seen.insert(next.key()) {
            break;
        }
        links.push(ChainLink { object: next, edge });
        at = next;
    }
    Some(links)
}

fn edge(reference: &Struct<'_>) -> Option<String> {
    if let Some(name) = reference.text("field.name") {
        return Some(format!(".{name}"));
    }
    let index = reference.i64("array.index")?;
    match reference.i64("array.size") {
        Some(size) => Some(format!("[{index}] of {size}")),
        None => Some(format!("[{index}]")),
    }
}

fn class_name(class: &Struct<'_>) -> Option<String> {
    let raw = class.text("name")?.to_str();
    Some(java_name(&raw))
}

fn thread_name(thread: &Struct<'_>) -> Option<String> {
    let name = |field| {
        let text = thread.text(field)?;
        (!text.is_empty()).then(|| text.to_str().into_owned())
    };
    name("javaName").or_else(|| name("osName"))
}

fn method_name(method: &Struct<'_>) -> Option<String> {
    let class = match method.get("type")? {
        Value::Struct(class) => class_name(&class),
        _ => None,
    };
    let name = method.text("name")?;
    let arguments = method
        .text("descriptor")
        .map(|descriptor| arguments(&descriptor.to_str()))
        .unwrap_or_default();
    Some(match class {
        Some(class) => format!("{class}.{name}({arguments})"),
        None => format!("{name}({arguments})"),
    })
}

/// `[[Ljava/util/Map;` as `java.util.Map[][]`; `java/util/Map` and `java.util.Map` as the latter.
fn java_name(raw: &str) -> String {
    let element = raw.trim_start_matches('[');
    let dimensions = raw.len() - element.len();
    if dimensions == 0 {
        return raw.replace('/', ".");
    }
    let name = match element {
        "Z" => "boolean".to_owned(),
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "S" => "short".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        _ => {
            let class = element.strip_prefix('L').unwrap_or(element);
            class.strip_suffix(';').unwrap_or(class).replace('/', ".")
        }
    };
    name + &"[]".repeat(dimensions)
}

/// The argument types of a descriptor, without their packages.
fn arguments(descriptor: &str) -> String {
    let inside = descriptor
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'));
    let Some((inside, _)) = inside else {
        return String::new();
    };
    let mut names: Vec<String> = Vec::new();
    let mut rest = inside;
    while !rest.is_empty() {
        let element = rest.trim_start_matches('[');
        let brackets = rest.len() - element.len();
        let len = match element.find(';') {
            Some(end) if element.starts_with('L') => end + 1,
            _ => element.chars().next().map_or(0, char::len_utf8),
        };
        let Some((argument, next)) = rest.split_at_checked(brackets + len) else {
            break;
        };
        if len == 0 {
            break;
        }
        // As an array, since only then a single letter is a primitive.
        let full = java_name(&format!("[{argument}"));
        let short = full.rsplit('.').next().unwrap_or(&full);
        names.push(short.strip_suffix("[]").unwrap_or(short).to_owned());
        rest = next;
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_read_as_in_source() {
        assert_eq!(java_name("java/util/HashMap"), "java.util.HashMap");
        assert_eq!(java_name("[[Ljava/util/Map;"), "java.util.Map[][]");
        assert_eq!(java_name("[B"), "byte[]");
        assert_eq!(java_name("I"), "I");
    }

    #[test]
    fn argument_types_lose_their_packages() {
        assert_eq!(
            arguments("(ILjava/lang/String;[[JZ)V"),
            "int, String, long[][], boolean"
        );
        assert_eq!(arguments("()V"), "");
        assert_eq!(arguments("(Lcut"), "");
    }
}
