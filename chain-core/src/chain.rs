//! Reference chains: one observed path from a GC root to an object, ready to be printed.

use std::sync::Arc;

use crate::ids::{ClassId, ShortId, ThreadId};

/// What a root is (cli.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum RootKind {
    /// A static field of a class.
    StaticField,
    /// A field of a live `java.lang.Thread` object.
    Thread,
    /// A thread-local of a live thread.
    ThreadLocal,
    /// A class loader.
    ClassLoader,
    /// A JNI global reference.
    JniGlobal,
    /// A JNI local reference of a frame.
    JniLocal,
    /// A local or operand of a Java frame.
    StackLocal,
    /// An object whose monitor is held.
    Monitor,
    /// Waiting for finalization.
    Finalizer,
    /// Held by the JVM itself.
    System,
    /// The engine could not say.
    #[default]
    Unknown,
}

impl RootKind {
    /// The name used in reports and events.
    pub fn name(self) -> &'static str {
        match self {
            RootKind::StaticField => "static-field",
            RootKind::Thread => "thread",
            RootKind::ThreadLocal => "thread-local",
            RootKind::ClassLoader => "class-loader",
            RootKind::JniGlobal => "jni-global",
            RootKind::JniLocal => "jni-local",
            RootKind::StackLocal => "stack-local",
            RootKind::Monitor => "monitor",
            RootKind::Finalizer => "finalizer",
            RootKind::System => "system",
            RootKind::Unknown => "unknown",
        }
    }
}

/// How firmly a chain holds its leaf; the smaller, the stronger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Strength {
    /// Static field, thread, thread-local, JNI global, class loader, system.
    #[default]
    Durable,
    /// Stack local, JNI local, held monitor: gone when the frame returns.
    Transient,
    /// A thread's context class loader, the finalizer queue, a cleaner.
    Housekeeping,
    /// At least one edge is soft.
    Soft,
    /// At least one edge is weak or phantom.
    Weak,
}

impl Strength {
    /// The strength a root gives before any edge weakens it.
    pub fn of_root(kind: RootKind) -> Strength {
        match kind {
            RootKind::StaticField
            | RootKind::Thread
            | RootKind::ThreadLocal
            | RootKind::ClassLoader
            | RootKind::JniGlobal
            | RootKind::System => Strength::Durable,
            RootKind::StackLocal | RootKind::JniLocal | RootKind::Monitor | RootKind::Unknown => {
                Strength::Transient
            }
            RootKind::Finalizer => Strength::Housekeeping,
        }
    }

    /// The name used in reports and events.
    pub fn name(self) -> &'static str {
        match self {
            Strength::Durable => "durable",
            Strength::Transient => "transient",
            Strength::Housekeeping => "housekeeping",
            Strength::Soft => "soft",
            Strength::Weak => "weak",
        }
    }
}

/// The GC root of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Root {
    /// Its kind.
    pub kind: RootKind,
    /// Declaring class of a static field, or class of the frame's method.
    pub class: Option<Arc<str>>,
    /// Static field; for a frame the method.
    pub field: Option<Arc<str>>,
    /// Name of the thread.
    pub thread: Option<Arc<str>>,
    /// Id of the thread, as the agent numbers threads.
    pub thread_id: Option<ThreadId>,
    /// Frame depth and slot of a stack or JNI local.
    pub frame: Option<Frame>,
}

/// Where in a stack a local lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "journal", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// Frames above it, 0 = top.
    pub depth: u32,
    /// Slot, where JVMTI told one.
    pub slot: Option<u32>,
    /// Line of the frame's location.
    pub line: Option<u32>,
}

/// How a referrer holds its referent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum EdgeKind {
    /// An instance field.
    #[default]
    Field,
    /// An array element.
    Array,
    /// A static field.
    Static,
    /// An object to its class, a class to its loader, and the like.
    Class,
    /// `SoftReference.referent`.
    Soft,
    /// `WeakReference.referent` or `PhantomReference.referent`.
    Weak,
    /// The root's own reference.
    Root,
}

impl EdgeKind {
    /// The name used in reports and events.
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Field => "field",
            EdgeKind::Array => "array",
            EdgeKind::Static => "static",
            EdgeKind::Class => "class",
            EdgeKind::Soft => "soft",
            EdgeKind::Weak => "weak",
            EdgeKind::Root => "root",
        }
    }
}

/// The edge that leads *to* a hop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Edge {
    /// Its kind.
    pub kind: EdgeKind,
    /// Field name; `None` for array elements.
    pub name: Option<Arc<str>>,
    /// Array index; display only, never part of a signature.
    pub index: Option<u32>,
}

/// One object of a chain (or a run of equal ones) and the edge that leads to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Hop {
    /// Class of the object, as Java writes it (`java.util.HashMap$Node[]`).
    pub class: Arc<str>,
    /// Process-local class id, when known.
    pub class_id: Option<ClassId>,
    /// Loaded by an application loader, so worth showing as a leaf.
    pub application: bool,
    /// The edge from the referrer (or the root) to this object.
    pub edge: Edge,
    /// Objects in the run of the same class and edge; 1 for a single object.
    pub run: u32,
    /// Distinct referents this hop's object led to over the tallied instances; above 1 = it grows.
    pub fan_out: u32,
    /// Length of an array, or elements of a collection of the JDK that counts them; display only, of one moment.
    /// `None` for other objects and for runs.
    pub size: Option<u32>,
}

/// One observed path from a GC root to an object of a candidate class; hops run from root to leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct Chain {
    /// Where it starts.
    pub root: Root,
    /// The objects, the first one held by the root, the last one the leaf.
    pub hops: Vec<Hop>,
    /// The weakest edge or root decides.
    pub strength: Strength,
}

/// A chain as a walk reports it.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(
    feature = "journal",
    derive(serde::Serialize, serde::Deserialize),
    serde(default)
)]
pub struct FoundChain {
    /// The candidate class it leads to.
    pub candidate: ClassId,
    /// The path.
    pub chain: Chain,
    /// Of the whole path, indices and run lengths erased ([`crate::signature`]).
    pub signature: ShortId,
    /// Of root and edges up to the growing container: one leak, one finding.
    pub identity: ShortId,
    /// Every hop was re-read after the discovery and still held.
    pub verified: bool,
    /// Instances of the candidate class tallied under this signature.
    pub instances: u64,
    /// Instances of the candidate class reached under any signature: the base of `share`.
    pub reached: u64,
    /// The walk's handle of the leaf (a `SampleId` or a private number), for re-verification.
    pub leaf: Option<u64>,
}
