//! What to look at in the code, from the shape of a chain: a table of shapes with a sentence each.

use crate::model::chain::simple_name;
use crate::model::noise::is_jdk_class;
use crate::model::{Chain, Frame, Producer, RootKind, Strength};

/// One shape: when it applies, and what usually mends it.
struct Shape {
    matches: fn(&Chain) -> bool,
    sentence: &'static str,
}

/// The first row that matches gives the sentence. More particular shapes come first.
const SHAPES: &[Shape] = &[
    Shape {
        matches: |c| c.strength == Strength::Soft,
        sentence: "A soft cache: bound its size if it crowds out the rest of the heap; the JVM \
                   empties it before it fails.",
    },
    Shape {
        matches: |c| c.strength == Strength::Weak,
        sentence: "Only weak references lead here: the objects die at the next collection. Look \
                   whether the cleared references themselves pile up.",
    },
    Shape {
        matches: |c| c.root.kind == RootKind::Finalizer || enters(c, "java.lang.ref.Finalizer"),
        sentence: "The finalizer thread is slower than the allocation: find the finalize() that \
                   blocks, or replace it by close().",
    },
    Shape {
        matches: |c| c.root.kind == RootKind::ThreadLocal || over_field(c, "threadLocals"),
        sentence: "A thread-local of a long-lived thread: call remove() in a finally block when \
                   the request ends.",
    },
    Shape {
        matches: |c| over_field(c, "inheritableThreadLocals"),
        sentence: "A pool's worker inherited the value from the request that started it: make \
                   the pool's threads before any request, or use a plain ThreadLocal.",
    },
    Shape {
        matches: |c| c.root.class.as_deref() == Some("java.lang.ApplicationShutdownHooks"),
        sentence: "A shutdown hook is never removed: register one hook once, or call \
                   Runtime.removeShutdownHook.",
    },
    Shape {
        matches: |c| c.root.class.as_deref() == Some("java.sql.DriverManager"),
        sentence: "A driver stays registered after its application is gone: call \
                   DriverManager.deregisterDriver when it stops.",
    },
    Shape {
        matches: |c| enters(c, "java.util.TimerThread") || enters(c, "java.util.TimerTask"),
        sentence: "A Timer keeps its tasks: cancel the task and the timer when their owner ends.",
    },
    Shape {
        matches: |c| {
            enters(
                c,
                "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue",
            )
        },
        sentence: "Scheduled tasks stay queued, cancelled ones too: setRemoveOnCancelPolicy(true), \
                   and cancel what no longer matters.",
    },
    Shape {
        matches: |c| over_field(c, "workQueue"),
        sentence: "An executor's queue without a bound: tasks come faster than they run. Bound \
                   the queue, or slow the producers.",
    },
    Shape {
        matches: |c| enters(c, "java.util.concurrent.CompletableFuture"),
        sentence: "Dependents pile up on a future that never completes: complete or time it out, \
                   and do not attach to it per request.",
    },
    Shape {
        matches: |c| c.root.kind == RootKind::JniGlobal,
        sentence: "Native code holds a JNI global reference: look for NewGlobalRef without \
                   DeleteGlobalRef. The JVM does not record which library made it.",
    },
    Shape {
        matches: |c| matches!(c.root.kind, RootKind::StackLocal | RootKind::JniLocal),
        sentence: "A local variable of a method that does not return: what it collects lives as \
                   long as the loop.",
    },
    Shape {
        matches: |c| enters(c, "java.util.WeakHashMap") && over_field(c, "value"),
        sentence: "A WeakHashMap whose value refers to its own key never empties: hold the value \
                   by a WeakReference too.",
    },
    Shape {
        matches: |c| c.root.kind == RootKind::ClassLoader || ends_in_loader(c),
        sentence: "A class loader is kept, and with it every class it loaded: the object named \
                   here must be released when the application stops.",
    },
    Shape {
        matches: |c| c.hops.iter().any(|h| h.class.contains("$$Lambda")),
        sentence: "A lambda captured its owner: unregister it, or capture only what it needs.",
    },
    Shape {
        matches: |c| over_field(c, "this$0"),
        sentence: "An inner class keeps its outer object: unregister it, or make it static.",
    },
];

