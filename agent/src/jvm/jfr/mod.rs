//! `jdk.jfr` through JNI: whether it is there, our event types by EventFactory, commits.
//!
//! Everything here runs on the recordings' own thread. Calls may block for seconds while the application starts a
//! recording, allocate and throw; the thread is muted and every exception is cleared.

mod api;
mod boxes;
mod types;

use chain_core::{ClassId, ThreadId};
use jfr_format::entity::{ClassInfo, ThreadInfo};
use jfr_format::schema::AnyEvent;

use super::env::{Jni, Obj};
use super::sampler;
use crate::agent::Agent;
use crate::names::Names;
use crate::record::{Emission, Item};
use crate::recordings::{Flight, Never, Sight};

use api::Recorder;
use types::EventTypes;

/// Attaches the current thread, hands the JVM's side to `serve`, and leaves nothing behind.
pub fn on_this_thread(agent: &'static Agent, serve: &mut dyn FnMut(&mut dyn Flight)) {
    sampler::mute_this_thread();
    let attached = agent.vm.attached_as_daemon("jfr-chains-jfr", |jni| {
        let mut flight = JvmFlight {
            agent,
            jni,
            recorder: None,
            types: None,
        };
        serve(&mut flight);
        flight.close();
    });
    if let Err(error) = attached {
        crate::warning!("the JVM did not take the thread for its recordings ({error})");
    }
}

struct JvmFlight<'j, 'f> {
    agent: &'static Agent,
    jni: &'j Jni<'f>,
    recorder: Option<Recorder>,
    types: Option<EventTypes>,
}

impl Flight for JvmFlight<'_, '_> {
    fn look(&mut self) -> Result<Option<Sight>, Never> {
        if self.agent.is_over() {
            return Ok(None);
        }
        if self.recorder.is_none() {
            let recorder = self.jni.frame(32, Recorder::find);
            self.recorder = Some(recorder.map_err(|e| Never::Refused(e.to_string()))??);
        }
        let Some(recorder) = &self.recorder else {
            return Ok(None);
        };
        if !recorder.is_initialized(self.jni) {
            return Ok(None);
        }
        if self.types.is_none() {
            let types = EventTypes::make(self.jni);
            self.types = Some(types.map_err(|error| Never::Refused(error.to_string()))?);
        }
        let Some(types) = &self.types else {
            return Ok(None);
        };
        let enabled = types.any_enabled(self.jni);
        let running = if enabled {
            recorder.running(self.jni).unwrap_or_default()
        } else {
            Vec::new()
        };
        Ok(Some(Sight { enabled, running }))
    }

    fn commit(&mut self, emission: &Emission) -> Result<u64, String> {
        let Some(types) = &self.types else {
            return Ok(0);
        };
        // The JVM ends: its recordings are complete by now.
        if self.agent.is_over() {
            return Ok(0);
        }
        let live = Live(&self.agent.names);
        let commit = |event: &AnyEvent| {
            types
                .commit(self.jni, event, &live)
                .map_err(|error| error.to_string())
        };
        match &emission.what {
            Item::Event(event) => commit(event).map(u64::from),
            Item::Chain(chain) => {
                let mut taken = u64::from(commit(&chain.event.clone().into())?);
                for hop in &chain.hops {
                    taken += u64::from(commit(&hop.clone().into())?);
                }
                Ok(taken)
            }
        }
    }
}

impl JvmFlight<'_, '_> {
    fn close(self) {
        if let Some(types) = self.types {
            types.close(self.jni, !self.agent.is_over());
        }
        if let Some(recorder) = self.recorder {
            recorder.close(self.jni);
        }
    }
}

/// Live objects behind the values of events.
struct Live(&'static Names);

impl Live {
    /// The class itself, `None` when it was unloaded or is only known by name.
    fn class<'g>(&self, jni: &Jni<'g>, class: &ClassInfo) -> Option<Obj<'g>> {
        let id = u32::try_from(class.handle.checked_sub(1)?).ok()?;
        jni.upgrade(&*self.0.classes.weak(ClassId(id))?)
    }

    /// The thread object, `None` when it is gone or was never seen.
    fn thread<'g>(&self, jni: &Jni<'g>, thread: &ThreadInfo) -> Option<Obj<'g>> {
        let known = self.0.threads.get(ThreadId(thread.handle))?;
        jni.upgrade(known.weak.as_deref()?)
    }
}
