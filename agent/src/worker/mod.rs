//! The worker thread: the only one that owns the engine, tracked handles, the walk and the output.

mod config;
mod counters;
mod journal;
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
use chain_core::{Action, ClassId, Engine, Epoch, HeapWalk, Input, SampleId, Tick};

use crate::agent::Agent;
use crate::container::Cgroup;
use crate::control::Requests;
use crate::handles::{Handles, Origin, Tracked};
use crate::jvm::beans::GcReader;
use crate::jvm::env::{Jni, Weak};
use crate::jvm::{epoch, guard, sampler, walk};
use crate::names::Names;
use crate::output::FileOutput;
use crate::record::{Emission, Item, Lookup, Mapper, PassFacts};
use crate::session::Session;
use crate::{gc, record};

use counters::Counters;

/// Longest sleep: containers and counters are read at least this often.
const LONGEST_SLEEP: Duration = Duration::from_secs(5);
/// Events reach the file at least this often.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// A status event at least this often.
const STATUS_EVERY: Duration = Duration::from_secs(20);
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

/// What the walk asks about the agent's numbers.
struct WalkHost(&'static Names);

impl walk::Host for WalkHost {
    fn class_signature(&self, class: ClassId) -> Option<Arc<str>> {
        self.0.classes.signature(class)
    }
}

/// Everything the mapping may ask.
struct View<'a> {
    handles: &'a Handles<Weak>,
    epoch: Epoch,
    container: Option<ContainerReading>,
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

    fn epoch_millis(&self, at: Tick) -> i64 {
        self.started_epoch_millis
            .saturating_add(i64::try_from(at.0).unwrap_or(i64::MAX))
    }
}

struct Worker {
    agent: &'static Agent,
    session: Session,
    engine: Engine,
    handles: Handles<Weak>,
    gc: GcReader,
    cgroup: Option<Cgroup>,
    container: Option<ContainerReading>,
    walk: Box<dyn HeapWalk>,
    mapper: Mapper<'static>,
    counters: Counters,
    epoch: Epoch,
    started_epoch_millis: i64,
    sampling: Result<(), Refusal>,
    facts: status::Facts,
    last_flush: Instant,
    last_status: Instant,
    deadline: Option<Instant>,
    emissions: Vec<Emission>,
    journal: journal::Journal,
}

