//! The classes that a search has met: what their instances look like, who loaded them, how to read them.
//!
//! Classes are held weakly, so the walk never keeps one from being unloaded. An object's class is looked up by the
//! content of its class handle, verified with `IsSameObject` (a collector may have moved the mirror since), then by
//! the mirror's identity hash.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::layout::{Field, Layout, Plan, Targets, plan};
use super::library::{RefKind, reference_kind, role};
use super::names::java_name;
use super::sigs::Mix;
use super::size::{SizeField, size_field};
use super::types::Types;
use crate::jvm::env::raw_jvmti::{
    JVMTI_CLASS_STATUS_ERROR, JVMTI_CLASS_STATUS_INITIALIZED, JVMTI_CLASS_STATUS_PREPARED,
};
use crate::jvm::env::{FieldId, Jni, JvmError, Jvmti, Obj, Weak};

const ACC_STATIC: i32 = 0x0008;
/// Room for a local reference to every loaded class; only -Xcheck:jni asks for it.
const CLASS_FRAME: i32 = 65_000;
const CACHE: usize = 1 << 12;
/// Classes of one name that are looked at for what it leads to.
const MAX_ALIKE: usize = 4;
/// Custom loaders that made a class of the same name: below, a program may just have two variants of something.
const REDEPLOYED: usize = 3;

/// A class of the catalogue, dense from 0.
pub type ClassIndex = u32;

/// Who loaded a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loader {
    /// A loader of the application's own making.
    Custom,
    /// The application class loader.
    Application,
    /// The platform class loader.
    Platform,
    /// The boot loader.
    Boot,
}

impl Loader {
    /// Whether the class is the application's rather than the JDK's.
    #[must_use]
    pub fn is_application(self) -> bool {
        self <= Self::Application
    }
}

/// What is known of one class.
#[derive(Debug)]
pub struct Class {
    /// JVM signature.
    pub signature: Arc<str>,
    weak: Weak,
    /// Who loaded it.
    pub loader: Loader,
    /// What instances look like.
    pub layout: Layout,
    /// How the current search treats instances.
    pub plan: Plan,
    /// Its place among the current search's candidates.
    pub candidate: Option<u8>,
    /// The kind of `Reference` it is or extends.
    pub reference: Option<RefKind>,
    /// Where a collection of the JDK counts its elements.
    pub size: Option<SizeField>,
    /// Instances are platform threads.
    pub is_thread: bool,
    /// Whether the current search has followed the edge from an instance to this class.
    pub mirror_seen: bool,
    /// Objects of it that the current search has seen.
    pub seen: u32,
    /// Its static reference fields, once it is initialised.
    pub statics: Option<Arc<[Field]>>,
    array: bool,
}

/// All classes met so far.
#[derive(Debug)]
pub struct Catalogue {
    jvmti: Jvmti,
    classes: Vec<Class>,
    by_hash: HashMap<u32, Vec<ClassIndex>, BuildHasherDefault<Mix>>,
    /// (content of a class handle, class); a hint only.
    cache: Vec<(usize, ClassIndex)>,
    loaders: Vec<(Weak, Loader)>,
    signatures: Vec<Arc<str>>,
    pub(super) targets: Targets,
    pub(super) types: Types,
    /// A few of the classes with each JVM signature.
    pub(super) by_signature: HashMap<Arc<str>, Vec<ClassIndex>>,
    last_resort: bool,
    plans: u64,
}

impl Catalogue {
    /// An empty catalogue.
    #[must_use]
    pub fn new(jvmti: Jvmti) -> Self {
        Self {
            jvmti,
            classes: Vec::new(),
            by_hash: HashMap::default(),
            cache: vec![(0, 0); CACHE],
            loaders: Vec::new(),
            signatures: Vec::new(),
            targets: Targets::default(),
            types: Types::default(),
            by_signature: HashMap::new(),
            last_resort: false,
            plans: 0,
        }
    }

    /// What is known of a class.
    #[must_use]
    pub fn get(&self, class: ClassIndex) -> Option<&Class> {
        self.classes.get(class as usize)
    }

