//! One pass of the concurrent walk: takes up roots, expands the frontier, counts candidates. Plain JNI reads on the
//! worker thread; the application runs on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::catalogue::{Catalogue, ClassIndex};
use super::frontier::{Frontier, Popped};
use super::layout::{Layout, Plan};
use super::nodes::{Edge, Found, NodeId, Referrer};
use super::roots::{Place, Root};
use super::search::{Search, Stage, element, reach};
use super::sigs::Step;
use super::{Host, clock};
use crate::jvm::env::{Jni, Jvmti, Obj};
use chain_core::{PassPlan, ThreadId};

/// Elements of an array that are read before others get their turn.
const ELEMENTS: u32 = 512;
/// Edges between two looks at the clock and the memory.
const CHECK_EVERY: u64 = 1024;
/// Longest path along which a container is looked at again.
const AGAIN_HOPS: usize = 64;
/// Containers looked at again in one search.
const MAX_LOOKS: u32 = 4096;
/// Room for local references of one pass beyond the frontier's.
const SLACK: usize = 512;
/// Local references that a pass may hold, for its frame.
pub const FRAME: usize = super::frontier::MAX_LOCAL + SLACK;

/// Why a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing is left.
    Drained,
    /// The edges of the plan were read.
    Edges,
    /// The CPU time of the plan was used.
    Cpu,
    /// The abort flag.
    Aborted,
}

/// The bounds of a pass.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// References to read.
    pub edges: u64,
    /// Thread CPU time.
    pub cpu: Duration,
    /// Native bytes that the search may hold.
    pub memory: usize,
    /// Ends the pass at the next edge.
    pub abort: &'a AtomicBool,
}

/// One pass.
pub struct Pass<'s, 'f> {
    jni: &'s Jni<'f>,
    jvmti: Jvmti,
    catalogue: &'s mut Catalogue,
    search: &'s mut Search,
    frontier: Frontier<'f>,
    limits: Limits<'s>,
    /// References read.
    pub edges: u64,
    /// Objects seen for the first time.
    pub new_nodes: u64,
    full: bool,
}

impl<'s, 'f> Pass<'s, 'f> {
    /// A pass that goes on where the search stopped.
    pub fn new(
        jni: &'s Jni<'f>,
        jvmti: Jvmti,
        catalogue: &'s mut Catalogue,
        search: &'s mut Search,
        limits: Limits<'s>,
    ) -> Self {
        let frontier = Frontier::resume(&mut search.parked);
        Self {
            jni,
            jvmti,
            catalogue,
            search,
            frontier,
            limits,
            edges: 0,
            new_nodes: 0,
            full: false,
        }
    }

    /// Takes up roots and expands until one of the limits, or until nothing is left.
    pub fn run(&mut self, host: &dyn Host, plan: &PassPlan) -> End {
        let started = clock::cpu(self.jvmti);
        let mut next_check = 0;
        loop {
            if self.limits.abort.load(Ordering::Relaxed) {
                return End::Aborted;
            }
            if self.edges >= self.limits.edges {
                return End::Edges;
            }
            if self.edges >= next_check {
                next_check = self.edges + CHECK_EVERY;
                if clock::cpu(self.jvmti).saturating_sub(started) >= self.limits.cpu {
                    return End::Cpu;
                }
                self.full = self.search.bytes() + self.frontier.width() * 40 >= self.limits.memory;
            }
            if self.search.stage != Stage::Done && self.frontier.is_narrow() {
                self.take_up_roots(host, plan);
                continue;
            }
            match self.frontier.pop(self.jni) {
                Popped::Object(object, node, cursor) => self.expand(object, node, cursor),
                Popped::Dead(node) => {
                    self.search.died += 1;
                    self.look_again_at_referrer(node);
                }
                Popped::Empty => {
                    if !self.look_again() {
                        return End::Drained;
                    }
                }
            }
        }
    }

    /// Leaves the frontier for the next pass.
    pub fn finish(self) -> (u64, u64) {
        let lost = self.frontier.park(self.jni, &mut self.search.parked);
        self.search.evicted += lost as u64;
        (self.edges, self.new_nodes)
    }

