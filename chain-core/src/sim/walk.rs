//! Both walk engines over the simulated heap, with the costs that were measured on real ones.

use std::cell::RefCell;
use std::rc::Rc;

use crate::chain::{FoundChain, RootKind};
use crate::config::WalkEngine;
use crate::ids::{ClassId, SearchId};
use crate::plan::PassPlan;
use crate::sim::frontier::{Entry, Frontier, Tier};
use crate::sim::heap::{Heap, Object};
use crate::sim::paths::{EdgeRef, PathArena};
use crate::sim::tally::Tally;
use crate::sim::visited::{Visit, VisitedSet};
use crate::tick::{Bytes, Micros};
use crate::walk::{HeapWalk, PassReport, Reached, ReleaseReport, RootOutcome};

/// What a JDK's walks cost (heap-walk.md).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// One reference of the concurrent walk, ns of CPU.
    pub edge_ns: u64,
    /// Roots up to the first SYSTEM_CLASS root, us.
    pub roots_us: u64,
    /// One 50-frame thread of it, us.
    pub thread_us: u64,
    /// Reset of mark bits at every heap-walk call, ns an object of the heap.
    pub reset_ns_per_object: u64,
    /// Fixed cost of a heap-walk call, us.
    pub call_us: u64,
    /// One object expanded at a safepoint, ns.
    pub safepoint_object_ns: u64,
}

impl Costs {
    /// Of a JDK feature version.
    pub fn of(jdk: u16) -> Costs {
        if jdk >= 21 {
            Costs {
                edge_ns: 300,
                roots_us: 600,
                thread_us: 200,
                reset_ns_per_object: 0,
                call_us: 500,
                safepoint_object_ns: 1_700,
            }
        } else {
            let edge_ns = if jdk >= 17 { 400 } else { 530 };
            Costs {
                edge_ns,
                roots_us: 1_800,
                thread_us: 220,
                reset_ns_per_object: 13,
                call_us: 500,
                safepoint_object_ns: 1_700,
            }
        }
    }
}

/// Faults a scenario injects.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Tag releases that fail before one succeeds.
    pub release_failures: u32,
    /// Root enumerations that end with an error before one succeeds.
    pub root_errors: u32,
    /// Passes that find nothing, whatever they see.
    pub blind: bool,
    /// Root enumerations that are cut before one completes.
    pub root_truncations: u32,
}

/// A walk over a shared heap.
#[derive(Debug)]
pub struct SimWalk {
    /// The heap.
    pub heap: Rc<RefCell<Heap>>,
    /// Costs in force.
    pub costs: Costs,
    /// Live threads, for root passes.
    pub threads: u64,
    /// Faults to inject.
    pub faults: Faults,
    engine: WalkEngine,
    search: SearchId,
    frontier: Frontier<Object>,
    arena: PathArena,
    visited: VisitedSet,
    tally: Tally,
    started: bool,
    roots_seen: bool,
    evicted: bool,
    /// Searches whose tags are not released.
    pub held: Vec<SearchId>,
    soft: bool,
}

impl SimWalk {
    /// Nothing seen yet.
    pub fn new(heap: Rc<RefCell<Heap>>, costs: Costs, engine: WalkEngine) -> SimWalk {
        SimWalk {
            heap,
            costs,
            threads: 20,
            faults: Faults::default(),
            engine,
            search: SearchId(0),
            frontier: Frontier::new(1 << 20),
            arena: PathArena::new(Bytes(0)),
            visited: VisitedSet::new(Bytes(0)),
            tally: Tally::default(),
            started: false,
            roots_seen: false,
            evicted: false,
            held: Vec::new(),
            soft: false,
        }
    }

    fn begin(&mut self, plan: &PassPlan) {
        self.search = plan.search;
        let cap = match self.engine {
            WalkEngine::Concurrent => 1 << 20,
            WalkEngine::Safepoint => usize::try_from(plan.framecap).unwrap_or(usize::MAX),
        };
        self.frontier = Frontier::new(cap);
        self.arena = PathArena::new(Bytes(plan.memcap.0 / 2));
        self.visited = VisitedSet::new(Bytes(plan.memcap.0 / 2));
        self.tally.clear();
        self.started = false;
        self.roots_seen = false;
        self.evicted = false;
        self.soft = false;
        if !self.held.contains(&plan.search) {
            self.held.push(plan.search);
        }
    }

