//! Threads with gated batch service that share processors: the throughput of a population by the recursion of their
//! passes, with mean demands.
//!
//! A pass takes what is present when it begins, so a closed population moves through the threads in clumps, which merge
//! where one overtakes another, and divide only where a pass sends its data in parts. From pass to pass everything is
//! determined; the rates are those of the orbit that this ends in. Where clumps divide demands vary from pass to pass, by one
//! fixed random stream: with equal ones the threads would keep a step that chance allows no real ones.

mod open;

pub use open::{GateFeed, opened};

use clock::Rng;
use open::Feeds;

/// A queue of a thread: the costs of a pass in seconds, as in [`crate::model::Gated`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The thread.
    pub thread: usize,
    /// Of every pass.
    pub pass: f64,
    /// Of waking on an idle processor.
    pub wake: f64,
    /// Of taking the processor of another thread.
    pub switch: f64,
    /// How long it polls at most.
    pub spin: f64,
}

/// Processors, and what an idle one does: after so many seconds waking takes so many more, as in [`crate::model::Halting`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateProcessors {
    /// How many.
    pub count: u32,
    /// Seconds of idleness, and of waking.
    pub halt: Option<(f64, f64)>,
}

/// One way through a stage of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateVisit {
    /// The queue.
    pub gate: usize,
    /// The share of the load's I/Os that come here.
    pub share: f64,
    /// Seconds of service of each.
    pub demand: f64,
    /// So many fill a part, with which those leave whose last bytes it brings; 0: all leave together.
    pub part: f64,
}

/// A closed load: so many I/Os circulate through its stages, one visit in each.
#[derive(Clone, Debug, PartialEq)]
pub struct GateLoad {
    /// How many I/Os.
    pub customers: u32,
    /// Ways through each stage.
    pub stages: Vec<Vec<GateVisit>>,
}

/// The throughput of loads.
#[derive(Clone, Debug, PartialEq)]
pub struct GateRates {
    /// I/Os a second, by load.
    pub rates: Vec<f64>,
    /// The share of the processors that is in passes.
    pub busy: f64,
}

/// Cycles of every load before rates are taken, and those that they are taken over.
const CYCLES: (f64, f64) = (64.0, 96.0);
/// Passes and parts of passes at most.
const PASSES_MAX: usize = 20_000;
/// Parts of a pass at most: with more of them the two ends hardly work any closer together.
const PARTS_MAX: f64 = 24.0;
/// As the engine weighs recent waits.
const RECENT: f64 = 8.0;
const LONGEST: f64 = 16.0;

/// I/Os of a load that wait at a queue together.
#[derive(Clone, Copy, Debug)]
struct Clump {
    load: usize,
    stage: usize,
    ios: u32,
    visit: GateVisit,
}

impl Clump {
    fn is_like(&self, other: &Clump) -> bool {
        (self.load, self.stage, self.visit) == (other.load, other.stage, other.visit)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Asleep,
    Polls,
    Ready,
    Wakes,
    Runs,
}

struct QueueState {
    mode: Mode,
    line: Vec<Clump>,
    /// What its pass has yet to serve, the first last; and what leaves next.
    batch: Vec<Clump>,
    served: Vec<Clump>,
    /// So many I/Os fill a part at least.
    part_min: f64,
    /// Parts that its pass has sent.
    sent: f64,
    /// When its pass or its polling ends.
    due: f64,
    began: f64,
    wait: f64,
    idle_since: f64,
    /// It slept when its first I/O came, and does not run yet.
    woken: bool,
    /// I/Os of open loads that its passes have issued, and answers that they have taken.
    issued: f64,
    answered: f64,
}

struct Recursion<'a> {
    processors: GateProcessors,
    /// Since when each idle one is so, the one that was last at work last.
    idle: Vec<f64>,
    gates: &'a [Gate],
    loads: &'a [GateLoad],
    now: f64,
    queues: Vec<QueueState>,
    ready: Vec<usize>,
    /// By load and stage, by way: I/Os that are owed to it.
    owed: Vec<Vec<Vec<f64>>>,
    done: Vec<f64>,
    busy: f64,
    /// Parts of a pass at most.
    parts: u32,
    /// What demands vary by, where they do.
    chance: Option<Rng>,
    /// Open loads, whose I/Os come on their own.
    feeds: Option<Feeds>,
}

