//! One reference chain as every producer's chains are told in: from a GC root to a leaf.

use serde::Serialize;

use super::noise::{self, Noise};
use super::time::EpochNanos;
use super::{identity, root_kind};

pub use jfr_format::path::RootKind;

/// How a chain holds its leaf: what a garbage collection does about it. The strongest comes first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Strong references from a root that lives as long as the process or a thread.
    Durable,
    /// Strong references from a root that a returning method ends.
    Transient,
    /// The recording does not say.
    Unknown,
    /// The finalizer's queue, a cleaner, a thread's context class loader.
    Housekeeping,
    /// At least one soft reference: freed when the heap runs low.
    Soft,
    /// At least one weak or phantom reference: freed at a collection.
    Weak,
}

impl Strength {
    /// Every strength, the strongest first.
    pub const ALL: [Self; 6] = [
        Self::Durable,
        Self::Transient,
        Self::Unknown,
        Self::Housekeeping,
        Self::Soft,
        Self::Weak,
    ];

    /// The strength that `word` names; unknown words are `Unknown`.
    pub fn parse(word: &str) -> Self {
        Self::ALL
            .into_iter()
            .find(|strength| strength.as_str() == word)
            .unwrap_or(Self::Unknown)
    }

    /// What a root's kind alone says.
    pub const fn of_root(kind: RootKind) -> Self {
        match kind {
            RootKind::StackLocal | RootKind::JniLocal | RootKind::Monitor => Self::Transient,
            RootKind::Finalizer => Self::Housekeeping,
            RootKind::Unknown => Self::Unknown,
            _ => Self::Durable,
        }
    }

    /// The strength's word in JSON and policies.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Transient => "transient",
            Self::Unknown => "unknown",
            Self::Housekeeping => "housekeeping",
            Self::Soft => "soft",
            Self::Weak => "weak",
        }
    }

    /// What the strength means for a person, for every strength that is not plainly a leak's.
    pub const fn note(self) -> Option<&'static str> {
        match self {
            Self::Durable | Self::Unknown => None,
            Self::Transient => Some("held by a running method only: gone when it returns"),
            Self::Housekeeping => Some(
                "no strong path but the JVM's own upkeep (finalizer, cleaner, context class loader)",
            ),
            Self::Soft => {
                Some("no strong path, softly held: the JVM frees it before an OutOfMemoryError")
            }
            Self::Weak => Some("no strong path, weakly held: the next collection frees it"),
        }
    }

    /// Whether the chain is of the class that fails no build unless a policy says so.
    pub const fn is_lenient(self) -> bool {
        matches!(self, Self::Housekeeping | Self::Soft | Self::Weak)
    }
}

/// Which kind of event told the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Producer {
    /// Our agent.
    JfrChains,
    /// `jdk.OldObjectSample` of the JVM.
    Jdk,
    /// `datadog.ReferenceChain`.
    Datadog,
}

impl Producer {
    /// The producer's word in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JfrChains => "jfr-chains",
            Self::Jdk => "jdk",
            Self::Datadog => "datadog",
        }
    }
}

/// The start of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Root {
    /// Where the root lives.
    #[serde(serialize_with = "root_kind::serialize")]
    pub kind: RootKind,
    /// The root in words, as its producer told it.
    pub text: String,
    /// The class that declares the static field, or the class of the root object.
    pub class: Option<String>,
    /// The static field's or local variable's name.
    pub field: Option<String>,
    /// The thread's name, when the root belongs to one.
    pub thread: Option<String>,
}

/// What leads from one object of a chain to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeKind {
    /// An instance field.
    Field,
    /// An element of an object array.
    Array,
    /// A static field.
    Static,
    /// An object's class, a class's loader and the like.
    Class,
    /// The referent of a soft reference.
    Soft,
    /// The referent of a weak or phantom reference.
    Weak,
    /// The root's own reference.
    Root,
    /// The producer gives no edge.
    Unknown,
}

