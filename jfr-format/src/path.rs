//! A chain as values and as the text that every recording carries.
//!
//! The text alone must suffice: hops of a recording may lie in another chunk or have expired. It
//! is one line, root first, links separated by ` -> `:
//!
//! ```text
//! static-field com.acme.OrderCache.BY_CUSTOMER -> .BY_CUSTOMER java.util.HashMap -> .table java.util.HashMap$Node[]
//!   -> [17/64] java.util.HashMap$Node x3 -> .value com.acme.Order
//! ```
//!
//! A link is an edge, the class it reaches, for a collection (or an array at the end) `#` and its size, where it grows
//! `^` and how many referents it led to and, for a run of the same class and edge, `x` and its length. An array that holds the next link has its length in that edge. Edges:
//! `.name` a field, `::name` a static field, `[index/length]`, `[index]` or `[*]` an array slot, `<name>` any
//! other. A word with a space, a quote, a backslash or a control character is quoted; inside quotes `\"`, `\\`
//! and `\u{hex}` stand for themselves.

use crate::entity::ClassInfo;
use std::fmt::Write as _;
use std::sync::Arc;

/// Where a GC root lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RootKind {
    /// A static field.
    StaticField,
    /// A live thread's own fields.
    Thread,
    /// A thread-local of a live thread.
    ThreadLocal,
    /// A class loader.
    ClassLoader,
    /// A JNI global reference.
    JniGlobal,
    /// A JNI local reference.
    JniLocal,
    /// A local of a frame.
    StackLocal,
    /// A monitor in use.
    Monitor,
    /// An object that waits for its finalizer.
    Finalizer,
    /// A class or object that the JVM itself holds.
    System,
    /// None of these, or not known.
    #[default]
    Unknown,
}

impl RootKind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::StaticField,
        Self::Thread,
        Self::ThreadLocal,
        Self::ClassLoader,
        Self::JniGlobal,
        Self::JniLocal,
        Self::StackLocal,
        Self::Monitor,
        Self::Finalizer,
        Self::System,
        Self::Unknown,
    ];

    /// The name in recordings and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StaticField => "static-field",
            Self::Thread => "thread",
            Self::ThreadLocal => "thread-local",
            Self::ClassLoader => "class-loader",
            Self::JniGlobal => "jni-global",
            Self::JniLocal => "jni-local",
            Self::StackLocal => "stack-local",
            Self::Monitor => "monitor",
            Self::Finalizer => "finalizer",
            Self::System => "system",
            Self::Unknown => "unknown",
        }
    }

    /// The kind that `name` names; `None` for any other word.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind that `name` names; [`RootKind::Unknown`] for any other.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        Self::parse(name).unwrap_or_default()
    }

    /// The kind in words, as a sentence would begin.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::StaticField => "static field",
            Self::Thread => "thread",
            Self::ThreadLocal => "thread-local of thread",
            Self::ClassLoader => "class loader",
            Self::JniGlobal => "JNI global reference (native code)",
            Self::JniLocal => "JNI local reference of thread",
            Self::StackLocal => "local variable of thread",
            Self::Monitor => "held monitor",
            Self::Finalizer => "finalizer queue",
            Self::System => "the JVM itself",
            Self::Unknown => "unknown root",
        }
    }

    /// What the JVM's own leak profiler calls the system and the type of such a root.
    #[must_use]
    pub const fn jvm_names(self) -> (&'static str, &'static str) {
        match self {
            Self::StaticField | Self::ClassLoader => ("Class Loader Data", "<unknown>"),
            Self::Thread | Self::ThreadLocal => ("Threads", "<unknown>"),
            Self::JniGlobal => ("JNI Global", "Global JNI Handle"),
            Self::JniLocal => ("Threads", "Local JNI Handle"),
            Self::StackLocal => ("Threads", "Stack Variable"),
            Self::Monitor => ("Monitors", "<unknown>"),
            Self::Finalizer => ("Finalizer", "<unknown>"),
            Self::System => ("Universe", "<unknown>"),
            Self::Unknown => ("<unknown>", "<unknown>"),
        }
    }
}

/// The GC root of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Root {
    /// Where it lives.
    pub kind: RootKind,
    /// What it is, in words: `com.acme.OrderCache.BY_CUSTOMER`, `"worker-1" frame com.acme.Main.run`.
    pub description: String,
}

