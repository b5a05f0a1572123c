//! What a project demands beyond its baseline: a TOML file whose every key is optional.

use serde::Deserialize;

use crate::model::{Nanos, RootKind, root_kind};

/// Limits and exceptions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Instances that one chain may hold.
    pub max_instances: Option<u64>,
    /// Growth that one chain may show, per hour.
    pub max_growth_per_hour: Option<Size>,
    /// Heap-walk-call time that all searches together may take.
    pub max_heap_walk_call_time: Option<Time>,
    /// Chains from roots of these kinds are no failures.
    #[serde(deserialize_with = "root_kind::list")]
    pub ignore_roots: Vec<RootKind>,
    /// Chains to these classes are no failures; `*` at the end matches any rest.
    pub ignore_classes: Vec<String>,
    /// Classes that must have been watched, so that a check cannot pass by not looking.
    pub demand_classes: Vec<String>,
    /// What soft, weak and finalizer chains are.
    pub reclaimable: Action,
    /// What chains of warm-up and the JDK's own are.
    pub noise: Action,
    /// What chains of `jdk.OldObjectSample` are while the heap does not rise.
    pub survivors: Action,
    /// What a class is that keeps growing without a chain.
    pub growing_classes: FailByDefault,
    /// What a run is that was too short, or cannot answer for another reason.
    pub undecided: Action,
    /// What a recording is of which a part cannot be read.
    pub damaged: FailByDefault,
}

/// Pass unless told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Say it, and pass.
    #[default]
    Note,
    /// Fail.
    Fail,
}

/// Fail unless told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailByDefault {
    /// Say it, and pass.
    Note,
    /// Fail.
    #[default]
    Fail,
}

/// Bytes: a number, or text such as `10m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// A span: text such as `500ms`, or a number of milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Nanos);

#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let size = match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Number(bytes) => Some(bytes),
            NumberOrText::Text(text) => with_unit(
                &text,
                &[("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("", 1)],
            ),
        };
        size.map(Self)
            .ok_or_else(|| serde::de::Error::custom("a size is a number with k, m or g"))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const MS: u64 = 1_000_000;
        let nanos = match NumberOrText::deserialize(deserializer)? {
            NumberOrText::Number(millis) => millis.checked_mul(MS),
            NumberOrText::Text(text) => with_unit(
                &text,
                &[
                    ("ms", MS),
                    ("s", 1_000 * MS),
                    ("m", 60_000 * MS),
                    ("h", 3_600_000 * MS),
                ],
            ),
        };
        nanos
            .map(|nanos| Self(Nanos(nanos)))
            .ok_or_else(|| serde::de::Error::custom("a time is a number with ms, s, m or h"))
    }
}

/// `12m` by a table of units; the first unit that ends the text counts.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))?;
    number.trim().parse::<u64>().ok()?.checked_mul(factor)
}

impl Policy {
    /// Reads a policy file.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Whether the policy lets chains to `class` pass.
    pub fn ignores_class(&self, class: &str) -> bool {
        self.ignore_classes
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(prefix) => class.starts_with(prefix),
                None => class == pattern,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_policy_is_the_default_and_every_key_reads() {
        assert_eq!(Policy::parse("").unwrap(), Policy::default());
        let policy = Policy::parse(
            "max_instances = 1000\nmax_growth_per_hour = \"10m\"\n\
             max_heap_walk_call_time = \"500ms\"\nignore_roots = [\"finalizer\"]\n\
             ignore_classes = [\"com.acme.legacy.*\"]\ndemand_classes = [\"com.acme.Order\"]\n\
             reclaimable = \"fail\"\nnoise = \"fail\"\nsurvivors = \"fail\"\n\
             growing_classes = \"note\"\ndamaged = \"note\"\nundecided = \"fail\"\n",
        )
        .unwrap();
        assert_eq!(policy.max_growth_per_hour, Some(Size(10 << 20)));
        assert_eq!(
            policy.max_heap_walk_call_time,
            Some(Time(Nanos(500_000_000)))
        );
        assert!(policy.ignores_class("com.acme.legacy.X"));
        assert!(!policy.ignores_class("com.acme.Order"));
        assert_eq!(policy.growing_classes, FailByDefault::Note);
        assert_eq!(policy.damaged, FailByDefault::Note);
        assert_eq!(policy.undecided, Action::Fail);
    }

    #[test]
    fn a_misspelt_key_or_unit_is_an_error_not_a_default() {
        assert!(Policy::parse("max_instance = 1").is_err());
        assert!(Policy::parse("ignore_roots = [\"heap\"]").is_err());
        assert!(Policy::parse("max_growth_per_hour = \"10 parsecs\"").is_err());
        assert!(Policy::parse("max_heap_walk_call_time = \"99999999999999999h\"").is_err());
    }
}
