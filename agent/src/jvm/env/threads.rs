//! What JVMTI says of threads and their stacks.

use super::jvmti::{Allocated, jvmti_call};
use super::raw_jni::jobject;
use super::raw_jvmti::{jvmtiFrameInfo, jvmtiThreadInfo};
use super::{Jni, JvmError, Jvmti, MethodId, Obj};

/// One frame of a stack: which method, and where in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrameInfo {
    /// The method; its class is pinned while the frame is on the stack.
    pub method: MethodId,
    /// Bytecode index, -1 in a native method.
    pub location: i64,
}

impl Jvmti {
    /// All live platform threads, as local references of the current frame.
    ///
    /// # Errors
    /// Any JVMTI code; [`JvmError::OutOfMemory`] (the references are freed).
    pub fn all_threads<'f>(self, jni: &Jni<'f>) -> Result<Vec<Obj<'f>>, JvmError> {
        let (mut count, mut list): (i32, *mut jobject) = (0, std::ptr::null_mut());
        jvmti_call!(self, GetAllThreads, &raw mut count, &raw mut list)?;
        self.take_refs(jni, "GetAllThreads", count, list)
    }

    /// A thread's name. The group and loader references that the call makes are freed at once.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn thread_name(self, jni: &Jni<'_>, thread: &Obj<'_>) -> Result<String, JvmError> {
        let mut info = jvmtiThreadInfo::default();
        jvmti_call!(self, GetThreadInfo, thread.raw(), &raw mut info)?;
        // SAFETY: the JVM allocated the name for us.
        let name = unsafe { Allocated::new(self, info.name) };
        for reference in [info.thread_group, info.context_class_loader] {
            // SAFETY: a fresh local reference of this thread's frame, or null.
            if let Some(reference) = unsafe { Obj::from_raw(reference) } {
                jni.delete(reference);
            }
        }
        Ok(name.text())
    }

    /// A thread's state bits (`JVMTI_THREAD_STATE_*`); 0 before it was started.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn thread_state(self, thread: &Obj<'_>) -> Result<i32, JvmError> {
        let mut state = 0;
        jvmti_call!(self, GetThreadState, thread.raw(), &raw mut state)?;
        Ok(state)
    }

    /// A thread's stack, innermost frame first, at most `buffer.len()` frames; the current thread for `None`.
    /// Returns how many frames were written.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn stack_trace(
        self,
        thread: Option<&Obj<'_>>,
        buffer: &mut [jvmtiFrameInfo],
    ) -> Result<usize, JvmError> {
        let room = i32::try_from(buffer.len()).unwrap_or(i32::MAX);
        let mut count = 0;
        jvmti_call!(
            self,
            GetStackTrace,
            thread.map_or(std::ptr::null_mut(), Obj::raw),
            0,
            room,
            buffer.as_mut_ptr(),
            &raw mut count
        )?;
        Ok(usize::try_from(count).unwrap_or(0).min(buffer.len()))
    }

    /// CPU time of the current thread in ns; `None` when the JVM cannot tell.
    #[must_use]
    pub fn current_thread_cpu_ns(self) -> Option<u64> {
        let mut nanos = 0;
        jvmti_call!(self, GetCurrentThreadCpuTime, &raw mut nanos).ok()?;
        u64::try_from(nanos).ok()
    }
}

impl From<jvmtiFrameInfo> for FrameInfo {
    fn from(raw: jvmtiFrameInfo) -> Self {
        Self {
            method: MethodId(raw.method),
            location: raw.location,
        }
    }
}
