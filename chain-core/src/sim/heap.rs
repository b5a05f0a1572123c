//! A heap graph that needs no memory: filler objects form an implicit tree, leaked instances hang
//! under their shape. Ten million objects cost what the walk's own structures cost.

use std::sync::Arc;

use crate::chain::{EdgeKind, Frame, Root, RootKind};
use crate::ids::ClassId;
use crate::sim::paths::{EdgeRef, FieldId};
use crate::sim::shapes::{Container, Shape};
use crate::sim::tally::Names;

/// An object, by what it is; also the walk's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// Filler number `n` below its `size`.
    Filler(u64),
    /// Object `step` of the prefix of shape number `shape`.
    Prefix {
        /// The shape.
        shape: u32,
        /// Steps from the root, 0 = held by it.
        step: u32,
    },
    /// Entry `index` of a shape's container, `step` objects below it.
    Entry {
        /// The shape.
        shape: u32,
        /// Its number in the container.
        index: u64,
        /// Steps below the container, 0 = held by it.
        step: u32,
    },
}

/// Children of a filler object; about half of all fillers are leaves that no walk stores.
pub const FAN_OUT: u64 = 8;

/// A shape with its present number of instances.
#[derive(Clone, Debug)]
pub struct Planted {
    /// The shape.
    pub shape: Shape,
    /// Instances alive now.
    pub instances: u64,
}

/// The heap.
#[derive(Clone, Debug)]
pub struct Heap {
    /// Filler objects.
    pub fillers: u64,
    /// Planted shapes.
    pub planted: Vec<Planted>,
    classes: Vec<(Arc<str>, bool)>,
    fields: Vec<(Arc<str>, Arc<str>)>,
    steps: Vec<StepIds>,
}

#[derive(Clone, Debug, Default)]
struct StepIds {
    root_field: FieldId,
    prefix: Vec<(ClassId, EdgeRef)>,
    suffix: Vec<(ClassId, EdgeRef)>,
    run: Option<EdgeRef>,
}

impl Heap {
    /// `fillers` objects under one static field.
    pub fn new(fillers: u64) -> Heap {
        let mut heap = Heap {
            fillers,
            planted: Vec::new(),
            classes: Vec::new(),
            fields: Vec::new(),
            steps: Vec::new(),
        };
        heap.class_id("com.acme.Filler");
        heap.class_id("java.lang.String");
        heap.field_id("com.acme.Main", "data");
        heap
    }

    /// Plants a shape with no instance yet; its number.
    pub fn plant(&mut self, shape: Shape) -> u32 {
        let root_field = self.field_id(shape.root_name.0, shape.root_name.1);
        let mut ids = StepIds {
            root_field,
            ..StepIds::default()
        };
        let mut referrer = shape.root_name.0;
        for (kind, name, class) in shape.prefix {
            let edge = self.edge(*kind, referrer, name, root_field);
            ids.prefix.push((self.class_id(class), edge));
            referrer = class;
        }
        if shape.container == Container::Run {
            let next = self.field_id(referrer, "next");
            ids.run = Some(EdgeRef::field(next));
        }
        for (kind, name, class) in shape.suffix {
            let edge = self.edge(*kind, referrer, name, root_field);
            ids.suffix.push((self.class_id(class), edge));
            referrer = class;
        }
        self.steps.push(ids);
        self.planted.push(Planted {
            shape,
            instances: 0,
        });
        u32::try_from(self.planted.len() - 1).unwrap_or(0)
    }

    /// The class with this name, new or known.
    pub fn class_id(&mut self, name: &str) -> ClassId {
        let at = self
            .classes
            .iter()
            .position(|(n, _)| &**n == name)
            .unwrap_or_else(|| {
                self.classes.push((name.into(), name.starts_with("com.")));
                self.classes.len() - 1
            });
        ClassId(u32::try_from(at).unwrap_or(u32::MAX))
    }

    /// The leaf class of a planted shape: what its mutator allocates.
    pub fn leaf(&self, shape: u32) -> ClassId {
        let Some(ids) = self.steps.get(shape as usize) else {
            return ClassId(0);
        };
        ids.suffix
            .last()
            .or(ids.prefix.last())
            .map_or(ClassId(0), |s| s.0)
    }

