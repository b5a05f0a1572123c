//! Our event types, each declared once.
//!
//! A declaration in [`events`] gives a Rust struct, its [`EventSchema`] (names, kinds, labels,
//! descriptions) and both directions: [`Event::visit`] hands the fields to a [`FieldSink`] (the
//! chunk writer, or the boxing for `jdk.jfr.EventFactory`), [`Event::decode`] takes them from a
//! [`FieldSource`] (a decoded event of any recording) by name. Nothing else in the project names a
//! field of these events.
//!
//! No array and no struct is a field: either one crashes `jfr print` for the user's whole file.

mod declare;
mod event_enum;
mod field;
mod kind;
mod values;

/// The declarations.
pub mod events;

pub use events::AnyEvent;
pub use field::{Event, EventSchema, FieldSink, FieldSource, FieldSpec, FieldType, Value};
pub use kind::Kind;
pub use values::{Bytes, EpochMillis, Name, Nanos, Share};

/// The category that every event type of ours carries, outermost first.
pub const CATEGORY: [&str; 2] = ["Java Virtual Machine", "Reference Chains"];

/// What every name of ours starts with.
pub const NAMESPACE: &str = "jfrchains.";

/// Every event type, in the order of declaration.
#[must_use]
pub fn all() -> &'static [&'static EventSchema] {
    events::ALL
}

/// The event type called `name`, namespace included.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static EventSchema> {
    all().iter().copied().find(|schema| schema.name == name)
}

#[cfg(test)]
mod tests;
