//! The allocation callback: admission first, then names, then one record into the queue.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use chain_core::admission::{Carry, Lottery};
use chain_core::{Bytes, ClassId, Epoch, ThreadId, Tick, TraceId};

use super::env::{Event, Jni, Jvmti, Obj, Weak};
use super::{epoch, resolve};
use crate::agent::Agent;
use crate::names::ThreadInfo;
use crate::queue::WORDS;

/// One thread's part of the sampling decision. Plain values: nothing to free when the thread ends.
#[derive(Debug, Clone, Copy)]
struct Local {
    /// A callback runs on this thread, or it is the worker.
    busy: bool,
    /// Its id, of the session below.
    thread: u64,
    /// 0: not seen yet.
    session: u64,
    carry: Carry,
    lottery: Option<Lottery>,
}

thread_local! {
    static LOCAL: Cell<Local> = const { Cell::new(Local { busy: false, thread: 0, session: 0, carry: Carry(0), lottery: None }) };
}

/// Turns the callback off on the current thread for good: for the worker, whose own Java calls allocate.
pub fn mute_this_thread() {
    let _gone = LOCAL.try_with(|cell| {
        cell.set(Local {
            busy: true,
            ..cell.get()
        })
    });
}

/// A sample as it travels to the worker, its weak reference included.
#[derive(Debug, PartialEq, Eq)]
pub struct QueuedSample {
    /// The object; whoever takes the record owns it.
    pub weak: Weak,
    /// Its class.
    pub class: ClassId,
    /// Its allocation stack.
    pub trace: TraceId,
    /// The allocating thread.
    pub thread: ThreadId,
    /// The object's own size.
    pub object: Bytes,
    /// Allocated bytes it stands for.
    pub weight: Bytes,
    /// Epoch when it was allocated.
    pub epoch: Epoch,
    /// When it was allocated.
    pub at: Tick,
}

impl QueuedSample {
    fn into_words(self) -> [u64; WORDS] {
        let ids = u64::from(self.class.0) << 32 | u64::from(self.trace.0);
        [
            self.weak.into_bits(),
            ids,
            self.thread.0,
            self.object.0,
            self.weight.0,
            self.epoch.0,
            self.at.0,
        ]
    }

    fn from_words(words: [u64; WORDS]) -> Option<Self> {
        let [weak, ids, thread, object, weight, epoch, at] = words;
        // SAFETY: the words come from `into_words` by way of the queue, which gives each record out once.
        let weak = unsafe { Weak::from_bits(weak) }?;
        Some(Self {
            weak,
            class: ClassId(u32::try_from(ids >> 32).ok()?),
            trace: TraceId(u32::try_from(ids & u64::from(u32::MAX)).ok()?),
            thread: ThreadId(thread),
            object: Bytes(object),
            weight: Bytes(weight),
            epoch: Epoch(epoch),
            at: Tick(at),
        })
    }
}

/// Takes the oldest queued sample. Worker only.
pub fn take(agent: &Agent) -> Option<QueuedSample> {
    agent.queue.pop().and_then(QueuedSample::from_words)
}

/// The callback's body. `thread` and `class` are the callback's own references.
pub(super) fn sampled(
    agent: &'static Agent,
    jni: &Jni<'_>,
    thread: &Obj<'_>,
    object: &Obj<'_>,
    class: &Obj<'_>,
    size: i64,
) {
    let Some(_inside) = agent.sampling.enter() else {
        return;
    };
    // A thread that is ending has no locals any more; its last samples are not worth a surprise.
    let Ok(mut local) = LOCAL.try_with(Cell::get) else {
        return;
    };
    if local.busy {
        return;
    }
    local.busy = true;
    let _set = LOCAL.try_with(|cell| cell.set(local));
    agent.sampling.seen.fetch_add(1, Ordering::Relaxed);
    admit(agent, jni, &mut local, thread, object, class, size);
    local.busy = false;
    let _set = LOCAL.try_with(|cell| cell.set(local));
}

fn admit(
    agent: &'static Agent,
    jni: &Jni<'_>,
    local: &mut Local,
    thread: &Obj<'_>,
    object: &Obj<'_>,
    class: &Obj<'_>,
    size: i64,
) {
    let session = agent.sampling.session();
    if local.session != session {
        local.session = session;
        local.carry = Carry::default();
        local.thread = agent.names.threads.next_id().0;
        local.lottery = Some(Lottery::new(
            local.thread.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ));
        remember_thread(agent, jni, ThreadId(local.thread), thread);
    }
    let Some(lottery) = local.lottery.as_mut() else {
        return;
    };
    let size = u64::try_from(size).unwrap_or(0);
    let id = ThreadId(local.thread);
    let weight = Bytes(agent.sampling.weight(size));
    let verdict = agent
        .sampling
        .admission()
        .admit(id, weight, lottery.draw(), &mut local.carry);
    agent.sampling.count(verdict);
    let Some(weight) = verdict.weight() else {
        return;
    };
    let epoch = agent.sampling.epoch_now(epoch::finishes());
    if queue_sample(
        agent,
        jni,
        object,
        class,
        QueueArgs {
            thread: id,
            object: Bytes(size),
            weight,
            epoch,
        },
    ) {
        agent.sampling.queued.fetch_add(1, Ordering::Relaxed);
    } else {
        agent.sampling.lost.fetch_add(1, Ordering::Relaxed);
    }
}