impl QueueState {
    /// Whether it waits for an answer, as a closed load always does.
    fn expects(&self) -> bool {
        self.issued == 0.0 || self.issued > self.answered
    }

    /// Serves those of the pass that leave next; the seconds that it takes.
    fn serve_part(&mut self, chance: &mut Option<Rng>) -> f64 {
        let mut work = 0.0;
        // The end of the part that brings the last bytes of the first I/O.
        let mut end = None;
        while let Some(clump) = self.batch.last_mut() {
            let mut ios = clump.ios;
            if clump.visit.part > 0.0 {
                let part = clump.visit.part.max(self.part_min);
                let end = *end.get_or_insert((self.sent + 1.0 / part - 1e-9).ceil());
                ios = ios.min(((end - self.sent) * part + 1e-6) as u32);
                self.sent += f64::from(ios) / part;
            }
            if ios == 0 {
                break;
            }
            // Each takes between half and one and a half times its mean.
            let chance = chance.as_mut().map_or(0.5, Rng::unit);
            let deviation = f64::from(ios).sqrt() * (chance - 0.5);
            work += clump.visit.demand * (f64::from(ios) + deviation);
            let leaving = Clump { ios, ..*clump };
            clump.ios -= ios;
            if clump.ios == 0 {
                self.batch.pop();
            }
            self.served.push(leaving);
        }
        work
    }
}

/// Parts of a pass, so many that all cycles of these loads take no more than [`PASSES_MAX`].
fn parts_within(loads: usize) -> u32 {
    let cycles = (CYCLES.0 + CYCLES.1) * loads.max(1) as f64;
    (PASSES_MAX as f64 / cycles / 4.0).clamp(1.0, PARTS_MAX) as u32
}

/// The rates at which these loads circulate over `processors`.
pub fn gated(processors: GateProcessors, gates: &[Gate], loads: &[GateLoad]) -> GateRates {
    let mut recursion = Recursion::new(processors, gates, loads);
    let customers: Vec<f64> = loads.iter().map(|load| f64::from(load.customers)).collect();
    let cycles = |done: &[f64]| {
        let of = done.iter().zip(&customers).filter(|(_, n)| **n > 0.0);
        of.map(|(done, n)| done / n).fold(f64::INFINITY, f64::min)
    };
    let mut start: Option<(f64, f64, Vec<f64>)> = None;
    for _ in 0..PASSES_MAX {
        if !recursion.step() {
            break;
        }
        let reached = cycles(&recursion.done);
        match &start {
            None if reached >= CYCLES.0 => {
                start = Some((recursion.now, recursion.busy, recursion.done.clone()));
            }
            Some(_) if reached >= CYCLES.0 + CYCLES.1 => break,
            _ => {}
        }
    }
    let (from, busy, done) = start.unwrap_or((0.0, 0.0, vec![0.0; loads.len()]));
    let span = (recursion.now - from).max(f64::MIN_POSITIVE);
    let rates = recursion.done.iter().zip(done).map(|(now, then)| (now - then) / span).collect();
    let busy = (recursion.busy - busy) / span / f64::from(processors.count.max(1));
    GateRates { rates, busy: busy.min(1.0) }
}

