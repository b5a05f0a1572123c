use std::sync::mpsc;

use chain_core::Tick;
use jfr_format::schema::events::UrgencyLatch;

use super::*;
use crate::record::Item;

/// Plays what the test sends, and sends what it was given.
struct Script {
    looks: mpsc::Receiver<Result<Option<Sight>, Never>>,
    commits: mpsc::Sender<u64>,
    last: Result<Option<Sight>, Never>,
    looked: mpsc::Sender<()>,
}

impl Flight for Script {
    fn look(&mut self) -> Result<Option<Sight>, Never> {
        if let Ok(next) = self.looks.try_recv() {
            self.last = next;
            let _gone = self.looked.send(());
        }
        self.last.clone()
    }

    fn commit(&mut self, emission: &Emission) -> Result<u64, String> {
        if emission.at.0 == 13 {
            return Err("refused".into());
        }
        self.commits
            .send(emission.at.0)
            .map_err(|e| e.to_string())?;
        Ok(1)
    }
}

struct Stage {
    recordings: Recordings,
    looks: mpsc::Sender<Result<Option<Sight>, Never>>,
    commits: mpsc::Receiver<u64>,
    looked: mpsc::Receiver<()>,
}

impl Stage {
    fn new() -> Self {
        let (looks, looks_in) = mpsc::channel();
        let (commits_out, commits) = mpsc::channel();
        let (looked_out, looked) = mpsc::channel();
        let recordings = Recordings::begin(move |serve| {
            let mut script = Script {
                looks: looks_in,
                commits: commits_out,
                last: Ok(None),
                looked: looked_out,
            };
            serve(&mut script);
        });
        Self {
            recordings: recordings.unwrap(),
            looks,
            commits,
            looked,
        }
    }

    /// The thread sees this; what the worker then learns.
    fn look(&mut self, sight: Result<Option<Sight>, Never>) -> Option<Change> {
        let again = sight.clone();
        self.looks.send(sight).unwrap();
        self.looked.recv().unwrap();
        // The same sight once more: when it is asked for, the first one has been taken in.
        if again.is_ok() {
            self.looks.send(again).unwrap();
            self.looked.recv().unwrap();
        }
        self.recordings.take_change()
    }

    fn offer(&self, at: u64) {
        self.recordings.offer(Emission {
            at: Tick(at),
            what: Item::Event(Box::new(UrgencyLatch::default().into())),
        });
    }
}

fn running(ids: &[i64]) -> Result<Option<Sight>, Never> {
    Ok(Some(Sight {
        enabled: true,
        running: ids.to_vec(),
    }))
}

fn disabled(ids: &[i64]) -> Result<Option<Sight>, Never> {
    Ok(Some(Sight {
        enabled: false,
        running: ids.to_vec(),
    }))
}

#[test]
fn a_search_lives_while_a_recording_has_the_events_enabled() {
    let mut stage = Stage::new();
    assert_eq!(stage.look(Ok(None)), None);
    assert_eq!(stage.look(disabled(&[1])), None);
    assert_eq!(stage.look(running(&[1])), Some(Change::Started));
    assert_eq!(stage.look(running(&[1])), None);
    assert_eq!(stage.look(disabled(&[1])), Some(Change::Stopped));
    assert!(stage.recordings.end(Duration::from_secs(60)));
}

#[test]
fn every_further_recording_is_a_start() {
    let mut stage = Stage::new();
    assert_eq!(stage.look(running(&[1])), Some(Change::Started));
    assert_eq!(stage.look(running(&[1, 2])), Some(Change::Started));
    assert_eq!(stage.look(running(&[2])), None);
    assert_eq!(stage.look(running(&[2, 3])), Some(Change::Started));
    assert!(stage.recordings.end(Duration::from_secs(60)));
}

#[test]
fn what_was_offered_is_committed_before_the_end() {
    let mut stage = Stage::new();
    stage.look(running(&[1]));
    for at in [1, 13, 2] {
        stage.offer(at);
    }
    let counters = {
        let Stage {
            recordings,
            commits,
            ..
        } = stage;
        let shared = std::sync::Arc::clone(&recordings.shared);
        assert!(recordings.end(Duration::from_secs(60)));
        assert_eq!(commits.iter().collect::<Vec<_>>(), [1, 2]);
        shared.counters()
    };
    assert_eq!(
        counters,
        Counters {
            committed: 2,
            dropped: 1
        }
    );
}

#[test]
fn a_jvm_without_jfr_is_said_once_and_ends_the_thread() {
    let mut stage = Stage::new();
    stage.look(Err(Never::Absent));
    let shared = std::sync::Arc::clone(&stage.recordings.shared);
    shared.wait_for_end();
    let notices = stage.recordings.take_notices();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].0, "jfr-absent");
    assert!(stage.recordings.take_notices().is_empty());
    assert!(stage.recordings.end(Duration::from_secs(60)));
}
