//! Reads a generated unified log of `MIB` MiB and prints what it took: `gc MIB`.
//!
//! The log is made while it is read, so that it takes neither memory nor disk.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::alloc::System;
use std::fmt::Write as _;
use std::io::{BufReader, Read};
use std::time::Instant;

use cap::Cap;
use cpu_time::ProcessTime;
use jfr_chains_analyzer::gc::findings;
use jfr_chains_analyzer::gc::intake::Intake;
use jfr_chains_analyzer::gc::lines;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

fn main() {
    let mib = std::env::args().filter(|a| a != "--bench").nth(1);
    let Some(mib) = mib.and_then(|m| m.parse::<u64>().ok()) else {
        // `cargo test --benches` starts every benchmark without arguments.
        eprintln!("usage: gc MIB");
        return;
    };
    let mut log = Log::new(mib << 20);
    let mut generated = Vec::new();
    // What making the log costs, to be taken off.
    let cpu = ProcessTime::now();
    Log::new((mib << 20).min(64 << 20))
        .read_to_end(&mut generated)
        .unwrap();
    let making = cpu.elapsed().as_secs_f64() / generated.len() as f64;
    drop(generated);
    let before = ALLOCATOR.allocated();
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let mut intake = Intake::default();
    let mut bytes = 0;
    lines::read(
        BufReader::with_capacity(256 << 10, &mut log),
        &mut intake,
        &mut |b| bytes = b,
    )
    .unwrap();
    let found = intake
        .jvms
        .iter()
        .map(|jvm| findings::find(jvm).len())
        .sum::<usize>();
    let cpu = cpu.elapsed().as_secs_f64() - making * bytes as f64;
    println!(
        "{{\"bytes\":{bytes},\"collections\":{},\"findings\":{found},\"wall_s\":{:.3},\"cpu_s\":{cpu:.3},\"mb_per_cpu_s\":{:.0},\"held_bytes\":{}}}",
        intake.jvms.first().unwrap().totals.young,
        wall.elapsed().as_secs_f64(),
        bytes as f64 / 1e6 / cpu,
        ALLOCATOR.allocated() - before
    );
}

/// A log of at least `left` bytes.
struct Log {
    block: String,
    at: usize,
    id: u64,
    left: u64,
}

impl Log {
    fn new(left: u64) -> Self {
        let block = "[0.010s][info][gc] Using G1\n[0.011s][info][gc,init] Heap Region Size: 1M\n"
            .to_owned();
        Self {
            block,
            at: 0,
            id: 0,
            left,
        }
    }
}

impl Read for Log {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.block.len() {
            if self.left == 0 {
                return Ok(0);
            }
            self.block.clear();
            self.at = 0;
            while self.block.len() < 64 << 10 {
                collection(self.id, &mut self.block);
                self.id += 1;
            }
            self.left = self.left.saturating_sub(self.block.len() as u64);
        }
        let mut rest = &self.block.as_bytes()[self.at..];
        let n = rest.read(buffer)?;
        self.at += n;
        Ok(n)
    }
}

/// About the lines of one collection under `-Xlog:gc*,gc+age=trace,gc+plab=debug,safepoint`.
fn collection(id: u64, out: &mut String) {
    let t = 1.0 + id as f64 * 0.5;
    let _ = write!(
        out,
        "[2026-11-30T09:47:58.498+0000][{t:.3}s][info ][gc,start    ] GC({id}) Pause Young (Normal) (G1 Evacuation Pause)\n\
         [2026-11-30T09:47:58.498+0000][{t:.3}s][info ][gc,task     ] GC({id}) Using 2 workers of 2 for evacuation\n\
         [2026-11-30T09:47:58.498+0000][{t:.3}s][debug][gc,age      ] GC({id}) Desired survivor size 4194304 bytes, new threshold 15 (max threshold 15)\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][debug][gc,plab     ] GC({id}) Young PLAB allocation: allocated: 366544B, wasted: 0B, unused: 358336B, used: 8208B, undo waste: 0B, \n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][debug][gc,plab     ] GC({id}) Old PLAB allocation: allocated: 2873656B, wasted: 14888B, unused: 48944B, used: 8224B, undo waste: 0B, \n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][debug][gc,plab     ] GC({id}) Old other allocation: region end waste: 20656B, regions filled: 7, num plab filled: 94, direct allocated: 0B, num direct allocated: 0, failure used: 0B, failure wasted: 0B\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,phases   ] GC({id})   Pre Evacuate Collection Set: 0.09ms\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,phases   ] GC({id})   Merge Heap Roots: 0.02ms\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,phases   ] GC({id})   Evacuate Collection Set: 7.71ms\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,phases   ] GC({id})   Post Evacuate Collection Set: 0.41ms\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][trace][gc,age      ] GC({id}) Age table:\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][trace][gc,age      ] GC({id}) - age   1:       8208 bytes,       8208 total\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,heap     ] GC({id}) Eden regions: 57->0(63)\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,heap     ] GC({id}) Survivor regions: 1->1(8)\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,heap     ] GC({id}) Old regions: 9->9\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,heap     ] GC({id}) Humongous regions: 0->0\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,metaspace] GC({id}) Metaspace: 3484K(3584K)->3484K(3584K) NonClass: 3095K(3136K)->3095K(3136K) Class: 388K(448K)->388K(448K)\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc          ] GC({id}) Pause Young (Normal) (G1 Evacuation Pause) 65M->8M(256M) 8.404ms\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][gc,cpu      ] GC({id}) User=0.00s Sys=0.01s Real=0.01s\n\
         [2026-11-30T09:47:58.506+0000][{t:.3}s][info ][safepoint   ] Safepoint \"G1CollectForAllocation\", Time since last: 44510716 ns, Reaching safepoint: 9627 ns, At safepoint: 8423431 ns, Leaving safepoint: 2998 ns, Total: 8433057 ns, Threads: 1 runnable, 12 total\n"
    );
}