    /// Objects in all.
    pub fn objects(&self) -> u64 {
        let of = |p: &Planted| {
            p.shape.prefix.len() as u64 + p.instances * (p.shape.suffix.len().max(1) as u64)
        };
        self.fillers + self.planted.iter().map(of).sum::<u64>()
    }

    /// Visits what static fields hold: object, class, edge.
    pub fn statics(&self, mut visit: impl FnMut(Object, ClassId, EdgeRef)) {
        if self.fillers > 0 {
            visit(
                Object::Filler(0),
                ClassId(0),
                EdgeRef::static_field(FieldId(0)),
            );
        }
        self.first_of(RootKind::StaticField, |o, c, ids| {
            visit(o, c, EdgeRef::static_field(ids.root_field));
        });
    }

    /// Visits thread objects.
    pub fn threads(&self, mut visit: impl FnMut(Object, ClassId, Root)) {
        for p in self
            .planted
            .iter()
            .enumerate()
            .filter(|(_, p)| p.shape.root == RootKind::Thread)
        {
            self.one(p, |o, c, _| {
                let thread = Some(p.1.shape.root_name.0.into());
                visit(
                    o,
                    c,
                    Root {
                        kind: RootKind::Thread,
                        thread,
                        ..Root::default()
                    },
                );
            });
        }
    }

    /// Visits what only a safepoint shows: stack locals, JNI globals.
    pub fn hidden_roots(&self, mut visit: impl FnMut(Object, ClassId, Root)) {
        let hidden = |k: RootKind| matches!(k, RootKind::StackLocal | RootKind::JniGlobal);
        for p in self
            .planted
            .iter()
            .enumerate()
            .filter(|(_, p)| hidden(p.shape.root))
        {
            self.one(p, |o, c, _| {
                let (class, field) = p.1.shape.root_name;
                let root = Root {
                    kind: p.1.shape.root,
                    class: (!class.is_empty()).then(|| class.into()),
                    field: (!field.is_empty()).then(|| field.into()),
                    frame: Some(Frame::default()),
                    ..Root::default()
                };
                visit(o, c, root);
            });
        }
    }

    /// Visits the referents of `object` from `cursor` on, at most `limit`; where to go on, if at all.
    /// `soft` says whether soft edges count.
    pub fn referents(
        &self,
        object: Object,
        cursor: u32,
        limit: u32,
        soft: bool,
        mut visit: impl FnMut(Object, ClassId, EdgeRef),
    ) -> Option<u32> {
        match object {
            Object::Filler(n) => {
                for i in 0..FAN_OUT {
                    let child = n * FAN_OUT + 1 + i;
                    if child < self.fillers {
                        let leaf = child * FAN_OUT + 1 >= self.fillers;
                        let edge = EdgeRef::array(u32::try_from(i).unwrap_or(0));
                        visit(Object::Filler(child), ClassId(u32::from(leaf)), edge);
                    }
                }
                None
            }
            Object::Prefix { shape, step } => {
                self.below_prefix(shape, step, cursor, limit, soft, visit)
            }
            Object::Entry { shape, index, step } => {
                let ids = self.steps.get(shape as usize)?;
                let planted = self.planted.get(shape as usize)?;
                if step == 0
                    && let Some(next) = ids.run
                    && index + 1 < planted.instances
                {
                    // A run: the entry is a list node, linked to the next one.
                    let class = ids.prefix.last()?.0;
                    visit(
                        Object::Entry {
                            shape,
                            index: index + 1,
                            step: 0,
                        },
                        class,
                        next,
                    );
                }
                let down = if ids.run.is_some() { step } else { step + 1 };
                let (class, edge) = *ids.suffix.get(down as usize)?;
                if edge.kind() != EdgeKind::Soft || soft {
                    visit(
                        Object::Entry {
                            shape,
                            index,
                            step: step + 1,
                        },
                        class,
                        edge,
                    );
                }
                None
            }
        }
    }