impl<'a> Recursion<'a> {
    fn new(processors: GateProcessors, gates: &'a [Gate], loads: &'a [GateLoad]) -> Recursion<'a> {
        let queue = |gate: &Gate| QueueState {
            mode: Mode::Asleep,
            line: Vec::new(),
            batch: Vec::new(),
            served: Vec::new(),
            part_min: 1.0,
            sent: 0.0,
            due: f64::INFINITY,
            began: 0.0,
            wait: LONGEST * gate.spin,
            idle_since: 0.0,
            woken: false,
            issued: 0.0,
            answered: 0.0,
        };
        let owed = loads.iter().map(|load| {
            load.stages.iter().map(|ways| vec![0.0; ways.len()]).collect::<Vec<Vec<f64>>>()
        });
        let varies =
            loads.iter().flat_map(|load| load.stages.iter().flatten()).any(|way| way.part > 0.0);
        let mut recursion = Recursion {
            processors,
            idle: vec![0.0; processors.count as usize],
            gates,
            loads,
            now: 0.0,
            queues: gates.iter().map(queue).collect(),
            ready: Vec::new(),
            owed: owed.collect(),
            done: vec![0.0; loads.len()],
            busy: 0.0,
            parts: parts_within(loads.len()),
            chance: varies.then(|| Rng::keyed(0, &[])),
            feeds: None,
        };
        for (load, of) in loads.iter().enumerate() {
            recursion.enter(load, 0, of.customers);
        }
        recursion
    }

    /// I/Os come to a stage, and divide among its ways as whole ones.
    fn enter(&mut self, load: usize, stage: usize, ios: u32) {
        let Some(ways) = self.loads[load].stages.get(stage) else { return };
        let mut left = ios;
        for owed in self.owed[load][stage].iter_mut().zip(ways) {
            *owed.0 += owed.1.share * f64::from(ios);
        }
        while left > 0 {
            let owed = &mut self.owed[load][stage];
            let Some(way) = (0..owed.len()).max_by(|a, b| owed[*a].total_cmp(&owed[*b])) else {
                return;
            };
            // All that is owed at once, but at least one.
            let ios = (owed[way].max(1.0) as u32).min(left);
            owed[way] -= f64::from(ios);
            left -= ios;
            let (visit, gate) = (ways[way], ways[way].gate);
            let clump = Clump { load, stage, ios, visit };
            let line = &mut self.queues[gate].line;
            match line.last_mut().filter(|last| last.is_like(&clump)) {
                Some(last) => last.ios += ios,
                None => line.push(clump),
            }
            if matches!(self.queues[gate].mode, Mode::Asleep | Mode::Polls) {
                self.rouse(gate);
            }
        }
    }

    fn at_work(&self) -> usize {
        self.queues.iter().filter(|queue| !matches!(queue.mode, Mode::Asleep | Mode::Ready)).count()
    }

    fn has_idle(&self) -> bool {
        self.at_work() < self.processors.count as usize
    }

    /// Notes processors that have become idle, or are so no longer.
    fn note_idle(&mut self) {
        let idle = (self.processors.count as usize).saturating_sub(self.at_work());
        self.idle.resize(idle, self.now);
    }

    /// What waking takes more than where a processor polls.
    fn halted(&self) -> f64 {
        match (self.processors.halt, self.idle.last()) {
            (Some((after, wake)), Some(since)) if self.now - since >= after => wake,
            _ => 0.0,
        }
    }

    fn thread_runs(&self, gate: usize) -> bool {
        let mut queues = self.queues.iter().zip(self.gates);
        let runs = |mode| matches!(mode, Mode::Wakes | Mode::Runs);
        queues.any(|(q, g)| runs(q.mode) && g.thread == self.gates[gate].thread)
    }

    fn rouse(&mut self, gate: usize) {
        if self.queues[gate].mode == Mode::Polls {
            self.waited(gate);
            return self.pass(gate, 0.0);
        }
        self.queues[gate].woken = true;
        if !self.thread_runs(gate) {
            if self.has_idle() {
                let wake = self.gates[gate].wake + self.halted();
                return self.pass(gate, wake);
            }
            let polls = (0..self.queues.len()).filter(|q| self.queues[*q].mode == Mode::Polls);
            if let Some(poller) =
                polls.min_by(|a, b| self.queues[*a].due.total_cmp(&self.queues[*b].due))
            {
                self.queues[poller].mode = Mode::Asleep;
                return self.pass(gate, self.gates[gate].switch);
            }
        }
        self.queues[gate].mode = Mode::Ready;
        self.ready.push(gate);
    }

    /// Notes how long the thread of a queue waited until it runs.
    fn waited(&mut self, gate: usize) {
        let queue = &mut self.queues[gate];
        if !queue.expects() {
            return;
        }
        let span = (self.now - queue.idle_since).min(LONGEST * self.gates[gate].spin);
        queue.wait += (span - queue.wait) / RECENT;
    }

    fn pass(&mut self, gate: usize, wake: f64) {
        let queue = &mut self.queues[gate];
        (queue.mode, queue.began, queue.due) = (Mode::Wakes, self.now, self.now + wake);
        self.note_idle();
    }

    /// The next end of a pass or of polling; whether there is one.
    fn step(&mut self) -> bool {
        let due = |q: &usize| match self.queues[*q].mode {
            Mode::Wakes | Mode::Runs | Mode::Polls => self.queues[*q].due,
            Mode::Asleep | Mode::Ready => f64::INFINITY,
        };
        let next = (0..self.queues.len()).min_by(|a, b| due(a).total_cmp(&due(b)));
        let next = next.filter(|gate| due(gate).is_finite());
        let comes = self.feeds.as_ref().and_then(Feeds::first);
        if let Some((load, at)) = comes
            && next.is_none_or(|gate| at < due(&gate))
        {
            self.now = at;
            if let Some(feeds) = &mut self.feeds {
                feeds.came(load, at);
            }
            self.enter(load, 0, 1);
            return true;
        }
        let Some(gate) = next else { return false };
        self.now = self.queues[gate].due;
        if self.queues[gate].mode == Mode::Wakes && std::mem::take(&mut self.queues[gate].woken) {
            self.waited(gate);
        }
        let queue = &mut self.queues[gate];
        match queue.mode {
            Mode::Polls => {
                queue.mode = Mode::Asleep;
                self.note_idle();
            }
            Mode::Wakes => {
                queue.mode = Mode::Runs;
                std::mem::swap(&mut queue.batch, &mut queue.line);
                queue.batch.reverse();
                let ios: u32 = queue.batch.iter().map(|clump| clump.ios).sum();
                queue.part_min = f64::from(ios.div_ceil(self.parts).max(1));
                queue.sent = 0.0;
                queue.due = self.now + self.gates[gate].pass + queue.serve_part(&mut self.chance);
            }
            _ => self.leave(gate),
        }
        true
    }

    /// What a pass has served leaves; the pass goes on, or ends.
    fn leave(&mut self, gate: usize) {
        self.busy += self.now - self.queues[gate].began;
        self.queues[gate].began = self.now;
        let mut served = std::mem::take(&mut self.queues[gate].served);
        for Clump { load, stage, ios, .. } in served.drain(..) {
            let more = stage + 1 < self.loads[load].stages.len();
            if let Some(feeds) = &mut self.feeds {
                let (now, count, queue) = (self.now, f64::from(ios), &mut self.queues[gate]);
                if stage == 0 && feeds.has_issue(load) {
                    feeds.issued(load, now, count);
                    queue.issued += count;
                }
                if !more {
                    feeds.ended(load, now, count);
                    queue.answered += if queue.issued > 0.0 { count } else { 0.0 };
                    self.done[load] += count;
                    continue;
                }
            }
            if more {
                self.enter(load, stage + 1, ios);
                continue;
            }
            self.done[load] += f64::from(ios);
            self.enter(load, 0, ios);
        }
        // Its memory serves the next part.
        let queue = &mut self.queues[gate];
        queue.served = served;
        if !queue.batch.is_empty() {
            queue.due = self.now + queue.serve_part(&mut self.chance);
            return;
        }
        self.after(gate);
        self.note_idle();
        self.assign(self.gates[gate].thread);
    }

    fn after(&mut self, gate: usize) {
        let (now, spin, wanted) = (self.now, self.gates[gate].spin, !self.ready.is_empty());
        let queue = &mut self.queues[gate];
        (queue.mode, queue.idle_since) = (Mode::Asleep, now);
        if !queue.line.is_empty() {
            queue.mode = Mode::Ready;
            self.ready.push(gate);
        } else if queue.wait < spin && queue.expects() && !wanted {
            (queue.mode, queue.due) = (Mode::Polls, now + spin);
        }
    }

    /// Gives processors, one of which the thread `left` has left, to threads that are ready.
    fn assign(&mut self, left: usize) {
        let (mut at, mut left) = (0, Some(left));
        while self.has_idle()
            && let Some(gate) = self.ready.get(at).copied()
        {
            if self.thread_runs(gate) {
                at += 1;
                continue;
            }
            self.ready.remove(at);
            let Gate { thread, switch, .. } = self.gates[gate];
            let goes_on = left.take() == Some(thread);
            self.pass(gate, if goes_on { 0.0 } else { switch });
        }
    }
}
