//! From a frame to a source file: recordings name classes, CI systems want paths.

use std::path::{Path, PathBuf};

use crate::model::Frame;

/// The path of the Java source that declares `frame`'s class, relative to the repository.
///
/// `com.acme.Cache$Entry` is declared in `com/acme/Cache.java`; of `roots` (such as
/// `src/main/java`) the first that has the file counts, else the first.
pub fn path(frame: &Frame, roots: &[PathBuf]) -> PathBuf {
    let outer = frame.class.split('$').next().unwrap_or_default();
    let outer = outer.split('/').next().unwrap_or_default();
    let mut relative: PathBuf = outer.split('.').collect();
    relative.set_extension("java");
    let found = roots
        .iter()
        .map(|root| root.join(&relative))
        .find(|path| path.is_file());
    found.unwrap_or_else(|| match roots.first() {
        Some(root) => root.join(&relative),
        None => relative,
    })
}

/// `path` with slashes, as URIs and annotations want it.
pub fn uri(path: &Path) -> String {
    path.components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_and_hidden_classes_lead_to_their_outer_source() {
        for class in [
            "com.acme.Cache",
            "com.acme.Cache$Entry",
            "com.acme.Cache$$Lambda/0x01",
        ] {
            let frame = Frame {
                class: class.to_owned(),
                method: "put".to_owned(),
                line: Some(3),
            };
            let found = path(&frame, &[PathBuf::from("src/main/java")]);
            assert_eq!(uri(&found), "src/main/java/com/acme/Cache.java");
        }
    }
}
