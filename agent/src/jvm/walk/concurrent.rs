//! The concurrent engine behind the core's [`HeapWalk`].

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use chain_core::chain::{Chain, FoundChain};
use chain_core::signature;
use chain_core::walk::Reached;
use chain_core::{Bytes, ClassId, HeapWalk, Micros, PassPlan, PassReport, ReleaseReport, SearchId};

use super::catalogue::{Catalogue, ClassIndex};
use super::nodes::NodeId;
use super::observe::{KeptEdge, KeptStep, Observed, keep, observe, rank, tell};
use super::pass::{End, FRAME, Limits, Pass};
use super::roots::Root;
use super::search::{Search, Stage};
use super::stack_roots::enumerate;
use super::tally::Ranked;
use super::{Host, clock};
use crate::jvm::env::{FieldId, Jni, Jvmti, Vm, Weak};

/// Chains told per candidate.
const CHAINS: usize = 3;
/// Longest chain of a plan that sets none.
const HOPS: usize = 200;
/// Failed attempts to re-read a path before it is given up.
const MAX_BROKEN: u32 = 8;
/// Chains kept for re-reading.
const KEPT: usize = 128;
/// CPU time of a pass whose plan sets none.
const CPU: Duration = Duration::from_millis(200);
/// Bytes of a search whose plan sets none.
const MEMORY: u64 = 64 << 20;

/// A chain that was told, for re-reading it after its search.
#[derive(Debug)]
struct Kept {
    handle: u64,
    leaf: Weak,
    root: KeptRoot,
    steps: Vec<KeptStep>,
}

#[derive(Debug)]
enum KeptRoot {
    Static(ClassIndex, FieldId),
    Object(Weak),
}

/// The concurrent walk.
pub struct ConcurrentWalk<H: Host> {
    vm: Vm,
    jvmti: Jvmti,
    host: H,
    abort: &'static AtomicBool,
    catalogue: Catalogue,
    search: Option<Search>,
    kept: VecDeque<Kept>,
    next_handle: u64,
}

impl<H: Host> ConcurrentWalk<H> {
    /// A walk that has read nothing yet. `jvmti` needs `can_tag_objects` only for root enumeration; `abort` ends a
    /// pass at its next edge.
    #[must_use]
    pub fn new(vm: Vm, jvmti: Jvmti, host: H, abort: &'static AtomicBool) -> Self {
        Self {
            vm,
            jvmti,
            host,
            abort,
            catalogue: Catalogue::new(jvmti),
            search: None,
            kept: VecDeque::new(),
            next_handle: 1,
        }
    }

    fn begin(&mut self, jni: &Jni<'_>, plan: &PassPlan) {
        self.drop_search(jni);
        let targets: Vec<ClassId> = plan.targets.as_slice().iter().map(|t| t.class).collect();
        let signatures: Vec<Arc<str>> = targets
            .iter()
            .map(|class| {
                self.host
                    .class_signature(*class)
                    .unwrap_or_else(|| "".into())
            })
            .collect();
        self.catalogue.aim(&signatures);
        self.catalogue.forget_unloaded(jni);
        // Without the list of classes the walk still has the threads.
        let _ = self.catalogue.refresh(jni);
        self.search = Some(Search::new(plan.search, targets, signatures));
    }

    fn drop_search(&mut self, jni: &Jni<'_>) {
        if let Some(mut search) = self.search.take() {
            search.clear(jni);
        }
    }

    /// Follows the core when it changes what it looks for.
    fn retarget(&mut self, jni: &Jni<'_>, plan: &PassPlan) {
        let same = self.search.as_ref().is_some_and(|search| {
            search.id == plan.search
                && plan
                    .targets
                    .as_slice()
                    .iter()
                    .all(|t| search.targets.contains(&t.class))
        });
        if !same {
            self.begin(jni, plan);
        }
    }