/// What to look at, the most useful sentence first; empty only for a chain without any name.
pub fn for_chain(chain: &Chain) -> Vec<String> {
    let mut out = Vec::new();
    let grows = chain.producer == Producer::JfrChains;
    if let Some((owner, held)) = owner(chain) {
        out.push(match container(chain, held) {
            Some(container) => format!(
                "{owner} holds {} {}{}: where are entries removed?",
                article(simple_name(container)),
                simple_name(container),
                if grows { " that only grows" } else { "" }
            ),
            None => format!("{owner}: when is it cleared?"),
        });
    }
    if let Some(frame) = adding_frame(&chain.stack) {
        out.push(format!(
            "{} are made in {}.",
            plural(simple_name(chain.allocated_class())),
            frame_words(frame)
        ));
    }
    if let Some(shape) = SHAPES.iter().find(|shape| (shape.matches)(chain)) {
        out.push(shape.sentence.to_owned());
    }
    out
}

/// The field that application code owns and that holds the growing part: the last application
/// field before the first JDK container, else the root's static field. With it comes the position
/// of the hop that it holds.
pub fn owner(chain: &Chain) -> Option<(String, usize)> {
    let mut best = match (&chain.root.class, &chain.root.field) {
        (Some(class), Some(field)) if chain.root.kind == RootKind::StaticField => {
            Some((format!("{}.{field}", simple_name(class)), 0))
        }
        _ => None,
    };
    let mut best_is_ours = chain
        .root
        .class
        .as_deref()
        .is_some_and(|class| !is_jdk_class(class));
    for (at, pair) in chain.hops.windows(2).enumerate() {
        let [holder, held] = pair else { continue };
        let ours = !is_jdk_class(&holder.class);
        if !ours && best_is_ours {
            break;
        }
        if ours && let Some(field) = &held.edge.name {
            let owner = format!("{}.{field}", simple_name(&holder.class));
            best = Some((owner, at + 1));
            best_is_ours = true;
        }
    }
    best
}

/// The first JDK collection among the hops from position `from` on.
pub fn container(chain: &Chain, from: usize) -> Option<&str> {
    chain
        .hops
        .get(from..)
        .unwrap_or_default()
        .iter()
        .map(|hop| hop.class.as_str())
        .find(|class| {
            class.starts_with("java.util.") && !class.contains('$') && !class.ends_with(']')
        })
}

/// The innermost frame that is not the JDK's.
pub fn adding_frame(stack: &[Frame]) -> Option<&Frame> {
    stack
        .iter()
        .find(|frame| !is_jdk_class(&frame.class))
        .or_else(|| stack.first())
}

/// `OrderHandler.handle (line 42)`.
pub fn frame_words(frame: &Frame) -> String {
    let line = frame
        .line
        .map_or_else(String::new, |line| format!(" (line {line})"));
    format!("{}.{}{line}", simple_name(&frame.class), frame.method)
}

fn article(class: &str) -> &'static str {
    if class.starts_with(['A', 'E', 'I', 'O', 'U']) {
        "an"
    } else {
        "a"
    }
}

fn plural(class: &str) -> String {
    format!("{class} objects")
}

fn enters(chain: &Chain, class: &str) -> bool {
    chain.hops.iter().any(|hop| hop.class == class)
}

fn over_field(chain: &Chain, field: &str) -> bool {
    chain
        .hops
        .iter()
        .any(|hop| hop.edge.name.as_deref() == Some(field))
}

fn ends_in_loader(chain: &Chain) -> bool {
    chain.leaf.ends_with("ClassLoader")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Edge, EdgeKind, Hop};
    use crate::report::sample;

    fn hop(class: &str, field: &str) -> Hop {
        Hop {
            class: class.to_owned(),
            edge: Edge {
                kind: EdgeKind::Field,
                name: Some(field.to_owned()),
                index: None,
            },
            run: 1,
            size: None,
        }
    }

    #[test]
    fn the_container_is_the_one_that_the_owners_field_holds() {
        let mut chain = sample::leak().chains.remove(0);
        chain.root.kind = RootKind::Thread;
        chain.root.class = None;
        chain.root.field = None;
        chain.root.thread = Some("monitor-timer".to_owned());
        chain.hops = vec![
            hop("java.util.TimerThread", "thread"),
            hop("java.util.TaskQueue", "queue"),
            hop("com.acme.Monitor$1", "task"),
            hop("com.acme.Monitor", "this$0"),
            hop("java.util.ArrayList", "samples"),
            hop("com.acme.Sample", "elementData"),
        ];
        let advice = for_chain(&chain);
        assert!(
            advice[0].starts_with("Monitor.samples holds an ArrayList"),
            "{advice:?}"
        );
        assert!(
            advice.last().unwrap().contains("Timer keeps its tasks"),
            "{advice:?}"
        );
    }

    #[test]
    fn every_shape_has_a_sentence_that_ends() {
        for shape in SHAPES {
            assert!(shape.sentence.ends_with('.'), "{}", shape.sentence);
        }
    }
}
