//! Collapses the repetitions of a path: a list's `next`, a tree's `left` and `right`, structures that alternate.

use super::sigs::Step;

/// Steps that follow each other alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Class of the object.
    pub class: u32,
    /// The edge to it.
    pub step: Step,
    /// Place of the first such step on the path.
    pub first: usize,
    /// How many there are.
    pub length: u32,
}

/// Longest repeating group.
const MAX_PERIOD: usize = 4;

impl Run {
    /// The same class by the same edge; inside a structure of one class by any of its fields.
    fn like(&self, other: &Self) -> bool {
        self.class == other.class && self.step == other.step
    }
}

/// The runs of a path. Equal steps collapse at once, groups of up to four at their third repetition.
#[must_use]
pub fn collapse(path: impl Iterator<Item = (u32, Step)>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (first, (class, step)) in path.enumerate() {
        let within = matches!(step, Step::Field(_)) && continues(&runs, class);
        match runs.last_mut() {
            Some(last) if within || is_run(last, class, step) => {
                last.length = last.length.saturating_add(1);
            }
            _ => {
                runs.push(Run {
                    class,
                    step,
                    first,
                    length: 1,
                });
                fold_period(&mut runs);
            }
        }
    }
    runs
}

fn is_run(last: &Run, class: u32, step: Step) -> bool {
    matches!(step, Step::Field(_)) && last.class == class && last.step == step
}

/// Whether the last two runs are already of one class: a structure that links to itself.
fn continues(runs: &[Run], class: u32) -> bool {
    let [.., before, last] = runs else {
        return false;
    };
    before.class == class && last.class == class && matches!(last.step, Step::Field(_))
}

/// Folds the last group of runs into the one before when it repeats for the third time, or goes on repeating.
fn fold_period(runs: &mut Vec<Run>) {
    for period in 2..=MAX_PERIOD {
        let Some(split) = runs.len().checked_sub(period) else {
            return;
        };
        let Some(before) = split.checked_sub(period) else {
            return;
        };
        let repeats = |from: usize| (0..period).all(|i| alike(runs, from + i, split + i));
        let goes_on = runs.get(before).is_some_and(|run| run.length > 1)
            || before.checked_sub(period).is_some_and(repeats);
        if repeats(before) && goes_on {
            let third = (before.checked_sub(period)).filter(|at| {
                (0..period).all(|i| alike(runs, at + i, split + i))
                    && runs.get(*at).is_some_and(|run| run.length == 1)
            });
            let last = runs.split_off(split);
            add(runs, before, &last);
            if let Some(at) = third {
                let second = runs.split_off(before);
                add(runs, at, &second);
            }
            return;
        }
    }
}

fn alike(runs: &[Run], a: usize, b: usize) -> bool {
    matches!((runs.get(a), runs.get(b)), (Some(a), Some(b)) if a.like(b))
}

fn add(runs: &mut [Run], at: usize, repeated: &[Run]) {
    for (i, run) in repeated.iter().enumerate() {
        if let Some(kept) = runs.get_mut(at + i) {
            kept.length = kept.length.saturating_add(run.length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &[(u32, Step)]) -> Vec<(u32, u32)> {
        collapse(path.iter().copied())
            .into_iter()
            .map(|run| (run.class, run.length))
            .collect()
    }

    const ITEM: Step = Step::Field(7);
    const NEXT: Step = Step::Field(1);
    const LEFT: Step = Step::Field(2);

    #[test]
    fn a_list_is_two_hops() {
        let mut path = vec![(1, ITEM)];
        path.extend([(1, NEXT); 1000]);
        path.push((2, ITEM));
        assert_eq!(told(&path), [(1, 1), (1, 1000), (2, 1)]);
    }

    #[test]
    fn a_tree_is_one_run_whichever_way_it_turns() {
        let mut path = vec![(1, ITEM)];
        for i in 0..40 {
            path.push((1, if i % 3 == 0 { NEXT } else { LEFT }));
        }
        assert_eq!(told(&path), [(1, 1), (1, 40)]);
    }

    #[test]
    fn alternating_classes_collapse_whatever_their_number() {
        for times in [3, 4, 5, 100, 1001] {
            let mut path = vec![(9, ITEM)];
            for _ in 0..times {
                path.extend([(1, NEXT), (2, LEFT)]);
            }
            path.push((3, ITEM));
            assert_eq!(
                told(&path),
                [(9, 1), (1, times), (2, times), (3, 1)],
                "{times}"
            );
        }
    }

    #[test]
    fn a_map_in_a_map_is_not_a_repetition() {
        let table = (2, Step::Field(0));
        let node = (3, Step::Element);
        let value = (1, Step::Field(2));
        let path = [
            (1, ITEM),
            table,
            node,
            value,
            table,
            node,
            (4, Step::Field(2)),
        ];
        assert_eq!(told(&path).len(), 7);
    }

    #[test]
    fn array_elements_of_arrays_are_no_run() {
        assert_eq!(
            told(&[(1, ITEM), (1, Step::Element), (1, Step::Element)]).len(),
            3
        );
    }
}
