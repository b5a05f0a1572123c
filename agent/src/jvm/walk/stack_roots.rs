//! The roots that only a safepoint can show: stack locals, JNI locals, JNI globals, held monitors.
//!
//! One FollowReferences from the roots in an environment of its own, aborted at the first SYSTEM_CLASS root: the
//! interesting kinds come first, and on JDK 11 and 17 the abort spares the whole-heap reset of mark bits. Objects are
//! tagged in the callback, resolved in small batches afterwards, and the environment is disposed of at once (HotSpot
//! keeps 8 KiB of it until the next collection, which an epoch brings before the next search). Limits:
//! a local of an *unmounted* virtual thread is not found (its stack is an object that no root enumeration opens); 11
//! and 17 go on after an abort that is returned for a JNI local.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chain_core::chain::{Frame, RootKind};
use chain_core::walk::RootOutcome;

use super::Host;
use super::names::java_name;
use super::roots::Place;
use crate::jvm::env::raw_jni::{jint, jlong, jobject};
use crate::jvm::env::raw_jvmti::{
    JVMTI_HEAP_REFERENCE_JNI_GLOBAL, JVMTI_HEAP_REFERENCE_JNI_LOCAL, JVMTI_HEAP_REFERENCE_MONITOR,
    JVMTI_HEAP_REFERENCE_OTHER, JVMTI_HEAP_REFERENCE_STACK_LOCAL,
    JVMTI_HEAP_REFERENCE_SYSTEM_CLASS, JVMTI_HEAP_REFERENCE_THREAD, JVMTI_VISIT_ABORT,
    jvmtiCapabilities, jvmtiHeapCallbacks, jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind,
};
use crate::jvm::env::{Jni, JvmError, Jvmti, MethodId, Obj, Vm};

/// Objects told by one enumeration; further ones make it truncated.
const MAX_OBJECTS: usize = 20_000;
/// Tags resolved per call: the call scans the whole tag map while the JVM cannot reach a safepoint.
const BATCH: usize = 100;
/// Tag of a class whose instances are not told.
const SKIP: jlong = 1;
/// Tag of the first thread.
const THREADS: jlong = 1 << 32;
/// Tag of the first object.
const OBJECTS: jlong = 1 << 40;
/// Estimated stop: a fixed part and one per thread.
const STOP_BASE: Duration = Duration::from_millis(4);
const STOP_PER_THREAD: Duration = Duration::from_micros(250);
/// Access flag of native methods.
const ACC_NATIVE: i32 = 0x0100;

/// An object that a root refers to, as the callback saw it.
#[derive(Debug, Clone, Copy)]
struct Seen {
    kind: jvmtiHeapReferenceKind,
    thread: jlong,
    depth: jint,
    slot: jint,
    method: usize,
    location: i64,
}

/// What the callback fills; nothing in it grows.
struct Enumeration<'a> {
    seen: Vec<Seen>,
    abort: &'a AtomicBool,
    truncated: bool,
    aborted: bool,
    at_system_class: bool,
}

/// How an enumeration went.
#[derive(Debug, Clone, Copy)]
pub struct Enumerated {
    /// How it ended.
    pub outcome: RootOutcome,
    /// Time around the heap-walk call.
    pub took: Duration,
}

impl Enumerated {
    fn without(outcome: RootOutcome, took: Duration) -> Self {
        Self { outcome, took }
    }
}

/// The stop that an enumeration with this many threads is expected to make.
#[must_use]
pub fn expected_stop(threads: usize) -> Duration {
    STOP_BASE + STOP_PER_THREAD * u32::try_from(threads).unwrap_or(u32::MAX)
}

