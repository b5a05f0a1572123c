use super::*;

fn sample(id: u32, class: u32, epoch: u64) -> Sample {
    Sample {
        id: SampleId(id),
        class: ClassId(class),
        thread: ThreadId(u64::from(id % 3)),
        object: Bytes(100),
        weight: Bytes(1000),
        epoch: Epoch(epoch),
        ..Sample::default()
    }
}

fn at(t: &mut Tracker, epoch: u64) -> FoldSummary {
    t.set_epoch(Epoch(epoch));
    t.fold(epoch, &[])
}

#[test]
fn the_value_is_the_number_of_distinct_ages_not_the_population() {
    let mut t = Tracker::new(100, 100, None);
    for (id, epoch) in [(1, 1), (2, 1), (3, 1), (4, 2), (5, 4)] {
        t.add(sample(id, 7, epoch));
    }
    let f = at(&mut t, 4);
    assert_eq!((f.classes[0].ages, f.classes[0].survivors), (2, 4));
    assert_eq!(f.classes[0].retained, Bytes(4000));
    let f = at(&mut t, 5);
    assert_eq!((f.classes[0].ages, f.classes[0].survivors), (3, 5));
    assert_eq!(f.tracked, 5);
}

#[test]
fn age_zero_has_survived_nothing() {
    let mut t = Tracker::new(100, 100, None);
    t.add(sample(1, 7, 9));
    assert!(at(&mut t, 9).classes.is_empty());
    assert_eq!(at(&mut t, 10).classes.len(), 1);
}

#[test]
fn coalesced_gcs_still_give_distinct_ages() {
    let mut t = Tracker::new(100, 100, None);
    for epoch in 1..=10u32 {
        t.add(sample(epoch, 7, u64::from(epoch)));
    }
    assert_eq!(at(&mut t, 11).classes[0].ages, 10);
}

#[test]
fn a_followed_class_without_survivors_gets_a_zero() {
    let mut t = Tracker::new(100, 100, None);
    t.add(sample(1, 7, 1));
    at(&mut t, 2);
    t.set_epoch(Epoch(3));
    t.swept(&[SampleId(1)]);
    let f = t.fold(3, &[ClassId(7), ClassId(8)]);
    assert_eq!(
        f.classes
            .iter()
            .map(|c| (c.class.0, c.survivors, c.died))
            .collect::<Vec<_>>(),
        [(7, 0, 1), (8, 0, 0)]
    );
    assert_eq!(t.take_released().collect::<Vec<_>>(), [SampleId(1)]);
}

#[test]
fn only_what_had_survived_a_fold_counts_as_died() {
    let mut t = Tracker::new(100, 100, None);
    at(&mut t, 1);
    t.add(sample(1, 7, 1));
    t.set_epoch(Epoch(2));
    t.swept(&[SampleId(1)]);
    let f = t.fold(2, &[ClassId(7)]);
    assert_eq!(f.classes[0].died, 0);
}

#[test]
fn threads_are_ranked_by_retained_instances_and_bounded() {
    let mut t = Tracker::new(100, 100, None);
    for id in 0..60 {
        let mut s = sample(id, 7, 1);
        s.thread = ThreadId(u64::from(id).isqrt());
        t.add(s);
    }
    let f = at(&mut t, 2);
    let threads = &f.classes[0].threads;
    assert_eq!(threads.len(), 8);
    assert_eq!(
        (threads[0].thread, threads[0].survivors, threads[0].ages),
        (ThreadId(6), 13, 1)
    );
}

#[test]
fn a_full_table_sweeps_grows_retries_once_then_drops_and_counts() {
    let mut t = Tracker::new(2, 4, None);
    t.set_epoch(Epoch(1));
    for id in 0..2 {
        assert_eq!(t.add(sample(id, 7, 0)), Admitted::Tracked);
    }
    assert_eq!(t.add(sample(2, 7, 1)), Admitted::Pending);
    assert!(t.wants_sweep());
    t.swept(&[]);
    assert_eq!((t.len(), t.wants_sweep()), (3, false));
    assert_eq!(t.add(sample(3, 7, 1)), Admitted::Tracked);
    assert!(t.at_limit());
    assert_eq!(
        t.add(sample(4, 7, 1)),
        Admitted::Dropped,
        "no epoch since the sweep: nothing can have died"
    );
    t.set_epoch(Epoch(2));
    assert_eq!(t.add(sample(5, 7, 2)), Admitted::Pending);
    t.swept(&[SampleId(0)]);
    assert_eq!((t.len(), t.drops().0), (4, 1));
    assert_eq!(
        t.take_released().collect::<Vec<_>>(),
        [SampleId(4), SampleId(0)]
    );
    assert_eq!(t.fold(2, &[]).dropped, 1);
}

#[test]
fn waiting_samples_are_bounded() {
    let mut t = Tracker::new(1, 1, None);
    t.set_epoch(Epoch(5));
    for id in 0..400 {
        t.add(sample(id, 7, 5));
    }
    assert_eq!(t.drops().0, 400 - 1 - 256);
    t.swept(&[SampleId(7)]);
    assert_eq!((t.len(), t.take_released().count()), (1, 399));
}

