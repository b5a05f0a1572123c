//! Which events are wanted.

use jiff::Timestamp;

use super::EventsArgs;
use crate::reader::{Event, Struct};

/// The filters of one run, checked.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    types: Vec<String>,
    /// Nanoseconds since 1970, inclusive.
    from: Option<i64>,
    /// Nanoseconds since 1970, exclusive.
    to: Option<i64>,
    thread: Option<String>,
}

/// Whether `wanted` is the full or the short name of the type `name`, or a pattern for one.
pub(super) fn names(wanted: &str, name: &str) -> bool {
    let short = name.rsplit('.').next().unwrap_or(name);
    matches(wanted, name) || matches(wanted, short)
}

impl Filter {
    /// Errs with a sentence about the argument that is wrong.
    pub(super) fn new(args: &EventsArgs) -> Result<Self, String> {
        if args.types.iter().any(String::is_empty) {
            return Err("--type: a name is empty".to_owned());
        }
        let filter = Self {
            types: args.types.clone(),
            from: moment("--from", args.from.as_deref())?,
            to: moment("--to", args.to.as_deref())?,
            thread: args.thread.clone(),
        };
        match (filter.from, filter.to) {
            (Some(from), Some(to)) if from >= to => {
                Err("--from is not before --to: there is no event between them".to_owned())
            }
            _ => Ok(filter),
        }
    }

    /// Whether events of this type may be wanted; asked once for each type.
    pub(super) fn wants_type(&self, name: &str) -> bool {
        self.types.is_empty() || self.types.iter().any(|wanted| names(wanted, name))
    }

    /// The types that were asked for.
    pub(super) fn types(&self) -> &[String] {
        &self.types
    }

    /// Whether this event, of a wanted type, is.
    pub(super) fn wants(&self, event: &Event<'_>) -> bool {
        if self.from.is_some() || self.to.is_some() {
            let Some(start) = event.start() else {
                return false;
            };
            let lasted = event.duration().map_or(0, |duration| duration.0);
            let end = start.0.saturating_add(lasted);
            if self.from.is_some_and(|from| end < from) || self.to.is_some_and(|to| start.0 >= to) {
                return false;
            }
        }
        match &self.thread {
            None => true,
            Some(wanted) => thread_of(event).is_some_and(|thread| is_thread(wanted, &thread)),
        }
    }
}

/// The thread that an event is about: samples name the sampled one, since another took them.
fn thread_of<'c>(event: &Event<'c>) -> Option<Struct<'c>> {
    let fields = ["eventThread", "sampledThread", "thread"];
    fields.iter().find_map(|field| event.get_struct(field))
}

fn is_thread(wanted: &str, thread: &Struct<'_>) -> bool {
    let named = ["javaName", "osName"]
        .iter()
        .filter_map(|name| thread.text(name))
        .any(|name| matches(wanted, &name.to_str()));
    named
        || wanted.parse::<i64>().is_ok_and(|id| {
            ["javaThreadId", "osThreadId"]
                .iter()
                .any(|field| thread.i64(field) == Some(id))
        })
}

fn moment(option: &str, text: Option<&str>) -> Result<Option<i64>, String> {
    let Some(text) = text else { return Ok(None) };
    let time: Timestamp = text.parse().map_err(|error| {
        format!("{option} {text}: not a moment in RFC 3339, such as 2026-01-05T10:00:00Z ({error})")
    })?;
    i64::try_from(time.as_nanosecond())
        .map(Some)
        .map_err(|_| format!("{option} {text}: recordings hold the years 1677 to 2262"))
}

/// Whether `name` is `pattern`, whose `*` stand for anything.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or(""),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        assert!(matches("jdk.GC*", "jdk.GCHeapSummary"));
        assert!(matches("*Sample", "jdk.OldObjectSample"));
        assert!(matches("jdk.*Object*", "jdk.OldObjectSample"));
        assert!(matches("a*a", "aa"));
        assert!(!matches("a*a", "a"));
        assert!(!matches("jdk.GC", "jdk.GCHeapSummary"));
        assert!(!matches("*x*y", "ayx"));
    }

    #[test]
    fn short_names_select_their_type() {
        let filter = Filter {
            types: vec!["CPULoad".to_owned()],
            ..Filter::default()
        };
        assert!(filter.wants_type("jdk.CPULoad"));
        assert!(!filter.wants_type("jdk.ThreadCPULoad"));
    }

    #[test]
    fn a_wrong_moment_names_its_option() {
        let error = moment("--from", Some("yesterday")).unwrap_err();
        assert!(
            error.starts_with("--from yesterday: not a moment in RFC 3339"),
            "{error}"
        );
    }
}