    /// Notes an object; whether it was new.
    fn see(
        &mut self,
        plan: &PassPlan,
        from: Option<crate::sim::paths::NodeId>,
        o: Object,
        class: ClassId,
        edge: EdgeRef,
    ) -> bool {
        let target = plan.targets.iter().any(|t| t.class == class);
        // Leaf pruning: what has no reference fields is only compared with the candidates.
        if class == ClassId(1) && !target {
            return false;
        }
        let key = match o {
            Object::Filler(n) => VisitedSet::key(ClassId(n_hi(n)), n_lo(n), 1),
            Object::Prefix { shape, step } => VisitedSet::key(ClassId(shape), step, 2),
            Object::Entry { shape, index, step } => {
                VisitedSet::key(ClassId(shape << 8 | step), n_lo(index), 3 + n_hi(index))
            }
        };
        match self.visited.insert(key) {
            Visit::New => {}
            Visit::Seen => return false,
            Visit::Full => {
                self.evicted = true;
                return false;
            }
        }
        let Some(node) = self.arena.add(from, class, edge) else {
            self.evicted = true;
            return false;
        };
        if target && !self.faults.blind {
            self.tally.count(&self.arena, node);
        }
        let tier = match o {
            Object::Filler(_) => Tier::Other,
            Object::Prefix { .. } => Tier::Container,
            Object::Entry { .. } => Tier::Application,
        };
        let dropped = self.frontier.push(
            tier,
            Entry {
                handle: o,
                node,
                class,
                cursor: 0,
            },
        );
        self.evicted |= dropped.is_some();
        true
    }

    fn scan_statics_and_threads(&mut self, plan: &PassPlan) -> u64 {
        let heap = self.heap.clone();
        let heap = heap.borrow();
        let mut found: Vec<(Object, ClassId, EdgeRef)> = Vec::new();
        heap.statics(|o, c, e| found.push((o, c, e)));
        heap.threads(|o, c, root| {
            let root = self.arena.add_root(root);
            found.push((o, c, EdgeRef::root(root)));
        });
        let edges = found.len() as u64;
        for (o, c, e) in found {
            self.see(plan, None, o, c, e);
        }
        edges
    }

    fn scan_roots(&mut self, plan: &PassPlan, report: &mut PassReport) {
        let objects = self.heap.borrow().objects();
        let reset = if self.engine == WalkEngine::Safepoint {
            self.costs.reset_ns_per_object * objects / 1000
        } else {
            0
        };
        let took = Micros(self.costs.roots_us + self.costs.thread_us * self.threads + reset);
        report.heap_walk = report.heap_walk.saturating_add(took);
        report.roots_took = took;
        if self.faults.root_errors > 0 {
            self.faults.root_errors -= 1;
            report.roots = RootOutcome::Error;
            return;
        }
        if self.faults.root_truncations > 0 {
            self.faults.root_truncations -= 1;
            report.roots = RootOutcome::Truncated;
            return;
        }
        report.roots = RootOutcome::CompleteAtSystemClass;
        let heap = self.heap.clone();
        let heap = heap.borrow();
        let mut found = Vec::new();
        heap.hidden_roots(|o, c, root| {
            found.push((o, c, EdgeRef::root(self.arena.add_root(root))));
        });
        for (o, c, e) in found {
            report.new_nodes += u64::from(self.see(plan, None, o, c, e));
        }
        if !self.roots_seen {
            // What strong paths did not explain: soft edges are a separate, labelled, last resort.
            self.soft = true;
            self.roots_seen = true;
            let softly: Vec<(crate::sim::paths::NodeId, Object)> = self.soft_referrers(&heap);
            for (node, o) in softly {
                let class = self.arena.get(node).map_or(ClassId(0), |n| n.class);
                self.frontier.push(
                    Tier::Other,
                    Entry {
                        handle: o,
                        node,
                        class,
                        cursor: 0,
                    },
                );
            }
        }
    }

    /// Entries that hold their leaf softly; the real walk keeps a list of references it skipped.
    fn soft_referrers(&self, heap: &Heap) -> Vec<(crate::sim::paths::NodeId, Object)> {
        use crate::chain::EdgeKind;
        let mut out = Vec::new();
        for (s, p) in heap.planted.iter().enumerate() {
            let soft_at = p.shape.suffix.iter().position(|x| x.0 == EdgeKind::Soft);
            let Some(at) = soft_at.filter(|a| *a > 0) else {
                continue;
            };
            let shape = u32::try_from(s).unwrap_or(0);
            let mut index = 0;
            for n in 0..self.arena.len() {
                let id = crate::sim::paths::NodeId(u32::try_from(n).unwrap_or(0));
                let Some(node) = self.arena.get(id) else {
                    continue;
                };
                let name = crate::sim::tally::Names::class(heap, node.class);
                if p.shape.suffix.get(at - 1).is_some_and(|x| x.2 == &*name) {
                    let step = u32::try_from(at - 1).unwrap_or(0);
                    out.push((id, Object::Entry { shape, index, step }));
                    index += 1;
                }
            }
        }
        out
    }

