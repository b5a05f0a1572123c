//! Classes, threads and stack traces as plain values, shared by `Arc`.
//!
//! The writer turns them into constants, the reader makes them from constants. The agent's
//! `EventFactory` path needs live Java objects instead: `handle` lets it find them and is not written.

use std::sync::Arc;

/// A Java class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClassInfo {
    /// Name as `Class.getName()` gives it: `java.util.HashMap$Node`, `[Ljava.lang.String;`, `[I`.
    pub name: String,
    /// `java.lang.reflect.Modifier` bits.
    pub modifiers: i32,
    /// Whether the class is hidden (a lambda's, for one).
    pub hidden: bool,
    /// Defining loader; `None` is the boot loader.
    pub loader: Option<Arc<LoaderInfo>>,
    /// Name of a named module.
    pub module: Option<String>,
    /// The caller's token for a live class; 0 for none. Never written.
    pub handle: u64,
}

impl ClassInfo {
    /// A class of which only the name is known.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// The package of a class that is no array, without a trailing dot; empty for the unnamed one.
    #[must_use]
    pub fn package(&self) -> &str {
        if self.name.starts_with('[') {
            return "";
        }
        // A hidden class's name ends in "/<address>": the package ends before the last dot of the rest.
        let name = self.name.split('/').next().unwrap_or("");
        name.rsplit_once('.').map_or("", |(package, _)| package)
    }
}

/// A class loader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LoaderInfo {
    /// Name of the loader's class.
    pub class_name: String,
    /// The loader's own name, such as `app`.
    pub name: Option<String>,
}

/// A Java thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ThreadInfo {
    /// Name that the operating system knows.
    pub os_name: Option<String>,
    /// Thread id of the operating system; 0 when unknown.
    pub os_thread_id: i64,
    /// `Thread.getName()`.
    pub java_name: Option<String>,
    /// `Thread.getId()`; 0 for a thread that is no Java thread.
    pub java_thread_id: i64,
    /// Name of the thread group.
    pub group: Option<String>,
    /// Whether it is a virtual thread.
    pub is_virtual: bool,
    /// The caller's token for a live thread; 0 for none. Never written.
    pub handle: u64,
}

/// A Java method.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MethodInfo {
    /// Declaring class.
    pub class: Arc<ClassInfo>,
    /// Name, such as `put`.
    pub name: String,
    /// Descriptor, such as `(Ljava/lang/Object;)V`.
    pub descriptor: String,
    /// `java.lang.reflect.Modifier` bits.
    pub modifiers: i32,
    /// Whether stack traces usually leave the method out.
    pub hidden: bool,
}

/// How a frame was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrameKind {
    /// Not known.
    #[default]
    Unknown,
    /// By the interpreter.
    Interpreted,
    /// In compiled code.
    JitCompiled,
    /// In compiled code of a caller.
    Inlined,
    /// In native code.
    Native,
}

impl FrameKind {
    /// All of them, in the order of their wire numbers.
    pub const ALL: [Self; 5] = [
        Self::Unknown,
        Self::Interpreted,
        Self::JitCompiled,
        Self::Inlined,
        Self::Native,
    ];

    /// The text in a recording.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::Interpreted => "Interpreted",
            Self::JitCompiled => "JIT compiled",
            Self::Inlined => "Inlined",
            Self::Native => "Native",
        }
    }

    /// The kind that a recording's text names; [`FrameKind::Unknown`] for any other.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|kind| kind.text() == text)
            .unwrap_or_default()
    }
}

/// One frame of a stack trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FrameInfo {
    /// The method.
    pub method: Arc<MethodInfo>,
    /// Source line, `None` when the class has no line numbers.
    pub line: Option<i32>,
    /// Index of the bytecode, `None` in native methods.
    pub bytecode_index: Option<i32>,
    /// How the frame was executed.
    pub kind: FrameKind,
}

/// A stack trace, innermost frame first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackInfo {
    /// Frames, innermost first.
    pub frames: Vec<FrameInfo>,
    /// Whether deeper frames were left out.
    pub truncated: bool,
}

impl StackInfo {
    /// The trace as text, one `class.method:line` a line, innermost first.
    ///
    /// The form in recordings whose event types allow no stack trace as a field.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for (at, frame) in self.frames.iter().enumerate() {
            if at > 0 {
                out.push('\n');
            }
            out.push_str(&frame.method.class.name);
            out.push('.');
            out.push_str(&frame.method.name);
            if let Some(line) = frame.line {
                out.push(':');
                out.push_str(&line.to_string());
            }
        }
        if self.truncated {
            out.push_str("\n...");
        }
        out
    }

    /// The trace that [`StackInfo::to_text`] wrote; modifiers, descriptors and loaders are gone.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut trace = Self::default();
        for line in text.lines() {
            if line == "..." {
                trace.truncated = true;
                continue;
            }
            let (place, number) = match line.rsplit_once(':') {
                Some((place, number)) if number.parse::<i32>().is_ok() => {
                    (place, number.parse().ok())
                }
                _ => (line, None),
            };
            let (class, method) = place.rsplit_once('.').unwrap_or(("", place));
            trace.frames.push(FrameInfo {
                method: Arc::new(MethodInfo {
                    class: Arc::new(ClassInfo::named(class)),
                    name: method.to_owned(),
                    ..MethodInfo::default()
                }),
                line: number,
                ..FrameInfo::default()
            });
        }
        trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_ends_before_the_class_and_arrays_have_none() {
        let package = |name: &str| ClassInfo::named(name).package().to_owned();
        assert_eq!(package("java.util.HashMap$Node"), "java.util");
        assert_eq!(package("com.acme.A$$Lambda/0x01.2"), "com.acme");
        assert_eq!(package("Main"), "");
        assert_eq!(package("[Ljava.lang.String;"), "");
    }

    #[test]
    fn a_trace_survives_its_text() {
        let text = "com.acme.Cache.put:17\ncom.acme.Main.<init>\n...";
        assert_eq!(StackInfo::from_text(text).to_text(), text);
        assert!(StackInfo::from_text(text).truncated);
    }
}