/// Enumerates the roots, unless that is expected to stop the program for longer than `host` allows. `jvmti` resolves names; the tags live in an environment of their own.
///
/// `take` gets the objects, what lasts first, a batch of local references at a time.
pub fn enumerate<'f>(
    vm: Vm,
    jvmti: Jvmti,
    jni: &Jni<'f>,
    host: &dyn Host,
    abort: &AtomicBool,
    mut take: impl FnMut(Obj<'f>, RootKind, Option<Place>),
) -> Enumerated {
    let Ok(threads) = jvmti.all_threads(jni) else {
        return Enumerated::without(RootOutcome::Error, Duration::ZERO);
    };
    if expected_stop(threads.len()) > host.stop_limit() {
        for thread in threads {
            jni.delete(thread);
        }
        return Enumerated::without(RootOutcome::Skipped, Duration::ZERO);
    }
    let result = with_environment(vm, |env| {
        run(env, jvmti, jni, host, abort, threads, &mut take)
    });
    result.unwrap_or_else(|_| Enumerated::without(RootOutcome::Error, Duration::ZERO))
}

/// Runs `body` with a fresh environment that may tag, and disposes of it.
fn with_environment<R>(vm: Vm, body: impl FnOnce(Jvmti) -> R) -> Result<R, JvmError> {
    let env = vm.new_jvmti()?;
    let mut capabilities = jvmtiCapabilities::default();
    capabilities.set_can_tag_objects(true);
    let result = env.add_capabilities(&capabilities).map(|()| body(env));
    // SAFETY: the environment enables no event, so no callback of it runs; the only heap walk has returned.
    let disposed = unsafe { env.dispose() };
    disposed.and(result)
}

fn run<'f>(
    env: Jvmti,
    jvmti: Jvmti,
    jni: &Jni<'f>,
    host: &dyn Host,
    abort: &AtomicBool,
    threads: Vec<Obj<'f>>,
    take: &mut dyn FnMut(Obj<'f>, RootKind, Option<Place>),
) -> Enumerated {
    skip_leaves(env, jni);
    let mut names: Vec<Named> = Vec::with_capacity(threads.len());
    for (at, thread) in threads.into_iter().enumerate() {
        let name = jvmti.thread_name(jni, &thread).unwrap_or_default();
        names.push(Named {
            own: host.is_own_thread(&name),
            id: host.thread_id(jni, &thread, &name),
            name: name.into(),
        });
        // Without the tag the thread's locals are told without a name.
        let _ = env.set_tag(&thread, THREADS + at as jlong);
        jni.delete(thread);
    }
    let mut seen = Vec::new();
    if seen.try_reserve_exact(MAX_OBJECTS).is_err() {
        return Enumerated::without(RootOutcome::Error, Duration::ZERO);
    }
    let mut state = Enumeration {
        seen,
        abort,
        truncated: false,
        aborted: false,
        at_system_class: false,
    };
    let callbacks = jvmtiHeapCallbacks {
        heap_reference_callback: Some(on_reference),
        ..jvmtiHeapCallbacks::default()
    };
    let started = Instant::now();
    let followed = env.follow_references(None, &callbacks, (&raw mut state).cast::<c_void>());
    let took = started.elapsed();
    if followed.is_err() {
        return Enumerated::without(RootOutcome::Error, took);
    }
    let outcome = if state.aborted || state.truncated {
        RootOutcome::Truncated
    } else if state.at_system_class {
        RootOutcome::CompleteAtSystemClass
    } else {
        RootOutcome::CompleteAtEnd
    };
    resolve(env, jvmti, jni, &state.seen, &names, take);
    Enumerated { outcome, took }
}

struct Named {
    own: bool,
    id: Option<chain_core::ThreadId>,
    name: Arc<str>,
}

/// Tags the classes whose instances cannot hold anything, so that the callback passes them over.
fn skip_leaves(env: Jvmti, jni: &Jni<'_>) {
    for name in [
        c"java/lang/String",
        c"java/lang/Class",
        c"[B",
        c"[C",
        c"[I",
        c"[J",
        c"java/lang/Integer",
        c"java/lang/Long",
        c"java/lang/invoke/MethodType",
        c"java/lang/invoke/LambdaForm",
        c"java/lang/invoke/MemberName",
    ] {
        if let Ok(class) = jni.find_class(name) {
            let _ = env.set_tag(&class, SKIP);
            jni.delete(class);
        }
    }
}

