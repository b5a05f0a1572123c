//! Classes, threads, stack traces and names as constants: one key a value, written once a chunk.

use crate::pool::{Pending, Pool};
use jfr_format::entity::{ClassInfo, FrameKind, LoaderInfo, MethodInfo, StackInfo, ThreadInfo};
use jfr_format::{string, varint};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Values that one pool remembers. Beyond it the pool starts anew: a value then gets a second key,
/// which is legal, and no key gets a second value.
const MOST_REMEMBERED: usize = 16_384;

/// Longest text that is worth a constant, bytes.
const LONGEST_NAME: usize = 256;

/// Shortest text that is worth one.
const SHORTEST_NAME: usize = 4;

/// Key of a constant and the chunk it was written in last.
#[derive(Clone, Copy)]
struct Known {
    key: u64,
    chunk: u64,
}

/// Every pool of the process.
pub(crate) struct Constants {
    chunk: u64,
    pools: [Pending; Pool::COUNT],
    texts: HashMap<String, Known>,
    symbols: HashMap<String, Known>,
    classes: HashMap<Arc<ClassInfo>, Known>,
    packages: HashMap<(String, Option<String>), Known>,
    modules: HashMap<String, Known>,
    loaders: HashMap<Arc<LoaderInfo>, Known>,
    methods: HashMap<Arc<MethodInfo>, Known>,
    frame_types: HashMap<FrameKind, Known>,
    stacks: HashMap<Arc<StackInfo>, Known>,
    groups: HashMap<String, Known>,
    threads: HashMap<Arc<ThreadInfo>, Known>,
    root_systems: HashMap<&'static str, Known>,
    root_types: HashMap<&'static str, Known>,
    roots: HashMap<(String, &'static str, &'static str), Known>,
    arrays: HashMap<(i32, i32), Known>,
    fields: HashMap<(String, i16), Known>,
    objects: HashMap<(u64, u64, Option<String>), Known>,
    references: HashMap<(u64, u64, u64, u64), Known>,
}

/// Looks a value up; when this chunk does not have it yet, writes it under its key.
macro_rules! intern {
    ($self:ident, $map:ident, $pool:expr, $value:expr, $owned:expr, |$s:ident, $out:ident| $encode:expr) => {{
        let chunk = $self.chunk;
        let known = $self.$map.get($value).copied();
        match known {
            Some(known) if known.chunk == chunk => known.key,
            _ => {
                let key = known.map_or_else(|| $self.pending($pool).fresh_key(), |known| known.key);
                // Marked before its parts are written: a class, its package, module and loader may form a cycle.
                remember(&mut $self.$map, $owned, Known { key, chunk });
                let mut encoded = Vec::new();
                {
                    let $s = &mut *$self;
                    let $out = &mut encoded;
                    $encode;
                }
                $self.pending($pool).put(key, |out| out.extend_from_slice(&encoded));
                key
            }
        }
    }};
}

fn remember<K: Hash + Eq>(map: &mut HashMap<K, Known>, value: K, known: Known) {
    if map.len() >= MOST_REMEMBERED && !map.contains_key(&value) {
        map.clear();
    }
    map.insert(value, known);
}

impl Constants {
    pub(crate) fn new() -> Self {
        Self {
            chunk: 0,
            pools: std::array::from_fn(|_| Pending::default()),
            texts: HashMap::new(),
            symbols: HashMap::new(),
            classes: HashMap::new(),
            packages: HashMap::new(),
            modules: HashMap::new(),
            loaders: HashMap::new(),
            methods: HashMap::new(),
            frame_types: HashMap::new(),
            stacks: HashMap::new(),
            groups: HashMap::new(),
            threads: HashMap::new(),
            root_systems: HashMap::new(),
            root_types: HashMap::new(),
            roots: HashMap::new(),
            arrays: HashMap::new(),
            fields: HashMap::new(),
            objects: HashMap::new(),
            references: HashMap::new(),
        }
    }