    fn take_up_roots(&mut self, host: &dyn Host, plan: &PassPlan) {
        match self.search.stage {
            Stage::Start => {
                self.find_threads(host, plan);
                self.search.statics.queue(self.catalogue, true);
                self.search.stage = Stage::ApplicationStatics;
            }
            Stage::ApplicationStatics => {
                if !self.take_up_statics() {
                    self.search.stage = Stage::Threads;
                }
            }
            Stage::Threads => match self.search.threads.pop_front() {
                Some((weak, node)) => {
                    let object = self.jni.upgrade(&weak);
                    self.jni.delete_weak(weak);
                    if let Some(object) = object {
                        self.enqueue(object, node, 0);
                    }
                }
                None => {
                    self.search.statics.queue(self.catalogue, false);
                    self.search.stage = Stage::PlatformStatics;
                }
            },
            Stage::PlatformStatics => {
                if !self.take_up_statics() {
                    self.search.stage = Stage::Done;
                }
            }
            Stage::Done => {}
        }
    }

    /// Makes every live thread a root before anything is walked, so that none is ever told as a field of another
    /// object.
    fn find_threads(&mut self, host: &dyn Host, plan: &PassPlan) {
        let Ok(threads) = self.jvmti.all_threads(self.jni) else {
            return;
        };
        let mut found = Vec::new();
        for thread in threads {
            let id = host.thread_id(self.jni, &thread);
            let name = self
                .jvmti
                .thread_name(self.jni, &thread)
                .unwrap_or_default();
            if !host.is_own_thread(&name) {
                found.push((is_candidate(plan, id), thread, name, id));
            } else {
                self.jni.delete(thread);
            }
        }
        found.sort_by_key(|(candidate, ..)| !candidate);
        for (_, thread, name, id) in found {
            let (Some(class), Some(root), Some(queued)) = (
                self.catalogue.class_of(self.jni, &thread),
                self.jni.new_weak(&thread),
                self.jni.new_weak(&thread),
            ) else {
                continue;
            };
            let root = Root::Thread {
                thread: root,
                name: name.into(),
                id,
            };
            match self.search.admit_root(self.jvmti, &thread, class, root) {
                Ok(node) => {
                    self.new_nodes += 1;
                    self.tally_root(class, node);
                    self.search.threads.push_back((queued, node));
                }
                Err(root) => {
                    root.free(self.jni);
                    self.jni.delete_weak(queued);
                }
            }
            self.jni.delete(thread);
        }
    }

    /// Reads the statics of the next class; false when none is left.
    fn take_up_statics(&mut self) -> bool {
        let Some(index) = self.search.statics.next_class() else {
            return false;
        };
        let Some(fields) = self.catalogue.statics(self.jni, index) else {
            return true;
        };
        self.search.statics.done(index);
        if fields.is_empty() {
            return true;
        }
        let Some(class) = self.catalogue.upgrade(self.jni, index) else {
            return true;
        };
        for field in fields.iter() {
            if !self.catalogue.may_lead(field) {
                continue;
            }
            // SAFETY: a static reference field of this initialised class, which the local reference pins.
            let Some(object) = (unsafe { self.jni.static_object_field(&class, field.id) }) else {
                continue;
            };
            self.edges += 1;
            let root = Root::Static {
                class: index,
                field: field.id,
                name: field.name.clone(),
            };
            self.admit_root(object, root);
        }
        self.jni.delete(class);
        true
    }

    /// Takes up an object that a root refers to.
    pub fn admit_root(&mut self, object: Obj<'f>, root: Root) {
        let Some(class) = self.catalogue.class_of(self.jni, &object) else {
            self.jni.delete(object);
            return;
        };
        self.prepare(class);
        let known = self.catalogue.get(class);
        let wanted = known.is_some_and(|c| c.plan != Plan::Leaf || c.candidate.is_some());
        let admitted = if wanted && !self.full {
            self.search.admit_root(self.jvmti, &object, class, root)
        } else {
            Err(root)
        };
        match admitted {
            Ok(node) => {
                self.new_nodes += 1;
                self.tally_root(class, node);
                self.follow_class(&object, class, node);
                self.enqueue_or_drop(object, class, node);
            }
            Err(root) => {
                root.free(self.jni);
                self.jni.delete(object);
            }
        }
    }

    fn tally_root(&mut self, class: ClassIndex, node: NodeId) {
        if let (Some(place), Some(sig)) = (
            self.catalogue.get(class).and_then(|c| c.candidate),
            self.search.nodes.sig(node),
        ) && let Some(tally) = self.search.tallies.get_mut(usize::from(place))
        {
            tally.count(sig, node);
        }
    }

