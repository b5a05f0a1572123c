//! The simulated JVM: time passes, objects are sampled, collections happen, the worker wakes.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

mod builder;
mod timeline;

use crate::admission::{Carry, Lottery};
use crate::config::{Collector, Config, Improvements, WalkEngine};
use crate::engine::Engine;
use crate::ids::{ClassId, SampleId, ThreadId};
use crate::input::{ContainerReading, GcReading, Input, Sample};
use crate::plan::Action;
use crate::record::{CandidateState, Outcome, Record, Stamped};
use crate::sim::heap::Heap;
use crate::sim::mutator::{Fate, Life, Mutator, precise};
use crate::sim::rng::Rng;
use crate::sim::shapes::Shape;
use crate::sim::tally::Names;
use crate::sim::walk::{Costs, SimWalk};
use crate::tick::{Bytes, Epoch, Tick};
use crate::walk::{ChainAlive, HeapWalk};

/// When collections happen and what they clear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GcModel {
    /// The collector.
    pub collector: Collector,
    /// Time between cycles, ms.
    pub period: u64,
    /// Every this many cycles one clears the old generation (a major on generational ZGC).
    pub old_every: u64,
    /// GC-finish callbacks a cycle fires: no cycles themselves.
    pub callbacks: u64,
    /// Cycles an object survives before a young collection no longer clears it.
    pub tenuring: u64,
}

impl GcModel {
    /// The collector's rules, with a cycle every `period` ms.
    pub fn of(collector: Collector, period: u64) -> GcModel {
        let (old_every, callbacks, tenuring) = match collector {
            Collector::G1 | Collector::Serial | Collector::Parallel => (40, 1, 4),
            Collector::Zgc => (1, 3, 0),
            Collector::Shenandoah => (1, 4, 0),
            Collector::GenZgc => (8, 3, 0),
            Collector::Unknown => (1, 1, 0),
        };
        GcModel {
            collector,
            period: period.max(1),
            old_every,
            callbacks,
            tenuring,
        }
    }

    /// What the agent reads as the epoch after `cycles` cycles.
    pub fn epoch(&self, cycles: u64, normalised: bool) -> u64 {
        if !normalised {
            return cycles * self.callbacks;
        }
        if self.collector == Collector::GenZgc {
            cycles / self.old_every
        } else {
            cycles
        }
    }

    /// The first cycle that clears an object allocated in cycle `born` and dead since `died`.
    pub fn clears_at(&self, born: u64, died: u64) -> u64 {
        let next = died + 1;
        let only_old = match self.collector {
            Collector::G1 | Collector::Serial | Collector::Parallel => next - born > self.tenuring,
            Collector::GenZgc => true,
            _ => false,
        };
        if only_old {
            next.div_ceil(self.old_every) * self.old_every
        } else {
            next
        }
    }
}

/// What a simulation is made of.
#[derive(Clone, Debug)]
pub struct Builder {
    seed: u64,
    /// Options of the engine; the machine part follows the simulation.
    pub config: Config,
    gc: GcModel,
    fillers: u64,
    heap_max: u64,
    heap_base: u64,
    container: Option<u64>,
    leaks: Vec<(Shape, Life, f64)>,
    others: Vec<(&'static str, Life, f64, u64)>,
}

/// The simulation.
pub struct Sim {
    /// The engine under test.
    pub engine: Engine,
    /// The walk over the heap.
    pub walk: SimWalk,
    /// Every record so far, journal and admission changes excepted.
    pub records: Vec<Stamped>,
    /// Starts of passes with a heap-walk call: instant and window before it, for the properties.
    pub passes: Vec<(Tick, crate::walk::PassReport)>,
    /// What went wrong when a rule was watched while time passed.
    pub violations: Vec<String>,
    heap: Rc<RefCell<Heap>>,
    mutators: Vec<Mutator>,
    gc: GcModel,
    normalised: bool,
    rng: Rng,
    lottery: Lottery,
    carry: Vec<Carry>,
    now: u64,
    sampled_to: u64,
    skew: i64,
    /// Cycles that the beans no longer count.
    uncounted: u64,
    due: Vec<f64>,
    graves: BinaryHeap<Reverse<(u64, u32)>>,
    slots: Vec<Option<u64>>,
    free: Vec<u32>,
    heap_max: u64,
    heap_base: u64,
    container: Option<u64>,
    recording: bool,
    journal: Option<Vec<String>>,
}

impl Sim {
    /// A builder with G1, a cycle a second, 512 MiB of heap, ordinary garbage.
    pub fn builder(seed: u64) -> Builder {
        Builder {
            seed,
            config: Config::default(),
            gc: GcModel::of(Collector::G1, 1000),
            fillers: 100_000,
            heap_max: 512 << 20,
            heap_base: 100 << 20,
            container: None,
            leaks: Vec::new(),
            others: vec![
                ("java.lang.String", Life::Short(20.0), 20e6, 64),
                ("com.acme.Request", Life::Short(80.0), 10e6, 512),
            ],
        }
    }

