//! The safepoint engine: the JVM follows references, a batch of objects at a time, while the application stands still.
//!
//! One `FollowReferences` per batch of frontier objects that were packed into an `Object[]`: their referents are tagged
//! and not followed. What was met is read again afterwards, so that every edge is seen twice. A pass has four parts
//! with deadlines of their own: statics (a chunk of classes), objects below candidate threads, the frontier, and
//! its oldest entries. Long arrays, class objects and batches of a few objects are read plainly: a heap walk cannot
//! begin in the middle of an array, shows only some of a class's fields, and has a fixed price.

mod batch;
mod fields;
mod gather;
mod views;

use std::sync::atomic::AtomicBool;

use chain_core::chain::FoundChain;
use chain_core::{HeapWalk, PassPlan, PassReport, ReleaseReport, SearchId};

use super::Host;
use super::pass::{End, Pass};
use super::walker::{Engine, Recognise, Walker};
use crate::jvm::env::{Jvmti, Vm};

use batch::{Batches, Turn};

/// The safepoint walk.
pub struct SafepointWalk<H: Host> {
    walker: Walker<H>,
    engine: HeapWalkCalls,
}

impl<H: Host> SafepointWalk<H> {
    /// A walk that has read nothing yet. `abort` ends a heap-walk call at its next callback.
    #[must_use]
    pub fn new(vm: Vm, jvmti: Jvmti, host: H, abort: &'static AtomicBool) -> Self {
        Self {
            walker: Walker::new(vm, jvmti, host, abort, Recognise::Tags),
            engine: HeapWalkCalls::default(),
        }
    }

    /// Frees every reference and tag. The walk can go on afterwards, from nothing.
    pub fn shut_down(&mut self) {
        self.walker.shut_down();
    }
}

/// What the engine keeps between the passes of a search.
#[derive(Default)]
struct HeapWalkCalls {
    search: SearchId,
    batches: Batches,
}

impl Engine for HeapWalkCalls {
    fn run(
        &mut self,
        pass: &mut Pass<'_, '_>,
        host: &dyn Host,
        plan: &PassPlan,
        report: &mut PassReport,
    ) -> End {
        let Some(tags) = pass.search.visited.tags() else {
            // The JVM grants no tags to anybody: what is left are plain reads.
            return pass.run(host, plan);
        };
        if self.search != plan.search {
            self.search = plan.search;
            self.batches = Batches::default();
        }
        Turn::new(pass, &mut self.batches, tags, plan, report).run(host)
    }
}

impl<H: Host> HeapWalk for SafepointWalk<H> {
    fn run_pass(&mut self, plan: &PassPlan) -> PassReport {
        self.walker.run_pass(plan, &mut self.engine)
    }

    fn release(&mut self, search: SearchId) -> ReleaseReport {
        self.walker.release(search)
    }

    fn reverify(&mut self, chain: &FoundChain) -> bool {
        self.walker.reverify(chain)
    }
}
