//! One heap-walk call: the JVM follows the references out of a batch of objects, one hop, at a safepoint.

use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::BuildHasherDefault;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chain_core::chain::Strength;

use super::super::catalogue::ClassIndex;
use super::super::nodes::{NodeId, Nodes};
use super::super::sigs::{Mix, Sigs};
use super::super::visited::{Tag, Tags};
use super::views::Views;
use crate::jvm::env::raw_jni::{jint, jlong};
use crate::jvm::env::raw_jvmti::{
    JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT, JVMTI_HEAP_REFERENCE_FIELD, JVMTI_VISIT_ABORT,
    JVMTI_VISIT_OBJECTS, jvmtiHeapCallbacks, jvmtiHeapReferenceInfo, jvmtiHeapReferenceKind,
};
use crate::jvm::env::{Jni, JvmError, Obj};

/// Callback invocations between two looks at the clock.
const CLOCK_EVERY: u64 = 4_096;

/// An object whose references are followed.
#[derive(Debug)]
pub struct Entry<'f> {
    /// The object.
    pub object: Obj<'f>,
    /// Its node.
    pub node: NodeId,
    /// Its class.
    pub class: ClassIndex,
}

/// A reference that a call showed.
#[derive(Debug, Clone, Copy)]
pub struct Met {
    /// Place of the referrer in the batch.
    pub at: usize,
    /// Place of the field in the layout, or index of the element.
    pub place: u32,
    /// The tag that the referent carries since; the empty one for a referent that was seen, but held less firmly.
    pub tag: Tag,
}

/// Why a call ended before its batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The abort flag.
    Aborted,
    /// The deadline.
    Deadline,
    /// As many new objects as were allowed.
    Full,
}

/// What bounds a call.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// Most referents to meet.
    pub most: usize,
    /// When it ends.
    pub deadline: Instant,
    /// Ends it at the next callback.
    pub abort: &'a AtomicBool,
}

/// What a search knows that callbacks need.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The seen objects.
    pub nodes: &'a Nodes,
    /// Their signatures.
    pub sigs: &'a Sigs,
    /// The classes.
    pub views: &'a Views,
}

/// What a call showed.
#[derive(Debug)]
pub struct Gathered {
    /// References to objects that are new or held less firmly so far.
    pub met: Vec<Met>,
    /// References that it looked at.
    pub references: u64,
    /// Time around the call.
    pub took: Duration,
    /// Why it ended early.
    pub cut: Option<Cut>,
    /// By place in the batch: all references of the object were looked at.
    pub done: Vec<bool>,
}

struct Gathering<'a> {
    known: Known<'a>,
    bounds: Bounds<'a>,
    classes: &'a [ClassIndex],
    places: &'a HashMap<u32, usize, BuildHasherDefault<Mix>>,
    first_meeting: u32,
    met: Vec<Met>,
    begun: Vec<bool>,
    last: Option<(jlong, usize)>,
    references: u64,
    cut: Option<Cut>,
}

