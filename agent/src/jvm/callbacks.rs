//! The functions that the JVM calls for events. Each one is a guard around a safe body.

use super::env::raw_jni::{JNIEnv, jclass, jlong, jobject, jthread};
use super::env::raw_jvmti::{jvmtiEnv, jvmtiEventCallbacks};
use super::env::{Jni, Obj};
use super::{epoch, guard, lifecycle, sampler};
use crate::agent;

/// The table for `SetEventCallbacks`.
pub(super) fn table() -> jvmtiEventCallbacks {
    let mut callbacks = jvmtiEventCallbacks::default();
    callbacks.VMInit = Some(vm_init);
    callbacks.VMDeath = Some(vm_death);
    callbacks.GarbageCollectionStart = Some(gc_start);
    callbacks.GarbageCollectionFinish = Some(gc_finish);
    callbacks.SampledObjectAlloc = Some(sampled_object_alloc);
    callbacks
}

// A body that cannot panic needs no guard: one atomic addition each, in a state where nothing else is allowed.
unsafe extern "system" fn gc_start(_: *mut jvmtiEnv) {
    epoch::started();
}

unsafe extern "system" fn gc_finish(_: *mut jvmtiEnv) {
    epoch::finished();
}

unsafe extern "system" fn vm_init(_: *mut jvmtiEnv, _: *mut JNIEnv, _: jthread) {
    guard::guarded((), || {
        if let Some(agent) = agent::get() {
            lifecycle::vm_init(agent);
        }
    });
}

unsafe extern "system" fn vm_death(_: *mut jvmtiEnv, _: *mut JNIEnv) {
    // Also after a panic: the worker must be gone before the JVM is.
    guard::guarded_always((), || {
        if let Some(agent) = agent::get() {
            lifecycle::vm_death(agent);
        }
    });
}

unsafe extern "system" fn sampled_object_alloc(
    _: *mut jvmtiEnv,
    env: *mut JNIEnv,
    thread: jthread,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    guard::guarded((), || {
        let Some(agent) = agent::get() else { return };
        // SAFETY: the JVM passes this thread's environment and references that live for the call.
        let (jni, thread, object, class) = unsafe {
            (
                Jni::from_raw(env),
                Obj::from_raw(thread),
                Obj::from_raw(object),
                Obj::from_raw(class),
            )
        };
        if let (Some(jni), Some(thread), Some(object), Some(class)) = (jni, thread, object, class) {
            sampler::sampled(agent, &jni, &thread, &object, &class, size);
        }
    });
}
