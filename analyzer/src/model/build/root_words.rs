//! A root's class, field and thread out of the words that describe it.

use super::source::java_name;
use crate::model::{Root, RootKind};

/// The root that `text` describes, such as `static field com.acme.Cache.MAP` or
/// `thread "http-1"`. Parts that the words do not have stay unknown.
pub fn parse(kind: RootKind, text: &str) -> Root {
    let mut root = Root {
        kind,
        text: text.to_owned(),
        class: None,
        field: None,
        thread: None,
    };
    match kind {
        RootKind::StaticField => {
            let place = text.rsplit_once(' ').map_or(text, |(_, place)| place);
            if let Some((class, field)) = place.rsplit_once('.')
                && !class.is_empty()
                && !field.is_empty()
            {
                root.class = Some(java_name(class).into_owned());
                root.field = Some(field.to_owned());
            }
        }
        RootKind::Thread
        | RootKind::ThreadLocal
        | RootKind::StackLocal
        | RootKind::JniLocal
        | RootKind::Monitor => {
            root.thread = quoted(text);
            if let Some((class, method)) = frame(text) {
                root.class = Some(java_name(class).into_owned());
                root.field = Some(method.to_owned());
            }
        }
        _ => {}
    }
    root
}

/// What stands between the first and the last quotation mark: a name may contain some.
fn quoted(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('"')?;
    let (name, _) = rest.rsplit_once('"')?;
    Some(name.to_owned())
}

/// Class and method after the thread's name: `..." in com.acme.Main.loop:12`.
fn frame(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.rsplit_once('"')?;
    let place = rest
        .split(|c: char| c.is_whitespace() || c == ',' || c == '(')
        .find(|word| word.contains('.'))?;
    let place = place.split_once(':').map_or(place, |(place, _)| place);
    place.rsplit_once('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_field_is_found_behind_any_words() {
        for text in [
            "static field com.acme.Cache.MAP",
            "com.acme.Cache.MAP",
            "com/acme/Cache.MAP",
        ] {
            let root = parse(RootKind::StaticField, text);
            assert_eq!(root.class.as_deref(), Some("com.acme.Cache"), "{text}");
            assert_eq!(root.field.as_deref(), Some("MAP"), "{text}");
        }
    }

    #[test]
    fn a_thread_name_may_contain_quotation_marks() {
        let root = parse(RootKind::Thread, "thread \"a \"b\" c\"");
        assert_eq!(root.thread.as_deref(), Some("a \"b\" c"));
        assert_eq!(parse(RootKind::Thread, "thread").thread, None);
    }

    #[test]
    fn a_stack_local_tells_its_frame() {
        let root = parse(
            RootKind::StackLocal,
            "thread \"main\" in com.acme.Main.loop:12",
        );
        assert_eq!(root.thread.as_deref(), Some("main"));
        assert_eq!(root.class.as_deref(), Some("com.acme.Main"));
        assert_eq!(root.field.as_deref(), Some("loop"));
    }
}
