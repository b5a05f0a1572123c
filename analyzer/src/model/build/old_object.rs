//! `jdk.OldObjectSample`: the JVM's own survivors, with a path to a GC root when it was asked for.

use std::collections::{BTreeMap, HashSet};

use super::source::{class_name, frames, java_name, span, text, thread_name, time};
use crate::model::identity::field_edge_kind;
use crate::model::{Chain, Edge, EdgeKind, EpochNanos, Frame, Hop, Producer, Root, RootKind};
use crate::reader::{Event, Struct};

/// References followed at most; longer paths end with a gap.
const MAX_STEPS: usize = 100_000;
/// Classes whose samples without a path are told apart.
const MAX_CLASSES: usize = 512;

/// What the samples of a recording say.
#[derive(Debug, Default)]
pub struct OldObjects {
    /// Chains by id.
    pub chains: BTreeMap<String, Chain>,
    /// Samples without a path, by class.
    pub without_path: BTreeMap<String, Survivors>,
    /// Samples seen, each counted once.
    pub samples: u64,
    /// Samples that have a path.
    pub with_path: u64,
    /// Allocation time and class of the samples seen: a sample recurs in every dump.
    seen: HashSet<(i64, String)>,
}

/// Old objects of one class without a path.
#[derive(Debug, Default, Clone)]
pub struct Survivors {
    /// How many.
    pub count: u64,
    /// Their sizes, where known.
    pub bytes: u64,
    /// The oldest one's thread.
    pub thread: Option<String>,
    /// The oldest one's allocation.
    pub stack: Vec<Frame>,
    /// When the oldest one was allocated.
    pub oldest: Option<EpochNanos>,
}

impl OldObjects {
    /// Takes one `jdk.OldObjectSample`.
    pub fn event(&mut self, event: &Event<'_>, at: EpochNanos) {
        let Some(object) = event.get_struct("object") else {
            return;
        };
        let class = object_class(&object);
        let allocated = event.time("allocationTime").map(time);
        if let Some(allocated) = allocated
            && !self.seen.insert((allocated.get(), class.clone()))
        {
            return;
        }
        self.samples += 1;
        let size = event
            .i64("objectSize")
            .and_then(|size| u64::try_from(size).ok());
        let thread = event.thread().and_then(|thread| thread_name(&thread));
        let stack = event
            .get_struct("stackTrace")
            .map(|trace| frames(&trace))
            .unwrap_or_default();
        let root = event.get_struct("root");
        let has_path = root.is_some() || object.get_struct("referrer").is_some();
        if !has_path {
            self.survivor(class, size, thread, stack, allocated);
            return;
        }
        self.with_path += 1;
        let mut chain = chain_of(&object, root.as_ref());
        chain.retained_sampled_bytes = size;
        chain.instances = Some(1);
        chain.allocating_thread = thread;
        chain.stack = stack;
        let age = event.span("objectAge").map(span);
        chain.first_seen = allocated
            .or_else(|| Some(EpochNanos::new(at.get() - i64::try_from(age?.0).ok()?)))
            .or(Some(at));
        chain.last_seen = Some(at);
        self.add(chain);
    }

    fn survivor(
        &mut self,
        class: String,
        size: Option<u64>,
        thread: Option<String>,
        stack: Vec<Frame>,
        allocated: Option<EpochNanos>,
    ) {
        if self.without_path.len() >= MAX_CLASSES && !self.without_path.contains_key(&class) {
            return;
        }
        let known = self.without_path.entry(class).or_default();
        known.count += 1;
        known.bytes += size.unwrap_or(0);
        if known.stack.is_empty() || allocated < known.oldest {
            known.thread = thread;
            known.stack = stack;
            known.oldest = allocated;
        }
    }

    /// Joins a chain with an earlier one of the same id.
    pub fn add(&mut self, chain: Chain) {
        match self.chains.get_mut(&chain.id) {
            Some(known) => known.join(chain),
            None => {
                self.chains.insert(chain.id.clone(), chain);
            }
        }
    }

    /// Adds what later chunks say.
    pub fn append(&mut self, later: Self) {
        // A dump repeats the samples of the one before. Counting them once needs the samples
        // themselves, of which only the identities are kept: when all are known, nothing is new.
        let new = later.seen.difference(&self.seen).count();
        if new == 0 && !later.seen.is_empty() {
            return;
        }
        self.seen.extend(later.seen);
        self.samples += later.samples;
        self.with_path += later.with_path;
        for chain in later.chains.into_values() {
            self.add(chain);
        }
        for (class, survivors) in later.without_path {
            let known = self.without_path.entry(class).or_default();
            known.count += survivors.count;
            known.bytes += survivors.bytes;
            if known.stack.is_empty() {
                known.thread = survivors.thread;
                known.stack = survivors.stack;
                known.oldest = survivors.oldest;
            }
        }
    }
}

