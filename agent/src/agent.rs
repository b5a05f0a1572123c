//! The agent of this process: made once, never freed, since callbacks can outlive every stop.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::control::Control;
use crate::jvm::env::{Jvmti, Vm};
use crate::names::Names;
use crate::queue::Queue;
use crate::sampling::Sampling;

/// Places in the queue of samples: about a second of them at 10 GB/s with the default interval and ratio.
pub(crate) const QUEUE_PLACES: usize = 4_096;

/// State that callbacks, the worker and the load functions share.
#[derive(Debug)]
pub struct Agent {
    /// The JVM.
    pub vm: Vm,
    /// Our JVMTI environment for events; never disposed of.
    pub jvmti: Jvmti,
    /// The worker's mailbox.
    pub control: Control,
    /// What allocation callbacks read and count.
    pub sampling: Sampling,
    /// Samples on their way to the worker.
    pub queue: Queue,
    /// Classes, threads and stacks by id.
    pub names: Names,
    /// Ends a walk at its next check.
    pub abort: AtomicBool,
    /// When the library was loaded: the engine's time 0.
    pub origin: Instant,
    /// VMDeath has come.
    pub dead: AtomicBool,
}

static AGENT: OnceLock<Agent> = OnceLock::new();

static ORIGIN: OnceLock<Instant> = OnceLock::new();

/// Tick 0 of the engine and of the own recording: the first call, which is the library's first load.
pub fn origin() -> Instant {
    *ORIGIN.get_or_init(Instant::now)
}

/// The agent, once it was made.
pub fn get() -> Option<&'static Agent> {
    AGENT.get()
}

/// Makes the agent; `Err` gives the one that was there before.
///
/// # Errors
/// The library was loaded before in this process.
pub fn make(vm: Vm, jvmti: impl FnOnce() -> Jvmti) -> Result<&'static Agent, &'static Agent> {
    if let Some(agent) = AGENT.get() {
        return Err(agent);
    }
    let mut fresh = false;
    let agent = AGENT.get_or_init(|| {
        fresh = true;
        Agent {
            vm,
            jvmti: jvmti(),
            control: Control::default(),
            sampling: Sampling::default(),
            queue: Queue::new(QUEUE_PLACES),
            names: Names::default(),
            abort: AtomicBool::new(false),
            origin: origin(),
            dead: AtomicBool::new(false),
        }
    });
    if fresh { Ok(agent) } else { Err(agent) }
}

impl Agent {
    /// The instant as the engine counts them: since [`Agent::origin`].
    #[must_use]
    pub fn now(&self) -> chain_core::Tick {
        chain_core::Tick(u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Whether VMDeath has come or a body has panicked: nothing is begun any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.dead.load(Ordering::Relaxed) || crate::jvm::guard::panicked()
    }
}
