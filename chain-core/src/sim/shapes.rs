//! The leak shapes as data: where each one is rooted, what leads to its instances, what is expected.

use crate::chain::{EdgeKind, RootKind};

/// How instances hang under a shape's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// An array (a map's table, a list's elements): fan-out.
    Array,
    /// A linked run of the class before it.
    Run,
}

/// What the verdict on a shape must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// A chain from this root kind, durable or not, is committed.
    Chain(RootKind),
    /// No strong path: no chain is committed.
    NoStrongPath,
    /// Population bounded: no search once it has been flat for 30 folds.
    Plateau,
    /// Nothing grows: no search at all.
    NoLeak,
}

/// An edge and the class it leads to.
pub type Step = (EdgeKind, &'static str, &'static str);

/// One shape of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number in the catalogue.
    pub number: u32,
    /// Its name.
    pub name: &'static str,
    /// Root kind as the walk meets it (thread-locals begin at the thread).
    pub root: RootKind,
    /// Declaring class and field, or thread name.
    pub root_name: (&'static str, &'static str),
    /// From the root to the container, inclusive.
    pub prefix: &'static [Step],
    /// How the container holds its entries.
    pub container: Container,
    /// From an entry to the leaf, the leaf last; the first step starts at the container.
    pub suffix: &'static [Step],
    /// What must come out.
    pub expect: Expect,
}

use Container::{Array, Run};
use EdgeKind::{Array as A, Class as C, Field as F, Soft as S, Static as R, Weak as W};
use Expect::{Chain, NoLeak, NoStrongPath, Plateau};
use RootKind::{Finalizer, JniGlobal, StackLocal, StaticField, Thread, ThreadLocal};

const MAP: &[Step] = &[
    (R, "", "java.util.HashMap"),
    (F, "table", "java.util.HashMap$Node[]"),
];
const LIST: &[Step] = &[
    (R, "", "java.util.ArrayList"),
    (F, "elementData", "java.lang.Object[]"),
];

macro_rules! shape {
    ($n:literal, $name:literal, $root:expr, $rc:literal . $rf:literal, $prefix:expr, $c:expr, $suffix:expr, $expect:expr) => {
        Shape {
            number: $n,
            name: $name,
            root: $root,
            root_name: ($rc, $rf),
            prefix: $prefix,
            container: $c,
            suffix: $suffix,
            expect: $expect,
        }
    };
}

