//! Samples: the sampler on and off, records from the queue into handles, dead handles out.

use std::time::Instant;

use super::*;

impl Worker {
    /// Takes the sampler, unless it is on already; why not is said once.
    pub(super) fn start_sampling(&mut self) {
        if self.sampler == Sampler::On {
            return;
        }
        let options = &self.session.options;
        let started = sampler::start(self.agent.jvmti, options.interval_bytes);
        let now = self.now();
        self.sampler = match started.map_err(config::refusal) {
            Ok(()) => {
                self.agent
                    .sampling
                    .switch_on(options.interval_bytes, options.depth_frames);
                self.engine.handle(now, Input::SamplingStarted);
                Sampler::On
            }
            Err(refusal) => {
                if self.sampler != Sampler::Refused(refusal) {
                    crate::error!("{}", record::refusal_text(refusal));
                }
                self.engine.handle(now, Input::SamplingUnavailable(refusal));
                Sampler::Refused(refusal)
            }
        };
    }

    /// Gives the sampler back.
    pub(super) fn stop_sampling(&mut self) {
        self.agent.sampling.switch_off();
        if self.sampler == Sampler::On {
            sampler::stop(self.agent.jvmti);
            self.sampler = Sampler::Off;
        }
    }

    pub(super) fn take_samples(&mut self, jni: &Jni<'_>) {
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
                at: sample.at,
                size: sample.object,
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

    pub(super) fn release(&mut self, jni: &Jni<'_>) {
        for id in self.engine.take_released() {
            if let Some(tracked) = self.handles.remove(id) {
                jni.delete_weak(tracked.weak);
            }
        }
    }

    /// The slots whose objects the collector has cleared.
    pub(super) fn sweep(&self, jni: &Jni<'_>) -> Vec<SampleId> {
        self.handles
            .iter()
            .filter(|(_, tracked)| jni.is_cleared(&tracked.weak))
            .map(|(id, _)| id)
            .collect()
    }

    /// Frees what callbacks have made: queued samples, names and their references.
    pub(super) fn forget(&self, jni: &Jni<'_>) {
        let sampling = &self.agent.sampling;
        let deadline = Instant::now() + QUIET_LIMIT;
        while !sampling.is_quiet() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        self.discard_queue(jni);
        // A callback that is still inside may hold a name: then the next session frees them.
        if sampling.is_quiet() {
            self.agent.names.clear();
        }
        for weak in self.agent.names.take_free() {
            jni.delete_weak(weak);
        }
    }

    /// Lets go of the names of unloaded classes and ended threads once there are many, and of stale method ids.
    pub(super) fn tidy(&mut self, jni: &Jni<'_>) {
        let now = Instant::now();
        if now.saturating_duration_since(self.last_tidy) >= TIDY_EVERY {
            self.last_tidy = now;
            let names = &self.agent.names;
            for (id, weak) in names.threads.suspects() {
                if jni.is_cleared(&weak) {
                    names.threads.remove(id);
                }
            }
            for (id, weak) in names.classes.suspects() {
                if jni.is_cleared(&weak) {
                    names.classes.remove(id);
                }
            }
            let unloaded = self.gc.unloaded_classes(jni);
            // Without the count every tidying counts as a change.
            if unloaded.is_none() || unloaded != self.unloaded {
                self.unloaded = unloaded;
                names.traces.forget_ids();
            }
        }
        for weak in self.agent.names.take_free() {
            jni.delete_weak(weak);
        }
    }

    pub(super) fn discard_queue(&self, jni: &Jni<'_>) {
        while let Some(sample) = sampler::take(self.agent) {
            jni.delete_weak(sample.weak);
        }
    }
}
