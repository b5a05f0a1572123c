//! Typed access to the raw JNI and JVMTI tables.
//!
//! - [`Vm`]: the process's JVM; hands out environments, attaches and detaches threads.
//! - [`Jni`]: the current thread's JNI environment inside one local frame; references borrowed from it cannot
//!   outlive the frame.
//! - [`Jvmti`]: one JVMTI environment; `Send` and `Sync`, since JVMTI environments are not bound to a thread.
//! - [`Obj`], [`Global`], [`Weak`]: non-null references of the three kinds.
//!
//! Every call that can leave a Java exception pending clears it and returns [`JvmError::Exception`].

mod classes;
mod error;
mod jni;
mod jvmti;
mod refs;
mod threads;
mod vm;

pub use error::JvmError;
pub use jni::{Jni, Value};
pub use jvmti::{Event, Jvmti, Phase};
pub use refs::{FieldId, Global, MethodId, Obj, Weak};
pub use threads::FrameInfo;
pub use vm::Vm;

/// The raw types, for the files of `jvm` that need a call the facade does not offer.
pub use jvmti_bindings::sys::{jni as raw_jni, jvmti as raw_jvmti};
