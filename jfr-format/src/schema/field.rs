//! Schemas, and the two ways through an event's fields.

use super::{Bytes, EpochMillis, Kind, Name, Nanos, Share};
use crate::entity::{ClassInfo, StackInfo, ThreadInfo};
use std::sync::Arc;

/// One field of an event type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldSpec {
    /// Name in recordings, camel case.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Label for people.
    pub label: &'static str,
    /// One sentence for people.
    pub description: &'static str,
}

/// One event type. `startTime` (ticks) stands in front of `fields` in every recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventSchema {
    /// Name with the namespace.
    pub name: &'static str,
    /// Label for people.
    pub label: &'static str,
    /// One sentence for people.
    pub description: &'static str,
    /// Fields in wire order.
    pub fields: &'static [FieldSpec],
}

/// A field's value on its way out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Long, timespan, timestamp or data amount; `i64::MIN` stands for unknown and tools show `N/A`.
    Long(i64),
    /// Int; `i32::MIN` stands for unknown.
    Int(i32),
    /// Short.
    Short(i16),
    /// Float or percentage; NaN stands for unknown.
    Float(f32),
    /// Double; NaN stands for unknown.
    Double(f64),
    /// Boolean.
    Boolean(bool),
    /// Text or null, for [`Kind::Text`] and [`Kind::Name`].
    Text(Option<&'a str>),
    /// A class or null.
    Class(Option<&'a Arc<ClassInfo>>),
    /// A thread or null.
    Thread(Option<&'a Arc<ThreadInfo>>),
    /// A stack trace or null.
    Stack(Option<&'a Arc<StackInfo>>),
}

/// Where an event's fields go.
pub trait FieldSink {
    /// Takes the next field, in the schema's order.
    fn field(&mut self, spec: &'static FieldSpec, value: Value<'_>);
}

/// A decoded event to take fields from, by name.
///
/// `None` means that the recording has no such field, or a null in it. Numbers come widened:
/// integers of all widths as `long`, float and double as `double`.
pub trait FieldSource {
    /// An integer, timestamps and timespans in the unit of the schema (ms and ns).
    fn long(&self, name: &str) -> Option<i64>;
    /// A floating-point number.
    fn double(&self, name: &str) -> Option<f64>;
    /// A boolean.
    fn boolean(&self, name: &str) -> Option<bool>;
    /// Text.
    fn text(&self, name: &str) -> Option<String>;
    /// A class.
    fn class(&self, name: &str) -> Option<Arc<ClassInfo>>;
    /// A thread.
    fn thread(&self, name: &str) -> Option<Arc<ThreadInfo>>;
    /// A stack trace that is one; text is tried when there is none.
    fn stack(&self, name: &str) -> Option<Arc<StackInfo>>;
}

/// An event type of ours.
pub trait Event: Sized {
    /// The declaration.
    const SCHEMA: &'static EventSchema;

    /// Hands every field to `sink`, in order.
    fn visit<S: FieldSink + ?Sized>(&self, sink: &mut S);

    /// The event that `source` holds; a missing field is unknown, zero, false or null.
    fn decode(source: &(impl FieldSource + ?Sized)) -> Self;
}

/// A Rust type that can be a field.
pub trait FieldType: Sized {
    /// The kind that the schema shows.
    const KIND: Kind;

    /// The value on its way out.
    fn value(&self) -> Value<'_>;

    /// The value of field `name`.
    fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self;
}

macro_rules! integer {
    ($type:ty, $kind:ident, $value:ident, $wire:ty, |$field:ident| $out:expr, |$long:ident| $back:expr) => {
        impl FieldType for $type {
            const KIND: Kind = Kind::$kind;
            fn value(&self) -> Value<'_> {
                let $field = *self;
                Value::$value($out)
            }
            fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
                let $long = source.long(name).unwrap_or(0);
                $back
            }
        }

        impl FieldType for Option<$type> {
            const KIND: Kind = Kind::$kind;
            fn value(&self) -> Value<'_> {
                Value::$value(match *self {
                    Some($field) => $out,
                    None => <$wire>::MIN,
                })
            }
            fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
                let $long = source.long(name)?;
                ($long != i64::from(<$wire>::MIN)).then(|| $back)
            }
        }
    };
}