/// The object's class; for an array `jdk.types.OldObject` gives the array class.
fn object_class(object: &Struct<'_>) -> String {
    object
        .get_struct("type")
        .and_then(|class| class_name(&class))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The chain from the root to `object`, read along its referrers.
fn chain_of(object: &Struct<'_>, root: Option<&Struct<'_>>) -> Chain {
    // From the leaf up: each object with the edge into it.
    let mut upward: Vec<Hop> = Vec::new();
    let mut current = *object;
    let mut steps = 0;
    let mut statics = None;
    loop {
        let class = object_class(&current);
        let Some(reference) = current.get_struct("referrer") else {
            upward.push(hop(class, root_edge()));
            break;
        };
        let holder = reference.get_struct("object");
        let holder_class = holder.as_ref().map(object_class);
        let edge = edge_of(&reference, holder_class.as_deref());
        // A static field's holder is the class object: there the chain begins for a reader.
        if edge.kind == EdgeKind::Static
            && let Some(holder) = &holder
        {
            statics = mirrored_class(holder).map(|class| (class, edge.name.clone()));
        }
        upward.push(hop(class, edge));
        let skipped = reference.i64("skip").unwrap_or(0);
        if skipped > 0 {
            let mut gap = hop("...".to_owned(), Edge::unknown());
            gap.run = u64::try_from(skipped).unwrap_or(1);
            upward.push(gap);
        }
        steps += 1;
        match holder {
            Some(holder) if statics.is_none() && steps < MAX_STEPS => current = holder,
            _ => break,
        }
    }
    upward.reverse();
    let root = match statics {
        Some((class, field)) => Root {
            kind: RootKind::StaticField,
            text: format!("static field {class}.{}", field.as_deref().unwrap_or("?")),
            class: Some(class),
            field,
            thread: None,
        },
        None => root_of(root, upward.first()),
    };
    let mut chain = Chain::of_path(Producer::Jdk, root, upward, None);
    if chain.root.kind == RootKind::Unknown {
        chain.strength = crate::model::Strength::Unknown;
    }
    chain
}

fn hop(class: String, edge: Edge) -> Hop {
    Hop {
        class,
        edge,
        run: 1,
        size: None,
    }
}

fn root_edge() -> Edge {
    Edge {
        kind: EdgeKind::Root,
        name: None,
        index: None,
    }
}

/// The edge that `reference` (of type `jdk.types.Reference`) tells, held by `holder`.
fn edge_of(reference: &Struct<'_>, holder: Option<&str>) -> Edge {
    if let Some(array) = reference.get_struct("array") {
        return Edge {
            kind: EdgeKind::Array,
            name: None,
            index: array
                .i64("index")
                .and_then(|index| u64::try_from(index).ok()),
        };
    }
    let Some(field) = reference.get_struct("field") else {
        return Edge::unknown();
    };
    let name = text(&field, "name");
    let modifiers = field.i64("modifiers").unwrap_or(0);
    /// `java.lang.reflect.Modifier.STATIC`.
    const STATIC: i64 = 0x8;
    let kind = if modifiers & STATIC != 0 {
        EdgeKind::Static
    } else {
        field_edge_kind(holder.unwrap_or(""), name.as_deref().unwrap_or(""))
    };
    Edge {
        kind,
        name,
        index: None,
    }
}

/// The class that a `java.lang.Class` object stands for, from its description.
fn mirrored_class(object: &Struct<'_>) -> Option<String> {
    let description = text(object, "description")?;
    let name = description
        .strip_prefix("Class Name: ")
        .unwrap_or(&description);
    Some(java_name(name.trim()).into_owned())
}

/// What the JVM's words for a root mean: system and type of `jdk.types.OldObjectGcRoot`.
const ROOTS: &[(&str, RootKind)] = &[
    ("stack variable", RootKind::StackLocal),
    ("local jni handle", RootKind::JniLocal),
    ("jni local", RootKind::JniLocal),
    ("global jni handle", RootKind::JniGlobal),
    ("jni global", RootKind::JniGlobal),
    ("global object handle", RootKind::JniGlobal),
    ("vm global", RootKind::System),
    ("class loader data", RootKind::ClassLoader),
    ("monitor", RootKind::Monitor),
    ("object synchronizer", RootKind::Monitor),
    ("finalizer", RootKind::Finalizer),
    ("threads", RootKind::Thread),
    ("thread", RootKind::Thread),
    ("system dictionary", RootKind::System),
    ("universe", RootKind::System),
    ("string table", RootKind::System),
    ("code cache", RootKind::System),
    ("management", RootKind::System),
    ("jvmti", RootKind::System),
    ("aot", RootKind::System),
    ("jvmci", RootKind::System),
];

fn root_of(root: Option<&Struct<'_>>, first: Option<&Hop>) -> Root {
    let Some(root) = root else {
        return Root {
            kind: RootKind::Unknown,
            text: String::new(),
            class: None,
            field: None,
            thread: None,
        };
    };
    let description = text(root, "description").unwrap_or_default();
    let system = words(root, "system", "system");
    let kind = words(root, "type", "type");
    let told: Vec<&str> = [kind.as_str(), system.as_str()]
        .into_iter()
        .filter(|word| !word.is_empty() && !word.contains("nknown"))
        .collect();
    let found = told.iter().find_map(|word| {
        let word = word.to_ascii_lowercase();
        let row = ROOTS.iter().find(|(part, _)| word.contains(part));
        row.map(|(_, kind)| *kind)
    });
    let thread = description
        .strip_prefix("Thread Name: ")
        .map(|name| name.trim().to_owned());
    let loader = description
        .split_once("Class Loader Type: ")
        .or_else(|| description.split_once("Class Name: "))
        .map(|(_, rest)| java_name(rest.trim()).into_owned());
    let text = if told.is_empty() || description.is_empty() {
        told.first()
            .map_or(description.clone(), |word| (*word).to_owned())
    } else {
        format!("{}: {description}", told.join(", "))
    };
    let is_thread = thread.is_some() || first.is_some_and(|hop| hop.class == "java.lang.Thread");
    Root {
        kind: match found {
            Some(kind) => kind,
            None if is_thread => RootKind::Thread,
            None => RootKind::Unknown,
        },
        text,
        class: loader,
        field: None,
        thread,
    }
}

/// The text of the one-field constant in field `name`.
fn words(root: &Struct<'_>, name: &str, inner: &str) -> String {
    text(root, name)
        .or_else(|| text(&root.get_struct(name)?, inner))
        .unwrap_or_default()
}
