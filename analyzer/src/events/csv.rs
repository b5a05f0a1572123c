//! The events of one type as a table.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::known::Known;
use super::{Whole, Writer};
use crate::reader::{Event, Field, Struct, Value};
use crate::rfc3339::Rfc3339;
use crate::summary::SkippedIn;

/// One line for each event; the first one's type and fields make the header.
#[derive(Default)]
pub(super) struct Csv {
    /// Type name and the names of its fields.
    header: Option<(String, Vec<String>)>,
    /// Fields that a later chunk declares and the header does not have.
    left_out: BTreeSet<String>,
}

impl Writer for Csv {
    fn event(&mut self, event: &Event<'_>, out: &mut dyn Write) -> io::Result<Whole> {
        let (name, columns) = match &self.header {
            Some(header) => header,
            None => {
                let fields = event.ty().fields().iter();
                let columns: Vec<String> = fields.map(|field| field.name().to_owned()).collect();
                let header: Vec<String> = columns.iter().map(|name| cell(name)).collect();
                writeln!(out, "{}", header.join(","))?;
                self.header.insert((event.name().to_owned(), columns))
            }
        };
        if name != event.name() {
            return Err(super::usage(format!(
                "CSV holds one event type, but {name} and {} are selected: name one with --type",
                event.name()
            )));
        }
        let mut cells = vec![String::new(); columns.len()];
        for (field, value) in event.fields() {
            // Another chunk may declare the fields in another order.
            let column = columns.iter().position(|known| known == field.name());
            match (column.and_then(|at| cells.get_mut(at)), value) {
                (Some(column), Ok(value)) => *column = cell(&show(event, field, value)),
                (None, _) if !self.left_out.contains(field.name()) => {
                    self.left_out.insert(field.name().to_owned());
                }
                _ => {}
            }
        }
        writeln!(out, "{}", cells.join(","))?;
        Ok(Whole(true))
    }

    fn finish(&mut self, _: &[SkippedIn], _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn left_out(&self) -> Vec<String> {
        let of = self.header.as_ref().map_or("", |(name, _)| name.as_str());
        let fields = self.left_out.iter();
        fields
            .map(|field| {
                format!("{of}.{field} has no column: the first of its events has no such field")
            })
            .collect()
    }
}

/// A value in one cell; structures without a name of their own as `a=1; b=2`.
fn show(of: &Struct<'_>, field: &Field<'_>, value: Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Boolean(value) => value.to_string(),
        Value::Char(unit) => String::from_utf16_lossy(&[unit]),
        Value::Float(value) => value.to_string(),
        Value::Double(value) => value.to_string(),
        Value::Text(text) => text.to_string(),
        Value::Struct(inner) => structure(&inner),
        Value::Array(array) => {
            let elements = array.iter().map(|element| show(of, field, element));
            elements.collect::<Vec<_>>().join("; ")
        }
        integer => {
            let raw = integer.as_i64().unwrap_or_default();
            let clock = of.chunk().clock();
            let unit = field.unit();
            let time = unit.and_then(|unit| clock.timestamp(raw, unit));
            let span = unit.and_then(|unit| clock.timespan(raw, unit));
            match (time, span) {
                (None, None) => raw.to_string(),
                _ if raw == i64::MIN => String::new(),
                (Some(time), _) => Rfc3339(time.0).to_string(),
                (None, Some(span)) => span.0.to_string(),
            }
        }
    }
}

fn structure(inner: &Struct<'_>) -> String {
    if let Some(known) = Known::of(inner) {
        return known.name().to_owned();
    }
    if let Some(Value::Array(frames)) = inner.get("frames") {
        let frames = frames.iter().filter_map(|frame| {
            let method = frame.as_struct()?.get_struct("method")?;
            Some(Known::of(&method)?.name().to_owned())
        });
        return frames.collect::<Vec<_>>().join("; ");
    }
    // One level: a table is no place for trees.
    let members = inner
        .fields()
        .filter_map(|(field, value)| match value.ok()? {
            Value::Struct(nested) => {
                let name = Known::of(&nested)?.name().to_owned();
                Some(format!("{}={name}", field.name()))
            }
            Value::Array(_) => None,
            plain => Some(format!("{}={}", field.name(), show(inner, field, plain))),
        });
    members.collect::<Vec<_>>().join("; ")
}

/// A cell, quoted where it must be.
pub(crate) fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_with_separators_are_quoted() {
        assert_eq!(cell("a,b"), "\"a,b\"");
        assert_eq!(cell("say \"x\""), "\"say \"\"x\"\"\"");
        assert_eq!(cell("plain"), "plain");
    }
}