    /// Runs to this many seconds of simulated time.
    pub fn run_until_seconds(&mut self, seconds: u64) {
        self.run_until(|s| s.now >= seconds * 1000, seconds);
    }

    /// Runs until `done` or the deadline; whether it was done.
    pub fn run_until(&mut self, done: impl Fn(&Sim) -> bool, seconds: u64) -> bool {
        while self.now < seconds * 1000 {
            if done(self) {
                return true;
            }
            self.step();
        }
        done(self)
    }

    /// Now, in seconds.
    pub fn seconds(&self) -> u64 {
        self.now / 1000
    }

    /// Searches started so far.
    pub fn searches(&self) -> usize {
        self.records
            .iter()
            .filter(|r| matches!(r.record, Record::SearchStarted(_)))
            .count()
    }

    /// Outcomes of searches so far.
    pub fn outcomes(&self) -> Vec<Outcome> {
        let ended = |r: &Stamped| match &r.record {
            Record::SearchEnded(e) => Some(e.outcome),
            _ => None,
        };
        self.records.iter().filter_map(ended).collect()
    }

    /// Chains committed so far, first emissions only.
    pub fn chains(&self) -> Vec<&crate::record::ChainCommitted> {
        let first = |r: &'_ Stamped| match &r.record {
            Record::ChainCommitted(c) => !c.repeated,
            _ => false,
        };
        self.records
            .iter()
            .filter(|r| first(r))
            .filter_map(|r| match &r.record {
                Record::ChainCommitted(c) => Some(c),
                _ => None,
            })
            .collect()
    }

    /// Everything a planted shape holds dies at once, and nothing more is allocated.
    pub fn release_all(&mut self, shape: u32) {
        let cycle = self.now / self.gc.period;
        let Some(m) = self.mutators.iter_mut().find(|m| m.planted == Some(shape)) else {
            return;
        };
        m.rate = 0.0;
        let gone = self.gc.clears_at(0, cycle + self.gc.tenuring);
        for (id, slot) in self.slots.iter_mut().enumerate() {
            if let Some(clears) = slot.as_mut().filter(|c| **c > gone) {
                *clears = gone;
                self.graves
                    .push(Reverse((gone, u32::try_from(id).unwrap_or(0))));
            }
        }
    }

    /// Whether `class` is selected now.
    pub fn is_candidate(&self, class: ClassId) -> bool {
        self.engine
            .decider()
            .signal
            .select()
            .iter()
            .any(|c| c.class == class)
    }

    /// Candidates selected now.
    pub fn candidates(&self) -> usize {
        self.engine.decider().signal.select().len()
    }

    /// The strongest of them.
    pub fn first_candidate(&self) -> Option<ClassId> {
        self.engine
            .decider()
            .signal
            .select()
            .iter()
            .next()
            .map(|c| c.class)
    }

    /// Leaf class of a planted shape.
    pub fn leaf(&self, shape: u32) -> ClassId {
        self.heap.borrow().leaf(shape)
    }

    /// A class by name.
    pub fn class(&self, name: &str) -> ClassId {
        self.heap.borrow_mut().class_id(name)
    }

    /// The clock jumps by this many ms, forwards or backwards, as the engine sees it.
    pub fn jump(&mut self, ms: i64) {
        self.skew = self.skew.saturating_add(ms);
    }

