//! What a simulation is made of, step by step.

use super::*;

impl Builder {
    /// The collector and the time between its cycles, ms.
    pub fn gc(mut self, collector: Collector, period: u64) -> Builder {
        self.gc = GcModel::of(collector, period);
        self
    }

    /// Every this many cycles one clears the old generation (a major on generational ZGC).
    pub fn old_every(mut self, cycles: u64) -> Builder {
        self.gc.old_every = cycles.max(1);
        self
    }

    /// Objects that no leak explains.
    pub fn fillers(mut self, objects: u64) -> Builder {
        self.fillers = objects;
        self
    }

    /// Max heap in MiB.
    pub fn heap(mut self, mib: u64) -> Builder {
        self.heap_max = mib << 20;
        self.heap_base = self.heap_base.min(self.heap_max / 4);
        self
    }

    /// Container memory in MiB.
    pub fn container(mut self, mib: u64) -> Builder {
        self.container = Some(mib << 20);
        self
    }

    /// A leak of this shape at 2 MB/s of 1 KiB objects.
    pub fn leak(self, shape: Shape) -> Builder {
        self.grows(shape, Life::Leak, 2e6)
    }

    /// Instances of this shape with this life, bytes per second.
    pub fn grows(mut self, shape: Shape, life: Life, rate: f64) -> Builder {
        self.leaks.push((shape, life, rate));
        self
    }

    /// Objects of a class that no shape holds: churn, sessions, warm-up; rate in bytes per second.
    pub fn churn(mut self, class: &'static str, life: Life, rate: f64, size: u64) -> Builder {
        self.others.push((class, life, rate, size));
        self
    }

    /// No ordinary garbage.
    pub fn quiet(mut self) -> Builder {
        self.others.clear();
        self
    }

    /// Switches decisions of ours off, to show what they cure.
    pub fn improvements(mut self, change: impl FnOnce(&mut Improvements)) -> Builder {
        change(&mut self.config.improvements);
        self
    }

    /// Sets options.
    pub fn options(mut self, change: impl FnOnce(&mut Config)) -> Builder {
        change(&mut self.config);
        self
    }

    /// The safepoint engine.
    pub fn safepoint(mut self) -> Builder {
        self.config.walk = WalkEngine::Safepoint;
        self
    }

    /// The JDK whose costs apply.
    pub fn jdk(mut self, feature: u16) -> Builder {
        self.config.machine.jdk = feature;
        self
    }

    /// Starts the JVM, sampling and a recording.
    pub fn build(self) -> Sim {
        let mut config = self.config;
        config.machine.max_heap = Some(Bytes(self.heap_max));
        config.machine.collector = self.gc.collector;
        config.machine.cpus = config.machine.cpus.max(2);
        let normalised = config.improvements.normalised_epochs;
        let mut heap = Heap::new(self.fillers);
        let mut mutators = Vec::new();
        for (n, (shape, life, rate)) in self.leaks.into_iter().enumerate() {
            let planted = heap.plant(shape);
            mutators.push(Mutator {
                class: heap.leaf(planted),
                threads: vec![100 + n as u64],
                rate,
                size: 1024,
                life,
                planted: Some(planted),
                jitter: 0.2,
            });
        }
        for (n, (class, life, rate, size)) in self.others.into_iter().enumerate() {
            let class = heap.class_id(class);
            let base = 1 + 4 * n as u64;
            let threads = (base..base + 4).collect();
            mutators.push(Mutator {
                class,
                threads,
                rate,
                size,
                life,
                planted: None,
                jitter: 0.3,
            });
        }
        let heap = Rc::new(RefCell::new(heap));
        let walk = SimWalk::new(heap.clone(), Costs::of(config.machine.jdk), config.walk);
        let mut engine = Engine::new(config);
        engine.handle(Tick(0), Input::SamplingStarted);
        engine.handle(Tick(0), Input::RecordingStarted);
        Sim {
            engine,
            walk,
            records: Vec::new(),
            passes: Vec::new(),
            violations: Vec::new(),
            heap,
            due: vec![0.0; mutators.len()],
            carry: vec![Carry::default(); mutators.len()],
            mutators,
            gc: self.gc,
            normalised,
            rng: Rng::new(self.seed),
            lottery: Lottery::new(self.seed.wrapping_add(1)),
            now: 0,
            sampled_to: 0,
            skew: 0,
            uncounted: 0,
            graves: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            heap_max: self.heap_max,
            heap_base: self.heap_base,
            container: self.container,
            recording: true,
            journal: None,
        }
    }
}
