//! The concurrent engine behind the core's [`HeapWalk`]: plain reads on the worker thread, no safepoint.

use std::sync::atomic::AtomicBool;

use chain_core::chain::FoundChain;
use chain_core::{HeapWalk, PassPlan, PassReport, ReleaseReport, SearchId};

use super::Host;
use super::pass::{End, Pass};
use super::walker::{Engine, Recognise, Walker};
use crate::jvm::env::{Jvmti, Vm};

/// The concurrent walk.
pub struct ConcurrentWalk<H: Host>(Walker<H>);

impl<H: Host> ConcurrentWalk<H> {
    /// A walk that has read nothing yet. `abort` ends a pass at its next edge.
    #[must_use]
    pub fn new(
        vm: Vm,
        jvmti: Jvmti,
        host: H,
        abort: &'static AtomicBool,
        recognise: Recognise,
    ) -> Self {
        Self(Walker::new(vm, jvmti, host, abort, recognise))
    }

    /// Frees every reference and tag. The walk can go on afterwards, from nothing.
    pub fn shut_down(&mut self) {
        self.0.shut_down();
    }
}

struct PlainReads;

impl Engine for PlainReads {
    fn run(
        &mut self,
        pass: &mut Pass<'_, '_>,
        host: &dyn Host,
        plan: &PassPlan,
        _: &mut PassReport,
    ) -> End {
        pass.run(host, plan)
    }
}

impl<H: Host> HeapWalk for ConcurrentWalk<H> {
    fn run_pass(&mut self, plan: &PassPlan) -> PassReport {
        self.0.run_pass(plan, &mut PlainReads)
    }

    fn release(&mut self, search: SearchId) -> ReleaseReport {
        self.0.release(search)
    }

    fn reverify(&mut self, chain: &FoundChain) -> bool {
        self.0.reverify(chain)
    }
}