    /// The GC beans begin to count anew, as the engine sees it.
    pub fn reset_gc_counts(&mut self) {
        self.uncounted = self.now / self.gc.period;
    }

    /// A recording starts or stops.
    pub fn record(&mut self, on: bool) {
        if on != self.recording {
            self.recording = on;
            let input = if on {
                Input::RecordingStarted
            } else {
                Input::RecordingStopped
            };
            self.engine.handle(self.tick(), input);
            self.collect();
        }
    }

    /// The process stops; runs until the engine says so.
    pub fn stop(&mut self) {
        self.engine.handle(self.tick(), Input::Stop);
        for _ in 0..10_000 {
            if self.engine.poll(self.tick()) == Action::Stopped {
                self.collect();
                return;
            }
            self.act();
        }
        self.violations.push("the engine never stopped".to_owned());
    }

    /// Keeps journal lines from now on.
    pub fn keep_journal(&mut self) {
        self.journal.get_or_insert_default();
    }

    /// The journal lines kept.
    pub fn journal(&self) -> &[String] {
        self.journal.as_deref().unwrap_or(&[])
    }

    /// The instant the engine is told.
    pub fn tick(&self) -> Tick {
        Tick(self.now.saturating_add_signed(self.skew))
    }

    /// One wake-up of the worker.
    pub fn step(&mut self) {
        self.allocate();
        let now = self.tick();
        let cycles = self.now / self.gc.period - self.uncounted;
        let reading = GcReading {
            epoch: Epoch(self.gc.epoch(cycles, self.normalised)),
            old_collections: cycles / self.gc.old_every,
            used_after_gc: Some(Bytes(self.used())),
            approximate: false,
            max_heap: Some(Bytes(self.heap_max)),
        };
        if let Some(max) = self.container {
            let used = Bytes(self.used().saturating_add(60 << 20));
            let reading = ContainerReading {
                used,
                max: Some(Bytes(max)),
            };
            self.engine.handle(now, Input::Container(reading));
        }
        self.engine.handle(now, Input::Gc(reading));
        for _ in 0..100_000 {
            if let Some(until) = self.act() {
                let wait = until.0.saturating_sub(self.tick().0).max(1);
                if wait > 1_000 {
                    self.violations.push(format!("{now}: a wait of {wait} ms"));
                }
                self.now += wait;
                return;
            }
        }
        self.violations
            .push(format!("{now}: no wait after 100,000 actions"));
        self.now += 1000;
    }

    /// Polls and does one thing; the wake-up instant when it is a wait.
    fn act(&mut self) -> Option<Tick> {
        let now = self.tick();
        let action = self.engine.poll(now);
        if self.engine.poll(now) != action {
            self.violations
                .push(format!("{now}: poll is not idempotent"));
        }
        let wait = match action {
            Action::Wait { until } => Some(until),
            Action::Stopped => Some(Tick(now.0 + 1000)),
            Action::Sweep => {
                let dead = self.dead();
                self.engine.handle(now, Input::Swept { dead });
                None
            }
            Action::RunPass(plan) => {
                self.plant();
                let report = self.walk.run_pass(&plan);
                self.passes.push((now, report.clone()));
                self.now += report.wall.ceil_millis().0;
                self.engine.handle(self.tick(), Input::Pass(report));
                None
            }
            Action::ReleaseTags(search) => {
                let report = self.walk.release(search);
                self.engine.handle(now, Input::Released(report));
                None
            }
            Action::Reverify => {
                self.plant();
                let alive = self
                    .engine
                    .cached_chains()
                    .map(|c| ChainAlive {
                        signature: c.signature,
                        alive: self.walk.reverify(c),
                    })
                    .collect();
                self.engine.handle(now, Input::Reverified(alive));
                None
            }
        };
        let freed: Vec<SampleId> = self.engine.take_released().collect();
        for id in freed {
            if let Some(slot) = self.slots.get_mut(id.0 as usize)
                && slot.take().is_some()
            {
                self.free.push(id.0);
            }
        }
        self.collect();
        wait
    }

    fn collect(&mut self) {
        let kept = |r: &Stamped| !matches!(r.record, Record::Admission(_));
        self.records.extend(self.engine.drain().filter(kept));
        if let Some(journal) = &mut self.journal {
            journal.extend(self.engine.drain_journal());
        } else {
            self.engine.drain_journal_quietly();
        }
    }

