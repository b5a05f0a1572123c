//! Huge logs are read in bounded memory.
#![allow(clippy::unwrap_used)]

use std::alloc::System;
use std::fmt::Write as _;
use std::io::{BufReader, Read};

use cap::Cap;
use jfr_chains_analyzer::gc::intake::Intake;
use jfr_chains_analyzer::gc::{findings, lines};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Enough collections to be thinned several times.
const COLLECTIONS: u64 = 100_000;
/// Source: the budget of private memory.
const BUDGET: usize = 64 << 20;

/// A Serial log made while it is read.
struct Log {
    block: Vec<u8>,
    at: usize,
    id: u64,
}

impl Read for Log {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.block.len() && self.id < COLLECTIONS {
            let mut text = String::new();
            for id in self.id..(self.id + 100).min(COLLECTIONS) {
                let t = id + 1;
                let _ = write!(
                    text,
                    "[{t}.001s][debug][gc,age] GC({id}) Desired survivor size 3342336 bytes, new threshold 15 (max threshold 15)\n\
                     [{t}.002s][info][gc] GC({id}) Pause Young (Allocation Failure) 52M->1M(249M) 2.000ms\n"
                );
            }
            self.id = (self.id + 100).min(COLLECTIONS);
            self.block = text.into_bytes();
            self.at = 0;
        }
        let n = self.block.get(self.at..).unwrap().read(buffer)?;
        self.at += n;
        Ok(n)
    }
}

#[test]
fn a_hundred_thousand_collections_stay_within_the_budget() {
    ALLOCATOR.set_limit(usize::MAX).unwrap();
    let log = Log {
        block: Vec::new(),
        at: 0,
        id: 0,
    };
    let mut intake = Intake::default();
    lines::read(BufReader::new(log), &mut intake, &mut |_| {}).unwrap();
    let jvm = intake.jvms.first().unwrap();
    let _ = findings::find(jvm);
    assert_eq!(jvm.totals.young, COLLECTIONS);
    assert_eq!(
        jvm.totals.thinned + jvm.collections.len() as u64,
        COLLECTIONS
    );
    assert!(jvm.totals.thinned > 0);
    let most = ALLOCATOR.max_allocated();
    assert!(most <= BUDGET, "{most} bytes");
}
