//! The GC roots of a search, in the order in which they are taken up: statics of application classes, threads
//! (candidate threads first), statics of the JDK's classes; then what only a safepoint can show.

use std::collections::HashMap;
use std::sync::Arc;

use chain_core::ThreadId;
use chain_core::chain::{Frame, RootKind};

use super::catalogue::{Catalogue, ClassIndex};
use super::nodes::RootId;
use crate::jvm::env::{FieldId, Jni, Obj, Weak};

/// A GC root.
#[derive(Debug)]
pub enum Root {
    /// A static field.
    Static {
        /// Declaring class.
        class: ClassIndex,
        /// For reading it.
        field: FieldId,
        /// Its name.
        name: Arc<str>,
        /// What statics of classes with one name, made by several loaders, have in common.
        group: Option<Arc<str>>,
    },
    /// A live platform thread's object.
    Thread {
        /// The thread.
        thread: Weak,
        /// Its name when it was first seen.
        name: Arc<str>,
        /// The agent's id of it.
        id: Option<ThreadId>,
    },
    /// No root: what is left of one that was given back.
    None,
    /// What a safepoint showed: a stack or JNI local, a JNI global, a held monitor.
    Seen {
        /// The object that the root refers to.
        object: Weak,
        /// Which kind of root.
        kind: RootKind,
        /// Where it lives, for locals.
        place: Option<Place>,
    },
}

impl Root {
    /// Frees its weak reference.
    pub fn free(self, jni: &Jni<'_>) {
        match self {
            Self::Static { .. } | Self::None => {}
            Self::Thread { thread: weak, .. } | Self::Seen { object: weak, .. } => {
                jni.delete_weak(weak);
            }
        }
    }
}

/// The frame of a local.
#[derive(Debug, Clone)]
pub struct Place {
    /// The thread's name.
    pub thread: Arc<str>,
    /// The agent's id of the thread.
    pub id: Option<ThreadId>,
    /// The method's class, as Java writes it.
    pub class: Option<Arc<str>>,
    /// The method.
    pub method: Option<Arc<str>>,
    /// Depth, slot, line.
    pub frame: Frame,
}

/// All roots of a search, and which of them read alike.
#[derive(Debug, Default)]
pub struct Roots {
    all: Vec<Root>,
    /// Threads of one pool are one root in a signature.
    pools: HashMap<String, RootId>,
}

impl Roots {
    /// Adds a root; answers its id and the id that stands for it in signatures.
    ///
    /// # Errors
    /// Gives the root back beyond 2^32 roots.
    pub fn add(&mut self, root: Root) -> Result<(RootId, RootId), Root> {
        let Ok(id) = u32::try_from(self.all.len()) else {
            return Err(root);
        };
        let id = RootId(id);
        let group = match &root {
            Root::None => None,
            Root::Static { group, name, .. } => {
                group.as_deref().map(|class| format!("{class}{name}"))
            }
            Root::Thread { name, .. } => Some(pool_of(name)),
            Root::Seen { kind, place, .. } => Some(match place {
                Some(place) => format!(
                    "{}|{}|{}|{}",
                    kind.name(),
                    pool_of(&place.thread),
                    place.class.as_deref().unwrap_or_default(),
                    place.method.as_deref().unwrap_or_default(),
                ),
                None => kind.name().to_owned(),
            }),
        };
        let stands_for = match group {
            Some(group) => *self.pools.entry(group).or_insert(id),
            None => id,
        };
        self.all.push(root);
        Ok((id, stands_for))
    }

    /// Takes the last root back.
    pub fn take_last(&mut self) -> Option<Root> {
        self.all.pop()
    }

    /// A root.
    #[must_use]
    pub fn get(&self, id: RootId) -> Option<&Root> {
        self.all.get(id.0 as usize)
    }

    /// What the root refers to now; `None` when that is null, dead or unloaded.
    #[must_use]
    pub fn read<'f>(&self, jni: &Jni<'f>, catalogue: &Catalogue, id: RootId) -> Option<Obj<'f>> {
        match self.get(id)? {
            Root::Static { class, field, .. } => {
                let class = catalogue.upgrade(jni, *class)?;
                // SAFETY: the id is of a static reference field of this class, which the local reference pins.
                let value = unsafe { jni.static_object_field(&class, *field) };
                jni.delete(class);
                value
            }
            Root::None => None,
            Root::Thread { thread, .. } => jni.upgrade(thread),
            Root::Seen { object, .. } => jni.upgrade(object),
        }
    }

    /// Frees every weak reference.
    pub fn clear(&mut self, jni: &Jni<'_>) {
        for root in self.all.drain(..) {
            root.free(jni);
        }
        self.pools.clear();
    }
}

/// A thread name with its numbers erased: threads of one pool read alike.
#[must_use]
pub fn pool_of(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_digit() {
            if !out.ends_with('#') {
                out.push('#');
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Which classes' statics are still to be read.
#[derive(Debug, Default)]
pub struct StaticScan {
    order: Vec<ClassIndex>,
    next: usize,
    scanned: Vec<bool>,
}

impl StaticScan {
    /// Queues every class that has not been scanned: application classes when `application`, else the JDK's.
    /// Answers how many were queued.
    pub fn queue(&mut self, catalogue: &Catalogue, application: bool) -> usize {
        self.order.clear();
        self.next = 0;
        self.scanned.resize(catalogue.count(), false);
        for (index, done) in self.scanned.iter().enumerate() {
            let Ok(index) = ClassIndex::try_from(index) else {
                break;
            };
            if !done
                && let Some(class) = catalogue.get(index)
                && class.loader.is_application() == application
            {
                self.order.push(index);
            }
        }
        self.order.len()
    }

    /// The next class, `None` at the end.
    pub fn next_class(&mut self) -> Option<ClassIndex> {
        let class = self.order.get(self.next).copied()?;
        self.next += 1;
        Some(class)
    }

    /// The class's statics were read: it need not be looked at again in this search.
    pub fn done(&mut self, class: ClassIndex) {
        if let Some(done) = self.scanned.get_mut(class as usize) {
            *done = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_one_pool_read_alike() {
        assert_eq!(pool_of("pool-1-thread-23"), pool_of("pool-12-thread-7"));
        assert_ne!(pool_of("main"), pool_of("http-1"));
    }
}