    /// The same, for marking.
    pub fn get_mut(&mut self, class: ClassIndex) -> Option<&mut Class> {
        self.classes.get_mut(class as usize)
    }

    /// How many classes are known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.classes.len()
    }

    /// Sets what the search looks for. Each candidate is every loaded class of that JVM signature.
    pub fn aim(&mut self, signatures: &[Arc<str>]) {
        self.signatures = signatures.to_vec();
        self.targets = Targets::new(signatures.to_vec());
        self.types.aim();
        self.last_resort = false;
        self.plans += 1;
        for class in &mut self.classes {
            class.plan = Plan::Undecided;
            class.mirror_seen = false;
            class.seen = 0;
            class.candidate = place_of(&self.signatures, &class.signature);
        }
    }

    /// Whether soft, weak and final referents are followed from now on.
    pub fn follow_referents(&mut self, follow: bool) {
        self.last_resort = follow;
        self.decide_again();
    }

    fn decide_again(&mut self) {
        self.plans += 1;
        for class in &mut self.classes {
            class.plan = Plan::Undecided;
        }
    }

    /// Changes whenever plans that were decided hold no longer.
    #[must_use]
    pub fn plans(&self) -> u64 {
        self.plans
    }

    /// Registers every loaded class; answers how many classes it saw.
    ///
    /// # Errors
    /// Any error of the JVM; the catalogue keeps what it had.
    pub fn refresh(&mut self, jni: &Jni<'_>) -> Result<usize, JvmError> {
        jni.frame(CLASS_FRAME, |jni| {
            let loaded = self.jvmti.loaded_classes(jni)?;
            let count = loaded.len();
            for class in loaded {
                if self.find(jni, &class).is_none() {
                    self.add(jni, &class);
                }
                jni.delete(class);
            }
            Ok(count)
        })?
    }

    /// Forgets classes that were unloaded.
    pub fn forget_unloaded(&mut self, jni: &Jni<'_>) {
        let classes = &self.classes;
        self.by_hash.retain(|_, list| {
            list.retain(|index| {
                classes
                    .get(*index as usize)
                    .is_some_and(|class| !jni.is_cleared(&class.weak))
            });
            !list.is_empty()
        });
        self.by_signature.retain(|_, list| {
            list.retain(|index| {
                classes
                    .get(*index as usize)
                    .is_some_and(|class| !jni.is_cleared(&class.weak))
            });
            !list.is_empty()
        });
    }

    /// The class of an object, registered at first sight.
    pub fn class_of(&mut self, jni: &Jni<'_>, obj: &Obj<'_>) -> Option<ClassIndex> {
        let class = jni.class_of(obj).ok()?;
        let index = self.index_of(jni, &class);
        jni.delete(class);
        index
    }

    /// The index of a class, registered at first sight.
    pub fn index_of(&mut self, jni: &Jni<'_>, class: &Obj<'_>) -> Option<ClassIndex> {
        let content = handle_content(class);
        let at = (content >> 3).wrapping_mul(0x9E37_79B1) >> 7 & (CACHE - 1);
        if let Some(&(known, index)) = self.cache.get(at)
            && known == content
            && content != 0
            && let Some(entry) = self.classes.get(index as usize)
            && is_same(jni, class, &entry.weak)
        {
            return Some(index);
        }
        let index = match self.find(jni, class) {
            Some(index) => index,
            None => self.add(jni, class)?,
        };
        if let Some(slot) = self.cache.get_mut(at) {
            *slot = (content, index);
        }
        Some(index)
    }

    fn find(&self, jni: &Jni<'_>, class: &Obj<'_>) -> Option<ClassIndex> {
        let hash = self.jvmti.identity_hash(class).ok()?.cast_unsigned();
        self.by_hash.get(&hash)?.iter().copied().find(|index| {
            self.classes
                .get(*index as usize)
                .is_some_and(|entry| is_same(jni, class, &entry.weak))
        })
    }

    fn add(&mut self, jni: &Jni<'_>, class: &Obj<'_>) -> Option<ClassIndex> {
        let hash = self.jvmti.identity_hash(class).ok()?.cast_unsigned();
        let signature: Arc<str> = self.jvmti.class_signature(class).ok()?.into();
        let weak = jni.new_weak(class)?;
        let loader = self.loader_of(jni, class);
        let index = ClassIndex::try_from(self.classes.len()).ok()?;
        self.classes.push(Class {
            array: signature.starts_with('['),
            candidate: place_of(&self.signatures, &signature),
            signature,
            weak,
            loader,
            layout: Layout::Unknown,
            plan: Plan::Undecided,
            reference: None,
            size: None,
            is_thread: false,
            mirror_seen: false,
            seen: 0,
            statics: None,
        });
        self.by_hash.entry(hash).or_default().push(index);
        self.note_type(jni, class, index);
        Some(index)
    }

    /// Notes what a class says of the types of fields.
    fn note_type(&mut self, jni: &Jni<'_>, class: &Obj<'_>, index: ClassIndex) {
        let Some(signature) = self.get(index).map(|class| class.signature.clone()) else {
            return;
        };
        let alike = self.by_signature.entry(signature.clone()).or_default();
        if alike.len() <= MAX_ALIKE {
            alike.push(index);
        }
        if signature.starts_with('[') {
            return;
        }
        // Only `Object` and interfaces have no superclass.
        let open = match jni.superclass(class) {
            Some(upper) => {
                let name = self.jvmti.class_signature(&upper).unwrap_or_default();
                jni.delete(upper);
                name.into()
            }
            None => signature,
        };
        if self.types.open(&open) {
            self.decide_again();
        }
    }

    /// The classes with this JVM signature; `None` when there are many.
    pub(super) fn loaded_as(&self, jni: &Jni<'_>, signature: &str) -> Option<Vec<ClassIndex>> {
        let alike = self.by_signature.get(signature)?;
        if alike.len() > MAX_ALIKE {
            return None;
        }
        let alive = alike.iter().copied().filter(|index| {
            let class = self.get(*index);
            class.is_some_and(|class| !jni.is_cleared(&class.weak))
        });
        Some(alive.collect())
    }

    /// Whether the class was made by a custom loader as others of its name were by others: a deployment among several.
    #[must_use]
    pub fn is_redeployed(&self, class: ClassIndex) -> bool {
        self.get(class).is_some_and(|known| {
            let alike = self.by_signature.get(&known.signature).map_or(0, Vec::len);
            known.loader == Loader::Custom && alike >= REDEPLOYED
        })
    }

    /// Makes sure that the layout of a class is known; false while the JVM has not prepared it.
    pub(super) fn read_prepared(&mut self, jni: &Jni<'_>, index: ClassIndex) -> bool {
        let known = self.get(index).map(|class| class.layout.clone());
        if !matches!(known, Some(Layout::Unknown)) {
            return known.is_some();
        }
        let Some(class) = self.upgrade(jni, index) else {
            return false;
        };
        let status = self.jvmti.class_status(&class).unwrap_or(0);
        let prepared = status & JVMTI_CLASS_STATUS_PREPARED != 0;
        if prepared {
            self.read_layout(jni, index, &class);
        }
        jni.delete(class);
        prepared
    }

    /// Makes sure that the layout of a class is known of which an instance is at hand.
    pub(super) fn read_instantiated(&mut self, jni: &Jni<'_>, index: ClassIndex) {
        let known = self.get(index);
        if known.is_some_and(|class| matches!(class.layout, Layout::Unknown))
            && let Some(class) = self.upgrade(jni, index)
        {
            self.read_layout(jni, index, &class);
            jni.delete(class);
        }
    }

    fn loader_of(&mut self, jni: &Jni<'_>, class: &Obj<'_>) -> Loader {
        let Ok(Some(loader)) = self.jvmti.class_loader(jni, class) else {
            return Loader::Boot;
        };
        let known = self
            .loaders
            .iter()
            .find(|(weak, _)| is_same(jni, &loader, weak))
            .map(|(_, kind)| *kind);
        let kind = known.unwrap_or_else(|| {
            let kind = self.loader_kind(jni, &loader);
            // Many short-lived loaders must not make this list long.
            if self.loaders.len() > 16 {
                self.loaders.retain(|(weak, _)| !jni.is_cleared(weak));
            }
            if kind != Loader::Custom
                && let Some(weak) = jni.new_weak(&loader)
            {
                self.loaders.push((weak, kind));
            }
            kind
        });
        jni.delete(loader);
        kind
    }

    fn loader_kind(&self, jni: &Jni<'_>, loader: &Obj<'_>) -> Loader {
        let Ok(class) = jni.class_of(loader) else {
            return Loader::Custom;
        };
        let signature = self.jvmti.class_signature(&class).unwrap_or_default();
        jni.delete(class);
        match signature.as_str() {
            "Ljdk/internal/loader/ClassLoaders$PlatformClassLoader;" => Loader::Platform,
            "Ljdk/internal/loader/ClassLoaders$AppClassLoader;" => Loader::Application,
            _ => Loader::Custom,
        }
    }

    /// A local reference to a class, `None` when it was unloaded.
    #[must_use]
    pub fn upgrade<'f>(&self, jni: &Jni<'f>, class: ClassIndex) -> Option<Obj<'f>> {
        jni.upgrade(&self.get(class)?.weak)
    }

    /// The loader that a custom loader's class has, as a local reference.
    pub fn custom_loader<'f>(&self, jni: &Jni<'f>, class: ClassIndex) -> Option<Obj<'f>> {
        let class = self.upgrade(jni, class)?;
        let loader = self.jvmti.class_loader(jni, &class).ok().flatten();
        jni.delete(class);
        loader
    }

    /// Makes sure that layout and plan of a class are known.
    pub fn prepare(&mut self, jni: &Jni<'_>, index: ClassIndex) {
        let Some(entry) = self.get(index) else {
            return;
        };
        if matches!(entry.layout, Layout::Unknown) {
            let Some(class) = self.upgrade(jni, index) else {
                return;
            };
            self.read_layout(jni, index, &class);
            jni.delete(class);
        }
        let Some(entry) = self.get(index) else {
            return;
        };
        let (signature, layout) = (entry.signature.clone(), entry.layout.clone());
        let (reference, last_resort) = (entry.reference, self.last_resort);
        let leads = |declared: &str| self.leads(jni, declared);
        let decided = plan(&signature, &layout, reference, last_resort, leads);
        if let Some(entry) = self.get_mut(index) {
            entry.plan = decided;
        }
    }

    fn read_layout(&mut self, jni: &Jni<'_>, index: ClassIndex, class: &Obj<'_>) {
        let Some(entry) = self.get(index) else {
            return;
        };
        if entry.array {
            let layout = if entry.signature.len() == 2 {
                Layout::Primitive
            } else {
                Layout::Array
            };
            if let Some(entry) = self.get_mut(index) {
                entry.layout = layout;
            }
            return;
        }
        let mut groups = Vec::new();
        let mut reference = None;
        let mut size = None;
        let mut is_thread = false;
        let mut signature = entry.signature.clone();
        let mut is_virtual = false;
        let mut at = jni.new_local(class);
        while let Some(current) = at.take() {
            groups.push(self.declared_fields(&current, &signature, false));
            size = size.or_else(|| self.declared_size(&current, &signature));
            reference = reference.or_else(|| reference_kind(&signature));
            // Virtual threads are no roots: an unmounted one is an object like any other.
            is_virtual |= signature.as_ref() == "Ljava/lang/BaseVirtualThread;";
            is_thread |= signature.as_ref() == "Ljava/lang/Thread;" && !is_virtual;
            at = jni.superclass(&current);
            jni.delete(current);
            if let Some(upper) = &at {
                signature = self.jvmti.class_signature(upper).unwrap_or_default().into();
            }
        }
        let fields: Vec<Field> = groups.into_iter().rev().flatten().collect();
        if let Some(entry) = self.get_mut(index) {
            entry.layout = Layout::Fields(fields.into());
            entry.reference = reference;
            entry.size = size;
            entry.is_thread = is_thread;
        }
    }

    /// The reference fields that a class itself declares; none for a class that is not prepared.
    fn declared_fields(&self, class: &Obj<'_>, signature: &str, statics: bool) -> Vec<Field> {
        let Ok(ids) = self.jvmti.class_fields(class) else {
            return Vec::new();
        };
        ids.into_iter()
            .filter_map(|id| self.reference_field(class, signature, id, statics))
            .collect()
    }

    /// The field in which a class of `java.util` itself counts its elements.
    fn declared_size(&self, class: &Obj<'_>, signature: &str) -> Option<SizeField> {
        if !signature.starts_with("Ljava/util/") {
            return None;
        }
        let ids = self.jvmti.class_fields(class).ok()?;
        ids.into_iter().find_map(|id| {
            let (name, declared) = self.jvmti.field_name(class, id).ok()?;
            let found = size_field(signature, &name, &declared, id)?;
            let modifiers = self.jvmti.field_modifiers(class, id).ok()?;
            (modifiers & ACC_STATIC == 0).then_some(found)
        })
    }

    fn reference_field(
        &self,
        class: &Obj<'_>,
        owner: &str,
        id: FieldId,
        statics: bool,
    ) -> Option<Field> {
        let modifiers = self.jvmti.field_modifiers(class, id).ok()?;
        if (modifiers & ACC_STATIC != 0) != statics {
            return None;
        }
        let (name, declared) = self.jvmti.field_name(class, id).ok()?;
        if !declared.starts_with(['L', '[']) {
            return None;
        }
        let role = role(&java_name(owner), &name);
        Some(Field {
            id,
            name: name.into(),
            declared: declared.into(),
            role,
        })
    }

    /// The static reference fields that a class declares: `None` while it is not initialised (they are then
    /// asked for again), or when it was unloaded. Never initialises a class.
    pub fn statics(&mut self, jni: &Jni<'_>, index: ClassIndex) -> Option<Arc<[Field]>> {
        let entry = self.get(index)?;
        if let Some(known) = &entry.statics {
            return Some(known.clone());
        }
        if entry.array {
            return None;
        }
        let signature = entry.signature.clone();
        let class = self.upgrade(jni, index)?;
        let status = self.jvmti.class_status(&class).unwrap_or(0);
        let ready = status & JVMTI_CLASS_STATUS_PREPARED != 0
            && status & JVMTI_CLASS_STATUS_INITIALIZED != 0
            && status & JVMTI_CLASS_STATUS_ERROR == 0;
        let fields: Option<Arc<[Field]>> =
            ready.then(|| self.declared_fields(&class, &signature, true).into());
        jni.delete(class);
        if let (Some(fields), Some(entry)) = (&fields, self.get_mut(index)) {
            entry.statics = Some(fields.clone());
        }
        fields
    }

    /// Frees every weak reference.
    pub fn clear(&mut self, jni: &Jni<'_>) {
        for class in self.classes.drain(..) {
            jni.delete_weak(class.weak);
        }
        for (weak, _) in self.loaders.drain(..) {
            jni.delete_weak(weak);
        }
        self.by_hash.clear();
        self.by_signature.clear();
        self.types = Types::default();
        self.cache.fill((0, 0));
    }
}

fn place_of(signatures: &[Arc<str>], signature: &str) -> Option<u8> {
    let place = signatures.iter().position(|s| s.as_ref() == signature)?;
    u8::try_from(place).ok()
}

/// The word behind a local reference: changes when the collector moves the mirror, so it is a hint only.
fn handle_content(class: &Obj<'_>) -> usize {
    if (class.raw() as usize) & 7 != 0 {
        return 0;
    }
    // SAFETY: a local reference of HotSpot points to a live, aligned word that holds the reference (low bits tag the
    // other kinds of handle, refused above); reading it races at worst with the collector's update of that word.
    unsafe { class.raw().cast::<usize>().read_volatile() }
}

fn is_same(jni: &Jni<'_>, obj: &Obj<'_>, weak: &Weak) -> bool {
    // SAFETY: both are valid references of this thread; `IsSameObject` takes weak globals.
    unsafe { (jni.table().IsSameObject)(jni.raw(), obj.raw(), weak.raw()) != 0 }
}
