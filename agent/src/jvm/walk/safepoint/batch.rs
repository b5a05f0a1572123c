//! One pass of the safepoint engine: which objects go into a batch, and what becomes of what a call has met.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use chain_core::chain::Strength;
use chain_core::{Micros, PassPlan, PassReport};

use super::super::Host;
use super::super::frontier::{Frontier, Popped};
use super::super::layout::{Layout, Plan, Role};
use super::super::nodes::Edge;
use super::super::pass::{End, Pass, is_candidate};
use super::super::roots::Root;
use super::super::search::{Link, Stage, element};
use super::super::visited::{Key, Tags};
use super::gather::{Bounds, Cut, Entry, Gathered, Known, Met, gather};
use super::views::Views;
use crate::jvm::env::Obj;

/// Objects of one batch. A call's price on JDK 11 and 17 grows with the heap, so few large ones; but the newest objects
/// come first, and a batch that takes all of them looks at the widest level instead of going down.
const BATCH: usize = 1_024;
/// Batches below this size are read plainly: a list is a batch of one, and ten million calls of one hop help nobody.
const NARROW: usize = 16;
/// Referents that one call may meet; each takes 24 bytes while it lasts.
const MOST_MET: usize = 32_768;
/// Classes whose statics are read in one pass.
const CLASSES: u32 = 512;
/// Containers that are looked at again in one batch.
const LOOKS: usize = 256;
/// Arrays from this length on are read plainly, a part at a time.
const LONG_ARRAY: i32 = 4_096;
/// Referents whose edge changed before they were read, resolved by their tags after one call; the price of each grows
/// with the number of tags.
const MOST_LOST: usize = 200;
/// Tags resolved at once.
const RESOLVED: usize = 100;
/// How long a part of a pass lasts whose plan does not say.
const PART: Duration = Duration::from_millis(50);
/// Of the admissions of a pass, this many quarters are for the frontier, the rest for its oldest entries.
const ORDINARY_QUARTERS: u64 = 3;

/// What is kept between the passes of one search.
#[derive(Debug, Default)]
pub struct Batches {
    views: Views,
    meetings: u32,
    plans: u64,
    /// The JDK's statics are being read.
    platform_begun: bool,
}

/// One pass.
pub struct Turn<'t, 's, 'f> {
    pass: &'t mut Pass<'s, 'f>,
    kept: &'t mut Batches,
    tags: Tags,
    plan: &'t PassPlan,
    report: &'t mut PassReport,
    near: Frontier<'f>,
    budget: u64,
}

/// Which entries of the frontier come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Newest,
    Oldest,
}

/// Why expanding ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Empty,
    Budget,
    Deadline,
    Aborted,
}

impl<'t, 's, 'f> Turn<'t, 's, 'f> {
    /// A pass that goes on where the search stopped.
    pub fn new(
        pass: &'t mut Pass<'s, 'f>,
        kept: &'t mut Batches,
        tags: Tags,
        plan: &'t PassPlan,
        report: &'t mut PassReport,
    ) -> Self {
        let near = Frontier::resume(&mut pass.search.near);
        let budget = match (plan.edge_budget, plan.roots) {
            (0, _) => u64::MAX,
            (budget, false) => budget,
            (budget, true) => budget.max(plan.root_budget),
        };
        Self {
            pass,
            kept,
            tags,
            plan,
            report,
            near,
            budget,
        }
    }

    /// Takes up roots and expands until one of the bounds, or until nothing is left.
    pub fn run(mut self, host: &dyn Host) -> End {
        let end = self.parts(host);
        let lost = self.near.park(self.pass.jni, &mut self.pass.search.near);
        self.pass.search.evicted += lost as u64;
        end
    }

