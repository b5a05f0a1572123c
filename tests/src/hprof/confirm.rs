//! Whether a chain that a report tells is in the dump, hop by hop.
//!
//! The dump is another instant of the same process, so objects may have come and gone: what is confirmed is that from
//! a root as told, over the fields and arrays as told, objects of the classes as told are reached.

use super::{Dump, Id, Root};
use chain_core::signature::normal_class;
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};

/// How a hop is reached.
#[derive(Clone, Debug)]
struct Hop {
    kind: String,
    name: String,
    class: String,
    repeats: bool,
}

impl Hop {
    fn of(hop: &Value) -> Self {
        let text = |path| {
            hop.pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        Self {
            kind: text("/edge/kind").to_owned(),
            name: text("/edge/name").to_owned(),
            class: normal_class(text("/class")),
            repeats: hop["run"].as_u64() > Some(1),
        }
    }
}

impl Dump {
    /// Follows the chain (as `report --format json` has it) from its root; the number of objects that its last hop
    /// stands for. Errs with the first hop that the dump does not show.
    pub fn confirm(&self, chain: &Value) -> Result<usize, String> {
        let hops: Vec<Hop> = chain["hops"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Hop::of)
            .collect();
        let first = hops.first().ok_or("a chain without hops")?;
        let mut here = self.held_by(&chain["root"], first)?;
        let mut at = 0;
        while let Some(hop) = hops.get(at) {
            if at > 0 {
                here = here.iter().flat_map(|&from| self.step(from, hop)).collect();
            }
            self.only(&mut here, &hop.class);
            let run: Vec<&Hop> = hops
                .get(at..)
                .unwrap_or_default()
                .iter()
                .take_while(|hop| hop.repeats)
                .collect();
            if !run.is_empty() {
                here = self.closure(here, &run);
            }
            if here.is_empty() {
                let before = at.checked_sub(1).and_then(|before| hops.get(before));
                let before = before.map_or("the root", |before| &before.class);
                return Err(format!(
                    "the dump has no {} {} {} behind {before}",
                    hop.kind, hop.name, hop.class
                ));
            }
            at += run.len().max(1);
        }
        Ok(here.len())
    }

    fn is_a(&self, object: Id, class: &str) -> bool {
        self.class_name(object)
            .is_some_and(|name| normal_class(&name) == class)
    }

    fn only(&self, objects: &mut HashSet<Id>, class: &str) {
        objects.retain(|&object| self.is_a(object, class));
    }

    /// What the root holds directly.
    fn held_by(&self, root: &Value, first: &Hop) -> Result<HashSet<Id>, String> {
        let text = |key| root[key].as_str().unwrap_or_default();
        let thread = text("thread");
        let held: HashSet<Id> = match text("kind") {
            "static-field" => self.statics(text("class"), text("field")).collect(),
            "finalizer" => self
                .statics("java.lang.ref.Finalizer", &first.name)
                .collect(),
            "thread" | "thread-local" => self
                .rooted(|root| root == Root::Thread)
                .filter(|&object| self.is_named(object, thread))
                .collect(),
            "jni-global" => self.rooted(|root| root == Root::JniGlobal).collect(),
            "jni-local" => self
                .rooted(|root| matches!(root, Root::JniLocal(of) if self.is_thread(of, thread)))
                .collect(),
            "stack-local" => {
                let told = |root| match root {
                    Root::JavaFrame(of, depth) => {
                        self.is_thread(of, thread)
                            && self.method(of, depth).is_some_and(|(class, method)| {
                                normal_class(&class) == normal_class(text("class"))
                                    && method == text("field")
                            })
                    }
                    _ => false,
                };
                self.rooted(told).collect()
            }
            "class-loader" => self
                .classes
                .values()
                .map(|class| class.loader)
                .filter(|loader| *loader != 0)
                .collect(),
            "system" => self.rooted(|root| root == Root::StickyClass).collect(),
            other => return Err(format!("roots of kind {other:?} are in no dump")),
        };
        let held: HashSet<Id> = held.into_iter().filter(|object| *object != 0).collect();
        if held.is_empty() {
            return Err(format!("the dump has no such root: {root}"));
        }
        Ok(held)
    }

    fn rooted(&self, fits: impl Fn(Root) -> bool) -> impl Iterator<Item = Id> {
        self.roots
            .iter()
            .filter(move |(_, root)| fits(*root))
            .map(|(object, _)| *object)
    }

    fn statics(&self, class: &str, field: &str) -> impl Iterator<Item = Id> {
        let class = normal_class(class);
        let named = self.classes.iter().filter(move |(id, _)| {
            self.class_names
                .get(*id)
                .is_some_and(|name| normal_class(name) == class)
        });
        named
            .flat_map(|(_, class)| &class.statics)
            .filter(move |(name, _)| self.text(*name) == field)
            .map(|(_, referent)| *referent)
    }

    fn is_named(&self, thread: Id, name: &str) -> bool {
        let told = self
            .fields(thread)
            .into_iter()
            .find(|(field, _)| *field == "name")
            .and_then(|(_, text)| self.string(text));
        told.as_deref() == Some(name)
    }

    fn is_thread(&self, serial: u32, name: &str) -> bool {
        self.threads
            .get(&serial)
            .is_some_and(|&(thread, _)| self.is_named(thread, name))
    }

    /// What `from` refers to by the edge of `hop`.
    fn step(&self, from: Id, hop: &Hop) -> Vec<Id> {
        match hop.kind.as_str() {
            "array" => self.elements(from),
            "class" => self.classes_around(from),
            _ => self
                .fields(from)
                .into_iter()
                .filter(|(name, _)| *name == hop.name)
                .map(|(_, referent)| referent)
                .collect(),
        }
    }

    /// The way from objects over classes to loaders and what they hold, which the JVM keeps without fields.
    fn classes_around(&self, from: Id) -> Vec<Id> {
        if let Some(class) = self.classes.get(&from) {
            let statics = class.statics.iter().map(|(_, referent)| *referent);
            return statics
                .chain([class.loader])
                .filter(|id| *id != 0)
                .collect();
        }
        let name = self.class_name(from);
        let own = self
            .class_names
            .iter()
            .filter(|(_, class)| Some(*class) == name.as_ref())
            .map(|(id, _)| *id);
        let loaded = self
            .classes
            .iter()
            .filter(|(_, class)| class.loader == from)
            .map(|(id, _)| *id);
        own.chain(loaded).collect()
    }

    /// Everything that a run's hops lead to, in any order: objects of the last hop's class. A run of one hop stays
    /// within one class and may use any of its fields, as a tree's `left` and `right`.
    fn closure(&self, start: HashSet<Id>, run: &[&Hop]) -> HashSet<Id> {
        let classes: BTreeSet<&str> = run.iter().map(|hop| hop.class.as_str()).collect();
        let mut seen = start;
        let mut todo: Vec<Id> = seen.iter().copied().collect();
        while let Some(from) = todo.pop() {
            let next = if run.len() == 1 {
                self.fields(from)
                    .into_iter()
                    .map(|(_, referent)| referent)
                    .collect()
            } else {
                run.iter()
                    .flat_map(|hop| self.step(from, hop))
                    .collect::<Vec<Id>>()
            };
            for object in next {
                let fits = self
                    .class_name(object)
                    .is_some_and(|name| classes.contains(normal_class(&name).as_str()));
                if fits && seen.insert(object) {
                    todo.push(object);
                }
            }
        }
        if let Some(last) = run.last() {
            self.only(&mut seen, &last.class);
        }
        seen
    }
}