    fn pass(&mut self, jni: &Jni<'_>, plan: &PassPlan, report: &mut PassReport) {
        let host = &self.host;
        let Some(search) = self.search.as_mut() else {
            return;
        };
        let cpu = match plan.deadlines.cpu {
            Micros(0) => CPU,
            Micros(us) => Duration::from_micros(us),
        };
        let limits = Limits {
            edges: if plan.edge_budget == 0 {
                u64::MAX
            } else {
                plan.edge_budget
            },
            cpu,
            memory: usize::try_from(if plan.memcap.0 == 0 {
                MEMORY
            } else {
                plan.memcap.0
            })
            .unwrap_or(usize::MAX),
            abort: self.abort,
        };
        let mut pass = Pass::new(jni, self.jvmti, &mut self.catalogue, search, limits);
        if plan.roots {
            pass.find_threads(host, plan);
            let enumerated = enumerate(
                self.vm,
                self.jvmti,
                jni,
                host,
                self.abort,
                |object, kind, place| {
                    pass.admit_seen(object, kind, place);
                },
            );
            report.roots = enumerated.outcome;
            let took = Micros(u64::try_from(enumerated.took.as_micros()).unwrap_or(u64::MAX));
            report.roots_took = took;
            report.heap_walk = took;
            pass.roots_were_tried();
        }
        let end = if plan.expand {
            pass.run(host, plan)
        } else {
            End::Edges
        };
        let (edges, new_nodes) = pass.finish();
        report.edges += edges;
        report.new_nodes += new_nodes;
        report.aborted |= end == End::Aborted;
        report.drained = end == End::Drained;
    }

    fn fill(&self, report: &mut PassReport) {
        let Some(search) = &self.search else {
            return;
        };
        report.nodes = search.nodes.count() as u64;
        report.frontier = search.parked.len() as u64;
        report.statics_complete = search.stage == Stage::Done;
        report.threads_complete = search.stage > Stage::Threads;
        report.evicted = search.evicted;
        report.frontier_died = search.died;
        report.truncated = search.evicted > 0;
        report.coverage = coverage(search, report.drained);
        report.native = Bytes(search.bytes() as u64);
        report.reached = search
            .targets
            .iter()
            .zip(&search.tallies)
            .map(|(class, tally)| Reached {
                class: *class,
                instances: tally.reached,
            })
            .collect();
    }

    /// Re-reads and tells the best paths of every candidate whose count grew noticeably since they were told.
    fn tell_chains(&mut self, jni: &Jni<'_>, plan: &PassPlan, over: bool) -> Vec<FoundChain> {
        let mut told = Vec::new();
        let Some(mut search) = self.search.take() else {
            return told;
        };
        for place in 0..search.targets.len() {
            if search.tallies.get(place).is_some_and(|t| t.is_news(over)) {
                self.tell_candidate(jni, plan, &mut search, place, over, &mut told);
            }
        }
        self.search = Some(search);
        told
    }

    fn tell_candidate(
        &mut self,
        jni: &Jni<'_>,
        plan: &PassPlan,
        search: &mut Search,
        place: usize,
        over: bool,
        told: &mut Vec<FoundChain>,
    ) {
        let (Some(class), Some(tally)) = (
            search.targets.get(place).copied(),
            search.tallies.get(place),
        ) else {
            return;
        };
        let reached = tally.reached;
        let ranked = tally.ranked(|sig| rank(search, &self.catalogue, sig));
        let mut best: Option<Ranked> = None;
        let mut count = 0;
        for path in &ranked {
            if count >= CHAINS || !path.worth_telling(best.as_ref(), over) {
                continue;
            }
            let Some((chain, leaf)) = self.tell_path(jni, plan, search, place, path) else {
                continue;
            };
            count += 1;
            best = best.or(Some(*path));
            told.push(FoundChain {
                candidate: class,
                signature: signature::signature(&chain),
                identity: signature::identity(&chain),
                chain,
                verified: true,
                instances: path.instances,
                reached,
                leaf: Some(leaf),
            });
        }
        if count > 0
            && let Some(tally) = search.tallies.get_mut(place)
        {
            tally.told = reached;
        }
    }