struct QueueArgs {
    thread: ThreadId,
    object: Bytes,
    weight: Bytes,
    epoch: Epoch,
}

/// Resolves and queues an admitted sample; false when it was lost.
fn queue_sample(
    agent: &Agent,
    jni: &Jni<'_>,
    object: &Obj<'_>,
    class: &Obj<'_>,
    args: QueueArgs,
) -> bool {
    let queued = jni.frame(16, |jni| {
        let Ok(Some(class)) = resolve::class_id(agent.jvmti, jni, &agent.names.classes, class)
        else {
            return false;
        };
        let trace = resolve::current_trace(
            agent.jvmti,
            jni,
            &agent.names.traces,
            agent.sampling.depth(),
        );
        let Some(weak) = jni.new_weak(object) else {
            return false;
        };
        let QueueArgs {
            thread,
            object,
            weight,
            epoch,
        } = args;
        let words = QueuedSample {
            weak,
            class,
            trace,
            thread,
            object,
            weight,
            epoch,
            at: agent.now(),
        }
        .into_words();
        if agent.queue.push(words) {
            return true;
        }
        if let Some(refused) = QueuedSample::from_words(words) {
            jni.delete_weak(refused.weak);
        }
        false
    });
    queued.unwrap_or(false)
}

/// Registers the current thread. A carrier of virtual threads is one thread to us: its visitors share its id.
fn remember_thread(agent: &Agent, jni: &Jni<'_>, id: ThreadId, thread: &Obj<'_>) {
    let os_id = os_thread_id();
    let carrier = jni.is_virtual_thread(thread);
    let info = if carrier {
        ThreadInfo {
            name: carrier_name(os_id).into(),
            os_id,
            java_id: None,
            weak: None,
            carrier,
        }
    } else {
        let name = agent.jvmti.thread_name(jni, thread).unwrap_or_default();
        let weak = jni.new_weak(thread).map(Arc::new);
        ThreadInfo {
            name: name.into(),
            os_id,
            java_id: None,
            weak,
            carrier,
        }
    };
    agent.names.threads.add(id, info);
}

fn carrier_name(os_id: u64) -> String {
    let name = std::fs::read_to_string(format!("/proc/self/task/{os_id}/comm")).unwrap_or_default();
    format!("virtual threads on {}", name.trim_end())
}

/// The current thread's id in the operating system, 0 when it cannot be told.
#[must_use]
pub fn os_thread_id() -> u64 {
    let link = std::fs::read_link("/proc/thread-self").ok();
    let id = link
        .as_deref()
        .and_then(|path| path.file_name()?.to_str()?.parse().ok());
    id.unwrap_or(0)
}

/// A JVMTI environment's sampling on: capability, interval, event.
///
/// # Errors
/// `NOT_AVAILABLE`: another environment holds the sampler, which is exclusive. Any other JVMTI code.
pub fn start(jvmti: Jvmti, interval_bytes: u32) -> Result<(), super::env::JvmError> {
    jvmti.add_capabilities(&super::env::raw_jvmti::jvmtiCapabilities::for_heap_sampling())?;
    jvmti.set_sampling_interval(i32::try_from(interval_bytes).unwrap_or(i32::MAX))?;
    for event in EVENTS {
        jvmti.set_event(event, true)?;
    }
    Ok(())
}

/// What is on while a session works: collections before samples, so that the first sample has its epoch.
const EVENTS: [Event; 3] = [Event::GcStart, Event::GcFinish, Event::SampledAlloc];

/// The event off and the exclusive capability given back, so that another agent can have it.
pub fn stop(jvmti: Jvmti) {
    let mut off = Ok(());
    for event in EVENTS.into_iter().rev() {
        off = off.and(jvmti.set_event(event, false));
    }
    let given = jvmti
        .relinquish_capabilities(&super::env::raw_jvmti::jvmtiCapabilities::for_heap_sampling());
    if let Err(error) = off.and(given) {
        crate::debug!("the allocation sampler could not be given back: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_survives_its_way_through_the_queue() {
        // SAFETY: the number is never given to a JVM.
        let weak = || unsafe { Weak::from_bits(0x7f00_0000_1234) }.unwrap();
        let sample = |weak| QueuedSample {
            weak,
            class: ClassId(u32::MAX),
            trace: TraceId(u32::MAX - 1),
            thread: ThreadId(3),
            object: Bytes(4),
            weight: Bytes(5),
            epoch: Epoch(6),
            at: Tick(7),
        };
        assert_eq!(
            QueuedSample::from_words(sample(weak()).into_words()),
            Some(sample(weak()))
        );
        assert_eq!(QueuedSample::from_words([0; WORDS]), None);
    }
}
