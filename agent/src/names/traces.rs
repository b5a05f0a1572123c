//! Allocation stacks, interned whole: frames become names while they still pin their classes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use chain_core::TraceId;
use jfr_format::entity::{MethodInfo, StackInfo};

use super::lock;
use crate::jvm::env::FrameInfo;

/// Most stacks that are remembered; further ones share id 0, "unknown", and are counted.
pub const MAX_TRACES: usize = 16_384;
/// Most methods whose names are kept for the next new stack.
const MAX_METHODS: usize = 32_768;

/// A resolved method and its line numbers.
#[derive(Debug)]
pub struct Method {
    /// Names, as events carry them.
    pub info: Arc<MethodInfo>,
    /// (first bytecode index, line) as the class file lists them; empty when unknown.
    pub lines: Vec<(i64, i32)>,
}

impl Method {
    /// The line of a bytecode index; `None` in native code and without a table.
    #[must_use]
    pub fn line(&self, location: i64) -> Option<i32> {
        self.lines
            .iter()
            .filter(|(start, _)| *start <= location)
            .max_by_key(|(start, _)| *start)
            .map(|(_, line)| *line)
    }
}

#[derive(Debug, Default)]
struct Table {
    by_frames: HashMap<Box<[FrameInfo]>, TraceId>,
    by_content: HashMap<Arc<StackInfo>, TraceId>,
    traces: Vec<Arc<StackInfo>>,
    refused: u64,
}

/// The stack registry.
#[derive(Debug, Default)]
pub struct Traces {
    table: Mutex<Table>,
    methods: Mutex<HashMap<crate::jvm::env::MethodId, Arc<Method>>>,
}

impl Traces {
    /// The id of a stack that was seen before with the same frames.
    #[must_use]
    pub fn known(&self, frames: &[FrameInfo]) -> Option<TraceId> {
        lock(&self.table).by_frames.get(frames).copied()
    }

    /// A method that was resolved before.
    #[must_use]
    pub fn method(&self, id: crate::jvm::env::MethodId) -> Option<Arc<Method>> {
        lock(&self.methods).get(&id).cloned()
    }

    /// Remembers a resolved method.
    pub fn add_method(&self, id: crate::jvm::env::MethodId, method: Method) -> Arc<Method> {
        let method = Arc::new(method);
        let mut methods = lock(&self.methods);
        if methods.len() >= MAX_METHODS {
            methods.clear();
        }
        methods.insert(id, Arc::clone(&method));
        method
    }

    /// Interns a resolved stack; id 0 and counted when there are too many. The same content has the same id.
    pub fn add(&self, frames: &[FrameInfo], resolved: StackInfo) -> TraceId {
        let resolved = Arc::new(resolved);
        let mut table = lock(&self.table);
        let id = match table.by_content.get(&resolved) {
            Some(id) => *id,
            None if table.traces.len() >= MAX_TRACES => {
                table.refused += 1;
                return TraceId(0);
            }
            None => {
                table.traces.push(Arc::clone(&resolved));
                let id = TraceId(u32::try_from(table.traces.len()).unwrap_or(0));
                table.by_content.insert(resolved, id);
                id
            }
        };
        // Ids of frames are only a shortcut: bounded, and rebuilt from the content when it was cleared.
        if table.by_frames.len() >= 2 * MAX_TRACES {
            table.by_frames.clear();
        }
        table.by_frames.insert(frames.into(), id);
        id
    }

    /// The frames of a stack, innermost first; `None` for 0 and ids that were never given.
    #[must_use]
    pub fn get(&self, id: TraceId) -> Option<Arc<StackInfo>> {
        let index = usize::try_from(id.0).ok()?.checked_sub(1)?;
        lock(&self.table).traces.get(index).cloned()
    }

    /// Forgets every raw method id, since ids of unloaded classes are stale. Resolved stacks stay.
    pub fn forget_ids(&self) {
        lock(&self.table).by_frames.clear();
        lock(&self.methods).clear();
    }

    /// Forgets every stack and method; ids begin anew.
    pub(super) fn clear(&self) {
        let table = std::mem::take(&mut *lock(&self.table));
        let methods = std::mem::take(&mut *lock(&self.methods));
        // Freed outside the locks.
        drop((table, methods));
    }

    /// How many stacks are known, and how many were refused.
    #[must_use]
    pub fn counts(&self) -> (usize, u64) {
        let table = lock(&self.table);
        (table.traces.len(), table.refused)
    }
}

#[cfg(test)]
mod tests {
    use jfr_format::entity::FrameInfo as EventFrame;

    use super::*;

    fn stack(line: i32) -> StackInfo {
        let frame = EventFrame {
            line: Some(line),
            ..EventFrame::default()
        };
        StackInfo {
            frames: vec![frame],
            truncated: false,
        }
    }

    #[test]
    fn a_line_is_the_last_one_that_starts_at_or_before_the_location() {
        let method = Method {
            info: Arc::default(),
            lines: vec![(0, 10), (8, 12), (4, 11)],
        };
        assert_eq!(method.line(0), Some(10));
        assert_eq!(method.line(7), Some(11));
        assert_eq!(method.line(99), Some(12));
        assert_eq!(method.line(-1), None);
    }

    #[test]
    fn the_same_stack_has_one_id_also_after_raw_ids_were_forgotten() {
        let traces = Traces::default();
        let first = traces.add(&[], stack(1));
        assert_eq!(first, TraceId(1));
        traces.forget_ids();
        assert_eq!(traces.known(&[]), None);
        assert_eq!(traces.add(&[], stack(1)), first);
        assert_eq!(traces.add(&[], stack(2)), TraceId(2));
        assert_eq!(*traces.get(TraceId(2)).unwrap(), stack(2));
        assert!(traces.get(TraceId(0)).is_none());
    }

    #[test]
    fn too_many_stacks_share_the_unknown_id_and_are_counted() {
        let traces = Traces::default();
        for line in 0..=i32::try_from(MAX_TRACES).unwrap() {
            traces.add(&[], stack(line));
        }
        assert_eq!(traces.counts(), (MAX_TRACES, 1));
    }
}
