//! One pass of the concurrent walk: its bounds, the order of its work, the roots it takes up. Plain JNI reads on the
//! worker thread; the application runs on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chain_core::chain::{RootKind, Strength};
use chain_core::{PassPlan, ThreadId};

use super::catalogue::{Catalogue, ClassIndex, Loader};
use super::frontier::{Frontier, Popped};
use super::layout::{Plan, Role};
use super::library::RefKind;
use super::nodes::NodeId;
use super::roots::{Place, Root};
use super::search::{Admission, Link, Phase, Search, Stage, reach, root_of};
use super::{Host, clock};
use crate::jvm::env::{Jni, Jvmti, Obj};

/// Edges between two looks at the clock and the memory.
const CHECK_EVERY: u64 = 1024;
/// Longest path along which a container is looked at again.
pub(super) const AGAIN_HOPS: usize = 64;
/// Containers looked at again in one search.
const MAX_LOOKS: u32 = 20_000;
/// Objects near a thread that are looked at again, and how near.
const NEAR_THREADS: usize = 8_000;
const NEAR: u16 = 10;
/// Room for local references of one pass beyond the frontier's.
const SLACK: usize = 512;
/// Local references that a pass may hold, for its frame.
pub const FRAME: usize = 2 * super::frontier::MAX_LOCAL + 2_048 + SLACK;
/// Native bytes of a frontier entry, its weak handle included.
const ENTRY: usize = 48;

/// Why a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing is left.
    Drained,
    /// The edges of the plan were read.
    Edges,
    /// The CPU time or the elapsed time of the plan was used.
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
    /// Elapsed time: a busy machine gives little CPU time.
    pub wall: Duration,
    /// Native bytes that the search may hold.
    pub memory: usize,
    /// Ends the pass at the next edge.
    pub abort: &'a AtomicBool,
}

