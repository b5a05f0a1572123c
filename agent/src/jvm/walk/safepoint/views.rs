//! What a heap callback must know of a class without asking the JVM: whether its instances matter, which of their
//! fields are followed.

use super::super::catalogue::{Catalogue, ClassIndex};
use super::super::layout::{Layout, Plan};
use super::super::visited::Tags;
use super::fields::numbering;
use crate::jvm::env::{Jni, Jvmti};

/// One class as a callback sees it.
#[derive(Debug, Default)]
pub struct View {
    known: bool,
    /// Instances are neither followed nor looked for.
    pub skip: bool,
    /// Every element is followed.
    pub elements: bool,
    /// By field number: the place in the layout plus one, 0 when the field is not followed.
    places: Box<[u32]>,
}

impl View {
    /// The place of a field by its number in heap callbacks; `None` when it is not followed.
    #[must_use]
    pub fn place(&self, number: i32) -> Option<u32> {
        let number = usize::try_from(number).ok()?;
        self.places.get(number)?.checked_sub(1)
    }
}

/// The views of one search, by class.
#[derive(Debug, Default)]
pub struct Views(Vec<View>);

impl Views {
    /// The view of a class; `None` when none was made.
    #[must_use]
    pub fn get(&self, class: ClassIndex) -> Option<&View> {
        self.0.get(class as usize)
    }

    /// Forgets everything: the search or its plan changed.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Makes the view of a class whose plan is decided, and tags the class so that callbacks know it.
    pub fn make(
        &mut self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        catalogue: &Catalogue,
        tags: Tags,
        class: ClassIndex,
    ) {
        if self.get(class).is_some_and(|view| view.known) {
            return;
        }
        let Some(known) = catalogue.get(class) else {
            return;
        };
        let mut view = View {
            known: true,
            skip: known.plan == Plan::Leaf && known.candidate.is_none(),
            elements: known.plan == Plan::Elements,
            places: Box::default(),
        };
        let Some(mirror) = catalogue.upgrade(jni, class) else {
            return;
        };
        if let (Plan::Fields(followed), Layout::Fields(fields)) = (&known.plan, &known.layout) {
            let numbered = numbering(jvmti, jni, &mirror);
            let place_of = |id| {
                let place = fields.iter().position(|field| field.id == id)?;
                let place = u32::try_from(place).ok()?;
                followed.contains(&place).then_some(place + 1)
            };
            let none = std::iter::repeat_n(0, numbered.first);
            let own = numbered.fields.iter().map(|id| place_of(*id).unwrap_or(0));
            view.places = none.chain(own).collect();
        }
        // Without the tag its instances are met and put aside one by one.
        if let Ok(tag) = tags.of(&mirror) {
            let _ = tags.set(&mirror, tag.with_class(class));
        }
        jni.delete(mirror);
        let at = class as usize;
        if self.0.len() <= at {
            self.0.resize_with(at + 1, View::default);
        }
        if let Some(slot) = self.0.get_mut(at) {
            *slot = view;
        }
    }
}