/// How a holder refers to an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Edge {
    /// An instance field.
    Field {
        /// Field name.
        name: String,
    },
    /// A static field.
    Static {
        /// Field name.
        name: String,
    },
    /// An array slot.
    Array {
        /// Index, `None` when it was not read.
        index: Option<i32>,
        /// Length of the array, `None` when it was not read.
        length: Option<i32>,
    },
    /// Anything else, such as a root's direct hold.
    Other {
        /// What it is, such as `local` or `class-loader`.
        name: String,
    },
}

/// One hop of a chain: an object and the edge that reaches it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link {
    /// The edge from the holder, or from the root for the first hop.
    pub edge: Edge,
    /// Class of the object.
    pub class: Arc<ClassInfo>,
    /// Elements of a collection, length of an array that is the last link; `None` when it was not read.
    pub size: Option<i32>,
    /// Distinct referents that it led to over the instances, at least 2: it grows. `None` for one, or when not known.
    pub fan_out: Option<u32>,
    /// Consecutive hops of this class and edge that it stands for, at least 1.
    pub run: u32,
}

/// A chain, root first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChainPath {
    /// The GC root.
    pub root: Root,
    /// Hops from the root to the leaf.
    pub links: Vec<Link>,
}

impl ChainPath {
    /// A chain of links that each have the size of their own object, where it was read: that of an array which holds
    /// the next link goes into the edge.
    #[must_use]
    pub fn of(root: Root, links: impl IntoIterator<Item = Link>) -> Self {
        let mut links: Vec<Link> = links.into_iter().collect();
        let mut size_of_holder: Option<&mut Option<i32>> = None;
        for link in &mut links {
            if let (Edge::Array { length, .. }, Some(size)) = (&mut link.edge, size_of_holder) {
                *length = size.take();
            }
            size_of_holder = Some(&mut link.size);
        }
        Self { root, links }
    }

    /// The text of this chain. Everything but loaders, modules and modifiers can be read back.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::from(self.root.kind.name());
        if !self.root.description.is_empty() {
            out.push(' ');
            word(&mut out, &self.root.description);
        }
        for link in &self.links {
            out.push_str(" -> ");
            match &link.edge {
                Edge::Field { name } => prefixed(&mut out, ".", name, ""),
                Edge::Static { name } => prefixed(&mut out, "::", name, ""),
                Edge::Other { name } => prefixed(&mut out, "<", name, ">"),
                Edge::Array { index, length } => {
                    match index {
                        Some(index) => _ = write!(out, "[{index}"),
                        None => out.push_str("[*"),
                    }
                    if let Some(length) = length {
                        _ = write!(out, "/{length}");
                    }
                    out.push(']');
                }
            }
            out.push(' ');
            word(&mut out, &readable_class(&link.class.name));
            if let Some(size) = link.size {
                _ = write!(out, " #{size}");
            }
            if let Some(fan_out) = link.fan_out {
                _ = write!(out, " ^{fan_out}");
            }
            if link.run > 1 {
                _ = write!(out, " x{}", link.run);
            }
        }
        out
    }

    /// The chain that `text` stands for, `None` when it is not of this form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let words = words(text)?;
        let mut parts = words.split(|w| !w.quoted && w.text == "->");
        let root = match parts.next()? {
            [kind] => Root {
                kind: RootKind::from_name(&kind.text),
                description: String::new(),
            },
            [kind, description] => Root {
                kind: RootKind::from_name(&kind.text),
                description: description.text.clone(),
            },
            _ => return None,
        };
        let mut links = Vec::new();
        for part in parts {
            let [edge, class, more @ ..] = part else {
                return None;
            };
            let (mut size, mut fan_out, mut run) = (None, None, 1);
            for word in more {
                let mut rest = word.text.chars();
                match rest.next()? {
                    '#' => size = Some(rest.as_str().parse().ok()?),
                    '^' => fan_out = Some(rest.as_str().parse().ok()?),
                    'x' => run = rest.as_str().parse().ok()?,
                    _ => return None,
                }
            }
            links.push(Link {
                edge: parse_edge(&edge.text)?,
                class: Arc::new(ClassInfo::named(binary_class(&class.text))),
                size,
                fan_out,
                run,
            });
        }
        Some(Self { root, links })
    }
}