/// Sees every root inside the safepoint: no allocation, no lock, no JVM call, no panic.
unsafe extern "system" fn on_reference(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    class_tag: jlong,
    _referrer_class_tag: jlong,
    _size: jlong,
    tag: *mut jlong,
    _referrer_tag: *mut jlong,
    _length: jint,
    user_data: *mut c_void,
) -> jint {
    // SAFETY: `run` passes its own state, which outlives the call; the JVM calls from one thread at a time.
    let Some(state) = (unsafe { user_data.cast::<Enumeration<'_>>().as_mut() }) else {
        return JVMTI_VISIT_ABORT;
    };
    if state.abort.load(Ordering::Relaxed) {
        state.aborted = true;
        return JVMTI_VISIT_ABORT;
    }
    if kind == JVMTI_HEAP_REFERENCE_SYSTEM_CLASS {
        state.at_system_class = true;
        return JVMTI_VISIT_ABORT;
    }
    let of_interest = matches!(
        kind,
        JVMTI_HEAP_REFERENCE_STACK_LOCAL
            | JVMTI_HEAP_REFERENCE_JNI_LOCAL
            | JVMTI_HEAP_REFERENCE_JNI_GLOBAL
            | JVMTI_HEAP_REFERENCE_MONITOR
            | JVMTI_HEAP_REFERENCE_OTHER
    );
    if !of_interest || class_tag == SKIP || kind == JVMTI_HEAP_REFERENCE_THREAD {
        return 0;
    }
    // SAFETY: the tag pointer is valid during the callback.
    let Some(tag) = (unsafe { tag.as_mut() }) else {
        return 0;
    };
    let mut seen = Seen {
        kind,
        thread: 0,
        depth: -1,
        slot: -1,
        method: 0,
        location: -1,
    };
    // SAFETY: the JVM fills the member of the union that belongs to the kind, and `info` is valid or null.
    if let Some(info) = unsafe { info.as_ref() } {
        if kind == JVMTI_HEAP_REFERENCE_STACK_LOCAL {
            // SAFETY: as above.
            let local = unsafe { info.stack_local };
            seen.thread = local.thread_tag;
            seen.depth = local.depth;
            seen.slot = local.slot;
            seen.method = local.method as usize;
            seen.location = local.location;
        } else if kind == JVMTI_HEAP_REFERENCE_JNI_LOCAL {
            // SAFETY: as above.
            let local = unsafe { info.jni_local };
            seen.thread = local.thread_tag;
            seen.depth = local.depth;
            seen.method = local.method as usize;
        }
    }
    if *tag >= OBJECTS {
        // Seen by another root: a global outlives any local.
        let at = usize::try_from(*tag - OBJECTS).unwrap_or(usize::MAX);
        if kind == JVMTI_HEAP_REFERENCE_JNI_GLOBAL
            && let Some(known) = state.seen.get_mut(at)
        {
            *known = seen;
        }
    } else if *tag == 0 {
        if state.seen.len() == state.seen.capacity() {
            state.truncated = true;
            return 0;
        }
        *tag = OBJECTS + state.seen.len() as jlong;
        state.seen.push(seen);
    }
    0
}

fn resolve<'f>(
    env: Jvmti,
    jvmti: Jvmti,
    jni: &Jni<'f>,
    seen: &[Seen],
    names: &[Named],
    take: &mut dyn FnMut(Obj<'f>, RootKind, Option<Place>),
) {
    let mut wanted: Vec<usize> = (0..seen.len())
        .filter(|at| seen.get(*at).is_some_and(|s| !is_own(s, names)))
        .collect();
    wanted.sort_by_key(|at| {
        seen.get(*at)
            .map(|s| s.kind != JVMTI_HEAP_REFERENCE_JNI_GLOBAL)
    });
    for batch in wanted.chunks(BATCH) {
        let tags: Vec<jlong> = batch.iter().map(|at| OBJECTS + *at as jlong).collect();
        let Ok(objects) = env.objects_with_tags(jni, &tags) else {
            continue;
        };
        for (object, tag) in objects {
            let at = usize::try_from(tag - OBJECTS).unwrap_or(usize::MAX);
            let Some(seen) = seen.get(at) else {
                jni.delete(object);
                continue;
            };
            // SAFETY: the frame that showed the method was on a stack a moment ago; a method that was unloaded
            // since answers with an error from JVMTI's validity check.
            let (kind, place) = unsafe { describe(jvmti, jni, seen, names) };
            take(object, kind, place);
        }
    }
}

fn named<'n>(seen: &Seen, names: &'n [Named]) -> Option<&'n Named> {
    names.get(usize::try_from(seen.thread - THREADS).ok()?)
}