    fn prepare(&mut self, class: ClassIndex) {
        if self
            .catalogue
            .get(class)
            .is_some_and(|c| c.plan == Plan::Undecided)
        {
            self.catalogue.prepare(self.jni, class);
        }
    }

    fn enqueue_or_drop(&mut self, object: Obj<'f>, class: ClassIndex, node: NodeId) {
        if self
            .catalogue
            .get(class)
            .is_some_and(|c| c.plan == Plan::Leaf)
        {
            self.jni.delete(object);
        } else {
            self.enqueue(object, node, 0);
        }
    }

    fn enqueue(&mut self, object: Obj<'f>, node: NodeId, cursor: u32) {
        if !self.frontier.push(self.jni, object, node, cursor) {
            self.search.evicted += 1;
        }
    }

    fn expand(&mut self, object: Obj<'f>, node: NodeId, cursor: u32) {
        let Some(class) = self
            .search
            .nodes
            .sig(node)
            .map(|sig| self.search.sigs.class(sig))
        else {
            self.jni.delete(object);
            return;
        };
        self.prepare(class);
        let Some(known) = self.catalogue.get(class) else {
            self.jni.delete(object);
            return;
        };
        match (&known.plan, &known.layout) {
            (Plan::Fields(places), Layout::Fields(fields)) => {
                let (places, fields) = (places.clone(), fields.clone());
                for place in places.iter() {
                    let Some(field) = fields.get(*place as usize) else {
                        continue;
                    };
                    // SAFETY: the object is of the class whose field list this is: the frontier keeps object and
                    // node together, and `reach` checks the class.
                    if let Some(child) = unsafe { self.jni.object_field(&object, field.id) } {
                        self.visit(child, node, class, Edge::slot(*place), false);
                    }
                }
                self.jni.delete(object);
            }
            (Plan::Elements, _) => self.expand_array(object, node, class, cursor),
            _ => self.jni.delete(object),
        }
    }

    fn expand_array(&mut self, array: Obj<'f>, node: NodeId, class: ClassIndex, from: u32) {
        // SAFETY: the plan says that the object is an array of references.
        let length = u32::try_from(unsafe { self.jni.array_length(&array) }).unwrap_or(0);
        let to = length.min(from.saturating_add(ELEMENTS));
        for index in from..to {
            if let Some(child) = element(self.jni, &array, index) {
                self.visit(child, node, class, Edge::slot(index), true);
            }
        }
        // A slot without an object costs time too.
        self.edges += u64::from(to - from) / 16;
        if to < length {
            self.enqueue(array, node, to);
        } else {
            if from > 0 {
                self.look_again_if_replaced(&array, node);
            }
            self.jni.delete(array);
        }
    }

    /// Takes up an object read from another.
    fn visit(
        &mut self,
        child: Obj<'f>,
        parent: NodeId,
        parent_class: ClassIndex,
        edge: Edge,
        array: bool,
    ) {
        self.edges += 1;
        let _ = parent_class;
        let Some(class) = self.catalogue.class_of(self.jni, &child) else {
            self.jni.delete(child);
            return;
        };
        self.prepare(class);
        let Some(known) = self.catalogue.get(class) else {
            self.jni.delete(child);
            return;
        };
        let candidate = known.candidate;
        if known.plan == Plan::Leaf && candidate.is_none() {
            self.jni.delete(child);
            return;
        }
        let is_thread = known.is_thread;
        let Ok(hash) = self.jvmti.identity_hash(&child) else {
            self.jni.delete(child);
            return;
        };
        let hash = hash.cast_unsigned();
        let sigs = &self.search.sigs;
        if let Found::Seen(_) = self
            .search
            .nodes
            .find(class, hash, |sig| sigs.class(sig) == class)
        {
            self.jni.delete(child);
            return;
        }
        if is_thread && self.is_alive(&child) {
            self.admit_thread(child, class);
            return;
        }
        if self.full || !self.search.nodes.has_room(self.limits.memory) {
            self.full = true;
            self.search.evicted += 1;
            if let Some(tally) = candidate.and_then(|c| self.search.tallies.get_mut(usize::from(c)))
            {
                tally.reached += 1;
            }
            self.jni.delete(child);
            return;
        }
        let Some(parent_sig) = self.search.nodes.sig(parent) else {
            self.jni.delete(child);
            return;
        };
        let sig = self
            .search
            .sigs
            .child(parent_sig, class, Step::of(edge, array));
        let sigs = &self.search.sigs;
        let inserted =
            self.search
                .nodes
                .insert(class, hash, Referrer::Node(parent, edge), sig, |s| {
                    sigs.class(s)
                });
        let Some(node) = inserted else {
            self.search.evicted += 1;
            self.jni.delete(child);
            return;
        };
        self.search.sigs.count(sig);
        self.new_nodes += 1;
        if let Some(tally) = candidate.and_then(|c| self.search.tallies.get_mut(usize::from(c))) {
            tally.count(sig, node);
        }
        self.follow_class(&child, class, node);
        self.enqueue_or_drop(child, class, node);
    }

