//! Fingerprints of chains: the same leak in another run, build or JDK gives the same one.

use crate::chain::{Chain, EdgeKind, Hop, RootKind};
use crate::ids::ShortId;

/// Classes that are one thing under two names, by what the JVM made of a bucket.
const SAME_CLASS: &[(&str, &str)] = &[
    ("java.util.HashMap$TreeNode", "java.util.HashMap$Node"),
    (
        "java.util.concurrent.ConcurrentHashMap$TreeNode",
        "java.util.concurrent.ConcurrentHashMap$Node",
    ),
    (
        "java.util.concurrent.ConcurrentHashMap$TreeBin",
        "java.util.concurrent.ConcurrentHashMap$Node",
    ),
    (
        "java.util.concurrent.ConcurrentHashMap$ForwardingNode",
        "java.util.concurrent.ConcurrentHashMap$Node",
    ),
];

/// What a thread keeps in an object of its own since JDK 19: the same leak has one hop more there.
const THREAD_FIELDS: &str = "java.lang.Thread$FieldHolder";
/// Names that those fields had in the thread itself before.
const THREAD_FIELD_NAMES: &[(&str, &str)] = &[("task", "target")];

/// Fields that reach what another field reaches in fewer hops; a walk skips them.
const NOISE_FIELDS: &[(&str, &str)] = &[
    ("java.util.LinkedHashMap", "head"),
    ("java.util.LinkedHashMap", "tail"),
    ("java.util.LinkedHashMap$Entry", "before"),
    ("java.util.LinkedHashMap$Entry", "after"),
    ("java.util.HashMap$TreeNode", "prev"),
    ("java.util.HashMap$TreeNode", "parent"),
    ("java.util.concurrent.ConcurrentHashMap", "nextTable"),
    ("java.util.LinkedList", "last"),
    ("java.util.LinkedList$Node", "prev"),
    ("java.util.concurrent.LinkedBlockingQueue", "last"),
    ("java.util.concurrent.LinkedBlockingDeque", "last"),
    ("java.util.concurrent.LinkedBlockingDeque$Node", "prev"),
    ("java.util.concurrent.ConcurrentLinkedQueue", "tail"),
    ("java.util.concurrent.ConcurrentLinkedDeque", "tail"),
    ("java.util.concurrent.ConcurrentLinkedDeque$Node", "prev"),
    ("java.util.TreeMap$Entry", "parent"),
];

/// Whether a walk should not follow this field, since its referents are reached otherwise: following
/// it would give one leak two paths, one of them n hops long.
pub fn is_noise_field(declaring_class: &str, field: &str) -> bool {
    NOISE_FIELDS
        .iter()
        .any(|(c, f)| *c == declaring_class && *f == field)
}

/// A class name without what changes between runs: hidden-class numbers (`Foo$$Lambda/0x..`,
/// `Foo$$Lambda$14/0x..`, `Foo/0x..`), loader hashes (`Foo@1a2b`), proxy and generated-class counters.
pub fn normal_class(name: &str) -> String {
    let (base, dims) = match name.find("[]") {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    let base = cut_suffix(base, '/', is_hidden_number);
    let base = cut_suffix(base, '@', |s| {
        !s.is_empty() && s.bytes().all(|b| b.is_ascii_hexdigit())
    });
    let mut out = String::with_capacity(name.len());
    if let Some(at) = base.find("$$Lambda") {
        out.push_str(base.get(..at).unwrap_or(base));
        out.push_str("$$Lambda");
    } else if let Some((before, _)) = base.split_once("$$EnhancerBy") {
        out.push_str(before);
        out.push_str("$$Enhancer");
    } else if let Some((_, number)) = base.rsplit_once("$Proxy").filter(|(_, n)| all_digits(n)) {
        let _ = number;
        out.push_str("$Proxy");
    } else {
        out.push_str(strip_generated_counter(base));
    }
    for (from, to) in SAME_CLASS {
        if out == *from {
            out = (*to).to_owned();
        }
    }
    out.push_str(dims);
    out
}

fn all_digits(s: &str) -> bool {
    !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit())
}

