//! Names from live references: a class's id, a thread's name, a whole stack.
//!
//! The JVM is asked first, then the registry is locked; never the other way round.

use std::sync::Arc;

use chain_core::{ClassId, TraceId};
use jfr_format::entity::{
    ClassInfo, FrameInfo as EventFrame, FrameKind, LoaderInfo, MethodInfo, StackInfo,
};

use super::env::raw_jvmti::jvmtiFrameInfo;
use super::env::{FrameInfo, Jni, JvmError, Jvmti, Obj};
use crate::names::{Classes, Method, NotAdded, Traces, binary_name, is_hidden};

/// Most frames that one stack can have (option `depth`).
pub const MAX_DEPTH: usize = 512;

/// The id of a class, given at its first sight. `None` when the registry is full.
///
/// # Errors
/// A failed JVMTI call.
pub fn class_id(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    classes: &Classes,
    class: &Obj<'_>,
) -> Result<Option<ClassId>, JvmError> {
    let signature = jvmti.class_signature(class)?;
    loop {
        let known = classes.of_signature(&signature);
        for (id, weak) in &known {
            if jni.is_same_weak(weak, class) {
                return Ok(Some(*id));
            }
        }
        let Some(weak) = jni.new_weak(class) else {
            return Ok(None);
        };
        let info = class_info(jvmti, jni, class, &signature);
        match classes.add(&signature, known.len(), info, weak) {
            Ok(id) => return Ok(Some(id)),
            Err(NotAdded::Full(weak)) => {
                jni.delete_weak(weak);
                return Ok(None);
            }
            Err(NotAdded::Changed(weak)) => jni.delete_weak(weak),
        }
    }
}

/// A class as events carry it.
fn class_info(jvmti: Jvmti, jni: &Jni<'_>, class: &Obj<'_>, signature: &str) -> ClassInfo {
    let loader = jvmti.class_loader(jni, class).ok().flatten().map(|loader| {
        let class_name = jni
            .class_of(&loader)
            .and_then(|class| {
                let signature = jvmti.class_signature(&class);
                jni.delete(class);
                signature
            })
            .map_or_else(|_| String::new(), |signature| binary_name(&signature));
        jni.delete(loader);
        Arc::new(LoaderInfo {
            class_name,
            name: None,
        })
    });
    ClassInfo {
        name: binary_name(signature),
        modifiers: jvmti.class_modifiers(class).unwrap_or(0),
        hidden: is_hidden(signature),
        loader,
        module: None,
        handle: 0,
    }
}

/// The id of the current thread's stack, at most `depth` frames; 0 when it is empty or cannot be had.
///
/// A stack that is new is resolved here, while its frames pin its classes.
pub fn current_trace(jvmti: Jvmti, jni: &Jni<'_>, traces: &Traces, depth: usize) -> TraceId {
    // One more than asked for tells whether the stack goes deeper.
    let mut buffer = [jvmtiFrameInfo::default(); MAX_DEPTH + 1];
    let depth = depth.min(MAX_DEPTH);
    if depth == 0 {
        return TraceId(0);
    }
    let Some(window) = buffer.get_mut(..=depth) else {
        return TraceId(0);
    };
    let Ok(count) = jvmti.stack_trace(None, window) else {
        return TraceId(0);
    };
    let truncated = count > depth;
    let frames: Vec<FrameInfo> = window
        .iter()
        .take(count.min(depth))
        .map(|raw| FrameInfo::from(*raw))
        .collect();
    if frames.is_empty() {
        return TraceId(0);
    }
    if let Some(id) = traces.known(&frames) {
        return id;
    }
    let resolved = frames
        .iter()
        .filter_map(|frame| resolve_frame(jvmti, jni, traces, *frame))
        .collect();
    traces.add(
        &frames,
        StackInfo {
            frames: resolved,
            truncated,
        },
    )
}

fn resolve_frame(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    traces: &Traces,
    frame: FrameInfo,
) -> Option<EventFrame> {
    let method = match traces.method(frame.method) {
        Some(method) => method,
        None => {
            let method = resolve_method(jvmti, jni, frame)?;
            traces.add_method(frame.method, method)
        }
    };
    let native = frame.location < 0;
    Some(EventFrame {
        method: Arc::clone(&method.info),
        line: method.line(frame.location),
        bytecode_index: if native {
            None
        } else {
            i32::try_from(frame.location).ok()
        },
        kind: if native {
            FrameKind::Native
        } else {
            FrameKind::Unknown
        },
    })
}

fn resolve_method(jvmti: Jvmti, jni: &Jni<'_>, frame: FrameInfo) -> Option<Method> {
    // SAFETY: the frame is on the current thread's stack, which pins the method's class for this call.
    let (name, class, modifiers, lines) = unsafe {
        (
            jvmti.method_name(frame.method).ok()?,
            jvmti.method_class(jni, frame.method).ok()?,
            jvmti.method_modifiers(frame.method).unwrap_or(0),
            jvmti.line_numbers(frame.method),
        )
    };
    let signature = jvmti.class_signature(&class).unwrap_or_default();
    let info = class_info(jvmti, jni, &class, &signature);
    jni.delete(class);
    let (name, descriptor) = name;
    let info = MethodInfo {
        hidden: info.hidden,
        class: Arc::new(info),
        name,
        descriptor,
        modifiers,
    };
    Some(Method {
        info: Arc::new(info),
        lines,
    })
}
