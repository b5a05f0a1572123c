//! The agent's life in the JVM: set-up before and after the JVM is live, and its end.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::env::raw_jvmti::jvmtiCapabilities;
use super::env::{Event, JvmError, Jvmti};
use super::{callbacks, guard};
use crate::agent::Agent;
use crate::control::Requests;
use crate::session::Session;

/// How long VMDeath waits for the worker.
const DEATH_WAIT: Duration = Duration::from_secs(2);

/// The session that VMInit begins; filled in `Agent_OnLoad`.
static PENDING: Mutex<Option<Session>> = Mutex::new(None);

/// Installs callbacks and the capabilities that every phase allows. The sampler's exclusive one is taken later,
/// by the worker, and only while it works.
///
/// # Errors
/// A failed JVMTI call.
pub(super) fn prepare(jvmti: Jvmti) -> Result<(), JvmError> {
    let mut caps = jvmtiCapabilities::default();
    caps.set_can_generate_garbage_collection_events(true);
    caps.set_can_get_line_numbers(true);
    caps.set_can_tag_objects(true);
    jvmti.add_capabilities(&caps)?;
    // Where it is not to be had, elapsed time stands in for the walk's CPU time.
    let mut clock = jvmtiCapabilities::default();
    clock.set_can_get_current_thread_cpu_time(true);
    let _ = jvmti.add_capabilities(&clock);
    // SAFETY: every function of the table is guarded and `'static`.
    unsafe { jvmti.set_callbacks(&callbacks::table()) }?;
    jvmti.set_event(Event::VmDeath, true)
}

/// Keeps the session until the JVM is live.
pub(super) fn begin_at_vm_init(jvmti: Jvmti, session: Session) -> Result<(), JvmError> {
    *PENDING.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    jvmti.set_event(Event::VmInit, true)
}

/// The JVM is live: the session begins.
pub(super) fn vm_init(agent: &'static Agent) {
    let session = PENDING
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(session) = session
        && let Err(refusal) = begin(agent, session)
    {
        crate::error!("{refusal}");
    }
}

/// Starts the worker for a session.
///
/// # Errors
/// One sentence: a session runs already, or there is no thread to be had.
pub(super) fn begin(agent: &'static Agent, session: Session) -> Result<(), String> {
    if agent.is_over() {
        return Err("the agent has ended in this JVM and cannot be started again".into());
    }
    if !agent.control.begin() {
        return Err("the agent works already in this JVM; stop it first (cmd=stop)".into());
    }
    agent.abort.store(false, Ordering::Relaxed);
    let spawned = std::thread::Builder::new()
        .name("jfr-chains".into())
        // Walks keep their own stacks on the heap; the JVM adds its guard pages to this.
        .stack_size(1 << 20)
        .spawn(move || crate::worker::run(agent, session));
    spawned.map(drop).map_err(|error| {
        agent.control.end();
        format!("no thread for the agent ({error}); it stays idle")
    })
}

/// Asks the worker to end and waits for it, `limit` at most; true when it has ended.
pub(super) fn end(agent: &'static Agent, limit: Duration) -> bool {
    agent.sampling.switch_off();
    agent.abort.store(true, Ordering::Relaxed);
    agent.control.request(Requests {
        stop: true,
        ..Requests::default()
    });
    agent.control.wait_for_end(limit)
}

/// The JVM ends: everything off, a bounded wait for the worker, which writes its last events.
pub(super) fn vm_death(agent: &'static Agent) {
    agent.dead.store(true, Ordering::Relaxed);
    if !end(agent, DEATH_WAIT) {
        crate::warning!(
            "the agent did not finish within {} s of the JVM's end; its recording may lack the last events",
            DEATH_WAIT.as_secs()
        );
    }
}

/// The library goes: no lock, no call into the JVM.
pub(super) fn on_unload() {
    if let Some(agent) = crate::agent::get() {
        agent.dead.store(true, Ordering::Relaxed);
        agent.sampling.switch_off();
    }
    if guard::panicked() {
        crate::debug!("unloaded after an internal error");
    }
}
