//! The process's JVM: environments and thread attachment.

use std::ffi::{CString, c_void};
use std::ptr::NonNull;

use super::raw_jni::{JNI_EDETACHED, JNI_OK, JNI_VERSION_1_8, JNIEnv, JavaVM, JavaVMAttachArgs};
use super::raw_jvmti::{JVMTI_VERSION_1_2, jvmtiEnv};
use super::{Jni, JvmError, Jvmti};

/// The JVM that loaded us.
#[derive(Debug, Clone, Copy)]
pub struct Vm(NonNull<JavaVM>);

// SAFETY: the invocation table may be used from any thread.
unsafe impl Send for Vm {}
// SAFETY: as above.
unsafe impl Sync for Vm {}

impl Vm {
    /// Takes the pointer that `Agent_OnLoad` or `Agent_OnAttach` received; `None` for null.
    ///
    /// # Safety
    /// `raw` is null or the JVM's invocation interface, which lives as long as the process's JVM.
    #[must_use]
    pub unsafe fn from_raw(raw: *mut JavaVM) -> Option<Self> {
        NonNull::new(raw).map(Self)
    }

    fn table(&self) -> &super::raw_jni::JNIInvokeInterface_ {
        // SAFETY: `from_raw`'s promise: pointer and table are valid while the JVM lives.
        unsafe { &**self.0.as_ptr() }
    }

    /// Makes a *new* JVMTI environment: each call makes another, so keep the result.
    ///
    /// # Errors
    /// [`JvmError::Jni`] when the JVM offers no JVMTI (a JVM that is not HotSpot, or one that is shutting down).
    pub fn new_jvmti(&self) -> Result<Jvmti, JvmError> {
        let mut env: *mut c_void = std::ptr::null_mut();
        // SAFETY: the out pointer is a live local.
        let code =
            unsafe { (self.table().GetEnv)(self.0.as_ptr(), &raw mut env, JVMTI_VERSION_1_2) };
        if code != JNI_OK {
            return Err(JvmError::Jni("GetEnv(JVMTI)", code));
        }
        // SAFETY: GetEnv answered JNI_OK for a JVMTI version, so the pointer is a JVMTI environment.
        unsafe { Jvmti::from_raw(env.cast::<jvmtiEnv>()) }.ok_or(JvmError::Null("GetEnv(JVMTI)"))
    }

    /// The current thread's JNI environment, `None` when the thread is not attached. The answer may be used on
    /// this thread only, which the type enforces.
    #[must_use]
    pub fn current(&self) -> Option<Jni<'_>> {
        let mut env: *mut c_void = std::ptr::null_mut();
        // SAFETY: the out pointer is a live local.
        let code = unsafe { (self.table().GetEnv)(self.0.as_ptr(), &raw mut env, JNI_VERSION_1_8) };
        if code != JNI_OK {
            debug_assert_eq!(code, JNI_EDETACHED);
            return None;
        }
        // SAFETY: JNI_OK for a JNI version: this thread's environment, valid while the thread is attached.
        unsafe { Jni::from_raw(env.cast::<JNIEnv>()) }
    }

    /// Attaches the current thread as a daemon, runs `body` with its environment and detaches.
    ///
    /// A daemon never keeps the JVM from exiting. The thread is detached after a panic too.
    ///
    /// # Errors
    /// [`JvmError::Jni`] when the JVM refuses (shutting down).
    pub fn attached_as_daemon<R>(
        &self,
        name: &str,
        body: impl FnOnce(&Jni<'_>) -> R,
    ) -> Result<R, JvmError> {
        let name = CString::new(name).unwrap_or_default();
        let mut args = JavaVMAttachArgs {
            version: JNI_VERSION_1_8,
            name: name.as_ptr().cast_mut(),
            group: std::ptr::null_mut(),
        };
        let mut env: *mut c_void = std::ptr::null_mut();
        // SAFETY: all pointers are live locals; the JVM copies the name.
        let code = unsafe {
            (self.table().AttachCurrentThreadAsDaemon)(
                self.0.as_ptr(),
                &raw mut env,
                (&raw mut args).cast::<c_void>(),
            )
        };
        if code != JNI_OK {
            return Err(JvmError::Jni("AttachCurrentThreadAsDaemon", code));
        }
        struct Detach(Vm);
        impl Drop for Detach {
            fn drop(&mut self) {
                // SAFETY: this thread attached itself above and holds no Java frames.
                unsafe { (self.0.table().DetachCurrentThread)(self.0.0.as_ptr()) };
            }
        }
        let _detach = Detach(*self);
        // SAFETY: the attach call answered JNI_OK: this thread's environment, valid until the guard detaches.
        let jni = unsafe { Jni::from_raw(env.cast::<JNIEnv>()) }
            .ok_or(JvmError::Null("AttachCurrentThreadAsDaemon"))?;
        Ok(body(&jni))
    }
}
