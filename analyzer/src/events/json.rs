//! Events as one JSON document, written while they are read.

use std::cell::Cell;
use std::io::{self, Write};

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::known::{Known, chain};
use super::{MAX_STRUCTURES, Whole, Writer};
use crate::reader::{Event, Field, Struct, Value};
use crate::rfc3339::Rfc3339;
use crate::summary::SkippedIn;

/// Structures inside structures that are still written; deeper ones are null.
const MAX_DEPTH: usize = 64;

pub(super) struct Json {
    stack_depth: usize,
    raw: bool,
    begun: bool,
}

#[derive(Clone, Copy)]
struct Options<'c> {
    stack_depth: usize,
    raw: bool,
    /// Structures that may still be written of this event.
    left: &'c Cell<usize>,
}

impl Json {
    pub(super) fn new(stack_depth: usize, raw: bool) -> Self {
        Self {
            stack_depth,
            raw,
            begun: false,
        }
    }

    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            write!(out, "{{\"schema\":\"jfr-chains/events/1\",\"events\":[")?;
        }
        Ok(())
    }
}

impl Writer for Json {
    fn event(&mut self, event: &Event<'_>, out: &mut dyn Write) -> io::Result<Whole> {
        let left = Cell::new(MAX_STRUCTURES);
        let separator = if self.begun { ",\n" } else { "\n" };
        self.begin(out)?;
        out.write_all(separator.as_bytes())?;
        let shown = EventJson {
            kind: event.name(),
            chunk: event.chunk().index(),
            offset: event.file_offset(),
            time: event.start().map(|start| Rfc3339(start.0).to_string()),
            duration_ns: event.duration().map(|duration| duration.0),
            fields: Members {
                of: **event,
                depth: 0,
                options: Options {
                    stack_depth: self.stack_depth,
                    raw: self.raw,
                    left: &left,
                },
            },
        };
        serde_json::to_writer(&mut *out, &shown)?;
        Ok(Whole(left.get() > 0))
    }

    fn finish(&mut self, skipped: &[SkippedIn], out: &mut dyn Write) -> io::Result<()> {
        self.begin(out)?;
        write!(out, "\n],\"skipped\":")?;
        serde_json::to_writer(&mut *out, skipped)?;
        writeln!(out, "}}")
    }
}

#[derive(Serialize)]
struct EventJson<'c> {
    #[serde(rename = "type")]
    kind: &'c str,
    chunk: usize,
    offset: u64,
    time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ns: Option<i64>,
    fields: Members<'c>,
}

/// The fields of a structure as an object; the event's own time stands beside it.
struct Members<'c> {
    of: Struct<'c>,
    depth: usize,
    options: Options<'c>,
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (field, value) in self.of.fields() {
            if self.depth == 0 && matches!(field.name(), "startTime" | "duration") {
                continue;
            }
            let shown = Shown {
                of: self.of,
                field,
                value: value.unwrap_or(Value::Null),
                depth: self.depth,
                options: self.options,
            };
            map.serialize_entry(field.name(), &shown)?;
        }
        map.end()
    }
}

struct Shown<'c> {
    of: Struct<'c>,
    field: &'c Field<'c>,
    value: Value<'c>,
    depth: usize,
    options: Options<'c>,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Null => serializer.serialize_none(),
            Value::Boolean(value) => serializer.serialize_bool(value),
            Value::Char(unit) => serializer.serialize_str(&String::from_utf16_lossy(&[unit])),
            Value::Float(value) => serializer.serialize_f32(value),
            Value::Double(value) => serializer.serialize_f64(value),
            Value::Text(text) => serializer.serialize_str(&text.to_str()),
            Value::Struct(inner) => self.structure(&inner, serializer),
            Value::Array(array) => {
                let mut left = array.len();
                if self.field.name() == "frames" {
                    left = left.min(self.options.stack_depth);
                }
                let mut seq = serializer.serialize_seq(Some(left))?;
                for value in array.iter().take(left) {
                    let (of, field, depth) = (self.of, self.field, self.depth + 1);
                    let options = self.options;
                    seq.serialize_element(&Shown {
                        of,
                        field,
                        value,
                        depth,
                        options,
                    })?;
                }
                seq.end()
            }
            integer => self.integer(integer.as_i64().unwrap_or_default(), serializer),
        }
    }
}

impl Shown<'_> {
    /// Moments become RFC 3339, lengths of time nanoseconds; the JVM's "never" becomes null.
    fn integer<S: Serializer>(&self, raw: i64, serializer: S) -> Result<S::Ok, S::Error> {
        let clock = self.of.chunk().clock();
        let Some(unit) = self.field.unit() else {
            return serializer.serialize_i64(raw);
        };
        if let Some(time) = clock.timestamp(raw, unit) {
            if raw == i64::MIN {
                return serializer.serialize_none();
            }
            return serializer.collect_str(&Rfc3339(time.0));
        }
        match clock.timespan(raw, unit) {
            Some(_) if raw == i64::MIN => serializer.serialize_none(),
            Some(span) => serializer.serialize_i64(span.0),
            None => serializer.serialize_i64(raw),
        }
    }

    fn structure<S: Serializer>(
        &self,
        inner: &Struct<'_>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let left = self.options.left;
        left.set(left.get().saturating_sub(1));
        if self.depth >= MAX_DEPTH || left.get() == 0 {
            return serializer.serialize_none();
        }
        if !self.options.raw {
            if let Some(known) = Known::of(inner) {
                return serializer.serialize_str(known.name());
            }
            if let Some(links) = chain(inner) {
                return serializer.collect_seq(links.iter().map(|link| {
                    let class = link.object.get_struct("type");
                    let class = class.as_ref().and_then(Known::of);
                    Link {
                        class: class.map(|class| class.name().to_owned()),
                        description: text(&link.object, "description"),
                        edge: link.edge.clone(),
                    }
                }));
            }
        }
        let members = Members {
            of: *inner,
            depth: self.depth + 1,
            options: self.options,
        };
        members.serialize(serializer)
    }
}

/// One object of a chain, from the sampled one to the root.
#[derive(Serialize)]
struct Link {
    class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// How it holds the object before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    edge: Option<String>,
}

fn text(of: &Struct<'_>, field: &str) -> Option<String> {
    of.text(field).map(|text| text.to_str().into_owned())
}
