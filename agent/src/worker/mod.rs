//! The worker thread: the only one that owns the engine, tracked handles, the walk and the output.

mod config;
mod counters;
mod emit;
mod join;
mod journal;
mod samples;
mod status;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use chain_core::chain::FoundChain;
use chain_core::collector;
use chain_core::input::{ContainerReading, Refusal, Sample};
use chain_core::record::{CandidateState, LeakCandidate, Record, Stamped};
use chain_core::walk::ChainAlive;
use chain_core::{
    Action, Bytes, ClassId, Engine, Epoch, HeapWalk, Input, SampleId, ThreadId, Tick,
};

use crate::agent::Agent;
use crate::container::Cgroup;
use crate::control::Requests;
use crate::handles::{Handles, Origin, Tracked};
use crate::jvm::beans::GcReader;
use crate::jvm::env::{Jni, Obj, Weak};
use crate::jvm::{epoch, guard, sampler, walk};
use crate::options::{Options, WalkEngine};
use crate::output::FileOutput;
use crate::record::{Emission, Item, Lookup, Mapper, PassFacts};
use crate::recordings::Recordings;
use crate::session::Session;
use crate::{gc, record};

use counters::Counters;

/// Longest sleep: containers and counters are read at least this often.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// Events reach the file at least this often.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// A status event at least this often.
const STATUS_EVERY: Duration = Duration::from_secs(20);
/// Names of what is gone are looked for this often.
const TIDY_EVERY: Duration = Duration::from_secs(10);
/// How long the end waits for callbacks that are inside.
const QUIET_LIMIT: Duration = Duration::from_millis(200);
/// Actions of one wake-up; more means that the engine does not come to rest.
const MOST_ACTIONS: u32 = 10_000;
/// Samples taken from the queue before the engine is asked again.
const MOST_SAMPLES: usize = 4_096;

/// The thread's body. Never unwinds; the thread is detached from the JVM before it says that it has ended.
pub fn run(agent: &'static Agent, session: Session) {
    sampler::mute_this_thread();
    let body = AssertUnwindSafe(|| {
        let attached = agent.vm.attached_as_daemon("jfr-chains", |jni| {
            Worker::new(agent, jni, session).work(jni);
        });
        if let Err(error) = attached {
            crate::warning!("the JVM did not take the agent's thread ({error}); it stays idle");
        }
    });
    if let Err(payload) = catch_unwind(body) {
        guard::latch(payload);
        agent.sampling.switch_off();
    }
    agent.control.end();
}

/// What the walk asks about the agent's numbers and limits.
struct WalkHost {
    agent: &'static Agent,
    stop_limit: Duration,
}

impl walk::Host for WalkHost {
    fn class_signature(&self, class: ClassId) -> Option<Arc<str>> {
        self.agent.names.classes.signature(class)
    }

    /// Watched threads are compared whatever they are called by now, others by the name they had.
    fn thread_id(&self, jni: &Jni<'_>, thread: &Obj<'_>, name: &str) -> Option<ThreadId> {
        let threads = &self.agent.names.threads;
        let watched = self.agent.sampling.admission().watched;
        let watched = watched.iter().copied().find(|id| {
            let weak = threads.get(*id).and_then(|info| info.weak);
            weak.is_some_and(|weak| jni.is_same_weak(&weak, thread))
        });
        watched.or_else(|| {
            let alike = threads.named(name).into_iter();
            let mut same = alike.filter(|(_, weak)| jni.is_same_weak(weak, thread));
            same.next().map(|(id, _)| id)
        })
    }

    fn stop_limit(&self) -> Duration {
        self.stop_limit
    }
}

