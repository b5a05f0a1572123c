use super::*;
use crate::liveness::ThreadFold;
use crate::tick::Epoch;

fn signal() -> LeakSignal {
    LeakSignal::new(Improvements::default())
}

fn class(class: u32, ages: u32, survivors: u32) -> ClassFold {
    ClassFold {
        class: ClassId(class),
        ages,
        survivors,
        retained: Bytes(u64::from(survivors) * 5_000_000),
        threads: vec![ThreadFold {
            thread: ThreadId(1),
            ages,
            survivors,
        }],
        ..ClassFold::default()
    }
}

fn fold(s: &mut LeakSignal, classes: Vec<ClassFold>) {
    let n = s.folds();
    s.fold(
        Tick(n * 1000),
        &FoldSummary {
            epoch: Epoch(n),
            classes,
            ..FoldSummary::default()
        },
    );
}

fn leak(s: &mut LeakSignal, folds: std::ops::Range<u32>) {
    for n in folds {
        fold(s, vec![class(1, n, n * 3)]);
    }
}

#[test]
fn ten_values_then_five_qualifying_folds_make_a_candidate() {
    let mut s = signal();
    leak(&mut s, 1..10);
    assert_eq!(
        s.standing_of(ClassId(1)).unwrap().state,
        CandidateState::Filling
    );
    leak(&mut s, 10..14);
    let standing = s.standing_of(ClassId(1)).unwrap();
    assert_eq!(
        (standing.state, standing.values, standing.folds),
        (CandidateState::Rising, 13, 4)
    );
    assert!(s.select().is_empty());
    leak(&mut s, 14..15);
    assert_eq!(s.select().as_slice()[0].class, ClassId(1));
    assert_eq!(s.select().as_slice()[0].threads.as_slice(), [ThreadId(1)]);
}

#[test]
fn three_folds_suffice_while_the_heap_floor_rises() {
    let mut s = signal();
    s.set_floor_rising(true);
    leak(&mut s, 1..12);
    assert!(s.select().is_empty());
    leak(&mut s, 12..13);
    assert_eq!(s.select().len(), 1);
    s.set_floor_rising(false);
    assert!(s.select().is_empty());
}

#[test]
fn a_failed_fold_resets_the_count() {
    let mut s = signal();
    leak(&mut s, 1..20);
    assert_eq!(s.select().len(), 1);
    for _ in 0..12 {
        fold(&mut s, vec![class(1, 0, 0)]);
    }
    let standing = s.standing_of(ClassId(1)).unwrap();
    assert_eq!((standing.folds, s.select().len()), (0, 0));
}

#[test]
fn a_zero_is_pushed_for_a_class_without_survivors() {
    let run = |zero_push| {
        let mut s = LeakSignal::new(Improvements {
            zero_push,
            ..Improvements::default()
        });
        leak(&mut s, 1..20);
        for _ in 0..30 {
            fold(&mut s, vec![class(1, 0, 0)]);
        }
        s.select().len()
    };
    assert_eq!(run(true), 0);
    assert_eq!(run(false), 1, "silence keeps a finished leak on the list");
}

#[test]
fn one_allocating_thread_must_qualify() {
    let mut s = signal();
    for n in 1..20 {
        let mut c = class(1, n, n);
        // Each fold another thread with one instance: none has a trend or eight retained.
        c.threads = vec![ThreadFold {
            thread: ThreadId(u64::from(n)),
            ages: 1,
            survivors: 1,
        }];
        fold(&mut s, vec![c]);
    }
    assert_eq!(
        s.standing_of(ClassId(1)).unwrap().state,
        CandidateState::NoThread
    );
    assert!(s.select().is_empty());
}

#[test]
fn eight_retained_instances_qualify_a_thread_without_a_trend() {
    let mut s = signal();
    for n in 1..15 {
        let mut c = class(1, n, n * 9);
        c.threads = vec![
            ThreadFold {
                thread: ThreadId(5),
                ages: 4,
                survivors: 8,
            },
            ThreadFold {
                thread: ThreadId(6),
                ages: 4,
                survivors: 7,
            },
        ];
        fold(&mut s, vec![c]);
    }
    assert_eq!(s.select().as_slice()[0].threads.as_slice(), [ThreadId(5)]);
}

#[test]
fn a_threads_own_trend_needs_six_values() {
    let mut s = signal();
    for n in 1..16 {
        let mut c = class(1, n, n * 9);
        c.threads = vec![ThreadFold {
            thread: ThreadId(5),
            ages: n / 2,
            survivors: 7,
        }];
        fold(&mut s, vec![c]);
    }
    assert_eq!(s.select().as_slice()[0].threads.as_slice(), [ThreadId(5)]);
}

#[test]
fn at_most_five_candidates_by_retained_bytes_then_growth() {
    let run = |rank_by_bytes| {
        let mut s = LeakSignal::new(Improvements {
            rank_by_bytes,
            ..Improvements::default()
        });
        for n in 1..16 {
            // Class 9 grows fastest in ages and holds next to nothing (warm-up internals).
            let mut warm = class(9, n * 3, n * 3);
            warm.retained = Bytes(1_000);
            warm.threads[0].survivors = 8;
            let mut all: Vec<ClassFold> = (1..=6).map(|c| class(c, n, n * c)).collect();
            all.push(warm);
            fold(&mut s, all);
        }
        s.select().iter().map(|c| c.class.0).collect::<Vec<_>>()
    };
    assert_eq!(run(true), [6, 5, 4, 3, 2]);
    assert_eq!(
        run(false)[0],
        9,
        "growth alone puts warm-up internals first"
    );
}