fn is_hidden_number(s: &str) -> bool {
    let digits = s.strip_prefix("0x").unwrap_or(s);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

fn cut_suffix(name: &str, at: char, cut: impl Fn(&str) -> bool) -> &str {
    match name.rsplit_once(at) {
        Some((before, after)) if !before.is_empty() && cut(after) => before,
        _ => name,
    }
}

fn strip_generated_counter(name: &str) -> &str {
    for generated in [
        "GeneratedMethodAccessor",
        "GeneratedConstructorAccessor",
        "$MockitoMock$",
        "$HibernateProxy$",
        "$ByteBuddy$",
        "LambdaForm$",
    ] {
        if let Some(at) = name.find(generated) {
            return name.get(..at + generated.len()).unwrap_or(name);
        }
    }
    name
}

/// One line a step: the root, then each edge and class; a run of one class is one step, whatever
/// fields link it and however long it is.
fn tokens(chain: &Chain) -> Vec<String> {
    let mut out = vec![root_token(chain)];
    let mut previous: Option<String> = None;
    let mut in_holder = false;
    for hop in &chain.hops {
        let class = normal_class(&hop.class);
        let from_holder = std::mem::replace(&mut in_holder, class == THREAD_FIELDS);
        if in_holder || previous.as_deref() == Some(class.as_str()) {
            // Part of a run, or a hop that only some JDKs have: it makes no token. An empty one keeps tokens
            // and hops parallel.
            out.push(String::new());
        } else if from_holder {
            out.push(format!("{} {class}", thread_field(&edge_token(hop))));
        } else {
            out.push(format!("{} {class}", edge_token(hop)));
        }
        if !in_holder {
            previous = Some(class);
        }
    }
    out
}

/// The edge that a field of the thread's holder was before there was one.
fn thread_field(edge: &str) -> String {
    let old = THREAD_FIELD_NAMES
        .iter()
        .find(|(new, _)| edge.strip_prefix('.') == Some(new));
    old.map_or_else(|| edge.to_owned(), |(_, old)| format!(".{old}"))
}

fn root_token(chain: &Chain) -> String {
    let root = &chain.root;
    let part = |s: &Option<std::sync::Arc<str>>| s.as_deref().map(normal_class).unwrap_or_default();
    match root.kind {
        RootKind::StaticField => {
            format!("static-field {}.{}", part(&root.class), part(&root.field))
        }
        RootKind::StackLocal | RootKind::JniLocal => {
            format!(
                "{} {}.{}",
                root.kind.name(),
                part(&root.class),
                part(&root.field)
            )
        }
        // A thread's name carries counters and request ids; its fields say enough.
        other => other.name().to_owned(),
    }
}

fn edge_token(hop: &Hop) -> String {
    match hop.edge.kind {
        EdgeKind::Array => "[]".to_owned(),
        EdgeKind::Root | EdgeKind::Static => String::new(),
        _ => format!(".{}", hop.edge.name.as_deref().unwrap_or("?")),
    }
}

/// The text that a signature's short id is made of; `hops` limits it to that many leading hops.
pub fn signature_text(chain: &Chain, hops: usize) -> String {
    tokens(chain)
        .into_iter()
        .take(hops.saturating_add(1))
        .filter(|t| !t.is_empty())
        .collect::<Vec<_>>()
        .join(" -> ")
}

/// The signature of a whole chain.
pub fn signature(chain: &Chain) -> ShortId {
    short_id(&signature_text(chain, usize::MAX))
}

/// How many leading hops lead to the growing container, the container included: the last hop with
/// fan-out above 1 over the tallied instances, else the last run, else the whole chain.
pub fn container_depth(chain: &Chain) -> usize {
    let last = |p: &dyn Fn(&Hop) -> bool| chain.hops.iter().rposition(p).map(|i| i + 1);
    last(&|h| h.fan_out > 1)
        .or_else(|| last(&|h| h.run > 1))
        .unwrap_or(chain.hops.len())
}

/// Text of the leak's identity: root and edges up to the growing container.
pub fn identity_text(chain: &Chain) -> String {
    signature_text(chain, container_depth(chain))
}

/// The leak's identity: one leak, one finding; the leaf is an attribute.
pub fn identity(chain: &Chain) -> ShortId {
    short_id(&identity_text(chain))
}

/// Whether two chains are one leak: equal identities, or one growing container holds the other
/// (a map of growing lists makes map nodes and list elements candidates together).
pub fn same_leak(a: &Chain, b: &Chain) -> bool {
    let (a, b) = (identity_text(a), identity_text(b));
    let (short, long) = if a.len() <= b.len() {
        (&a, &b)
    } else {
        (&b, &a)
    };
    long.strip_prefix(short.as_str())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(" -> "))
}