/// All shapes, by number.
pub const SHAPES: &[Shape] = &[
    shape!(1, "static map", StaticField, "com.acme.Util"."CACHE", MAP, Array,
        &[(A, "", "java.util.HashMap$Node"), (F, "value", "com.acme.V")], Chain(StaticField)),
    shape!(2, "anonymous listener", StaticField, "com.acme.Bus"."INSTANCE", LIST, Array,
        &[(A, "", "com.acme.Outer$1"), (F, "this$0", "com.acme.V")], Chain(StaticField)),
    shape!(3, "lambda listener", StaticField, "com.acme.Bus"."INSTANCE", LIST, Array,
        &[(A, "", "com.acme.Owner$$Lambda/0x1"), (F, "arg$1", "com.acme.V")], Chain(StaticField)),
    shape!(4, "thread-local", Thread, "pool-1"."", &[(EdgeKind::Root, "", "java.lang.Thread"),
        (F, "threadLocals", "java.lang.ThreadLocal$ThreadLocalMap"), (F, "table", "java.lang.ThreadLocal$ThreadLocalMap$Entry[]")],
        Array, &[(A, "", "java.lang.ThreadLocal$ThreadLocalMap$Entry"), (F, "value", "com.acme.V")], Chain(ThreadLocal)),
    shape!(5, "inheritable thread-local", Thread, "worker-1"."", &[(EdgeKind::Root, "", "java.lang.Thread"),
        (F, "inheritableThreadLocals", "java.lang.ThreadLocal$ThreadLocalMap"), (F, "table", "java.lang.ThreadLocal$ThreadLocalMap$Entry[]")],
        Array, &[(A, "", "java.lang.ThreadLocal$ThreadLocalMap$Entry"), (F, "value", "com.acme.V")], Chain(ThreadLocal)),
    shape!(6, "self-rescheduling task", Thread, "sched-1"."", &[(EdgeKind::Root, "", "java.lang.Thread"),
        (F, "target", "java.util.concurrent.ThreadPoolExecutor$Worker"), (F, "this$0", "java.util.concurrent.ThreadPoolExecutor"),
        (F, "workQueue", "com.acme.Task"), (F, "context", "java.util.HashMap"), (F, "table", "java.util.HashMap$Node[]")],
        Array, &[(A, "", "java.util.HashMap$Node"), (F, "value", "com.acme.V")], Chain(Thread)),
    shape!(7, "driver never deregistered", StaticField, "com.acme.Registry"."drivers", LIST, Array,
        &[(A, "", "com.acme.DriverInfo"), (F, "driver", "com.acme.Driver"), (C, "class", "java.lang.Class"), (F, "classLoader", "com.acme.V")], Chain(StaticField)),
    shape!(8, "shutdown hook", StaticField, "java.lang.ApplicationShutdownHooks"."hooks", &[(R, "", "java.util.IdentityHashMap"), (F, "table", "java.lang.Object[]")],
        Array, &[(A, "", "java.lang.Thread"), (F, "contextClassLoader", "com.acme.V")], Chain(StaticField)),
    shape!(9, "timer", Thread, "Timer-0"."", &[(EdgeKind::Root, "", "java.util.TimerThread"), (F, "queue", "java.util.TaskQueue"), (F, "queue", "java.util.TimerTask[]")],
        Array, &[(A, "", "com.acme.Outer$Task"), (F, "this$0", "com.acme.V")], Chain(Thread)),
    shape!(10, "inner class", StaticField, "com.acme.Cache"."ALL", LIST, Array,
        &[(A, "", "com.acme.Outer$Inner"), (F, "this$0", "com.acme.Outer"), (F, "data", "com.acme.V")], Chain(StaticField)),
    shape!(11, "anyOf", StaticField, "com.acme.Holder"."FUTURE", &[(R, "", "java.util.concurrent.CompletableFuture"), (F, "stack", "java.util.concurrent.CompletableFuture$AnyOf")],
        Run, &[(F, "dep", "com.acme.V")], Chain(StaticField)),
    shape!(12, "cancelled tasks", Thread, "sched-1"."", &[(EdgeKind::Root, "", "java.lang.Thread"), (F, "target", "java.util.concurrent.ThreadPoolExecutor$Worker"),
        (F, "workQueue", "java.util.concurrent.RunnableScheduledFuture[]")], Array, &[(A, "", "com.acme.V")], Chain(Thread)),
    shape!(13, "unbounded queue", Thread, "pool-1"."", &[(EdgeKind::Root, "", "java.lang.Thread"), (F, "target", "java.util.concurrent.ThreadPoolExecutor$Worker"),
        (F, "workQueue", "java.util.concurrent.LinkedBlockingQueue$Node")], Run, &[(F, "item", "com.acme.V")], Chain(Thread)),
    shape!(14, "mutable keys", StaticField, "com.acme.Index"."MAP", &[(R, "", "java.util.concurrent.ConcurrentHashMap"), (F, "table", "java.util.concurrent.ConcurrentHashMap$Node[]")],
        Array, &[(A, "", "java.util.concurrent.ConcurrentHashMap$Node"), (F, "key", "com.acme.V")], Chain(StaticField)),
    shape!(15, "intern flood", RootKind::Unknown, ""."", &[], Array, &[(W, "", "com.acme.V")], NoStrongPath),
    shape!(16, "own interner", StaticField, "com.acme.Interner"."MAP", MAP, Array,
        &[(A, "", "java.util.HashMap$Node"), (F, "key", "com.acme.V")], Chain(StaticField)),
    shape!(17, "slow finalizer", StaticField, "java.lang.ref.Finalizer"."queue", &[(R, "", "java.lang.ref.Finalizer")],
        Run, &[(F, "referent", "com.acme.V")], Chain(Finalizer)),
    shape!(18, "soft cache", StaticField, "com.acme.SoftCache"."MAP", MAP, Array,
        &[(A, "", "java.util.HashMap$Node"), (F, "value", "java.lang.ref.SoftReference"), (S, "referent", "com.acme.V")], Chain(StaticField)),
    shape!(19, "weak map, value to key", StaticField, "com.acme.Weak"."MAP", &[(R, "", "java.util.WeakHashMap"), (F, "table", "java.util.WeakHashMap$Entry[]")],
        Array, &[(A, "", "java.util.WeakHashMap$Entry"), (F, "value", "com.acme.Val"), (F, "key", "com.acme.V")], Chain(StaticField)),
    shape!(20, "cleared weak references", StaticField, "com.acme.Weak"."LIST", LIST, Array,
        &[(A, "", "com.acme.V")], Chain(StaticField)),
    shape!(21, "JNI global", JniGlobal, ""."", &[(EdgeKind::Root, "", "java.util.ArrayList"), (F, "elementData", "java.lang.Object[]")],
        Array, &[(A, "", "com.acme.V")], Chain(JniGlobal)),
    shape!(22, "main-loop local", StackLocal, "com.acme.Main"."run", &[(EdgeKind::Root, "", "java.util.ArrayList"), (F, "elementData", "java.lang.Object[]")],
        Array, &[(A, "", "com.acme.V")], Chain(StackLocal)),
    shape!(23, "unbounded tags", StaticField, "com.acme.App"."registry", &[(R, "", "com.acme.Registry"), (F, "meterMap", "java.util.HashMap"), (F, "table", "java.util.HashMap$Node[]")],
        Array, &[(A, "", "java.util.HashMap$Node"), (F, "key", "com.acme.Id"), (F, "tags", "com.acme.V")], Chain(StaticField)),
    shape!(24, "LRU without eviction", StaticField, "com.acme.Lru"."CACHE", &[(R, "", "java.util.LinkedHashMap"), (F, "table", "java.util.HashMap$Node[]")],
        Array, &[(A, "", "java.util.LinkedHashMap$Entry"), (F, "value", "com.acme.V")], Chain(StaticField)),
    shape!(25, "ring buffer", StaticField, "com.acme.Ring"."SLOTS", &[(R, "", "java.lang.Object[]")], Array, &[(A, "", "com.acme.V")], Plateau),
    shape!(26, "long list", StaticField, "com.acme.List"."HEAD", &[(R, "", "com.acme.V")], Run, &[], Chain(StaticField)),
    shape!(27, "huge array", StaticField, "com.acme.Arr"."ARR", &[(R, "", "java.lang.Object[]")], Array, &[(A, "", "com.acme.V")], Chain(StaticField)),
    shape!(28, "parked virtual threads", StaticField, "com.acme.Queue"."WAITERS", LIST, Array,
        &[(A, "", "java.lang.VirtualThread"), (F, "cont", "jdk.internal.vm.Continuation"), (F, "tail", "jdk.internal.vm.StackChunk"), (F, "frame", "com.acme.V")], Chain(StaticField)),
    shape!(29, "class-loader leak", StaticField, "com.acme.Provider"."map", MAP, Array,
        &[(A, "", "java.util.HashMap$Node"), (F, "key", "com.acme.PluginLoader"), (F, "classes", "com.acme.V")], Chain(StaticField)),
    shape!(30, "cache that fills", StaticField, "com.acme.Cache"."MAP", MAP, Array,
        &[(A, "", "java.util.HashMap$Node"), (F, "value", "com.acme.V")], NoLeak),
];