    /// Starts a chunk: every constant is written again when it is used. Nothing may be pending.
    pub(crate) const fn next_chunk(&mut self) {
        self.chunk += 1;
    }

    pub(crate) fn pending(&mut self, pool: Pool) -> &mut Pending {
        #[allow(
            clippy::indexing_slicing,
            reason = "the array has an element for every pool"
        )]
        &mut self.pools[pool as usize]
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = (Pool, &Pending)> {
        Pool::ALL.into_iter().zip(&self.pools)
    }

    /// Bytes that wait in all pools.
    pub(crate) fn pending_len(&self) -> usize {
        self.pools.iter().map(Pending::len).sum()
    }

    pub(crate) fn clear_pending(&mut self) {
        self.pools.iter_mut().for_each(Pending::clear);
    }

    pub(crate) fn mark(&self) -> [(u64, usize); Pool::COUNT] {
        std::array::from_fn(|at| self.pools.get(at).map_or((0, 0), Pending::mark))
    }

    /// Forgets what was added since `mark`. The caller starts a new chunk next: this one now believes
    /// that it has constants which it lacks.
    pub(crate) fn roll_back(&mut self, marks: [(u64, usize); Pool::COUNT]) {
        for (pool, mark) in self.pools.iter_mut().zip(marks) {
            pool.roll_back(mark);
        }
    }

    /// Appends a text that recurs: inline when it is very short or long, else by its key.
    pub(crate) fn put_name(&mut self, out: &mut Vec<u8>, text: Option<&str>) {
        match text {
            Some(text) if (SHORTEST_NAME..=LONGEST_NAME).contains(&text.len()) => {
                let key = intern!(self, texts, Pool::Text, text, text.to_owned(), |_s, out| {
                    string::put(out, Some(text))
                });
                string::put_pooled(out, key);
            }
            other => string::put(out, other),
        }
    }

    fn symbol(&mut self, text: &str) -> u64 {
        intern!(
            self,
            symbols,
            Pool::Symbol,
            text,
            text.to_owned(),
            |_s, out| string::put(out, Some(text))
        )
    }

    pub(crate) fn class(&mut self, class: &Arc<ClassInfo>) -> u64 {
        intern!(
            self,
            classes,
            Pool::Class,
            class,
            class.clone(),
            |s, out| {
                let loader = class.loader.as_ref().map_or(0, |loader| s.loader(loader));
                let name = s.symbol(&internal_name(&class.name));
                let package = s.package(class);
                varint::put_u64(out, loader);
                varint::put_u64(out, name);
                varint::put_u64(out, package);
                varint::put_i32(out, class.modifiers);
                out.push(u8::from(class.hidden));
            }
        )
    }

    fn package(&mut self, class: &ClassInfo) -> u64 {
        let name = class.package();
        if name.is_empty() {
            return 0;
        }
        let value = (name.to_owned(), class.module.clone());
        intern!(
            self,
            packages,
            Pool::Package,
            &value,
            value.clone(),
            |s, out| {
                let name = s.symbol(&value.0.replace('.', "/"));
                let module = value.1.as_deref().map_or(0, |module| s.module(module));
                varint::put_u64(out, name);
                varint::put_u64(out, module);
                out.push(0);
            }
        )
    }

    fn module(&mut self, name: &str) -> u64 {
        intern!(
            self,
            modules,
            Pool::Module,
            name,
            name.to_owned(),
            |s, out| {
                let name = s.symbol(name);
                varint::put_u64(out, name);
                out.extend([0, 0, 0]);
            }
        )
    }

    fn loader(&mut self, loader: &Arc<LoaderInfo>) -> u64 {
        intern!(
            self,
            loaders,
            Pool::ClassLoader,
            loader,
            loader.clone(),
            |s, out| {
                let class = s.class(&Arc::new(ClassInfo::named(loader.class_name.as_str())));
                let name = loader.name.as_deref().map_or(0, |name| s.symbol(name));
                varint::put_u64(out, class);
                varint::put_u64(out, name);
            }
        )
    }

    fn method(&mut self, method: &Arc<MethodInfo>) -> u64 {
        intern!(
            self,
            methods,
            Pool::Method,
            method,
            method.clone(),
            |s, out| {
                let class = s.class(&method.class);
                let name = s.symbol(&method.name);
                let descriptor = s.symbol(&method.descriptor);
                varint::put_u64(out, class);
                varint::put_u64(out, name);
                varint::put_u64(out, descriptor);
                varint::put_i32(out, method.modifiers);
                out.push(u8::from(method.hidden));
            }
        )
    }

    fn frame_type(&mut self, kind: FrameKind) -> u64 {
        intern!(
            self,
            frame_types,
            Pool::FrameType,
            &kind,
            kind,
            |_s, out| string::put(out, Some(kind.text()))
        )
    }

    pub(crate) fn stack(&mut self, stack: &Arc<StackInfo>) -> u64 {
        intern!(
            self,
            stacks,
            Pool::StackTrace,
            stack,
            stack.clone(),
            |s, out| {
                out.push(u8::from(stack.truncated));
                varint::put_u64(out, stack.frames.len() as u64);
                for frame in &stack.frames {
                    let method = s.method(&frame.method);
                    let kind = s.frame_type(frame.kind);
                    varint::put_u64(out, method);
                    varint::put_i32(out, frame.line.unwrap_or(-1));
                    varint::put_i32(out, frame.bytecode_index.unwrap_or(-1));
                    varint::put_u64(out, kind);
                }
            }
        )
    }

    fn group(&mut self, name: &str) -> u64 {
        intern!(
            self,
            groups,
            Pool::ThreadGroup,
            name,
            name.to_owned(),
            |_s, out| {
                varint::put_u64(out, 0);
                string::put(out, Some(name));
            }
        )
    }

    pub(crate) fn thread(&mut self, thread: &Arc<ThreadInfo>) -> u64 {
        intern!(
            self,
            threads,
            Pool::Thread,
            thread,
            thread.clone(),
            |s, out| {
                let group = thread.group.as_deref().map_or(0, |group| s.group(group));
                string::put(out, thread.os_name.as_deref());
                varint::put_i64(out, thread.os_thread_id);
                string::put(out, thread.java_name.as_deref());
                varint::put_i64(out, thread.java_thread_id);
                varint::put_u64(out, group);
                out.push(u8::from(thread.is_virtual));
            }
        )
    }

    pub(crate) fn root(
        &mut self,
        description: &str,
        system: &'static str,
        kind: &'static str,
    ) -> u64 {
        let value = (description.to_owned(), system, kind);
        intern!(
            self,
            roots,
            Pool::GcRoot,
            &value,
            value.clone(),
            |s, out| {
                let system = intern!(
                    s,
                    root_systems,
                    Pool::RootSystem,
                    &system,
                    system,
                    |_s, out| string::put(out, Some(system))
                );
                let kind = intern!(s, root_types, Pool::RootType, &kind, kind, |_s, out| {
                    string::put(out, Some(kind))
                });
                string::put(out, Some(description));
                varint::put_u64(out, system);
                varint::put_u64(out, kind);
            }
        )
    }

    /// The slot `index` of an array of `size` elements; -1 for an index that is not known.
    pub(crate) fn array(&mut self, size: i32, index: i32) -> u64 {
        intern!(
            self,
            arrays,
            Pool::Array,
            &(size, index),
            (size, index),
            |_s, out| {
                varint::put_i32(out, size);
                varint::put_i32(out, index);
            }
        )
    }

    pub(crate) fn field(&mut self, name: &str, modifiers: i16) -> u64 {
        let value = (name.to_owned(), modifiers);
        intern!(
            self,
            fields,
            Pool::Field,
            &value,
            value.clone(),
            |_s, out| {
                string::put(out, Some(name));
                varint::put_i32(out, i32::from(modifiers));
            }
        )
    }

    /// An object of a chain: of class `class`, held through reference `referrer` (0 for none).
    ///
    /// Equal paths from equal roots are one object: repeating a chain costs no constants.
    pub(crate) fn object(&mut self, class: u64, description: Option<&str>, referrer: u64) -> u64 {
        let value = (class, referrer, description.map(str::to_owned));
        let next = self.pending(Pool::OldObject).next_key();
        let address = self.objects.get(&value).map_or(next, |known| known.key);
        intern!(
            self,
            objects,
            Pool::OldObject,
            &value,
            value.clone(),
            |_s, out| {
                // No address is known. Readers tell objects apart by it, so it is the object's key.
                varint::put_u64(out, address);
                varint::put_u64(out, class);
                string::put(out, description);
                varint::put_u64(out, referrer);
            }
        )
    }

    /// The reference by which object `holder` holds another one, through a slot or a field, `skip` hops away.
    pub(crate) fn reference(&mut self, array: u64, field: u64, holder: u64, skip: u64) -> u64 {
        let value = (array, field, holder, skip);
        intern!(
            self,
            references,
            Pool::Reference,
            &value,
            value,
            |_s, out| {
                varint::put_u64(out, array);
                varint::put_u64(out, field);
                varint::put_u64(out, holder);
                varint::put_u64(out, skip);
            }
        )
    }
}

