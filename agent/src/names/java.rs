//! JVM signatures as Java writes them.

/// The Java name of a class by its JVM signature: `java.util.HashMap$Node[]` for `[Ljava/util/HashMap$Node;`,
/// `int[][]` for `[[I`. The number of a hidden class follows a slash, as `Class.getName` has it.
#[must_use]
pub fn java_name(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let dimensions = signature.len() - element.len();
    let mut name = match element {
        "Z" => "boolean".to_owned(),
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "S" => "short".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        "V" => "void".to_owned(),
        _ => {
            let inner = element
                .strip_prefix('L')
                .and_then(|rest| rest.strip_suffix(';'))
                .unwrap_or(element);
            swap_dots(inner)
        }
    };
    for _ in 0..dimensions {
        name.push_str("[]");
    }
    name
}

/// The name that `Class.getName()` gives for a class by its JVM signature: `java.util.HashMap$Node`,
/// `[Ljava.lang.String;`, `[I`, `int`.
#[must_use]
pub fn binary_name(signature: &str) -> String {
    if signature.starts_with('[') {
        swap_dots(signature)
    } else {
        java_name(signature)
    }
}

fn swap_dots(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '/' => '.',
            '.' => '/',
            other => other,
        })
        .collect()
}

/// Whether a JVM signature names a hidden class: the dot before its number is the mark.
#[must_use]
pub fn is_hidden(signature: &str) -> bool {
    signature.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_become_the_names_that_java_writes() {
        for (signature, name) in [
            ("Ljava/util/HashMap$Node;", "java.util.HashMap$Node"),
            ("[Ljava/util/HashMap$Node;", "java.util.HashMap$Node[]"),
            ("[[I", "int[][]"),
            ("[B", "byte[]"),
            ("LMain;", "Main"),
            (
                "La/B$$Lambda.0x0000000800c03000;",
                "a.B$$Lambda/0x0000000800c03000",
            ),
            ("", ""),
            ("L", "L"),
        ] {
            assert_eq!(java_name(signature), name);
        }
    }

    #[test]
    fn the_binary_name_keeps_an_arrays_signature() {
        for (signature, name) in [
            ("Ljava/util/List;", "java.util.List"),
            ("[[Ljava/util/List;", "[[Ljava.util.List;"),
            ("[I", "[I"),
            ("I", "int"),
        ] {
            assert_eq!(binary_name(signature), name);
        }
    }

    #[test]
    fn a_hidden_class_is_known_by_its_dot() {
        assert!(is_hidden("La/B$$Lambda.0x0800;"));
        assert!(!is_hidden("La/B$Inner;"));
    }
}
