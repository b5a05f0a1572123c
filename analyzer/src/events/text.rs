//! Events for people.

use std::io::{self, Write};

use super::known::{Known, chain};
use super::{MAX_STRUCTURES, Whole, Writer};
use crate::reader::{Event, Field, Struct, Unit, Value};
use crate::report::safe::terminal;
use crate::rfc3339::Rfc3339;
use crate::summary::SkippedIn;

/// Structures inside structures that are still shown.
const MAX_DEPTH: usize = 8;

pub(super) struct Text {
    stack_depth: usize,
    /// Structures that may still be shown of this event.
    left: usize,
}

impl Text {
    pub(super) fn new(stack_depth: usize) -> Self {
        let left = 0;
        Self { stack_depth, left }
    }
}

impl Writer for Text {
    fn event(&mut self, event: &Event<'_>, out: &mut dyn Write) -> io::Result<Whole> {
        self.left = MAX_STRUCTURES;
        writeln!(out, "{} {{", terminal(event.name()))?;
        self.members(event, 1, out)?;
        writeln!(out, "}}\n")?;
        Ok(Whole(self.left > 0))
    }

    fn finish(&mut self, _: &[SkippedIn], _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

impl Text {
    fn members(&mut self, of: &Struct<'_>, depth: usize, out: &mut dyn Write) -> io::Result<()> {
        for (field, value) in of.fields() {
            write!(out, "{:1$}{2} = ", "", depth * 2, terminal(field.name()))?;
            match value {
                Ok(value) => self.value(of, field, value, depth, out)?,
                Err(why) => write!(out, "damaged: {why}")?,
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn value(
        &mut self,
        of: &Struct<'_>,
        field: &Field<'_>,
        value: Value<'_>,
        depth: usize,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match value {
            Value::Null => write!(out, "null"),
            Value::Boolean(value) => write!(out, "{value}"),
            Value::Char(unit) => write!(out, "{:?}", String::from_utf16_lossy(&[unit])),
            Value::Float(value) => write!(out, "{}", Amount(f64::from(value), field.unit())),
            Value::Double(value) => write!(out, "{}", Amount(value, field.unit())),
            Value::Text(text) => write!(out, "{text:?}"),
            Value::Struct(inner) => self.structure(&inner, depth, out),
            Value::Array(array) => {
                let frames = is_frame(array.iter().next());
                let shown = if frames {
                    self.stack_depth
                } else {
                    array.len()
                };
                writeln!(out, "[")?;
                for element in array.iter().take(shown) {
                    write!(out, "{:1$}", "", depth * 2 + 2)?;
                    self.value(of, field, element, depth + 1, out)?;
                    writeln!(out)?;
                }
                if array.len() > shown {
                    writeln!(out, "{:1$}...", "", depth * 2 + 2)?;
                }
                write!(out, "{:1$}]", "", depth * 2)
            }
            integer => {
                let raw = integer.as_i64().unwrap_or_default();
                let clock = of.chunk().clock();
                let Some(unit) = field.unit() else {
                    return write!(out, "{raw}");
                };
                if raw == i64::MIN {
                    return write!(out, "unknown");
                }
                if let Some(time) = clock.timestamp(raw, unit) {
                    return write!(out, "{}", Rfc3339(time.0));
                }
                if let Some(span) = clock.timespan(raw, unit) {
                    return write!(out, "{}", Span(span.0));
                }
                match unit {
                    Unit::MemoryAddress => write!(out, "0x{raw:X}"),
                    Unit::Bytes => write!(out, "{raw} bytes"),
                    _ => write!(out, "{raw}"),
                }
            }
        }
    }

    fn structure(
        &mut self,
        inner: &Struct<'_>,
        depth: usize,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return write!(out, "...");
        }
        if let Some(known) = Known::of(inner) {
            return write!(out, "{}", terminal(known.name()));
        }
        if let Some(links) = chain(inner) {
            writeln!(out, "[")?;
            for link in links {
                let class = link.object.get_struct("type");
                let class = class.as_ref().and_then(Known::of);
                let class = terminal(class.as_ref().map_or("?", Known::name));
                let edge = link.edge.unwrap_or_default();
                let edge = terminal(&edge);
                writeln!(out, "{:1$}{class}{edge}", "", depth * 2 + 2)?;
            }
            return write!(out, "{:1$}]", "", depth * 2);
        }
        if is_frame(Some(Value::Struct(*inner))) {
            return frame(inner, out);
        }
        if depth >= MAX_DEPTH {
            return write!(out, "...");
        }
        writeln!(out, "{{")?;
        self.members(inner, depth + 1, out)?;
        write!(out, "{:1$}}}", "", depth * 2)
    }
}

fn is_frame(value: Option<Value<'_>>) -> bool {
    let frame = value.and_then(|value| value.as_struct());
    frame.is_some_and(|frame| frame.ty().name().ends_with(".types.StackFrame"))
}

fn frame(frame: &Struct<'_>, out: &mut dyn Write) -> io::Result<()> {
    let method = frame.get_struct("method");
    let method = method.as_ref().and_then(Known::of);
    write!(
        out,
        "{}",
        terminal(method.as_ref().map_or("?", Known::name))
    )?;
    if let Some(line) = frame.i64("lineNumber").filter(|&line| line > 0) {
        write!(out, " line {line}")?;
    }
    Ok(())
}

struct Amount(f64, Option<Unit>);

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.1 {
            Some(Unit::Percentage) => write!(f, "{:.2} %", self.0 * 100.0),
            _ => write!(f, "{}", self.0),
        }
    }
}

/// Nanoseconds in the unit that needs no more than three digits before the point.
struct Span(i64);

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        #[allow(clippy::cast_precision_loss, reason = "six digits are shown")]
        let nanos = self.0 as f64;
        match self.0.unsigned_abs() {
            0..1_000 => write!(f, "{} ns", self.0),
            1_000..1_000_000 => write!(f, "{:.3} us", nanos / 1e3),
            1_000_000..1_000_000_000 => write!(f, "{:.3} ms", nanos / 1e6),
            _ => write!(f, "{:.3} s", nanos / 1e9),
        }
    }
}