/// The first application class below the growing container: the leaf worth showing. `None` when
/// every class there is the library's.
pub fn display_leaf(chain: &Chain) -> Option<std::sync::Arc<str>> {
    let below = chain.hops.get(container_depth(chain)..).unwrap_or(&[]);
    let found = below.iter().find(|h| h.application);
    found
        .or_else(|| chain.hops.last().filter(|h| h.application))
        .map(|h| h.class.clone())
}

/// 32 bits of a text: FNV-1a 64 folded.
pub fn short_id(text: &str) -> ShortId {
    let mut h: u64 = 0xcbf2_9ce4_8422_2325;
    for b in text.bytes() {
        h = (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    #[allow(clippy::cast_possible_truncation, reason = "folding is the point")]
    ShortId((h ^ (h >> 32)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Edge, Root};

    fn hop(class: &str, kind: EdgeKind, name: Option<&str>, index: Option<u32>) -> Hop {
        Hop {
            class: class.into(),
            application: class.starts_with("com."),
            edge: Edge {
                kind,
                name: name.map(Into::into),
                index,
            },
            run: 1,
            fan_out: 1,
            ..Hop::default()
        }
    }

    fn order_cache(index: u32) -> Chain {
        let mut chain = Chain {
            root: Root {
                kind: RootKind::StaticField,
                class: Some("com.acme.OrderCache".into()),
                field: Some("BY_CUSTOMER".into()),
                ..Root::default()
            },
            hops: vec![
                hop(
                    "java.util.HashMap",
                    EdgeKind::Static,
                    Some("BY_CUSTOMER"),
                    None,
                ),
                hop(
                    "java.util.HashMap$Node[]",
                    EdgeKind::Field,
                    Some("table"),
                    None,
                ),
                hop("java.util.HashMap$Node", EdgeKind::Array, None, Some(index)),
                hop("com.acme.Order", EdgeKind::Field, Some("value"), None),
            ],
            ..Chain::default()
        };
        chain.hops[1].fan_out = 40;
        chain
    }

    #[test]
    fn a_signature_has_no_index() {
        assert_eq!(signature(&order_cache(1)), signature(&order_cache(900)));
        assert_eq!(
            signature_text(&order_cache(1), usize::MAX),
            "static-field com.acme.OrderCache.BY_CUSTOMER ->  java.util.HashMap -> .table java.util.HashMap$Node[] \
             -> [] java.util.HashMap$Node -> .value com.acme.Order"
        );
    }

    #[test]
    fn a_signature_has_no_run_length() {
        let mut long = order_cache(1);
        long.hops.insert(
            3,
            hop(
                "java.util.HashMap$Node",
                EdgeKind::Field,
                Some("next"),
                None,
            ),
        );
        long.hops.insert(
            4,
            hop(
                "java.util.HashMap$TreeNode",
                EdgeKind::Field,
                Some("left"),
                None,
            ),
        );
        assert_eq!(signature(&order_cache(1)), signature(&long));
    }

    #[test]
    fn a_threads_task_is_one_path_on_every_jdk() {
        let started = |fields: &[(&str, &str)]| {
            let mut chain = order_cache(1);
            chain.root.kind = RootKind::Thread;
            chain.hops = vec![hop("java.lang.Thread", EdgeKind::Root, None, None)];
            for (field, class) in fields {
                chain
                    .hops
                    .push(hop(class, EdgeKind::Field, Some(field), None));
            }
            chain
        };
        let to_17 = started(&[("target", "com.acme.Job"), ("seen", "java.util.ArrayList")]);
        let from_19 = started(&[
            ("holder", THREAD_FIELDS),
            ("task", "com.acme.Job"),
            ("seen", "java.util.ArrayList"),
        ]);
        assert_eq!(signature(&to_17), signature(&from_19));
        assert_eq!(identity(&to_17), identity(&from_19));
        let group = started(&[
            ("holder", THREAD_FIELDS),
            ("group", "java.lang.ThreadGroup"),
        ]);
        assert_eq!(
            signature_text(&group, usize::MAX),
            "thread ->  java.lang.Thread -> .group java.lang.ThreadGroup"
        );
    }

    #[test]
    fn a_signature_has_no_hidden_class_number_and_no_loader_hash() {
        for (name, normal) in [
            (
                "com.acme.Owner$$Lambda/0x00007f1234567890",
                "com.acme.Owner$$Lambda",
            ),
            (
                "com.acme.Owner$$Lambda$14/0x0000000800c03000",
                "com.acme.Owner$$Lambda",
            ),
            (
                "com.acme.Owner$$Lambda$14/1234567",
                "com.acme.Owner$$Lambda",
            ),
            ("com.acme.Hidden/0x0000000800c03000", "com.acme.Hidden"),
            ("com.acme.PluginLoader@1a2b3c", "com.acme.PluginLoader"),
            ("jdk.proxy2.$Proxy17", "$Proxy"),
            (
                "com.acme.Bean$$EnhancerBySpringCGLIB$$8fa1",
                "com.acme.Bean$$Enhancer",
            ),
            (
                "jdk.internal.reflect.GeneratedMethodAccessor12",
                "jdk.internal.reflect.GeneratedMethodAccessor",
            ),
            ("com.acme.Owner$$Lambda/0x01[]", "com.acme.Owner$$Lambda[]"),
            ("com.acme.Outer$1", "com.acme.Outer$1"),
            (
                "java.util.HashMap$TreeNode[][]",
                "java.util.HashMap$Node[][]",
            ),
            ("byte[]", "byte[]"),
        ] {
            assert_eq!(normal_class(name), normal);
        }
    }

    #[test]
    fn identity_ends_at_the_growing_container_and_the_leaf_is_an_attribute() {
        let order = order_cache(1);
        let mut node = order_cache(2);
        node.hops.truncate(3);
        assert_ne!(signature(&order), signature(&node));
        assert_eq!(identity(&order), identity(&node));
        assert!(same_leak(&order, &node));
        assert_eq!(display_leaf(&order).as_deref(), Some("com.acme.Order"));
        assert_eq!(display_leaf(&node), None);
    }

    #[test]
    fn a_growing_list_inside_a_growing_map_is_one_leak() {
        let node = {
            let mut c = order_cache(2);
            c.hops.truncate(3);
            c
        };
        let mut order = order_cache(1);
        order.hops[3] = hop("java.util.ArrayList", EdgeKind::Field, Some("value"), None);
        order.hops.push(hop(
            "java.lang.Object[]",
            EdgeKind::Field,
            Some("elementData"),
            None,
        ));
        order.hops[4].fan_out = 9;
        order
            .hops
            .push(hop("com.acme.Order", EdgeKind::Array, None, Some(4)));
        assert_ne!(identity(&order), identity(&node));
        assert!(same_leak(&order, &node) && same_leak(&node, &order));
        let mut other = node.clone();
        other.root.field = Some("BY_CUSTOMER_ID".into());
        assert!(!same_leak(&order, &other));
    }

    #[test]
    fn a_lists_container_is_the_run_itself() {
        let mut list = Chain {
            hops: vec![hop("com.acme.Node", EdgeKind::Static, None, None)],
            ..Chain::default()
        };
        list.hops
            .push(hop("com.acme.Node", EdgeKind::Field, Some("next"), None));
        list.hops[1].run = 10_000_000;
        assert_eq!(container_depth(&list), 2);
        assert_eq!(display_leaf(&list).as_deref(), Some("com.acme.Node"));
    }

    #[test]
    fn noise_fields_are_not_followed() {
        assert!(is_noise_field("java.util.LinkedHashMap$Entry", "after"));
        assert!(!is_noise_field("java.util.HashMap$Node", "next"));
    }

    #[test]
    fn short_ids_are_eight_hex_digits() {
        assert_eq!(short_id("").to_string().len(), 8);
        assert_eq!(short_id("a").to_string(), short_id("a").to_string());
        assert_ne!(short_id("a"), short_id("b"));
    }
}
