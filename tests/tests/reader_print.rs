//! Every value of the corpus equals what JDK 25's `jfr print --json` prints.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod corpus;

use std::time::Duration;

use corpus::corpus;
use jfr_chains_analyzer::reader::{Event, Field, Recording, Struct, Unit, Value};
use jfr_chains_tests::{Child, Jdk, scratch, skip};
use serde_json::Value as Json;

/// Files this large are printed with short stacks: the whole ones are 600 MB of JSON.
const SHORT_STACKS_FROM: u64 = 1_000_000;

#[test]
fn values_equal_those_that_the_jdk_prints() {
    let test = "values_equal_those_that_the_jdk_prints";
    let Some(corpus) = corpus(test) else { return };
    let Some(jdk) = Jdk::feature(25) else {
        return skip(test, "JDK 25");
    };
    let dir = scratch(test).unwrap();
    let mut compared = Compared::default();
    for entry in corpus.entries().iter().filter(|entry| entry.prints) {
        let whole = std::fs::read(&entry.path).unwrap();
        let recording = Recording::open(&entry.path).unwrap();
        // The JDK carries the first chunk's clock, and constants, into later chunks of a file; each
        // chunk alone is read without that.
        for chunk in recording.chunks() {
            let start = usize::try_from(chunk.offset()).unwrap();
            let name = format!("{} chunk {}", entry.name, chunk.index());
            let file = dir.path().join("chunk.jfr");
            std::fs::write(&file, &whole[start..start + chunk.len()]).unwrap();
            let depth = if whole.len() as u64 > SHORT_STACKS_FROM {
                8
            } else {
                usize::MAX
            };
            let printed = print(&jdk, &file, depth);
            compared.chunk(&name, &chunk.events().collect::<Vec<_>>(), &printed, depth);
        }
    }
    eprintln!(
        "{} values of {} events of {} types in {} chunks",
        compared.values,
        compared.events,
        compared.types.len(),
        compared.chunks
    );
    assert!(compared.wrong.is_empty(), "{:#?}", compared.wrong);
    assert!(compared.chunks >= 20 && compared.events > 70_000);
}

fn print(jdk: &Jdk, file: &std::path::Path, depth: usize) -> String {
    let depth = depth.min(1_000_000).to_string();
    let printed = Child::new(jdk.tool("jfr").unwrap())
        .args(["print", "--json", "--stack-depth", &depth])
        .arg(file)
        .run(Duration::from_secs(120))
        .unwrap();
    assert!(printed.ok(), "{}: {}", printed.command, printed.stderr);
    printed.stdout
}

#[derive(Default)]
struct Compared {
    chunks: usize,
    events: usize,
    values: u64,
    types: std::collections::BTreeSet<String>,
    wrong: Vec<String>,
}

