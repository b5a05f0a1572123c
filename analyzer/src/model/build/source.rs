//! An event's fields in the terms of our schemas, and the names of classes as Java writes them.

use std::borrow::Cow;
use std::sync::Arc;

use jfr_format::entity::{ClassInfo, FrameInfo, MethodInfo, StackInfo, ThreadInfo};
use jfr_format::schema::FieldSource;

use crate::model::{EpochNanos, Frame, Nanos};
use crate::reader::{self, Event, Struct};

/// Frames of a stack that are kept; reports show fewer.
const MAX_FRAMES: usize = 64;

/// A decoded event as a source for [`jfr_format::schema::Event::decode`].
pub struct Fields<'e, 'c>(pub &'e Event<'c>);

impl FieldSource for Fields<'_, '_> {
    fn long(&self, name: &str) -> Option<i64> {
        self.0.i64(name)
    }

    fn double(&self, name: &str) -> Option<f64> {
        self.0.f64(name)
    }

    fn boolean(&self, name: &str) -> Option<bool> {
        self.0.bool(name)
    }

    fn text(&self, name: &str) -> Option<String> {
        text(self.0, name)
    }

    fn class(&self, name: &str) -> Option<Arc<ClassInfo>> {
        let class = class_name(&self.0.get_struct(name)?)?;
        Some(Arc::new(ClassInfo::named(class)))
    }

    fn thread(&self, name: &str) -> Option<Arc<ThreadInfo>> {
        let thread = self.0.get_struct(name)?;
        Some(Arc::new(ThreadInfo {
            os_name: text(&thread, "osName"),
            os_thread_id: thread.i64("osThreadId").unwrap_or(0),
            java_name: text(&thread, "javaName"),
            java_thread_id: thread.i64("javaThreadId").unwrap_or(0),
            ..ThreadInfo::default()
        }))
    }

    fn stack(&self, name: &str) -> Option<Arc<StackInfo>> {
        let trace = self.0.get_struct(name)?;
        let frames = frames(&trace)
            .into_iter()
            .map(|frame| FrameInfo {
                method: Arc::new(MethodInfo {
                    class: Arc::new(ClassInfo::named(frame.class)),
                    name: frame.method,
                    ..MethodInfo::default()
                }),
                line: frame.line.and_then(|line| i32::try_from(line).ok()),
                ..FrameInfo::default()
            })
            .collect();
        Some(Arc::new(StackInfo {
            frames,
            truncated: trace.bool("truncated").unwrap_or(false),
        }))
    }
}

/// A string field; empty strings count as unknown.
pub fn text(fields: &Struct<'_>, name: &str) -> Option<String> {
    let text = fields.text(name)?.to_str().into_owned();
    (!text.is_empty()).then_some(text)
}

/// The reader's time in the model's type.
pub fn time(at: reader::EpochNanos) -> EpochNanos {
    EpochNanos::new(at.0)
}

/// The reader's span in the model's type; negative ones are zero.
pub fn span(span: reader::Nanos) -> Nanos {
    Nanos(u64::try_from(span.0).unwrap_or(0))
}

/// A span of our schemas in the model's type.
pub fn nanos(span: jfr_format::schema::Nanos) -> Nanos {
    Nanos(u64::try_from(span.0).unwrap_or(0))
}

/// An amount of our schemas as bytes.
pub fn bytes(amount: jfr_format::schema::Bytes) -> u64 {
    u64::try_from(amount.0).unwrap_or(0)
}

/// A count of our schemas.
pub fn count(number: impl Into<i64>) -> u64 {
    u64::try_from(number.into()).unwrap_or(0)
}

/// The name of a `java.lang.Class` constant, as Java writes it.
pub fn class_name(class: &Struct<'_>) -> Option<String> {
    Some(java_name(&text(class, "name")?).into_owned())
}

/// The Java name, else the operating system's name, of a `java.lang.Thread` constant.
pub fn thread_name(thread: &Struct<'_>) -> Option<String> {
    text(thread, "javaName").or_else(|| text(thread, "osName"))
}

