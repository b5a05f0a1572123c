//! Class names as Java writes them.

/// `Ljava/util/Map$Entry;` gives `java.util.Map$Entry`, `[[I` gives `int[][]`; a hidden class keeps its number
/// behind a slash, as `Class.getName` has it.
#[must_use]
pub fn java_name(signature: &str) -> String {
    let dimensions = signature.bytes().take_while(|b| *b == b'[').count();
    let element = signature.get(dimensions..).unwrap_or_default();
    let mut name = match element {
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "D" => "double".to_owned(),
        "F" => "float".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "S" => "short".to_owned(),
        "Z" => "boolean".to_owned(),
        _ => {
            let inner = element.strip_prefix('L').unwrap_or(element);
            let inner = inner.strip_suffix(';').unwrap_or(inner);
            inner
                .chars()
                .map(|c| match c {
                    '/' => '.',
                    // In a signature the dot stands before a hidden class's number only.
                    '.' => '/',
                    other => other,
                })
                .collect()
        }
    };
    for _ in 0..dimensions {
        name.push_str("[]");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::java_name;

    #[test]
    fn names_read_as_java_writes_them() {
        assert_eq!(java_name("Ljava/util/Map$Entry;"), "java.util.Map$Entry");
        assert_eq!(java_name("[[I"), "int[][]");
        assert_eq!(java_name("[Lapp/Order;"), "app.Order[]");
        assert_eq!(
            java_name("Lapp/Bus$$Lambda.0x00007f1c;"),
            "app.Bus$$Lambda/0x00007f1c"
        );
    }
}