    /// Tells one path by the first of its examples that still holds.
    fn tell_path(
        &mut self,
        jni: &Jni<'_>,
        plan: &PassPlan,
        search: &mut Search,
        place: usize,
        path: &Ranked,
    ) -> Option<(Chain, u64)> {
        let known = search.tallies.get(place)?.paths.get(&path.sig)?;
        if known.broken > MAX_BROKEN {
            return None;
        }
        let handle = known.handle;
        let mut examples = known.examples.clone();
        if examples.len() > 1 {
            // The second instance shows the edge on which a list goes on.
            examples.swap(0, 1);
        }
        let found = examples
            .into_iter()
            .find_map(|node| self.tell_one(jni, plan, search, node, handle));
        let known = search.tallies.get_mut(place)?.paths.get_mut(&path.sig)?;
        match &found {
            Some((_, handle)) => known.handle = Some(*handle),
            None => known.broken += 1,
        }
        found
    }

    fn tell_one(
        &mut self,
        jni: &Jni<'_>,
        plan: &PassPlan,
        search: &Search,
        node: NodeId,
        handle: Option<u64>,
    ) -> Option<(Chain, u64)> {
        let observed = observe(search, &mut self.catalogue, jni, node, self.abort)?;
        let hops = if plan.hops == 0 {
            HOPS
        } else {
            plan.hops as usize
        };
        let chain = tell(search, &self.catalogue, &observed, hops);
        let kept = match &chain {
            Some(_) => self.keep(jni, search, &observed, handle),
            None => None,
        };
        jni.delete(observed.leaf);
        Some((chain?, kept?))
    }

    /// Keeps an observed path for re-reading, in place of what `handle` names.
    fn keep(
        &mut self,
        jni: &Jni<'_>,
        search: &Search,
        observed: &Observed<'_>,
        handle: Option<u64>,
    ) -> Option<u64> {
        let root = match search.roots.get(observed.root)? {
            Root::Static { class, field, .. } => KeptRoot::Static(*class, *field),
            _ => {
                let object = search.roots.read(jni, &self.catalogue, observed.root)?;
                let weak = jni.new_weak(&object);
                jni.delete(object);
                KeptRoot::Object(weak?)
            }
        };
        let leaf = jni.new_weak(&observed.leaf)?;
        let old = self
            .kept
            .iter()
            .position(|kept| Some(kept.handle) == handle);
        let handle = handle.unwrap_or(self.next_handle);
        self.next_handle = self.next_handle.max(handle + 1);
        self.kept.push_back(Kept {
            handle,
            leaf,
            root,
            steps: keep(search, &self.catalogue, observed),
        });
        let over = match old {
            Some(at) => self.kept.remove(at),
            None if self.kept.len() > KEPT => self.kept.pop_front(),
            None => None,
        };
        if let Some(over) = over {
            over.free(jni);
        }
        Some(handle)
    }

    fn holds(&mut self, jni: &Jni<'_>, handle: u64) -> bool {
        let Some(kept) = self.kept.iter().find(|kept| kept.handle == handle) else {
            return false;
        };
        !jni.is_cleared(&kept.leaf) && reads(kept, &mut self.catalogue, jni)
    }

    /// Frees every reference. The walk can go on afterwards, from nothing.
    pub fn shut_down(&mut self) {
        let vm = self.vm;
        let Some(jni) = vm.current() else {
            return;
        };
        self.drop_search(&jni);
        for kept in self.kept.drain(..) {
            kept.free(&jni);
        }
        self.catalogue.clear(&jni);
    }
}

impl Kept {
    fn free(self, jni: &Jni<'_>) {
        jni.delete_weak(self.leaf);
        if let KeptRoot::Object(weak) = self.root {
            jni.delete_weak(weak);
        }
    }
}

