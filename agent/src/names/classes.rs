//! Classes of sampled objects: one dense id each for the life of the process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chain_core::ClassId;
use jfr_format::entity::ClassInfo;

use super::{java_name, lock};
use crate::jvm::env::Weak;

/// Most classes that get an id; further ones are not tracked, and counted.
pub const MAX_CLASSES: usize = 65_536;

/// One class.
#[derive(Debug)]
struct Entry {
    signature: Arc<str>,
    name: Arc<str>,
    info: Arc<ClassInfo>,
    weak: Arc<Weak>,
}

/// Why a class was not added; the weak reference comes back to be deleted.
#[derive(Debug)]
pub enum NotAdded {
    /// The table is full.
    Full(Weak),
    /// Another thread added a class of this signature meanwhile: compare again.
    Changed(Weak),
}

#[derive(Debug, Default)]
struct Table {
    entries: Vec<Entry>,
    by_signature: HashMap<Arc<str>, Vec<u32>>,
    refused: u64,
}

/// The class registry. Two loaders' classes of one name have two ids.
#[derive(Debug, Default)]
pub struct Classes(Mutex<Table>);

impl Classes {
    /// The known classes of this signature, each with its weak reference: compare them (unlocked) with the class
    /// at hand before adding it.
    #[must_use]
    pub fn of_signature(&self, signature: &str) -> Vec<(ClassId, Arc<Weak>)> {
        let table = lock(&self.0);
        let ids = table
            .by_signature
            .get(signature)
            .map_or(&[][..], Vec::as_slice);
        ids.iter()
            .filter_map(|id| {
                Some((
                    ClassId(*id),
                    Arc::clone(&table.entries.get(usize::try_from(*id).ok()?)?.weak),
                ))
            })
            .collect()
    }

    /// Adds a class that was not among the `seen` ones that [`Classes::of_signature`] knew.
    ///
    /// # Errors
    /// The weak reference, for the caller to delete, with the reason.
    pub fn add(
        &self,
        signature: &str,
        seen: usize,
        mut info: ClassInfo,
        weak: Weak,
    ) -> Result<ClassId, NotAdded> {
        let name = java_name(signature);
        let mut table = lock(&self.0);
        if table.by_signature.get(signature).map_or(0, Vec::len) != seen {
            return Err(NotAdded::Changed(weak));
        }
        let id = match u32::try_from(table.entries.len()) {
            Ok(id) if table.entries.len() < MAX_CLASSES => id,
            _ => {
                table.refused += 1;
                return Err(NotAdded::Full(weak));
            }
        };
        // The token of a live class is its id plus one: 0 stands for none.
        info.handle = u64::from(id) + 1;
        let signature: Arc<str> = signature.into();
        table.entries.push(Entry {
            signature: Arc::clone(&signature),
            name: name.into(),
            info: Arc::new(info),
            weak: Arc::new(weak),
        });
        table.by_signature.entry(signature).or_default().push(id);
        Ok(ClassId(id))
    }

    /// The class as events carry it.
    #[must_use]
    pub fn info(&self, id: ClassId) -> Option<Arc<ClassInfo>> {
        let table = lock(&self.0);
        Some(Arc::clone(
            &table.entries.get(usize::try_from(id.0).ok()?)?.info,
        ))
    }

    /// The class as Java writes it; `None` for an id that was never given.
    #[must_use]
    pub fn name(&self, id: ClassId) -> Option<Arc<str>> {
        let table = lock(&self.0);
        Some(Arc::clone(
            &table.entries.get(usize::try_from(id.0).ok()?)?.name,
        ))
    }

    /// The class's JVM signature.
    #[must_use]
    pub fn signature(&self, id: ClassId) -> Option<Arc<str>> {
        let table = lock(&self.0);
        Some(Arc::clone(
            &table.entries.get(usize::try_from(id.0).ok()?)?.signature,
        ))
    }

    /// The class itself, weakly. It stays valid for the life of the process.
    #[must_use]
    pub fn weak(&self, id: ClassId) -> Option<Arc<Weak>> {
        let table = lock(&self.0);
        Some(Arc::clone(
            &table.entries.get(usize::try_from(id.0).ok()?)?.weak,
        ))
    }

    /// Forgets every class and gives the references back; ids begin anew.
    pub(super) fn clear(&self) -> Vec<Weak> {
        let entries = std::mem::take(&mut *lock(&self.0)).entries;
        entries
            .into_iter()
            .filter_map(|entry| Arc::try_unwrap(entry.weak).ok())
            .collect()
    }

    /// How many classes have an id, and how many were refused one.
    #[must_use]
    pub fn counts(&self) -> (usize, u64) {
        let table = lock(&self.0);
        (table.entries.len(), table.refused)
    }
}