/// The engine that the options name.
fn heap_walk(agent: &'static Agent, options: &Options) -> Box<dyn HeapWalk> {
    let (vm, jvmti) = (agent.vm, agent.jvmti);
    // What would fill the window by itself is not begun.
    let host = WalkHost {
        agent,
        stop_limit: options.stop_cap,
    };
    match options.walk {
        WalkEngine::Concurrent => {
            let recognise = config::recognise(options.visited);
            let abort = &agent.abort;
            Box::new(walk::ConcurrentWalk::new(vm, jvmti, host, abort, recognise))
        }
        WalkEngine::Safepoint => Box::new(walk::SafepointWalk::new(vm, jvmti, host, &agent.abort)),
    }
}

/// Everything the mapping may ask.
struct View<'a> {
    handles: &'a Handles<Weak>,
    epoch: Epoch,
    container: Option<ContainerReading>,
    used_after_gc: Option<Bytes>,
    started_epoch_millis: i64,
}

impl Lookup for View<'_> {
    fn origin(&self, class: ClassId) -> Option<Origin> {
        self.handles.origin(class, self.epoch)
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn container(&self) -> Option<ContainerReading> {
        self.container
    }

    fn used_after_gc(&self) -> Option<Bytes> {
        self.used_after_gc
    }

    fn epoch_millis(&self, at: Tick) -> i64 {
        self.started_epoch_millis
            .saturating_add(i64::try_from(at.0).unwrap_or(i64::MAX))
    }
}

/// The allocation sampler, which only one agent of a JVM can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sampler {
    /// Not asked for.
    Off,
    /// Ours.
    On,
    /// Not to be had.
    Refused(Refusal),
}

struct Worker {
    agent: &'static Agent,
    session: Session,
    engine: Engine,
    handles: Handles<Weak>,
    gc: GcReader,
    cgroup: Option<Cgroup>,
    container: Option<ContainerReading>,
    used_after_gc: Option<Bytes>,
    walk: Box<dyn HeapWalk>,
    mapper: Mapper<'static>,
    counters: Counters,
    epoch: Epoch,
    started_epoch_millis: i64,
    sampler: Sampler,
    facts: status::Facts,
    last_flush: Instant,
    last_status: Instant,
    last_tidy: Instant,
    unloaded: Option<u64>,
    deadline: Option<Instant>,
    emissions: Vec<Emission>,
    journal: journal::Journal,
    recordings: Option<Recordings>,
    /// The beans were opened and the engine knows its machine.
    opened: bool,
}

impl Worker {
    fn new(agent: &'static Agent, jni: &Jni<'_>, session: Session) -> Self {
        // Without an own file nothing is asked of the JVM until a recording wants it: children that inherit the
        // agent should not pay for beans they never need.
        let opened = session.file.is_some();
        let (gc, beans_error) = if opened {
            GcReader::open(jni)
        } else {
            (GcReader::closed(), None)
        };
        let facts = status::Facts::collect(agent.jvmti, &gc, &session.options, beans_error);
        let core = config::core_config(&session.options, config::machine(agent.jvmti, &gc, jni));
        let engine = Engine::new(core);
        let mapper = Mapper::new(&agent.names, engine.config().walk, *engine.tuned());
        let walk = heap_walk(agent, &session.options);
        let now = Instant::now();
        let started = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let since_origin = now.saturating_duration_since(agent.origin);
        let started_epoch_millis =
            i64::try_from(started.saturating_sub(since_origin).as_millis()).unwrap_or(0);
        Self {
            agent,
            deadline: session.options.duration.map(|duration| now + duration),
            session,
            engine,
            handles: Handles::default(),
            gc,
            cgroup: Cgroup::own(),
            container: None,
            used_after_gc: None,
            walk,
            mapper,
            counters: Counters::default(),
            epoch: Epoch(0),
            started_epoch_millis,
            sampler: Sampler::Off,
            facts,
            last_flush: now,
            last_status: now,
            last_tidy: now,
            unloaded: None,
            emissions: Vec::new(),
            journal: journal::Journal::default(),
            recordings: None,
            opened,
        }
    }

    fn now(&self) -> Tick {
        self.agent.now()
    }