integer!(i64, Long, Long, i64, |field| field, |long| long);
integer!(i32, Int, Int, i32, |field| field, |long| clamp_i32(long));
integer!(i16, Short, Short, i16, |field| field, |long| clamp_i16(
    long
));
integer!(Nanos, Timespan, Long, i64, |field| field.0, |long| Nanos(
    long
));
integer!(Bytes, DataAmount, Long, i64, |field| field.0, |long| Bytes(
    long
));
integer!(EpochMillis, Timestamp, Long, i64, |field| field.0, |long| {
    EpochMillis(long)
});

fn clamp_i32(long: i64) -> i32 {
    i32::try_from(long).unwrap_or(if long < 0 { i32::MIN } else { i32::MAX })
}

fn clamp_i16(long: i64) -> i16 {
    i16::try_from(long).unwrap_or(if long < 0 { i16::MIN } else { i16::MAX })
}

macro_rules! real {
    ($type:ty, $kind:ident, $value:ident, |$field:ident| $out:expr, |$double:ident| $back:expr, $nan:expr) => {
        impl FieldType for $type {
            const KIND: Kind = Kind::$kind;
            fn value(&self) -> Value<'_> {
                let $field = *self;
                Value::$value($out)
            }
            fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
                let $double = source.double(name).unwrap_or(0.0);
                $back
            }
        }

        impl FieldType for Option<$type> {
            const KIND: Kind = Kind::$kind;
            fn value(&self) -> Value<'_> {
                Value::$value(match *self {
                    Some($field) => $out,
                    None => $nan,
                })
            }
            fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
                let $double = source.double(name)?;
                (!$double.is_nan()).then(|| $back)
            }
        }
    };
}

real!(
    f64,
    Double,
    Double,
    |field| field,
    |double| double,
    f64::NAN
);
real!(
    f32,
    Float,
    Float,
    |field| field,
    |double| narrow(double),
    f32::NAN
);
real!(
    Share,
    Percentage,
    Float,
    |field| field.0,
    |double| Share(narrow(double)),
    f32::NAN
);

#[allow(
    clippy::cast_possible_truncation,
    reason = "the value was a float before it was widened"
)]
fn narrow(double: f64) -> f32 {
    double as f32
}

impl FieldType for bool {
    const KIND: Kind = Kind::Boolean;
    fn value(&self) -> Value<'_> {
        Value::Boolean(*self)
    }
    fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
        source.boolean(name).unwrap_or(false)
    }
}

impl FieldType for Option<String> {
    const KIND: Kind = Kind::Text;
    fn value(&self) -> Value<'_> {
        Value::Text(self.as_deref())
    }
    fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
        source.text(name)
    }
}

impl FieldType for String {
    const KIND: Kind = Kind::Text;
    fn value(&self) -> Value<'_> {
        Value::Text(Some(self))
    }
    fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
        source.text(name).unwrap_or_default()
    }
}

impl FieldType for Option<Name> {
    const KIND: Kind = Kind::Name;
    fn value(&self) -> Value<'_> {
        Value::Text(self.as_deref())
    }
    fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
        source.text(name).map(Name::from)
    }
}

impl FieldType for Name {
    const KIND: Kind = Kind::Name;
    fn value(&self) -> Value<'_> {
        Value::Text(Some(self))
    }
    fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
        source.text(name).map(Name::from).unwrap_or_default()
    }
}

impl FieldType for Option<Arc<ClassInfo>> {
    const KIND: Kind = Kind::Class;
    fn value(&self) -> Value<'_> {
        Value::Class(self.as_ref())
    }
    fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
        source.class(name)
    }
}

impl FieldType for Option<Arc<ThreadInfo>> {
    const KIND: Kind = Kind::Thread;
    fn value(&self) -> Value<'_> {
        Value::Thread(self.as_ref())
    }
    fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
        source.thread(name)
    }
}

impl FieldType for Option<Arc<StackInfo>> {
    const KIND: Kind = Kind::StackTrace;
    fn value(&self) -> Value<'_> {
        Value::Stack(self.as_ref())
    }
    fn take(source: &(impl FieldSource + ?Sized), name: &str) -> Self {
        source.stack(name).or_else(|| {
            source
                .text(name)
                .map(|text| Arc::new(StackInfo::from_text(&text)))
        })
    }
}
