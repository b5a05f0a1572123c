//! How firmly a chain holds: the kind of its root, and its strength.

use crate::chain::{Chain, EdgeKind, RootKind, Strength};

/// Fields of `java.lang.Thread` that are the thread's own: thread-locals, and its context loader.
const THREAD_LOCAL_FIELDS: [&str; 2] = ["threadLocals", "inheritableThreadLocals"];
const THREAD_LOADER_FIELDS: [&str; 2] = ["contextClassLoader", "inheritedAccessControlContext"];
/// Classes whose static roots are the JVM's housekeeping.
const HOUSEKEEPING_ROOTS: [&str; 4] = [
    "java.lang.ref.Finalizer",
    "jdk.internal.ref.Cleaner",
    "sun.misc.Cleaner",
    "java.lang.ref.Cleaner",
];

/// Sets root kind (a thread's own locals) and strength (the weakest edge decides).
pub fn classify(mut chain: Chain) -> Chain {
    let names = |i: usize| chain.hops.get(i).and_then(|h| h.edge.name.as_deref());
    let in_thread = |n: Option<&str>, set: &[&str]| n.is_some_and(|n| set.contains(&n));
    if chain.root.kind == RootKind::Thread && in_thread(names(1), &THREAD_LOCAL_FIELDS) {
        chain.root.kind = RootKind::ThreadLocal;
    }
    if chain.root.class.as_deref() == Some("java.lang.ref.Finalizer") {
        chain.root.kind = RootKind::Finalizer;
    }
    let mut strength = Strength::of_root(chain.root.kind);
    if chain
        .root
        .class
        .as_deref()
        .is_some_and(|c| HOUSEKEEPING_ROOTS.contains(&c))
    {
        strength = strength.max(Strength::Housekeeping);
    }
    for hop in &chain.hops {
        let by_edge = match hop.edge.kind {
            EdgeKind::Soft => Strength::Soft,
            EdgeKind::Weak => Strength::Weak,
            _ if in_thread(hop.edge.name.as_deref(), &THREAD_LOADER_FIELDS) => {
                Strength::Housekeeping
            }
            _ => Strength::Durable,
        };
        strength = strength.max(by_edge);
    }
    chain.strength = strength;
    chain
}