    fn below_prefix(
        &self,
        shape: u32,
        step: u32,
        cursor: u32,
        limit: u32,
        soft: bool,
        mut visit: impl FnMut(Object, ClassId, EdgeRef),
    ) -> Option<u32> {
        let ids = self.steps.get(shape as usize)?;
        let planted = self.planted.get(shape as usize)?;
        if let Some((class, edge)) = ids.prefix.get(step as usize + 1) {
            visit(
                Object::Prefix {
                    shape,
                    step: step + 1,
                },
                *class,
                *edge,
            );
            return None;
        }
        if ids.run.is_some() {
            // The prefix's last object is the run's first node.
            let first = Object::Entry {
                shape,
                index: 0,
                step: 0,
            };
            if planted.instances > 0 {
                self.referents(first, 0, limit, soft, visit);
            }
            return None;
        }
        let (class, edge) = *ids.suffix.first()?;
        if edge.kind() == EdgeKind::Weak {
            return None;
        }
        let end = planted.instances.min(u64::from(cursor) + u64::from(limit));
        for index in u64::from(cursor)..end {
            let at = EdgeRef::array(u32::try_from(index).unwrap_or(u32::MAX));
            visit(
                Object::Entry {
                    shape,
                    index,
                    step: 0,
                },
                class,
                at,
            );
        }
        (end < planted.instances).then(|| u32::try_from(end).unwrap_or(u32::MAX))
    }

    /// Whether an object still exists (its shape was not emptied meanwhile).
    pub fn alive(&self, object: Object) -> bool {
        match object {
            Object::Entry { shape, index, .. } => self
                .planted
                .get(shape as usize)
                .is_some_and(|p| index < p.instances),
            _ => true,
        }
    }

    fn first_of(&self, kind: RootKind, mut visit: impl FnMut(Object, ClassId, &StepIds)) {
        for p in self
            .planted
            .iter()
            .enumerate()
            .filter(|(_, p)| p.shape.root == kind)
        {
            self.one(p, &mut visit);
        }
    }

    fn one(&self, p: (usize, &Planted), mut visit: impl FnMut(Object, ClassId, &StepIds)) {
        let Some(ids) = self.steps.get(p.0) else {
            return;
        };
        if let Some((class, _)) = ids.prefix.first() {
            let shape = u32::try_from(p.0).unwrap_or(0);
            visit(Object::Prefix { shape, step: 0 }, *class, ids);
        }
    }

    fn edge(&mut self, kind: EdgeKind, referrer: &str, name: &str, root: FieldId) -> EdgeRef {
        match kind {
            EdgeKind::Static | EdgeKind::Root => EdgeRef::static_field(root),
            EdgeKind::Array => EdgeRef::array(0),
            EdgeKind::Soft => EdgeRef::soft(self.field_id(referrer, name)),
            EdgeKind::Weak => EdgeRef::weak(self.field_id(referrer, name)),
            EdgeKind::Class => EdgeRef::class(self.field_id(referrer, name)),
            EdgeKind::Field => EdgeRef::field(self.field_id(referrer, name)),
        }
    }

    fn field_id(&mut self, class: &str, name: &str) -> FieldId {
        let known = self
            .fields
            .iter()
            .position(|(c, n)| &**c == class && &**n == name);
        let at = known.unwrap_or_else(|| {
            self.fields.push((class.into(), name.into()));
            self.fields.len() - 1
        });
        FieldId(u32::try_from(at).unwrap_or(0))
    }
}

impl Names for Heap {
    fn class(&self, class: ClassId) -> Arc<str> {
        self.classes
            .get(class.0 as usize)
            .map_or_else(|| "?".into(), |c| c.0.clone())
    }

    fn is_application(&self, class: ClassId) -> bool {
        self.classes.get(class.0 as usize).is_some_and(|c| c.1)
    }

    fn field(&self, field: FieldId) -> (Arc<str>, Arc<str>) {
        self.fields
            .get(field.0 as usize)
            .cloned()
            .unwrap_or_else(|| ("?".into(), "?".into()))
    }
}