/// The frames of a `jdk.types.StackTrace` constant, innermost first.
pub fn frames(trace: &Struct<'_>) -> Vec<Frame> {
    let Some(frames) = trace.get("frames").and_then(|value| value.as_array()) else {
        return Vec::new();
    };
    frames
        .iter()
        .take(MAX_FRAMES)
        .filter_map(|value| frame(&value.as_struct()?))
        .collect()
}

fn frame(frame: &Struct<'_>) -> Option<Frame> {
    let method = frame.get_struct("method")?;
    let class = method
        .get_struct("type")
        .and_then(|class| class_name(&class));
    Some(Frame {
        class: class.unwrap_or_default(),
        method: text(&method, "name").unwrap_or_default(),
        line: frame
            .i64("lineNumber")
            .and_then(|line| u32::try_from(line).ok())
            .filter(|line| *line > 0),
    })
}

/// `frames` of one of our events' stack traces.
pub fn own_frames(stack: Option<&StackInfo>) -> Vec<Frame> {
    let Some(stack) = stack else {
        return Vec::new();
    };
    let known =
        |frame: &&FrameInfo| !(frame.method.name.is_empty() && frame.method.class.name.is_empty());
    stack
        .frames
        .iter()
        .filter(known)
        .take(MAX_FRAMES)
        .map(|frame| Frame {
            class: java_name(&frame.method.class.name).into_owned(),
            method: frame.method.name.clone(),
            line: frame.line.and_then(|line| u32::try_from(line).ok()),
        })
        .collect()
}

/// A class name as Java source writes it, from any of the JVM's spellings.
///
/// `java/util/HashMap`, `Ljava/util/HashMap;`, `[Ljava.util.HashMap;` and `[[I` occur in recordings.
/// The `/0x...` of a hidden class stays.
pub fn java_name(raw: &str) -> Cow<'_, str> {
    let element = raw.trim_start_matches('[');
    let dimensions = raw.len() - element.len();
    let descriptor = element.starts_with('L') && element.ends_with(';');
    let element = if descriptor {
        element
            .strip_prefix('L')
            .and_then(|rest| rest.strip_suffix(';'))
            .unwrap_or(element)
    } else if dimensions > 0 {
        primitive(element).unwrap_or(element)
    } else {
        element
    };
    if dimensions == 0 && !element.contains('/') {
        return Cow::Borrowed(element);
    }
    let mut out = String::with_capacity(element.len() + 2 * dimensions);
    let mut rest = element;
    while let Some((package, class)) = rest.split_once('/') {
        out.push_str(package);
        // A hidden class's number follows its slash; no package starts with a digit.
        let number = class.starts_with(|c: char| c.is_ascii_digit());
        out.push(if number { '/' } else { '.' });
        rest = class;
    }
    out.push_str(rest);
    for _ in 0..dimensions {
        out.push_str("[]");
    }
    Cow::Owned(out)
}

fn primitive(descriptor: &str) -> Option<&'static str> {
    Some(match descriptor {
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_class_gives_one_name() {
        for raw in [
            "java/util/HashMap$Node",
            "Ljava/util/HashMap$Node;",
            "java.util.HashMap$Node",
        ] {
            assert_eq!(java_name(raw), "java.util.HashMap$Node");
        }
        assert_eq!(java_name("[Ljava/lang/String;"), "java.lang.String[]");
        assert_eq!(java_name("[[I"), "int[][]");
        assert_eq!(java_name("Main"), "Main");
        assert_eq!(java_name("L"), "L");
    }

    #[test]
    fn a_hidden_class_keeps_its_slash() {
        assert_eq!(
            java_name("com/acme/A$$Lambda/0x000001"),
            "com.acme.A$$Lambda/0x000001"
        );
        assert_eq!(java_name("Main$$Lambda/0x01"), "Main$$Lambda/0x01");
    }
}
