use super::events::{AgentStatus, Hop, LeakCandidate, ReferenceChain, SearchPass};
use super::*;
use crate::entity::{ClassInfo, StackInfo, ThreadInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Keeps what an event's visit hands out, and gives it back by name.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, Kept>);

#[derive(Clone)]
enum Kept {
    Long(i64),
    Double(f64),
    Boolean(bool),
    Text(Option<String>),
    Class(Option<Arc<ClassInfo>>),
    Thread(Option<Arc<ThreadInfo>>),
    Stack(Option<Arc<StackInfo>>),
}

impl FieldSink for Fields {
    fn field(&mut self, spec: &'static FieldSpec, value: Value<'_>) {
        let kept = match value {
            Value::Long(v) => Kept::Long(v),
            Value::Int(v) => Kept::Long(v.into()),
            Value::Short(v) => Kept::Long(v.into()),
            Value::Float(v) => Kept::Double(v.into()),
            Value::Double(v) => Kept::Double(v),
            Value::Boolean(v) => Kept::Boolean(v),
            Value::Text(v) => Kept::Text(v.map(str::to_owned)),
            Value::Class(v) => Kept::Class(v.cloned()),
            Value::Thread(v) => Kept::Thread(v.cloned()),
            Value::Stack(v) => Kept::Stack(v.cloned()),
        };
        assert!(
            self.0.insert(spec.name, kept).is_none(),
            "{} twice",
            spec.name
        );
    }
}

macro_rules! get {
    ($name:ident, $variant:ident, $out:ty) => {
        fn $name(&self, name: &str) -> Option<$out> {
            match self.0.get(name) {
                Some(Kept::$variant(value)) => value.clone().into(),
                _ => None,
            }
        }
    };
}

impl FieldSource for Fields {
    get!(long, Long, i64);
    get!(double, Double, f64);
    get!(boolean, Boolean, bool);
    get!(text, Text, String);
    get!(class, Class, Arc<ClassInfo>);
    get!(thread, Thread, Arc<ThreadInfo>);
    get!(stack, Stack, Arc<StackInfo>);
}

fn there_and_back<E: Event>(event: &E) -> E {
    let mut fields = Fields::default();
    event.visit(&mut fields);
    E::decode(&fields)
}

#[test]
fn every_figure_has_a_label_a_description_and_a_name_of_its_own() {
    let mut names = BTreeSet::new();
    for schema in all() {
        assert!(schema.name.starts_with(NAMESPACE));
        assert!(
            names.insert(schema.name),
            "{} is declared twice",
            schema.name
        );
        assert_eq!(by_name(schema.name), Some(*schema));
        let mut fields = BTreeSet::new();
        for field in schema.fields {
            assert!(
                !field.label.is_empty() && !field.description.is_empty(),
                "{}.{}",
                schema.name,
                field.name
            );
            assert!(
                fields.insert(field.name),
                "{}.{} is declared twice",
                schema.name,
                field.name
            );
            assert!(field.name.starts_with(|c: char| c.is_ascii_lowercase()));
            assert!(field.name.chars().all(|c| c.is_ascii_alphanumeric()));
        }
    }
}

/// `jdk.jfr.EventFactory` refuses these, and readers give them a meaning of their own.
#[test]
fn no_field_has_a_name_that_the_jvm_adds_itself() {
    for schema in all() {
        for field in schema.fields {
            assert!(!["startTime", "duration", "eventThread", "stackTrace"].contains(&field.name));
        }
    }
}

#[test]
fn an_event_comes_back_as_it_was() {
    let chain = ReferenceChain {
        chain: 7,
        signature: "0a1b2c3d".into(),
        candidate_class: Some(Arc::new(ClassInfo::named("com.acme.Order"))),
        share: Some(Share(0.75)),
        growth_per_hour: None,
        container_hop: None,
        allocation_stack_trace: Some(Arc::new(StackInfo::from_text("com.acme.Main.run:3"))),
        path: "jni-global".into(),
        ..ReferenceChain::default()
    };
    assert_eq!(there_and_back(&chain), chain);
    let hop = Hop {
        array_index: Some(-1),
        array_size: None,
        ..Hop::default()
    };
    assert_eq!(there_and_back(&hop), hop);
    let pass = SearchPass {
        visited_objects: Some(-5),
        evicted: None,
        ..SearchPass::default()
    };
    assert_eq!(there_and_back(&pass), pass);
    let candidate = LeakCandidate {
        earliest_signal: Some(Nanos(0)),
        ..LeakCandidate::default()
    };
    assert_eq!(there_and_back(&candidate), candidate);
}

#[test]
fn a_stack_trace_that_was_recorded_as_text_is_read_as_one() {
    let mut fields = Fields::default();
    fields.0.insert(
        "allocationStackTrace",
        Kept::Text(Some("com.acme.Main.run:3".into())),
    );
    let chain = ReferenceChain::decode(&fields);
    assert_eq!(
        chain.allocation_stack_trace.unwrap().to_text(),
        "com.acme.Main.run:3"
    );
}

#[test]
fn missing_fields_are_unknown_and_foreign_types_are_none() {
    let empty = Fields::default();
    assert_eq!(
        AnyEvent::decode("jfrchains.AgentStatus", &empty),
        Some(AgentStatus::default().into())
    );
    assert_eq!(AnyEvent::decode("jdk.OldObjectSample", &empty), None);
}