    /// The first instance of a class that a custom loader made leads on to its class, and so to its loader.
    fn follow_class(&mut self, object: &Obj<'f>, class: ClassIndex, node: NodeId) {
        let Some(known) = self.catalogue.get_mut(class) else {
            return;
        };
        if known.loader != super::catalogue::Loader::Custom || known.mirror_seen {
            return;
        }
        known.mirror_seen = true;
        if let Ok(mirror) = self.jni.class_of(object) {
            self.visit(mirror, node, class, Edge::CLASS, false);
        }
    }

    fn is_alive(&self, thread: &Obj<'_>) -> bool {
        self.jvmti
            .thread_state(thread)
            .is_ok_and(|state| state & crate::jvm::env::raw_jvmti::JVMTI_THREAD_STATE_ALIVE != 0)
    }

    /// A thread that started after the threads were listed.
    fn admit_thread(&mut self, thread: Obj<'f>, class: ClassIndex) {
        let name = self
            .jvmti
            .thread_name(self.jni, &thread)
            .unwrap_or_default();
        let Some(weak) = self.jni.new_weak(&thread) else {
            self.jni.delete(thread);
            return;
        };
        let root = Root::Thread {
            thread: weak,
            name: name.into(),
            id: None,
        };
        match self.search.admit_root(self.jvmti, &thread, class, root) {
            Ok(node) => {
                self.new_nodes += 1;
                self.tally_root(class, node);
                self.enqueue(thread, node, 0);
            }
            Err(root) => {
                root.free(self.jni);
                self.jni.delete(thread);
            }
        }
    }

    /// Takes up what a safepoint showed.
    pub fn admit_seen(
        &mut self,
        object: Obj<'f>,
        kind: chain_core::chain::RootKind,
        place: Option<Place>,
    ) {
        if let Some(weak) = self.jni.new_weak(&object) {
            self.admit_root(
                object,
                Root::Seen {
                    object: weak,
                    kind,
                    place,
                },
            );
        } else {
            self.jni.delete(object);
        }
    }

    /// A frontier entry died: what it hung on may hold something else by now.
    fn look_again_at_referrer(&mut self, node: NodeId) {
        if let Some(Referrer::Node(parent, _)) = self.search.nodes.referrer(node) {
            self.search.again.push_back(parent);
        }
    }

    /// A long array was read to its end: when its holder has another one by now (a resized map or list), that one
    /// is read too.
    fn look_again_if_replaced(&mut self, array: &Obj<'f>, node: NodeId) {
        let now = reach(self.search, self.catalogue, self.jni, node, AGAIN_HOPS);
        if let Some(now) = now {
            let same = self.jni.same(&now, array);
            self.jni.delete(now);
            if same {
                return;
            }
        }
        self.look_again_at_referrer(node);
    }

    /// Expands containers again; false when there is none.
    fn look_again(&mut self) -> bool {
        let Some(node) = self.search.again.pop_front() else {
            return false;
        };
        if self.search.looks < MAX_LOOKS {
            self.search.looks += 1;
            if let Some(object) = reach(self.search, self.catalogue, self.jni, node, AGAIN_HOPS) {
                self.enqueue(object, node, 0);
            }
        }
        true
    }
}

/// Whether a thread is one of a candidate's qualifying threads.
fn is_candidate(plan: &PassPlan, id: Option<ThreadId>) -> bool {
    id.is_some_and(|id| {
        plan.targets
            .as_slice()
            .iter()
            .any(|target| target.threads.as_slice().contains(&id))
    })
}