fn is_own(seen: &Seen, names: &[Named]) -> bool {
    named(seen, names).is_some_and(|thread| thread.own)
}

/// # Safety
/// The method of `seen` is loaded.
unsafe fn describe(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    seen: &Seen,
    names: &[Named],
) -> (RootKind, Option<Place>) {
    let method = MethodId::from_raw(seen.method as jobject);
    let native = method.is_none_or(|method| {
        // SAFETY: the caller's promise.
        let modifiers = unsafe { jvmti.method_modifiers(method) };
        modifiers.is_ok_and(|m| m & ACC_NATIVE != 0)
    });
    let kind = match seen.kind {
        JVMTI_HEAP_REFERENCE_JNI_GLOBAL => return (RootKind::JniGlobal, None),
        JVMTI_HEAP_REFERENCE_MONITOR => return (RootKind::Monitor, None),
        JVMTI_HEAP_REFERENCE_STACK_LOCAL => RootKind::StackLocal,
        JVMTI_HEAP_REFERENCE_JNI_LOCAL if native => RootKind::JniLocal,
        // A constant in a compiled method's code, or something the JVM does not name.
        _ => RootKind::Unknown,
    };
    let (class, name, line) = match method {
        // SAFETY: the caller's promise.
        Some(method) => unsafe { describe_method(jvmti, jni, method, seen.location) },
        None => (None, None, None),
    };
    let thread = named(seen, names);
    let place = Place {
        thread: thread.map_or_else(|| "?".into(), |thread| thread.name.clone()),
        id: thread.and_then(|thread| thread.id),
        class,
        method: name,
        frame: Frame {
            depth: u32::try_from(seen.depth).unwrap_or(0),
            slot: u32::try_from(seen.slot).ok(),
            line,
        },
    };
    (kind, Some(place))
}

type Method = (Option<Arc<str>>, Option<Arc<str>>, Option<u32>);

/// # Safety
/// The method is loaded.
unsafe fn describe_method(jvmti: Jvmti, jni: &Jni<'_>, method: MethodId, location: i64) -> Method {
    // SAFETY: the caller's promise, for all three calls.
    unsafe {
        let name = jvmti.method_name(method).ok().map(|(name, _)| name.into());
        let class = jvmti.method_class(jni, method).ok().and_then(|class| {
            let signature = jvmti.class_signature(&class).ok();
            jni.delete(class);
            signature.map(|signature| java_name(&signature).into())
        });
        let line = jvmti
            .line_numbers(method)
            .into_iter()
            .filter(|(start, _)| *start <= location)
            .max_by_key(|(start, _)| *start)
            .and_then(|(_, line)| u32::try_from(line).ok());
        (class, name, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_stop_grows_with_the_threads() {
        assert_eq!(expected_stop(0), Duration::from_millis(4));
        assert_eq!(expected_stop(1000), Duration::from_millis(254));
        assert!(expected_stop(2000) > Duration::from_millis(500));
    }
}
