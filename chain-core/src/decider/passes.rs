//! What a pass changes, how a search ends, and what must have happened before the next one.

use super::*;

impl Decider {
    pub(super) fn pass(&mut self, now: Tick, report: &PassReport) {
        let expected = matches!(self.in_flight, Some(Action::RunPass(p)) if p.search == report.search && p.pass == report.pass);
        self.answered(|a| matches!(a, Action::RunPass(p) if p.search == report.search));
        self.last_pass = (
            report.heap_walk,
            report.wall.saturating_sub(report.heap_walk),
        );
        self.schedule.charge(now, report);
        let Phase::Running(search) = &mut self.phase else {
            self.late(report);
            return;
        };
        if search.id != report.search || !expected {
            self.late(report);
            return;
        }
        let concurrent = self.tuned.concurrent;
        let budget = self.pacing.edge_budget();
        let with_roots = report.roots.attempted();
        if with_roots {
            self.pacing.root_pass(report.heap_walk);
        } else {
            self.pacing.ordinary_pass(report.heap_walk);
        }
        let pursued = search.unresolved() > 0;
        let absorbed = search.absorb(now, report, concurrent);
        if pursued {
            let duration = if concurrent {
                report.heap_walk
            } else {
                report.wall
            };
            search
                .backoff
                .pass(duration.as_millis_f64(), with_roots, absorbed.progress);
        }
        let id = search.id;
        self.pass_ended = true;
        self.output.pass(now, report, search, &absorbed, budget);
        for class in absorbed.resolved.iter() {
            self.commit(Commit {
                class: *class,
                search: id,
                provisional: false,
            });
            let chain = strongest(report, *class);
            self.settled.resolve(now, *class, chain);
        }
        self.commit_more(report);
        self.climb(now);
    }

    /// Further chains of classes that are resolved already.
    pub(super) fn commit_more(&mut self, report: &PassReport) {
        let Phase::Running(search) = &self.phase else {
            return;
        };
        let id = search.id;
        let resolved: InlineVec<ClassId, MAX_CANDIDATES> = search
            .targets
            .iter()
            .filter(|t| t.resolved)
            .map(|t| t.class)
            .collect();
        for class in resolved.iter() {
            let commit = Commit {
                class: *class,
                search: id,
                provisional: false,
            };
            let found = report
                .chains
                .iter()
                .any(|c| c.verified && c.candidate == *class);
            if found && !self.commits.contains(&commit) {
                self.commit(commit);
            }
        }
    }

    /// A pass of a search that has ended meanwhile: what it found is not lost.
    pub(super) fn late(&mut self, report: &PassReport) {
        for chain in report.chains.iter().filter(|c| c.verified) {
            let commit = Commit {
                class: chain.candidate,
                search: report.search,
                provisional: true,
            };
            if !self.commits.contains(&commit) {
                self.commit(commit);
            }
        }
        if let Phase::Releasing { search, .. } = &mut self.phase
            && search.id == report.search
        {
            search.heap_walk = search.heap_walk.saturating_add(report.heap_walk);
        }
    }

    /// The ladder after a pass.
    pub(super) fn climb(&mut self, now: Tick) {
        let Phase::Running(s) = &self.phase else {
            return;
        };
        let progress = ladder::Progress {
            frontier_cap_hit: s.frontier_cap_hit,
            root_errors: s.root_errors,
            drained: s.drained,
            truncated: s.truncated,
            roots_complete: s.roots_settled(),
            unresolved: s.unresolved(),
            lost: s.lost(),
            ttl: self.ttl(),
            elapsed: s.ttl_elapsed(now),
            urgent: self.exhaustion.latch.is_set(),
            stalled: s.stalled,
            stalled_raw: s.stalled_raw,
            without_progress: s.without_progress,
            stuck_searches: self.stuck,
            distinct_reasons: self.config.improvements.distinct_reasons,
        };
        if let Some(outcome) = ladder::outcome(&progress) {
            self.finish(now, outcome);
        }
    }

    /// The time to live in force: with the concurrent engine at least four estimated walks.
    pub(super) fn ttl(&self) -> Millis {
        if self.tuned.ttl.0 == 0 || !self.tuned.concurrent {
            return self.tuned.ttl;
        }
        let used = self.exhaustion.usage.last().map_or(Bytes(0), |u| u.1);
        let edges = used.0 / tuning::BYTES_PER_EDGE;
        let walk_ms = edges.saturating_mul(1000) / tuning::EDGES_PER_SECOND;
        Millis(
            self.tuned
                .ttl
                .0
                .max(walk_ms.saturating_mul(tuning::TTL_WALKS)),
        )
    }

    /// Ends the running search, if any: results are written first, then the outcome.
    pub(super) fn finish(&mut self, now: Tick, outcome: Outcome) {
        let search = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Running(search) => search,
            other => {
                self.phase = other;
                return;
            }
        };
        for t in search.targets.iter().filter(|t| !t.resolved) {
            if t.any {
                self.commit(Commit {
                    class: t.class,
                    search: search.id,
                    provisional: true,
                });
            }
            if outcome != Outcome::Stopped && (t.any || !t.late) {
                self.settled.lose(now, t.class);
            }
        }
        match outcome {
            Outcome::Abandoned(Reason::CanaryStuck) => self.stuck = self.stuck.saturating_add(1),
            Outcome::Stopped => {}
            _ => self.stuck = 0,
        }
        let stall = search.stall();
        (self.carried_stall, self.carried_frontier) = (stall.passes, stall.frontier);
        self.output.ended(now, &search, outcome);
        if !matches!(self.in_flight, Some(Action::Sweep | Action::Reverify)) {
            self.in_flight = None;
        }
        self.phase = Phase::Releasing {
            search,
            tries: 0,
            next_try: now,
        };
    }

    pub(super) fn released(&mut self, now: Tick, report: ReleaseReport) {
        self.answered(|a| matches!(a, Action::ReleaseTags(id) if id == report.search));
        let Phase::Releasing {
            search,
            tries,
            next_try,
        } = &mut self.phase
        else {
            return;
        };
        if search.id != report.search {
            return;
        }
        *tries += 1;
        let give_up = self.stopping && *tries >= tuning::RELEASE_TRIES_AT_STOP;
        if !report.complete {
            *next_try = now.after(Millis(tuning::RELEASE_RETRY));
            self.output.release_failed(now, report);
            if !give_up {
                return;
            }
        }
        // Once, after the tags are released and before a successor is considered.
        self.safepoint.charge(now, search.heap_walk);
        self.phase = Phase::Idle;
        self.check_now = true;
    }

    pub(super) fn commit(&mut self, commit: Commit) {
        self.committed = true;
        if self.recording && self.reverify_at.is_none() {
            // The period runs from the commit itself: that one was just written.
            self.reverify_at = Some(self.asked.after(Millis(tuning::REVERIFY_PERIOD)));
        }
        self.commits.push(commit);
    }
}

/// The chain that makes a class resolved: durable before others, then by instances.
fn strongest(report: &PassReport, class: ClassId) -> ShortId {
    report
        .chains
        .iter()
        .filter(|c| c.candidate == class && c.verified)
        .min_by_key(|c| {
            (
                c.chain.strength != Strength::Durable,
                std::cmp::Reverse(c.instances),
            )
        })
        .map_or(ShortId(0), |c| c.signature)
}