impl Worker {
    fn new(agent: &'static Agent, jni: &Jni<'_>, session: Session) -> Self {
        let (gc, beans_error) = GcReader::open(jni);
        let facts = status::Facts::collect(agent.jvmti, &gc, &session.options, beans_error);
        let core = config::core_config(&session.options, config::machine(agent.jvmti, &gc, jni));
        let engine = Engine::new(core);
        let mapper = Mapper::new(&agent.names, engine.config().walk, *engine.tuned());
        let walk = Box::new(walk::ConcurrentWalk::new(
            agent.vm,
            agent.jvmti,
            WalkHost(&agent.names),
            &agent.abort,
        ));
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
            walk,
            mapper,
            counters: Counters::default(),
            epoch: Epoch(0),
            started_epoch_millis,
            sampling: Ok(()),
            facts,
            last_flush: now,
            last_status: now,
            emissions: Vec::new(),
            journal: journal::Journal::default(),
        }
    }

    fn now(&self) -> Tick {
        Tick(u64::try_from(self.agent.origin.elapsed().as_millis()).unwrap_or(u64::MAX))
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
        let options = &self.session.options;
        self.sampling =
            sampler::start(self.agent.jvmti, options.interval_bytes).map_err(config::refusal);
        let now = self.now();
        match self.sampling {
            Ok(()) => {
                self.agent
                    .sampling
                    .switch_on(options.interval_bytes, options.depth_frames);
                self.engine.handle(now, Input::SamplingStarted);
                if self.session.file.is_some() {
                    self.engine.handle(now, Input::RecordingStarted);
                }
            }
            Err(refusal) => {
                crate::error!("{}", record::refusal_text(refusal));
                self.engine.handle(now, Input::SamplingUnavailable(refusal));
            }
        }
        self.agent.sampling.publish(self.engine.admission());
        self.emit_status("started", "info", "The agent has started");
        for (code, message) in self.facts.degradations.clone() {
            self.emit_status(code, "warning", &message);
        }
        if let Err(refusal) = self.sampling {
            self.emit_status(
                "sampling-unavailable",
                "error",
                record::refusal_text(refusal),
            );
        }
        crate::info!("working: {}", self.facts.summary());
    }

    /// Hands in what is new, does what the engine asks, writes what it says. `None` when it has stopped.
    fn wake_up(&mut self, jni: &Jni<'_>) -> Option<Tick> {
        self.read_gc(jni);
        if let Some(reading) = self.cgroup.as_ref().and_then(Cgroup::read) {
            self.container = Some(reading);
            self.engine.handle(self.now(), Input::Container(reading));
        }
        self.take_samples(jni);
        let until = self.act(jni);
        self.write(jni);
        until
    }

    fn read_gc(&mut self, jni: &Jni<'_>) {
        let (reading, callbacks) = self.gc.read(jni);
        self.epoch = reading.epoch;
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

    fn take_samples(&mut self, jni: &Jni<'_>) {
        let counts = self.agent.sampling.counts();
        if counts != self.counters.admission {
            self.counters.admission = counts;
            self.engine
                .handle(self.now(), Input::AdmissionCounts(counts));
        }
        for _ in 0..MOST_SAMPLES {
            let Some(sample) = sampler::take(self.agent) else {
                break;
            };
            let tracked = Tracked {
                weak: sample.weak,
                class: sample.class,
                thread: sample.thread,
                trace: sample.trace,
                weight: sample.weight,
                epoch: sample.epoch,
            };
            match self.handles.insert(tracked) {
                Ok(id) => {
                    let input = Sample {
                        id,
                        class: sample.class,
                        thread: sample.thread,
                        object: sample.object,
                        weight: sample.weight,
                        epoch: sample.epoch,
                        trace: sample.trace,
                    };
                    self.counters.samples_taken += 1;
                    self.engine.handle(self.now(), Input::Sample(input));
                }
                Err(refused) => jni.delete_weak(refused.weak),
            }
        }
        self.release(jni);
    }

    fn release(&mut self, jni: &Jni<'_>) {
        for id in self.engine.take_released() {
            if let Some(tracked) = self.handles.remove(id) {
                jni.delete_weak(tracked.weak);
            }
        }
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

    /// The slots whose objects the collector has cleared.
    fn sweep(&self, jni: &Jni<'_>) -> Vec<SampleId> {
        self.handles
            .iter()
            .filter(|(_, tracked)| jni.is_cleared(&tracked.weak))
            .map(|(id, _)| id)
            .collect()
    }

    fn reverify(&mut self) -> Vec<ChainAlive> {
        let cached: Vec<Arc<FoundChain>> = self.engine.cached_chains().cloned().collect();
        let verify = |found: &Arc<FoundChain>| ChainAlive {
            signature: found.signature,
            alive: self.walk.reverify(found),
        };
        cached.iter().map(verify).collect()
    }

    /// Takes the engine's journal over, as events of many lines each.
    fn collect_journal(&mut self) {
        let lines = self.engine.drain_journal();
        if self.session.file.is_none() {
            return;
        }
        let at = self.now();
        for event in self.journal.events(lines, at) {
            self.emissions.push(Emission {
                at,
                what: Item::Event(Box::new(event.into())),
            });
        }
    }

    /// Takes the engine's records over, as events.
    fn collect_records(&mut self) {
        let records: Vec<Stamped> = self.engine.drain().collect();
        for stamped in &records {
            match &stamped.record {
                Record::Admission(set) => self.agent.sampling.publish(set),
                Record::CostBudget(budget) => {
                    self.counters.core = budget.drops;
                    self.counters.refusals = budget.refusals;
                }
                Record::LeakCandidate(candidate) => self.note_candidate(candidate),
                Record::SearchStarted(_) => self.counters.searching = true,
                Record::SearchEnded(_) | Record::SearchAbandoned(_) => {
                    self.counters.searching = false
                }
                _ => {}
            }
            let view = View {
                handles: &self.handles,
                epoch: self.epoch,
                container: self.container,
                started_epoch_millis: self.started_epoch_millis,
            };
            self.mapper.map(stamped, &view, &mut self.emissions);
        }
    }

    /// Says what happened to the file: on stderr once, and as an event.
    fn tell_notices(&mut self) {
        let notices = self
            .session
            .file
            .as_mut()
            .map(FileOutput::take_notices)
            .unwrap_or_default();
        for (code, sentence) in notices {
            crate::warning!("{sentence}");
            self.emit_status(code, "warning", &sentence);
        }
    }

    /// Keeps the last word on a class for status answers.
    fn note_candidate(&mut self, candidate: &LeakCandidate) {
        if candidate.state == CandidateState::Gone {
            self.counters.candidates.remove(&candidate.class);
            return;
        }
        let name = self.agent.names.classes.name(candidate.class);
        let text = format!(
            "{}: {}, {}",
            name.as_deref().unwrap_or("unknown"),
            record::state_name(candidate.state),
            record::progress(candidate)
        );
        self.counters.candidates.insert(candidate.class, text);
    }

    fn write(&mut self, jni: &Jni<'_>) {
        self.collect_records();
        self.collect_journal();
        self.tell_notices();
        for weak in self.agent.names.threads.take_forgotten() {
            jni.delete_weak(weak);
        }
        let now = Instant::now();
        if now.saturating_duration_since(self.last_status) >= STATUS_EVERY {
            self.last_status = now;
            self.emit_status("periodic", "info", "The agent works");
        }
        let flush_due = now.saturating_duration_since(self.last_flush) >= FLUSH_EVERY;
        self.put_out(flush_due);
        if flush_due {
            self.last_flush = now;
        }
    }

    /// Hands the collected events to the output.
    fn put_out(&mut self, flush: bool) {
        let emissions = std::mem::take(&mut self.emissions);
        for emission in &emissions {
            if let Item::Chain(chain) = &emission.what
                && !chain.event.repeated
            {
                crate::info!("chain found: {}", chain.event.path);
            }
            if let Some(file) = &mut self.session.file {
                file.emit(emission);
            }
        }
        if flush && let Some(file) = &mut self.session.file {
            file.flush();
        }
    }

    fn emit_status(&mut self, code: &'static str, severity: &'static str, message: &str) {
        let event = self.status_event(code, severity, message);
        self.emissions.push(Emission {
            at: self.now(),
            what: Item::Event(Box::new(event.into())),
        });
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
        self.agent.sampling.switch_off();
        if self.sampling.is_ok() {
            sampler::stop(self.agent.jvmti);
        }
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
        self.discard_queue(jni);
        crate::info!(
            "stopped: {}",
            self.status_text().lines().next().unwrap_or_default()
        );
        let file: Option<FileOutput> = self.session.file.take();
        if let Some(Err(error)) = file.map(FileOutput::close) {
            crate::warning!("{error}");
        }
        self.gc.close(jni);
    }

    /// Frees what callbacks have made: queued samples, names and their references.
    fn forget(&self, jni: &Jni<'_>) {
        let sampling = &self.agent.sampling;
        let deadline = Instant::now() + QUIET_LIMIT;
        while !sampling.is_quiet() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        self.discard_queue(jni);
        // A callback that is still inside may hold a name: then the next session frees them.
        if sampling.is_quiet() {
            for weak in self.agent.names.clear() {
                jni.delete_weak(weak);
            }
        }
    }

    fn discard_queue(&self, jni: &Jni<'_>) {
        while let Some(sample) = sampler::take(self.agent) {
            jni.delete_weak(sample.weak);
        }
    }

    fn callbacks(&self) -> u64 {
        epoch::finishes()
    }
}