#[test]
fn an_outranked_class_is_told_so() {
    let mut s = signal();
    for n in 1..16 {
        fold(&mut s, (1..=6).map(|c| class(c, n, n * c)).collect());
    }
    let states: Vec<_> = s.standings().map(|x| x.state).collect();
    assert_eq!(
        states
            .iter()
            .filter(|x| **x == CandidateState::Qualified)
            .count(),
        5
    );
    assert_eq!(states[0], CandidateState::Outranked);
}

#[test]
fn two_hundred_fifty_six_classes_least_recently_updated_goes_first() {
    let mut s = signal();
    fold(&mut s, (0..256).map(|c| class(c, 1, 1)).collect());
    fold(&mut s, (1..256).map(|c| class(c, 1, 1)).collect());
    fold(&mut s, vec![class(999, 1, 1)]);
    assert_eq!(s.followed().count(), 256);
    assert!(s.standing_of(ClassId(0)).is_none() && s.standing_of(ClassId(999)).is_some());
}

#[test]
fn a_class_beyond_a_full_fold_is_refused_instead_of_thrashing() {
    let mut s = signal();
    for _ in 0..12 {
        fold(&mut s, (0..300).map(|c| class(c, 1, 1)).collect());
    }
    assert_eq!(s.standing_of(ClassId(0)).unwrap().values, 12);
    assert_eq!(s.refused(), 12 * 44);
}

#[test]
fn a_zero_does_not_keep_a_class_in_the_table() {
    let mut s = signal();
    fold(&mut s, (0..256).map(|c| class(c, 1, 1)).collect());
    let zero_at_100 = |c| class(c, u32::from(c != 100), u32::from(c != 100));
    fold(&mut s, (0..256).map(zero_at_100).collect());
    fold(&mut s, vec![class(999, 1, 1)]);
    assert!(s.standing_of(ClassId(100)).is_none());
    assert!(s.standing_of(ClassId(0)).is_some());
}

#[test]
fn a_plateau_is_no_candidate_and_a_leak_after_it_is_one() {
    let mut s = signal();
    let run = |s: &mut LeakSignal, folds: u32, survivors: &dyn Fn(u32) -> (u32, u32)| {
        for n in 0..folds {
            // Ages that rise by chance, as noise does.
            let (alive, died) = survivors(n);
            let mut c = class(1, n + 1, alive);
            c.died = died;
            fold(s, vec![c]);
        }
        s.standing_of(ClassId(1)).unwrap().state
    };
    assert_eq!(
        run(&mut s, 20, &|n| (40 + n % 3, 8)),
        CandidateState::Plateau
    );
    assert!(s.select().is_empty());
    assert_eq!(
        run(&mut s, 40, &|n| (40 + 9 * n, 8)),
        CandidateState::Qualified
    );
}

#[test]
fn growth_per_hour_is_fitted_over_retained_bytes() {
    let mut s = signal();
    leak(&mut s, 1..12);
    let growth = s.standing_of(ClassId(1)).unwrap().growth_per_hour.unwrap();
    assert!(
        (growth - 15_000_000.0 * 3600.0).abs() < 1e-3 * growth,
        "{growth}"
    );
}

#[test]
fn of_equal_bytes_the_faster_growth_ranks_first_and_of_equals_the_first_seen() {
    let order = |growths: [u32; 3]| {
        let mut s = signal();
        for n in 1..16 {
            let all = growths.iter().zip(1..).map(|(g, id)| ClassFold {
                retained: Bytes(7),
                ..class(id, n * g, 9)
            });
            fold(&mut s, all.collect());
        }
        s.select().iter().map(|c| c.class.0).collect::<Vec<_>>()
    };
    assert_eq!(order([1, 3, 2]), [2, 3, 1]);
    assert_eq!(order([2, 2, 2]), [1, 2, 3]);
}

#[test]
fn a_candidate_is_confirmed_by_an_old_collection_after_its_rise_began() {
    let mut s = signal();
    s.set_old_collections(7);
    leak(&mut s, 1..16);
    let confirmed = |s: &LeakSignal| s.standing_of(ClassId(1)).unwrap().confirmed;
    assert!(!confirmed(&s));
    s.set_old_collections(8);
    assert!(confirmed(&s));
}

#[test]
fn a_count_of_old_collections_that_goes_back_still_confirms() {
    let mut s = signal();
    s.set_old_collections(700);
    leak(&mut s, 1..16);
    s.set_old_collections(2);
    let confirmed = |s: &LeakSignal| s.standing_of(ClassId(1)).unwrap().confirmed;
    assert!(!confirmed(&s));
    s.set_old_collections(3);
    assert!(confirmed(&s));
}

#[test]
fn ten_values_are_enough_to_rise_and_a_class_seen_first_again_later_keeps_its_values() {
    let mut s = signal();
    leak(&mut s, 1..11);
    let standing = s.standing_of(ClassId(1)).unwrap();
    assert_eq!(
        (standing.state, standing.values, standing.folds),
        (CandidateState::Rising, 10, 1)
    );
}