/// Re-reads a kept chain; whether every hop has its class.
fn reads(kept: &Kept, catalogue: &mut Catalogue, jni: &Jni<'_>) -> bool {
    let root = match &kept.root {
        KeptRoot::Object(weak) => jni.upgrade(weak),
        KeptRoot::Static(class, field) => catalogue.upgrade(jni, *class).and_then(|class| {
            // SAFETY: a static reference field of this class, which was initialised when it was read first.
            let value = unsafe { jni.static_object_field(&class, *field) };
            jni.delete(class);
            value
        }),
    };
    let Some(mut at) = root else {
        return false;
    };
    for (edge, class) in &kept.steps {
        let next = match edge {
            None => None,
            // SAFETY: the loop checked that `at` has the class that declares or inherits the field.
            Some(KeptEdge::Field(field)) => Some(unsafe { jni.object_field(&at, *field) }),
            Some(KeptEdge::Element(index)) => Some(super::search::element(jni, &at, *index)),
            Some(KeptEdge::Class) => Some(jni.class_of(&at).ok()),
        };
        if let Some(next) = next {
            jni.delete(at);
            let Some(next) = next else {
                return false;
            };
            at = next;
        }
        if catalogue.class_of(jni, &at) != Some(*class) {
            jni.delete(at);
            return false;
        }
    }
    jni.delete(at);
    true
}

/// Thousandths of what is reachable that was looked at; `None` while the walk goes on, and when the cap cut it, since
/// nobody knows what lies behind what was not followed.
fn coverage(search: &Search, drained: bool) -> Option<u16> {
    (drained && search.evicted == 0).then_some(1000)
}

/// Frees every reference when the worker drops its walk; nothing on a thread that is not attached.
impl<H: Host> Drop for ConcurrentWalk<H> {
    fn drop(&mut self) {
        self.shut_down();
    }
}

impl<H: Host> HeapWalk for ConcurrentWalk<H> {
    fn run_pass(&mut self, plan: &PassPlan) -> PassReport {
        let mut report = PassReport {
            search: plan.search,
            pass: plan.pass,
            ..PassReport::default()
        };
        let vm = self.vm;
        let Some(jni) = vm.current() else {
            report.aborted = true;
            return report;
        };
        jni.clear_exception();
        self.retarget(&jni, plan);
        let started = Instant::now();
        let cpu = clock::cpu(self.jvmti);
        let room = i32::try_from(FRAME).unwrap_or(i32::MAX);
        let ran = jni.frame(room, |jni| self.pass(jni, plan, &mut report));
        report.wall = Micros(u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX));
        report.cpu = Micros(
            u64::try_from(clock::cpu(self.jvmti).saturating_sub(cpu).as_micros())
                .unwrap_or(u64::MAX),
        );
        if ran.is_err() {
            report.aborted = true;
        }
        if !report.aborted {
            let over = report.drained;
            let told = jni.frame(64, |jni| self.tell_chains(jni, plan, over));
            report.chains = told.unwrap_or_default();
        }
        self.fill(&mut report);
        report
    }

    fn release(&mut self, search: SearchId) -> ReleaseReport {
        let started = Instant::now();
        let vm = self.vm;
        let mut complete = true;
        if self.search.as_ref().is_some_and(|s| s.id == search) {
            match vm.current() {
                Some(jni) => self.drop_search(&jni),
                None => complete = false,
            }
        }
        ReleaseReport {
            search,
            complete,
            failed: u64::from(!complete),
            took: Micros(u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)),
        }
    }

    fn reverify(&mut self, chain: &FoundChain) -> bool {
        let vm = self.vm;
        let (Some(jni), Some(handle)) = (vm.current(), chain.leaf) else {
            return false;
        };
        jni.frame(64, |jni| self.holds(jni, handle))
            .unwrap_or(false)
    }
}
