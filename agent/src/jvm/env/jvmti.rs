//! One JVMTI environment: lifecycle, capabilities, events, memory.

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

use super::raw_jvmti::{
    self as sys, jvmtiCapabilities, jvmtiEnv, jvmtiError, jvmtiEvent, jvmtiEventCallbacks,
    jvmtiInterface_1_,
};
use super::{JvmError, Obj};

/// A JVMTI environment. Copies name the same environment.
///
/// The facade is `Send` and `Sync`: JVMTI environments may be used from every thread (function by function, as the
/// JVM's phase and the thread's attachment allow).
#[derive(Debug, Clone, Copy)]
pub struct Jvmti(NonNull<jvmtiEnv>);

// SAFETY: JVMTI environments are not bound to a thread.
unsafe impl Send for Jvmti {}
// SAFETY: as above; the JVM synchronises.
unsafe impl Sync for Jvmti {}

/// The events that this agent uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The JVM is ready: Java code may run.
    VmInit,
    /// The JVM ends.
    VmDeath,
    /// A collection pause begins.
    GcStart,
    /// A collection pause ended.
    GcFinish,
    /// The sampler took an allocation.
    SampledAlloc,
}

impl Event {
    fn raw(self) -> jvmtiEvent {
        match self {
            Self::VmInit => sys::JVMTI_EVENT_VM_INIT,
            Self::VmDeath => sys::JVMTI_EVENT_VM_DEATH,
            Self::GcStart => sys::JVMTI_EVENT_GARBAGE_COLLECTION_START,
            Self::GcFinish => sys::JVMTI_EVENT_GARBAGE_COLLECTION_FINISH,
            Self::SampledAlloc => sys::JVMTI_EVENT_SAMPLED_OBJECT_ALLOC,
        }
    }
}

/// How far the JVM's life has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Inside `Agent_OnLoad`.
    OnLoad,
    /// Between OnLoad and the live phase.
    Starting,
    /// Java code runs.
    Live,
    /// After VMDeath.
    Dead,
}

/// Memory that JVMTI allocated for us; freed on drop.
pub(super) struct Allocated<T> {
    env: Jvmti,
    pub(super) ptr: *mut T,
}

impl<T> Allocated<T> {
    /// # Safety
    /// `ptr` is null or was allocated by this environment and has no other owner.
    pub(super) unsafe fn new(env: Jvmti, ptr: *mut T) -> Self {
        Self { env, ptr }
    }

    /// The first `count` values.
    ///
    /// # Safety
    /// The JVM filled `count` values.
    pub(super) unsafe fn slice(&self, count: i32) -> &[T] {
        let count = usize::try_from(count).unwrap_or(0);
        if self.ptr.is_null() || count == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.ptr, count) }
    }
}

impl Allocated<c_char> {
    /// The text; modified UTF-8, broken sequences replaced; empty for null.
    pub(super) fn text(&self) -> String {
        if self.ptr.is_null() {
            return String::new();
        }
        // SAFETY: JVMTI strings are terminated.
        let bytes = unsafe { CStr::from_ptr(self.ptr) };
        jvmti_bindings::mutf8::decode_cstr_lossy(bytes)
    }
}

impl<T> Drop for Allocated<T> {
    fn drop(&mut self) {
        if self.ptr.is_null() {
            return;
        }
        if let Some(deallocate) = self.env.table().Deallocate {
            // SAFETY: `new`'s promise: ours alone, allocated by this environment.
            unsafe { deallocate(self.env.raw(), self.ptr.cast()) };
        }
    }
}

pub(super) fn check(call: &'static str, code: jvmtiError) -> Result<(), JvmError> {
    if code == jvmtiError::NONE {
        Ok(())
    } else {
        Err(JvmError::Jvmti(call, code))
    }
}

/// Calls an entry of the table, with a missing one and a non-zero code as errors.
macro_rules! jvmti_call {
    ($env:expr, $name:ident $(, $arg:expr)*) => {{
        match $env.table().$name {
            // SAFETY: arguments are valid references of the current thread or live out pointers.
            Some(function) => $crate::jvm::env::jvmti::check(stringify!($name), unsafe {
                function($env.raw() $(, $arg)*)
            }),
            None => Err($crate::jvm::env::JvmError::Missing(stringify!($name))),
        }
    }};
}
pub(super) use jvmti_call;

