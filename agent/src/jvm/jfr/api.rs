//! `jdk.jfr.FlightRecorder`: whether it can be used, whether it is, and which recordings run.

use crate::jvm::env::{Global, Jni, JvmError, MethodId};
use crate::recordings::Never;

/// The recorder's class and what is asked of it.
#[derive(Debug)]
pub(super) struct Recorder {
    class: Global,
    initialized: MethodId,
    instance: MethodId,
    recordings: MethodId,
}

impl Recorder {
    /// Finds the class. Nothing is initialised by this or by [`Recorder::is_initialized`].
    pub(super) fn find(jni: &Jni<'_>) -> Result<Self, Never> {
        let class = jni
            .find_class(c"jdk/jfr/FlightRecorder")
            .map_err(|_| Never::Absent)?;
        let refused = |error: JvmError| Never::Refused(error.to_string());
        let available = jni
            .static_method(&class, c"isAvailable", c"()Z")
            .map_err(refused)?;
        let this = Self {
            initialized: jni
                .static_method(&class, c"isInitialized", c"()Z")
                .map_err(refused)?,
            instance: jni
                .static_method(&class, c"getFlightRecorder", c"()Ljdk/jfr/FlightRecorder;")
                .map_err(refused)?,
            recordings: jni
                .method(&class, c"getRecordings", c"()Ljava/util/List;")
                .map_err(refused)?,
            class: jni
                .new_global(&class)
                .ok_or_else(|| refused(JvmError::Null("NewGlobalRef")))?,
        };
        if this.ask(jni, available) {
            Ok(this)
        } else {
            this.close(jni);
            Err(Never::Unavailable)
        }
    }

    /// Whether something has started JFR in this JVM.
    pub(super) fn is_initialized(&self, jni: &Jni<'_>) -> bool {
        self.ask(jni, self.initialized)
    }

    fn ask(&self, jni: &Jni<'_>, method: MethodId) -> bool {
        // SAFETY: static methods of FlightRecorder without arguments that return boolean.
        let answer = unsafe {
            (jni.table().CallStaticBooleanMethodA)(
                jni.raw(),
                self.class.raw(),
                method.raw(),
                std::ptr::null(),
            )
        };
        !jni.clear_exception() && answer != 0
    }

    /// Numbers of the recordings that run. JFR must be initialised: asking would do it.
    pub(super) fn running(&self, jni: &Jni<'_>) -> Result<Vec<i64>, JvmError> {
        jni.frame(32, |jni| {
            let null = |what| move || JvmError::Null(what);
            let recording = jni.find_class(c"jdk/jfr/Recording")?;
            let id = jni.method(&recording, c"getId", c"()J")?;
            let state = jni.method(&recording, c"getState", c"()Ljdk/jfr/RecordingState;")?;
            let enumeration = jni.find_class(c"java/lang/Enum")?;
            let name = jni.method(&enumeration, c"name", c"()Ljava/lang/String;")?;
            let list = jni.find_class(c"java/util/List")?;
            let size = jni.method(&list, c"size", c"()I")?;
            let get = jni.method(&list, c"get", c"(I)Ljava/lang/Object;")?;
            // SAFETY: a static method of FlightRecorder without arguments; methods of List.
            let (recordings, count) = unsafe {
                let recorder = jni.call_static_object(&self.class.as_obj(), self.instance, &[])?;
                let recorder = recorder.ok_or_else(null("getFlightRecorder"))?;
                let recordings = jni.call_object(&recorder, self.recordings, &[])?;
                let recordings = recordings.ok_or_else(null("getRecordings"))?;
                let count = jni.call_int(&recordings, size, &[])?;
                (recordings, count)
            };
            let mut running = Vec::new();
            for at in 0..count {
                let found = jni.frame(8, |jni| {
                    // SAFETY: List.get takes an int; the elements are recordings, whose methods take nothing.
                    unsafe {
                        let one = jni
                            .call_object(&recordings, get, &[crate::jvm::env::Value::Int(at)])?
                            .ok_or_else(null("List.get"))?;
                        let state = jni
                            .call_object(&one, state, &[])?
                            .ok_or_else(null("getState"))?;
                        let name = jni
                            .call_object(&state, name, &[])?
                            .ok_or_else(null("name"))?;
                        let runs = jni.string(&name)? == "RUNNING";
                        Ok(if runs {
                            Some(jni.call_long(&one, id, &[])?)
                        } else {
                            None
                        })
                    }
                })?;
                running.extend(found?);
            }
            Ok(running)
        })?
    }

    pub(super) fn close(self, jni: &Jni<'_>) {
        jni.delete_global(self.class);
    }
}