    fn work(mut self, jni: &Jni<'_>) {
        self.begin(jni);
        loop {
            let until = self.wake_up(jni);
            let Some(until) = until else { break };
            let ms = until.since(self.now()).0;
            let sleep = Duration::from_millis(ms).min(self.longest_sleep());
            let asked = self.agent.control.wait(sleep);
            if asked.stop
                || self.agent.is_over()
                || self.deadline.is_some_and(|at| Instant::now() >= at)
            {
                break;
            }
            self.answer(asked);
        }
        self.finish(jni);
    }

    fn longest_sleep(&self) -> Duration {
        let now = Instant::now();
        let flush = FLUSH_EVERY.saturating_sub(now.saturating_duration_since(self.last_flush));
        let until_deadline = self
            .deadline
            .map_or(LONGEST_SLEEP, |at| at.saturating_duration_since(now));
        LONGEST_SLEEP
            .min(until_deadline)
            .min(flush.max(Duration::from_millis(10)))
    }

    fn begin(&mut self, jni: &Jni<'_>) {
        self.forget(jni);
        self.read_gc(jni);
        self.emit_status("started", "info", "The agent has started");
        for (code, message) in self.facts.degradations.clone() {
            self.emit_status(code, "warning", &message);
        }
        crate::info!("working: {}", self.facts.summary());
        if self.session.file.is_some() {
            self.recording_started(jni);
        } else {
            self.join_recordings();
        }
    }

    /// Opens the beans and makes the engine for this machine, once. The engine before it has decided nothing, since
    /// no recording took events.
    fn open(&mut self, jni: &Jni<'_>) {
        if self.opened {
            return;
        }
        self.opened = true;
        let (gc, beans_error) = GcReader::open(jni);
        std::mem::replace(&mut self.gc, gc).close(jni);
        let jvmti = self.agent.jvmti;
        self.facts = status::Facts::collect(jvmti, &self.gc, &self.session.options, beans_error);
        let machine = config::machine(jvmti, &self.gc, jni);
        self.engine = Engine::new(config::core_config(&self.session.options, machine));
        let tuned = *self.engine.tuned();
        self.mapper = Mapper::new(&self.agent.names, self.engine.config().walk, tuned);
        self.read_gc(jni);
    }

    /// A recording takes our events from now on: sampling runs while one does.
    fn recording_started(&mut self, jni: &Jni<'_>) {
        self.open(jni);
        self.start_sampling();
        self.engine.handle(self.now(), Input::RecordingStarted);
        self.agent.sampling.publish(self.engine.admission());
        if let Sampler::Refused(refusal) = self.sampler {
            self.emit_status(
                "sampling-unavailable",
                "error",
                record::refusal_text(refusal),
            );
        }
    }

    /// Hands in what is new, does what the engine asks, writes what it says. `None` when it has stopped.
    fn wake_up(&mut self, jni: &Jni<'_>) -> Option<Tick> {
        self.read_gc(jni);
        if let Some(reading) = self.cgroup.as_ref().and_then(Cgroup::read) {
            self.container = Some(reading);
            self.engine.handle(self.now(), Input::Container(reading));
        }
        self.take_samples(jni);
        self.follow_recordings(jni);
        let until = self.act(jni);
        self.write(jni);
        until
    }

    fn read_gc(&mut self, jni: &Jni<'_>) {
        let (reading, callbacks) = self.gc.read(jni);
        self.epoch = reading.epoch;
        self.used_after_gc = reading.used_after_gc;
        let per_epoch = if self.gc.has_beans() {
            gc::callbacks_per_cycle(self.gc.collector())
        } else {
            collector::callback_divisor(self.gc.collector())
        };
        self.agent
            .sampling
            .publish_epoch(reading.epoch, callbacks, per_epoch);
        self.engine.handle(self.now(), Input::Gc(reading));
    }