/// One pass.
pub struct Pass<'s, 'f> {
    pub(super) jni: &'s Jni<'f>,
    pub(super) jvmti: Jvmti,
    pub(super) catalogue: &'s mut Catalogue,
    pub(super) search: &'s mut Search,
    pub(super) frontier: Frontier<'f>,
    pub(super) limits: Limits<'s>,
    /// References read.
    pub edges: u64,
    /// Objects seen for the first time.
    pub new_nodes: u64,
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
        }
    }

    /// Takes up roots and expands until one of the limits, or until nothing is left.
    pub fn run(&mut self, host: &dyn Host, plan: &PassPlan) -> End {
        let (started, began) = (clock::cpu(self.jvmti), Instant::now());
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
                let cpu = clock::cpu(self.jvmti).saturating_sub(started);
                if cpu >= self.limits.cpu || began.elapsed() >= self.limits.wall {
                    return End::Cpu;
                }
                self.fold_if_full();
            }
            if self.search.stage != Stage::Done && self.frontier.is_narrow() {
                self.take_up_roots(host, plan);
                // A root costs at least as much as an edge, whether or not it leads anywhere.
                self.edges += 1;
                continue;
            }
            match self.frontier.pop(self.jni) {
                Popped::Object(object, node, cursor) => self.expand(object, node, cursor),
                Popped::Dead(node) => {
                    self.search.died += 1;
                    self.look_again_at_referrer(node);
                }
                Popped::Empty => {
                    if !self.look_again() && !self.next_phase(host, plan) {
                        return End::Drained;
                    }
                }
            }
        }
    }

    /// Leaves the frontier for the next pass; answers (references read, objects seen for the first time).
    pub fn finish(self) -> (u64, u64) {
        let lost = self.frontier.park(self.jni, &mut self.search.parked);
        self.search.evicted += lost as u64;
        self.search.edges += self.edges;
        (self.edges, self.new_nodes)
    }

    /// Bytes that the nodes may take, so that they and the frontier stay under the cap.
    pub(super) fn room(&self) -> usize {
        let others =
            self.search.bytes() - self.search.nodes.bytes() + self.frontier.width() * ENTRY;
        self.limits.memory.saturating_sub(others)
    }

    pub(super) fn take_up_roots(&mut self, host: &dyn Host, plan: &PassPlan) {
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

    /// What to do when the frontier is empty; false when nothing is left to do.
    pub(super) fn next_phase(&mut self, host: &dyn Host, plan: &PassPlan) -> bool {
        match self.search.phase {
            Phase::Main => {
                self.search.phase = Phase::Rescan;
                // Without the list of classes there is nothing new to look at.
                let _ = self.catalogue.refresh(self.jni);
                self.find_threads(host, plan);
                self.search.statics.queue(self.catalogue, true);
                self.search.stage = Stage::ApplicationStatics;
                self.look_again_near_threads();
                true
            }
            Phase::Rescan => {
                self.search.phase = Phase::Housekeeping;
                self.follow_deferred();
                self.take_up_loaders();
                true
            }
            Phase::Housekeeping if self.search.roots_tried && self.search.misses_a_target() => {
                self.search.phase = Phase::LastResort;
                self.follow_referents();
                true
            }
            Phase::Housekeeping | Phase::LastResort => false,
        }
    }

    /// Takes up the threads that started since the search came around: what they hold is theirs before it is a frame's.
    pub(super) fn find_new_threads(&mut self, host: &dyn Host, plan: &PassPlan) {
        self.find_threads(host, plan);
        if self.search.stage == Stage::Done {
            self.search.stage = Stage::Threads;
        }
    }

    /// Makes every live thread a root before anything is walked, so that none is ever told as a field of another
    /// object. Candidate threads come first.
    fn find_threads(&mut self, host: &dyn Host, plan: &PassPlan) {
        let Ok(threads) = self.jvmti.all_threads(self.jni) else {
            return;
        };
        let mut found = Vec::new();
        for thread in threads {
            let name = self
                .jvmti
                .thread_name(self.jni, &thread)
                .unwrap_or_default();
            let id = host.thread_id(self.jni, &thread, &name);
            if host.is_own_thread(&name) {
                self.jni.delete(thread);
            } else {
                found.push((is_candidate(plan, id), thread, name, id));
            }
        }
        found.sort_by_key(|(candidate, ..)| !candidate);
        for (_, thread, name, id) in found {
            if let Some(node) = self.admit_thread(&thread, &name, id)
                && let Some(queued) = self.jni.new_weak(&thread)
            {
                self.search.threads.push_back((queued, node));
            }
            self.jni.delete(thread);
        }
    }

    /// Records a live thread as a root; its node unless it was seen before.
    pub(super) fn admit_thread(
        &mut self,
        thread: &Obj<'f>,
        name: &str,
        id: Option<ThreadId>,
    ) -> Option<NodeId> {
        let class = self.catalogue.class_of(self.jni, thread)?;
        self.prepare(class);
        let root = Root::Thread {
            thread: self.jni.new_weak(thread)?,
            name: name.into(),
            id,
        };
        self.admit_rooted(thread, class, root, Strength::Durable)
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
        let known = self.catalogue.get(index);
        let custom = known.filter(|known| known.loader == Loader::Custom);
        let group = custom.map(|known| known.signature.clone());
        for field in fields.iter() {
            if field.role == Role::Skipped || !self.catalogue.leads(self.jni, &field.declared) {
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
                group: group.clone(),
            };
            self.admit_root(object, root, field.strength(None));
        }
        self.jni.delete(class);
        true
    }

    /// Takes up an object that a root refers to.
    fn admit_root(&mut self, object: Obj<'f>, root: Root, strength: Strength) {
        let Some(class) = self.catalogue.class_of(self.jni, &object) else {
            root.free(self.jni);
            self.jni.delete(object);
            return;
        };
        self.prepare(class);
        let known = self.catalogue.get(class);
        if known.is_none_or(|c| c.plan == Plan::Leaf && c.candidate.is_none()) {
            root.free(self.jni);
            self.jni.delete(object);
            return;
        }
        match self.admit_rooted(&object, class, root, strength) {
            Some(node) => self.enqueue_or_drop(object, class, node),
            None => self.jni.delete(object),
        }
    }

    fn admit_rooted(
        &mut self,
        object: &Obj<'f>,
        class: ClassIndex,
        root: Root,
        strength: Strength,
    ) -> Option<NodeId> {
        let Ok(key) = self.search.visited.key(self.jvmti, object) else {
            root.free(self.jni);
            return None;
        };
        let link = Link::Root(root, strength);
        match self.admit(object, class, key, link) {
            Admission::New(node) => {
                self.follow_class(object, class, node);
                Some(node)
            }
            Admission::Stronger(node) => Some(node),
            Admission::Refused(root) => {
                if let Some(root) = root {
                    root.free(self.jni);
                }
                None
            }
        }
    }

    /// The roots that only a safepoint shows were asked for, with or without success.
    pub fn roots_were_tried(&mut self) {
        self.search.roots_tried = true;
    }

    /// Takes up what a safepoint showed.
    pub fn admit_seen(&mut self, object: Obj<'f>, kind: RootKind, place: Option<Place>) {
        match self.jni.new_weak(&object) {
            Some(weak) => {
                let root = Root::Seen {
                    object: weak,
                    kind,
                    place,
                };
                self.admit_root(object, root, Strength::of_root(kind));
            }
            None => self.jni.delete(object),
        }
    }

    fn follow_deferred(&mut self) {
        for deferred in std::mem::take(&mut self.search.deferred) {
            let object = self.jni.upgrade(&deferred.object);
            self.jni.delete_weak(deferred.object);
            if let Some(object) = object {
                self.visit(
                    object,
                    Link::Edge {
                        from: deferred.from,
                        edge: deferred.edge,
                        array: false,
                        strength: deferred.strength,
                    },
                );
            }
        }
    }

    /// Makes every custom class loader a root: it lives by its classes, also where nothing that was read leads to it.
    fn take_up_loaders(&mut self) {
        let count = ClassIndex::try_from(self.catalogue.count()).unwrap_or(ClassIndex::MAX);
        for index in 0..count {
            let custom = self
                .catalogue
                .get(index)
                .is_some_and(|c| c.loader == Loader::Custom);
            if custom && let Some(loader) = self.catalogue.custom_loader(self.jni, index) {
                self.admit_seen(loader, RootKind::ClassLoader, None);
                self.edges += 1;
            }
        }
    }

    fn follow_referents(&mut self) {
        self.catalogue.follow_referents(true);
        for node in self.search.nodes.ids() {
            let class = self.search.class_of(node);
            let reads = class
                .and_then(|class| self.catalogue.get(class))
                .is_some_and(|c| !matches!(c.reference, None | Some(RefKind::Phantom)));
            if reads {
                self.search.referents.push_back(node);
            }
        }
    }

    /// What threads work on changes faster than a walk comes around: a task that was read from a queue may have run
    /// before its fields were. With the frontier empty each of these is followed at once.
    fn look_again_near_threads(&mut self) {
        if !self.search.misses_a_target() {
            return;
        }
        let near = self.search.sigs.marked(|sigs, sig| {
            let root = root_of(sigs, sig).and_then(|root| self.search.roots.get(root));
            matches!(root, Some(Root::Thread { .. })) && sigs.depth(sig) <= NEAR
        });
        let nodes = self.search.nodes.ids().filter(|node| {
            let sig = self.search.nodes.sig(*node);
            sig.is_some_and(|sig| near.get(sig.0 as usize) == Some(&true))
        });
        let nodes: Vec<NodeId> = nodes.take(NEAR_THREADS).collect();
        self.search.again.extend(nodes);
    }

    /// A frontier entry died: what it hung on may hold something else by now.
    pub(super) fn look_again_at_referrer(&mut self, node: NodeId) {
        if let Some(super::nodes::Referrer::Node(parent, _)) = self.search.nodes.referrer(node) {
            self.search.again.push_back(parent);
        }
    }

    /// Expands containers again; false when there is none.
    pub(super) fn look_again(&mut self) -> bool {
        let node = match self.search.again.pop_front() {
            Some(node) => {
                self.search.looks += 1;
                if self.search.looks > MAX_LOOKS {
                    return true;
                }
                node
            }
            None => match self.search.referents.pop_front() {
                Some(node) => node,
                None => return false,
            },
        };
        self.edges += 1;
        if let Some(object) = reach(self.search, self.catalogue, self.jni, node, AGAIN_HOPS) {
            self.enqueue(object, node, 0);
        }
        true
    }
}

/// Whether a thread is one of a candidate's qualifying threads.
pub(super) fn is_candidate(plan: &PassPlan, id: Option<ThreadId>) -> bool {
    id.is_some_and(|id| {
        plan.targets
            .as_slice()
            .iter()
            .any(|target| target.threads.as_slice().contains(&id))
    })
}