impl Jvmti {
    /// Takes an environment as `GetEnv` or a callback gave it; `None` for null.
    ///
    /// # Safety
    /// `raw` is null or a JVMTI environment that is never disposed of while copies of the result are in use.
    #[must_use]
    pub unsafe fn from_raw(raw: *mut jvmtiEnv) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    /// The environment as the tables take it.
    #[must_use]
    pub fn raw(self) -> *mut jvmtiEnv {
        self.0.as_ptr()
    }

    /// The function table, for calls that the facade does not offer.
    #[must_use]
    pub fn table(&self) -> &jvmtiInterface_1_ {
        // SAFETY: `from_raw`'s promise: environment and table are valid.
        unsafe { &*(*self.0.as_ptr()).functions }
    }

    /// The JVM's phase; `None` when it cannot be asked.
    #[must_use]
    pub fn phase(self) -> Option<Phase> {
        let mut phase = 0;
        jvmti_call!(self, GetPhase, &raw mut phase).ok()?;
        match phase {
            sys::JVMTI_PHASE_ONLOAD => Some(Phase::OnLoad),
            sys::JVMTI_PHASE_PRIMORDIAL | sys::JVMTI_PHASE_START => Some(Phase::Starting),
            sys::JVMTI_PHASE_LIVE => Some(Phase::Live),
            sys::JVMTI_PHASE_DEAD => Some(Phase::Dead),
            _ => None,
        }
    }

    /// The JVMTI version as (major, minor): (11, 0) for JDK 11, (1, 2) for JDK 8.
    #[must_use]
    pub fn version(self) -> Option<(u16, u16)> {
        let mut version = 0;
        jvmti_call!(self, GetVersionNumber, &raw mut version).ok()?;
        let major = (version & sys::JVMTI_VERSION_MASK_MAJOR) >> sys::JVMTI_VERSION_SHIFT_MAJOR;
        let minor = (version & sys::JVMTI_VERSION_MASK_MINOR) >> sys::JVMTI_VERSION_SHIFT_MINOR;
        Some((u16::try_from(major).ok()?, u16::try_from(minor).ok()?))
    }

    /// Processors that the JVM may use.
    #[must_use]
    pub fn processors(self) -> Option<u32> {
        let mut count = 0;
        jvmti_call!(self, GetAvailableProcessors, &raw mut count).ok()?;
        u32::try_from(count).ok()
    }

    /// A system property; `None` when unset or when it cannot be asked. Works in `Agent_OnLoad` for the JVM's own
    /// properties (`java.vm.name`, `java.vm.version`).
    #[must_use]
    pub fn system_property(self, name: &CStr) -> Option<String> {
        let mut value: *mut c_char = std::ptr::null_mut();
        jvmti_call!(self, GetSystemProperty, name.as_ptr(), &raw mut value).ok()?;
        if value.is_null() {
            return None;
        }
        // SAFETY: the JVM allocated the value for us.
        Some(unsafe { Allocated::new(self, value) }.text())
    }

    /// Whether the JVM could still grant every capability that `wanted` sets.
    #[must_use]
    pub fn potential_capabilities(self) -> Option<jvmtiCapabilities> {
        let mut caps = jvmtiCapabilities::default();
        jvmti_call!(self, GetPotentialCapabilities, &raw mut caps).ok()?;
        Some(caps)
    }

    /// Adds capabilities.
    ///
    /// # Errors
    /// `NOT_AVAILABLE` when another environment holds a solo capability or the phase forbids it.
    pub fn add_capabilities(self, caps: &jvmtiCapabilities) -> Result<(), JvmError> {
        jvmti_call!(self, AddCapabilities, std::ptr::from_ref(caps))
    }