impl EdgeKind {
    /// The kind that `word` names; unknown words are `Unknown`.
    pub fn parse(word: &str) -> Self {
        match word {
            "field" => Self::Field,
            "array" => Self::Array,
            "static" => Self::Static,
            "class" => Self::Class,
            "soft" => Self::Soft,
            "weak" => Self::Weak,
            "root" => Self::Root,
            _ => Self::Unknown,
        }
    }
}

/// The edge that leads *into* a hop's object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// What sort of edge it is.
    pub kind: EdgeKind,
    /// The field's name.
    pub name: Option<String>,
    /// The array index that was seen; never part of a signature.
    pub index: Option<u64>,
}

impl Edge {
    /// An edge of which nothing is known.
    pub const fn unknown() -> Self {
        Self {
            kind: EdgeKind::Unknown,
            name: None,
            index: None,
        }
    }
}

/// One object of a chain, or a run of objects of the same class behind the same edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// The object's class, in Java's notation (`java.util.HashMap$Node[]`).
    pub class: String,
    /// What leads into it.
    pub edge: Edge,
    /// How many such hops follow each other, at least 1.
    pub run: u64,
    /// Length of an array or elements of a collection, when told; of one moment, and no part of a signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// One Java frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Frame {
    /// The declaring class.
    pub class: String,
    /// The method's name.
    pub method: String,
    /// The line, when the class has a line table.
    pub line: Option<u32>,
}

/// A reference chain with everything that is known of it, merged over all sightings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chain {
    /// Eight hex digits of the signature.
    pub id: String,
    /// The chain's identity: no index, no count, no hidden-class number.
    pub signature: String,
    /// The leak's identity as its producer told it: equal for every path into one container.
    pub identity: Option<String>,
    /// Where it starts.
    pub root: Root,
    /// From the root to the leaf.
    pub hops: Vec<Hop>,
    /// The class that the chain is about: the leaf to act on.
    pub leaf: String,
    /// The class whose growth started the search, when told.
    pub candidate_class: Option<String>,
    /// What a collection does about it.
    pub strength: Strength,
    /// Instances reached over this path.
    pub instances: Option<u64>,
    /// Part of the instances reached that this path holds, 0..=1.
    pub share: Option<f64>,
    /// Part of the heap that was looked at, 0..=1.
    pub coverage: Option<f64>,
    /// Bytes that the retained samples stand for.
    pub retained_sampled_bytes: Option<u64>,
    /// Growth of those bytes.
    pub growth_bytes_per_hour: Option<f64>,
    /// Name of the thread that allocates.
    pub allocating_thread: Option<String>,
    /// Where it allocates, innermost frame first.
    pub stack: Vec<Frame>,
    /// First sighting.
    pub first_seen: Option<EpochNanos>,
    /// Last sighting.
    pub last_seen: Option<EpochNanos>,
    /// Which kind of event told it.
    pub producer: Producer,
    /// Age of the leaf in GC epochs, when told.
    pub age_epochs: Option<u64>,
    /// Position among `hops` of the growing container, when told.
    pub container_hop: Option<usize>,
    /// Whether a collection that clears old garbage confirmed the growth; `None` when not told.
    pub confirmed: Option<bool>,
    /// Whether a stronger chain might still have replaced it.
    pub provisional: bool,
    /// Ids of further chains of the same leak: any of them may come first in another run.
    pub aliases: Vec<String>,
    /// Other classes that the same growing container holds.
    pub also_held: Vec<String>,
    /// How many events told this chain.
    pub sightings: u64,
    /// Positions in `inputs` of the recordings that have it.
    pub seen_in: Vec<usize>,
    /// Why the chain is ranked last, if it is.
    pub noise: Option<Noise>,
}

impl Chain {
    /// Takes in another sighting of the same chain in the same recording: counts and bytes add up,
    /// and the oldest sighting's allocation stays.
    pub fn join(&mut self, other: Self) {
        self.sightings += other.sightings;
        self.instances = sum(self.instances, other.instances);
        self.retained_sampled_bytes =
            sum(self.retained_sampled_bytes, other.retained_sampled_bytes);
        let older = other.first_seen.is_some() && other.first_seen < self.first_seen;
        if older || self.stack.is_empty() {
            self.stack = other.stack;
            self.allocating_thread = other.allocating_thread;
        }
        self.first_seen = earlier(self.first_seen, other.first_seen);
        self.last_seen = self.last_seen.max(other.last_seen);
    }