    fn expand(&mut self, plan: &PassPlan, report: &mut PassReport) {
        let heap = self.heap.clone();
        let heap = heap.borrow();
        let per_edge = match self.engine {
            WalkEngine::Concurrent => self.costs.edge_ns,
            WalkEngine::Safepoint => self.costs.safepoint_object_ns,
        };
        let cpu_ns = plan.deadlines.cpu.0.saturating_mul(1000);
        let wall_ns = plan.deadlines.expansion.0.saturating_mul(1000);
        let most = (cpu_ns.min(wall_ns) / per_edge).max(1);
        let mut batch: Vec<(Object, ClassId, EdgeRef)> = Vec::new();
        let mut admitted = 0;
        while admitted < plan.edge_budget && report.edges < most {
            let Some((tier, mut entry)) = self.frontier.pop() else {
                break;
            };
            batch.clear();
            let limit = u32::try_from(plan.edge_budget - admitted)
                .unwrap_or(u32::MAX)
                .min(4096);
            let rest = heap.referents(entry.handle, entry.cursor, limit, self.soft, |o, c, e| {
                batch.push((o, c, e));
            });
            report.edges += batch.len() as u64;
            for (o, c, e) in &batch {
                if self.see(plan, Some(entry.node), *o, *c, *e) {
                    admitted += 1;
                }
            }
            if let Some(cursor) = rest {
                entry.cursor = cursor;
                self.frontier.put_back(tier, entry);
            }
        }
        report.new_nodes += admitted;
        let spent = Micros(report.edges * per_edge / 1000);
        match self.engine {
            WalkEngine::Concurrent => report.cpu = report.cpu.saturating_add(spent),
            WalkEngine::Safepoint => {
                let reset = self.costs.reset_ns_per_object * heap.objects() / 1000;
                let call = Micros(self.costs.call_us + reset);
                report.heap_walk = report.heap_walk.saturating_add(spent).saturating_add(call);
                report.cpu = report.cpu.saturating_add(Micros(500));
            }
        }
    }

    fn chains(&mut self, plan: &PassPlan, report: &mut PassReport) {
        let heap = self.heap.clone();
        let heap = heap.borrow();
        for target in plan.targets.iter() {
            for leaf in self.tally.unverified(target.class) {
                self.tally.verified(&self.arena, leaf);
            }
            report.reached.push(Reached {
                class: target.class,
                instances: self.tally.reached(target.class),
            });
            report
                .chains
                .extend(self.tally.chains(target.class, &self.arena, &*heap));
        }
    }
}

fn n_lo(n: u64) -> u32 {
    u32::try_from(n & 0x7fff_ffff).unwrap_or(0)
}

fn n_hi(n: u64) -> u32 {
    u32::try_from(n >> 31).unwrap_or(0)
}

impl HeapWalk for SimWalk {
    fn run_pass(&mut self, plan: &PassPlan) -> PassReport {
        if plan.search != self.search {
            self.begin(plan);
        }
        let mut report = PassReport {
            search: plan.search,
            pass: plan.pass,
            ..PassReport::default()
        };
        if !self.started {
            self.started = true;
            let before = self.arena.len();
            report.edges += self.scan_statics_and_threads(plan);
            report.new_nodes += (self.arena.len() - before) as u64;
        }
        report.statics_complete = true;
        report.threads_complete = true;
        if plan.roots {
            self.scan_roots(plan, &mut report);
        }
        if plan.expand {
            self.expand(plan, &mut report);
        }
        self.chains(plan, &mut report);
        report.nodes = self.visited.len() as u64;
        report.frontier = self.frontier.len() as u64;
        report.drained = self.frontier.is_empty();
        report.evicted = u64::from(self.evicted);
        report.frontier_cap_hit =
            self.engine == WalkEngine::Safepoint && self.frontier.dropped() > 0;
        report.wall = report.heap_walk.saturating_add(report.cpu);
        report.native =
            Bytes(self.visited.bytes().0 + self.arena.bytes().0 + self.frontier.bytes().0);
        let objects = self.heap.borrow().objects().max(1);
        let pruned = self.heap.borrow().fillers * 7 / 8;
        let seen = (report.nodes + if report.drained { pruned } else { 0 }).min(objects);
        report.coverage = u16::try_from(seen * 1000 / objects).ok();
        report
    }

    fn release(&mut self, search: SearchId) -> ReleaseReport {
        if self.faults.release_failures > 0 {
            self.faults.release_failures -= 1;
            return ReleaseReport {
                search,
                complete: false,
                failed: 3,
                ..ReleaseReport::default()
            };
        }
        self.frontier.drain().for_each(drop);
        self.arena.clear();
        self.visited.clear();
        self.tally.clear();
        self.search = SearchId(0);
        self.held.retain(|s| *s != search);
        ReleaseReport {
            search,
            complete: true,
            ..ReleaseReport::default()
        }
    }

    fn reverify(&mut self, chain: &FoundChain) -> bool {
        let heap = self.heap.borrow();
        let leaf = chain.chain.hops.last().map(|h| h.class.clone());
        heap.planted.iter().any(|p| {
            let class = p.shape.suffix.last().or(p.shape.prefix.last()).map(|s| s.2);
            p.instances > 0 && class == leaf.as_deref()
        }) || chain.chain.root.kind == RootKind::Unknown
    }
}