    fn parts(&mut self, host: &dyn Host) -> End {
        let mut classes = CLASSES;
        let statics_until = Instant::now() + part(self.plan.deadlines.statics);
        let mut threads_until = None;
        let mut expansion_until = None;
        let mut rotation_until = None;
        loop {
            self.take_up_roots(host, &mut classes, statics_until);
            let until = |at: &mut Option<Instant>, time| {
                *at.get_or_insert_with(|| Instant::now() + part(time))
            };
            let deadlines = self.plan.deadlines;
            std::mem::swap(&mut self.near, &mut self.pass.frontier);
            let near_until = until(&mut threads_until, deadlines.candidate_threads);
            let near = self.expand(Order::Newest, near_until, self.budget);
            std::mem::swap(&mut self.near, &mut self.pass.frontier);
            let ordinary = self.budget.saturating_mul(ORDINARY_QUARTERS) / 4;
            let usual_until = until(&mut expansion_until, deadlines.expansion);
            let usual = self.expand(Order::Newest, usual_until, ordinary);
            let oldest = match usual {
                Stop::Empty => Stop::Empty,
                _ => {
                    let oldest_until = until(&mut rotation_until, deadlines.rotation);
                    self.expand(Order::Oldest, oldest_until, self.budget)
                }
            };
            if [near, usual, oldest].contains(&Stop::Aborted) {
                return End::Aborted;
            }
            if self.report.frontier_cap_hit || self.spent(self.budget) {
                return End::Edges;
            }
            if [near, oldest].contains(&Stop::Deadline) {
                return End::Cpu;
            }
            if self.pass.search.stage != Stage::Done {
                if classes == 0 || Instant::now() >= statics_until {
                    return End::Edges;
                }
                continue;
            }
            if !self.look_again() && !self.pass.next_phase(host, self.plan) {
                return End::Drained;
            }
        }
    }

    /// Takes up containers to look at again; false when there is none.
    fn look_again(&mut self) -> bool {
        let mut any = false;
        while self.pass.frontier.width() < LOOKS && self.pass.look_again() {
            any = true;
        }
        any
    }

    /// What the callbacks know of classes holds while their plans do.
    fn follow_plans(&mut self) {
        if self.kept.plans != self.pass.catalogue.plans() {
            self.kept.plans = self.pass.catalogue.plans();
            self.kept.views.clear();
        }
    }

    fn spent(&self, budget: u64) -> bool {
        self.pass.new_nodes >= budget
    }

    fn is_aborted(&self) -> bool {
        self.pass.limits.abort.load(Ordering::Relaxed)
    }

    /// Whether the next roots are due: the JDK's own statics, which lead to most of what does not leak, wait until
    /// everything else was followed, and threads until little is left.
    fn roots_are_due(&self) -> bool {
        let left = self.pass.frontier.width() + self.near.width();
        match self.pass.search.stage {
            Stage::Start | Stage::ApplicationStatics => true,
            Stage::Threads => left < BATCH,
            Stage::PlatformStatics => left < BATCH && (left == 0 || self.kept.platform_begun),
            Stage::Done => false,
        }
    }

    /// Reads the statics of the next classes, or takes up the next threads. Each counts as one of `left`.
    fn take_up_roots(&mut self, host: &dyn Host, left: &mut u32, until: Instant) {
        while self.pass.search.stage != Stage::Done
            && *left > 0
            && !self.is_aborted()
            && !self.spent(self.budget)
            && Instant::now() < until
            && self.roots_are_due()
        {
            *left -= 1;
            let is_near = self.pass.search.stage == Stage::Threads
                && self.pass.search.threads.front().is_some_and(|(_, node)| {
                    let root = match self.pass.search.nodes.referrer(*node) {
                        Some(super::super::nodes::Referrer::Root(root)) => Some(root),
                        _ => None,
                    };
                    let root = root.and_then(|root| self.pass.search.roots.get(root));
                    matches!(root, Some(Root::Thread { id, .. }) if is_candidate(self.plan, *id))
                });
            if is_near {
                std::mem::swap(&mut self.near, &mut self.pass.frontier);
            }
            self.kept.platform_begun |= self.pass.search.stage == Stage::PlatformStatics;
            self.pass.take_up_roots(host, self.plan);
            if is_near {
                std::mem::swap(&mut self.near, &mut self.pass.frontier);
            }
        }
    }

