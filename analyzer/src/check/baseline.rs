//! The accepted chains: a TOML file that people review, with a reason, an owner and an end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::civil::Date;
use serde::Deserialize;

use crate::model::{Chain, identity};
use crate::report::words;

/// The file's schema and version.
pub const SCHEMA: &str = "jfr-chains/baseline/1";

/// Accepted chains by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    /// By short id.
    pub entries: BTreeMap<String, Entry>,
}

/// One accepted chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// The signature's text, for the reader of the file.
    pub signature: String,
    /// What it holds, for the reader of the file.
    pub leaf: String,
    /// Why it is accepted.
    pub reason: String,
    /// Who answers for it.
    pub owner: String,
    /// The last day on which it is accepted; without one it always is.
    pub expires: Option<Date>,
}

/// Why a baseline could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// Not TOML, or not of this form.
    #[error("{0}")]
    Form(#[from] toml::de::Error),
    /// Another schema.
    #[error("schema {found:?} is not {SCHEMA:?}")]
    Schema {
        /// What the file says.
        found: String,
    },
    /// An id that is no id.
    #[error("id {0:?} is not eight hex digits")]
    Id(String),
    /// A date that is no date.
    #[error("chain {id}: expires = {text:?} is not a date like 2026-12-31")]
    Date {
        /// The entry.
        id: String,
        /// What the file says.
        text: String,
    },
    /// The same chain twice.
    #[error("chain {0} is accepted twice")]
    Twice(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    #[serde(default)]
    accepted: Vec<FileEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    id: String,
    #[serde(default)]
    signature: String,
    #[serde(default)]
    leaf: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    owner: String,
    #[serde(default)]
    expires: String,
}

impl Entry {
    /// Whether the entry of this id accepts `chain`: it has the id, it is a leak of which the id was
    /// another chain, or the accepted path leads through its growing container.
    pub fn accepts(&self, id: &str, chain: &Chain) -> bool {
        chain.has_id(id)
            || chain.container_hop.is_some() && {
                let leak = identity::identity_text(chain);
                self.signature
                    .strip_prefix(&leak)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(" -> "))
            }
    }
}

impl Baseline {
    /// Reads a baseline file.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let file: File = toml::from_str(text)?;
        if file.schema != SCHEMA {
            return Err(BaselineError::Schema { found: file.schema });
        }
        let mut entries = BTreeMap::new();
        for entry in file.accepted {
            let id = entry.id.to_ascii_lowercase();
            if id.len() != 8 || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(BaselineError::Id(entry.id));
            }
            let expires = match entry.expires.as_str() {
                "" => None,
                text => Some(text.parse::<Date>().map_err(|_| BaselineError::Date {
                    id: id.clone(),
                    text: text.to_owned(),
                })?),
            };
            let known = entries.insert(
                id.clone(),
                Entry {
                    signature: entry.signature,
                    leaf: entry.leaf,
                    reason: entry.reason,
                    owner: entry.owner,
                    expires,
                },
            );
            if known.is_some() {
                return Err(BaselineError::Twice(id));
            }
        }
        Ok(Self { entries })
    }

    /// The entry that accepts `chain`: the one of its id, else one of the same leak.
    pub fn entry(&self, chain: &Chain) -> Option<&Entry> {
        let by_id = self.entries.get(&chain.id);
        by_id.or_else(|| {
            let mut entries = self.entries.iter();
            entries.find_map(|(id, entry)| entry.accepts(id, chain).then_some(entry))
        })
    }

    /// Accepts `chain`; an entry that is there keeps its reason, owner and end.
    pub fn accept(&mut self, chain: &Chain, reason: &str, owner: &str, expires: Option<Date>) {
        let known = self
            .entries
            .iter()
            .find(|(id, entry)| entry.accepts(id, chain));
        let id = known.map_or_else(|| chain.id.clone(), |(id, _)| id.clone());
        let entry = self.entries.entry(id).or_insert_with(|| Entry {
            reason: reason.to_owned(),
            owner: owner.to_owned(),
            expires,
            ..Entry::default()
        });
        entry.signature.clone_from(&chain.signature);
        entry.leaf = words::held_by(chain);
    }

    /// The file's text; [`Baseline::parse`] reads it back.
    pub fn to_toml(&self) -> String {
        let mut out = format!(
            "# Chains that `jfr-chains check --baseline` accepts. Give each a reason and an owner;\n\
             # `expires` (a date, or empty) is the last day on which it is accepted.\n\
             schema = \"{SCHEMA}\"\n"
        );
        for (id, entry) in &self.entries {
            let expires = entry
                .expires
                .map_or_else(String::new, |date| date.to_string());
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "\n[[accepted]]\nid = {}\nleaf = {}\nsignature = {}\nreason = {}\nowner = {}\n\
                 expires = {}\n",
                quoted(id),
                quoted(&entry.leaf),
                quoted(&entry.signature),
                quoted(&entry.reason),
                quoted(&entry.owner),
                quoted(&expires)
            );
        }
        out
    }
}

/// `text` as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