    fn act(&mut self, jni: &Jni<'_>) -> Option<Tick> {
        for _ in 0..MOST_ACTIONS {
            let now = self.now();
            match self.engine.poll(now) {
                Action::Wait { until } => return Some(until),
                Action::Stopped => return None,
                Action::Sweep => {
                    let dead = self.sweep(jni);
                    self.engine.handle(self.now(), Input::Swept { dead });
                }
                Action::RunPass(plan) => {
                    // A search's start comes before its first pass.
                    self.collect_records();
                    let report = self.walk.run_pass(&plan);
                    self.counters.passes += 1;
                    self.mapper.pass_reported(PassFacts::from(&report));
                    self.engine.handle(self.now(), Input::Pass(report));
                }
                Action::ReleaseTags(search) => {
                    let report = self.walk.release(search);
                    self.engine.handle(self.now(), Input::Released(report));
                }
                Action::Reverify => {
                    let alive = self.reverify();
                    self.engine.handle(self.now(), Input::Reverified(alive));
                }
            }
            self.release(jni);
            self.collect_records();
            if self.agent.control.stop_asked() || self.agent.is_over() {
                return Some(self.now());
            }
        }
        crate::warning!("the engine did not come to rest in {MOST_ACTIONS} steps");
        Some(self.now().after(chain_core::Millis(1_000)))
    }

    fn reverify(&mut self) -> Vec<ChainAlive> {
        let cached: Vec<Arc<FoundChain>> = self.engine.cached_chains().cloned().collect();
        let verify = |found: &Arc<FoundChain>| ChainAlive {
            signature: found.signature,
            alive: self.walk.reverify(found),
        };
        cached.iter().map(verify).collect()
    }

    fn answer(&mut self, asked: Requests) {
        if asked.dump {
            self.emit_status("periodic", "info", "Written on request");
            self.put_out(true);
        }
        if asked.dump || asked.status {
            self.agent.control.answer(self.status_text());
        }
    }

    /// The end: everything search-owned released, the last events written, nothing left in the JVM.
    fn finish(mut self, jni: &Jni<'_>) {
        self.stop_sampling();
        self.agent.abort.store(false, Ordering::Relaxed);
        self.read_gc(jni);
        self.take_samples(jni);
        self.engine.handle(self.now(), Input::Stop);
        for _ in 0..64 {
            match self.engine.poll(self.now()) {
                Action::Stopped | Action::Wait { .. } => break,
                Action::ReleaseTags(search) => {
                    let report = self.walk.release(search);
                    self.engine.handle(self.now(), Input::Released(report));
                }
                Action::Sweep => self
                    .engine
                    .handle(self.now(), Input::Swept { dead: Vec::new() }),
                Action::Reverify => self
                    .engine
                    .handle(self.now(), Input::Reverified(Vec::new())),
                Action::RunPass(plan) => {
                    // No pass begins after a stop: an aborted one is the answer.
                    let report = chain_core::PassReport {
                        search: plan.search,
                        pass: plan.pass,
                        aborted: true,
                        ..chain_core::PassReport::default()
                    };
                    self.engine.handle(self.now(), Input::Pass(report));
                }
            }
        }
        self.collect_records();
        self.collect_journal();
        self.emit_status("stopped", "info", "The agent has stopped");
        self.put_out(false);
        self.release(jni);
        for tracked in self.handles.drain() {
            jni.delete_weak(tracked.weak);
        }
        // What waits there still names classes and threads.
        self.leave_recordings();
        crate::info!(
            "stopped: {}",
            self.status_text().lines().next().unwrap_or_default()
        );
        self.forget(jni);
        let file: Option<FileOutput> = self.session.file.take();
        if let Some(Err(error)) = file.map(FileOutput::close) {
            crate::warning!("{error}");
        }
        self.gc.close(jni);
    }

    fn callbacks(&self) -> u64 {
        epoch::finishes()
    }
}