    /// Expands the frontier, a batch at a time.
    fn expand(&mut self, order: Order, until: Instant, budget: u64) -> Stop {
        loop {
            if self.is_aborted() {
                return Stop::Aborted;
            }
            if self.spent(budget) {
                return Stop::Budget;
            }
            if Instant::now() >= until {
                return Stop::Deadline;
            }
            self.follow_plans();
            let Some(batch) = self.next_batch(order, until, budget) else {
                return Stop::Empty;
            };
            if batch.len() < NARROW {
                self.read_plainly(batch);
            } else {
                self.follow(batch, until, budget);
            }
            if self.plan.framecap > 0
                && (self.pass.frontier.width() + self.near.width()) as u64 > self.plan.framecap
            {
                self.report.frontier_cap_hit = true;
                return Stop::Budget;
            }
        }
    }

    /// The next objects to follow; `None` when the frontier is empty. What a heap walk cannot show is read on the way.
    fn next_batch(&mut self, order: Order, until: Instant, budget: u64) -> Option<Vec<Entry<'f>>> {
        let mut batch = Vec::new();
        let mut any = false;
        while batch.len() < BATCH && !self.spent(budget) && !self.is_aborted() {
            let popped = match order {
                Order::Newest => self.pass.frontier.pop_newest(self.pass.jni),
                Order::Oldest => self.pass.frontier.pop_oldest(self.pass.jni),
            };
            match popped {
                Popped::Empty => break,
                Popped::Dead(node) => {
                    any = true;
                    self.pass.search.died += 1;
                    self.pass.look_again_at_referrer(node);
                }
                Popped::Object(object, node, cursor) => {
                    any = true;
                    let class = self.pass.search.class_of(node);
                    match class.filter(|class| self.shows(*class, &object, cursor)) {
                        Some(class) => batch.push(Entry {
                            object,
                            node,
                            class,
                        }),
                        None => {
                            self.pass.expand(object, node, cursor);
                            if Instant::now() >= until {
                                break;
                            }
                        }
                    }
                }
            }
        }
        any.then_some(batch)
    }

    /// Whether a heap walk shows every reference out of an object, in bounded time.
    fn shows(&mut self, class: u32, object: &Obj<'f>, cursor: u32) -> bool {
        self.pass.prepare(class);
        let Some(known) = self.pass.catalogue.get(class) else {
            return false;
        };
        let shows = match (&known.plan, &known.layout) {
            (Plan::Elements, _) => {
                // SAFETY: the plan says that it is an array.
                let length = unsafe { self.pass.jni.array_length(object) };
                cursor == 0 && length < LONG_ARRAY
            }
            (Plan::Fields(_), Layout::Fields(_)) => known.signature.as_ref() != "Ljava/lang/Class;",
            _ => false,
        };
        if shows {
            self.make_view(class);
        }
        shows
    }

    fn make_view(&mut self, class: u32) {
        let (jvmti, jni) = (self.pass.jvmti, self.pass.jni);
        self.kept
            .views
            .make(jvmti, jni, self.pass.catalogue, self.tags, class);
    }

    fn read_plainly(&mut self, batch: Vec<Entry<'f>>) {
        for entry in batch {
            self.pass.expand(entry.object, entry.node, 0);
        }
    }

    /// Has the JVM follow the references out of a batch, and takes up what it met.
    fn follow(&mut self, batch: Vec<Entry<'f>>, until: Instant, budget: u64) {
        let left = budget.saturating_sub(self.pass.new_nodes).max(1);
        let bounds = Bounds {
            most: usize::try_from(left).unwrap_or(MOST_MET).min(MOST_MET),
            deadline: until,
            abort: self.pass.limits.abort,
        };
        let known = Known {
            nodes: &self.pass.search.nodes,
            sigs: &self.pass.search.sigs,
            views: &self.kept.views,
        };
        let gathered = gather(
            self.pass.jni,
            self.tags,
            &batch,
            known,
            bounds,
            self.kept.meetings,
        );
        let Ok(gathered) = gathered else {
            // The heap is full: the batch is read without an array of its own.
            return self.read_plainly(batch);
        };
        self.report.heap_walk = Micros(
            self.report
                .heap_walk
                .0
                .saturating_add(micros(gathered.took)),
        );
        self.pass.edges += gathered.references;
        let met = u32::try_from(gathered.met.len()).unwrap_or(u32::MAX);
        self.kept.meetings = self.kept.meetings.wrapping_add(met);
        self.take_up(&batch, &gathered);
        let cut = gathered.cut.is_some();
        for (entry, done) in batch.into_iter().zip(gathered.done) {
            if cut && !done {
                self.pass.enqueue(entry.object, entry.node, 0);
            } else {
                self.pass.jni.delete(entry.object);
            }
        }
        debug_assert!(gathered.cut != Some(Cut::Full) || met > 0);
    }

    /// Reads again what a call has met, and takes it up.
    fn take_up(&mut self, batch: &[Entry<'f>], gathered: &Gathered) {
        let mut lost = Vec::new();
        for met in &gathered.met {
            let Some(entry) = batch.get(met.at) else {
                continue;
            };
            let found = self.read(entry, met.place);
            let is_it = |object: &Obj<'f>| {
                met.tag.is_fresh() || self.tags.of(object).is_ok_and(|tag| tag == met.tag)
            };
            match found {
                Some(object) if is_it(&object) => self.take_up_met(object, entry, met),
                other => {
                    if let Some(other) = other {
                        self.pass.jni.delete(other);
                    }
                    if !met.tag.is_fresh() {
                        lost.push(*met);
                    }
                }
            }
        }
        self.resolve(batch, &lost);
    }

    fn read(&self, entry: &Entry<'f>, place: u32) -> Option<Obj<'f>> {
        match &self.pass.catalogue.get(entry.class)?.layout {
            Layout::Array => element(self.pass.jni, &entry.object, place),
            Layout::Fields(fields) => {
                let field = fields.get(place as usize)?;
                // SAFETY: frontier entries have the class of their node, whose field list this is.
                unsafe { self.pass.jni.object_field(&entry.object, field.id) }
            }
            _ => None,
        }
    }

    fn take_up_met(&mut self, object: Obj<'f>, entry: &Entry<'f>, met: &Met) {
        let edge = Edge::slot(met.place);
        let known = self.pass.catalogue.get(entry.class);
        let (array, strength, role) = match known.map(|c| (&c.layout, c.reference)) {
            Some((Layout::Fields(fields), reference)) => match fields.get(met.place as usize) {
                Some(field) => (false, field.strength(reference), field.role),
                None => (false, Strength::Durable, Role::Strong),
            },
            _ => (true, Strength::Durable, Role::Strong),
        };
        if role == Role::Housekeeping {
            self.forget(&object, met);
            self.pass.defer(object, entry.node, edge, strength);
            return;
        }
        let link = Link::Edge {
            from: entry.node,
            edge,
            array,
            strength,
        };
        let key = (!met.tag.is_fresh()).then_some(Key::Tag(met.tag));
        if let Err(object) = self.pass.take_up(object, link, key) {
            self.forget(&object, met);
            // Its class is told to the callbacks, which pass the next one over.
            if let Some(class) = self.pass.catalogue.class_of(self.pass.jni, &object) {
                self.make_view(class);
            }
            self.pass.jni.delete(object);
        }
    }

    /// Takes back the tag of a meeting.
    fn forget(&self, object: &Obj<'f>, met: &Met) {
        let is_met = self.tags.of(object).is_ok_and(|tag| tag == met.tag);
        if is_met && !met.tag.is_fresh() {
            let _ = self.tags.set(object, met.tag.cleared());
        }
    }

    /// Finds objects by their tags: the edge to them changed after the call.
    fn resolve(&mut self, batch: &[Entry<'f>], lost: &[Met]) {
        self.pass.search.died += lost.len().saturating_sub(MOST_LOST) as u64;
        let wanted = lost.get(..lost.len().min(MOST_LOST)).unwrap_or_default();
        for part in wanted.chunks(RESOLVED) {
            let tags: Vec<i64> = part.iter().map(|met| met.tag.raw()).collect();
            let Ok(found) = self.tags.env().objects_with_tags(self.pass.jni, &tags) else {
                continue;
            };
            self.pass.search.died += (part.len() - found.len().min(part.len())) as u64;
            for (object, tag) in found {
                let met = part.iter().find(|met| met.tag.raw() == tag);
                match met.and_then(|met| Some((met, batch.get(met.at)?))) {
                    Some((met, entry)) => self.take_up_met(object, entry, met),
                    None => self.pass.jni.delete(object),
                }
            }
        }
    }
}

fn part(time: Micros) -> Duration {
    match time {
        Micros(0) => PART,
        Micros(us) => Duration::from_micros(us),
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