    /// Gives capabilities back.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn relinquish_capabilities(self, caps: &jvmtiCapabilities) -> Result<(), JvmError> {
        jvmti_call!(self, RelinquishCapabilities, std::ptr::from_ref(caps))
    }

    /// Installs the callback table.
    ///
    /// # Errors
    /// Any JVMTI code.
    ///
    /// # Safety
    /// Every function in it never unwinds and may be called on any thread until the process ends.
    pub unsafe fn set_callbacks(self, callbacks: &jvmtiEventCallbacks) -> Result<(), JvmError> {
        let size = i32::try_from(size_of::<jvmtiEventCallbacks>()).unwrap_or(0);
        jvmti_call!(self, SetEventCallbacks, std::ptr::from_ref(callbacks), size)
    }

    /// Turns an event on or off for all threads.
    ///
    /// # Errors
    /// Any JVMTI code, for example `MUST_POSSESS_CAPABILITY`.
    pub fn set_event(self, event: Event, on: bool) -> Result<(), JvmError> {
        let mode = if on {
            sys::JVMTI_ENABLE
        } else {
            sys::JVMTI_DISABLE
        };
        jvmti_call!(
            self,
            SetEventNotificationMode,
            mode,
            event.raw(),
            std::ptr::null_mut()
        )
    }

    /// Sets the mean number of bytes between two allocation samples.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn set_sampling_interval(self, bytes: i32) -> Result<(), JvmError> {
        jvmti_call!(self, SetHeapSamplingInterval, bytes)
    }

    /// An object's tag in this environment, 0 without one.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn tag(self, obj: &Obj<'_>) -> Result<i64, JvmError> {
        let mut tag = 0;
        jvmti_call!(self, GetTag, obj.raw(), &raw mut tag)?;
        Ok(tag)
    }

    /// Sets or, with 0, clears an object's tag in this environment.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn set_tag(self, obj: &Obj<'_>, tag: i64) -> Result<(), JvmError> {
        jvmti_call!(self, SetTag, obj.raw(), tag)
    }

    /// An object's shallow size in bytes.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn object_size(self, obj: &Obj<'_>) -> Result<i64, JvmError> {
        let mut size = 0;
        jvmti_call!(self, GetObjectSize, obj.raw(), &raw mut size)?;
        Ok(size)
    }

    /// An object's identity hash. Computing it the first time writes the object's header.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn identity_hash(self, obj: &Obj<'_>) -> Result<i32, JvmError> {
        let mut hash = 0;
        jvmti_call!(self, GetObjectHashCode, obj.raw(), &raw mut hash)?;
        Ok(hash)
    }

    /// Disposes of the environment.
    ///
    /// # Errors
    /// Any JVMTI code.
    ///
    /// # Safety
    /// No callback of this environment can be running or start, and no copy of it is used again.
    pub unsafe fn dispose(self) -> Result<(), JvmError> {
        jvmti_call!(self, DisposeEnvironment)
    }
}

impl Jvmti {
    /// Follows references from `initial`, or from the GC roots, calling `callbacks` inside a safepoint.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn follow_references(
        self,
        initial: Option<&Obj<'_>>,
        callbacks: &sys::jvmtiHeapCallbacks,
        user_data: *mut std::ffi::c_void,
    ) -> Result<(), JvmError> {
        jvmti_call!(
            self,
            FollowReferences,
            0,
            std::ptr::null_mut(),
            initial.map_or(std::ptr::null_mut(), Obj::raw),
            callbacks,
            user_data.cast_const()
        )
    }

    /// The objects that carry one of these tags in this environment, as local references of the current frame.
    ///
    /// # Errors
    /// Any JVMTI code.
    pub fn objects_with_tags<'f>(
        self,
        jni: &super::Jni<'f>,
        tags: &[i64],
    ) -> Result<Vec<(Obj<'f>, i64)>, JvmError> {
        let _ = jni;
        let wanted = i32::try_from(tags.len()).unwrap_or(i32::MAX);
        let mut count = 0;
        let mut objects: *mut super::raw_jni::jobject = std::ptr::null_mut();
        let mut found: *mut i64 = std::ptr::null_mut();
        jvmti_call!(
            self,
            GetObjectsWithTags,
            wanted,
            tags.as_ptr(),
            &raw mut count,
            &raw mut objects,
            &raw mut found
        )?;
        // SAFETY: the JVM allocated both arrays for us and filled `count` values of each.
        let (objects, found) =
            unsafe { (Allocated::new(self, objects), Allocated::new(self, found)) };
        // SAFETY: as above.
        let (objects, found) = unsafe { (objects.slice(count), found.slice(count)) };
        Ok(objects
            .iter()
            .zip(found)
            // SAFETY: fresh local references of this thread's frame, or null.
            .filter_map(|(raw, tag)| unsafe { Obj::from_raw(*raw) }.map(|obj| (obj, *tag)))
            .collect())
    }
}
