//! Classes of sampled objects: one dense id each for the life of the process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chain_core::ClassId;
use jfr_format::entity::ClassInfo;

use super::graveyard::Graveyard;
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
    /// By id; the places of forgotten classes stay empty, since an id is never given twice.
    entries: Vec<Option<Entry>>,
    live: usize,
    by_signature: HashMap<Arc<str>, Vec<u32>>,
    refused: u64,
}

/// The class registry. Two loaders' classes of one name have two ids.
#[derive(Debug, Default)]
pub struct Classes {
    table: Mutex<Table>,
    forgotten: Graveyard,
}

impl Table {
    fn entry(&self, id: ClassId) -> Option<&Entry> {
        self.entries.get(usize::try_from(id.0).ok()?)?.as_ref()
    }
}

impl Classes {
    /// The known classes of this signature, each with its weak reference: compare them (unlocked) with the class
    /// at hand before adding it.
    #[must_use]
    pub fn of_signature(&self, signature: &str) -> Vec<(ClassId, Arc<Weak>)> {
        let table = lock(&self.table);
        let ids = table
            .by_signature
            .get(signature)
            .map_or(&[][..], Vec::as_slice);
        ids.iter()
            .filter_map(|id| Some((ClassId(*id), Arc::clone(&table.entry(ClassId(*id))?.weak))))
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
        let mut table = lock(&self.table);
        if table.by_signature.get(signature).map_or(0, Vec::len) != seen {
            return Err(NotAdded::Changed(weak));
        }
        let id = match u32::try_from(table.entries.len()) {
            Ok(id) if table.live < MAX_CLASSES => id,
            _ => {
                table.refused += 1;
                return Err(NotAdded::Full(weak));
            }
        };
        // The token of a live class is its id plus one: 0 stands for none.
        info.handle = u64::from(id) + 1;
        let signature: Arc<str> = signature.into();
        table.live += 1;
        table.entries.push(Some(Entry {
            signature: Arc::clone(&signature),
            name: name.into(),
            info: Arc::new(info),
            weak: Arc::new(weak),
        }));
        table.by_signature.entry(signature).or_default().push(id);
        Ok(ClassId(id))
    }

    /// The class as events carry it.
    #[must_use]
    pub fn info(&self, id: ClassId) -> Option<Arc<ClassInfo>> {
        let table = lock(&self.table);
        Some(Arc::clone(&table.entry(id)?.info))
    }

    /// The class as Java writes it; `None` for an id that was never given.
    #[must_use]
    pub fn name(&self, id: ClassId) -> Option<Arc<str>> {
        let table = lock(&self.table);
        Some(Arc::clone(&table.entry(id)?.name))
    }

    /// The class's JVM signature.
    #[must_use]
    pub fn signature(&self, id: ClassId) -> Option<Arc<str>> {
        let table = lock(&self.table);
        Some(Arc::clone(&table.entry(id)?.signature))
    }

    /// The class itself, weakly. It stays valid for the life of the process.
    #[must_use]
    pub fn weak(&self, id: ClassId) -> Option<Arc<Weak>> {
        let table = lock(&self.table);
        Some(Arc::clone(&table.entry(id)?.weak))
    }

    /// Classes that can be asked whether they were unloaded, once there are enough of them to care.
    #[must_use]
    pub fn suspects(&self) -> Vec<(ClassId, Arc<Weak>)> {
        let table = lock(&self.table);
        if table.live <= MAX_CLASSES / 2 {
            return Vec::new();
        }
        let known = (0u32..).zip(&table.entries);
        known
            .filter_map(|(id, entry)| Some((ClassId(id), Arc::clone(&entry.as_ref()?.weak))))
            .collect()
    }

    /// Forgets a class; its id is not given again.
    pub fn remove(&self, id: ClassId) {
        let mut table = lock(&self.table);
        let place = usize::try_from(id.0)
            .ok()
            .and_then(|index| table.entries.get_mut(index));
        let Some(entry) = place.and_then(Option::take) else {
            return;
        };
        table.live -= 1;
        if let Some(ids) = table.by_signature.get_mut(&entry.signature) {
            ids.retain(|known| *known != id.0);
            if ids.is_empty() {
                table.by_signature.remove(&entry.signature);
            }
        }
        drop(table);
        self.forgotten.bury(entry.weak);
    }

    /// Forgets every class; ids begin anew.
    pub(super) fn clear(&self) {
        let entries = std::mem::take(&mut *lock(&self.table)).entries;
        for entry in entries.into_iter().flatten() {
            self.forgotten.bury(entry.weak);
        }
    }

    pub(super) fn take_free(&self) -> Vec<Weak> {
        self.forgotten.take_free()
    }

    /// How many classes have an id, and how many were refused one.
    #[must_use]
    pub fn counts(&self) -> (usize, u64) {
        let table = lock(&self.table);
        (table.live, table.refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(classes: &Classes, signature: &str, seen: usize) -> Result<ClassId, NotAdded> {
        classes.add(
            signature,
            seen,
            ClassInfo::named(signature),
            Weak::for_test(0x10),
        )
    }

    #[test]
    fn two_classes_of_one_name_have_two_ids_and_a_race_is_seen() {
        let classes = Classes::default();
        let first = add(&classes, "La/B;", 0).unwrap();
        assert!(matches!(
            add(&classes, "La/B;", 0),
            Err(NotAdded::Changed(_))
        ));
        let second = add(&classes, "La/B;", 1).unwrap();
        assert_ne!(first, second);
        assert_eq!(classes.of_signature("La/B;").len(), 2);
        assert_eq!(classes.name(second).as_deref(), Some("a.B"));
        assert_eq!(
            classes.info(first).map(|info| info.handle),
            Some(u64::from(first.0) + 1)
        );
    }

    #[test]
    fn a_forgotten_class_frees_its_reference_and_keeps_its_id_to_itself() {
        let classes = Classes::default();
        let first = add(&classes, "La/B;", 0).unwrap();
        classes.remove(first);
        classes.remove(first);
        assert_eq!(classes.take_free().len(), 1);
        assert_eq!(
            (classes.name(first), classes.of_signature("La/B;").len()),
            (None, 0)
        );
        assert_ne!(add(&classes, "La/B;", 0).unwrap(), first);
        assert_eq!(classes.counts(), (1, 0));
    }

    #[test]
    fn a_full_table_refuses_and_counts_until_classes_were_unloaded() {
        let classes = Classes::default();
        for n in 0..MAX_CLASSES {
            add(&classes, &format!("LC{n};"), 0).unwrap();
        }
        assert!(matches!(add(&classes, "La/B;", 0), Err(NotAdded::Full(_))));
        assert_eq!(
            (classes.suspects().len(), classes.counts()),
            (MAX_CLASSES, (MAX_CLASSES, 1))
        );
        classes.remove(ClassId(5));
        assert!(add(&classes, "La/B;", 0).is_ok());
    }
}