    /// The static field, thread or other thing that holds the chain, short enough for a headline.
    pub fn holder(&self) -> String {
        match (&self.root.class, &self.root.field, &self.root.thread) {
            (Some(class), Some(field), None) => format!("{}.{field}", simple_name(class)),
            (_, _, Some(thread)) => format!("{} \"{thread}\"", self.root.kind.words()),
            _ if !self.root.text.is_empty() => self.root.text.clone(),
            (Some(class), None, None) => format!("{} {class}", self.root.kind.words()),
            _ => self.root.kind.words().to_owned(),
        }
    }
}

/// The sum of what is known.
pub fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (known, None) | (None, known) => known,
    }
}

/// The earlier of what is known.
pub fn earlier(a: Option<EpochNanos>, b: Option<EpochNanos>) -> Option<EpochNanos> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (known, None) | (None, known) => known,
    }
}

impl Chain {
    /// A chain of which only the path is known.
    pub fn of_path(
        producer: Producer,
        root: Root,
        hops: Vec<Hop>,
        container_hop: Option<usize>,
    ) -> Self {
        let hops = identity::collapse(hops);
        let signature = identity::signature_of(&root, &hops);
        let leaf = identity::display_leaf(&root, &hops, container_hop);
        let strength = identity::strength_of(root.kind, &hops);
        let classes: Vec<&str> = hops.iter().map(|hop| hop.class.as_str()).collect();
        let noise = noise::of_chain(root.class.as_deref(), &classes, &leaf);
        Self {
            id: signature.id,
            signature: signature.text,
            identity: None,
            root,
            hops,
            leaf,
            candidate_class: None,
            strength,
            instances: None,
            share: None,
            coverage: None,
            retained_sampled_bytes: None,
            growth_bytes_per_hour: None,
            allocating_thread: None,
            stack: Vec::new(),
            first_seen: None,
            last_seen: None,
            producer,
            age_epochs: None,
            container_hop,
            confirmed: None,
            provisional: false,
            aliases: Vec::new(),
            also_held: Vec::new(),
            sightings: 1,
            seen_in: Vec::new(),
            noise,
        }
    }
}

/// A class name without its packages: `java.util.HashMap$Node[]` gives `HashMap$Node[]`.
pub fn simple_name(class: &str) -> &str {
    class.rsplit_once('.').map_or(class, |(_, simple)| simple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_root_kind_reads_back_from_its_word() {
        #[derive(Serialize)]
        struct Written(#[serde(serialize_with = "root_kind::serialize")] RootKind);
        #[derive(Debug, serde::Deserialize)]
        struct Read(#[serde(deserialize_with = "root_kind::list")] Vec<RootKind>);
        for kind in RootKind::ALL {
            let json = serde_json::to_string(&Written(kind)).unwrap();
            assert_eq!(json, format!("\"{}\"", kind.name()));
            let read: Read = serde_json::from_str(&format!("[{json}]")).unwrap();
            assert_eq!(read.0, [kind]);
        }
        let unknown = serde_json::from_str::<Read>("[\"heap\"]").unwrap_err();
        assert!(unknown.to_string().contains("`static-field`"), "{unknown}");
    }

    #[test]
    fn strengths_read_back_and_order_from_strong_to_weak() {
        for strength in Strength::ALL {
            assert_eq!(Strength::parse(strength.as_str()), strength);
        }
        assert!(Strength::ALL.is_sorted());
        assert_eq!(Strength::parse("iron"), Strength::Unknown);
    }

    #[test]
    fn a_simple_name_keeps_nesting_and_dimensions() {
        assert_eq!(simple_name("java.util.HashMap$Node[]"), "HashMap$Node[]");
        assert_eq!(simple_name("int[]"), "int[]");
    }
}