    /// Samples of the time that passed since the last call.
    fn allocate(&mut self) {
        let (from, to) = (self.sampled_to, self.now);
        if to <= from {
            return;
        }
        self.sampled_to = to;
        let interval = precise(self.engine.tuned().interval.0);
        let set = *self.engine.admission();
        for m in 0..self.mutators.len() {
            let Some(mutator) = self.mutators.get(m).cloned() else {
                continue;
            };
            let factor = 1.0 + mutator.jitter * (2.0 * self.rng.unit() - 1.0);
            let rate = mutator.rate * factor / interval / 1000.0;
            let Some(due) = self.due.get(m).copied() else {
                continue;
            };
            let mut at = if due < precise(from) {
                precise(from)
            } else {
                due
            };
            if rate <= 0.0 {
                continue;
            }
            while at < precise(to) {
                self.sample(&mutator, m, at, &set);
                at += self.rng.exponential(1.0 / rate);
            }
            if let Some(due) = self.due.get_mut(m) {
                *due = at;
            }
        }
    }

    fn sample(
        &mut self,
        mutator: &Mutator,
        index: usize,
        at: f64,
        set: &crate::admission::AdmissionSet,
    ) {
        let death = match mutator.fate(at, &mut self.rng) {
            Fate::At(at) => Some(at),
            Fate::Never => None,
            Fate::Unborn => return,
        };
        let pick = self.rng.below(mutator.threads.len() as u64);
        let thread = mutator
            .threads
            .get(usize::try_from(pick).unwrap_or(0))
            .copied()
            .unwrap_or(0);
        let Some(carry) = self.carry.get_mut(index) else {
            return;
        };
        let weight = self.engine.tuned().interval;
        let verdict = set.admit(ThreadId(thread), weight, self.lottery.draw(), carry);
        let Some(weight) = verdict.weight() else {
            return;
        };
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(0)
        });
        let cycle = cycle_at(at, self.gc.period);
        let clears = death.map(|d| self.gc.clears_at(cycle, cycle_at(d, self.gc.period)));
        if let Some(slot) = self.slots.get_mut(id as usize) {
            *slot = Some(clears.unwrap_or(u64::MAX));
        }
        if let Some(clears) = clears {
            self.graves.push(Reverse((clears, id)));
        }
        let sample = Sample {
            id: SampleId(id),
            class: mutator.class,
            thread: ThreadId(thread),
            object: Bytes(mutator.size),
            weight,
            epoch: Epoch(
                self.gc
                    .epoch(cycle - self.uncounted.min(cycle), self.normalised),
            ),
            ..Sample::default()
        };
        self.engine.handle(self.tick(), Input::Sample(sample));
    }

    /// Handles that a finished collection cleared.
    fn dead(&mut self) -> Vec<SampleId> {
        let cycles = self.now / self.gc.period;
        let mut dead = Vec::new();
        while let Some(Reverse((at, id))) = self.graves.peek().copied() {
            if at > cycles {
                break;
            }
            self.graves.pop();
            // The slot may belong to another sample by now.
            if self.slots.get(id as usize).copied().flatten() == Some(at) {
                dead.push(SampleId(id));
            }
        }
        dead
    }

    /// Brings the planted shapes to their present number of instances.
    fn plant(&mut self) {
        let now = precise(self.now);
        let mut heap = self.heap.borrow_mut();
        for m in &self.mutators {
            if let Some(p) = m.planted.and_then(|s| heap.planted.get_mut(s as usize)) {
                p.instances = whole(m.alive(now));
            }
        }
    }

    fn used(&mut self) -> u64 {
        let now = precise(self.now);
        let live: f64 = self
            .mutators
            .iter()
            .map(|m| m.alive(now) * precise(m.size))
            .sum();
        let noise = 1.0 + 0.004 * (self.rng.unit() - 0.5);
        whole((precise(self.heap_base) * noise + live).min(precise(self.heap_max)))
    }
}

fn cycle_at(ms: f64, period: u64) -> u64 {
    whole(ms) / period
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float casts saturate"
)]
fn whole(v: f64) -> u64 {
    v as u64
}
