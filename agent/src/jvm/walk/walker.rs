//! What both engines share: the search between its passes, the report of a pass, the chains that were told.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use chain_core::chain::FoundChain;
use chain_core::walk::Reached;
use chain_core::{Bytes, ClassId, Micros, PassPlan, PassReport, ReleaseReport, SearchId};

use super::catalogue::Catalogue;
use super::kept::{self, Kept};
use super::pass::{End, FRAME, Limits, Pass};
use super::search::{Search, Stage};
use super::stack_roots::enumerate;
use super::untag::untag;
use super::visited::{Tags, Visited};
use super::{Host, clock};
use crate::jvm::env::{Jni, Jvmti, Vm};

/// CPU time of a pass whose plan sets none.
const CPU: Duration = Duration::from_millis(200);
/// Bytes of a search whose plan sets none.
const MEMORY: u64 = 64 << 20;

/// How seen objects are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recognise {
    /// By class and identity hash.
    #[default]
    Hash,
    /// By a tag.
    Tags,
}

/// A search and what outlives it.
pub struct Walker<H: Host> {
    pub(super) vm: Vm,
    pub(super) jvmti: Jvmti,
    pub(super) host: H,
    pub(super) abort: &'static AtomicBool,
    recognise: Recognise,
    pub(super) catalogue: Catalogue,
    pub(super) search: Option<Search>,
    pub(super) kept: VecDeque<Kept>,
    pub(super) next_handle: u64,
}

impl<H: Host> Walker<H> {
    /// Nothing was read yet. `jvmti` needs no capability of its own; `abort` ends a pass at its next edge.
    #[must_use]
    pub fn new(
        vm: Vm,
        jvmti: Jvmti,
        host: H,
        abort: &'static AtomicBool,
        recognise: Recognise,
    ) -> Self {
        Self {
            vm,
            jvmti,
            host,
            abort,
            recognise,
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
        let visited = match self.recognise {
            Recognise::Hash => Visited::Hash,
            // A JVM that grants no tags is walked by hashes.
            Recognise::Tags => Tags::open(self.vm).map_or(Visited::Hash, Visited::Tags),
        };
        self.search = Some(Search::new(plan.search, targets, signatures, visited));
    }

    /// Whether nothing of the search is left in the JVM.
    fn drop_search(&mut self, jni: &Jni<'_>) -> bool {
        let Some(mut search) = self.search.take() else {
            return true;
        };
        if let Some(tags) = search.visited.tags() {
            untag(&mut search, &mut self.catalogue, jni, tags, self.abort);
        }
        search.clear(jni)
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

    /// Runs a pass; `engine` takes up roots and expands.
    pub fn run_pass(&mut self, plan: &PassPlan, engine: &mut dyn Engine) -> PassReport {
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
        let ran = jni.frame(room, |jni| self.pass(jni, plan, engine, &mut report));
        report.wall = micros(started.elapsed());
        report.cpu = micros(clock::cpu(self.jvmti).saturating_sub(cpu));
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

    fn pass(
        &mut self,
        jni: &Jni<'_>,
        plan: &PassPlan,
        engine: &mut dyn Engine,
        report: &mut PassReport,
    ) {
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
            wall: match plan.deadlines.expansion {
                Micros(0) => Duration::MAX,
                Micros(us) => Duration::from_micros(us),
            },
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
            pass.find_new_threads(host, plan);
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
            let took = micros(enumerated.took);
            report.roots_took = took;
            report.heap_walk = took;
            pass.roots_were_tried();
        }
        let end = if plan.expand {
            engine.run(&mut pass, host, plan, report)
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
        report.frontier = (search.parked.len() + search.near.len()) as u64;
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

    /// Releases what a search left in the JVM.
    pub fn release(&mut self, search: SearchId) -> ReleaseReport {
        let started = Instant::now();
        let vm = self.vm;
        let mut complete = true;
        if self.search.as_ref().is_some_and(|s| s.id == search) {
            complete = vm.current().is_some_and(|jni| {
                jni.clear_exception();
                self.drop_search(&jni)
            });
        }
        ReleaseReport {
            search,
            complete,
            failed: u64::from(!complete),
            took: micros(started.elapsed()),
        }
    }

    /// Whether every hop of a chain that was told holds and its leaf lives.
    pub fn reverify(&mut self, chain: &FoundChain) -> bool {
        let vm = self.vm;
        let (Some(jni), Some(handle)) = (vm.current(), chain.leaf) else {
            return false;
        };
        let Some(kept) = self.kept.iter().find(|kept| kept.handle == handle) else {
            return false;
        };
        jni.clear_exception();
        let catalogue = &mut self.catalogue;
        jni.frame(64, |jni| kept::holds(kept, catalogue, jni))
            .unwrap_or(false)
    }

    /// Frees every reference. The walk can go on afterwards, from nothing.
    pub fn shut_down(&mut self) {
        let vm = self.vm;
        let Some(jni) = vm.current() else {
            return;
        };
        jni.clear_exception();
        self.drop_search(&jni);
        for kept in self.kept.drain(..) {
            kept.free(&jni);
        }
        self.catalogue.clear(&jni);
    }
}

/// Frees every reference when the worker drops its walk; nothing on a thread that is not attached.
impl<H: Host> Drop for Walker<H> {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// How a pass reads the heap.
pub trait Engine {
    /// Takes up roots and expands until one of the pass's bounds; adds its heap-walk calls to the report.
    fn run(
        &mut self,
        pass: &mut Pass<'_, '_>,
        host: &dyn Host,
        plan: &PassPlan,
        report: &mut PassReport,
    ) -> End;
}

fn micros(time: Duration) -> Micros {
    Micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// Thousandths of what is reachable that was looked at; `None` while the walk goes on, and when the cap cut it, since
/// nobody knows what lies behind what was not followed.
fn coverage(search: &Search, drained: bool) -> Option<u16> {
    (drained && search.evicted == 0).then_some(1000)
}