fn parse_edge(text: &str) -> Option<Edge> {
    if let Some(name) = text.strip_prefix("::") {
        return Some(Edge::Static {
            name: name.to_owned(),
        });
    }
    if let Some(name) = text.strip_prefix('.') {
        return Some(Edge::Field {
            name: name.to_owned(),
        });
    }
    if let Some(name) = text
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
    {
        return Some(Edge::Other {
            name: name.to_owned(),
        });
    }
    let inner = text.strip_prefix('[')?.strip_suffix(']')?;
    let (index, length) = match inner.split_once('/') {
        Some((index, length)) => (index, Some(length.parse().ok()?)),
        None => (inner, None),
    };
    let index = if index == "*" {
        None
    } else {
        Some(index.parse().ok()?)
    };
    Some(Edge::Array { index, length })
}

struct Word {
    text: String,
    quoted: bool,
}

fn needs_quotes(text: &str) -> bool {
    text.is_empty()
        || text == "->"
        || text
            .chars()
            .any(|c| c == ' ' || c == '"' || c == '\\' || c.is_control())
}

fn word(out: &mut String, text: &str) {
    prefixed(out, "", text, "");
}

/// Appends `before`, `text` and `after` as one word.
fn prefixed(out: &mut String, before: &str, text: &str, after: &str) {
    let whole = [before, text, after].concat();
    if !needs_quotes(&whole) {
        out.push_str(&whole);
        return;
    }
    out.push('"');
    for c in whole.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => _ = write!(out, "\\u{{{:x}}}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
}

fn words(text: &str) -> Option<Vec<Word>> {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if_eq(&' ').is_some() {}
        let Some(&first) = chars.peek() else {
            return Some(out);
        };
        let mut word = Word {
            text: String::new(),
            quoted: first == '"',
        };
        if word.quoted {
            chars.next();
            loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        'u' => {
                            chars.next_if_eq(&'{')?;
                            let mut hex = String::new();
                            while let Some(digit) = chars.next_if(|&c| c != '}') {
                                hex.push(digit);
                            }
                            chars.next()?;
                            word.text
                                .push(char::from_u32(u32::from_str_radix(&hex, 16).ok()?)?);
                        }
                        c => word.text.push(c),
                    },
                    c => word.text.push(c),
                }
            }
        } else {
            while let Some(c) = chars.next_if(|&c| c != ' ') {
                word.text.push(c);
            }
        }
        out.push(word);
    }
}

/// `[Ljava.lang.String;` as `java.lang.String[]`, `[[I` as `int[][]`, any other name unchanged.
#[must_use]
pub fn readable_class(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        return name.to_owned();
    }
    let readable = match element {
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        other => match other
            .strip_prefix('L')
            .and_then(|rest| rest.strip_suffix(';'))
        {
            Some(class) => class,
            None => return name.to_owned(),
        },
    };
    [readable, &"[]".repeat(dimensions)].concat()
}