/// Follows the references out of every object of `batch`. What is new gets a tag, numbered on from `first_meeting`.
///
/// # Errors
/// Any error of the JVM; without memory for the array that holds the batch too.
pub fn gather(
    jni: &Jni<'_>,
    tags: Tags,
    batch: &[Entry<'_>],
    known: Known<'_>,
    bounds: Bounds<'_>,
    first_meeting: u32,
) -> Result<Gathered, JvmError> {
    let array = packed(jni, batch)?;
    let places = (0..).zip(batch).map(|(at, e)| (e.node.number(), at));
    let places = places.collect();
    let classes: Vec<ClassIndex> = batch.iter().map(|entry| entry.class).collect();
    let mut met = Vec::new();
    met.try_reserve_exact(bounds.most)
        .map_err(|_| JvmError::OutOfMemory("FollowReferences"))?;
    let mut state = Gathering {
        known,
        bounds,
        classes: &classes,
        places: &places,
        first_meeting,
        met,
        begun: vec![false; batch.len()],
        last: None,
        references: 0,
        cut: None,
    };
    let callbacks = jvmtiHeapCallbacks {
        heap_reference_callback: Some(on_reference),
        ..jvmtiHeapCallbacks::default()
    };
    let env = tags.env();
    let started = Instant::now();
    let followed = tags.set(&array, Tag::BATCH).and_then(|()| {
        env.follow_references(Some(&array), &callbacks, (&raw mut state).cast::<c_void>())
    });
    let took = started.elapsed();
    let _ = tags.set(&array, Tag::default());
    jni.delete(array);
    followed?;
    Ok(state.end(took))
}

/// The batch in an array on the heap.
fn packed<'f>(jni: &Jni<'f>, batch: &[Entry<'_>]) -> Result<Obj<'f>, JvmError> {
    let class = jni.find_class(c"java/lang/Object")?;
    let array = jni.new_object_array(batch.len(), &class);
    jni.delete(class);
    let array = array?;
    for (at, entry) in batch.iter().enumerate() {
        // SAFETY: an array of `Object` of this length.
        unsafe { jni.set_array_element(&array, at, &entry.object) };
    }
    Ok(array)
}

impl Gathering<'_> {
    fn end(self, took: Duration) -> Gathered {
        let done = match self.cut {
            None => vec![true; self.begun.len()],
            // References of one object come together: only the last one's may be cut.
            Some(_) => {
                let mut done = self.begun;
                if let Some(slot) = self.last.and_then(|(_, at)| done.get_mut(at)) {
                    *slot = false;
                }
                done
            }
        };
        Gathered {
            met: self.met,
            references: self.references,
            took,
            cut: self.cut,
            done,
        }
    }

    /// Place in the batch of the object with this tag.
    fn referrer(&mut self, tag: jlong) -> Option<usize> {
        if let Some((last, at)) = self.last
            && last == tag
        {
            return Some(at);
        }
        let node = Tag::from_raw(tag).node()?;
        let at = *self.places.get(&node.number())?;
        *self.begun.get_mut(at)? = true;
        self.last = Some((tag, at));
        Some(at)
    }

    /// What a field or element is to the search: its place, `None` when it is not followed.
    fn place(&self, at: usize, field: bool, index: i32) -> Option<u32> {
        let view = self.known.views.get(*self.classes.get(at)?)?;
        if field {
            view.place(index)
        } else if view.elements {
            u32::try_from(index).ok()
        } else {
            None
        }
    }

    fn on(
        &mut self,
        field: bool,
        index: i32,
        class: jlong,
        tag: &mut jlong,
        referrer: jlong,
    ) -> jint {
        self.references += 1;
        let Some(at) = self.referrer(referrer) else {
            return 0;
        };
        let Some(place) = self.place(at, field, index) else {
            return 0;
        };
        let class = Tag::from_raw(class).class();
        if class.is_some_and(|class| self.known.views.get(class).is_some_and(|v| v.skip)) {
            return 0;
        }
        let now = Tag::from_raw(*tag);
        if let Some(node) = now.node() {
            let sig = self.known.nodes.sig(node);
            if sig.is_none_or(|sig| self.known.sigs.strength(sig) == Strength::Durable) {
                return 0;
            }
        }
        let met_before = now.meeting().is_some_and(|number| {
            (number.wrapping_sub(self.first_meeting) as usize) < self.met.len()
        });
        if met_before {
            return 0;
        }
        if self.met.len() >= self.bounds.most || self.met.len() == self.met.capacity() {
            self.cut = Some(Cut::Full);
            return JVMTI_VISIT_ABORT;
        }
        let number = u32::try_from(self.met.len()).unwrap_or(u32::MAX);
        let mut met = Met {
            at,
            place,
            tag: Tag::default(),
        };
        if now.node().is_none() {
            met.tag = now.with_meeting(self.first_meeting.wrapping_add(number));
            *tag = met.tag.raw();
        }
        self.met.push(met);
        0
    }
}

/// Sees every reference inside the safepoint: no allocation, no lock, no JVM call, no panic.
unsafe extern "system" fn on_reference(
    kind: jvmtiHeapReferenceKind,
    info: *const jvmtiHeapReferenceInfo,
    class_tag: jlong,
    _referrer_class_tag: jlong,
    _size: jlong,
    tag: *mut jlong,
    referrer_tag: *mut jlong,
    _length: jint,
    user_data: *mut c_void,
) -> jint {
    // SAFETY: `gather` passes its own state, which outlives the call; the JVM calls from one thread at a time.
    let Some(state) = (unsafe { user_data.cast::<Gathering<'_>>().as_mut() }) else {
        return JVMTI_VISIT_ABORT;
    };
    if state.bounds.abort.load(Ordering::Relaxed) {
        state.cut = Some(Cut::Aborted);
        return JVMTI_VISIT_ABORT;
    }
    if state.references % CLOCK_EVERY == CLOCK_EVERY - 1 && Instant::now() >= state.bounds.deadline
    {
        state.cut = Some(Cut::Deadline);
        return JVMTI_VISIT_ABORT;
    }
    let referrer = if referrer_tag.is_null() {
        0
    } else {
        // SAFETY: points to a tag for the time of the callback. It is the referent's own where an object refers to
        // itself, so it is copied before that one is borrowed.
        unsafe { *referrer_tag }
    };
    // SAFETY: as above.
    let Some(tag) = (unsafe { tag.as_mut() }) else {
        return 0;
    };
    if referrer == Tag::BATCH.raw() {
        state.references += 1;
        return JVMTI_VISIT_OBJECTS;
    }
    // SAFETY: the JVM fills the member of the union that belongs to the kind.
    let (field, index) = match (kind, unsafe { info.as_ref() }) {
        // SAFETY: as above.
        (JVMTI_HEAP_REFERENCE_FIELD, Some(info)) => (true, unsafe { info.field }.index),
        // SAFETY: as above.
        (JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT, Some(info)) => (false, unsafe { info.array }.index),
        _ => {
            state.references += 1;
            return 0;
        }
    };
    state.on(field, index, class_tag, tag, referrer)
}