/// `java/util/HashMap` for `java.util.HashMap`; a hidden class keeps the separator before its suffix.
fn internal_name(name: &str) -> String {
    name.replace('.', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str) -> Arc<ClassInfo> {
        Arc::new(ClassInfo::named(name))
    }

    #[test]
    fn a_value_is_written_once_a_chunk_under_one_key() {
        let mut constants = Constants::new();
        let first = constants.class(&class("com.acme.Order"));
        let written = constants.pending_len();
        assert_eq!(constants.class(&class("com.acme.Order")), first);
        assert_eq!(constants.pending_len(), written);
        constants.clear_pending();
        assert_eq!(constants.class(&class("com.acme.Order")), first);
        assert_eq!(constants.pending_len(), 0);
        constants.next_chunk();
        assert_eq!(constants.class(&class("com.acme.Order")), first);
        assert_eq!(constants.pending_len(), written);
    }

    #[test]
    fn a_pool_that_remembers_too_much_starts_anew_with_new_keys() {
        let mut constants = Constants::new();
        let first = constants.class(&class("com.acme.C0"));
        let mut last = first;
        for at in 1..=MOST_REMEMBERED {
            last = constants.class(&class(&format!("com.acme.C{at}")));
        }
        assert!(constants.classes.len() <= MOST_REMEMBERED);
        assert!(constants.class(&class("com.acme.C0")) > last);
    }

    #[test]
    fn a_loader_whose_class_it_loaded_itself_ends() {
        let mut constants = Constants::new();
        let loader = Arc::new(LoaderInfo {
            class_name: "com.acme.Loader".into(),
            name: Some("app".into()),
        });
        let key = constants.class(&Arc::new(ClassInfo {
            loader: Some(loader),
            ..ClassInfo::named("com.acme.Loader")
        }));
        assert_ne!(key, 0);
    }

    #[test]
    fn short_and_long_names_stay_inline() {
        let mut constants = Constants::new();
        let mut out = Vec::new();
        constants.put_name(&mut out, Some("ab"));
        constants.put_name(&mut out, None);
        constants.put_name(&mut out, Some(&"x".repeat(LONGEST_NAME + 1)));
        assert_eq!(constants.pending_len(), 0);
        constants.put_name(&mut out, Some("static-field"));
        assert!(constants.pending_len() > 0);
    }
}