/// The name that [`readable_class`] made readable: `int[][]` as `[[I`.
#[must_use]
pub fn binary_class(readable: &str) -> String {
    let mut element = readable;
    let mut dimensions = 0;
    while let Some(rest) = element.strip_suffix("[]") {
        element = rest;
        dimensions += 1;
    }
    if dimensions == 0 {
        return readable.to_owned();
    }
    let code = match element {
        "boolean" => "Z".to_owned(),
        "byte" => "B".to_owned(),
        "char" => "C".to_owned(),
        "short" => "S".to_owned(),
        "int" => "I".to_owned(),
        "long" => "J".to_owned(),
        "float" => "F".to_owned(),
        "double" => "D".to_owned(),
        class => format!("L{class};"),
    };
    ["[".repeat(dimensions).as_str(), &code].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(edge: Edge, class: &str, run: u32) -> Link {
        Link {
            edge,
            class: Arc::new(ClassInfo::named(class)),
            size: None,
            fan_out: None,
            run,
        }
    }

    #[test]
    fn the_size_of_an_array_stands_in_the_edge_to_what_it_holds() {
        let slot = Edge::Array {
            index: Some(3),
            length: None,
        };
        let sized = |edge: Edge, class: &str, size| Link {
            size,
            ..link(edge, class, 1)
        };
        let table = Edge::Field {
            name: "table".to_owned(),
        };
        let path = ChainPath::of(
            Root::default(),
            [
                sized(table, "[[I", Some(64)),
                sized(slot.clone(), "[I", Some(7)),
            ],
        );
        assert_eq!(
            path.to_text(),
            "unknown -> .table int[][] -> [3/64] int[] #7"
        );
        // A root that is an array has no link of its own to take a size from.
        let path = ChainPath::of(Root::default(), [sized(slot, "[I", None)]);
        assert_eq!(path.to_text(), "unknown -> [3] int[]");
    }

    #[test]
    fn a_chain_reads_as_one_line_from_the_root() {
        let chain = ChainPath {
            root: Root {
                kind: RootKind::StaticField,
                description: "com.acme.OrderCache.BY_CUSTOMER".into(),
            },
            links: vec![
                link(
                    Edge::Static {
                        name: "BY_CUSTOMER".into(),
                    },
                    "java.util.HashMap",
                    1,
                ),
                link(
                    Edge::Field {
                        name: "table".into(),
                    },
                    "[Ljava.util.HashMap$Node;",
                    1,
                ),
                link(
                    Edge::Array {
                        index: Some(17),
                        length: Some(64),
                    },
                    "java.util.HashMap$Node",
                    1,
                ),
                link(
                    Edge::Field {
                        name: "next".into(),
                    },
                    "java.util.HashMap$Node",
                    3,
                ),
                link(
                    Edge::Array {
                        index: None,
                        length: None,
                    },
                    "com.acme.Order",
                    1,
                ),
            ],
        };
        let text = "static-field com.acme.OrderCache.BY_CUSTOMER -> ::BY_CUSTOMER java.util.HashMap \
                    -> .table java.util.HashMap$Node[] -> [17/64] java.util.HashMap$Node \
                    -> .next java.util.HashMap$Node x3 -> [*] com.acme.Order";
        assert_eq!(chain.to_text(), text);
        assert_eq!(ChainPath::parse(text), Some(chain.clone()));
        let mut sized = chain;
        sized.links[0].size = Some(120_331);
        sized.links[3].size = Some(0);
        sized.links[1].fan_out = Some(64);
        let text = text
            .replace("java.util.HashMap ->", "java.util.HashMap #120331 ->")
            .replace("Node[] ->", "Node[] ^64 ->")
            .replace(" x3", " #0 x3");
        assert_eq!(sized.to_text(), text);
        assert_eq!(ChainPath::parse(&text), Some(sized));
    }

    #[test]
    fn text_of_another_form_is_none() {
        for text in [
            "",
            "a b c",
            "jni-global -> .x",
            "jni-global -> x y",
            "jni-global -> [q] y",
            "jni-global -> .x y #z",
            "jni-global -> .x y ^-2",
            "jni-global -> .x y z",
            "\"open",
        ] {
            assert_eq!(ChainPath::parse(text), None, "{text}");
        }
    }

    fn edges() -> impl Strategy<Value = Edge> {
        prop_oneof![
            ".*".prop_map(|name| Edge::Field { name }),
            "[^:]*".prop_map(|name| Edge::Static { name }),
            ".*".prop_map(|name| Edge::Other { name }),
            (any::<Option<i32>>(), any::<Option<i32>>())
                .prop_map(|(index, length)| Edge::Array { index, length }),
        ]
    }

    proptest! {
        #[test]
        fn every_chain_reads_back(
            kind in proptest::sample::select(RootKind::ALL.to_vec()),
            description in ".*",
            links in proptest::collection::vec((edges(), "[^\\[\\];]*", any::<Option<i32>>(), any::<Option<u32>>(), 1_u32..), 0..8),
        ) {
            let chain = ChainPath {
                root: Root { kind, description },
                links: links
                    .into_iter()
                    .map(|(edge, class, size, fan_out, run)| Link { size, fan_out, ..link(edge, &class, run) })
                    .collect(),
            };
            prop_assert_eq!(ChainPath::parse(&chain.to_text()), Some(chain));
        }

        #[test]
        fn parsing_never_panics(text: String) {
            _ = ChainPath::parse(&text);
        }
    }
}