#[test]
fn generational_zgc_is_bounded_in_bytes_by_a_reservoir_not_first_come() {
    let mut t = Tracker::new(100_000, 100_000, Some(Bytes(1000)));
    for id in 0..10_000 {
        t.add(sample(id, 7, 0));
    }
    assert_eq!(t.len(), 10);
    assert_eq!(t.take_released().count(), 9_990);
    assert_eq!(t.drops(), (0, 9_990));
    let late = t.entries.iter().filter(|e| e.sample.id.0 >= 5_000).count();
    assert!((2..=8).contains(&late), "{late} of 10 from the second half");
    let mut big = sample(20_000, 7, 0);
    big.object = Bytes(2000);
    assert_eq!(t.add(big), Admitted::Dropped);
}

#[test]
fn reused_and_absurd_slots_are_refused() {
    let mut t = Tracker::new(10, 10, None);
    t.add(sample(1, 7, 0));
    assert_eq!(t.add(sample(1, 8, 0)), Admitted::Dropped);
    assert_eq!(t.add(sample(u32::MAX, 8, 0)), Admitted::Dropped);
    t.swept(&[SampleId(99), SampleId(u32::MAX)]);
    assert_eq!(t.len(), 1);
}

#[test]
fn at_most_256_classes_by_retained_bytes() {
    let mut t = Tracker::new(1000, 1000, None);
    for id in 0..300 {
        let mut s = sample(id, id, 0);
        s.weight = Bytes(u64::from(id) + 1);
        t.add(s);
    }
    let f = at(&mut t, 1);
    assert_eq!((f.classes.len(), f.classes[0].class), (256, ClassId(299)));
}

#[test]
fn counts_return_to_nothing() {
    let mut t = Tracker::new(1000, 1000, None);
    for id in 0..300 {
        t.add(sample(id, id % 7, u64::from(id % 5)));
    }
    assert!(!t.is_empty());
    let all: Vec<SampleId> = (0..300).map(SampleId).collect();
    t.swept(&all);
    assert!(t.is_empty() && t.by_class.is_empty() && t.by_epoch.is_empty());
    assert!(t.by_thread.is_empty() && t.by_thread_epoch.is_empty());
}

#[test]
fn a_followed_class_is_told_once_with_survivors_or_with_zeros() {
    let mut t = Tracker::new(100, 100, None);
    t.add(sample(1, 7, 1));
    t.add(sample(2, 8, 3));
    t.set_epoch(Epoch(3));
    let f = t.fold(3, &[ClassId(7), ClassId(8)]);
    let told: Vec<_> = f.classes.iter().map(|c| (c.class.0, c.survivors)).collect();
    assert_eq!(told, [(7, 1), (8, 0)], "age 0 has survived nothing");
}

#[test]
fn threads_are_told_without_what_has_survived_nothing() {
    let mut t = Tracker::new(100, 100, None);
    let mut put = |id, thread, epoch| {
        let mut s = sample(id, 7, epoch);
        s.thread = ThreadId(thread);
        t.add(s);
    };
    for (id, thread, epoch) in [
        (1, 1, 1),
        (2, 1, 2),
        (3, 1, 5),
        (4, 1, 5),
        (5, 1, 6),
        (6, 2, 5),
        (7, 3, 1),
    ] {
        put(id, thread, epoch);
    }
    let f = at(&mut t, 5);
    let told: Vec<_> = f.classes[0]
        .threads
        .iter()
        .map(|t| (t.thread.0, t.ages, t.survivors))
        .collect();
    assert_eq!(told, [(1, 2, 2), (3, 1, 1)]);
}

#[test]
fn the_table_doubles_until_its_bound() {
    let mut t = Tracker::new(5, 30, None);
    t.swept(&[]);
    let mut grown = Vec::new();
    for id in 0..31 {
        assert!(!t.at_limit());
        t.add(sample(id, 7, 0));
        if grown.last() != Some(&t.capacity) {
            grown.push(t.capacity);
        }
        if id == 29 {
            break;
        }
    }
    assert_eq!(grown, [5, 10, 20, 30]);
    assert!(t.at_limit());
}

#[test]
fn the_reservoir_keeps_the_smallest_draws_of_all_that_came() {
    let mut t = Tracker::new(100_000, 100_000, Some(Bytes(1000)));
    for id in 0..500 {
        t.add(sample(id, 7, 0));
    }
    let mut lottery = Lottery::new(0x5eed);
    let mut draws: Vec<(u32, u32)> = (0..500).map(|id| (lottery.draw(), id)).collect();
    draws.sort_unstable();
    let mut kept: Vec<u32> = t.entries.iter().map(|e| e.sample.id.0).collect();
    let mut smallest: Vec<u32> = draws.iter().take(10).map(|d| d.1).collect();
    kept.sort_unstable();
    smallest.sort_unstable();
    assert_eq!(kept, smallest);
    assert_eq!(t.bytes, 1000);
}

#[test]
fn a_threads_age_goes_with_its_last_sample_of_an_epoch() {
    let mut t = Tracker::new(100, 100, None);
    for (id, epoch) in [(1, 1), (2, 1), (3, 2)] {
        let mut s = sample(id, 7, epoch);
        s.thread = ThreadId(1);
        t.add(s);
    }
    let told = |t: &mut Tracker| {
        let thread = at(t, 5).classes[0].threads[0];
        (thread.ages, thread.survivors)
    };
    assert_eq!(told(&mut t), (2, 3));
    t.swept(&[SampleId(1)]);
    assert_eq!(told(&mut t), (2, 2));
    t.swept(&[SampleId(2)]);
    assert_eq!(told(&mut t), (1, 1));
}