impl Compared {
    fn chunk(&mut self, name: &str, events: &[Event<'_>], printed: &str, depth: usize) {
        // The tool sorts the events of a chunk by their end.
        let mut events = events.to_vec();
        events.sort_by_key(|event| {
            let ticks = |at| {
                event
                    .at(at)
                    .ok()
                    .and_then(|value| value.as_i64())
                    .unwrap_or(0)
            };
            let lasts = event
                .ty()
                .fields()
                .get(1)
                .is_some_and(|field| field.name() == "duration");
            ticks(0) + if lasts { ticks(1) } else { 0 }
        });
        let mut printed = Printed::new(printed);
        for event in &events {
            let Some(json) = printed.next() else {
                self.wrong
                    .push(format!("{name}: the tool printed fewer events"));
                return;
            };
            if json["type"] != event.name() {
                self.wrong.push(format!(
                    "{name}: {} where {} is printed",
                    event.name(),
                    json["type"]
                ));
                return;
            }
            self.types.insert(event.name().to_owned());
            let before = self.wrong.len();
            let at = format!("{name} {}@{}", event.name(), event.file_offset());
            self.structure(&at, event, &json["values"], depth);
            if self.wrong.len() > before + 3 || self.wrong.len() > 20 {
                return;
            }
            self.events += 1;
        }
        if printed.next().is_some() {
            self.wrong
                .push(format!("{name}: the tool printed more events"));
        }
        self.chunks += 1;
    }

    fn structure(&mut self, at: &str, ours: &Struct<'_>, json: &Json, depth: usize) {
        let Some(members) = json.as_object() else {
            self.wrong
                .push(format!("{at}: {ours:?} where {json} is printed"));
            return;
        };
        let mut fields = 0;
        for (field, value) in ours.fields() {
            fields += 1;
            let at = format!("{at}.{}", field.name());
            match (value, members.get(field.name())) {
                (Ok(value), Some(json)) => self.value(&at, ours, field, value, json, depth),
                (value, json) => self
                    .wrong
                    .push(format!("{at}: {value:?}, printed {json:?}")),
            }
        }
        if fields != members.len() {
            self.wrong.push(format!(
                "{at}: {fields} fields where {} are printed",
                members.len()
            ));
        }
    }

    fn value(
        &mut self,
        at: &str,
        owner: &Struct<'_>,
        field: &Field<'_>,
        value: Value<'_>,
        json: &Json,
        depth: usize,
    ) {
        self.values += 1;
        let equal = match value {
            Value::Struct(inner) => return self.structure(at, &inner, json, depth),
            Value::Array(array) => {
                let printed = json.as_array().map_or(&[][..], Vec::as_slice);
                let is_frames = array.iter().next().is_some_and(|first| {
                    first
                        .as_struct()
                        .is_some_and(|first| first.ty().name().ends_with(".StackFrame"))
                });
                let expected = if is_frames {
                    array.len().min(depth)
                } else {
                    array.len()
                };
                if !json.is_array() || printed.len() != expected {
                    self.wrong
                        .push(format!("{at}: {} elements, printed {json}", array.len()));
                    return;
                }
                for (index, (element, json)) in array.iter().zip(printed).enumerate() {
                    self.value(
                        &format!("{at}[{index}]"),
                        owner,
                        field,
                        element,
                        json,
                        depth,
                    );
                }
                return;
            }
            Value::Null => json.is_null(),
            Value::Boolean(value) => json.as_bool() == Some(value),
            Value::Text(text) => json.as_str().is_some_and(|printed| text == printed),
            Value::Char(unit) => {
                let text = String::from_utf16_lossy(&[unit]);
                json.as_str() == Some(text.as_str())
            }
            Value::Float(value) if value.is_finite() => json
                .as_f64()
                .is_some_and(|printed| single(printed).to_bits() == value.to_bits()),
            Value::Double(value) if value.is_finite() => json.as_f64().is_some_and(|printed| {
                // The JSON parser may miss the nearest double by one.
                printed.to_bits().abs_diff(value.to_bits()) <= 1
            }),
            Value::Float(_) | Value::Double(_) => json.is_null(),
            integer => {
                let raw = integer.as_i64().unwrap();
                self.integer(owner, field, integer, raw, json)
            }
        };
        if !equal {
            self.wrong.push(format!(
                "{at}: {value:?} ({:?}), printed {json}",
                field.unit()
            ));
        }
    }

    fn integer(
        &self,
        owner: &Struct<'_>,
        field: &Field<'_>,
        value: Value<'_>,
        raw: i64,
        json: &Json,
    ) -> bool {
        let clock = owner.chunk().clock();
        match field.unit() {
            Some(unit @ (Unit::EpochTicks | Unit::EpochMillis)) => {
                let printed = json.as_str().unwrap_or("");
                if raw == i64::MIN {
                    return printed.starts_with("-999999999-01-01T00:00");
                }
                let ours = clock.timestamp(raw, unit).unwrap().0;
                let printed: jiff::Timestamp = printed.parse().unwrap();
                // The tool divides in floating point.
                (printed.as_nanosecond() - i128::from(ours)).abs() <= 1
            }
            Some(unit) if clock.timespan(raw, unit).is_some() => {
                let printed = json.as_str().unwrap_or("");
                match raw {
                    i64::MIN => printed == "PT-2562047788015215H-30M-8S",
                    i64::MAX => printed == "PT2562047788015215H30M7.999999999S",
                    _ => {
                        let ours = clock.timespan(raw, unit).unwrap().0;
                        (java_duration(printed) - i128::from(ours)).abs() <= 1
                    }
                }
            }
            _ if field
                .annotations()
                .iter()
                .any(|a| a.name() == "jdk.jfr.Unsigned") =>
            {
                let bits = match value {
                    Value::Byte(_) => raw & 0xff,
                    Value::Short(_) => raw & 0xffff,
                    Value::Int(_) => raw & 0xffff_ffff,
                    _ => raw,
                };
                json.as_u64() == Some(bits.cast_unsigned())
            }
            _ => json.as_i64() == Some(raw),
        }
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a float was printed")]
fn single(printed: f64) -> f32 {
    printed as f32
}

/// `PT1H2M3.4S` as nanoseconds.
fn java_duration(text: &str) -> i128 {
    let mut nanos = 0;
    let mut rest = text.strip_prefix("PT").unwrap();
    while let Some(end) = rest.find(['H', 'M', 'S']) {
        let (number, unit) = (&rest[..end], &rest[end..=end]);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let sign = if number.starts_with('-') { -1 } else { 1 };
        let fraction: i128 = format!("{fraction:0<9}").parse().unwrap();
        let seconds = match unit {
            "H" => 3_600,
            "M" => 60,
            _ => 1,
        };
        nanos += whole.parse::<i128>().unwrap() * seconds * 1_000_000_000 + sign * fraction;
        rest = &rest[end + 1..];
    }
    nanos
}

/// The events of the tool's output, parsed one by one.
struct Printed<'a> {
    rest: &'a str,
}

impl<'a> Printed<'a> {
    fn new(output: &'a str) -> Self {
        let start = output.find('[').unwrap();
        Self {
            rest: &output[start + 1..],
        }
    }
}

impl Iterator for Printed<'_> {
    type Item = Json;

    fn next(&mut self) -> Option<Json> {
        self.rest = self.rest.trim_start_matches([',', ' ', '\n', '\r']);
        if self.rest.starts_with(']') {
            return None;
        }
        let mut stream = serde_json::Deserializer::from_str(self.rest).into_iter();
        let event = stream.next()?.unwrap();
        self.rest = &self.rest[stream.byte_offset()..];
        Some(event)
    }
}
